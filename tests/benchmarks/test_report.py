"""The page of results keeps what was not run again, and says of every row whether it is that of the present sources."""

from __future__ import annotations

import json
from typing import Any

import pytest

from undertow.validation import kept
from undertow.validation.catalogue import source_of
from undertow.validation.report import write_page
from undertow.validation.runner import known


def line(case: str, measured: float, **beside: Any) -> str:
    return json.dumps(
        {"case": case, "quantity": "q", "measured": measured, "reference": 1.0, "error": 0.0, "tolerance": 0.1}
        | {"passed": True, "seconds": 1.0, **beside}
    )


def bench(**changes: Any) -> str:
    whole = {"case": "b", "quantity": "q", "measured": 2.0, "bound": None, "passed": False, "against": None}
    return json.dumps(whole | changes)


def rows(page: str, case: str) -> list[list[str]]:
    tables = page.split("## Sources")[0]
    return [text.strip("| ").split(" | ") for text in tables.splitlines() if text.startswith(f"| {case} |")]


def test_cases_that_were_run_again_take_the_place_of_their_rows() -> None:
    page = write_page([line("one", 1.01), line("two", 1.02), bench()])
    assert write_page([], page) == page
    again = write_page([line("two", 1.03)], page)
    assert [row[3] for row in rows(again, "one")] == ["1.01"] and [row[3] for row in rows(again, "two")] == ["1.03"]
    assert rows(again, "b")[0][2:6] == ["2", "-", "-", "-"]


def test_quick_and_full_form_have_rows_of_their_own_and_the_last_run_counts() -> None:
    lines = [
        line("one", 1.5, form="full", date="2026-01-03T10:00:00"),
        line("one", 1.1, form="quick", date="2026-01-02T10:00:00"),
        line("one", 1.2, form="quick", date="2026-01-04T10:00:00"),
    ]
    found = {(row[2], row[3], row[9]) for row in rows(write_page(lines), "one")}
    assert found == {("full", "1.5", "2026-01-03"), ("quick", "1.2", "2026-01-04")}


def test_rows_of_other_sources_are_stale_and_so_are_those_of_pages_without_them() -> None:
    now = {"form": "quick", "date": "2026-01-01T00:00:00", "commit": "abc"}
    page = write_page([line("one", 1.0, sources=kept.sources_hash(), **now), line("two", 1.0, sources="0" * 12, **now)])
    assert rows(page, "one")[0][-3:] == ["abc", kept.sources_hash(), "current"]
    assert rows(page, "two")[0][-1] == "stale"
    old = "## Validation\n\n| case | quantity | measured | s |\n|---|---|---|---|\n| old | q | 7 | 3 |\n"
    (row,) = rows(write_page([], old), "old")
    assert row[2:4] == ["quick", "7"] and row[-4:] == ["-", "-", "-", "stale"]


def test_a_ratio_without_its_peer_is_neither_passed_nor_failed() -> None:
    page = write_page([bench(bound=5.0, passed=None, measured=None, against="not compared: x")])
    assert rows(page, "b")[0][2:6] == ["-", "5", "-", "not compared: x"]


@pytest.mark.parametrize("name", known("validate"))
def test_every_case_names_the_source_of_its_references(name: str) -> None:
    assert source_of(name) != "-", f"{name}: its README has no paragraph **Source.**"
