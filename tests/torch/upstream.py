#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""torch's own tests of collectives, on the backend t3; TAP on stdout.

usage: upstream.py [--backend t3] [--ranks 2,4] [--part] [PATTERN...]

They are DistributedTest of torch.testing._internal.distributed.distributed_test, as the package of
torch has them. Those for GPUs and for other backends skip themselves. upstream.txt lists those that
cannot pass, each with the reason, and they are not run. A pattern is a shell's, for names of tests.
--part runs those of PART alone. A line has the number of ranks and the test's name.

The ranks of a test are forked from this process, which has imported torch: that takes seconds in a
VM. torch's tests want the module expecttest, which Debian has not. None of them that run here calls
it, so an empty one is enough.
"""

import argparse
import fnmatch
import logging
import multiprocessing
import os
import pathlib
import sys
import tempfile
import time
import types
import unittest

HERE = pathlib.Path(__file__).resolve().parent
TIMEOUT = 240  # seconds of a test
# Of each collective that has tests, of groups, work, messages and DistributedDataParallel.
PART = ("test_DistributedDataParallelCPU", "test_all_gather", "test_all_gather_coalesced_simple",
        "test_all_reduce_full_group_max", "test_all_reduce_group_product",
        "test_all_reduce_sum_async", "test_all_reduce_sum_complex", "test_barrier_full_group",
        "test_broadcast", "test_ddp_create_graph", "test_destroy_group", "test_gather",
        "test_irecv", "test_isend", "test_reduce_max", "test_scatter_complex",
        "test_send_recv_any_source")


def known():
    """{test: why it cannot pass}"""
    lines = (HERE / "upstream.txt").read_text(encoding="utf-8").splitlines()
    pairs = [line.partition(": ") for line in lines if line and not line.startswith("#")]
    return {name: reason for name, _, reason in pairs}


def stand_in():
    """What torch.testing needs of expecttest: a class of tests, and a switch."""
    module = types.ModuleType("expecttest")
    module.TestCase = unittest.TestCase
    module.ACCEPT = False
    return module


def can_shard():
    """Debian's torch 1.13.1 cannot import its sharded tensors, as its Python 3.11 refuses a class of
    them. torch's tests turn on their use in DistributedDataParallel, which users do not."""
    try:
        import torch.distributed._shard  # pylint: disable=unused-import
    except ValueError:
        return False
    return True


def test_class(backend, ranks):
    """torch's tests, with ranks that are forked."""
    os.environ.update(BACKEND=backend, WORLD_SIZE=str(ranks), TEMP_DIR=tempfile.mkdtemp(),
                      MASTER_ADDR="127.0.0.1")
    sys.modules.setdefault("expecttest", stand_in())
    sys.argv[1:] = []
    import torch
    import t3.torch
    from torch.testing._internal import common_distributed as common

    if not can_shard():
        from torch.nn.parallel import _replicated_tensor_ddp_utils as utils
        utils._set_ddp_with_replicated_tensor = lambda value: None
    for feature in ("plugin", "ddp", "subgroup"):
        common.DistTestCases.backend_feature[feature].add(backend)
    from torch.testing._internal.distributed import distributed_test as theirs

    class TestT3(theirs.TestDistBackend, theirs.DistributedTest._DistTestBase):
        def setUp(self):
            super().setUp()
            self._start_processes(torch.multiprocessing.get_context("fork").Process)

    theirs.DEFAULT_TIMEOUT = common.TIMEOUT_DEFAULT = TIMEOUT
    logging.disable(logging.INFO)
    torch.set_num_threads(1)
    return TestT3


class Tap(unittest.TestResult):
    """A line for each test, as it ends."""

    def __init__(self, number, ranks):
        super().__init__()
        self._number, self._ranks, self._begin = number, ranks, 0.0

    def startTest(self, test):
        super().startTest(test)
        self._begin = time.monotonic()

    def _line(self, test, verdict, more=""):
        self._number.value += 1
        print(f"{verdict} {self._number.value} - {self._ranks}:{test.id().rpartition('.')[2]}{more}")
        print(f"# {time.monotonic() - self._begin:.1f} s", flush=True)

    def addSuccess(self, test):
        super().addSuccess(test)
        self._line(test, "ok")

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self._line(test, "ok", f" # SKIP {reason}")

    def _failed(self, test, error):
        for line in self._exc_info_to_string(error, test).splitlines()[-40:]:
            print(f"# {line}")
        self._line(test, "not ok")

    def addFailure(self, test, error):
        super().addFailure(test, error)
        self._failed(test, error)

    def addError(self, test, error):
        super().addError(test, error)
        self._failed(test, error)


def is_for_others(method):
    """unittest's and torch's marks of a test that skips itself, whatever the ranks are."""
    return getattr(method, "__unittest_skip__", False)


def chosen(kind, patterns):
    reasons = known()
    names = [name for name in unittest.TestLoader().getTestCaseNames(kind)
             if not is_for_others(getattr(kind, name))]
    unknown = [name for name in reasons if not hasattr(kind, name)]
    if patterns:
        if lost := [one for one in patterns if not fnmatch.filter(names, one)]:
            sys.exit(f"upstream.py: no test for this backend is called {', '.join(lost)}")
        return [name for name in names if any(fnmatch.fnmatch(name, one) for one in patterns)]
    print(f"# {len(names)} tests are for this backend; {len(reasons)} of them cannot pass, see "
          f"upstream.txt{'; not in this torch: ' + ', '.join(unknown) if unknown else ''}")
    return [name for name in names if name not in reasons]


def run(given, ranks, number):
    """In a process of its own: torch's tests look at the number of ranks when they are imported."""
    kind = test_class(given.backend, ranks)
    names = chosen(kind, given.patterns or (PART if given.part else ()))
    result = Tap(number, ranks)
    unittest.TestSuite([kind(name) for name in names]).run(result)
    sys.exit(0 if result.wasSuccessful() and result.testsRun else 1)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--backend", default="t3")
    parser.add_argument("--ranks", default="2,4")
    parser.add_argument("--part", action="store_true")
    parser.add_argument("patterns", nargs="*")
    given = parser.parse_args()
    import torch  # pylint: disable=unused-import  # once for all
    number = multiprocessing.Value("i", 0)
    codes = []
    for ranks in given.ranks.split(","):
        sys.stdout.flush()
        process = multiprocessing.get_context("fork").Process(
            target=run, args=(given, int(ranks), number))
        process.start()
        process.join()
        codes.append(process.exitcode)
    print(f"1..{number.value}")
    return next((code for code in codes if code), 0)


if __name__ == "__main__":
    sys.exit(main())
