# SPDX-License-Identifier: MIT
"""What the tests of the Python package share: TAP lines, devices, and ranks as processes.

Tests of files test_native_*.py need no device; run.py runs the others in a VM with four.
"""

import faulthandler
import os
import pathlib
import pickle
import signal
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
RANKS = 4
SECONDS = 60  # a deadline that a passing test never comes near
WATCHDOG = 240


def pytest_runtest_setup():
    faulthandler.dump_traceback_later(WATCHDOG, exit=True, file=sys.__stderr__)


def pytest_collection_modifyitems(config, items):
    """Without a device the other tests are left out, not skipped: the VM runs them."""
    if "T3_NO_DEVICE" in os.environ:
        others = [item for item in items if not item.path.stem.startswith("test_native_")]
        config.hook.pytest_deselected(items=others)
        items[:] = [item for item in items if item not in others]


def pytest_terminal_summary(terminalreporter):
    """A line of TAP for each test, and the plan."""
    number, seen = 0, set()
    for outcome, verdict in (("passed", "ok"), ("failed", "not ok"), ("error", "not ok"),
                             ("skipped", "ok")):
        for report in terminalreporter.stats.get(outcome, []):
            name = getattr(report, "nodeid", str(report)).split("/")[-1].replace(" ", "_")
            if name in seen:
                continue
            seen.add(name)
            number += 1
            skip = " # SKIP" if outcome == "skipped" else ""
            terminalreporter.write_line(f"{verdict} {number} - {name}{skip}")
    terminalreporter.write_line(f"1..{number}")


@pytest.fixture
def device():
    import t3

    with t3.Device.of_rank(0) as opened:
        yield opened


@pytest.fixture
def node():
    """A descriptor of the first device, for ioctls."""
    import t3

    fd = os.open(t3.devices()[0].node, os.O_RDWR | os.O_CLOEXEC)
    yield fd
    os.close(fd)


class Ranks:
    """function(rank, directory) in a process for each rank, forked before it opens a device."""

    def __init__(self, directory):
        self.directory = directory
        self.pids, self.pipes = [], []

    def start(self, function, ranks=RANKS):
        for rank in range(ranks):
            receive, send = os.pipe()
            pid = os.fork()
            if not pid:
                self._be(function, rank, send)
            os.close(send)
            self.pids.append(pid)
            self.pipes.append(receive)

    def _be(self, function, rank, send):
        status = 1
        try:
            result = function(rank, self.directory)
            status = 0
        except BaseException as error:  # what the test asked for is told, not raised
            result = error
        try:
            with open(send, "wb") as pipe:
                pickle.dump((status == 0, result), pipe)
        finally:
            os._exit(status)

    def interrupt(self, rank):
        os.kill(self.pids[rank], signal.SIGINT)

    def results(self):
        """What each returned, or the exception that it raised."""
        texts = []
        for pid, receive in zip(self.pids, self.pipes):
            with open(receive, "rb") as pipe:
                texts.append(pipe.read())
            os.waitpid(pid, 0)
        self.pids, self.pipes = [], []
        return [pickle.loads(text)[1] if text else "ended without a word" for text in texts]

    def end(self):
        for pid in self.pids:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)


@pytest.fixture
def ranks(tmp_path):
    made = Ranks(tmp_path)
    os.chmod(tmp_path, 0o700)
    yield made
    made.end()
