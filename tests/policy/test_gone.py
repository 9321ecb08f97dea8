"""Old and new do not live side by side: classes that parts have replaced stay gone, and the list of those left shrinks.

A class that goes is moved from ``TO_GO`` to ``GONE`` of ``counts.py``. Nothing is ever added to ``TO_GO``.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

_SPEC = importlib.util.spec_from_file_location("counts", Path(__file__).with_name("counts.py"))
assert _SPEC is not None and _SPEC.loader is not None
counts = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(counts)
GONE, TO_GO, classes, summary = counts.GONE, counts.TO_GO, counts.classes, counts.summary


@pytest.mark.parametrize("name", GONE)
def test_what_has_gone_stays_gone(name):
    assert name not in classes(), f"{name} is back in {classes()[name]}: add a part, a wall or a phase instead"


@pytest.mark.parametrize("name", [name for names in TO_GO.values() for name in names])
def test_the_list_of_what_is_to_go_is_true(name):
    assert name in classes(), f"{name} has gone: move it from TO_GO to GONE"


def test_the_rows_of_incompressibility_are_one_class():
    found = [name for name, places in classes().items() if name.endswith("Rows") and "fluid/pressure.py" in places]
    assert found == ["PressureRows"]
    assert not [name for name in classes() if "Divergence" in name]


SHAPE_TESTS = 0
"""How many tests of the class of a shape there are; it only ever shrinks."""


def test_shapes_answer_for_themselves():
    assert {"Sphere", "MeshShape", "Sheet", "Shell", "Polyline"} <= counts.shape_classes()
    found = counts.shape_tests()
    assert len(found) <= SHAPE_TESTS, f"ask the shape, not its class (geometry.Shape, scene.ShapeModel): {found}"
    assert len(found) == SHAPE_TESTS, f"fewer than {SHAPE_TESTS} are left: lower SHAPE_TESTS to {len(found)}"


def test_counts_can_be_printed():
    assert "statements" in summary()
