"""What pictures show besides the fluid: readable titles, rods of joints, even shadows, smoke that fades out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from PIL import ImageDraw

from undertow.grid import Grid
from undertow.output import canvas
from undertow.output.camera import look_at
from undertow.output.canvas import add_walls, contrast, stamp, water_image
from undertow.output.fields import fade_sides, soften_sources
from undertow.output.frames import BodyFrame, FrameData
from undertow.output.joints import JointRods, nearest_point
from undertow.output.raymarch import draw, make_lights, make_medium, make_stage, make_surface

from .conftest import sphere_mesh

LOWER, UPPER = np.array([-1.0, 0.0, -1.0]), np.array([1.0, 2.0, 1.0])


def _ball(name: str, radius: float, centre: tuple[float, float, float]) -> BodyFrame:
    return BodyFrame(name, *sphere_mesh(radius, centre), (0.8, 0.2, 0.1))


@pytest.mark.parametrize("level", [15, 90, 128, 200, 245])
def test_title_and_time_stand_out_from_any_ground(level: int) -> None:
    ground = np.full((480, 640, 3), level, dtype=np.uint8)
    written = stamp(ground, "fountain", 1.25)
    for half in (written[:, :320], written[:, 320:]):
        ink = half[np.abs(half.astype(int) - level).sum(axis=2).argmax() // 320, :].reshape(-1, 3)
        assert contrast(ink, np.array([level] * 3)).max() > 4.5


def test_a_title_on_uneven_ground_has_a_rim() -> None:
    ground = np.full((480, 640, 3), 20, dtype=np.uint8)
    ground[:, 40:80] = 240
    changed = stamp(ground, "fountain", 1.25)[:, :320]
    shades = np.unique(changed[440:].reshape(-1, 3), axis=0).astype(int).sum(axis=1)
    assert shades.min() < 100
    assert shades.max() > 600
    dark_on_light = (changed[440:, 40:80].astype(int).sum(axis=2) < 200).sum()
    assert dark_on_light > 20


def test_a_rod_shows_between_two_joined_bodies_and_moves_with_them() -> None:
    joint = {"type": "joint", "kind": "ball", "parent": "upper", "child": "lower", "position": [0.0, 1.0, 0.0]}
    first = FrameData(0, 0.0, None, {}, [_ball("upper", 0.2, (0.0, 1.5, 0.0)), _ball("lower", 0.2, (0.0, 0.5, 0.0))])
    rods = JointRods({"string": joint}, first)
    # turned by a quarter about z through the joint, then shifted
    turn, shift = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]), np.array([0.3, 0.0, 0.0])
    place = np.array([0.0, 1.0, 0.0])
    bodies = [BodyFrame(b.name, (b.vertices - place) @ turn.T + place + shift, b.triangles) for b in first.bodies]
    for frame, along in ((first, 1), (FrameData(1, 0.1, None, {}, bodies), 0)):
        added = rods.added(frame).bodies[2:]
        points = np.concatenate([rod.vertices for rod in added])
        middle = place + (shift if frame is not first else 0.0)
        ends = np.array([points[:, along].min(), points[:, along].max()]) - middle[along]
        assert np.abs(ends - [-0.3, 0.3]).max() < 0.02
        assert np.abs(np.delete(points - middle, along, axis=1)).max() < 0.03
    gone = [first.bodies[0], BodyFrame("lower", first.bodies[1].vertices + np.float32(0.5), first.bodies[1].triangles)]
    assert len(rods.added(FrameData(2, 0.2, None, {}, gone)).bodies) == 2, "a broken joint has no rods"


def test_a_rod_is_seen_in_the_picture() -> None:
    joint = {"type": "joint", "kind": "ball", "parent": "upper", "child": "lower", "position": [0.0, 1.0, 0.0]}
    frame = FrameData(0, 0.0, None, {}, [_ball("upper", 0.2, (0.0, 1.5, 0.0)), _ball("lower", 0.2, (0.0, 0.5, 0.0))])
    stage = make_stage(LOWER, UPPER)
    eye = look_at(np.array([0.0, 1.0, 6.0]), np.array([0.0, 1.0, 0.0]), 1.0)
    shown = []
    for bodies in (frame.bodies, JointRods({"string": joint}, frame).added(frame).bodies):
        surface = make_surface(bodies)
        lights = make_lights(surface, stage)
        medium = make_medium(np.zeros((1, 1, 1), dtype=np.float32), 1.0, LOWER, 1.0, lights, stage)
        shown.append(draw(eye, surface, lights, medium, stage, 200, 200, 1.0))
    difference = np.abs(shown[1] - shown[0]).sum(axis=2)[88:112]
    assert (difference.max(axis=1) > 0.05).all(), "every row between the balls shows the rod"


def test_a_joint_inside_a_body_needs_no_rod() -> None:
    ball = _ball("ball", 0.5, (0.0, 0.0, 0.0))
    assert nearest_point(ball, np.array([0.1, 0.2, 0.0])) is None
    found = nearest_point(ball, np.array([0.0, 0.9, 0.0]))
    assert found is not None
    assert np.abs(found - [0.0, 0.5, 0.0]).max() < 0.01


def test_the_edge_of_a_soft_shadow_is_even() -> None:
    """Across the rim of a shadow on the floor the light rises in steps of less than a twelfth: twelve maps alone
    draw twelve edges and more where edges fall together."""
    ball = make_surface([_ball("ball", 0.3, (0.0, 1.7, 0.0))])
    stage = make_stage(LOWER, UPPER)
    lights = make_lights(ball, stage)
    medium = make_medium(np.zeros((1, 1, 1), dtype=np.float32), 1.0, LOWER, 1.0, lights, stage)
    centre = np.array([0.0, 1.7, 0.0]) - stage.sun * 1.7 / stage.sun[1]
    eye = look_at(centre + np.array([0.0, 4.0, 1e-3]), centre, 1.0, field_of_view=16.0)
    line = draw(eye, ball, lights, medium, stage, 240, 240, 1.0).sum(axis=2)[120]
    assert np.abs(np.diff(line)).max() < (line.max() - line.min()) / 12.0


def test_smoke_fades_at_the_sides_of_the_domain_and_is_the_same_inside() -> None:
    smoke = np.ones((16, 16, 16), dtype=np.float32)
    faded = fade_sides(smoke)
    line = np.concatenate([[0.0], faded[8, :, 8], [0.0]])
    assert np.abs(np.diff(line)).max() <= 0.5
    assert (faded[2:-2, 2:-2, 2:-2] == 1.0).all()


@pytest.mark.parametrize(
    "shape",
    [
        {"type": "cylinder", "radius": 0.11, "length": 0.1},
        {"type": "box", "size": [0.1, 0.2, 0.2]},
        {"type": "sphere", "radius": 0.1},
    ],
    ids=lambda shape: str(shape["type"]),
)
def test_smoke_has_no_sharp_end_at_its_source(shape: dict[str, Any]) -> None:
    """A source in the middle with smoke to its right: the step to clear air on its left becomes a slope."""
    lower, dx = np.zeros(3), 1.0 / 32
    smoke = np.zeros((32, 32, 32), dtype=np.float32)
    smoke[13:19, 13:19, 15:] = 1.0
    jet = {"type": "emitter", "shape": shape, "position": [0.5, 0.5, 0.5], "stop": 1.0}
    shown = soften_sources(smoke, lower, dx, {"jet": jet, "ball": {"type": "rigid_body"}}, 0.5)
    line = shown[16, 16]
    assert np.abs(np.diff(line)).max() < 0.6 and np.abs(np.diff(smoke[16, 16])).max() == 1.0
    assert (shown[:, :, 26:] == smoke[:, :, 26:]).all(), "away from the source nothing changes"
    assert (shown[smoke == 0.0] == 0.0).all() and shown.min() >= 0.0, "no smoke is added"
    assert shown.max() <= 1.0 and shown[16, 16, 20] > 0.8
    assert (soften_sources(smoke, lower, dx, {"jet": jet}, 1.5) == smoke).all(), "it has stopped"
    mesh = {**jet, "shape": {"type": "mesh", "file": "a.obj"}}
    assert (soften_sources(smoke, lower, dx, {"jet": mesh}, 0.5) == smoke).all()


def test_walls_and_a_bar_of_a_round_length_are_around_a_flat_picture() -> None:
    """3 m across 600 pixels: walls on three sides, and a bar of 0.5 m, the largest round length below 0.66 m."""
    ground = np.full((300, 600, 3), 20, dtype=np.uint8)
    framed = add_walls(ground, 3.0, (True, True, True, False))
    margin = (framed.shape[1] - 600) // 2
    assert margin >= 4
    middle = framed[150]
    assert (middle[:margin] == middle[0]).all()
    assert contrast(middle[0], middle[margin]) > 2.0, "a wall stands out"
    assert (framed[-1, 300] == middle[0]).all(), "the floor is a wall too"
    assert contrast(framed[0, 300], middle[0]) > 2.0, "an open side is none"
    bar = (framed[margin:-margin, margin:-margin].astype(int).sum(axis=2) > 600).sum(axis=1).max()
    assert abs(bar - 100) <= 1
    assert add_walls(ground, 3.0, None).shape == ground.shape


def test_the_key_names_the_colors_of_a_flat_picture() -> None:
    grid = Grid((24, 16, 1), 0.1, (0.0, 0.0, 0.0), 2)
    _, y, _ = np.broadcast_arrays(*grid.cell_centres())
    disc = BodyFrame("disc", *sphere_mesh(0.2, (1.2, 1.2, 0.05)), (0.9, 0.1, 0.1))
    frame = FrameData(0, 0.0, grid, {"level_set": (y - 0.5).astype(np.float32)}, [disc])
    picture = water_image(frame, 480, "tank", (True, True, True, True))
    strip = picture[-20:].astype(int).reshape(-1, 3)
    for color in ((96, 168, 214), (230, 26, 26)):
        assert (np.abs(strip - color).sum(axis=1) < 12).sum() > 30, "a patch of the color beside its name"


@pytest.mark.parametrize("width", [150, 200, 320, 640, 960])
def test_texts_below_a_flat_picture_never_overlap(width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Title, time, name of the field and its limits; the picture of a shaft is narrow."""
    boxes: list[tuple[str, Any]] = []
    write = ImageDraw.ImageDraw.text

    def record(pen: Any, place: Any, text: str, **more: Any) -> None:
        boxes.append((text, pen.textbbox(place, text, font=more["font"], anchor=more["anchor"])))
        write(pen, place, text, **more)

    monkeypatch.setattr(ImageDraw.ImageDraw, "text", record)
    blank = np.zeros((500, width, 3), np.uint8)
    picture = canvas._add_caption(blank, "falling-cylinder", 0.6, "vorticity", (-41.0, 41.0), 2)
    assert [text for text, _ in boxes] == ["41", "-41", "vorticity [1/s]", "falling-cylinder", "t = 0.60 s"]
    for k, (text, (x0, y0, x1, y1)) in enumerate(boxes):
        assert x0 >= 0 and x1 <= width and y0 >= 500 and y1 <= len(picture), text
        for other, (a0, b0, a1, b1) in boxes[:k]:
            assert x1 <= a0 or a1 <= x0 or y1 <= b0 or b1 <= y0, f"{text} lies on {other}"
