"""A closed body of thin sheet is released: the fluid inside moves along whole, and that around it as about a solid."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import undertow as ut
from undertow.validation.analysis import Array, Quantity, quantity

RADIUS, SIZE, GRAVITY, STEP = 0.5, 4.0, 9.81, 1e-3
OFFSETS = ((0.0, 0.0, 0.0), (0.37, 0.11, 0.23), (0.52, 0.83, 0.61), (0.91, 0.29, 0.47))
RATIOS = (0.03, 0.3, 3.0)
"""Mass of the sheet over that of the fluid its form displaces."""
EMPTY_RATIOS = (0.1, 0.5, 2.0)
SURFACE = 3.5
"""Of the water around an empty one [m]."""
SMOKE = {"OFFSETS": OFFSETS[:1], "RATIOS": RATIOS[:1], "EMPTY_RATIOS": EMPTY_RATIOS[:1]}


def round_form(dimensions: int, cells: float) -> tuple[Array, np.ndarray]:
    """Vertices and elements, turned outwards, of a circle or sphere of radius RADIUS, finer than ``cells`` per radius.

    A sphere is an icosahedron whose triangles are divided in four, again and again.
    """
    if dimensions == 2:
        n = int(12 * cells)
        angle = 2.0 * np.pi * (np.arange(n) + 0.5) / n
        x = RADIUS * np.stack([np.cos(angle), np.sin(angle)], axis=1)
        return x, np.stack([np.arange(n), (np.arange(n) + 1) % n], axis=1)
    from scipy.spatial import ConvexHull

    golden = 0.5 * (1.0 + np.sqrt(5.0))
    corners = [(0, a, b * golden) for a in (-1, 1) for b in (-1, 1)]
    x = np.array([np.roll(p, k) for p in corners for k in range(3)])
    for _ in range(3 if cells < 10 else 4):
        x /= np.linalg.norm(x, axis=1)[:, None]
        hull = ConvexHull(x).simplices
        edges = np.unique(np.sort(np.concatenate([hull[:, [0, 1]], hull[:, [1, 2]], hull[:, [2, 0]]]), axis=1), axis=0)
        x = np.concatenate([x, x[edges].mean(axis=1)])
    x /= np.linalg.norm(x, axis=1)[:, None]
    triangles = ConvexHull(x).simplices
    p = x[triangles]
    inwards = np.linalg.det(p) < 0.0
    triangles[inwards] = triangles[inwards][:, ::-1]
    return RADIUS * x, triangles


def write(path: Path, x: Array, triangles: np.ndarray) -> str:
    """An OBJ file."""
    lines = [f"v {p[0]:.12g} {p[1]:.12g} {p[2]:.12g}" for p in x] + [f"f {a} {b} {c}" for a, b, c in triangles + 1]
    path.write_text("\n".join(lines) + "\n")
    return str(path)


def pool_without(x: Array, middle: Array, folder: Path) -> ut.Water:
    """Water up to SURFACE but for the polygon x (n, 2) about its place: a mesh that is long across the plane."""

    def prism(corners: Array, half: float) -> tuple[Array, np.ndarray]:
        n = len(corners)
        i = np.arange(n)
        j = (i + 1) % n
        ends = np.concatenate([corners, [corners.mean(axis=0)]])
        low, high = (np.column_stack([ends, np.full(n + 1, z)]) for z in (-half, half))
        first, second = np.full(n, n), np.full(n, 2 * n + 1)
        up = n + 1
        faces = [[i, j, j + up], [i, j + up, i + up], [j, i, first], [i + up, j + up, second]]
        return np.concatenate([low, high]), np.concatenate([np.stack(face, axis=1) for face in faces])

    beyond = 0.5 * SIZE
    box = np.array([[-beyond, -beyond], [SIZE + beyond, -beyond], [SIZE + beyond, SURFACE], [-beyond, SURFACE]])
    vertices, faces = prism(box, 2.0 * SIZE)
    hole, hole_faces = prism(x + middle, 1.8 * SIZE)
    faces = np.concatenate([faces, hole_faces[:, ::-1] + len(vertices)])
    file = write(folder / "pool.obj", np.concatenate([vertices, hole]), faces)
    return ut.Water(shape=ut.Mesh(file=file), position=(0.0, 0.0))


def acceleration(kind: str, dimensions: int, cells: int, ratio: float, offset: tuple[float, ...]) -> float:
    """First acceleration along gravity / g of a body ``cells`` cells in radius, offset in cells from the middle.

    kind: ``full`` and ``empty``, sheets of ``ratio`` times the mass of what they displace, in a full tank, and with air
    inside in water; ``solid`` and ``hull``, solids of the same mass as those with all that they hold.
    """
    dx = RADIUS / cells
    middle = np.array([0.5 * SIZE + o * dx for o in offset[:dimensions]])
    volume = np.pi * RADIUS**2 if dimensions == 2 else 4.0 / 3.0 * np.pi * RADIUS**3
    in_water = kind in ("empty", "hull")
    x, elements = round_form(dimensions, cells)
    with tempfile.TemporaryDirectory() as folder:
        objects: dict[str, ut.RigidBody | ut.Water] = {}
        if kind in ("full", "empty"):
            form: ut.Polyline | ut.Mesh
            if dimensions == 2:
                form = ut.Polyline(points=tuple((float(a), float(b)) for a, b in x), closed=True)
            else:
                form = ut.Mesh(file=write(Path(folder) / "sphere.obj", x, elements))
            shell = ut.Shell(form=form, thickness=0.01)
            objects["body"] = ut.RigidBody(shape=shell, position=tuple(middle), mass=ratio * volume)
        else:
            mass = ratio * volume if in_water else (1.0 + ratio) * volume
            objects["body"] = ut.RigidBody(shape=ut.Sphere(radius=RADIUS), position=tuple(middle), mass=mass)
        if kind == "empty":
            objects["pool"] = pool_without(x, middle, Path(folder))
        elif kind == "hull":
            objects["pool"] = ut.Water(shape=ut.Plane(normal=(0.0, 1.0)), position=(0.5 * SIZE, SURFACE))
        scene = ut.Scene(
            name="shell-acceleration",
            coupling="monolithic",
            gravity=(0.0, -GRAVITY, 0.0)[:dimensions],
            domain=ut.Domain(upper=(SIZE,) * dimensions, resolution=round(SIZE / dx)),
            time=ut.Time(end=STEP, frame_rate=1.0 / STEP, fixed_step=STEP),
            fluid=ut.Fluid(density=1.0, tolerance=1e-8, **({} if in_water else {"advection": "none"})),
            objects=objects,
        )
        sim = ut.Simulation(scene)
        sim.step()
    return float(-sim.body("body").velocity[1] / (sim.time * GRAVITY))


def error(kinds: tuple[str, str], dimensions: int, cells: int, ratios: tuple[float, ...], offsets: int) -> float:
    """Largest relative error of a sheet's acceleration against the solid's over ratios and offsets."""
    kind, other = kinds
    errors = []
    for ratio in ratios:
        wanted = acceleration(other, dimensions, cells, ratio, OFFSETS[0])
        errors += [abs(acceleration(kind, dimensions, cells, ratio, o) / wanted - 1.0) for o in OFFSETS[:offsets]]
    return max(errors)


def run(full: bool) -> Iterator[Quantity]:
    """6 and 12 cells per radius: in a tank in 2D and 3D, and with air inside in water."""
    for cells in (6, 12):
        yield quantity(f"full_2d_{cells}", error(("full", "solid"), 2, cells, RATIOS, 4))
        offsets = 4 if full or cells == 6 else 2
        yield quantity(f"full_3d_{cells}", error(("full", "solid"), 3, cells, RATIOS[: 3 if full else 1], offsets))
        yield quantity(f"empty_2d_{cells}", error(("empty", "hull"), 2, cells, EMPTY_RATIOS, 4))
