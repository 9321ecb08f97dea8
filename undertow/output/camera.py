"""Cameras of pictures and of the page."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np


class Camera(NamedTuple):
    """A pin-hole camera: position (3,) [m], axes (3, 3) with rows right, up, forward, half extents of the image."""

    position: np.ndarray
    axes: np.ndarray
    half_width: float
    half_height: float


def look_at(position: np.ndarray, target: np.ndarray, aspect: float, field_of_view: float = 30.0) -> Camera:
    """A camera at ``position`` looking at ``target`` [m]; vertical field of view [degrees], y is up."""
    forward = target - position
    forward = forward / np.linalg.norm(forward)
    right = np.cross(forward, [0.0, 1.0, 0.0])
    if np.linalg.norm(right) < 1e-6:  # looking straight up or down
        right = np.array([1.0, 0.0, 0.0])
    right = right / np.linalg.norm(right)
    half = math.tan(math.radians(field_of_view) / 2)
    return Camera(
        np.asarray(position, dtype=float), np.stack([right, np.cross(right, forward), forward]), half * aspect, half
    )


def make_camera(
    lower: np.ndarray, upper: np.ndarray, size: int, chosen: dict[str, Any] | None
) -> tuple[Camera, int, int]:
    """A camera with the width and height [pixels] of its picture, the longer one being ``size``.

    The camera is the scene's {position, look_at} [m], 4 : 3, of tall domains 3 : 4, or, where there is none, one that
    frames the domain.
    """
    centre, radius = 0.5 * (lower + upper), 0.5 * float(np.linalg.norm(upper - lower))
    corners = np.array([[x, y, z] for x in (0, 1) for y in (0, 1) for z in (0, 1)]) * (upper - lower) + lower
    if chosen:
        tall = upper[1] - lower[1] > 1.5 * max(upper[0] - lower[0], upper[2] - lower[2])
        width, height = (round(0.75 * size), size) if tall else (size, round(0.75 * size))
        position = np.asarray(chosen["position"], dtype=float)
        target = np.asarray(chosen.get("look_at") or centre, dtype=float)
        return look_at(position, target, width / height), width, height
    direction = np.array([0.30, 0.20, 1.0])
    eye = look_at(centre + 4.0 * radius * direction / np.linalg.norm(direction), centre, 1.0)
    local = (corners - eye.position) @ eye.axes.T
    plane = local[:, :2] / local[:, 2:]
    low, high = plane.min(axis=0), plane.max(axis=0)
    # shift the look to the middle of the projected box, then open the field of view until it fits
    target = eye.position + 4.0 * radius * (eye.axes[2] + 0.5 * (low + high) @ eye.axes[:2])
    aspect = float(np.clip((high[0] - low[0]) / (high[1] - low[1]), 0.8, 16 / 9))
    half = 0.5 * max((high[0] - low[0]) / aspect, high[1] - low[1]) * 1.06
    # a tall picture is as high as a wide one is wide
    height = round(size / max(aspect, 1.0))
    return look_at(eye.position, target, aspect, math.degrees(2.0 * math.atan(half))), round(height * aspect), height
