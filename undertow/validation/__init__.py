"""Validation cases against published and analytic references; bounds live in targets.toml."""
