"""Couplings of fluid and solids: one module per method; see CONTRACT.md."""
