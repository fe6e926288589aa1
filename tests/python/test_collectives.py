# SPDX-License-Identifier: MIT
"""Communicators, plans and collectives, of one process and of four, in a VM."""

import contextlib
import errno
import gc
import os
import signal
import time

import numpy as np
import pytest
from conftest import RANKS, SECONDS

import t3
from t3 import uapi

COUNT, TILE = 4096, 256


@contextlib.contextmanager
def local_plans(collective="all_reduce", shape=COUNT, dtype="f32", **options):
    with contextlib.ExitStack() as stack:
        devices = [stack.enter_context(t3.Device.of_rank(rank)) for rank in range(RANKS)]
        comms = [stack.enter_context(comm) for comm in t3.Comm.local(devices)]
        yield [stack.enter_context(plan) for plan in
               t3.Plan.all_of(comms, collective, shape, dtype, **options)]


def data_of(rank, dtype="f4"):
    return (rank + np.arange(COUNT) % 7).astype(dtype)


def put_all(plans):
    for plan in plans:
        plan.arm()
    for rank, plan in enumerate(plans):
        plan.start(SECONDS)
        for chunk in plan.order():
            first, count = plan.chunk(chunk)
            for at in range(first, first + count, TILE):
                plan.put(at, data_of(rank)[at:at + TILE])


# --- in one process

def test_a_plan_runs_again_and_again():
    with local_plans(tile=TILE) as plans:
        for epoch in (1, 2, 3):
            put_all(plans)
            for plan in plans:
                result = plan.wait(SECONDS)
                assert (result == 6 + 4 * (np.arange(COUNT) % 7)).all()
                assert plan.epoch == epoch and not result.flags.writeable
        assert (plans[0].space.state, plans[0].space.epoch) == (t3.SpaceState.COMPLETE, 3)
        kept = plans[0].result()
    assert kept[3] == 18  # the memory of a closed plan stays while an array looks at it


def in_child(*calls):
    """Make the calls in a forked child, and let it forget all that it has."""
    pid = os.fork()
    if not pid:
        try:
            signal.alarm(SECONDS)
            for call in calls:
                call()
            os._exit(0)
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


def test_a_forked_child_ends_nothing_of_its_parents():
    with local_plans(tile=TILE) as plans, t3.Device(0) as device, device.buffer(4096) as buffer, \
            device.space(buffer, 1) as space, device.queue() as queue:
        memory = buffer.array("u8")
        put_all(plans)
        for plan in plans:
            plan.wait(SECONDS)
        everything = [*plans, memory, space, queue, buffer, device]
        in_child(*(one.close for one in everything if hasattr(one, "close")), gc.collect)
        in_child(*(one.__del__ for one in everything if hasattr(one, "__del__")), everything.clear,
                 gc.collect)
        put_all(plans)
        for plan in plans:
            assert (plan.wait(SECONDS) == 6 + 4 * (np.arange(COUNT) % 7)).all()
        with queue.fill(buffer, 0x0101010101010101, 4096) as fence:
            fence.wait(SECONDS)
        assert space.state is t3.SpaceState.IDLE and (memory == 1).all()


def test_a_destroyed_space_is_no_unplugged_device():
    with contextlib.ExitStack() as stack:
        devices = [stack.enter_context(t3.Device.of_rank(rank)) for rank in range(RANKS)]
        comms = [stack.enter_context(comm) for comm in t3.Comm.local(devices)]
        plans = [stack.enter_context(plan) for plan in
                 t3.Plan.all_of(comms, "all_reduce", COUNT, "f32", tile=TILE)]
        uapi.ioctl(devices[0], "space_destroy", space=1)
        with pytest.raises(t3.Error, match="its space was destroyed") as caught:
            plans[0].arm()
        assert caught.value.errno == errno.ENOENT
        assert not isinstance(caught.value, t3.DeviceGoneError)


def test_a_matrix_is_put_by_tiles():
    shape = (16, 64)
    with local_plans("reduce_scatter", shape, "i32", op="max", tile=(2, 32)) as plans:
        for plan in plans:
            plan.arm()
        for rank, plan in enumerate(plans):
            plan.ready(SECONDS)
            for chunk in plan.order():
                for tile in range(4):
                    plan.put_tile(chunk, tile, np.full((2, 32), 10 * chunk + rank, "i4"))
        for rank, plan in enumerate(plans):
            assert plan.wait(SECONDS).shape == (4, 64)
            assert (plan.result() == 10 * rank + RANKS - 1).all()
        with pytest.raises(ValueError, match=r"\(2, 32\)"):
            plans[0].put_tile(0, 0, np.zeros((1, 32), "i4"))


def put_chunk(plan, chunk, rank, by_tiles):
    first, count = plan.chunk(chunk)
    if not by_tiles:
        plan.put(first, data_of(rank)[first:first + count])
    for tile in range(count // TILE if by_tiles else 0):
        at = first + tile * TILE
        plan.put_tile(chunk, tile, data_of(rank)[at:at + TILE])


@pytest.mark.parametrize("by_tiles", [False, True])
def test_a_wait_that_times_out_names_the_rank_that_is_late(by_tiles):
    with local_plans(tile=TILE) as plans:
        for plan in plans:
            plan.arm()
        for rank, plan in enumerate(plans):
            plan.ready(SECONDS)
            for chunk in plan.order()[:3 if rank == 2 else 4]:
                put_chunk(plan, chunk, rank, by_tiles)
        with pytest.raises(t3.TimeoutError, match="rank 2 has put 0 of 1024"):
            plans[0].wait(0.3)
        put_chunk(plans[2], plans[2].order()[3], 2, by_tiles)
        for plan in plans:
            assert (plan.wait(SECONDS) == 6 + 4 * (np.arange(COUNT) % 7)).all()


def test_an_array_of_more_than_16_mib_is_put_by_tiles():
    tile, more = 1 << 18, 64
    data = np.arange(16 * tile + more, dtype="i4")
    with local_plans("broadcast", data.size, "i32", tile=tile) as plans:
        for plan in plans:
            plan.arm()
        for plan in plans:
            plan.ready(SECONDS)
        for number in range(17):
            plans[0].put_tile(0, number, data[number * tile:(number + 1) * tile])
        for plan in plans:
            assert (plan.wait(SECONDS) == data).all()


def test_mistakes_of_a_caller_leave_the_plan_usable():
    with local_plans(tile=TILE) as plans:
        with pytest.raises(t3.Error, match="comes after t3_plan_ready.*no epoch was armed"):
            plans[0].put(0, data_of(0))  # not started
        with pytest.raises(t3.Error, match="comes after t3_plan_ready.*no epoch was armed"):
            plans[0].wait(0)
        with pytest.raises(ValueError):
            t3.Plan.all_of([], "all_reduce", 0, op="divide")
        put_all(plans)
        with pytest.raises(t3.Error, match="an element is put twice: tile 0 of chunk 0"):
            plans[0].put(0, data_of(0)[:1])  # a second time
        for plan in plans:
            plan.wait(SECONDS)


# --- in four processes

def join(rank, directory):
    device = t3.Device.of_rank(rank)
    return t3.Comm.in_directory(device, directory, rank, RANKS, SECONDS)


def odd_of(rank):
    """Floats whose sum depends on the order of the additions."""
    return (np.arange(COUNT) * np.float32(0.1) + np.float32(1e3) ** rank).astype("f4")


def collectives(rank, directory):
    with join(rank, directory) as comm:
        mine, out = data_of(rank), {}
        for mistake, call in ((ValueError, lambda: comm.all_reduce(mine, op="sum")),
                              (OverflowError, lambda: comm.broadcast(np.zeros(1, "f4"), root=-1))):
            with pytest.raises(mistake):
                call()
        out["all_reduce"] = comm.all_reduce(mine.reshape(64, 64), timeout=SECONDS)
        out["min"] = comm.all_reduce(data_of(rank, "i4"), op="min", timeout=SECONDS)
        out["bf16"] = comm.all_reduce(np.full(8, 0x3f80, "u2"), dtype="bf16", timeout=SECONDS)
        out["f64"] = comm.all_reduce(np.full(9, 2.0 ** 40 + rank), timeout=SECONDS)
        out["i64"] = comm.all_reduce(np.full(9, 2 ** 40 + rank), op="mul", timeout=SECONDS)
        out["u8"] = comm.all_reduce(np.full(9, 1 << rank, "u1"), op="or", timeout=SECONDS)
        comm.set_deterministic(True)
        out["ordered"] = comm.all_reduce(odd_of(rank), timeout=SECONDS)
        out["ordered_part"] = comm.all_reduce(odd_of(rank)[:17].copy(), timeout=SECONDS)
        comm.set_deterministic(False)
        with pytest.raises(t3.Error, match="no link from rank") as error:
            comm.set_widening(True)  # on a ring of four
        out["widening"] = error.value.errno
        out["in_place"] = comm.all_reduce(mine, out=mine, timeout=SECONDS)
        out["reduce_scatter"] = comm.reduce_scatter(data_of(rank), timeout=SECONDS)
        out["all_gather"] = comm.all_gather(np.full(3, rank, "i4"), timeout=SECONDS)
        first, count = comm.chunk(10)
        out["uneven"] = comm.all_gather(np.arange(first, first + count, dtype="i4"), 10,
                                        timeout=SECONDS)
        out["all_to_all"] = comm.all_to_all(np.arange(8, dtype="i4") + 10 * rank,
                                            timeout=SECONDS)
        whole = np.full(10, rank, "f2")
        whole.flags.writeable = rank != 2
        out["broadcast"] = comm.broadcast(whole[::2] if rank == 2 else whole[:5], root=2,
                                          timeout=SECONDS)
        comm.barrier(SECONDS)
        return {name: np.array(value) for name, value in out.items()}


def test_plain_collectives(ranks):
    ranks.start(collectives)
    total = 6 + 4 * (np.arange(COUNT) % 7)
    for rank, out in enumerate(ranks.results()):
        assert isinstance(out, dict), out
        assert (out["all_reduce"] == total.reshape(64, 64)).all()
        assert (out["in_place"] == total).all()
        assert (out["min"] == np.arange(COUNT) % 7).all()
        assert (out["bf16"].view("u2") == 0x4080).all()
        assert (out["f64"] == 2.0 ** 42 + 6).all()
        product = (2 ** 40) * (2 ** 40 + 1) * (2 ** 40 + 2) * (2 ** 40 + 3)
        assert (out["i64"].view("u8") == product % 2 ** 64).all()
        assert (out["u8"] == 15).all()
        ordered = ((odd_of(0) + odd_of(1)) + odd_of(2)) + odd_of(3)
        assert out["ordered"].tobytes() == ordered.tobytes()
        assert out["ordered_part"].tobytes() == ordered[:17].tobytes()
        assert out["widening"] == errno.EHOSTUNREACH
        assert (out["reduce_scatter"] == total[rank * 1024:(rank + 1) * 1024]).all()
        assert out["all_gather"].tolist() == [0] * 3 + [1] * 3 + [2] * 3 + [3] * 3
        assert out["uneven"].tolist() == list(range(10))
        assert out["all_to_all"].tolist() == [10 * peer + 2 * rank + i for peer in range(4)
                                              for i in (0, 1)]
        assert (out["broadcast"] == 2).all()


def environment(rank, directory):
    os.environ.update(T3_COMM_DIR=str(directory), T3_RANK=str(rank), T3_RANKS=str(RANKS))
    with t3.Device.of_rank(rank) as device, t3.Comm.from_environment(device, SECONDS) as comm:
        with comm.plan("all_reduce", COUNT, tile=TILE, timeout=SECONDS) as plan:
            plan.start(SECONDS)
            plan.put(0, data_of(rank))
            right = np.count_nonzero(plan.wait(SECONDS) == 6 + 4 * (np.arange(COUNT) % 7))
        comm.barrier(SECONDS)
        return comm.rank, comm.ranks, right


def test_ranks_meet_by_the_environment(ranks):
    ranks.start(environment)
    assert ranks.results() == [(rank, RANKS, COUNT) for rank in range(RANKS)]


def gathered(rank, directory):
    calls = []

    def all_gather(mine):
        calls.append(len(mine))
        number = len(calls)
        made = directory / f"{number}-{rank}.part"
        made.write_bytes(mine)
        made.rename(directory / f"{number}-{rank}")
        every = [directory / f"{number}-{peer}" for peer in range(RANKS)]
        while not all(path.exists() for path in every):
            time.sleep(0.01)
        return [path.read_bytes() for path in every]

    with t3.Device.of_rank(rank) as device:
        with t3.Comm.from_all_gather(device, all_gather, rank, RANKS, SECONDS) as comm:
            total = comm.all_reduce(np.full(4, rank, "i4"), timeout=SECONDS)
            comm.barrier(SECONDS)
            return total.tolist()


def test_ranks_meet_by_an_all_gather(ranks):
    ranks.start(gathered)
    assert ranks.results() == [[6] * 4] * RANKS


def failing(rank, _directory):
    def all_gather(_mine):
        raise LookupError("no network")

    with t3.Device.of_rank(rank) as device:
        t3.Comm.from_all_gather(device, all_gather, rank, RANKS, SECONDS)


def test_what_an_all_gather_raises_is_raised(ranks):
    ranks.start(failing, 1)
    assert [(type(one), str(one)) for one in ranks.results()] == [(LookupError, "no network")]


def ending(rank, directory):
    comm = join(rank, directory)
    if rank == 2:
        os._exit(0)
    comm.barrier(SECONDS)


def test_a_rank_that_ends_is_named(ranks):
    ranks.start(ending)
    results = ranks.results()
    for rank in (0, 1, 3):
        assert isinstance(results[rank], t3.PeerError) and results[rank].rank == 2


def alone(rank, directory):
    with join(rank, directory) as comm:
        if rank:
            time.sleep(SECONDS)
        try:
            (directory / "waits").touch()
            comm.barrier()
        finally:
            try:
                comm.barrier()
            except t3.Error as error:
                (directory / "later").write_text(str(error))


def test_ctrl_c_ends_a_wait_for_ever(ranks):
    ranks.start(alone)
    while not (ranks.directory / "waits").exists():
        time.sleep(0.01)
    time.sleep(0.3)
    ranks.interrupt(0)
    pid = ranks.pids.pop(0)
    with open(ranks.pipes.pop(0), "rb") as pipe:
        assert b"KeyboardInterrupt" in pipe.read()
    os.waitpid(pid, 0)
    assert "only close() is possible" in (ranks.directory / "later").read_text()
    ranks.end()
    ranks.pids = []
