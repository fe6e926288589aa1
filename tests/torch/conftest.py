# SPDX-License-Identifier: MIT
"""What the tests of t3.torch share: TAP lines, ranks, and whether there are devices.

run.py runs all of them twice: here, where T3_TORCH_DEVICE is none and gloo moves the data, and in a
VM, where devices do.
"""

import faulthandler
import os
import sys

import pytest
import torch
from ranks import Ranks

WATCHDOG = 300
torch.set_num_threads(1)  # as the ranks have it, which are forked from this process


def pytest_runtest_setup():
    faulthandler.dump_traceback_later(WATCHDOG, exit=True, file=sys.__stderr__)


def pytest_terminal_summary(terminalreporter):
    """A line of TAP for each test, and the plan."""
    where = ("here" if not is_in_vm() else "old" if "T3_TORCH_OLD" in os.environ
             else "switch" if "T3_TORCH_SWITCH" in os.environ else "vm")
    number = 0
    for outcome, verdict in (("passed", "ok"), ("failed", "not ok"), ("error", "not ok"),
                             ("skipped", "ok")):
        for report in terminalreporter.stats.get(outcome, []):
            name = getattr(report, "nodeid", str(report)).split("/")[-1].replace(" ", "_")
            number += 1
            reason = report.longrepr[2] if outcome == "skipped" else ""
            terminalreporter.write_line(f"{verdict} {number} - {where}:{name}"
                                        f"{' # SKIP ' + reason if reason else ''}")
    terminalreporter.write_line(f"1..{number}")


def is_in_vm():
    return os.environ.get("T3_TORCH_DEVICE") != "none"


@pytest.fixture
def has_device():
    return is_in_vm()


@pytest.fixture
def is_old():
    """Whether the devices lack what their first version lacked."""
    return "T3_TORCH_OLD" in os.environ


@pytest.fixture
def has_all_links(is_old):
    """Whether each two devices have a link, or a switch joins them. Else they are a ring."""
    return is_old or "T3_TORCH_SWITCH" in os.environ


@pytest.fixture(scope="module")
def crew(tmp_path_factory):
    """Ranks that stay for the tests of a file."""
    made = Ranks(tmp_path_factory.mktemp("crew"))
    yield made
    assert made.end() == [0] * made.ranks


@pytest.fixture
def ranks(tmp_path):
    """Ranks of a test's own, which it may kill."""
    made = Ranks(tmp_path)
    yield made
    made.end()
