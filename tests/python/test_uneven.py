# SPDX-License-Identifier: MIT
"""All-to-alls with a length for each pair of ranks, of one process and of four, in a VM."""

import contextlib
import errno

import numpy as np
import pytest
from conftest import RANKS, SECONDS

import t3

COLUMNS = 24
ROWS = np.array([[0, 3, 40, 1],  # rows that rank i sends rank j, as a router of experts may draw them
                 [7, 0, 5, 2],
                 [0, 0, 0, 0],
                 [1, 90, 11, 6]])


@contextlib.contextmanager
def local_comms():
    with contextlib.ExitStack() as stack:
        devices = [stack.enter_context(t3.Device.of_rank(rank)) for rank in range(RANKS)]
        yield [stack.enter_context(comm) for comm in t3.Comm.local(devices)]


def rows_of(sender, target, epoch=1):
    """The rows that go from one rank to another: each element says whose it is."""
    count = ROWS[sender, target]
    first = np.uint32(epoch * 1000000 + sender * 100000 + target * 10000)
    return (first + np.arange(count * COLUMNS, dtype="u4")).reshape(count, COLUMNS)


def sent_by(rank, epoch=1):
    return np.concatenate([rows_of(rank, target, epoch) for target in range(RANKS)])


def received_by(rank, epoch=1):
    return np.concatenate([rows_of(sender, rank, epoch) for sender in range(RANKS)])


def test_each_rank_gets_the_rows_that_were_meant_for_it():
    with local_comms() as comms, contextlib.ExitStack() as stack:
        plans = [stack.enter_context(plan) for plan in t3.Plan.all_uneven(
            comms, ROWS * COLUMNS, "u32", COLUMNS, tile=COLUMNS)]
        for epoch in (1, 2, 3):
            for plan in plans:
                plan.arm()
            for rank, plan in enumerate(plans):
                plan.ready(SECONDS)
                data = sent_by(rank, epoch).reshape(-1)
                for chunk in plan.order():
                    first, count = plan.chunk(chunk)
                    assert count == ROWS[rank, chunk] * COLUMNS
                    plan.put(first, data[first:first + count])
            for rank, plan in enumerate(plans):
                result = plan.wait(SECONDS)
                assert result.shape == (ROWS[:, rank].sum(), COLUMNS)
                assert (result == received_by(rank, epoch)).all()


def test_a_rank_may_get_nothing_at_all():
    lengths = [[0, 5, 0, 0]] * RANKS  # all of it is for rank 1
    with local_comms() as comms, contextlib.ExitStack() as stack:
        plans = [stack.enter_context(plan)
                 for plan in t3.Plan.all_uneven(comms, lengths, "u8")]
        for plan in plans:
            plan.arm()
        for rank, plan in enumerate(plans):
            plan.ready(SECONDS)
            plan.put(0, np.full(5, rank, "u1"))
        assert [plan.wait(SECONDS).tolist() for plan in plans] == [
            [], [0] * 5 + [1] * 5 + [2] * 5 + [3] * 5, [], []]


def test_lengths_that_are_no_such_numbers_are_refused():
    with local_comms() as comms:
        for lengths in ([[1] * RANKS], [[1] * 3] * RANKS, [[1] * 5] * RANKS, [[-1] * RANKS] * RANKS):
            with pytest.raises(ValueError, match="matrix of 4 x 4|each of the 4 ranks"):
                t3.Plan.all_uneven(comms, lengths)
        with pytest.raises(TypeError):
            t3.Plan.all_uneven(comms, [[0.5] * RANKS] * RANKS)
        with pytest.raises(ValueError, match="receive has a length .* 4 ranks; got \\[1\\]"):
            comms[0].plan_uneven([1] * RANKS, [1])
        with pytest.raises(t3.Error, match="whole rows") as caught:
            t3.Plan.all_uneven(comms, [[COLUMNS + 1] * RANKS] * RANKS, "u32", COLUMNS)
        assert caught.value.errno == errno.EINVAL
        for plan in t3.Plan.all_uneven(comms, ROWS * COLUMNS, "u32", COLUMNS):  # after all of these
            plan.close()


def exchange(rank, directory):
    """Rows there and back again, as of a layer of experts, and lengths that differ in between."""
    device = t3.Device.of_rank(rank)
    with t3.Comm.in_directory(device, directory, rank, RANKS, SECONDS) as comm:
        lengths = ROWS * COLUMNS
        send, receive = lengths[rank], lengths[:, rank]
        with pytest.raises(t3.Error, match="rank") as caught:
            comm.plan_uneven(send, receive + (24 if rank == 3 else 0), "u32", COLUMNS, SECONDS)
        assert caught.value.errno == errno.EINVAL
        with comm.plan_uneven(send, receive, "u32", COLUMNS, SECONDS, tile=COLUMNS) as there, \
                comm.plan_uneven(receive, send, "u32", COLUMNS, SECONDS) as back:
            there.start(SECONDS)
            if send.sum():
                there.put(0, sent_by(rank))
            got = there.wait(SECONDS)
            assert (got == received_by(rank)).all()
            back.start(SECONDS)
            if receive.sum():
                back.put(0, got + np.uint32(1))
            home = back.wait(SECONDS).copy()
        comm.barrier(SECONDS)
        return home, str(caught.value)


def test_rows_go_to_their_ranks_and_home_again(ranks):
    ranks.start(exchange)
    for rank, (home, sentence) in enumerate(ranks.results()):
        assert (home == sent_by(rank) + np.uint32(1)).all()
        assert "rank 3" in sentence
