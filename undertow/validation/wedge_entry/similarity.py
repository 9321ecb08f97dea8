"""The self-similar flow around a wedge that enters still water at constant speed, without gravity.

    python -m undertow.validation.wedge_entry.similarity [DEGREES]

Lengths are over V t, potentials over V^2 t, pressures over rho V^2. At a place x that stays where it is in these units
the potential Phi = V^2 t phi(x, tau) with tau = ln t has

    p = -(phi + d phi / d tau - x . u + u^2 / 2),    u = grad phi                                    (Bernoulli)

and a particle of the surface (p = 0)

    dx / d tau = u - x,        d phi / d tau = u^2 / 2 - phi

A boundary-element solution of one half of the flow (constant panels, mirrored at the axis) is marched in tau until
nothing changes. The jet is cut where it is ``jet`` thick, since the pressure in it is that of the air; beyond
``reach`` the surface is flat and the flow that of a dipole. Dobrovol'skaya 1969, as tabulated by Zhao and Faltinsen
1993, has 14.139 for 30 degrees.
"""

from __future__ import annotations

import sys

import numpy as np
from scipy.interpolate import PchipInterpolator

from undertow.validation.analysis import Array

PERIOD = 3
"""Steps from one smoothing to the next (Longuet-Higgins and Cokelet 1976)."""


def force_coefficient(
    degrees: float = 30.0, *, surface: int = 120, bottom: int = 80, jet: float = 0.04, finest: float = 0.02,
    reach: float = 30.0, end: float = 4.0,
) -> float:  # fmt: skip
    """Force on the wedge over rho V^3 t, mean over the last unit of tau; degrees: of the bottom to the still surface.

    surface, bottom: numbers of panels. finest: length of the panel of the surface beside the jet.
    """
    angle = np.radians(degrees)
    start = 1.0 / np.tan(angle)
    x = np.concatenate([[1.0001 * start], np.geomspace(1.01 * start, reach, 200)])
    place, phi = _panels(np.column_stack([x, np.zeros_like(x)]), np.zeros_like(x), angle, jet, finest, reach, surface)
    tau, found = 0.0, []
    step = 0
    while tau < end:
        u, force = _solve(place, phi, angle, bottom, reach)
        found.append((tau, force))
        length = np.hypot(*np.diff(place, axis=0).T)
        dt = min(0.02, 0.4 * float(np.min(length / np.maximum(np.hypot(*u.T)[1:], 1e-9))))
        middle, phi_middle = place + 0.5 * dt * (u - place), phi + 0.5 * dt * (0.5 * np.sum(u * u, 1) - phi)
        u, _ = _solve(middle, phi_middle, angle, bottom, reach)
        place, phi = place + dt * (u - middle), phi + dt * (0.5 * np.sum(u * u, 1) - phi_middle)
        place, phi = _panels(place, phi, angle, jet, finest, reach, surface)
        tau, step = tau + dt, step + 1
        if step % PERIOD == 0:
            for a in (place[:, 0], place[:, 1], phi):
                a[2:-2] = (-a[:-4] + 4.0 * a[1:-3] + 10.0 * a[2:-2] + 4.0 * a[3:-1] - a[4:]) / 16.0
    return float(np.mean([force for at, force in found if at > end - 1.0]))


def _panels(
    place: Array, phi: Array, angle: float, jet: float, finest: float, reach: float, count: int
) -> tuple[Array, Array]:
    """The surface from where the jet is ``jet`` thick to ``reach``, in panels that grow from ``finest``."""
    thick = place[:, 0] * np.sin(angle) - (place[:, 1] + 1.0) * np.cos(angle)
    inside = np.nonzero(thick < jet)[0]
    both = np.column_stack([place, phi])
    if inside.size:
        k = inside[-1]
        alpha = (jet - thick[k]) / (thick[k + 1] - thick[k])
        both = np.concatenate([[(1.0 - alpha) * both[k] + alpha * both[k + 1]], both[k + 1 :]])
    last = both[-1]
    if last[0] < reach:
        x = np.linspace(last[0], reach, 4)[1:]
        both = np.concatenate([both, np.column_stack([x, last[1] * (last[0] / x) ** 2, last[2] * (last[0] / x) ** 4])])
    else:
        both = both[: np.nonzero(both[:, 0] >= reach)[0][0] + 1]
    length = np.hypot(*np.diff(both[:, :2], axis=0).T)
    arc = np.concatenate([[0.0], np.cumsum(length)])
    low, high = 1.0 + 1e-9, 1.5
    for _ in range(60):
        growth = 0.5 * (low + high)
        low, high = (growth, high) if finest * (growth**count - 1.0) / (growth - 1.0) < arc[-1] else (low, growth)
    at = np.concatenate([[0.0], np.cumsum(low ** np.arange(count))])
    kept = np.concatenate([[True], length > 1e-9])
    new = PchipInterpolator(arc[kept], both[kept])(at * (arc[-1] / at[-1]))
    return new[:, :2], new[:, 2]


def _solve(place: Array, phi: Array, angle: float, bottom: int, reach: float) -> tuple[Array, float]:
    """Velocities (n, 2) of the nodes of the surface, and the force on both halves of the wedge."""
    c, s = np.cos(angle), np.sin(angle)
    along = (place[0, 0] * c + (place[0, 1] + 1.0) * s) * np.linspace(0.0, 1.0, bottom + 1)
    keel = np.column_stack([along * c, along * s - 1.0])
    a, b = np.concatenate([keel, place[:-1]]), np.concatenate([keel[1:], place])
    middle = 0.5 * (a + b)
    g, h, length, tangent, normal = _influence(middle, a, b)
    mirror = np.array([-1.0, 1.0])
    mirrored = _influence(middle, b * mirror, a * mirror)
    g, h = g + mirrored[0], h + mirrored[1] - np.pi * np.eye(len(middle))
    g[:, -1] += _far(middle, reach)
    # h phi = g q, phi known on the surface and across the jet, q = d phi / dn on the bottom
    known = np.concatenate([[phi[0]], 0.5 * (phi[1:] + phi[:-1])])
    matrix = np.concatenate([h[:, :bottom], -g[:, bottom:]], axis=1)
    found = np.linalg.solve(matrix, -h[:, bottom:] @ known - c * np.sum(g[:, :bottom], axis=1))
    # velocities of panels, and of the nodes between them
    on_surface = slice(bottom + 1, None)
    size = length[on_surface]
    u = (np.diff(phi) / size)[:, None] * tangent[on_surface] + found[on_surface, None] * normal[on_surface]
    node = np.empty_like(place)
    node[1:-1] = (u[:-1] * size[1:, None] + u[1:] * size[:-1, None]) / (size[1:] + size[:-1])[:, None]
    node[0], node[-1] = 1.5 * u[0] - 0.5 * u[1], u[-1]
    # pressure on the bottom; in the jet it is that of the air
    below, panel = found[:bottom], length[:bottom]
    u_bottom = np.gradient(below, np.cumsum(panel) - 0.5 * panel)[:, None] * tangent[:bottom] - c * normal[:bottom]
    p = np.sum(middle[:bottom] * u_bottom, 1) - below - 0.5 * np.sum(u_bottom * u_bottom, 1)
    return node, float(2.0 * c * np.sum(np.maximum(p, 0.0) * panel))


def _influence(point: Array, a: Array, b: Array) -> tuple[Array, Array, Array, Array, Array]:
    """Integrals over panels a to b of ln r and of its derivative along their normals, which are to their left."""
    length = np.hypot(*(b - a).T)
    tangent = (b - a) / length[:, None]
    normal = np.column_stack([-tangent[:, 1], tangent[:, 0]])
    r = point[:, None] - a
    before, height = np.sum(r * tangent, 2), np.sum(r * normal, 2)
    behind = length - before
    safe = np.where(np.abs(height) < 1e-13, 1e-13, height)
    seen = np.arctan(behind / safe) + np.arctan(before / safe)
    g = height * seen - length
    for part in (before, behind):
        g += 0.5 * part * np.log(part * part + height * height + 1e-300)
    return g, np.where(np.abs(height) < 1e-12, 0.0, -seen), length, tangent, normal


def _far(point: Array, reach: float) -> Array:
    """Integral of ln r (reach / x)^2 over the surface beyond ``reach`` on both sides."""
    node, weight = np.polynomial.legendre.leggauss(60)
    x = reach / (0.5 * (node + 1.0))
    total = np.zeros(len(point))
    for side in (1.0, -1.0):
        total += np.log((point[:, :1] - side * x) ** 2 + point[:, 1:] ** 2) @ weight
    return 0.25 * reach * total


if __name__ == "__main__":
    print(force_coefficient(float(sys.argv[1]) if len(sys.argv) > 1 else 30.0))
