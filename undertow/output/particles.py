"""Files and pictures of SPH fluids.

Particles are drawn by speed, pressure or density; in 3D their surface (``sph.surface``) is drawn as water unless a
field is asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from undertow.frames import ParticleFrame
from undertow.output.vtk import PolyFile, read_vtp, write_vtp

FIELDS = ("speed", "pressure", "density")
"""What particles can be colored by."""


def particle_limits(frames: Sequence[ParticleFrame], name: str) -> tuple[float, float]:
    """Values of ``name`` at the ends of the color bar, the same for all frames."""
    values = np.concatenate([frame.values(name) for frame in frames])
    # density varies by a few percent, and particles at the surface lack neighbours
    low = float(np.quantile(values, 0.10)) if name == "density" else 0.0
    return low, max(float(np.quantile(values, 0.99)), low + 1e-30)


def write_particles(path: Path, particles: ParticleFrame, head: dict[str, Any]) -> None:
    """Write ``particles.vtp``."""
    numbers = {f"{end}_{axis}": float(v) for end in ("lower", "upper")
               for axis, v in zip("xyz", getattr(particles, end), strict=True)}  # fmt: skip
    write_vtp(
        path,
        PolyFile(
            particles.position,
            np.zeros((0, 3), dtype=np.int32),
            point_data={name: getattr(particles, name) for name in ("velocity", "pressure", "density")},
            field_data={**head, "spacing": float(particles.spacing), **numbers},
        ),
    )


def read_particles(path: Path) -> ParticleFrame | None:
    """Read ``particles.vtp``; None where there is none."""
    if not path.is_file():
        return None
    mesh = read_vtp(path)
    lower, upper = ([float(mesh.field_data[f"{end}_{axis}"]) for axis in "xyz"] for end in ("lower", "upper"))  # type: ignore[arg-type]
    return ParticleFrame(
        mesh.vertices, mesh.point_data["velocity"], mesh.point_data["pressure"], mesh.point_data["density"],
        float(mesh.field_data["spacing"]), np.array(lower), np.array(upper),  # type: ignore[arg-type]
    )  # fmt: skip


def paint_particles(picture: np.ndarray, particles: ParticleFrame, colors: np.ndarray) -> None:
    """Draw particles as discs on a picture of the domain's x-y plane, y up; colors (n, 3), 8-bit."""
    height, width = picture.shape[:2]
    scale = width / (particles.upper[0] - particles.lower[0])
    column = np.floor((particles.position[:, 0] - particles.lower[0]) * scale).astype(int)
    row = np.floor(height - (particles.position[:, 1] - particles.lower[1]) * scale).astype(int)
    # discs a little wider than the diagonals of a lattice leave no gaps in a fluid
    reach = max(0.5, 0.8 * particles.spacing * scale)
    steps = np.arange(-int(reach), int(reach) + 1)
    # the rim first: where discs overlap the nearest centre wins, roughly
    offsets = [(a, b) for a in steps for b in steps if a * a + b * b <= reach * reach]
    offsets.sort(key=lambda step: -(step[0] ** 2 + step[1] ** 2))
    for down, right in offsets:
        i, j = row + down, column + right
        seen = (i >= 0) & (i < height) & (j >= 0) & (j < width)
        picture[i[seen], j[seen]] = colors[seen]
