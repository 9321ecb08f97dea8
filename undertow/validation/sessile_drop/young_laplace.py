"""Height of a drop at rest on a plane under gravity: the Young-Laplace equation, integrated from its top.

    sigma (d theta / ds + [3D: sin theta / x]) = k + rho g z,      dx / ds = cos theta,  dz / ds = sin theta

z being the depth below the top and theta the slope, from 0 at the top to the contact angle at the plane; k, the
pressure of the top, is that for which the drop has its volume.
"""

from __future__ import annotations

import numpy as np
from scipy.integrate import solve_ivp
from scipy.optimize import brentq


def _profile(curvature: float, bond: float, angle: float, dimensions: int) -> tuple[float, float]:
    """Height and volume (2D: area) of the drop of this k / sigma [1/m]; bond: rho g / sigma [1/m2]; angle [rad]."""

    def slope(s: float, y: np.ndarray) -> list[float]:
        x, z, theta, _ = y
        # at the top both curvatures are k / 2
        around = 0.0 if dimensions == 2 else (np.sin(theta) / x if x > 1e-9 else 0.5 * curvature)
        across = 2.0 * x if dimensions == 2 else np.pi * x * x
        return [np.cos(theta), np.sin(theta), curvature + bond * z - around, across * np.sin(theta)]

    def meets(s: float, y: np.ndarray) -> float:
        return float(y[2] - angle)

    meets.terminal = True  # type: ignore[attr-defined]
    longest = 100.0 / curvature + 100.0
    found = solve_ivp(slope, (0.0, longest), [0.0, 0.0, 0.0, 0.0], events=meets, rtol=1e-10, atol=1e-12)
    return float(found.y[1, -1]), float(found.y[3, -1])


def height(volume: float, bond: float, degrees: float, dimensions: int) -> float:
    """Height [m] of a drop of a volume [m3; 2D m2]; bond: rho g / sigma [1/m2]; degrees: its contact angle."""
    angle = float(np.radians(degrees))
    size = volume ** (1.0 / dimensions)

    def missing(log_curvature: float) -> float:
        return float(np.log(_profile(float(np.exp(log_curvature)), bond, angle, dimensions)[1] / volume))

    root = brentq(missing, np.log(1e-4 / size), np.log(1e2 / size), xtol=1e-12)
    return _profile(float(np.exp(root)), bond, angle, dimensions)[0]
