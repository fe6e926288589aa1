# SPDX-License-Identifier: MIT
"""What is kept of a collective until its outcome was asked for, in one process."""

import datetime

import pytest

from t3.torch import work
from t3.torch.errors import CollectiveError

SHORT = datetime.timedelta(seconds=0.01)


def test_a_wait_that_times_out_has_not_asked_for_the_outcome():
    """torch's C++ waits for each tensor of a coalesced call, and drops the object itself."""
    job = work.Job(lambda: None, lambda error: error, None)
    made = work.Work(job, work.Lane("t3-test"), waits=2)
    for _ in range(3):
        with pytest.raises(CollectiveError, match="timed out after 0.01 seconds"):
            made.wait(SHORT)
    assert id(made) in work._kept
    job.finish(None)
    for is_kept in (True, False):
        assert made.wait(SHORT)
        assert (id(made) in work._kept or id(made) in work._shared) == is_kept
