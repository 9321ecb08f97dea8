"""What a frame shows of a part: surfaces of bodies and liquids, particles, nodes. Parts make them, ``output`` draws
and writes them; values are float32."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np


@dataclass
class BodyFrame:
    """The surface of one body at one time.

    vertices (n, 3) [m] in the world, triangles (m, 3) wound outwards, color (r, g, b) in 0 ... 1,
    velocity (n, 3) of the vertices [m/s], or (3,) when all move alike. backdrop: an endless body, drawn as far as it
    goes but not looked at. color_t (m, 3): colors of the triangles where they differ from that of the body, as those of
    cracks do; None: they do not.
    """

    name: str
    vertices: np.ndarray
    triangles: np.ndarray
    color: tuple[float, float, float] = (0.8, 0.8, 0.8)
    velocity: np.ndarray = field(default_factory=lambda: np.zeros(3))
    backdrop: bool = False
    color_t: np.ndarray | None = None

    @property
    def triangle_colors(self) -> np.ndarray:
        """Colors of the triangles (m, 3) in 0 ... 1."""
        plain = np.tile(np.asarray(self.color, dtype=np.float32), (len(self.triangles), 1))
        return plain if self.color_t is None else np.asarray(self.color_t, dtype=np.float32)

    def __post_init__(self) -> None:
        self.vertices = np.ascontiguousarray(self.vertices, dtype=np.float32)
        self.triangles = np.ascontiguousarray(self.triangles, dtype=np.int32)
        velocity = np.asarray(self.velocity, dtype=np.float32)
        self.velocity = np.ascontiguousarray(np.broadcast_to(velocity, self.vertices.shape))


@dataclass
class SurfaceFrame:
    """The surface of the water at one time: vertices (n, 3) [m], triangles (m, 3) wound outwards, normals (n, 3) and
    velocity (n, 3) [m/s] of the vertices."""

    vertices: np.ndarray
    triangles: np.ndarray
    normals: np.ndarray
    velocity: np.ndarray

    def __post_init__(self) -> None:
        for name in ("vertices", "normals", "velocity"):
            setattr(self, name, np.ascontiguousarray(getattr(self, name), dtype=np.float32))
        self.triangles = np.ascontiguousarray(self.triangles, dtype=np.int32)


@dataclass
class ParticleFrame:
    """Particles of a fluid at one time: position (n, 3) [m], velocity (n, 3) [m/s], pressure (n,) [Pa], density (n,)
    [kg/m3], spacing [m] and the domain's corners (3,) [m]."""

    position: np.ndarray
    velocity: np.ndarray
    pressure: np.ndarray
    density: np.ndarray
    spacing: float
    lower: np.ndarray
    upper: np.ndarray

    def __post_init__(self) -> None:
        for name in ("position", "velocity", "pressure", "density"):
            setattr(self, name, np.ascontiguousarray(getattr(self, name), dtype=np.float32))
        self.lower, self.upper = np.asarray(self.lower, dtype=float), np.asarray(self.upper, dtype=float)

    def values(self, name: str) -> np.ndarray:
        """``speed`` [m/s], ``pressure`` [Pa] or ``density`` [kg/m3] of the particles (n,)."""
        return np.linalg.norm(self.velocity, axis=1) if name == "speed" else np.asarray(getattr(self, name))


@dataclass
class SoftFrame:
    """Nodes (n, 3) [m] of all soft bodies, their displacement (n, 3) [m] from rest and velocity (n, 3) [m/s], and the
    elements (m, k) of every body by its name, counting all nodes."""

    position: np.ndarray
    displacement: np.ndarray
    velocity: np.ndarray
    cells: dict[str, np.ndarray]
