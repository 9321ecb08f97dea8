"""mixed-stack: rigid and soft boxes at rest on each other."""
