# SPDX-License-Identifier: MIT
"""Layers that are cut over four ranks, against one process and against sums in rank order."""

import pytest
import torch
import torch.distributed as dist
from ranks import RANKS, join

import t3.torch
from t3.torch import device, product

INPUTS, INNER, OUTPUTS = 12, 24, 20


@pytest.fixture(scope="module", autouse=True)
def joined(crew):
    crew.run(join)


class Pair(torch.nn.Module):
    """The two layers of a multi-layer perceptron, in parts; and as one process has them."""

    def __init__(self, **options):
        super().__init__()
        torch.manual_seed(5)
        self.first = t3.torch.ColumnParallelLinear(INPUTS, INNER, **options)
        self.last = t3.torch.RowParallelLinear(INNER, OUTPUTS, **options)

    def forward(self, data):
        return self.last(torch.tanh(self.first(data)))


def whole_pair(dtype):
    torch.manual_seed(5)
    return torch.nn.Sequential(torch.nn.Linear(INPUTS, INNER, dtype=dtype), torch.nn.Tanh(),
                               torch.nn.Linear(INNER, OUTPUTS, dtype=dtype))


def tokens(count, dtype, seed=0):
    made = torch.randn(count, 2, INPUTS, generator=torch.Generator().manual_seed(seed))
    return made.to(dtype)


def as_one_process(rank, ranks, _directory, dtype, is_scattered, count, bound):
    """Output, gradient of the input, and of all parameters."""
    ours, one = Pair(dtype=dtype, sequence_parallel=is_scattered), whole_pair(dtype)
    data = tokens(count, dtype)
    wanted = data.clone().requires_grad_()
    right = one(wanted)
    weights = torch.randn(right.shape, generator=torch.Generator().manual_seed(9)).to(dtype)
    (right * weights).sum().backward()

    def mine(whole):
        return whole.chunk(ranks)[rank] if is_scattered else whole

    given = mine(data).clone().requires_grad_()
    got = ours(given)
    (got * mine(weights)).sum().backward()
    first, last = one[0], one[2]
    for what, left, is_right in (
            ("output", got, mine(right)), ("input", given.grad, mine(wanted.grad)),
            ("first weight", ours.first.weight.grad, first.weight.grad.chunk(ranks)[rank]),
            ("first bias", ours.first.bias.grad, first.bias.grad.chunk(ranks)[rank]),
            ("last weight", ours.last.weight.grad, last.weight.grad.chunk(ranks, 1)[rank]),
            ("last bias", ours.last.bias.grad, last.bias.grad)):
        assert left.dtype == dtype and left.shape == is_right.shape, what
        distance = (left.double() - is_right.double()).abs().max()
        assert distance <= bound * is_right.double().abs().max(), (what, distance)


@pytest.mark.parametrize("is_scattered", (False, True))
@pytest.mark.parametrize("dtype, bound", [(torch.float32, 1e-5), (torch.float64, 1e-13),
                                          (torch.bfloat16, 0.04), (torch.float16, 0.005)])
def test_a_pair_of_layers_is_that_of_one_process(crew, dtype, bound, is_scattered):
    if dtype == torch.float16 and not multiplies_halves():
        pytest.skip("this torch multiplies no float16 on a processor")
    crew.run(as_one_process, dtype, is_scattered, 8, bound)


def multiplies_halves():
    try:
        torch.nn.functional.linear(torch.ones(1, 1).half(), torch.ones(1, 1).half())
    except RuntimeError:
        return False
    return True


def test_tokens_need_not_divide_where_they_are_not_scattered(crew):
    for count in (1, 3, 7):
        crew.run(as_one_process, torch.float32, False, count, 1e-5)


def checked(rank, _ranks, _directory, is_scattered, count):
    pair = Pair(dtype=torch.float64, sequence_parallel=is_scattered)
    data = tokens(count, torch.float64, seed=rank if is_scattered else 0).requires_grad_()
    # A switch may add in another order each time.
    assert torch.autograd.gradcheck(pair, (data,), nondet_tol=1e-12)


@pytest.mark.parametrize("is_scattered", (False, True))
def test_gradients_of_the_input_are_those_of_finite_differences(crew, is_scattered, has_device):
    crew.run(checked, is_scattered, 1 if has_device else 2)


def in_rank_order(rank, ranks, _directory, is_scattered, sum_dtype):
    """Bits of a sum in the order of ranks, in the type of the sum, rounded to bfloat16 once."""
    torch.use_deterministic_algorithms(True)
    try:
        layer = t3.torch.RowParallelLinear(512, 300, bias=False, dtype=torch.bfloat16,
                                           sequence_parallel=is_scattered, sum_dtype=sum_dtype)
        part = 512 // ranks
        data = torch.randn(64, 512, generator=torch.Generator().manual_seed(2)).bfloat16()
        weights = [torch.empty_like(layer.weight) for _ in range(ranks)]
        dist.all_gather(weights, layer.weight.detach())
        kind = sum_dtype or torch.bfloat16
        total = None
        for peer in range(ranks):
            made = product.Product(data[:, peer * part:(peer + 1) * part], weights[peer].t(),
                                   ranks, kind).whole().view(64, 300)
            total = made if total is None else (total.float() + made.float()).to(kind)
        right = total.bfloat16()
        got = layer(data[:, rank * part:(rank + 1) * part])
        mine = right.chunk(ranks)[rank] if is_scattered else right
        assert torch.equal(got.view(torch.int16), mine.view(torch.int16))
        exact = data.double() @ torch.cat(weights, 1).double().t()
        return ((right.double() - exact).abs().mean() / exact.abs().mean()).item()
    finally:
        torch.use_deterministic_algorithms(False)


@pytest.mark.parametrize("is_scattered", (False, True))
def test_deterministic_layers_sum_in_the_order_of_ranks(crew, is_scattered):
    narrow = crew.run(in_rank_order, is_scattered, None)[0]
    wide = crew.run(in_rank_order, is_scattered, torch.float32)[0]
    assert wide < 0.8 * narrow  # a sum in float32 is nearer to the exact one


def without_gradients(_rank, _ranks, _directory):
    """As in an evaluation: the same values, and nothing is kept for a backward pass."""
    pair, data = Pair(), tokens(4, torch.float32)
    torch.use_deterministic_algorithms(True)
    right = pair(data)
    for mode in (torch.no_grad, torch.inference_mode):
        with mode():
            got = pair(data)
        assert torch.equal(got, right) and not got.requires_grad
    torch.use_deterministic_algorithms(False)
    frozen = data.clone()  # its gradient is not wanted, so no sum is made for it
    t3.torch.reset_counts()
    pair(frozen).sum().backward()
    assert sum(t3.torch.counts()["matmul_all_reduce"].values()) == 1


def test_layers_without_gradients(crew):
    crew.run(without_gradients)


def long_ones(rank, ranks, _directory, is_scattered):
    """Several plans of several blocks, and a rest."""
    longest, device.PIECE = device.PIECE, 1 << 16
    try:
        torch.manual_seed(3)
        layer = t3.torch.RowParallelLinear(4 * ranks, 200, bias=False,
                                           sequence_parallel=is_scattered)
        data = torch.randn(132 if is_scattered else 131, 4,
                           generator=torch.Generator().manual_seed(rank))
        got = layer(data)
    finally:
        device.PIECE = longest
    right = torch.mm(data, layer.weight.detach().t())
    dist.all_reduce(right)
    assert torch.allclose(got, right.chunk(ranks)[rank] if is_scattered else right, rtol=1e-4,
                          atol=1e-4)


@pytest.mark.parametrize("is_scattered", (False, True))
def test_products_longer_than_a_plan(crew, is_scattered):
    crew.run(long_ones, is_scattered)


def counted(_rank, _ranks, _directory):
    pairs = [Pair(), Pair(sequence_parallel=True)]
    t3.torch.reset_counts()
    for pair in pairs:
        pair(torch.ones(4, 2, INPUTS, requires_grad=True)).sum().backward()
    return t3.torch.counts()


def test_counts_of_products(crew, has_device):
    way = "device" if has_device else "gloo"
    for found in crew.run(counted):
        assert found == {"matmul_all_reduce": {way: 2}, "matmul_reduce_scatter": {way: 2},
                         "all_gather": {way: 2}}


def refused(_rank, ranks, _directory):
    texts = []
    for make in (lambda: t3.torch.RowParallelLinear(ranks + 1, 4),
                 lambda: t3.torch.ColumnParallelLinear(4, ranks + 1),
                 lambda: Pair()(torch.ones(2, INPUTS + 1)),
                 lambda: Pair()(torch.ones(2, INPUTS, dtype=torch.float64)),
                 lambda: t3.torch.RowParallelLinear(4 * ranks, 4, sequence_parallel=True)(
                     torch.ones(3, 2, 4))):
        with pytest.raises(ValueError) as caught:
            make()
        texts.append(str(caught.value))
    dist.barrier()
    return texts


def test_wrong_sizes_are_refused_and_the_group_goes_on(crew):
    texts = crew.run(refused)[0]
    assert "in_features is cut over 4 ranks, and 5 does not divide" in texts[0]
    assert "out_features is cut over 4 ranks, and 5 does not divide" in texts[1]
    assert "takes 12 features of torch.float32, and the input has 13" in texts[2]
    assert "has 12 of torch.float64" in texts[3]
    assert "tokens are scattered over 4 ranks" in texts[4]


def of_gloo(rank, ranks, _directory):
    """The same layers on a group of another backend."""
    group = dist.new_group(backend="gloo")
    for is_scattered in (False, True):
        ours, gloos = Pair(sequence_parallel=is_scattered), Pair(sequence_parallel=is_scattered,
                                                                 group=group)
        data = tokens(4, torch.float32, seed=rank if is_scattered else 0)
        results = []
        for pair in (ours, gloos):
            given = data.clone().requires_grad_()
            got = pair(given)
            got.square().sum().backward()
            results.append((got.detach(), given.grad, pair.first.weight.grad))
        for one, other in zip(*results):
            assert torch.allclose(one, other, rtol=1e-4, atol=1e-5)


def test_layers_work_with_gloo_too(crew):
    crew.run(of_gloo)


def test_blocks_are_whole_and_small():
    made = product.Product(torch.ones(37, 3), torch.ones(3, 5), RANKS, torch.float32)
    assert (made.part, made.block, made.row_bytes) == (10, 3, 20)
    assert [(row, len(block)) for row, block in made.blocks(10, 10)] == [
        (10, 3), (13, 3), (16, 3), (19, 1)]
    assert made.whole().view(40, 5)[:37].eq(3).all() and made.whole().view(40, 5)[37:].eq(0).all()
    wide = product.Product(torch.ones(64, 3), torch.ones(3, 1 << 17), RANKS, torch.float32)
    assert wide.block == 1
