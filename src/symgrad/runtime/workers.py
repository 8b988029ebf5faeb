"""Workers: threads that wait for chunks of work, shared by all calls of the process.

A call gives its chunks to the workers that are free and works on them itself, so it never waits for a worker
that is busy: what nobody has begun, it does. Workers end with the interpreter; a fork starts its own.
"""

from __future__ import annotations

import atexit
import os
import threading
from collections.abc import Callable

Run = Callable[[int], None]  # does the chunk of this number


class Job:
    """Some chunks, and who works on them."""

    def __init__(self, run: Run, chunks: int) -> None:
        self.run = run
        self.left = list(range(chunks - 1, -1, -1))  # chunks that nobody has begun, the last one first
        self.errors: dict[int, BaseException] = {}  # what the chunks raised
        self._lock = threading.Lock()
        self._open = True  # whether workers may join
        self._active = 0  # workers that have joined and not left
        self._ended = threading.Lock()  # held until the last worker has left
        self._ended.acquire()

    def work(self) -> None:
        """Do chunks until none is left; after an error no other is begun."""
        while True:
            try:
                number = self.left.pop()
            except IndexError:
                return
            try:
                self.run(number)
            except BaseException as error:
                self.errors[number] = error
                self.left.clear()

    def help(self) -> None:
        """What a worker does: its part of the work, if there is any left."""
        with self._lock:
            if not self._open:
                return
            self._active += 1
        self.work()
        with self._lock:
            self._active -= 1
            if not self._open and self._active == 0:
                self._ended.release()

    def close(self) -> None:
        """Let nobody join, and wait until all workers have left; an interrupt is raised after that."""
        with self._lock:
            self._open = False
            if self._active == 0:
                return
        interrupt: KeyboardInterrupt | None = None
        while True:
            try:
                self._ended.acquire()
                break
            except KeyboardInterrupt as error:
                interrupt = error
        if interrupt is not None:
            raise interrupt


class _Worker:
    """A thread, and the lock that it waits at."""

    def __init__(self, pool: Pool) -> None:
        self.job: Job | None = None  # what to do next; None to end
        self.go = threading.Lock()  # released when there is something to do
        self.go.acquire()
        # A daemon, for the interpreter would wait for it before it says that it ends.
        self.thread = threading.Thread(target=self._live, args=(pool,), name="symgrad", daemon=True)
        self.thread.start()

    def _live(self, pool: Pool) -> None:
        while True:
            self.go.acquire()
            job, self.job = self.job, None
            if job is None:
                return
            job.help()
            del job  # a waiting worker must not keep arrays alive
            pool.free.append(self)


class Pool:
    """The workers of a process. `list.pop` and `list.append` are atomic, so the free ones need no lock."""

    def __init__(self) -> None:
        self.free: list[_Worker] = []  # workers that wait
        self._lock = threading.Lock()
        self._all: list[_Worker] = []
        self._open = True

    def share(self, run: Run, chunks: int, threads: int) -> None:
        """Do all chunks on at most so many threads; raises what the first of the failed ones raised."""
        job = Job(run, chunks)
        try:
            for _ in range(threads - 1):
                worker = self._take(threads - 1)
                if worker is None:
                    break
                worker.job = job
                worker.go.release()
            job.work()
        finally:
            job.close()
        if job.errors:
            raise job.errors[min(job.errors)]

    def _take(self, most: int) -> _Worker | None:
        """A free worker; a new one if there are fewer than `most`; else None."""
        try:
            return self.free.pop()
        except IndexError:
            pass
        with self._lock:
            if not self._open or len(self._all) >= most:
                return None
            try:
                worker = _Worker(self)
            except RuntimeError:  # the system has no more threads, or the interpreter ends
                return None
            self._all.append(worker)
            return worker

    def end(self) -> None:
        """Let all workers end, as they become free; from now on callers work alone."""
        with self._lock:
            self._open = False
            workers, self._all = self._all, []
        self.free.clear()
        for worker in workers:
            if worker.job is None:
                worker.go.release()
                worker.thread.join()

    def forget(self) -> None:
        """Start anew in a forked process, which has none of the threads."""
        self.__init__()


POOL = Pool()
atexit.register(POOL.end)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=POOL.forget)
