# SPDX-License-Identifier: MIT
"""Calls that run later: in the order of their group, by whoever has time first."""

from __future__ import annotations

import collections
import contextlib
import datetime
import threading
import time
import weakref
from typing import Any, Callable, Iterator

import torch
import torch.distributed as dist

from t3.torch.errors import Aborted, CollectiveError

Call = Callable[[], Any]


@contextlib.contextmanager
def plain_tensors() -> Iterator[None]:
    """Tensors that are made here can be written by any thread, and have no gradients."""
    with torch.inference_mode(False), torch.no_grad():
        yield


class Job:
    """A call, its result, and a future of it. It runs once, in one thread."""

    def __init__(self, call: Call, explain: Callable[[BaseException], BaseException],
                 result: Any) -> None:
        """The call's outcome is `result`, and explain(error) is what a waiter gets."""
        self._call: Call | None = call
        self._explain = explain
        self._lock = threading.Lock()
        self._done = threading.Event()
        self._future: Any = None
        self.result = result
        self.error: BaseException | None = None

    @property
    def is_done(self) -> bool:
        return self._done.is_set()

    def run(self) -> None:
        """Nothing happens if another thread runs it or has run it, or the job has failed."""
        with self._lock:
            call, self._call = self._call, None
        if call is None:
            return
        error: BaseException | None = None
        try:
            with plain_tensors():
                call()
        except BaseException as caught:  # pylint: disable=broad-except
            error = self._explain(caught)
            if isinstance(caught, (KeyboardInterrupt, SystemExit)):
                self.finish(error)
                raise
        self.finish(error)

    def finish(self, error: BaseException | None) -> None:
        """The first outcome holds."""
        with self._lock:
            if self._done.is_set():
                return
            self.error, self._call = error, None
            self._done.set()
            future = self._future
        if future is not None:
            future[0].set_result(None)

    def wait_until_done(self, seconds: float | None) -> bool:
        return self._done.wait(seconds)

    def future(self) -> Any:
        """A future that has the outcome for C++, too: an error of then() is one there."""
        with self._lock:
            if self._future is not None:
                return self._future[1]
            begin = torch.futures.Future()
            self._future = begin, begin.then(self._outcome)
            is_done = self._done.is_set()
        if is_done:
            begin.set_result(None)
        return self._future[1]

    def _outcome(self, _begin: Any) -> Any:
        if self.error is not None:
            raise self.error
        return self.result


class Lane:
    """Jobs that run one after the other. A thread runs them, or a thread that waits for one."""

    def __init__(self, name: str) -> None:
        self._jobs: collections.deque[Job] = collections.deque()
        self._turn = threading.Lock()  # of who takes a job and runs it
        self._coming = threading.Semaphore(0)
        self._is_open = True
        self._running: Job | None = None
        threading.Thread(target=serve, args=(weakref.ref(self), self._coming), name=name,
                         daemon=True).start()

    def add(self, job: Job) -> None:
        if not self._is_open:
            raise Aborted("the group was aborted or destroyed")
        self._jobs.append(job)
        self._coming.release()

    def help(self, job: Job) -> None:
        """Run jobs in this thread until this one is done, or another thread runs them."""
        while not job.is_done and self._turn.acquire(blocking=False):
            try:
                self._run_first()
            finally:
                self._turn.release()

    def serve_one(self) -> None:
        with self._turn:
            self._run_first()

    def _run_first(self) -> None:
        try:
            job = self._jobs.popleft()
        except IndexError:
            return
        self._running = job
        job.run()
        self._running = None

    def drain(self, seconds: float) -> None:
        """Run what was added before, for some seconds at most."""
        end = time.monotonic() + seconds
        while self._jobs and time.monotonic() < end:
            if self._turn.acquire(timeout=max(0.0, end - time.monotonic())):
                try:
                    self._run_first()
                finally:
                    self._turn.release()

    def close(self, error: Callable[[], BaseException]) -> None:
        """Jobs that wait or run fail, and no further ones are taken."""
        self._is_open = False
        running = self._running
        for job in [*self._jobs, *([running] if running is not None else [])]:
            job.finish(error())
        self._coming.release()

    @property
    def is_open(self) -> bool:
        return self._is_open

    def wait_until_idle(self, seconds: float) -> bool:
        """Whether no thread runs a job any more."""
        if not self._turn.acquire(timeout=seconds):
            return False
        self._turn.release()
        return True


def serve(lane: weakref.ref[Lane], coming: threading.Semaphore) -> None:
    """The thread keeps no lane alive that nobody else has."""
    while True:
        coming.acquire()
        served = lane()
        if served is None or not served.is_open:
            return
        served.serve_one()
        del served


_kept: dict[int, Work] = {}
KEPT_MAX = 1000  # a program that asks for no outcome keeps no more
SHARED_MAX = 64
_shared: dict[int, Work] = {}


def keep(work: Work) -> None:
    _kept[id(work)] = work
    if len(_kept) > KEPT_MAX:
        for key in [key for key, one in list(_kept.items()) if one.is_over][:KEPT_MAX // 2]:
            _kept.pop(key, None)


class Work(dist._Work):
    """What an asynchronous collective returns.

    torch drops the Python object that its C++ still waits for. So it is kept until somebody has
    asked for the outcome. Of a functional collective of several tensors each one asks.
    """

    def __init__(self, job: Job, lane: Lane | None, waits: int = 1) -> None:
        super().__init__()
        self._job, self._lane, self._waits = job, lane, waits
        keep(self)

    @property
    def is_over(self) -> bool:
        return self._job.is_done

    def is_completed(self) -> bool:
        self._go_on()
        return self._job.is_done

    def is_success(self) -> bool:
        return self._job.is_done and self._job.error is None

    def exception(self) -> BaseException | None:
        return self._job.error

    def result(self) -> Any:
        return self._job.result

    def synchronize(self) -> None:
        self.wait()

    def wait(self, timeout: Any = datetime.timedelta(0)) -> bool:
        """Wait, and raise the collective's error. A timeout above 0 ends this wait alone."""
        seconds = seconds_of(timeout)
        if seconds is not None:
            self._go_on()
        elif self._lane is None:
            self._job.run()
        else:
            self._lane.help(self._job)
        if not self._wait_until_done(seconds):
            raise CollectiveError(f"t3: the wait timed out after {seconds:g} seconds, and the "
                                  "collective goes on")
        self._release()
        if self._job.error is not None:
            raise self._job.error
        return True

    def _release(self) -> None:
        """A program may wait once and leave it: so the last ones alone are kept for more waits."""
        _kept.pop(id(self), None)
        _shared.pop(id(self), None)
        self._waits -= 1
        if self._waits > 0:
            _shared[id(self)] = self
            if len(_shared) > SHARED_MAX:
                _shared.pop(next(iter(_shared)), None)

    def _wait_until_done(self, seconds: float | None) -> bool:
        """In slices, as a signal's handler runs between two of them."""
        end = None if seconds is None else time.monotonic() + seconds
        while not self._job.wait_until_done(0.1 if end is None else
                                            max(0.0, min(0.1, end - time.monotonic()))):
            if end is not None and time.monotonic() >= end:
                return False
        return True

    def get_future(self) -> Any:
        _kept.pop(id(self), None)
        self._go_on()
        return self._job.future()

    def _go_on(self) -> None:
        """A job without a lane begins when somebody asks for it."""
        if self._lane is None and not self._job.is_done:
            threading.Thread(target=self._job.run, name="t3-message", daemon=True).start()


class Message(Work):
    """The work of a send or receive."""

    def __init__(self, job: Job, source: Callable[[], int]) -> None:
        super().__init__(job, None)
        self._source = source

    def begin(self) -> None:
        """In a thread: the message goes on when nobody waits for it."""
        self._go_on()

    def source_rank(self) -> int:
        return self._source()

    _source_rank = source_rank


def seconds_of(timeout: Any) -> float | None:
    """None where there is no limit: torch says so by 0."""
    if timeout is None:
        return None
    seconds = timeout.total_seconds() if isinstance(timeout, datetime.timedelta) else timeout
    return seconds if seconds > 0 else None
