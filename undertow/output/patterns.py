"""Pictures of fracture patterns and of broken shapes: pieces moved apart, each in its own colour."""

from __future__ import annotations

import colorsys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from undertow.errors import UserError
from undertow.frames import BodyFrame
from undertow.geometry import PATTERNS, Pattern, make_pattern
from undertow.geometry.fracture_patterns import from_folder
from undertow.output.camera import make_camera
from undertow.output.film import write_png

APART = 0.35
"""How far pieces are moved away from the centre, as a share of their distance from it."""

TILE = 0.06
"""Thickness of the tiles of a 2D pattern, which stand for prisms without end."""


def find_pattern(name: str, seed: int, pieces: int, dimensions: int) -> Pattern:
    """A pattern by its name, or that of a folder of meshes, of which the other arguments say nothing."""
    if name not in PATTERNS and Path(name).is_dir():
        return from_folder(name)
    return make_pattern(name, seed, pieces, dimensions)


def draw_pattern(pattern: Pattern, out: Path, width: int = 960) -> Path:
    """A picture of a pattern, ``width`` pixels along its longer side, its regions moved apart, in 2D as tiles that are
    ``TILE`` thick; returns its path."""
    if out.suffix != ".png":
        raise UserError(f"{out}: a picture of a pattern is a .png file; change the ending")
    share = np.array([1.0, 1.0, TILE if pattern.dimensions == 2 else 1.0])
    bodies = []
    for label, region in enumerate(pattern.regions):
        arm = region.vertices - pattern.centre
        place = share * (arm + APART * 0.5 * (arm.min(axis=0) + arm.max(axis=0)))
        bodies.append(BodyFrame(f"region {label}", place, region.triangles, _color(label)))
    out.parent.mkdir(parents=True, exist_ok=True)
    write_png(out, draw_pieces(bodies, width))
    return out


def _color(label: int) -> tuple[float, float, float]:
    # hues a golden section apart: neighbours in number differ most
    return colorsys.hsv_to_rgb((0.08 + 0.618034 * label) % 1.0, 0.5, 0.85 - 0.1 * (label % 3))


def draw_pieces(bodies: Sequence[BodyFrame], width: int) -> np.ndarray:
    """Meshes on a floor in a lit studio; 8-bit RGB."""
    from undertow.output import raymarch

    lower = np.min([body.vertices.min(axis=0) for body in bodies], axis=0)
    upper = np.max([body.vertices.max(axis=0) for body in bodies], axis=0)
    stage = raymarch.make_stage(lower, upper)
    eye, wide, high = make_camera(lower, upper, width, None)
    surface = raymarch.make_surface(list(bodies))
    lights = raymarch.make_lights(surface, stage)
    medium = raymarch.make_medium(np.zeros((1, 1, 1), dtype=np.float32), 1.0, lower, 1.0, lights, stage)
    return raymarch.tone_map(raymarch.draw(eye, surface, lights, medium, stage, wide, high, 1.0))
