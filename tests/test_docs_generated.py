"""The pages that are made from tables are as the tables are; `--update-golden` makes them anew."""

from __future__ import annotations

import re

import pytest

from docs_pages import ROOT
from golden_files import compare_golden
from symgrad.ir.ops import OPS
from tools import numpy_page, ops_page


def test_ops(request: pytest.FixtureRequest) -> None:
    compare_golden(
        ROOT / "docs" / "ops.md", ops_page.page(), bool(request.config.getoption("--update-golden"))
    )


def test_every_op_has_a_row() -> None:
    assert set(re.findall(r"^\| `(\w+)` \|", ops_page.page(), re.MULTILINE)) == set(OPS)


def test_numpy(request: pytest.FixtureRequest) -> None:
    path, update = ROOT / "docs" / "numpy.md", bool(request.config.getoption("--update-golden"))
    if not update and f"names of NumPy {numpy_page.NUMPY_VERSION};" not in path.read_text(encoding="utf-8"):
        pytest.skip("the page was made with another NumPy, which has other names")
    compare_golden(path, numpy_page.page(), update)


def test_no_function_is_both_there_and_refused() -> None:
    there, _, refused = numpy_page.page().partition("## What is refused")
    names = [
        set(re.findall(r"`(np\.[\w.]+)`", part))
        for part in (there, refused.partition("### Refused, with")[2])
    ]
    assert min(map(len, names)) > 40
    # What writes into its argument is told apart by its arguments.
    assert names[0] & names[1] == set()
