"""The golden fixture itself: equal text passes, other text fails with a diff, and updating writes."""

from __future__ import annotations

from pathlib import Path

import pytest

from golden_files import compare_golden


def test_equal_text_passes_and_final_newlines_do_not_count(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("one\ntwo\n")
    compare_golden(path, "one\ntwo", update=False)


def test_other_text_fails_with_the_lines_that_differ(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("one\ntwo\n")
    with pytest.raises(pytest.fail.Exception, match=r"(?s)-two.*\+three"):
        compare_golden(path, "one\nthree", update=False)
    assert path.read_text() == "one\ntwo\n"


def test_a_missing_file_fails(tmp_path: Path) -> None:
    with pytest.raises(pytest.fail.Exception, match="no golden file"):
        compare_golden(tmp_path / "new.txt", "one", update=False)


def test_updating_writes_the_file_and_its_folders(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "new.txt"
    compare_golden(path, "one", update=True)
    assert path.read_text() == "one\n"
