"""Every ```python block of the documentation runs, and prints what the block after it says.

The blocks of a page run in order and share their names. A ```text or ```ir block right after one is its
output, compared as doctest does it: `...` stands for anything. `--update-golden` writes the outputs anew.
"""

from __future__ import annotations

import difflib
import doctest
from pathlib import Path
from typing import Any

import pytest

from docs_pages import ROOT, Example, examples, pages, replaced, run

PAGES = {path.relative_to(ROOT).as_posix(): path for path in pages()}
WITH_PYTHON = [name for name, path in PAGES.items() if "```python\n" in path.read_text(encoding="utf-8")]


def _differs(example: Example, printed: str) -> str | None:
    """How an output differs from what the page has; None where it does not."""
    wanted = "" if example.output is None else example.output
    if doctest.OutputChecker().check_output(wanted, printed, doctest.ELLIPSIS):
        return None
    return "\n".join(
        difflib.unified_diff(wanted.splitlines(), printed.splitlines(), "page", "now", lineterm="")
    )


@pytest.fixture
def surroundings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> pytest.MonkeyPatch:
    """A folder and a cache of their own, and no variable of the environment that changes what is shown."""
    monkeypatch.setenv("SYMGRAD_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("SYMGRAD_DUMP", raising=False)
    monkeypatch.chdir(tmp_path)
    return monkeypatch


def _outputs(name: str) -> list[tuple[Example, str]]:
    """What each block of a page prints."""
    space: dict[str, Any] = {"__name__": "docs"}
    text = PAGES[name].read_text(encoding="utf-8")
    return [(example, run(example, space)) for example in examples(text, Path(name).name)]


def _fail(name: str, changed: list[tuple[Example, str]]) -> None:
    rows = [f"{name}:{example.line}\n{_differs(example, printed)}" for example, printed in changed]
    pytest.fail("\n".join(["printed other than the page says:", *rows]), pytrace=False)


@pytest.mark.parametrize("name", WITH_PYTHON)
def test_page(name: str, request: pytest.FixtureRequest, surroundings: pytest.MonkeyPatch) -> None:
    surroundings.setenv("SYMGRAD_TARGET", "interpreter")
    outputs = _outputs(name)
    changed = [(example, printed) for example, printed in outputs if _differs(example, printed) is not None]
    unplaced = [(example, printed) for example, printed in changed if example.output is None]
    if unplaced or (changed and not request.config.getoption("--update-golden")):
        _fail(name, unplaced or changed)
    if changed:
        text = PAGES[name].read_text(encoding="utf-8")
        PAGES[name].write_text(replaced(text, changed), encoding="utf-8")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["README.md", "docs/tutorial.md"])
def test_compiled_code_prints_the_same(name: str, surroundings: pytest.MonkeyPatch) -> None:
    surroundings.delenv("SYMGRAD_TARGET", raising=False)
    changed = [
        (example, printed) for example, printed in _outputs(name) if _differs(example, printed) is not None
    ]
    if changed:
        _fail(name, changed)


def test_a_wrong_output_is_found() -> None:
    text = "```python\nprint(1 + 1)\n```\n\n```text\n3\n```\n"
    (example,) = examples(text, "page.md")
    printed = run(example, {})
    assert printed == "2\n"
    assert _differs(example, printed) is not None
    assert "```text\n2\n```" in replaced(text, [(example, printed)])


def test_an_output_needs_its_block() -> None:
    (example,) = examples("```python\nprint(1)\n```\n", "page.md")
    assert _differs(example, run(example, {})) is not None


def test_an_error_without_an_output_is_raised() -> None:
    (example,) = examples("```python\nraise KeyError('x')\n```\n", "page.md")
    with pytest.raises(KeyError):
        run(example, {})
