#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""torch's own tests of collectives, on the backend t3; TAP on stdout.

usage: upstream.py [--backend t3] [--ranks 4] [--first N] [PATTERN...]

They are DistributedTest of torch.testing._internal.distributed.distributed_test, as the package of
torch has them. Those for GPUs and for other backends skip themselves. upstream.txt lists those that
cannot pass, each with the reason, and they are not run. A pattern is a shell's, for names of tests.
--first runs only the first N of those that are left.

The ranks of a test are forked from this process, which has imported torch: that takes seconds in a
VM. torch's tests want the module expecttest, which Debian has not. None of them that run here calls
it, so an empty one is enough.
"""

import argparse
import fnmatch
import logging
import os
import pathlib
import sys
import tempfile
import types
import unittest

HERE = pathlib.Path(__file__).resolve().parent
TIMEOUT = 240  # seconds of a test


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


def test_class(backend, ranks):
    """torch's tests, with ranks that are forked."""
    os.environ.update(BACKEND=backend, WORLD_SIZE=str(ranks), TEMP_DIR=tempfile.mkdtemp(),
                      MASTER_ADDR="127.0.0.1")
    sys.modules.setdefault("expecttest", stand_in())
    sys.argv[1:] = []
    import torch
    import t3.torch
    from torch.testing._internal import common_distributed as common

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

    number = 0

    def _line(self, test, verdict, more=""):
        self.number += 1
        print(f"{verdict} {self.number} - {test.id().rpartition('.')[2]}{more}", flush=True)

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
        return [name for name in names if any(fnmatch.fnmatch(name, one) for one in patterns)]
    print(f"# {len(names)} tests are for this backend; {len(reasons)} of them cannot pass, see "
          f"upstream.txt{'; not in this torch: ' + ', '.join(unknown) if unknown else ''}")
    return [name for name in names if name not in reasons]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--backend", default="t3")
    parser.add_argument("--ranks", type=int, default=4)
    parser.add_argument("--first", type=int, default=10**6)
    parser.add_argument("patterns", nargs="*")
    given = parser.parse_args()
    kind = test_class(given.backend, given.ranks)
    names = chosen(kind, given.patterns)[:given.first]
    result = Tap()
    unittest.TestSuite([kind(name) for name in names]).run(result)
    print(f"1..{result.number}")
    return 0 if result.wasSuccessful() and result.number else 1


if __name__ == "__main__":
    sys.exit(main())
