"""Joints in pictures: rods from where a joint is to the bodies that it holds.

Frames hold the surfaces of bodies and no joints. Where a joint is at t = 0 is in the scene; how a body has moved since
is found from the vertices of its surface (Kabsch 1976, "A solution for the best rotation to relate two sets of
vectors").
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from undertow.output.frames import BodyFrame, FrameData

_THICKNESS = 0.0035
"""Radius of a rod by the diagonal of what there is to see."""

_BROKEN = 4.0
"""A joint whose two ends are so far apart is broken [radii]."""

_COLOR = (0.42, 0.44, 0.48)
_SIDES = 12


@dataclass
class _Rod:
    """A rod that moves with a body (None: the world), from start to end (3,) [m] at t = 0, and the joint that it is
    of: the rods of a broken joint are not drawn."""

    name: str
    body: str | None
    start: np.ndarray
    end: np.ndarray


class JointRods:
    """The rods of the joints of a scene. ``first``: the frame of t = 0."""

    def __init__(self, objects: dict[str, Any], first: FrameData) -> None:
        self._first = {body.name: body for body in first.bodies}
        self._joints = {
            name: item for name, item in objects.items() if item.get("type") == "joint" and item["child"] in self._first
        }
        lower, upper = first.extent() if self._joints else (np.zeros(3), np.zeros(3))
        self._radius = _THICKNESS * float(np.linalg.norm(upper - lower))
        self._top = float(upper[1]) if first.grid is not None else None
        self._rods = [rod for name, item in self._joints.items() for rod in self._make(name, item)]

    def added(self, frame: FrameData) -> FrameData:
        """The frame with the rods among its bodies."""
        if not self._rods:
            return frame
        now = {body.name: body for body in frame.bodies}
        moved = {name: _motion(self._first[name], now[name]) for name in self._first if name in now}
        whole = {name for name, item in self._joints.items() if self._holds(item, moved)}
        rods = []
        for rod in self._rods:
            if rod.name in whole and (rod.body is None or rod.body in moved):
                turn, shift = (np.eye(3), np.zeros(3)) if rod.body is None else moved[rod.body]
                ends = np.stack([rod.start, rod.end]) @ turn.T + shift
                rods.append(make_rod(f"{rod.name} (joint)", ends[0], ends[1], self._radius))
        return replace(frame, bodies=[*frame.bodies, *rods])

    def _make(self, name: str, item: dict[str, Any]) -> list[_Rod]:
        """The rods from a joint to its bodies, where it is outside of them; a hinge of the world is a pin."""
        child, parent = self._first[item["child"]], self._first.get(item.get("parent") or "")
        place = self._place(item)
        rods = []
        for body in (child, parent):
            if body is not None and (found := nearest_point(body, place)) is not None:
                rods.append(_Rod(name, body.name, place, found))
        if item.get("parent") is None:
            if item["kind"] == "hinge" and len(place) == 3:
                axis = np.asarray(item["axis"], dtype=float)
                axis /= np.linalg.norm(axis)
                along = (child.vertices - place) @ axis
                margin = 3.0 * self._radius
                rods.append(
                    _Rod(name, None, place + (along.min() - margin) * axis, place + (along.max() + margin) * axis)
                )
            elif rods and self._top is not None and self._top > place[1]:
                # hung from above, as far up as there is anything
                rods.append(_Rod(name, None, place, np.array([place[0], self._top, place[2]])))
        return rods

    def _place(self, item: dict[str, Any]) -> np.ndarray:
        position = [float(v) for v in item["position"]]
        middle = self._first[item["child"]].vertices[:, 2]
        return np.array(position if len(position) == 3 else [*position, 0.5 * float(middle.min() + middle.max())])

    def _holds(self, item: dict[str, Any], moved: dict[str, tuple[np.ndarray, np.ndarray]]) -> bool:
        """Whether both bodies of a joint are there and agree on where it is; sliding joints need not agree."""
        names = [item["child"], item.get("parent")]
        if item["kind"] in ("prismatic", "planar"):
            return all(name is None or name in moved for name in names)
        place = self._place(item)
        ends = [place if name is None else moved[name][0] @ place + moved[name][1] for name in names
                if name is None or name in moved]  # fmt: skip
        return len(ends) == 2 and float(np.linalg.norm(ends[0] - ends[1])) < _BROKEN * self._radius


def make_rod(name: str, start: np.ndarray, end: np.ndarray, radius: float) -> BodyFrame:
    """A cylinder between two points (3,) [m] with flat ends."""
    along = end - start
    length = float(np.linalg.norm(along))
    along = along / length if length > 0.0 else np.array([0.0, 1.0, 0.0])
    side = np.cross(along, np.eye(3)[np.argmin(np.abs(along))])
    side /= np.linalg.norm(side)
    angle = 2.0 * np.pi * np.arange(_SIDES) / _SIDES
    ring = radius * (np.cos(angle)[:, None] * side + np.sin(angle)[:, None] * np.cross(along, side))
    vertices = np.concatenate([start + ring, end + ring, [start, end]])
    a = np.arange(_SIDES)
    b, n = (a + 1) % _SIDES, _SIDES
    triangles = [(a, b, b + n), (a, b + n, a + n), (b, a, 0 * a + 2 * n), (a + n, b + n, 0 * a + 2 * n + 1)]
    return BodyFrame(name, vertices, np.concatenate([np.stack(t, axis=1) for t in triangles]), _COLOR)


def nearest_point(body: BodyFrame, place: np.ndarray) -> np.ndarray | None:
    """The point of a body's surface nearest to a place (3,) [m] outside of it; None inside (by its winding number)."""
    corners = body.vertices[body.triangles].astype(float) - place
    if len(corners) == 0:
        return None
    a, b, c = corners[:, 0], corners[:, 1], corners[:, 2]
    la, lb, lc = (np.linalg.norm(v, axis=1) for v in (a, b, c))
    # solid angles (Van Oosterom and Strackee 1983)
    volume = np.einsum("ij,ij->i", a, np.cross(b, c))
    below = la * lb * lc + (a * b).sum(1) * lc + (b * c).sum(1) * la + (c * a).sum(1) * lb
    if abs(np.arctan2(volume, below).sum()) > np.pi:
        return None
    samples = _spread_over(corners)
    best = samples[np.argmin((samples * samples).sum(axis=1))]
    return np.asarray(place + best)


def _spread_over(corners: np.ndarray) -> np.ndarray:
    """Points over triangles (m, 3, 3): corners, and, per triangle, the point of its plane nearest to the origin where
    that is on it, and those of its edges."""
    points = [corners.reshape(-1, 3)]
    for i in range(3):
        start, way = corners[:, i], corners[:, (i + 1) % 3] - corners[:, i]
        share = -(start * way).sum(axis=1) / np.maximum((way * way).sum(axis=1), 1e-300)
        points.append(start + np.clip(share, 0.0, 1.0)[:, None] * way)
    normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    foot = ((corners[:, 0] * normal).sum(axis=1) / np.maximum((normal * normal).sum(axis=1), 1e-300))[:, None] * normal
    inside = np.ones(len(corners), dtype=bool)
    for i in range(3):
        edge = corners[:, (i + 1) % 3] - corners[:, i]
        inside &= (np.cross(edge, foot - corners[:, i]) * normal).sum(axis=1) >= 0.0
    return np.concatenate([*points, foot[inside]])


def _motion(before: BodyFrame, now: BodyFrame) -> tuple[np.ndarray, np.ndarray]:
    """Rotation (3, 3) and shift (3,) [m] that bring the vertices ``before`` where they are ``now``."""
    if before.vertices.shape != now.vertices.shape:  # broken into pieces
        return np.eye(3), np.full(3, np.inf)
    a, b = before.vertices.astype(float), now.vertices.astype(float)
    u, _, vt = np.linalg.svd((a - a.mean(axis=0)).T @ (b - b.mean(axis=0)))
    flip = np.diag([1.0, 1.0, np.sign(np.linalg.det(u @ vt))])
    turn = (u @ flip @ vt).T
    return turn, b.mean(axis=0) - turn @ a.mean(axis=0)
