"""Scenes that come with the package: TOML files, and modules with ``make_scene()`` for those that are computed."""
