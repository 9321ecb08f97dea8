"""ball-row: momentum through a row of rigid and soft balls."""
