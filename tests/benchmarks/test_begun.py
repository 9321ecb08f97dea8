"""Every benchmark builds and takes its first steps."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from undertow.validation.runner import known


@pytest.mark.timeout(1200)  # cold kernels on a slow machine
def test_every_benchmark_begins() -> None:
    """In a process of its own: its kernels are not those of the test run."""
    command = [sys.executable, "-m", "undertow", "validate", "--smoke", "--json", *known("bench")]
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ)
    found = [json.loads(line) for line in done.stdout.splitlines()]
    # the trampoline is a case and a benchmark
    assert {line["case"] for line in found} == set(known("bench")), done.stderr
    failed = [f"{line['case']}: {line['detail']['error']}" for line in found if not line["passed"]]
    assert done.returncode == 0 and not failed, "\n".join(failed)
