# SPDX-License-Identifier: MIT
"""What t3.torch.profile() writes of a step: products, collectives, and what was summed."""

import json
import os
import warnings

import pytest
import torch
import torch.distributed as dist
from ranks import RANKS, join

import t3.torch
from t3.torch import recording

BATCH, INPUTS, INNER, OUTPUTS = 5, 8, 24, 12


@pytest.fixture(scope="module", autouse=True)
def joined(crew):
    crew.run(join)


def recorded(step, directory, name="step.json", writer=0):
    """The operations that the step makes, as the file of `writer` has them."""
    path = directory / name
    with t3.torch.profile(path, rank=writer):
        step()
    dist.barrier()
    return json.loads(path.read_text()) if os.path.exists(path) else None


def products(found):
    """(pass, M, N, K, batch, type, collective, summed, count) of each product."""
    return [(one["pass"], *(one["gemm"][key] for key in ("m", "n", "k", "batch", "dtype")),
             one.get("collective", {}).get("name"), one.get("summed"), one["count"])
            for one in found["operations"] if "gemm" in one]


def collectives(found):
    """(pass, name, bytes, ranks, type, count) of each collective without a product."""
    return [(one["pass"], *(one["collective"][key] for key in ("name", "bytes", "ranks", "dtype")),
             one["count"])
            for one in found["operations"] if "collective" in one and "gemm" not in one]


# --- products

def linear_layers(_rank, _ranks, directory):
    net = torch.nn.Sequential(torch.nn.Linear(INPUTS, INNER), torch.nn.ReLU(),
                              torch.nn.Linear(INNER, OUTPUTS))
    data = torch.ones(2, BATCH, INPUTS)

    def step():
        for _ in range(3):
            net(data).sum().backward()

    return recorded(step, directory)


def test_products_have_their_shapes_forward_and_backward(crew):
    found = crew.run(linear_layers)[0]
    rows = 2 * BATCH
    plain = (1, "float32", None, None, 3)
    assert products(found) == [
        ("forward", rows, INNER, INPUTS, *plain), ("forward", rows, OUTPUTS, INNER, *plain),
        ("backward", rows, INNER, OUTPUTS, *plain), ("backward", OUTPUTS, INNER, rows, *plain),
        ("backward", INNER, INPUTS, rows, *plain)]
    assert (found["format"], found["version"], found["rank"], found["ranks"]) == (
        "t3-workload", 1, 0, RANKS)


def attention(_rank, _ranks, directory):
    query = torch.ones(2, 3, 5, 4, dtype=torch.bfloat16, requires_grad=True)
    return recorded(lambda: (query @ query.transpose(2, 3)).sum().backward(), directory)


def test_products_of_attention_have_a_batch(crew):
    assert products(crew.run(attention)[0]) == [
        ("forward", 5, 5, 4, 6, "bfloat16", None, None, 1),
        ("backward", 4, 5, 5, 6, "bfloat16", None, None, 1),
        ("backward", 5, 4, 5, 6, "bfloat16", None, None, 1)]


def inference(_rank, _ranks, directory):
    layer = torch.nn.Linear(INPUTS, INNER)

    def step():
        with torch.inference_mode():
            layer(torch.ones(BATCH, INPUTS))
            torch.einsum("bij,bjk->bik", torch.ones(2, 3, 4), torch.ones(2, 4, 5))
            torch.ones(3, 4) @ torch.ones(4)
            torch.ones(0, 4) @ torch.ones(4, 2)

    return recorded(step, directory)


def test_products_are_found_in_inference_mode_too(crew):
    one = ("float32", None, None, 1)
    assert products(crew.run(inference)[0]) == [
        ("forward", BATCH, INNER, INPUTS, 1, *one), ("forward", 3, 5, 4, 2, *one),
        ("forward", 3, 1, 4, 1, *one)]


def other_operations(_rank, _ranks, directory):
    data, weight = torch.ones(4, 8), torch.ones(4, 8, requires_grad=True)
    optimizer = torch.optim.SGD([weight], lr=0.1)

    def step():
        torch.relu(data.t()[:2].t())
        torch.nn.functional.embedding(torch.tensor([1, 2]), data)
        torch.conv1d(torch.ones(1, 2, 9), torch.ones(3, 2, 3))
        weight.sum().backward()
        optimizer.step()

    return recorded(step, directory)["operations"]


def test_other_operations_have_their_bytes_or_are_left_out_by_name(crew):
    found = crew.run(other_operations)[0]
    memory = {(one["pass"], one["memory"]["name"]): one["memory"]["bytes"] for one in found
              if "memory" in one}
    assert memory["forward", "aten.relu"] == 2 * 8 * 4  # of half of the columns
    assert memory["forward", "aten.embedding"] == 2 * 8 + 2 * (2 * 8 * 4)
    assert ("forward", "aten.t") not in memory and ("forward", "aten.slice") not in memory
    assert any(where == "optimizer" for where, _ in memory), memory
    assert [one["left_out"]["name"] for one in found if "left_out" in one] == ["aten.convolution"]


# --- collectives

def each_collective(_rank, ranks, directory):
    part, whole = torch.ones(10), torch.ones(10 * ranks)
    rows = [torch.ones(10) for _ in range(ranks)]
    halves = part.to(torch.float16)

    def step():
        dist.all_reduce(part)
        dist.all_reduce(halves, async_op=True).wait()
        dist.reduce(part, 1)
        dist.broadcast(part, 2)
        dist.all_gather(rows, part)
        dist.all_gather_into_tensor(whole, part)
        dist.reduce_scatter(part, rows)
        dist.reduce_scatter_tensor(part, whole)
        dist.all_to_all_single(whole.clone(), whole)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            dist.all_reduce_coalesced([part, whole])
        dist.barrier()

    return recorded(step, directory)


def test_each_collective_has_its_bytes_ranks_and_type(crew):
    part, whole = 40, 40 * RANKS
    wanted = [("all_reduce", part, "float32"), ("all_reduce", part // 2, "float16"),
              ("reduce", part, "float32"), ("broadcast", part, "float32"),
              ("all_gather", whole, "float32"), ("all_gather_into_tensor", whole, "float32"),
              ("reduce_scatter", whole, "float32"), ("reduce_scatter_tensor", whole, "float32"),
              ("all_to_all_single", whole, "float32"),
              ("all_reduce_coalesced", part + whole, "float32"), ("barrier", 0, "uint8")]
    assert collectives(crew.run(each_collective)[0]) == [
        ("forward", name, size, RANKS, dtype, 1) for name, size, dtype in wanted]


def data_parallel(_rank, _ranks, directory):
    net = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(INPUTS, OUTPUTS))
    data = torch.ones(BATCH, INPUTS)
    net(data).sum().backward()  # DDP builds its buckets anew after the first step
    net(data).sum().backward()
    return recorded(lambda: net(data).sum().backward(), directory)


def test_gradients_of_ddp_are_summed_in_backward_once(crew):
    size = (INPUTS * OUTPUTS + OUTPUTS) * 4
    assert collectives(crew.run(data_parallel)[0]) == [
        ("backward", "all_reduce", size, RANKS, "float32", 1)]


# --- products that are summed

def layers(_rank, ranks, directory, is_scattered, dtype, sum_dtype, group=None):
    options = {"sequence_parallel": is_scattered, "dtype": dtype, "sum_dtype": sum_dtype,
               "group": group}
    first = t3.torch.ColumnParallelLinear(INPUTS, INNER, **options)
    last = t3.torch.RowParallelLinear(INNER, OUTPUTS, **options)
    rows = 2 * ranks
    data = torch.ones(rows // ranks if is_scattered else rows, INPUTS, dtype=dtype,
                      requires_grad=True)
    return recorded(lambda: last(first(data)).sum().backward(), directory)


def test_a_layers_product_is_summed_while_it_is_made(crew):
    rows, inner = 2 * RANKS, INNER // RANKS
    plain, summed = (1, "float32", None, None, 1), (1, "float32", "matmul_all_reduce",
                                                    "while made", 1)
    assert products(crew.run(layers, False, torch.float32, None)[0]) == [
        ("forward", rows, inner, INPUTS, *plain), ("forward", rows, OUTPUTS, inner, *summed),
        ("backward", rows, inner, OUTPUTS, *plain), ("backward", OUTPUTS, inner, rows, *plain),
        ("backward", rows, INPUTS, inner, *summed), ("backward", inner, INPUTS, rows, *plain)]


def test_scattered_tokens_end_in_a_reduce_scatter(crew):
    rows, inner = 2 * RANKS, INNER // RANKS
    found = crew.run(layers, True, torch.bfloat16, torch.float32)[0]
    summed = [one for one in found["operations"] if "summed" in one]
    assert [(one["pass"], one["gemm"], one["collective"]) for one in summed] == [
        (where, {"m": rows, "n": columns, "k": inner, "batch": 1, "dtype": "float32"},
         {"name": "matmul_reduce_scatter", "bytes": rows * columns * 4, "ranks": RANKS,
          "dtype": "float32"})
        for where, columns in (("forward", OUTPUTS), ("backward", INPUTS))]
    assert collectives(found) == [
        ("forward", "all_gather", rows * INPUTS * 2, RANKS, "bfloat16", 1),
        ("backward", "all_gather", rows * OUTPUTS * 2, RANKS, "bfloat16", 1)]


def halves(_rank, _ranks, directory):
    left, right = torch.ones(3, 4, dtype=torch.float16), torch.ones(4, 5, dtype=torch.float16)
    return recorded(lambda: t3.torch.product.times(left, right), directory)


def test_float16_is_recorded_as_itself_where_the_processor_takes_float32(crew):
    assert crew.run(halves)[0]["operations"] == [
        {"gemm": {"m": 3, "n": 5, "k": 4, "batch": 1, "dtype": "float16"}, "pass": "forward",
         "count": 1}]


def own_layers(_rank, _ranks, directory):
    """Layers of somebody else: a product, and then its sum."""
    left, right = torch.ones(2, BATCH, INPUTS), torch.ones(INPUTS, OUTPUTS)

    def step():
        dist.all_reduce(left @ right)
        changed = left @ right
        changed[0, 0] += 1
        dist.all_reduce(changed)
        part = left @ right
        dist.all_reduce(part[:1])
        first = left @ right
        del first
        dist.all_reduce(torch.zeros(2, BATCH, OUTPUTS))

    return recorded(step, directory)


def test_a_product_that_a_call_sums_is_told_if_nobody_has_changed_it(crew):
    found = crew.run(own_layers)[0]
    rows, size = 2 * BATCH, 2 * BATCH * OUTPUTS * 4
    assert products(found) == [
        ("forward", rows, OUTPUTS, INPUTS, 1, "float32", None, None, 3),
        ("forward", rows, OUTPUTS, INPUTS, 1, "float32", "all_reduce", "afterwards", 1)]
    assert collectives(found) == [("forward", "all_reduce", size, RANKS, "float32", 2),
                                  ("forward", "all_reduce", size // 2, RANKS, "float32", 1)]


def reused_memory(_rank, _ranks, directory):
    """Another thread may take the memory that a product has left: then a product is made again."""
    left, right = torch.ones(64, INPUTS), torch.ones(INPUTS, OUTPUTS)
    reused = []

    def step():
        for _ in range(1000):
            made = left @ right
            address = made.data_ptr()
            del made
            again = torch.empty(64, OUTPUTS)
            if again.data_ptr() == address:
                reused.append(address)
                break
        dist.all_reduce(again)

    return recorded(step, directory), bool(reused)


def test_memory_of_a_product_that_is_gone_is_no_product(crew):
    found, is_reused = crew.run(reused_memory)[0]
    assert is_reused, "the allocator has other habits"
    assert [one["summed"] for one in found["operations"] if "summed" in one] == []


def reused_by_a_layer(_rank, ranks, directory):
    """A layer's sum may take the memory that a product has left."""
    left, right = torch.ones(64, INPUTS), torch.ones(INPUTS, OUTPUTS)
    last = t3.torch.RowParallelLinear(INNER, OUTPUTS, bias=False)
    data = torch.ones(64, INNER // ranks)
    reused = []

    def step():
        for _ in range(20):
            made = left @ right
            address = made.data_ptr()
            del made
            with torch.no_grad():
                again = last(data)
            reused.append(again.data_ptr() == address)
            dist.all_reduce(again)

    return recorded(step, directory), any(reused)


def test_a_layers_sum_in_the_memory_of_a_product_is_no_product(crew):
    found, is_reused = crew.run(reused_by_a_layer)[0]
    assert is_reused, "the allocator has other habits"
    assert "afterwards" not in [one.get("summed") for one in found["operations"]]


# --- without values

def on_meta(_rank, ranks, directory, is_scattered):
    """Layers of 8192 features, and somebody else's."""
    options = {"sequence_parallel": is_scattered, "dtype": torch.bfloat16, "device": "meta"}
    first = t3.torch.ColumnParallelLinear(8192, 4 * 8192, **options)
    last = t3.torch.RowParallelLinear(4 * 8192, 8192, **options)
    data = torch.empty(4096 // ranks if is_scattered else 4096, 8192, dtype=torch.bfloat16,
                       device="meta", requires_grad=True)

    def step():
        made = last(first(data))
        assert made.shape == data.shape
        made.sum().backward()
        dist.all_reduce(data.detach().view(2, -1, 8192) @ last.weight)

    return recorded(step, directory)


@pytest.mark.parametrize("is_scattered", (False, True))
def test_a_large_model_on_meta_is_recorded_without_being_computed(crew, is_scattered):
    found = crew.run(on_meta, is_scattered)[0]
    name = "matmul_reduce_scatter" if is_scattered else "matmul_all_reduce"
    summed = (1, "bfloat16", name, "while made", 1)
    inner, rows = 4 * 8192 // RANKS, 4096 // RANKS if is_scattered else 4096
    assert [one for one in products(found) if one[6]] == [
        ("forward", 4096, 8192, inner, *summed), ("backward", 4096, 8192, inner, *summed),
        ("forward", rows, inner, 8192, 1, "bfloat16", "all_reduce", "afterwards", 1)]


# --- other backends

def with_gloo(_rank, ranks, directory):
    group = dist.new_group(backend="gloo")
    part, rows = torch.ones(10), [torch.ones(10) for _ in range(ranks)]
    ours = layers(_rank, ranks, directory, False, torch.float32, None)
    same = layers(_rank, ranks, directory, False, torch.float32, None, group)

    def step():
        dist.all_reduce(part, group=group)
        dist.all_gather(rows, part, group=group)
        dist.all_reduce(torch.ones(BATCH, INPUTS) @ torch.ones(INPUTS, OUTPUTS), group=group)

    return ours, same, recorded(step, directory)


def test_gloo_gives_the_same_workload(crew):
    ours, same, found = crew.run(with_gloo)[0]
    assert same["operations"] == ours["operations"]
    assert collectives(found) == [("forward", "all_reduce", 40, RANKS, "float32", 1),
                                  ("forward", "all_gather", 40 * RANKS, RANKS, "float32", 1)]
    assert products(found) == [("forward", BATCH, OUTPUTS, INPUTS, 1, "float32", "all_reduce",
                                "afterwards", 1)]


def one_rank(rank, ranks, directory):
    group = [dist.new_group([one]) for one in range(ranks)][rank]
    layer = t3.torch.RowParallelLinear(INPUTS, OUTPUTS, group=group)

    def step():
        dist.all_reduce(torch.ones(4), group=group)
        layer(torch.ones(BATCH, INPUTS))

    return recorded(step, directory)


def test_a_group_of_one_rank_sends_nothing(crew):
    found = crew.run(one_rank)[0]
    assert collectives(found) == []
    assert products(found) == [("forward", BATCH, OUTPUTS, INPUTS, 1, "float32", None, None, 1)]


# --- the file

def of_rank(_rank, _ranks, directory):
    return recorded(lambda: torch.ones(2, 2) @ torch.ones(2, 2), directory, "two.json", 2)["rank"]


def test_the_rank_that_is_asked_for_writes(crew):
    assert crew.run(of_rank) == [2] * RANKS


def failing(rank, _ranks, directory):
    directory = directory / f"failing-{rank}"
    directory.mkdir()
    path = directory / "failed.json"
    with pytest.raises(KeyError, match="of the step"), t3.torch.profile(path, rank=rank):
        raise KeyError("of the step")
    with t3.torch.profile(path, rank=rank):
        with pytest.raises(RuntimeError, match="another one is active"):
            with t3.torch.profile(path, rank=rank):
                pass
    os.unlink(path)
    with pytest.raises(FileNotFoundError), t3.torch.profile(directory / "no" / "x", rank=rank):
        pass
    return os.listdir(directory)


def test_a_step_that_fails_leaves_no_file(crew):
    assert crew.run(failing) == [[]] * RANKS


def too_many(rank, _ranks, directory):
    recording.MAX_OPERATIONS = 3
    with pytest.raises(RuntimeError, match="more than 3 distinct operations"):
        with t3.torch.profile(directory / f"many-{rank}.json", rank=rank):
            for size in range(1, 5):
                torch.ones(size, 1) @ torch.ones(1, 1)
    recording.MAX_OPERATIONS = 65536


def test_a_step_has_as_many_operations_as_sim_reads_at_most(crew):
    crew.run(too_many)
