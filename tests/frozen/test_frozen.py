"""Behaviour is what it was: the norms of every frozen scene agree, and the comparison can fail.

A change of behaviour that is meant is written by ``python tests/frozen/freeze.py --write --only NAME`` and named in the
CHANGELOG. A quantity that is called otherwise now stands in ``RENAMED``, one that is no longer there in ``GONE``.
"""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from functools import cache
from pathlib import Path

import numpy as np
import pytest

FREEZE = Path(__file__).with_name("freeze.py")
_spec = importlib.util.spec_from_file_location("freeze", FREEZE)
assert _spec is not None and _spec.loader is not None
freeze = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(freeze)

RENAMED = {"ledger owed_volume": "ledger volume_error", "array owed_c": "array volume_error_c"}
"""Name of a quantity when it was frozen: its name now."""
GONE: set[str] = set()
"""Names of quantities that were frozen and are there no longer."""


@cache
def now(name: str) -> dict[str, np.ndarray]:
    return freeze.run_scene(name)  # type: ignore[no-any-return]


@cache
def frozen() -> dict[str, dict[str, list[float]]]:
    """What is frozen, by the present names."""
    stored = freeze.read_norms()
    return {scene: {RENAMED.get(k, k): v for k, v in norms.items()} for scene, norms in stored.items()}


def words(found: dict[str, tuple[float, str]]) -> str:
    worst = sorted(found.items(), key=lambda item: -item[1][0])
    return "\n".join(f"{name}: {change:.2e}, {text}" for name, (change, text) in worst[:12])


@pytest.mark.parametrize("name", freeze.SCENES)
def test_a_scene_does_what_it_did(name: str) -> None:
    found = freeze.differences(frozen()[name], freeze.norms_of(now(name)), freeze.tolerance())
    assert not found, f"{len(found)} quantities of {name}\n{words(found)}"


def test_every_scene_is_frozen() -> None:
    assert set(freeze.read_norms()) == set(freeze.SCENES)


def test_names_are_those_of_the_freeze_or_their_change_is_listed() -> None:
    """New quantities are welcome and are not compared until they are frozen; a lost one must be listed."""
    lost = {k for name in freeze.SCENES for k in frozen()[name] if k not in now(name)} - GONE
    assert not lost, f"gone without being listed in RENAMED or GONE: {sorted(lost)}"
    found = {k for name in freeze.SCENES for k in now(name)}
    assert not set(RENAMED.values()) - found, "RENAMED leads to names that no scene has"
    assert not GONE & found, "in GONE and there all the same"


@pytest.mark.parametrize("name", ["smoke", "tank-contact", "solids", "iisph"])
def test_the_comparison_fails_when_one_value_changes_by_a_ten_millionth(name: str) -> None:
    """The largest entry of every quantity in turn that is not small beside its scale; no other quantity is blamed."""
    quantities = now(name)
    old, missed, tried = freeze.norms_of(quantities), [], 0
    scales = freeze.scales_of(old)
    for key, array in quantities.items():
        changed = np.array(array, dtype=float)
        if freeze.is_residual(key) or freeze.is_count_of_passes(key) or old[key][2] <= 0.05 * scales[key][1]:
            continue
        place = np.unravel_index(np.abs(changed).argmax(), changed.shape)
        changed[place] *= 1.0 + 1e-7
        tried += 1
        if list(freeze.differences(old, freeze.norms_of({**quantities, key: changed}))) != [key]:
            missed.append(key)
    assert tried > 15 and not missed, missed


def test_the_comparison_sees_order_residuals_and_bits() -> None:
    """Two entries that change places; a residual that is a thousand times larger; the last bit of one value."""
    quantities = now("tank-contact")
    old = freeze.norms_of(quantities)
    u = quantities["array u"].copy()
    places = np.unravel_index(np.argsort(np.abs(u), axis=None)[-2:], u.shape)
    first, second = (tuple(int(axis[i]) for axis in places) for i in (0, 1))
    assert u[first] != u[second]
    u[first], u[second] = u[second], u[first]
    assert "array u" in freeze.differences(old, freeze.norms_of({**quantities, "array u": u}))
    residual = {**quantities, "ledger residual": np.full(freeze.STEPS, 1e-3)}
    assert list(freeze.differences(old, freeze.norms_of(residual))) == ["ledger residual"]
    more = {**quantities, "ledger iterations": quantities["ledger iterations"] * 1.5}
    assert list(freeze.differences(old, freeze.norms_of(more))) == ["ledger iterations"]
    assert freeze.compare_bits(quantities, quantities) == (0.0, "")
    u = quantities["array u"].copy()
    u[first] = np.nextafter(u[first], 9.0)
    change, where = freeze.compare_bits(quantities, {**quantities, "array u": u})
    assert 0.0 < change < 1e-15 and where == "array u"


def test_bits_do_not_depend_on_process_or_threads(tmp_path: Path) -> None:
    """A second process with two threads, on one scene of every kind of fluid."""
    names = ["smoke", "water-bodies", "tank-soft", "solids", "iisph"]
    out = tmp_path / "other.npz"
    command = [sys.executable, str(FREEZE), "--dump", str(out), "--threads", "2"]
    command += [word for name in names for word in ("--only", name)]
    subprocess.run(command, check=True, cwd=freeze.ROOT)
    found, failed = freeze.read_dump(out)
    assert not failed
    for name in names:
        assert freeze.compare_bits(now(name), found[name]) == (0.0, ""), name
