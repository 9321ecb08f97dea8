"""The page of results keeps what was not run again."""

import json

from undertow.validation.report import write_page


def line(case: str, measured: float) -> str:
    return json.dumps(
        {"case": case, "quantity": "q", "measured": measured, "reference": 1.0, "error": 0.0, "tolerance": 0.1}
        | {"passed": True, "seconds": 1.0}
    )


def test_cases_that_were_run_again_take_the_place_of_their_rows() -> None:
    bench = {"case": "b", "quantity": "q", "measured": 2.0, "bound": None, "passed": False, "against": None}
    page = write_page([line("one", 1.01), line("two", 1.02), json.dumps(bench)])
    assert write_page([], page) == page
    again = write_page([line("two", 1.03)], page)
    assert "| one | q | 1.01 |" in again and "| two | q | 1.03 |" in again and "1.02" not in again
    assert "| b | q | 2 | - | - | - |" in again
