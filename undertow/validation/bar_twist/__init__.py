"""bar-twist: a box turned through a soft bar."""
