"""A long cylinder held by tension and buoyancy on water between two walls that it meets at a right angle, in 2D.

The surface rises from the cylinder to the wall: with y above the level of no pressure, psi the slope and s the length
from the wall,

    dx / ds = -cos psi,   dy / ds = -sin psi,   sigma d psi / ds = -rho g y

psi being 0 at the wall and alpha + theta - pi where it meets the cylinder, whose wetted half angle, from its lowest
point, is alpha. Per length the cylinder is carried by

    2 sigma sin psi + rho g (R^2 (alpha - sin alpha cos alpha) + 2 R h sin alpha),      h = -y of the contact line
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.integrate import solve_ivp
from scipy.optimize import brentq, minimize_scalar


class Water(NamedTuple):
    """tension [N/m], weight rho g [N/m3], contact angle [rad], radius of the cylinder and half width of the box [m]."""

    tension: float
    weight: float
    angle: float
    radius: float
    half_width: float


class State(NamedTuple):
    """load: what is carried [N/m]. depth: of the centre below the surface at the walls [m]."""

    load: float
    depth: float


def _meniscus(water: Water, level: float, x: float) -> tuple[float, float]:
    """Height [m] and slope psi [rad], both at x [m], of the surface that is at ``level`` [m] at the wall."""

    def slope(s: float, y: np.ndarray) -> list[float]:
        return [-np.cos(y[2]), -np.sin(y[2]), -water.weight * y[1] / water.tension]

    def meets(s: float, y: np.ndarray) -> float:
        return float(y[0] - x)

    def turns(s: float, y: np.ndarray) -> float:
        return float(abs(y[2]) - 0.5 * np.pi)

    meets.terminal = turns.terminal = True  # type: ignore[attr-defined]
    start, longest = [water.half_width, level, 0.0], 3.0 * water.half_width
    found = solve_ivp(slope, (0.0, longest), start, events=[meets, turns], rtol=1e-9, atol=1e-12)
    return float(found.y[1, -1]), float(found.y[2, -1])


def floats(water: Water, alpha: float) -> State | None:
    """The state of a wetted half angle [rad]; None without one."""
    psi, x = alpha + water.angle - np.pi, water.radius * np.sin(alpha)
    length = np.sqrt(water.tension / water.weight)
    if abs(psi) >= 0.5 * np.pi:
        return None

    def missing(level: float) -> float:
        return _meniscus(water, level, x)[1] - psi

    least, most = -2.0 * length, 2.0 * length
    if missing(least) * missing(most) > 0.0:
        return None
    level = brentq(missing, least, most, xtol=1e-12)
    line = _meniscus(water, level, x)[0]
    area = water.radius**2 * (alpha - np.sin(alpha) * np.cos(alpha)) - 2.0 * water.radius * line * np.sin(alpha)
    centre = line + water.radius * np.cos(alpha)
    return State(2.0 * water.tension * np.sin(psi) + water.weight * area, level - centre)


def states(water: Water, count: int = 46) -> tuple[np.ndarray, list[State]]:
    """Wetted half angles, evenly, and what there is at them."""
    angles = np.linspace(0.1, np.pi - 0.02, count)
    found = [(float(alpha), floats(water, float(alpha))) for alpha in angles]
    kept = [(alpha, state) for alpha, state in found if state is not None]
    return np.array([alpha for alpha, _ in kept]), [state for _, state in kept]


def _load(water: Water, alpha: float) -> float:
    state = floats(water, alpha)
    return -np.inf if state is None else state.load


def largest_density(water: Water, gravity: float) -> float:
    """Density [kg/m3] of the heaviest cylinder that floats."""
    angles, found = states(water)
    n = int(np.argmax([state.load for state in found]))
    low, high = angles[max(n - 1, 0)], angles[min(n + 1, len(angles) - 1)]
    best = minimize_scalar(lambda alpha: -_load(water, alpha), bounds=(low, high), method="bounded")
    return -float(best.fun) / (gravity * np.pi * water.radius**2)


def depth(water: Water, density: float, gravity: float) -> float:
    """Depth [m] of the centre of a cylinder at rest below the surface at the walls, on the way down."""
    wanted = density * gravity * np.pi * water.radius**2
    angles, found = states(water)
    for n in range(len(found) - 1):
        if found[n].load <= wanted < found[n + 1].load:
            alpha = brentq(lambda a: _load(water, a) - wanted, angles[n], angles[n + 1], xtol=1e-9)
            at = floats(water, float(alpha))
            assert at is not None
            return at.depth
    raise ValueError(f"a cylinder of {density:g} kg/m3 does not float")
