"""Every link between files of the documentation leads somewhere, and every page can be reached."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from docs_pages import ROOT, pages

LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)


def _links(path: Path) -> list[tuple[Path, str]]:
    """The files that a page links to, and the headings in them."""
    text = FENCED.sub("", path.read_text(encoding="utf-8"))
    found = [link.partition("#") for link in LINK.findall(text) if "://" not in link]
    return [((path.parent / file).resolve() if file else path, anchor) for file, _, anchor in found]


def _anchors(path: Path) -> set[str]:
    """The anchors of a page's headings, as they are made by the usual renderers."""
    text = FENCED.sub("", path.read_text(encoding="utf-8"))
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("path", pages(), ids=lambda path: path.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(path: Path) -> None:
    for target, anchor in _links(path):
        assert target.exists(), f"{path.name}: {target}"
        assert not anchor or anchor in _anchors(target), f"{path.name}: {target.name}#{anchor}"


def test_every_page_can_be_reached() -> None:
    reached, pending = set[Path](), [ROOT / "README.md"]
    while pending:
        page = pending.pop()
        if page not in reached and page.suffix == ".md":
            reached.add(page)
            pending += [target for target, _ in _links(page)]
    assert set(pages()) <= reached
