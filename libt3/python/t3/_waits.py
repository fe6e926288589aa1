# SPDX-License-Identifier: MIT
"""Waits that Ctrl-C ends, and timeouts.

Python runs a signal's handler between two calls of C. A wait that may be repeated is made of
slices. A call that may not be repeated runs in a thread of its own, for which the main thread waits.
"""

from __future__ import annotations

import errno
import math
import os
import queue
import threading
import time
from typing import Any, Callable

FOREVER = 2**63 - 1
SLICE_NS = 100_000_000


def deadline(timeout: float | None) -> int:
    """Nanoseconds of CLOCK_MONOTONIC; None never ends, 0 asks once."""
    if timeout is None:
        return FOREVER
    if math.isnan(timeout) or timeout < 0:
        raise ValueError(f"a timeout is None or at least 0 seconds, not {timeout}")
    if timeout == 0:
        return 0
    # 292 years are more than the clock has.
    return min(time.monotonic_ns() + int(min(timeout, 1e9) * 1e9), FOREVER)


def in_slices(call: Callable[[int], int], end: int) -> int:
    """call(deadline) again and again while it times out, up to `end`."""
    while True:
        part = min(end, time.monotonic_ns() + SLICE_NS)
        result = call(part)
        if result != -errno.ETIMEDOUT or part >= end:
            return result


def ignore(_result: Any) -> None:
    """For calls that make nothing."""


class Job:
    def __init__(self, call: Callable[[], Any]) -> None:
        self._call = call
        self._lock = threading.Lock()
        self._done = threading.Event()
        self._result: Any = None
        self._error: BaseException | None = None
        self._late: Callable[[Any], None] = ignore

    def run(self) -> None:
        try:
            self._result = self._call()
        except BaseException as error:  # pylint: disable=broad-except
            self._error = error  # result() raises it in the thread that asked
        with self._lock:
            self._done.set()
        self._late(self._result)

    def wait(self) -> None:
        self._done.wait()

    def result(self) -> Any:
        if self._error is not None:
            raise self._error
        return self._result

    def abandon(self, late: Callable[[Any], None]) -> None:
        """Nobody waits any longer: what the call returns, or None, goes to late()."""
        with self._lock:
            if not self._done.is_set():
                self._late = late
                return
        late(self._result)


class Worker:
    """One thread that runs the main thread's calls. An abandoned call keeps its worker."""

    def __init__(self) -> None:
        self._jobs: queue.SimpleQueue[Job] = queue.SimpleQueue()
        threading.Thread(target=self._serve, name="t3-call", daemon=True).start()

    def _serve(self) -> None:
        while True:
            self._jobs.get().run()

    def run(self, job: Job) -> None:
        self._jobs.put(job)
        job.wait()


_worker: Worker | None = None


def forget_worker() -> None:
    """A forked child has the object and not its thread."""
    global _worker  # pylint: disable=global-statement
    _worker = None


os.register_at_fork(after_in_child=forget_worker)


def interruptible(call: Callable[[], Any], late: Callable[[Any], None] = ignore) -> Any:
    """call(), and what it raises. A signal's handler may raise out of it in the main thread.

    The call goes on then, and late() gets its result, or None, in whatever thread. Then it must not
    refer to what only the caller keeps alive.
    """
    global _worker  # pylint: disable=global-statement
    if threading.current_thread() is not threading.main_thread():
        return call()  # signals are the main thread's
    worker, _worker = _worker or Worker(), None
    job = Job(call)
    try:
        worker.run(job)
        _worker = worker
    except BaseException:
        job.abandon(late)
        raise
    return job.result()
