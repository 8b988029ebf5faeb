"""The disk cache: a directory for each program and each trace, put in place whole, checked byte for byte.

What is read from it is run as code.  So the cache directory must be the user's alone; one that is not is
refused, and a private directory that lasts as long as the process takes its place.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import hashlib
import json
import logging
import os
import platform
import re
import shutil
import stat
import tempfile
import time
import uuid
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import numpy as np

from symgrad.errors import CacheError
from symgrad.locks import Lock

log = logging.getLogger("symgrad.cache")

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"

DEFAULT_LIMIT = 1 << 30  # bytes of all entries together
_ABANDONED = 24 * 3600.0  # seconds after which a directory that a builder left behind is removed
_KEY = re.compile(r"[0-9a-f]{64}")
_PROGRAM = frozenset({"program.py", "meta.json"})  # files of a compiled program
_TRACE = frozenset({"trace.json"})  # of a trace


@dataclass(frozen=True, slots=True)
class Entry:
    """One compiled program on disk."""

    key: str  # what it was compiled from, as `cache_key` says
    directory: Path  # holds program.py, meta.json, manifest.json and the machine code

    @property
    def program(self) -> Path:
        """The generated module."""
        return self.directory / "program.py"

    def meta(self) -> Json:
        """What its builder wrote down beside the program."""
        return json.loads((self.directory / "meta.json").read_text())


@dataclass(frozen=True, slots=True)
class CacheInfo:
    """What a cache holds."""

    directory: Path  # where
    entries: int  # compiled programs
    nbytes: int  # bytes of all their files
    limit: int  # bytes above which the least recently used are removed


@dataclass(frozen=True, slots=True)
class Cache:
    """Compiled programs in one directory, which is the user's alone."""

    directory: Path  # entries are its subdirectories; names that begin with a dot are work in progress
    limit: int = DEFAULT_LIMIT  # bytes above which the least recently used entries are removed

    def lookup(self, key: str) -> Entry | None:
        """The entry of `key`, if there is one and every byte of it is as it was written."""
        entry = Entry(key, self._place(key))
        if not os.path.lexists(entry.directory):
            return None
        damage = _damage(entry.directory)
        if damage is not None:
            log.warning("entry %s is damaged (%s): removed", key, damage)
            self._remove(entry.directory)
            return None
        # The time of the manifest is the time of last use.
        _touch(entry.directory / "manifest.json")
        log.info("hit %s", key)
        return entry

    def build(self, key: str, program: str, meta: Json, compile: Callable[[Path], None]) -> Entry:
        """The entry made of a program's text, of `meta`, and of what `compile` leaves beside the program."""

        def fill(directory: Path) -> None:
            """The files of a program."""
            (directory / "program.py").write_text(program, encoding="utf-8", errors="backslashreplace")
            (directory / "meta.json").write_text(json.dumps(meta), encoding="utf-8")
            compile(directory / "program.py")

        return self.store(key, fill)

    def store(self, key: str, fill: Callable[[Path], None]) -> Entry:
        """The entry made of the files that `fill` puts into a directory."""
        place = self._place(key)
        log.info("build %s", key)
        staging = Path(tempfile.mkdtemp(dir=self.directory, prefix=".build-"))
        try:
            fill(staging)
            files = {name: _digest(staging / name) for name in _files(staging)}
            (staging / "manifest.json").write_text(json.dumps({"files": files}), encoding="utf-8")
            entry = self._publish(Entry(key, place), staging)
        finally:
            shutil.rmtree(staging, ignore_errors=True)
        self.prune(keep=key)
        return entry

    def holds(self, key: str) -> bool:
        """Whether there is an entry of this key, sound or not."""
        return os.path.lexists(self._place(key))

    def remove(self, key: str) -> None:
        """Remove the entry of a key, if there is one."""
        self._remove(self._place(key))

    def _publish(self, entry: Entry, staging: Path) -> Entry:
        """The entry that holds after a race for its place: this one, or an earlier one that is sound."""
        for _ in range(100):
            try:
                staging.rename(entry.directory)
            except OSError:
                # Taken, by a builder of the same program or by a damaged entry, which `lookup` removes.
                if not os.path.lexists(entry.directory):
                    raise
                earlier = self.lookup(entry.key)
                if earlier is not None:
                    return earlier
            else:
                return entry
        raise CacheError(f"could not put entry {entry.key} in place in {self.directory}")

    def info(self) -> CacheInfo:
        """How many entries there are, and how large."""
        found = [(size, (place / "program.py").exists()) for _, size, place in self._entries()]
        programs = sum(is_program for _, is_program in found)
        return CacheInfo(self.directory, programs, sum(size for size, _ in found), self.limit)

    def clear(self) -> int:
        """The number of programs removed, which is all there were; their traces go with them."""
        programs = self.info().entries
        for place in [place for _, _, place in self._entries()]:
            self._remove(place)
        self._sweep()
        return programs

    def prune(self, keep: str | None = None) -> int:
        """The number of entries removed, least recently used first, to come under the limit; `keep` stays."""
        entries = sorted(self._entries())
        excess = sum(size for _, size, _ in entries) - self.limit
        removed = 0
        for _, size, place in entries:
            if excess <= 0:
                break
            if place.name != keep:
                log.info("entry %s removed: the cache is over its limit of %d bytes", place.name, self.limit)
                self._remove(place)
                excess -= size
                removed += 1
        self._sweep()
        return removed

    def _sweep(self) -> None:
        """Remove what builders left behind long ago; a younger directory may be one at work."""
        for place in self.directory.glob(".*"):
            if time.time() - _time(place) > _ABANDONED:
                shutil.rmtree(place, ignore_errors=True)

    def _place(self, key: str) -> Path:
        if _KEY.fullmatch(key) is None:
            raise CacheError(f"{key!r} is not a key: 64 hexadecimal digits")
        return self.directory / key

    def _entries(self) -> Iterator[tuple[float, int, Path]]:
        """Time of last use, bytes and place of every entry."""
        for place in self.directory.iterdir():
            if _KEY.fullmatch(place.name) is not None:
                yield _time(place / "manifest.json"), _size(place), place

    def _remove(self, place: Path) -> None:
        # Renamed first, so that nobody sees half an entry.
        trash = self.directory / f".trash-{uuid.uuid4().hex}"
        try:
            place.rename(trash)
        except FileNotFoundError:
            return
        if trash.is_dir() and not trash.is_symlink():
            shutil.rmtree(trash, ignore_errors=True)
        else:
            trash.unlink(missing_ok=True)


def _files(directory: Path) -> list[str]:
    """The names, relative to `directory`, of all files and links in it but for the manifest."""
    names = [
        os.path.relpath(os.path.join(parent, name), directory)
        for parent, directories, leaves in os.walk(directory)
        for name in [
            *leaves,
            *(child for child in directories if os.path.islink(os.path.join(parent, child))),
        ]
    ]
    return sorted(Path(name).as_posix() for name in names if name != "manifest.json")


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _damage(directory: Path) -> str | None:
    """What is wrong with an entry, or None."""
    try:
        if not stat.S_ISDIR(directory.lstat().st_mode):
            return "not a directory"
        manifest = directory / "manifest.json"
        if not stat.S_ISREG(manifest.lstat().st_mode):
            return "the manifest is not a file"
        wanted = json.loads(manifest.read_text(encoding="utf-8"))["files"]
        whole = wanted.keys() >= _PROGRAM or wanted.keys() >= _TRACE
        if not whole or sorted(wanted) != _files(directory):
            return "files were added or are missing"
        for name, digest in wanted.items():
            path = directory / name
            if not stat.S_ISREG(path.lstat().st_mode) or _digest(path) != digest:
                return f"{name} has changed"
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        return f"{type(error).__name__}: {error}"
    return None


def _touch(path: Path) -> None:
    try:
        os.utime(path)
    except OSError:
        log.debug("the time of use of %s was not noted", path)


def _time(path: Path) -> float:
    try:
        return path.lstat().st_mtime
    except OSError:
        return 0.0


def _size(directory: Path) -> int:
    total = 0
    for parent, _, leaves in os.walk(directory):
        for name in leaves:
            try:
                total += os.lstat(os.path.join(parent, name)).st_size
            except OSError:  # removed meanwhile
                continue
    return total


def directory() -> Path:
    """Where the cache belongs: `SYMGRAD_CACHE_DIR`, `XDG_CACHE_HOME`/symgrad, or ~/.cache/symgrad."""
    own = os.environ.get("SYMGRAD_CACHE_DIR", "")
    if own:
        return Path(own).expanduser().absolute()
    shared = os.environ.get("XDG_CACHE_HOME", "")
    # The XDG rules say that a relative path is to be ignored.
    base = Path(shared) if os.path.isabs(shared) else Path.home() / ".cache"
    return base / "symgrad"


def trusted(place: Path) -> Path:
    """The real path of a directory, made if need be, that only this user can put files into."""
    try:
        place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        place = place.parent.resolve() / place.name
        with contextlib.suppress(FileExistsError):
            place.mkdir(mode=0o700)
        state = place.lstat()
        if not stat.S_ISDIR(state.st_mode):
            raise _distrust(
                place, "is not a directory" if not stat.S_ISLNK(state.st_mode) else "is a symbolic link"
            )
        if hasattr(os, "geteuid"):
            _check_owner(place, state)
    except (OSError, RuntimeError) as error:
        if isinstance(error, CacheError):
            raise
        raise CacheError(f"the cache directory {place} cannot be used: {error}") from error
    return place


def _check_owner(place: Path, state: os.stat_result) -> None:
    me = os.geteuid()
    if state.st_uid != me:
        raise _distrust(place, f"belongs to user {state.st_uid}, not to you ({me})")
    if state.st_mode & 0o022:
        raise _distrust(place, f"can be written by others (mode {stat.S_IMODE(state.st_mode):04o})")
    for parent in place.parents:
        above = parent.stat()
        # Who can rename a directory above can put another in its place; in a sticky one only owners can.
        if above.st_uid not in (0, me):
            raise _distrust(place, f"lies in {parent}, which belongs to user {above.st_uid}")
        if above.st_mode & 0o002 and not above.st_mode & stat.S_ISVTX:
            raise _distrust(place, f"lies in {parent}, which everybody can write to")
    if state.st_mode & 0o077:
        place.chmod(0o700)
    if not os.access(place, os.W_OK | os.X_OK):
        raise _distrust(place, "cannot be written")


def _distrust(place: Path, why: str) -> CacheError:
    return CacheError(
        f"the cache directory {place} {why}",
        why="compiled programs are read from it and run, so it must be yours alone",
        cure="remove it, or name another directory in SYMGRAD_CACHE_DIR",
    )


_opened: dict[Path, Cache] = {}
_opening = Lock()


def open_cache() -> Cache:
    """The user's cache; a private one, gone when the process ends, where the directory cannot be trusted."""
    wanted = directory()
    with _opening:
        cache = _opened.get(wanted)
        if cache is None or not cache.directory.is_dir():
            cache = _opened[wanted] = _open(wanted)
    return cache


def _open(wanted: Path) -> Cache:
    try:
        return Cache(trusted(wanted))
    except CacheError as error:
        log.warning("%s", error)
        warnings.warn(
            f"{error.what}; compiled programs are kept for this process only", RuntimeWarning, stacklevel=3
        )
    private = Path(tempfile.mkdtemp(prefix="symgrad-"))
    atexit.register(shutil.rmtree, private, ignore_errors=True)
    return Cache(private)


def info() -> CacheInfo:
    """What the user's cache holds."""
    return open_cache().info()


def clear() -> int:
    """The number of programs removed from the user's cache, which is all there were."""
    return open_cache().clear()


def cache_key(ir_text: str, transform: str, options: Mapping[str, Json], cpu: Callable[[], str]) -> str:
    """The name of a compiled program: a digest of all that its machine code depends on.

    `cpu` says which processor it is for, and which compiler makes it.
    """
    parts = [ir_text, transform, json.dumps(options, sort_keys=True), *_versions(), cpu()]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def _states(folder: str, name: str) -> Iterator[str]:
    """The name, size and time of every source file below a folder."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.endswith(".py"):
                state = entry.stat()
                yield f"{name}{entry.name} {state.st_size} {state.st_mtime_ns}"
            elif entry.is_dir() and entry.name != "__pycache__":
                yield from _states(entry.path, f"{name}{entry.name}/")


@functools.cache
def _versions() -> tuple[str, ...]:
    """The versions of what makes the module's text; of symgrad itself, the state of its files."""
    return (
        *sorted(_states(os.path.dirname(os.path.dirname(__file__)), "")),
        f"numpy {np.__version__}",
        platform.python_implementation(),
        platform.python_version(),
        f"objects begin with {object.__basicsize__} bytes",  # not the same in every build of a version
    )
