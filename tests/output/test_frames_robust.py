"""Frames read back whole, soft bodies too; the page of the viewer answers its own machine only."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from undertow.output.frames import BodyFrame, FrameData, read_frame, write_frame
from undertow.output.soft import SoftFrame
from undertow.output.view import is_own_request


def test_soft_bodies_are_read_back(tmp_path: Path) -> None:
    position = np.random.default_rng(3).random((7, 3)).astype(np.float32)
    cells = {"block": np.array([[0, 1, 2, 3], [1, 2, 3, 4]]), "rope": np.array([[4, 5], [5, 6]])}
    soft = SoftFrame(position, 0.1 * position, -position, cells)
    write_frame(tmp_path / "000003", FrameData(3, 0.5, None, soft=soft))
    frame = read_frame(tmp_path / "000003")
    assert frame.index == 3 and frame.time == 0.5 and frame.soft is not None
    assert np.array_equal(frame.soft.position, position) and np.array_equal(frame.soft.velocity, -position)
    assert list(frame.soft.cells) == ["block", "rope"]
    assert all(np.array_equal(frame.soft.cells[name], cells[name]) for name in cells)
    assert repr(frame) == "FrameData(3, t = 0.5 s, soft)"


def test_many_bodies_cost_as_many_times_one(tmp_path: Path) -> None:
    """Points and triangles of 3,000 bodies are found by their order, and their names make a long head."""
    corner = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], dtype=np.float32)
    faces = np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])
    bodies = [BodyFrame(f"b{i}", corner + i, faces, velocity=np.full(3, float(i))) for i in range(3000)]
    frame = FrameData(0, 0.0, None, bodies=bodies)
    write_frame(tmp_path / "000000", frame)
    found = read_frame(tmp_path / "000000").bodies
    assert [body.name for body in found] == [body.name for body in bodies]
    assert all(np.array_equal(a.vertices, b.vertices) for a, b in zip(found, bodies, strict=True))
    assert all(np.array_equal(a.triangles, faces) for a in found)
    size = (tmp_path / "000000" / "bodies.vtp").stat().st_size
    assert frame.nbytes() == pytest.approx(size, rel=0.4)


@pytest.mark.parametrize(
    ("host", "origin", "own"),
    [
        ("127.0.0.1:8080", None, True),
        ("localhost:8080", "http://localhost:8080", True),
        ("127.0.0.1:8080", "http://127.0.0.1:8080", True),
        ("evil.example:8080", None, False),
        ("evil.example:8080", "http://evil.example:8080", False),
        ("127.0.0.1:8080", "http://evil.example", False),
        ("127.0.0.1:8080", "null", False),
        ("127.0.0.1:8080", "http://127.0.0.1:9999", False),
        (None, None, False),
    ],
)
def test_requests_of_other_sites_are_refused(host: str | None, origin: str | None, own: bool) -> None:
    assert is_own_request(host, origin) is own


def test_the_page_refuses_a_foreign_host(tmp_path: Path) -> None:
    """DNS rebinding: the browser reaches this port by a name of the attacker's."""
    pytest.importorskip("viser")
    import urllib.error
    import urllib.request

    from undertow.output.view import Viewer

    (tmp_path / "frames").mkdir()
    corner = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], dtype=np.float32)
    faces = np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])
    body = BodyFrame("b", corner, faces)
    write_frame(tmp_path / "frames" / "000000", FrameData(0, 0.0, None, bodies=[body]))
    viewer = Viewer(tmp_path, port=0)
    try:
        assert urllib.request.urlopen(viewer.url, timeout=10).status == 200
        for header in ({"Host": "evil.example"}, {"Origin": "http://evil.example"}):
            with pytest.raises(urllib.error.HTTPError) as caught:
                urllib.request.urlopen(urllib.request.Request(viewer.url, headers=header), timeout=10)
            assert caught.value.code == 403
    finally:
        viewer.close()
