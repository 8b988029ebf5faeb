"""The disk cache gives back what was put in or nothing, and nothing from where others can write."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import subprocess
import sys
import threading
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import symgrad
from symgrad.runtime import cache as cache_module
from symgrad.runtime.cache import Cache, CacheError, Entry, cache_key, directory, open_cache, trusted

KEY = "ab" * 32


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    return Cache(trusted(tmp_path / "cache"))


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache_module, "_opened", {})


def leave_objects(program: Path) -> None:
    """Stands in for a compiler: an object file, and another one in a folder."""
    objects = program.parent / "parts"
    objects.mkdir()
    program.with_suffix(".o").write_bytes(b"object" * 100)
    (objects / "part.o").write_bytes(b"part")


def put(cache: Cache, key: str = KEY, program: str = "x = 1\n") -> Entry:
    return cache.build(key, program, {"outputs": [1, 2.5, None]}, leave_objects)


def test_an_entry_comes_back_as_it_went_in(cache: Cache) -> None:
    assert cache.lookup(KEY) is None
    built = put(cache)
    found = cache.lookup(KEY)
    assert found == built
    assert found is not None
    assert found.program.read_text() == "x = 1\n"
    assert found.meta() == {"outputs": [1, 2.5, None]}
    assert sorted(path.name for path in cache.directory.iterdir()) == [KEY]


def spoil(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1] + b"?")


def link(path: Path) -> None:
    twin = next(parent for parent in path.parents if parent.name == "cache").with_name("twin")
    path.rename(twin)
    path.symlink_to(twin)


FILES = ["program.py", "meta.json", "manifest.json", "program.o",
         "parts/part.o"]  # fmt: skip
DAMAGES: list[Callable[[Path], object]] = [
    spoil, Path.unlink, lambda path: path.write_bytes(b""), lambda path: path.write_bytes(b"\xff\x00{"),
    lambda path: path.write_text('{"files": []}'), lambda path: path.write_text("[1]"), link,
]  # fmt: skip


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_entry_is_removed_and_built_anew(
    cache: Cache, name: str, damage: Callable[[Path], object], caplog: pytest.LogCaptureFixture
) -> None:
    damage(put(cache).directory / name)
    with caplog.at_level(logging.WARNING, "symgrad.cache"):
        assert cache.lookup(KEY) is None
    assert "is damaged" in caplog.text
    assert list(cache.directory.iterdir()) == []
    put(cache)
    assert cache.lookup(KEY) is not None


def test_an_added_file_is_damage(cache: Cache) -> None:
    (put(cache).directory / "parts" / "program.cpython-311.pyc").write_bytes(b"code")
    assert cache.lookup(KEY) is None


def test_something_else_in_an_entrys_place_is_removed(cache: Cache, tmp_path: Path) -> None:
    place = cache.directory / KEY
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "mine").write_text("mine")
    place.symlink_to(elsewhere)
    assert cache.lookup(KEY) is None
    place.write_text("a file")
    assert cache.lookup(KEY) is None
    place.mkdir()
    assert cache.lookup(KEY) is None
    assert (elsewhere / "mine").exists()
    assert not place.exists()


def test_a_build_that_fails_leaves_nothing(cache: Cache) -> None:
    def fail(program: Path) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        cache.build(KEY, "", None, fail)
    assert list(cache.directory.iterdir()) == []


def test_a_damaged_entry_gives_way_to_a_build(cache: Cache) -> None:
    spoil(put(cache).program)
    assert put(cache, program="x = 2\n").program.read_text() == "x = 2\n"
    assert cache.lookup(KEY) is not None


def test_of_two_builders_the_second_takes_the_firsts(cache: Cache) -> None:
    def meanwhile(program: Path) -> None:
        put(cache, program="first = 1\n")
        leave_objects(program)

    assert cache.build(KEY, "second = 1\n", None, meanwhile).program.read_text() == "first = 1\n"
    assert sorted(path.name for path in cache.directory.iterdir()) == [KEY]


def test_threads_race_for_one_key(cache: Cache) -> None:
    barrier = threading.Barrier(8)
    texts: list[str] = []

    def race(number: int) -> None:
        barrier.wait()
        for _ in range(5):
            entry = cache.lookup(KEY) or put(cache, program=f"x = {number}\n")
            texts.append(entry.program.read_text())

    threads = [threading.Thread(target=race, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(texts) == 40
    assert len(set(texts)) == 1
    assert sorted(path.name for path in cache.directory.iterdir()) == [KEY]


RACE = """
import sys
from pathlib import Path
from symgrad.runtime.cache import Cache

cache = Cache(Path(sys.argv[1]))
for number in range(30):
    key = f"{number:064x}"
    entry = cache.lookup(key) or cache.build(key, sys.argv[2] * 1000, number, lambda program: None)
    assert len(set(entry.program.read_text())) == 1 and entry.meta() == number
"""


def test_processes_race_for_many_keys(cache: Cache) -> None:
    command = [sys.executable, "-c", RACE, str(cache.directory)]
    racers = [subprocess.Popen([*command, letter]) for letter in "abc"]
    assert [racer.wait() for racer in racers] == [0, 0, 0]
    assert cache.info().entries == 30
    assert all(cache.lookup(f"{number:064x}") is not None for number in range(30))


def test_info_clear_and_limit(cache: Cache) -> None:
    keys = [f"{number:064x}" for number in range(4)]
    for age, key in enumerate(keys):
        manifest = put(cache, key).directory / "manifest.json"
        os.utime(manifest, (1000 + age, 1000 + age))
    held = cache.info()
    assert held.entries == 4
    assert held.nbytes == sum(path.stat().st_size for path in cache.directory.rglob("*") if path.is_file())
    assert cache.lookup(keys[0]) is not None  # used just now
    small = Cache(cache.directory, limit=held.nbytes // 2)
    assert small.prune() == 2
    assert [key for key in keys if cache.lookup(key) is not None] == [keys[0], keys[3]]
    assert cache.clear() == 2
    assert cache.info().entries == 0


def test_the_entry_just_built_survives_a_limit_below_its_size(cache: Cache) -> None:
    tiny = Cache(cache.directory, limit=1)
    put(tiny, "0" * 64)
    put(tiny, "1" * 64)
    assert [path.name for path in cache.directory.iterdir()] == ["1" * 64]


def test_what_a_builder_left_behind_long_ago_is_removed(cache: Cache) -> None:
    old, new = cache.directory / ".build-old", cache.directory / ".build-new"
    for place in (old, new):
        place.mkdir()
    os.utime(old, (0, 0))
    cache.prune()
    assert not old.exists()
    assert new.exists()


@pytest.mark.parametrize("key", ["", "../x", "AB" * 32, "ab" * 31, "/" + "a" * 63])
def test_a_key_that_is_none_is_refused(cache: Cache, key: str) -> None:
    with pytest.raises(CacheError, match="not a key"):
        cache.lookup(key)


def test_the_directory_follows_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("SYMGRAD_CACHE_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert directory() == tmp_path / ".cache" / "symgrad"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert directory() == tmp_path / "xdg" / "symgrad"
    monkeypatch.setenv("SYMGRAD_CACHE_DIR", str(tmp_path / "own"))
    assert directory() == tmp_path / "own"
    assert open_cache().directory == (tmp_path / "own").resolve()
    assert (tmp_path / "own").stat().st_mode & 0o777 == 0o700


def readable(place: Path) -> None:
    place.mkdir(mode=0o755)
    place.chmod(0o755)


def test_a_directory_that_others_can_read_is_closed(tmp_path: Path) -> None:
    readable(tmp_path / "cache")
    assert trusted(tmp_path / "cache").stat().st_mode & 0o777 == 0o700


def writable(place: Path) -> None:
    place.mkdir()
    place.chmod(0o777)


def group_writable(place: Path) -> None:
    place.mkdir()
    place.chmod(0o770)


def linked(place: Path) -> None:
    (place.parent / "real").mkdir(mode=0o700)
    place.symlink_to(place.parent / "real")


def dangling(place: Path) -> None:
    place.symlink_to(place.parent / "nowhere")


def a_file(place: Path) -> None:
    place.write_text("")


def below_a_file(place: Path) -> None:
    place.parent.rmdir()
    place.parent.write_text("")


def in_an_open_directory(place: Path) -> None:
    place.parent.chmod(0o777)


REFUSED = [writable, group_writable, linked, dangling, a_file, below_a_file, in_an_open_directory]


@pytest.mark.parametrize("prepare", REFUSED)
def test_a_directory_that_cannot_be_trusted_is_refused(
    prepare: Callable[[Path], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "above" / "cache"
    place.parent.mkdir()
    prepare(place)
    with pytest.raises(CacheError, match=str(place)):
        trusted(place)
    monkeypatch.setenv("SYMGRAD_CACHE_DIR", str(place))
    with pytest.warns(RuntimeWarning, match="for this process only") as said:
        fallback = open_cache()
    assert len(said) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert open_cache() is fallback
    assert fallback.directory != place
    assert fallback.directory.stat().st_mode & 0o777 == 0o700
    put(fallback)
    assert fallback.lookup(KEY) is not None


@pytest.fixture
def somebody_else(monkeypatch: pytest.MonkeyPatch) -> None:
    me = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: me + 1)


@pytest.mark.usefixtures("somebody_else")
def test_another_users_directory_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CacheError, match="belongs to user"):
        trusted(tmp_path / "cache")


def test_the_key_depends_on_all_that_the_code_does() -> None:
    def key(
        text: str = "ir", transform: str = "vjp", options: dict[str, object] | None = None, cpu: str = "zen"
    ) -> str:
        return cache_key(text, transform, options or {"a": 1, "b": 2}, lambda: cpu)  # type: ignore[arg-type]

    assert key() == key(options={"b": 2, "a": 1})
    assert len({key(), key("irv"), key("i", "rvjp"), key(options={"a": 2}), key(cpu="skylake")}) == 5
    assert len(key()) == 64


def test_the_cache_needs_no_numba() -> None:
    heavy = "[name for name in ('numba', 'llvmlite') if name in sys.modules]"
    code = f"import sys, symgrad.runtime.cache; print({heavy})"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert said == "[]\n"


@pytest.mark.parametrize("damage", [lambda code: b"", lambda code: code[:99], lambda code: b"?" * len(code)])
def test_damaged_code_that_the_manifest_vouches_for_is_compiled_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, damage: Callable[[bytes], bytes], caplog: Any
) -> None:
    """LLVM would end the process at such a file."""
    monkeypatch.setenv("SYMGRAD_CACHE_DIR", str(tmp_path / "cache"))

    def value() -> float:
        return symgrad.compile(lambda x: np.sum(np.sin(x) ** 2), target="numba_cpu")(np.full(5, 0.5))

    wanted = value()
    (code,) = (tmp_path / "cache").glob("*/program.o")
    whole = code.read_bytes()
    manifest = code.parent / "manifest.json"
    code.write_bytes(damage(whole))
    files = json.loads(manifest.read_text())["files"]
    files["program.o"] = hashlib.sha256(code.read_bytes()).hexdigest()
    manifest.write_text(json.dumps({"files": files}))
    assert open_cache().lookup(code.parent.name) is not None
    with caplog.at_level(logging.WARNING, "symgrad.compile"):
        assert value() == wanted
    assert "compiled again" in caplog.text
    assert code.read_bytes() == whole
