"""The whole test suite as two processes at once, one per core: ``python tests/halves.py`` (what ``make test`` runs).

The halves share the cache of Numba on disk, and little of what they compile: solids, particles and pictures on one
side, fluids and the program on the other. The compile budget is that of both together.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import tomllib
from collections import Counter
from pathlib import Path

TESTS = Path(__file__).resolve().parent
SECOND = (
    "fluid", "frozen", "fuzz", "geometry", "grid", "output", "policy", "rigid", "scene", "soft", "solids", "sph",
    "surface", "transport", "benchmarks",
)  # fmt: skip
LAST = "cli"
"""``cli`` and ``benchmarks`` begin every case and every benchmark, with the kernels of both halves: they come last,
when these are compiled."""


def main() -> int:
    """Exit status: 0 when both halves passed and the budget holds."""
    folders = sorted(path.name for path in TESTS.iterdir() if list(path.glob("test_*.py")))
    halves = [[*(name for name in folders if name not in (*SECOND, LAST)), LAST], list(SECOND)]
    with tempfile.TemporaryDirectory() as temporary:
        records = [Path(temporary) / f"kernels-{i}.json" for i in range(2)]
        log = Path(temporary) / "second.log"
        with log.open("w") as out:
            second = _start(halves[1], records[1], out)
            first = _start(halves[0], records[0], None)
            codes = [first.wait(), second.wait()]
        print(log.read_text(), end="")
        used: Counter[str] = Counter()
        for record in records:
            if record.is_file():
                used |= Counter(json.loads(record.read_text()))
    bound = int(tomllib.loads((TESTS.parent / "pyproject.toml").read_text())["tool"]["undertow"]["specialisations"])
    total = sum(used.values())
    print(f"numba: {total} kernels used by both halves, bound {bound}")
    print(_counts())
    if total > bound:
        print("numba: OVER THE BOUND of pyproject.toml [tool.undertow]")
    return 0 if codes == [0, 0] and total <= bound else 1


def _counts() -> str:
    """What is left of the classes that are to go; see tests/policy/counts.py."""
    sys.path.insert(0, str(TESTS / "policy"))
    import counts

    return counts.summary()


def _start(folders: list[str], record: Path, out: object) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "pytest", *(str(TESTS / name) for name in folders)]
    environment = os.environ | {"UNDERTOW_KERNEL_RECORD": str(record)}
    return subprocess.Popen(command, cwd=TESTS.parent, env=environment, stdout=out)  # type: ignore[call-overload, no-any-return]


if __name__ == "__main__":
    sys.exit(main())
