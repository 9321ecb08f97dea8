"""tower: boxes on each other, up to thirty, stand where they are put."""
