"""sphere-press: a soft ball between plates."""
