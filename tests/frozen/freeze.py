"""Behaviour frozen: every scene of ``frozen_scenes`` run for five steps through the public interface.

    python tests/frozen/freeze.py --write            norms.json of the present state
    python tests/frozen/freeze.py --check            this state against norms.json
    python tests/frozen/freeze.py --shake            velocities and densities changed by 1e-14: what do norms change by?
    python tests/frozen/freeze.py --same-bits REV    this state against another one, by bits (make same-bits BASE=REV)

``--only NAME`` (may stand several times) chooses scenes, ``--threads N`` the threads.

A *quantity* is an array of the checkpoint (``array u``), a number of its state (``state ...``), a column of the ledger
over the steps (``ledger energy``), or what ``sim.body`` says at the end (``body ball force``). Of each three norms are
kept: the sum with fixed weights between -1 and 1, which sees a change of order, the Euclidean norm, and the largest
absolute value.

Two norms are equal when they differ by at most 1e-9 of a scale on the kind of processor that wrote them, and by 1e-5 on
another one: its rounding decides in which pass an iterative solve ends. The scale of a largest value and of a Euclidean
norm is the norm itself. That of a weighted sum, which may cancel, is the Euclidean norm of its quantity, as large as
the sum of random numbers would be. Components of one vector (``momentum_x``, ``_y``, ``_z``) have the scale of the
vector, since one may be zero up to rounding. A column that is a difference of large numbers, such as the momentum of a
closed tank, has at least the scale of another one, as ``FLOORS`` says.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

import numpy as np
from frozen_scenes import SCENES, STEPS, change

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
NORMS = HERE / "norms.json"
PROCESSOR = NORMS.with_name("processor.txt")
"""The kind of processor that wrote the norms last."""
TOLERANCE, ELSEWHERE = 1e-9, 1e-5
"""On that kind of processor and on others: between two kinds norms moved by 1.3e-7 at most."""
ROUNDING = 1e-14
"""By this share ``--shake`` changes velocities and densities, as another machine's rounding would after the start."""

RESIDUALS = {
    "residual", "residual_solids", "row_after", "divergence_max", "leak", "incompatibility", "coupling_residual",
    "joint_error", "contact_left",
}  # fmt: skip
"""Columns of the ledger that say how far a solve is from its solution: what is left after the last iteration is
amplified rounding. They may not be more than ten times what they were, or than ``LEFT``."""
LEFT = 1e-9
ITERATIONS = {"iterations", "iterations_solids", "joint_iterations", "soft_iterations"}
"""Columns that count passes of solves. Where a solve ends, rounding decides, and that of another processor is another:
the largest may change by ``PASSES``, or by a tenth."""
PASSES = 2.0

FLOORS: tuple[tuple[str, str | float], ...] = (
    (r"ledger (angular_)?momentum(_solids)?|array (.*impulse|solids_before_\d+)", r"ledger kinetic_energy"),
    (r"ledger (in|out)flow", r"ledger fluid_volume"),
    (r"(ledger|body|state|array) .*(force|torque)s?(\.\w+)?", r"body .* (contact_)?force"),
    (r"body .* (angular_)?velocity|array rigid_(v|omega|p|L)|ledger (joint_rate|velocity_error|disagreement)", 0.01),
    (r"ledger penetration", 0.001),
)
"""Floors of scales. The first fits all of a quantity's name; it has at least a scale of its own (SI), or that of the
largest of the quantities that the second fits: momentum and impulse beside the energy that they have at 1 m/s, what
flows through sides beside the volume that would in 1 s, moments and forces beside the forces on bodies. All scenes are
about 1 m large and move with about 1 m/s."""

Norms = dict[str, list[float]]
Quantities = dict[str, np.ndarray]
PARTS = ("weighted sum", "Euclidean norm", "largest value")
OF_BODY = ("position", "matrix", "velocity", "angular_velocity", "force", "torque", "contact_force", "joint_force")


def run_scene(name: str, threads: int = 1, data: Mapping[str, Any] | None = None) -> Quantities:
    """All quantities of a scene after its steps."""
    import undertow as ut

    sim = ut.Simulation(ut.Scene(name=name, **(data or SCENES[name])), threads=threads)
    rows: list[dict[str, float]] = []
    for step in range(STEPS):
        change(name, step, sim, ut.RigidBody)
        report = sim.step()
        rows.append({**report.ledger, "time_step": report.time_step, "events": float(len(report.events))})
    saved = sim.checkpoint()
    found = {f"array {key}": np.array(array) for key, array in saved.arrays.items()}
    found |= {f"state {key}": array for key, array in _flatten(saved.numbers["state"])}
    for key in dict.fromkeys(key for row in rows for key in row):
        found[f"ledger {key}"] = np.array([row.get(key, -1.0) for row in rows], dtype=float)
    for body in [*sim.scene.bodies, *sim.scene.softs]:
        with contextlib.suppress(ut.UserError, KeyError):  # one that has been removed
            state = sim.body(body)
            found |= {f"body {body} {key}": np.array(getattr(state, key), dtype=float) for key in OF_BODY}
    return found


def _flatten(value: Any, path: str = "") -> Iterator[tuple[str, np.ndarray]]:
    """The numbers in nested tables by their paths; a list of numbers is one array."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from _flatten(item, f"{path}.{key}" if path else str(key))
        return
    try:
        array = np.asarray(value, dtype=float)
    except (TypeError, ValueError):
        array = np.frombuffer(repr(value).encode(), dtype=np.uint8).astype(float)
    yield path, np.atleast_1d(array)


def norms_of(quantities: Mapping[str, np.ndarray]) -> Norms:
    """Three norms of each quantity."""
    found: Norms = {}
    for name, array in quantities.items():
        a = np.asarray(array, dtype=float).ravel()
        a = np.where(np.isfinite(a), a, -12345.0)
        weights = 2.0 * np.modf(0.6180339887498949 * np.arange(1, a.size + 1))[0] - 1.0
        found[name] = [
            float(np.sum(weights * a)), float(np.sqrt(np.sum(a * a))), float(np.abs(a).max(initial=0.0)),
        ]  # fmt: skip
    return found


def _column(name: str) -> str:
    """The name of a quantity without its kind and body: ``ledger ball.force_x`` is ``force_x``."""
    return name.split(" ", 1)[-1].rsplit(".", 1)[-1]


def _family(name: str) -> str:
    return name[:-2] if name.startswith("ledger ") and name[-2:] in ("_x", "_y", "_z") else name


def is_residual(name: str) -> bool:
    """True for what is left of a solve."""
    return name.startswith("ledger ") and _column(name) in RESIDUALS


def is_count_of_passes(name: str) -> bool:
    """True for how many passes solves took."""
    return name.startswith("ledger ") and _column(name) in ITERATIONS


def scales_of(norms: Norms) -> dict[str, list[float]]:
    """Scale of the Euclidean norm and of the largest value of each quantity."""
    families: dict[str, list[float]] = {}
    for name, (_, *own) in norms.items():
        families[_family(name)] = [max(pair) for pair in zip(own, families.get(_family(name), own), strict=True)]
    for family, scale in list(families.items()):
        for pattern, other in FLOORS:
            if re.fullmatch(pattern, family):
                least = [[other, other]] if isinstance(other, float) else []
                least += [v for k, v in families.items() if isinstance(other, str) and re.fullmatch(other, k)]
                families[family] = [max(pair) for pair in zip(scale, *least, strict=True)]
                break
    return {name: families[_family(name)] for name in norms}


def differences(old: Norms, new: Norms, tolerance: float = TOLERANCE) -> dict[str, tuple[float, str]]:
    """Quantities that both have and that differ: (relative change, in words)."""
    both, scales = [name for name in old if name in new], scales_of(old)
    found = {}
    for name in both:
        if is_residual(name):
            bound = max(10.0 * old[name][2], LEFT)
            if not new[name][2] <= bound:
                found[name] = (new[name][2] / bound, f"largest value {new[name][2]:.3g}, at most {bound:.3g}")
            continue
        if is_count_of_passes(name):
            bound = max(PASSES, 0.1 * old[name][2])
            if not abs(new[name][2] - old[name][2]) <= bound:
                found[name] = (abs(new[name][2] / max(old[name][2], 1.0) - 1.0),
                               f"largest value {old[name][2]:g} -> {new[name][2]:g}")  # fmt: skip
            continue
        euclid, largest = scales[name]
        worst = (0.0, "")
        for part, scale in enumerate((euclid, euclid, largest)):
            before, after = old[name][part], new[name][part]
            changed = 0.0 if before == after else abs(after - before) / scale if scale > 0.0 else np.inf
            if not changed <= max(tolerance, worst[0]):
                worst = (float(changed), f"{PARTS[part]} {before:.17g} -> {after:.17g}")
        if worst[1]:
            found[name] = worst
    return found


def read_norms() -> dict[str, Norms]:
    """What is frozen, by scene."""
    stored: dict[str, dict[str, Any]] = json.loads(NORMS.read_text())
    return {scene: {k: v or [0.0, 0.0, 0.0] for k, v in norms.items()} for scene, norms in stored.items()}


def processor() -> str:
    """The kind of processor that kernels are compiled for here."""
    from llvmlite.binding import get_host_cpu_name

    return str(get_host_cpu_name())


def tolerance() -> float:
    """How far norms may be from the frozen ones here."""
    return TOLERANCE if PROCESSOR.read_text().strip() == processor() else ELSEWHERE


def write_norms(found: Mapping[str, Norms]) -> None:
    """One line per quantity; 0 stands for three zeros."""
    lines = []
    for scene in sorted(found):
        rows = []
        for name in sorted(found[scene]):
            norms = found[scene][name]
            rows.append(f"  {json.dumps(name)}: {json.dumps(norms, separators=(',', ':')) if any(norms) else 0}")
        lines.append(f"{json.dumps(scene)}: {{\n" + ",\n".join(rows) + "\n}")
    temporary = NORMS.with_suffix(".tmp")
    temporary.write_text("{\n" + ",\n".join(lines) + "\n}\n")
    os.replace(temporary, NORMS)
    PROCESSOR.write_text(processor() + "\n")


def shaken(data: Any, key: str = "") -> Any:
    """The tables of a scene, its numbers changed in the last bits."""
    if isinstance(data, Mapping):
        return {k: shaken(v, str(k)) for k, v in data.items()}
    if isinstance(data, list | tuple):
        return [shaken(v, key) for v in data]
    if isinstance(data, float) and key in ("velocity", "density", "linear", "angular_velocity"):
        sign = 1 if hash(data) % 3 else -1
        return data * (1.0 + sign * ROUNDING)
    return data


def dump(path: Path, names: list[str], threads: int) -> None:
    """All quantities of scenes into a file, a scene that fails by its message."""
    arrays: dict[str, np.ndarray] = {}
    failed: dict[str, str] = {}
    for name in names:
        try:
            arrays |= {f"{name}\t{key}": array for key, array in run_scene(name, threads).items()}
        except Exception as error:
            failed[name] = f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
            if os.environ.get("FREEZE_TRACEBACK"):
                traceback.print_exc()
    keys = sorted(arrays)
    temporary = path.with_suffix(".tmp.npz")
    numbered = {f"a{i}": arrays[key] for i, key in enumerate(keys)}
    np.savez(temporary, keys=json.dumps(keys), failed=json.dumps(failed), **numbered)  # type: ignore[arg-type]
    os.replace(temporary, path)


def read_dump(path: Path) -> tuple[dict[str, Quantities], dict[str, str]]:
    """Quantities by scene, and messages of the scenes that failed."""
    found: dict[str, Quantities] = {}
    with np.load(path) as file:
        for i, key in enumerate(json.loads(str(file["keys"]))):
            scene, name = key.split("\t")
            found.setdefault(scene, {})[name] = file[f"a{i}"]
        return found, json.loads(str(file["failed"]))


def compare_bits(old: Quantities, new: Quantities) -> tuple[float, str]:
    """Largest relative change and where; (0, "") for the same bits. Relative to the largest value of the quantity."""
    worst = (0.0, "")
    for name in sorted(set(old) & set(new)):
        a, b = old[name], new[name]
        if a.shape == b.shape and a.dtype == b.dtype and a.tobytes() == b.tobytes():
            continue
        if a.shape != b.shape:
            return np.inf, f"{name}: shape {a.shape} -> {b.shape}"
        x, y = a.astype(float), b.astype(float)
        scale = float(np.abs(x).max(initial=0.0))
        apart = float(np.abs(y - x).max(initial=0.0))
        changed = apart / scale if scale > 0.0 else np.inf if apart > 0.0 else 0.0
        if changed >= worst[0]:
            worst = (changed, name)
    return worst


def report_bits(before: Path, after: Path, names: list[str]) -> int:
    """A line per scene; 1 when a value differs."""
    (old, old_failed), (new, new_failed) = read_dump(before), read_dump(after)
    code = 0
    for name in names:
        if name in old_failed or name in new_failed:
            for tree, failed in (("base", old_failed), ("present", new_failed)):
                if name in failed:
                    print(f"{name:24s} cannot be run in the {tree} tree: {failed[name]}")
            code = max(code, int(name in new_failed and name not in old_failed))
            continue
        changed, where = compare_bits(old[name], new[name])
        code = max(code, int(bool(where)))
        print(f"{name:24s} {f'largest relative change {changed:.2e} in {where}' if where else 'same bits'}")
        for words, missing in (("gone", set(old[name]) - set(new[name])), ("new", set(new[name]) - set(old[name]))):
            if missing:
                print(f"{'':24s} {words}: {', '.join(sorted(missing))}")
    return code


def same_bits(revision: str, names: list[str], threads: int) -> int:
    """This tree against a revision, in a worktree that is removed in any case."""
    commit = subprocess.run(
        ["git", "rev-parse", "--verify", f"{revision}^{{commit}}"], cwd=ROOT, capture_output=True, text=True
    )
    if commit.returncode != 0:
        print(f"same-bits: {revision!r} is no revision of this repository; give BASE=rev")
        return 2
    with tempfile.TemporaryDirectory(prefix="same-bits-") as folder:
        tree = Path(folder).resolve() / "base"
        git = ["git", "-C", str(ROOT), "worktree"]
        subprocess.run([*git, "add", "--quiet", "--detach", str(tree), commit.stdout.strip()], check=True)
        try:
            caches = Path(folder) / "cache"
            _lend_kernels(tree, caches)
            dumps = [Path(folder) / "before.npz", Path(folder) / "after.npz"]
            for where, out, cache in ((tree, dumps[0], caches), (ROOT, dumps[1], None)):
                environment = {**os.environ, "PYTHONPATH": str(where)}
                if cache is not None:
                    environment["NUMBA_CACHE_DIR"] = str(cache)
                command = [sys.executable, str(HERE / "freeze.py"), "--dump", str(out), "--threads", str(threads)]
                command += [word for name in names for word in ("--only", name)]
                subprocess.run(command, cwd=folder, env=environment, check=True)
            print(f"same-bits: {commit.stdout.strip()[:10]} -> present tree")
            return report_bits(dumps[0], dumps[1], names)
        finally:
            subprocess.run([*git, "remove", "--force", str(tree)], check=False)
            subprocess.run([*git, "prune"], check=False)


def _lend_kernels(tree: Path, caches: Path) -> None:
    """A copy of this tree's compiled kernels for another tree: where sources are the same nothing is compiled."""
    from undertow.run.kernel_cache import package_folder

    own = package_folder(ROOT / "undertow", Path(os.environ["NUMBA_CACHE_DIR"]))
    if own.is_dir():
        shutil.copytree(own, package_folder(tree / "undertow", caches))


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--shake", action="store_true")
    parser.add_argument("--same-bits", metavar="REV")
    parser.add_argument("--dump", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--only", action="append", metavar="NAME")
    parser.add_argument("--threads", type=int, default=1)
    given = parser.parse_args()
    unknown = [name for name in given.only or () if name not in SCENES]
    if unknown:
        parser.error(f"no frozen scene {unknown[0]!r}; the scenes are {', '.join(SCENES)}")
    names = given.only or list(SCENES)
    import undertow  # noqa: F401  (before Numba: it chooses the cache)

    if given.dump is not None:
        dump(given.dump, names, given.threads)
        return 0
    if given.same_bits is not None:
        return same_bits(given.same_bits, names, given.threads)
    if given.write:
        kept = read_norms() if given.only and NORMS.is_file() else {}
        write_norms({**kept, **{name: norms_of(run_scene(name, given.threads)) for name in names}})
        return 0
    code = 0
    for name in names:
        if given.shake:
            old = norms_of(run_scene(name, given.threads))
            found = differences(old, norms_of(run_scene(name, given.threads, shaken(SCENES[name]))), 0.1 * TOLERANCE)
        else:
            found = differences(read_norms()[name], norms_of(run_scene(name, given.threads)), tolerance())
        print(f"{name:24s} {'differs' if found else 'as before'}", flush=True)
        for quantity, (_, words) in sorted(found.items(), key=lambda item: -item[1][0])[:8]:
            print(f"    {quantity}: {words}")
        code = max(code, int(bool(found)))
    return code


if __name__ == "__main__":
    sys.exit(main())
