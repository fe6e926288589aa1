# SPDX-License-Identifier: MIT
"""Each collective of torch, of four ranks: types, operations, shapes, and which way they went."""

import itertools

import pytest
import torch
import torch.distributed as dist
from ranks import RANKS, join

import t3.torch

FLOATS = (torch.float32, torch.float64, torch.float16, torch.bfloat16)
WHOLES = (torch.int32, torch.int64, torch.int16, torch.int8, torch.uint8)
TYPES = (*FLOATS, *WHOLES, torch.bool)
COUNT = 37  # not divisible by the ranks


@pytest.fixture(scope="module", autouse=True)
def joined(crew):
    crew.run(join)


def values(rank, dtype, count=COUNT):
    """Small numbers that differ between ranks, so that every sum is exact in each type."""
    numbers = (torch.arange(count) * (rank + 1) + rank) % 3 + 1
    return numbers % 2 == 1 if dtype == torch.bool else numbers.to(dtype)


def reduced(op, dtype, count=COUNT):
    """What torch itself says, rank by rank."""
    rows = [values(rank, dtype, count) for rank in range(RANKS)]
    steps = {"SUM": torch.add, "PRODUCT": torch.mul, "MIN": torch.minimum, "MAX": torch.maximum,
             "BAND": torch.bitwise_and, "BOR": torch.bitwise_or, "BXOR": torch.bitwise_xor}
    total = rows[0]
    for row in rows[1:]:
        if dtype == torch.bool:
            total = {"SUM": total | row, "MAX": total | row, "BOR": total | row,
                     "PRODUCT": total & row, "MIN": total & row, "BAND": total & row,
                     "BXOR": total ^ row}[op]
        else:
            total = steps[op](total.double(), row.double()).to(dtype) \
                if dtype.is_floating_point else steps[op](total, row)
    return total


def cases():
    for dtype, op in itertools.product(TYPES, ("SUM", "MIN", "MAX", "PRODUCT", "BAND", "BOR",
                                               "BXOR")):
        if op[0] == "B" and dtype in FLOATS:
            continue
        yield dtype, op


def same(got, right):
    assert got.dtype == right.dtype and got.shape == right.shape
    assert torch.equal(got, right), (got, right)


# --- reductions

def every_all_reduce(_rank, _ranks, _directory):
    for dtype, op in cases():
        data = values(dist.get_rank(), dtype)
        dist.all_reduce(data, getattr(dist.ReduceOp, op))
        same(data, reduced(op, dtype))


def test_all_reduce_of_each_type_and_operation(crew):
    crew.run(every_all_reduce)


def every_reduce_scatter(rank, ranks, _directory):
    for dtype, op in cases():
        whole = values(rank, dtype, ranks * COUNT)
        right = reduced(op, dtype, ranks * COUNT)[rank * COUNT:(rank + 1) * COUNT]
        out = torch.empty(COUNT, dtype=dtype)
        dist.reduce_scatter(out, list(whole.split(COUNT)), getattr(dist.ReduceOp, op))
        same(out, right)
        out.zero_()
        dist.reduce_scatter_tensor(out, whole, getattr(dist.ReduceOp, op))
        same(out, right)


def test_reduce_scatter_of_each_type_and_operation(crew):
    crew.run(every_reduce_scatter)


def every_reduce(rank, _ranks, _directory, roots):
    """Each case with as many roots, in turn."""
    turn = itertools.cycle((0, 2))
    for dtype, op in cases():
        for root in itertools.islice(turn, roots):
            data = values(rank, dtype)
            dist.reduce(data, root, getattr(dist.ReduceOp, op))
            same(data, reduced(op, dtype) if rank == root else values(rank, dtype))


def test_reduce_leaves_the_other_ranks_tensors(crew, has_device):
    crew.run(every_reduce, 1 if has_device else 2)


def averages(rank, ranks, _directory):
    for dtype in (*FLOATS, *WHOLES):
        data = (values(rank, dtype) * 4).contiguous()
        total = sum((values(peer, dtype).double() * 4 for peer in range(ranks)))
        dist.all_reduce(data, dist.ReduceOp.AVG)
        same(data, (total / ranks).to(dtype))
        out = torch.empty(3, dtype=dtype)
        dist.reduce_scatter_tensor(out, torch.full((3 * ranks,), rank + 1, dtype=dtype),
                                   dist.ReduceOp.AVG)
        same(out, torch.full((3,), 2.5, dtype=torch.float64).to(dtype))


def test_averages(crew):
    crew.run(averages)


def wraps(_rank, _ranks, _directory):
    for dtype, value in ((torch.int8, 100), (torch.uint8, 200), (torch.int16, 30000),
                         (torch.int32, 2**30), (torch.int64, 2**62)):
        data = torch.full((5,), value, dtype=dtype)
        right = data + data + data + data
        dist.all_reduce(data)
        same(data, right)


def test_sums_of_integers_wrap_as_torchs_do(crew):
    crew.run(wraps)


def of_random_floats(rank, ranks, _directory):
    """The same bits on all ranks, within the error of any order."""
    made = {}
    for dtype, bound in ((torch.float32, 1e-6), (torch.float64, 1e-15), (torch.float16, 4e-3),
                         (torch.bfloat16, 4e-2)):
        rows = [torch.randn(1000, generator=torch.Generator().manual_seed(peer)).to(dtype)
                for peer in range(ranks)]
        data = rows[rank].clone()
        dist.all_reduce(data)
        right, scale = sum(row.double() for row in rows), sum(row.double().abs() for row in rows)
        assert ((data.double() - right).abs() <= bound * scale).all()
        made[str(dtype)] = data.view(torch.uint8).tolist()
    return made


def test_sums_of_floats_have_the_same_bits_at_all_ranks(crew):
    results = crew.run(of_random_floats)
    assert all(result == results[0] for result in results)


def random_rows(dtype, count, ranks=RANKS):
    """What each rank has: of different sizes, so that each order of a sum has bits of its own."""
    return [(torch.randn(count, generator=torch.Generator().manual_seed(peer)) * 10.0 ** (peer % 3))
            .to(dtype) for peer in range(ranks)]


def in_rank_order(rows, op="SUM"):
    """((x0 op x1) op x2) op x3, rounded to the type after each step."""
    total = rows[0]
    for row in rows[1:]:
        if row.dtype in (torch.float16, torch.bfloat16):
            pair = total.float(), row.float()
        else:
            pair = total, row
        total = (pair[0] * pair[1] if op == "PRODUCT" else pair[0] + pair[1]).to(row.dtype)
    return total / len(rows) if op == "AVG" else total


def of_the_group(tensor, op):
    """torch.distributed itself takes sums alone of complex numbers."""
    options = dist.AllreduceOptions()
    options.reduceOp = op
    dist.distributed_c10d._get_default_group().allreduce([tensor], options).wait()


def complex_numbers(rank, _ranks, _directory):
    rows = [torch.complex(one, one.flip(0)) for one in random_rows(torch.float32, 999)]
    data = rows[rank].clone()
    of_the_group(data, dist.ReduceOp.PRODUCT)  # no device has it
    assert torch.allclose(data, rows[0] * rows[1] * rows[2] * rows[3])
    data = rows[rank].clone()
    dist.all_reduce(data)
    assert torch.allclose(data, sum(rows), rtol=1e-5, atol=1e-5)
    data = torch.complex(torch.full((3,), 1.0), torch.full((3,), float(rank)))
    of_the_group(data.conj(), dist.ReduceOp.SUM)  # a view, whose memory has the other sign
    same(data, torch.complex(torch.full((3,), 4.0), torch.full((3,), 6.0)))
    dist.all_reduce(data.conj().imag, dist.ReduceOp.MIN)
    same(data, torch.complex(torch.full((3,), 4.0), torch.full((3,), 6.0)))


def test_complex_numbers(crew):
    crew.run(complex_numbers)


def by_the_processor(rank, _ranks, _directory):
    rows = random_rows(torch.float32, 999)
    data = rows[rank].clone()
    dist.all_reduce(data, dist.ReduceOp.PRODUCT)
    same(data, in_rank_order(rows, "PRODUCT"))


def test_the_processor_reduces_in_the_order_of_ranks(crew, has_device, is_old):
    if is_old or not has_device:
        crew.run(by_the_processor)


def deterministic(rank, ranks, _directory, has_device):
    """Bits of the order of ranks, whatever the size; and other bits without the mode."""
    others = 0
    for dtype, op in itertools.product(FLOATS, ("SUM", "AVG", "PRODUCT")):
        reduce_op = getattr(dist.ReduceOp, op)
        # Of several pieces: in a VM, which takes seconds for it, of one type alone.
        is_long = op == "SUM" and (dtype == torch.float64 or not has_device)
        for count in (1, COUNT, 1000, 150001 if is_long else 4096):
            rows = random_rows(dtype, count)
            right = in_rank_order(rows, op)
            torch.use_deterministic_algorithms(True)
            data = rows[rank].clone()
            dist.all_reduce(data, reduce_op)
            same(data.view(torch.uint8), right.view(torch.uint8))
            data = [row.clone() for row in rows[rank].split(max(1, count // 3))]
            dist.distributed_c10d._get_default_group().allreduce_coalesced(
                data, coalesced_options(reduce_op)).wait()
            same(torch.cat(data).view(torch.uint8), right.view(torch.uint8))
            whole = torch.cat([rows[rank].roll(peer) for peer in range(ranks)])
            out = torch.empty(count, dtype=dtype)
            dist.reduce_scatter_tensor(out, whole, reduce_op)
            same(out.view(torch.uint8), right.roll(rank).view(torch.uint8))
            torch.use_deterministic_algorithms(False)
            data = rows[rank].clone()
            dist.all_reduce(data, reduce_op)
            others += not torch.equal(data.view(torch.uint8), right.view(torch.uint8))
    assert bool(others) == has_device


def coalesced_options(op):
    options = dist.AllreduceCoalescedOptions()
    options.reduceOp = op
    return options


def test_deterministic_algorithms_sum_in_the_order_of_ranks(crew, has_device):
    crew.run(deterministic, has_device)


def switched(rank, _ranks, _directory):
    """The mode is that of the call, also when it runs later."""
    rows = random_rows(torch.float32, 5000)
    data = [rows[rank].clone() for _ in range(20)]
    works = []
    for place, one in enumerate(data):
        torch.use_deterministic_algorithms(place % 2 == 0)
        works.append(dist.all_reduce(one, async_op=True))
    torch.use_deterministic_algorithms(rank == 2)
    for work in works:
        work.wait()
    torch.use_deterministic_algorithms(False)
    right = in_rank_order(rows)
    assert all(torch.equal(one, right) for one in data[::2])
    assert all(torch.allclose(one, right, atol=1e-5) for one in data[1::2])


def test_the_mode_of_a_call_is_that_of_its_submission(crew):
    crew.run(switched)


def whole_range(rank, ranks, _directory):
    """Numbers that no other type holds: 64 bits, signed and not, and fractions of float64."""
    data = torch.tensor([2**62 + rank, -2**62 - rank, -1 - rank])
    dist.all_reduce(data, dist.ReduceOp.MAX)
    same(data, torch.tensor([2**62 + ranks - 1, -2**62, -1]))
    data = torch.tensor([1 + rank * 2.0**-52, 1e300], dtype=torch.float64)
    dist.all_reduce(data, dist.ReduceOp.MAX)
    same(data, torch.tensor([1 + 3 * 2.0**-52, 1e300], dtype=torch.float64))
    for dtype in (torch.int8, torch.int16, torch.int32, torch.int64):
        data = torch.tensor([~(1 << rank), -1 << rank], dtype=dtype)
        dist.all_reduce(data, dist.ReduceOp.BAND)
        same(data, torch.tensor([~15, -8], dtype=dtype))
        data = torch.tensor([-3], dtype=dtype)
        dist.all_reduce(data, dist.ReduceOp.PRODUCT)
        same(data, torch.tensor([81], dtype=dtype))
    data = torch.tensor([200 + rank], dtype=torch.uint8)
    dist.all_reduce(data, dist.ReduceOp.MIN)
    same(data, torch.tensor([200], dtype=torch.uint8))


def test_the_whole_range_of_each_type(crew):
    crew.run(whole_range)


def refused(_rank, _ranks, _directory):
    texts = []
    for dtype, op in ((torch.float32, "BAND"), (torch.bool, "AVG")):
        data = torch.ones(4).to(dtype)
        with pytest.raises(ValueError) as caught:
            dist.all_reduce(data, getattr(dist.ReduceOp, op))
        texts.append(str(caught.value))
    with pytest.raises(ValueError, match="one tensor"):
        dist.distributed_c10d._get_default_group().allreduce([torch.ones(1), torch.ones(1)], None)
    return texts


def goes_on(rank, _ranks, _directory):
    for op in ("SUM", "BAND"):
        data = values(rank, torch.int32)
        dist.all_reduce(data, getattr(dist.ReduceOp, op))
        same(data, reduced(op, torch.int32))


def test_what_has_no_meaning_is_refused_and_the_group_goes_on(crew):
    for rank, texts in enumerate(crew.run(refused)):
        assert all(f"all_reduce in group 0, rank {rank} of 4" in text for text in texts)
        assert "BAND needs integers" in texts[0] and "AVG has no meaning" in texts[1]
    crew.run(goes_on)


def shapes(rank, ranks, _directory):
    for count in (0, 1, 3, 4, 5, 1000):
        data = torch.full((count,), rank + 1.0)
        dist.all_reduce(data)
        same(data, torch.full((count,), 10.0))
    scalar = torch.tensor(rank)
    dist.all_reduce(scalar)
    same(scalar, torch.tensor(6))
    base = torch.zeros(6, 8)
    gaps = base[::2, 1::2]
    gaps.fill_(rank)
    dist.all_reduce(gaps)
    right = torch.zeros(6, 8)
    right[::2, 1::2] = 6
    same(base, right)
    leaf = torch.full((3,), float(rank), requires_grad=True)
    dist.all_reduce(leaf.data)
    dist.broadcast(leaf, 1)
    assert leaf.tolist() == [6.0] * 3 and leaf.requires_grad
    turned = torch.arange(12.0).view(3, 4).t()
    rows = [torch.empty(4, 3) for _ in range(ranks)]
    dist.all_gather(rows, turned)
    for row in rows:
        same(row, turned.contiguous())


def test_empty_odd_and_strided_tensors(crew):
    crew.run(shapes)


def long_ones(rank, ranks, _directory):
    """Several pieces and a rest, where a piece is small: test_device_memory.py sees to that."""
    count = 700001
    data = torch.arange(count, dtype=torch.float32) % 1000 + rank
    dist.all_reduce(data)
    same(data, 4 * (torch.arange(count, dtype=torch.float32) % 1000) + 6)
    part = 150001
    out = torch.empty(part, dtype=torch.int32)
    dist.reduce_scatter_tensor(out, torch.arange(part * ranks, dtype=torch.int32) + rank)
    same(out, 4 * (torch.arange(part, dtype=torch.int32) + rank * part) + 6)
    whole = torch.empty(part * ranks, dtype=torch.int64)
    dist.all_gather_into_tensor(whole, torch.arange(part) + part * rank)
    same(whole, torch.arange(part * ranks))
    data = torch.arange(part) if rank == 3 else torch.zeros(part, dtype=torch.int64)
    dist.broadcast(data, 3)
    same(data, torch.arange(part))
    swapped = torch.empty(part * ranks, dtype=torch.int32)
    dist.all_to_all_single(swapped, torch.arange(part * ranks, dtype=torch.int32) * 10 + rank)
    right = [(torch.arange(part, dtype=torch.int32) + rank * part) * 10 + peer
             for peer in range(ranks)]
    same(swapped, torch.cat(right))


def test_long_messages(crew):
    crew.run(long_ones)


# --- moves

def moves(rank, ranks, _directory):
    for dtype in TYPES:
        rows = [torch.empty(COUNT, dtype=dtype) for _ in range(ranks)]
        dist.all_gather(rows, values(rank, dtype))
        for peer, row in enumerate(rows):
            same(row, values(peer, dtype))
        whole = torch.empty(ranks * COUNT, dtype=dtype)
        dist.all_gather_into_tensor(whole, values(rank, dtype))
        same(whole, torch.cat(rows))
        data = values(rank, dtype)
        dist.broadcast(data, 2)
        same(data, values(2, dtype))
        gathered = [torch.empty(COUNT, dtype=dtype) for _ in range(ranks)] if rank == 1 else None
        dist.gather(values(rank, dtype), gathered, 1)
        for peer, row in enumerate(gathered or ()):
            same(row, values(peer, dtype))
        out = torch.empty(COUNT, dtype=dtype)
        parts = [values(peer + 5, dtype) for peer in range(ranks)] if rank == 3 else None
        dist.scatter(out, parts, 3)
        same(out, values(rank + 5, dtype))
        swapped = torch.empty(ranks * COUNT, dtype=dtype)
        dist.all_to_all_single(swapped, torch.cat([values(rank * ranks + peer, dtype)
                                                   for peer in range(ranks)]))
        same(swapped, torch.cat([values(peer * ranks + rank, dtype) for peer in range(ranks)]))


def test_moves_of_each_type(crew):
    crew.run(moves)


def uneven(rank, ranks, _directory):
    """The part from a to b has a + 2 b elements; some are empty."""
    def sizes(a):
        return [a + 2 * b for b in range(ranks)]

    rows = [torch.empty(peer, dtype=torch.int16) for peer in range(ranks)]
    dist.all_gather(rows, torch.full((rank,), rank, dtype=torch.int16))
    assert [row.tolist() for row in rows] == [[peer] * peer for peer in range(ranks)]
    sent = torch.cat([torch.full((size, 2), 10 * rank + peer)
                      for peer, size in enumerate(sizes(rank))])
    due = [peer + 2 * rank for peer in range(ranks)]
    out = torch.empty(sum(due), 2, dtype=torch.int64)
    dist.all_to_all_single(out, sent, due, sizes(rank))
    right = torch.cat([torch.full((size, 2), 10 * peer + rank) for peer, size in enumerate(due)])
    same(out, right)
    outs = [torch.empty(size) for size in due]
    dist.all_to_all(outs, [torch.full((size,), float(10 * rank + peer))
                           for peer, size in enumerate(sizes(rank))])
    for peer, part in enumerate(outs):
        same(part, torch.full((due[peer],), float(10 * peer + rank)))
    out = torch.empty(rank)
    dist.reduce_scatter(out, [torch.full((peer,), float(rank)) for peer in range(ranks)])
    same(out, torch.full((rank,), 6.0))


def test_parts_that_are_not_equally_long(crew):
    crew.run(uneven)


def wrong_lengths(rank, ranks, _directory):
    with pytest.raises(ValueError) as caught:
        dist.all_to_all_single(torch.empty(ranks + 1), torch.empty(ranks), [1] * 3 + [2], [1] * 4)
    with pytest.raises(ValueError, match="input has 3"):
        dist.reduce_scatter_tensor(torch.empty(1), torch.empty(3))
    with pytest.raises(ValueError, match="and not 3"):
        dist.all_gather_into_tensor(torch.empty(3), torch.empty(1))
    dist.barrier()
    return str(caught.value)


def test_wrong_lengths_are_refused(crew):
    for rank, text in enumerate(crew.run(wrong_lengths)):
        assert f"all_to_all_single in group 0, rank {rank} of 4: this rank expects" in text


def coalesced(rank, ranks, _directory):
    tensors = [torch.full((3,), rank), torch.full((2, 2), rank + 0.5), torch.full((4,), -rank)]
    group = dist.distributed_c10d._get_default_group()
    group.allreduce_coalesced(tensors, dist.AllreduceCoalescedOptions()).wait()
    assert [tensor.flatten().tolist() for tensor in tensors] == [[6] * 3, [8.0] * 4, [-6] * 4]
    outs = [torch.empty(2 * ranks), torch.empty(ranks, dtype=torch.int64)]
    group.allgather_into_tensor_coalesced(outs, [torch.full((2,), float(rank)),
                                                 torch.tensor([rank])], None).wait()
    assert outs[0].tolist() == [0, 0, 1, 1, 2, 2, 3, 3] and outs[1].tolist() == [0, 1, 2, 3]
    outs = [torch.empty(1), torch.empty(2)]
    group.reduce_scatter_tensor_coalesced(
        outs, [torch.arange(4.0), torch.arange(8.0)], dist.ReduceScatterOptions()).wait()
    assert outs[0].tolist() == [4.0 * rank] and outs[1].tolist() == [8.0 * rank, 8.0 * rank + 4]
    rows = [[torch.empty(2), torch.empty(1)] for _ in range(ranks)]
    group.allgather_coalesced(rows, [torch.full((2,), float(rank)), torch.ones(1)], None).wait()
    assert [row[0].tolist() for row in rows] == [[float(peer)] * 2 for peer in range(ranks)]


def test_coalesced_forms(crew):
    crew.run(coalesced)


def objects(rank, ranks, _directory):
    every = [None] * ranks
    dist.all_gather_object(every, {"rank": rank, "text": "x" * rank})
    assert every == [{"rank": peer, "text": "x" * peer} for peer in range(ranks)]
    several = [("one", 1), "two"] if rank == 1 else [None, None]
    dist.broadcast_object_list(several, 1)
    assert several == [("one", 1), "two"]


def test_objects(crew):
    crew.run(objects)


# --- counts

def counted(_rank, _ranks, _directory):
    t3.torch.reset_counts()
    dist.all_reduce(torch.ones(8))
    dist.all_reduce(torch.ones(8, dtype=torch.int8))
    dist.all_reduce(torch.ones(8, dtype=torch.int16))
    dist.all_reduce(torch.ones(8, dtype=torch.int64), dist.ReduceOp.PRODUCT)
    dist.all_reduce(torch.ones(8, dtype=torch.float64))
    dist.all_reduce(torch.ones(8, dtype=torch.bool), dist.ReduceOp.BXOR)
    of_the_group(torch.ones(8, dtype=torch.complex64), dist.ReduceOp.PRODUCT)
    dist.broadcast(torch.ones(8, dtype=torch.float64), 0)
    dist.barrier()
    return t3.torch.counts()


def test_counts_say_which_way_each_call_went(crew, has_device, is_old):
    if not has_device:
        ways, moves_by = {"gloo": 7}, "gloo"
    elif is_old:
        ways, moves_by = {"device": 1, "converted": 2, "combined": 4}, "device"
    else:
        ways, moves_by = {"device": 5, "converted": 1, "combined": 1}, "device"
    expected = {"all_reduce": ways, "broadcast": {moves_by: 1}, "barrier": {moves_by: 1}}
    assert crew.run(counted) == [expected] * RANKS
