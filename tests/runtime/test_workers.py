"""Workers: every chunk is done once, by whoever is there; the first error is raised; nobody waits forever."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from symgrad.runtime.blas_threads import OneThread, Setting
from symgrad.runtime.workers import Job, Pool


def test_every_chunk_is_done_once() -> None:
    pool = Pool()
    for chunks in range(1, 6):
        for threads in range(1, 4):
            done: list[int] = []
            pool.share(done.append, chunks, threads)
            assert sorted(done) == list(range(chunks))


def test_chunks_run_at_once() -> None:
    """Each waits for the other: one thread alone would wait for ever."""
    together = threading.Barrier(2, timeout=60)

    def run(number: int) -> None:
        together.wait()

    Pool().share(run, 2, 2)


def test_many_callers_share_few_workers() -> None:
    pool = Pool()

    def call(caller: int) -> bool:
        for _ in range(200):
            done: list[int] = []
            pool.share(done.append, 5, 3)
            assert sorted(done) == [0, 1, 2, 3, 4]
        return True

    before = threading.active_count()
    with ThreadPoolExecutor(8) as callers:
        assert all(callers.map(call, range(8)))
    assert threading.active_count() <= before + 2


def test_a_chunk_may_share_chunks_of_its_own() -> None:
    pool = Pool()
    done: list[tuple[int, int]] = []

    def outer(number: int) -> None:
        pool.share(lambda inner: done.append((number, inner)), 3, 3)

    pool.share(outer, 3, 3)
    assert sorted(done) == [(a, b) for a in range(3) for b in range(3)]


@pytest.mark.parametrize("failing", [(0,), (3,), (1, 3), (0, 1, 2, 3, 4)])
def test_the_first_error_is_raised_when_all_chunks_have_ended(failing: tuple[int, ...]) -> None:
    pool = Pool()
    for _ in range(20):
        running = [0]

        def run(number: int, running: list[int] = running) -> None:
            running[0] += 1
            try:
                if number in failing:
                    raise IndexError(number)
            finally:
                running[0] -= 1

        with pytest.raises(IndexError) as caught:
            pool.share(run, 5, 3)
        assert caught.value.args == (failing[0],)
        assert running == [0]


def test_a_worker_that_comes_late_finds_nothing() -> None:
    done: list[int] = []
    job = Job(done.append, 2)
    job.work()
    job.close()
    job.help()
    assert done == [0, 1]


def test_an_interrupt_leaves_no_chunk_running() -> None:
    pool = Pool()
    entered, release, ended = threading.Event(), threading.Event(), threading.Event()
    caller = threading.get_ident()

    def run(number: int) -> None:
        if threading.get_ident() == caller:
            entered.wait(60)
            release.set()
            raise KeyboardInterrupt
        entered.set()
        release.wait(60)
        ended.set()

    with pytest.raises(KeyboardInterrupt):
        pool.share(run, 2, 2)
    assert ended.is_set()


def test_a_pool_that_has_ended_lets_callers_work_alone() -> None:
    pool = Pool()
    done: list[int] = []
    pool.share(done.append, 4, 3)
    pool.end()
    pool.share(done.append, 4, 3)
    assert sorted(done) == [0, 0, 1, 1, 2, 2, 3, 3]


def test_a_pool_that_was_forgotten_starts_anew() -> None:
    pool = Pool()
    done: list[int] = []
    pool.share(done.append, 4, 3)
    pool.forget()
    pool.share(done.append, 4, 3)
    assert len(done) == 8


# ---- BLAS -------------------------------------------------------------------------------------------------
def held_setting(threads: int) -> tuple[OneThread, list[int]]:
    """A guard of a setting, and what it was set to, one after another."""
    history = [threads]
    return OneThread(Setting(lambda: history[-1], history.append)), history


def test_blas_has_one_thread_while_anyone_needs_it() -> None:
    guard, history = held_setting(4)
    with guard.held():
        assert history == [4, 1]
        with guard.held():
            assert history == [4, 1]
        assert history == [4, 1]
    assert history == [4, 1, 4]


def test_blas_has_its_threads_again_after_an_error() -> None:
    guard, history = held_setting(4)
    with pytest.raises(ZeroDivisionError), guard.held():
        raise ZeroDivisionError
    assert history == [4, 1, 4]


def test_a_fork_inside_has_its_threads_again() -> None:
    guard, history = held_setting(4)
    with guard.held():
        guard.forget()
        assert history == [4, 1, 4]


def test_a_blas_that_cannot_be_asked_is_left_alone() -> None:
    with OneThread(None).held():
        pass
