"""cloth-knot: cloth that starts untangled stays untangled."""
