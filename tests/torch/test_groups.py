# SPDX-License-Identifier: MIT
"""Messages, asynchronous work, groups, failures, and training, of four ranks."""

import datetime
import os
import time

import pytest
import torch
import torch.distributed as dist
from ranks import RANKS, SECONDS, apart, join

import t3.torch

STEPS, STEPS_IN_VM = 20, 8  # of training
# gloo's groups of torch 1.13 may hang where they end with the last user, see t3/torch/gloo.py.
KEPT = []
SHORT = 2  # a timeout that a test waits for


@pytest.fixture
def joined(crew):
    """Ranks that are in the group, which a test may have destroyed and made again."""
    crew.run(start)
    return crew


def start(rank, ranks, directory):
    if not dist.is_initialized():
        join(rank, ranks, directory, name=f"meet{next_number()}")


def next_number(numbers=[0]):
    numbers[0] += 1
    return numbers[0]


# --- messages

def around(rank, ranks, _directory):
    for dtype in (torch.float32, torch.bfloat16, torch.int64, torch.bool):
        data = torch.full((5, 3), rank).to(dtype)
        got = torch.empty(3, 5, dtype=dtype).t()
        if rank % 2:
            dist.recv(got, (rank - 1) % ranks)
            dist.send(data, (rank + 1) % ranks)
        else:
            dist.send(data, (rank + 1) % ranks)
            assert dist.recv(got, (rank - 1) % ranks) == (rank - 1) % ranks
        assert torch.equal(got, torch.full((5, 3), (rank - 1) % ranks).to(dtype))
    works = [dist.P2POp(dist.isend, torch.full((1000,), 10.0 * rank + peer), peer)
             for peer in range(ranks) if peer != rank]
    outs = {peer: torch.empty(1000) for peer in range(ranks) if peer != rank}
    works += [dist.P2POp(dist.irecv, out, peer) for peer, out in outs.items()]
    for work in dist.batch_isend_irecv(works):
        work.wait()
    for peer, out in outs.items():
        assert (out == 10 * peer + rank).all()


def test_messages_between_all_ranks(joined):
    joined.run(around)


def tagged(rank, _ranks, _directory):
    if rank == 0:
        for tag in (7, 8):
            dist.send(torch.tensor([tag]), 1, tag=tag)
        time.sleep(0.1)
        dist.send(torch.empty(0), 1, tag=9)
    elif rank == 1:
        first, second, empty = torch.zeros(1).long(), torch.zeros(1).long(), torch.empty(0)
        works = [dist.irecv(first, 0, tag=7), dist.irecv(second, 0, tag=8),
                 dist.irecv(empty, 0, tag=9)]
        works[1].wait()
        assert second.item() == 8 and works[1].source_rank() == 0
        while not works[2].is_completed():
            time.sleep(0.01)
        works[0].wait()
        assert first.item() == 7
    dist.barrier()


def test_tags_choose_the_message(joined):
    joined.run(tagged)


def from_any(rank, ranks, _directory):
    if rank == 2:
        got = {}
        for _ in range(ranks - 1):
            data = torch.zeros(2)
            source = dist.recv(data)
            got[source] = data.tolist()
        assert got == {peer: [float(peer)] * 2 for peer in (0, 1, 3)}
    else:
        dist.send(torch.full((2,), float(rank)), 2)
    return t3.torch.counts().get("recv", {}).get("gloo", 0)


def test_a_message_from_any_rank_says_whose_it_is(joined):
    assert joined.run(from_any)[2] >= RANKS - 1


def long_ones(rank, ranks, _directory):
    """To all at once, and taken in another order than sent."""
    t3.torch.reset_counts()
    others = [peer for peer in range(ranks) if peer != rank]
    sent = [dist.isend(torch.full((300000,), 100.0 * rank + 10 * peer + tag), peer, tag=tag)
            for peer in others for tag in (1, 2)]
    for peer in reversed(others):
        for tag in (2, 1):
            data = torch.zeros(300000)
            assert dist.recv(data, peer, tag=tag) == peer
            assert (data == 100 * peer + 10 * rank + tag).all()
    for work in sent:
        work.wait()
    gaps = torch.zeros(2, 40000)
    if rank == 3:
        dist.send(torch.arange(40000.0), 2)
    if rank == 2:
        assert dist.recv(gaps.t()[:, 1]) == 3
        assert (gaps[0] == 0).all() and (gaps[1] == torch.arange(40000.0)).all()
    return t3.torch.counts()["send"], t3.torch.counts()["recv"]


def test_long_messages_go_by_the_devices_of_neighbours(joined, has_device, has_all_links):
    """On the ring of four the rank across has no link."""
    for rank, (sends, receives) in enumerate(joined.run(long_ones)):
        if not has_device:
            assert sends == {"gloo": 6 + (rank == 3)} and receives == {"gloo": 6 + (rank == 2)}
        elif has_all_links:
            assert sends == {"device": 6 + (rank == 3)} and receives == {"device": 6 + (rank == 2)}
        else:
            assert sends == {"device": 4 + (rank == 3), "gloo": 2}
            assert receives == {"device": 4 + (rank == 2), "gloo": 2}


def of_other_lengths(rank, _ranks, _directory):
    if rank == 0:
        with pytest.raises(ValueError, match="send to rank 1.*rank 1 has 120000") as caught:
            dist.send(torch.zeros(20000), 1)
        return str(caught.value)
    if rank == 1:
        with pytest.raises(ValueError, match="recv from rank 0.*rank 0 sends 80000 bytes"):
            dist.recv(torch.zeros(30000), 0)


def test_a_long_message_of_another_length_is_refused_at_both_ranks(joined):
    joined.run(of_other_lengths)


# --- asynchronous work

def asynchronous(rank, ranks, _directory):
    tensors = [torch.full((1000,), float(rank + step)) for step in range(20)]
    works = [dist.all_reduce(tensor, async_op=True) for tensor in tensors]
    out = torch.empty(ranks)
    works.append(dist.all_gather_into_tensor(out, torch.tensor([float(rank)]), async_op=True))
    seen = []
    future = works[3].get_future().then(lambda done: seen.append(done.value()[0][0].item()))
    works[-1].wait()
    assert out.tolist() == [0, 1, 2, 3]
    for step, (work, tensor) in enumerate(zip(works, tensors)):
        assert work.is_completed() and work.is_success() and work.exception() is None
        assert work.wait(datetime.timedelta(seconds=SECONDS))
        assert (tensor == 6 + 4 * step).all()
    future.wait()
    assert seen == [18.0]
    work = dist.all_reduce(torch.ones(4), async_op=True)
    while not work.is_completed():  # nobody waits for it
        time.sleep(0.01)
    assert work.result()[0].tolist() == [4.0] * 4


def test_asynchronous_work_runs_in_order_and_has_futures(joined):
    joined.run(asynchronous)


def in_inference_mode(rank, ranks, _directory):
    """As an evaluation does. The thread of the group has no such mode of its own."""
    with torch.inference_mode():
        data, rows = torch.full((4,), float(rank)), torch.empty(ranks, 4)
        works = [dist.all_reduce(data, async_op=True),
                 dist.all_gather_into_tensor(rows, torch.full((4,), float(rank)), async_op=True)]
        while not all(work.is_completed() for work in works):
            time.sleep(0.01)
        for work in works:
            work.wait()
        assert data.tolist() == [6.0] * 4 and rows[:, 0].tolist() == [0, 1, 2, 3]
        dist.all_reduce(data)
        got = torch.empty(5000)
        if rank % 2:
            dist.send(torch.full((5000,), float(rank)), rank - 1)
        else:
            dist.recv(got, rank + 1)
            assert (got == rank + 1).all()
        assert data.tolist() == [24.0] * 4
    leaf = torch.full((2,), 1.0, requires_grad=True)
    (leaf * 2).sum().backward()
    dist.all_reduce(leaf.grad)
    assert leaf.grad.tolist() == [8.0] * 2
    (leaf * leaf.grad).sum().backward()  # what was reduced can be used for autograd


def test_tensors_of_inference_mode_and_of_autograd(joined):
    joined.run(in_inference_mode)


def late(rank, _ranks, directory):
    """Rank 1 comes when the others have found that the first wait was too short."""
    data = torch.ones(3)
    if rank == 1:
        while not all((directory / f"late-{peer}").exists() for peer in (0, 2, 3)):
            time.sleep(0.01)
        dist.all_reduce(data)
    else:
        work = dist.all_reduce(data, async_op=True)
        with pytest.raises(RuntimeError, match="the wait timed out after 0.3 seconds"):
            work.wait(datetime.timedelta(seconds=0.3))
        (directory / f"late-{rank}").touch()
        work.wait()
    assert data.tolist() == [4.0] * 3


def test_a_wait_may_be_shorter_than_the_collective(joined):
    joined.run(late)


# --- groups

def several_groups(rank, _ranks, _directory):
    low, high = dist.new_group([0, 1]), dist.new_group([2, 3])
    odd, one = dist.new_group([1, 3]), dist.new_group([2])
    other = dist.new_group()
    mine = low if rank < 2 else high
    works, tensors = [], []
    for step in range(10):
        for group in (mine, other, dist.group.WORLD):
            tensors.append(torch.full((100,), float(rank + step)))
            works.append(dist.all_reduce(tensors[-1], group=group, async_op=True))
    for work in works:
        work.wait()
    pair = 1 if rank < 2 else 5
    for step in range(10):
        assert (tensors[3 * step] == pair + 2 * step).all()
        assert (tensors[3 * step + 1] == 6 + 4 * step).all()
        assert (tensors[3 * step + 2] == 6 + 4 * step).all()
    if rank in (1, 3):
        data = torch.full((5,), rank)
        dist.all_reduce(data, group=odd)
        assert data.tolist() == [4] * 5
        dist.broadcast(data.fill_(rank), 3, group=odd)
        assert data.tolist() == [3] * 5
    if rank == 2:
        data = torch.full((5,), 2.5)
        dist.all_reduce(data, group=one)
        dist.broadcast(data, 2, group=one)
        dist.barrier(group=one)
        parts = [torch.empty(5)]
        dist.all_gather(parts, data, group=one)
        assert parts[0].tolist() == data.tolist() == [2.5] * 5
    dist.destroy_process_group(other)
    dist.barrier()


def test_several_groups_at_once(joined):
    joined.run(several_groups)


def again(rank, ranks, directory):
    for number in range(3):
        dist.destroy_process_group()
        join(rank, ranks, directory, name=f"again{number}")
        data = torch.full((3,), rank)
        dist.all_reduce(data)
        assert data.tolist() == [6] * 3


def test_destroy_and_init_again(joined):
    joined.run(again)


# --- failures

def never_comes(rank, ranks, directory):
    join(rank, ranks, directory, seconds=SHORT)
    data = torch.ones(100)
    dist.all_reduce(data)
    if rank == 2:
        (directory / "sleeps").touch()
        time.sleep(3 * SHORT)
        return None
    with pytest.raises(RuntimeError) as caught:
        dist.all_reduce(data)
    with pytest.raises(RuntimeError, match="an earlier collective of the group failed"):
        dist.all_reduce(data)
    return type(caught.value).__name__, str(caught.value), caught.value.peer


def test_a_rank_that_does_not_come_is_named(ranks, has_device):
    results = ranks.run(never_comes)
    for rank in (0, 1, 3):
        kind, text, peer = results[rank]
        assert kind == "CollectiveError"
        assert f"all_reduce in group 0, rank {rank} of 4" in text
        if has_device:
            assert "rank 2" in text and peer == 2, text


def dies(rank, ranks, directory):
    join(rank, ranks, directory)
    dist.all_reduce(torch.ones(100))
    if rank == 2:
        os._exit(0)
    with pytest.raises(RuntimeError) as caught:
        dist.all_reduce(torch.ones(100))
    return str(caught.value), caught.value.peer


def test_a_rank_that_dies_is_named(ranks, has_device):
    ranks.start(dies)
    for rank, (is_right, answer) in zip((0, 1, 3), ranks.outcomes(only=(0, 1, 3))):
        assert is_right, answer
        assert f"all_reduce in group 0, rank {rank} of 4" in answer[0]
        if has_device:
            assert answer[1] == 2, answer


def aborted(rank, ranks, directory):
    join(rank, ranks, directory)
    dist.all_reduce(torch.ones(4))
    texts = []
    if rank:
        work = dist.all_reduce(torch.ones(4), async_op=True)
        later = dist.all_reduce(torch.ones(4), async_op=True)
        time.sleep(0.2)
        assert not work.is_completed()
        t3.torch.abort()
        for one in (work, later):
            with pytest.raises(RuntimeError) as caught:
                one.wait()
            texts.append(str(caught.value))
        with pytest.raises(RuntimeError, match="aborted or destroyed"):
            dist.all_reduce(torch.ones(4))
    else:
        time.sleep(1)
    dist.destroy_process_group()
    join(rank, ranks, directory, name="again")
    data = torch.ones(4)
    dist.all_reduce(data)
    assert data.tolist() == [4.0] * 4
    return texts


def test_an_abort_ends_all_that_waits_and_a_new_group_works(ranks):
    for texts in ranks.run(aborted)[1:]:
        assert len(texts) == 2 and all("aborted" in text for text in texts)


def monitored(rank, ranks, directory):
    join(rank, ranks, directory)
    t3.torch.monitored_barrier()
    if rank in (1, 3):
        return None
    with pytest.raises(RuntimeError) as caught:
        t3.torch.monitored_barrier(timeout=datetime.timedelta(seconds=SHORT), wait_all_ranks=True)
    return str(caught.value)


def test_a_monitored_barrier_names_the_ranks_that_are_missing(ranks):
    text = ranks.run(monitored)[0]
    assert "monitored_barrier in group 0, rank 0 of 4" in text
    assert "1, 3" in text, text


def too_many(rank, ranks, directory):
    os.environ["T3_TORCH_DEVICE"] = "auto"
    os.environ["RANK"] = os.environ["LOCAL_RANK"] = str(rank)
    with pytest.raises(RuntimeError) as caught:
        join(rank, ranks, directory)
    return str(caught.value)


def test_ranks_without_a_device_get_a_sentence(tmp_path, has_device):
    from ranks import Ranks

    made = Ranks(tmp_path, 6 if has_device else 2)
    texts = made.run(too_many)
    made.end()
    for rank, text in enumerate(texts):
        who = 4 if has_device and rank != 5 else rank
        assert f"t3: rank {who} has no device" in text
        assert ("This machine has 4" if has_device else "This machine has none") in text


# --- training

def model():
    torch.manual_seed(1)
    return torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.Tanh(), torch.nn.Linear(32, 4))


def batch(step, rank):
    made = torch.Generator().manual_seed(1000 * step + rank)
    inputs = torch.randn(8, 16, generator=made)
    return inputs, torch.sin(inputs[:, :4] + inputs[:, 4:8])


def ddp(rank, ranks, directory, backend, name, steps):
    """The losses of this rank, and the parameters at the end."""
    join(rank, ranks, directory, backend=backend, name=name)
    KEPT.append(dist.distributed_c10d._get_default_group())
    net = torch.nn.parallel.DistributedDataParallel(model())
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    losses = []
    for step in range(steps):
        optimizer.zero_grad()
        inputs, right = batch(step, rank)
        loss = torch.nn.functional.mse_loss(net(inputs), right)
        loss.backward()
        optimizer.step()
        dist.all_reduce(loss.data)
        losses.append(loss.item() / ranks)
    parameters = torch.cat([one.detach().flatten() for one in net.parameters()]).tolist()
    counts = t3.torch.counts()
    dist.destroy_process_group()
    return losses, parameters, counts


def alone(steps):
    """The same steps in one process, on the batches of all ranks together."""
    net = model()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    losses = []
    for step in range(steps):
        optimizer.zero_grad()
        parts = [batch(step, rank) for rank in range(RANKS)]
        inputs, right = (torch.cat(side) for side in zip(*parts))
        loss = torch.nn.functional.mse_loss(net(inputs), right)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses, torch.cat([one.detach().flatten() for one in net.parameters()]).tolist()


def test_ddp_learns_as_one_process_does_and_as_with_gloo(ranks, has_device):
    steps = STEPS_IN_VM if has_device else STEPS
    ours, gloos = ranks.run(ddp, "t3", "ours", steps), ranks.run(ddp, "gloo", "gloos", steps)
    losses, parameters = apart(alone, steps)
    assert losses[-1] < 0.9 * losses[0]
    for results in (ours, gloos):
        for result in results:
            assert result[0] == pytest.approx(losses, rel=1e-5)
            assert result[1] == pytest.approx(parameters, rel=1e-4, abs=1e-6)
            assert result[1] == results[0][1]
    ways = ours[0][2]["all_reduce"]
    assert list(ways) == (["device"] if has_device else ["gloo"])
    assert sum(ways.values()) >= 2 * steps  # gradients, and losses


def ddp_of_one_that_dies(rank, ranks, directory):
    join(rank, ranks, directory, seconds=5)
    net = torch.nn.parallel.DistributedDataParallel(model())
    for step in range(3):
        if rank == 2 and step == 2:
            os._exit(0)
        inputs, right = batch(step, rank)
        loss = torch.nn.functional.mse_loss(net(inputs), right)
        if step < 2:
            loss.backward()
            continue
        with pytest.raises(RuntimeError) as caught:
            loss.backward()
        return str(caught.value)


def test_an_error_comes_out_of_backward(ranks, has_device):
    ranks.start(ddp_of_one_that_dies)
    for rank, (is_right, answer) in zip((0, 1, 3), ranks.outcomes(only=(0, 1, 3))):
        assert is_right, answer
        assert f"all_reduce in group 0, rank {rank} of 4" in answer
        assert "rank 2 has ended" in answer or not has_device, answer
