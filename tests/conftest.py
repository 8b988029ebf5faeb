"""What every test may use: golden files with `--update-golden`, a cache apart, the Hypothesis profiles."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from golden_files import Golden, compare_golden

GOLDEN = Path(__file__).parent / "golden"

# Compiling takes as long as it takes, so no deadline; the ordinary run is the same every time.
settings.register_profile("suite", deadline=None, derandomize=True, max_examples=50)
settings.register_profile(
    "nightly", deadline=None, max_examples=1000, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("suite")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--update-golden`."""
    parser.addoption(
        "--update-golden", action="store_true", help="write the golden files anew instead of comparing"
    )


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Golden:
    """A function `golden(path, text)`: the file at `path` under `tests/golden` must hold `text`."""
    update = bool(request.config.getoption("--update-golden"))

    def check(path: str | Path, text: str) -> None:
        compare_golden(GOLDEN / path, text, update)

    return check


@pytest.fixture(scope="module")
def compiled_apart(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Programs of a module are compiled, and their cache is empty at its beginning."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SYMGRAD_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
        patch.delenv("SYMGRAD_TARGET", raising=False)
        yield
