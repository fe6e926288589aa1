# SPDX-License-Identifier: MIT
"""Traces of Chakra and of torch's observers become workloads, or a sentence about what is wrong."""

import ast
import gzip
import json
import os
import pathlib
import random
import struct
import subprocess
import sys

import pytest

from t3 import traces
from t3.traces import TraceError
from t3.traces.chakra import values_of

T3 = pathlib.Path(os.environ.get("T3_BUILD", ".build")) / "t3"
SECONDS = 120


# --- Chakra's files, written here field by field

def varint(value):
    value &= (1 << 64) - 1
    found = b""
    while value > 127:
        found += bytes([value & 127 | 128])
        value >>= 7
    return found + bytes([value])


def field(number, value):
    """A number, or bytes behind their length."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    value = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(value)) + value


def attribute(name, value):
    kinds = {bool: 27, int: 9, str: 29}
    if isinstance(value, list):
        return field(10, field(1, name) + field(28, b"".join(field(1, one) for one in value)))
    return field(10, field(1, name) + field(kinds[type(value)], value))


def arguments(number, values, shapes, types):
    texts = (one if isinstance(one, str) else str(list(one)) for one in (values, shapes, types))
    return field(number, b"".join(field(place, one) for place, one in enumerate(texts, 1)))


def node(number, name, kind, *parts, parent=None, after=(), **attributes):
    given = b"".join(attribute(key, value) for key, value in attributes.items())
    links = field(4, parent) if parent is not None else b""
    return (field(1, number) + field(2, name) + field(3, kind) + links
            + b"".join(field(5, one) for one in after) + b"".join(parts) + given)


def delimited(*messages):
    return b"".join(varint(len(one)) + one for one in messages)


HEAD = field(1, "1.0.0")
COMP, SEND, RECV, COLL, LOAD, META, STORAGE = 4, 5, 6, 7, 2, 1, 8
ALL_REDUCE, ALL_GATHER, BROADCAST, ALL_TO_ALL, REDUCE_SCATTER, BARRIER = 0, 2, 5, 6, 7, 9
INIT = arguments(8, [json.dumps([{"pg_name": "7", "pg_desc": "tensor's", "ranks": [0, 1, 2, 3],
                                  "group_size": 4, "group_count": 2}])], [[]], ["String"])


def tensor(number, *shape, kind="float", element=4, storage=None):
    """(value, shape, type) as the observer writes them."""
    count = 1
    for one in shape:
        count *= one
    return [number, storage or number + 1000, 0, count, element, "cuda:0"], list(shape), f"Tensor({kind})"


def chakra(tmp_path, *nodes, head=HEAD, name="step.0.et", **options):
    path = tmp_path / name
    path.write_bytes(delimited(head, *nodes))
    return traces.convert([str(path)], **options)


def matmul(number, left, right, out, **links):
    return node(number, "aten::mm", COMP, arguments(8, *zip(left, right)), arguments(9, *zip(out)),
                is_cpu_op=True, op_schema="aten::mm(Tensor self, Tensor mat2) -> Tensor", **links)


def kinds(workload, kind):
    return [(one["count"], one[kind]) for one in workload["operations"] if kind in one]


# --- torch's files

def call(number, name, given=(), made=(), parent=1, schema="", **attrs):
    """A node of schema 1.1.1."""
    def part(tensors):
        fields = list(zip(*tensors)) or [(), (), ()]
        return {"values": list(fields[0]), "shapes": list(fields[1]), "types": list(fields[2]),
                "strides": [strides(one) for one in fields[1]]}
    return {"id": number, "name": name, "ctrl_deps": parent, "inputs": part(given),
            "outputs": part(made), "attrs": [
                {"name": key, "type": "", "value": value}
                for key, value in {"op_schema": schema, **attrs}.items()]}


def strides(shape):
    found, step = [], 1
    for one in reversed(shape):
        found.insert(0, step)
        step *= one if isinstance(one, int) else 1
    return found


def listed(*tensors):
    """A list of tensors as an argument."""
    values, shapes, types = zip(*tensors)
    return list(values), list(shapes), f"GenericList[{','.join(types)}]"


def observed(tmp_path, *calls, schema="1.1.1-chakra.0.0.4", name="step.json", **options):
    path = tmp_path / name
    path.write_text(json.dumps({"schema": schema, "nodes": list(calls)}))
    return traces.convert([str(path)], **options)


ROOT_CALL = call(1, "[pytorch|profiler|execution_trace|process]")


# --- what Chakra's traces become

def test_a_trace_of_chakra_has_its_collectives_with_their_groups_and_bytes(tmp_path):
    sizes = {"comm_size": 4096, "pg_name": "7"}
    found = chakra(tmp_path, node(1, "## process_group:init ##", META, INIT), *(
        node(10 + kind, "comms", COLL, comm_type=kind, **sizes)
        for kind in (ALL_REDUCE, ALL_GATHER, BROADCAST, ALL_TO_ALL, REDUCE_SCATTER, BARRIER)),
        node(30, "send", SEND, comm_size=64, comm_tag=1), node(31, "recv", RECV, tensor_size=64),
        dtype="float16")
    whole = {"ranks": 4, "dtype": "float16"}
    assert [one for _, one in kinds(found, "collective")] == [
        {"name": "all_reduce", "bytes": 4096, **whole},
        {"name": "all_gather_into_tensor", "bytes": 4 * 4096, **whole},
        {"name": "broadcast", "bytes": 4096, **whole},
        {"name": "all_to_all_single", "bytes": 4096, **whole},
        {"name": "reduce_scatter_tensor", "bytes": 4096, **whole},
        {"name": "barrier", "bytes": 0, "ranks": 4, "dtype": "uint8"},
        {"name": "send", "bytes": 64, "ranks": 2, "dtype": "uint8"},
        {"name": "recv", "bytes": 64, "ranks": 2, "dtype": "uint8"}]
    assert "5 collectives have no type in the trace, and were taken as float16 (--dtype)" in found["notes"]
    assert (found["by"], found["ranks"]) == ("t3.traces, from a trace of Chakra 1.0.0", 4)


def test_a_group_has_its_size_of_a_file_or_of_an_option_or_is_asked_for(tmp_path):
    one = node(5, "sum", COLL, comm_type=ALL_REDUCE, comm_size=64, comm_group="tp")
    groups = tmp_path / "groups.json"
    groups.write_text('{"tp": [0, 1, 2], "dp": [0, 3]}')
    assert kinds(chakra(tmp_path, one, groups=str(groups)), "collective")[0][1]["ranks"] == 3
    found = chakra(tmp_path, one, ranks=8)
    assert kinds(found, "collective")[0][1]["ranks"] == 8
    assert any("taken as all 8 ranks (--ranks)" in note for note in found["notes"])
    with pytest.raises(TraceError, match=r'step.0.et: node 5 "sum": .*pg_name.*--ranks or --groups'):
        chakra(tmp_path, one)
    with pytest.raises(TraceError, match="involved_dim"):
        chakra(tmp_path, node(5, "sum", COLL, comm_type=0, comm_size=64, involved_dim=[True, False]),
               ranks=8)


def test_products_of_chakra_have_the_shapes_of_their_arguments(tmp_path):
    left, right, out = tensor(1, 16, 64), tensor(2, 64, 32), tensor(3, 16, 32)
    found = chakra(
        tmp_path, node(4, "aten::matmul", COMP, arguments(8, *zip(left, right)), is_cpu_op=True,
                       op_schema="aten::matmul(Tensor self, Tensor other) -> Tensor"),
        matmul(5, left, right, out, parent=4),
        node(6, "sgemm_kernel", COMP, arguments(8, *zip(left, right)), parent=5, is_cpu_op=False))
    assert kinds(found, "gemm") == [(1, {"m": 16, "n": 32, "k": 64, "batch": 1, "dtype": "float32"})]
    assert not kinds(found, "left_out")


def test_a_product_that_chakras_sum_waits_for_is_summed_afterwards(tmp_path):
    left, right, out = tensor(1, 16, 64), tensor(2, 64, 32), tensor(3, 16, 32)
    product = matmul(5, left, right, out)
    for size, summed in ((16 * 32 * 4, 1), (16 * 32 * 2, 0)):
        found = chakra(tmp_path, product, node(6, "sum", COLL, comm_type=ALL_REDUCE, comm_size=size,
                                               after=[5]), ranks=4)
        assert len(kinds(found, "summed")) == summed
        assert [count for count, _ in kinds(found, "gemm")] == [1]
        assert any("wait for a product" in note for note in found["notes"]) == bool(summed)


def test_a_sum_that_waits_for_two_products_is_of_neither(tmp_path):
    left, right = tensor(1, 16, 64), tensor(2, 64, 32)
    found = chakra(tmp_path, matmul(5, left, right, tensor(3, 16, 32)),
                   matmul(6, left, right, tensor(4, 16, 32)),
                   node(7, "sum", COLL, comm_type=ALL_REDUCE, comm_size=2048, after=[5, 6]), ranks=4)
    assert not kinds(found, "summed") and [count for count, _ in kinds(found, "gemm")] == [2]
    twice = [node(one, "sum", COLL, comm_type=ALL_REDUCE, comm_size=2048, after=[5]) for one in (7, 8)]
    found = chakra(tmp_path, matmul(5, left, right, tensor(3, 16, 32)), *twice, ranks=4)
    assert [count for count, _ in kinds(found, "gemm")] == [1] and len(kinds(found, "collective")) == 2


def test_operations_without_shapes_are_left_out_and_counted(tmp_path):
    found = chakra(tmp_path, node(1, "load", LOAD, tensor_size=100),
                   node(2, "layer.1", COMP, num_ops=10**9, tensor_size=64, op_type="M"),
                   node(3, "layer.2", COMP, field(7, 25)), node(4, "copy", COMP, tensor_size=50),
                   node(5, "page", STORAGE, field(11, b"\x08\x01")))
    assert kinds(found, "left_out") == [(1, {"name": "COMP_NODE M"}), (1, {"name": "COMP_NODE"}),
                                        (1, {"name": "STORAGE_NODE"})]
    assert [one["bytes"] for _, one in kinds(found, "memory")] == [100, 50]
    assert any("2 compute nodes name no shapes" in note and "num_ops 1000000000 and duration_micros 25"
               in note for note in found["notes"])


def test_a_call_in_parts_and_its_kernels_count_once(tmp_path):
    """As Chakra's converter of 2023 wrote them, with a kernel as the parent of its call."""
    given = arguments(8, *zip(listed(tensor(1, 10))))
    kernel = arguments(8, *zip(tensor(1, 10)))
    schema = {"op_schema": "c10d::allreduce_(Tensor[] tensors) -> Tensor[]", "rf_id": 9}
    found = chakra(
        tmp_path, node(2, "c10d::allreduce_(0)", COLL, given, parent=4, is_cpu_op=True, **schema),
        node(3, "c10d::allreduce_(1)", COLL, given, is_cpu_op=True, **schema),
        node(4, "kernel", COMP, parent=2, is_cpu_op=False),
        node(6, "aten::add", COMP, kernel, parent=3, is_cpu_op=True),
        node(5, "ncclKernel_AllReduce", COLL, kernel, is_cpu_op=False, comm_type=0, comm_size=40),
        ranks=2)
    assert kinds(found, "collective") == [
        (1, {"name": "all_reduce", "bytes": 40, "ranks": 2, "dtype": "float32"})]
    assert not kinds(found, "memory")


def test_what_the_reader_does_not_know_is_named(tmp_path):
    found = chakra(tmp_path, node(1, "load", LOAD, field(77, 1), tensor_size=8, colour="red"))
    assert any("field 77" in note and "attribute colour" in note for note in found["notes"])
    odd = tensor(1, 4, 4, kind="c10::Odd")
    found = observed(tmp_path, ROOT_CALL, call(2, "aten::mm", [odd, odd]),
                     call(3, "aten::add", [tensor(1, 4)], [tensor(3, 4)]), call(4, "mine::attend", [odd]),
                     call(5, "triton_mm_3", [odd], kernel_backend="triton"), call(6, "MyAttention", [odd]),
                     call(7, "MulBackward0", [odd]), call(8, "aten::lstm", [odd]))
    assert [one["name"] for _, one in kinds(found, "left_out")] == [
        "product of <c10::Odd>", "mine.attend", "kernel triton_mm_3", "aten.lstm"]
    assert "types that the reader does not know: <c10::Odd>" in found["notes"]
    assert "functions without calls inside that the reader does not know: MyAttention" in found["notes"]
    odd = tensor(1, 4, 4, kind="odd\n\x1b[2J" * 99)
    found = observed(tmp_path, ROOT_CALL, call(2, "aten::mm", [odd, odd]), call(3, "aten::add", [tensor(1, 4)]))
    assert all(note.isprintable() and len(note) < 300 for note in found["notes"])


@pytest.mark.filterwarnings("ignore")  # some versions of the library are deprecated by themselves
def test_a_library_of_protobuf_writes_what_the_reader_reads(tmp_path):
    """Values of all types, by descriptors that are made here."""
    pytest.importorskip("google.protobuf")
    attributes = made_by_protobuf()
    path = tmp_path / "x.et"
    for name, value in (("int64", -5), ("uint64", 2**63), ("sint32", -7), ("sint64", -2**40),
                        ("fixed32", 9), ("sfixed64", -9), ("double", 0.5), ("float", -2.0),
                        ("bool", True), ("string", "a b"), ("int32", -1)):
        for values in (value, [value, value]):
            path.write_bytes(delimited(HEAD, attributes(name, values)))
            found = traces.chakra.calls_of(path.read_bytes(), "x.et")[0][0]
            assert found.attrs["one"] == values, name


def made_by_protobuf():
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

    file = descriptor_pb2.FileDescriptorProto(name="mine.proto", package="mine", syntax="proto3")
    types = {one: getattr(descriptor_pb2.FieldDescriptorProto, f"TYPE_{one.upper()}")
             for one in traces.chakra.SCALARS}
    attribute_of = descriptor_pb2.DescriptorProto(name="Attribute")
    attribute_of.field.add(name="name", number=1, type=types["string"], label=1)
    for place, (name, kind) in enumerate(types.items()):
        values = file.message_type.add(name=f"List{name}")
        values.field.add(name="values", number=1, type=kind, label=3)
        attribute_of.field.add(name=f"{name}_val", number=3 + 2 * place, type=kind, label=1)
        attribute_of.field.add(name=f"{name}_list", number=4 + 2 * place, type=11, label=1,
                               type_name=f".mine.List{name}")
    file.message_type.append(attribute_of)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    descriptor = pool.FindMessageTypeByName("mine.Attribute")
    if hasattr(message_factory, "GetMessageClass"):
        maker = message_factory.GetMessageClass(descriptor)
    else:
        maker = message_factory.MessageFactory(pool).GetPrototype(descriptor)

    def node_with(name, value):
        one = maker(name="one")
        if isinstance(value, list):
            getattr(one, f"{name}_list").values.extend(value)
        else:
            setattr(one, f"{name}_val", value)
        return node(1, "x", LOAD, field(10, one.SerializeToString()))

    return node_with


# --- what torch's traces become

def test_a_call_and_the_calls_inside_count_once(tmp_path):
    left, right, bias = tensor(1, 2, 8, 16), tensor(2, 32, 16), tensor(3, 32)
    flat, turned, out = tensor(4, 16, 16, storage=1001), tensor(5, 16, 32, storage=1002), tensor(6, 16, 32)
    found = observed(
        tmp_path, ROOT_CALL,
        call(10, "aten::linear", [left, right, bias], [tensor(7, 2, 8, 32)]),
        call(11, "aten::t", [right], [turned], 10, "aten::t(Tensor(a) self) -> Tensor(a)"),
        call(12, "aten::addmm", [bias, flat, turned], [out], 10),
        call(13, "aten::copy_", [out, bias], [out], 12),
        call(20, "autograd::engine::evaluate_function: AddmmBackward0"),
        call(21, "AddmmBackward0", [out], (), 20),
        call(22, "aten::mm", [tensor(8, 32, 16), flat], [tensor(9, 32, 16)], 21),
        call(30, "Optimizer.step#SGD.step"),
        call(31, "aten::add_", [right, tensor(9, 32, 16)], [right], 30),
        call(40, "aten::softmax", [out], [out]), call(41, "aten::_softmax", [out], [out], 40))
    assert [(one["pass"], *list(one)[:1]) for one in found["operations"]] == [
        ("forward", "gemm"), ("backward", "gemm"), ("optimizer", "memory"), ("forward", "memory")]
    assert [one["memory"]["name"] for one in found["operations"][2:]] == ["aten.add_", "aten._softmax"]


def test_a_product_whose_inside_the_trace_lacks_has_the_shapes_of_its_arguments(tmp_path):
    found = observed(tmp_path, ROOT_CALL,
                     call(2, "aten::linear", [tensor(1, 2, 8, 16), tensor(2, 32, 16)], [tensor(3, 2, 8, 32)]),
                     call(3, "aten::matmul", [tensor(1, 3, 8, 16), tensor(2, 3, 16, 5)]),
                     call(4, "aten::einsum", [tensor(1, 3, 8, 16), tensor(2, 3, 16, 5)]),
                     call(5, "aten::matmul", [tensor(1, 2, 1, 3, 4), tensor(2, 3, 4, 7)]),
                     call(6, "aten::matmul", [tensor(1, 2, 3, 4), tensor(2, 4)]))
    assert [tuple(one.values())[:4] for _, one in kinds(found, "gemm")] == [
        (16, 32, 16, 1), (8, 5, 16, 3), (3, 7, 4, 6), (6, 1, 4, 1)]
    assert kinds(found, "left_out") == [(1, {"name": "aten.einsum"})]


def test_collectives_of_torch_have_group_and_type_and_count_once(tmp_path):
    part, whole = tensor(1, 10, kind="c10::BFloat16", element=2), tensor(2, 80, kind="c10::BFloat16", element=2)
    text = (["7", "tp"], [[], []], "Tuple[String,String]")
    name = ("allreduce", [], "String")
    found = observed(
        tmp_path, ROOT_CALL, call(2, "c10d::allreduce_", [listed(part)]),
        call(3, "record_param_comms", [listed(part), text, name], parent=2, collective_name="allreduce",
             pg_size=16, pg_name="7", dtype="BFloat16"),
        call(14, "nccl:broadcast"), call(15, "c10d::allreduce_", [listed(tensor(9, 0))]),
        call(4, "nccl:all_reduce", [part], parent=3), call(5, "aten::copy_", [part, part], [part], 4),
        call(6, "c10d::_allgather_base_", [whole, part]),
        call(7, "record_param_comms", [name], collective_name="_reduce_scatter_base", pg_size=4,
             in_msg_nelems=100, dtype="Float"),
        call(8, "record_param_comms", [("wait", [], "String")], collective_name="wait", pg_size=1),
        call(9, "nccl:all_to_all", [part]), call(10, "c10d::odd_", [part]),
        call(11, "_c10d_functional::reduce_scatter_tensor",
             [part, ("sum", [], "String"), (5, [], "Int"), ("7", [], "String")]),
        call(13, "c10d_functional::all_reduce", [part, ("sum", [], "String"), ("", [], "String"),
                                                 ([0, 1], [[], []], "GenericList[Int,Int]"), (2, [], "Int")]),
        call(12, "_c10d_functional::wait_tensor", [part], [part]), ranks=32)
    assert [tuple(one.values()) for _, one in kinds(found, "collective")] == [
        ("all_reduce", 20, 16, "bfloat16"), ("all_gather_into_tensor", 160, 8, "bfloat16"),
        ("reduce_scatter_tensor", 400, 4, "float32"), ("all_to_all", 20, 32, "bfloat16"),
        ("reduce_scatter_tensor", 20, 5, "bfloat16"), ("all_reduce", 20, 2, "bfloat16")]
    assert [one["name"] for _, one in kinds(found, "left_out")] == ["c10d.odd_", "broadcast of no bytes"]
    assert not kinds(found, "memory")


def test_calls_after_an_asynchronous_one_of_gloo_are_not_inside_it(tmp_path):
    """gloo ends its call later, and torch takes what begins meanwhile for its children."""
    part, other = tensor(1, 10), tensor(2, 20)
    found = observed(
        tmp_path, ROOT_CALL, call(2, "c10d::allreduce_", [listed(part)]), call(3, "gloo:all_reduce", [part]),
        call(4, "aten::mm", [tensor(3, 4, 8), tensor(4, 8, 6)], [tensor(5, 4, 6)], 3),
        call(5, "c10d::allreduce_", [listed(other)], parent=3), call(6, "gloo:all_reduce", [other], parent=5),
        call(7, "aten::add", [other], parent=6), call(8, "gloo:all_to_all", [part], parent=6), ranks=2)
    assert [(one["name"], one["bytes"]) for _, one in kinds(found, "collective")] == [
        ("all_reduce", 40), ("all_reduce", 80), ("all_to_all", 40)]
    assert len(kinds(found, "gemm")) == len(kinds(found, "memory")) == 1
    found = observed(
        tmp_path, ROOT_CALL, call(2, "c10d::allreduce_", [listed(part)]), call(3, "gloo:all_reduce", [part], parent=2),
        call(4, "record_param_comms", [listed(other)], parent=3, collective_name="allreduce", pg_size=2), ranks=8)
    assert [one["ranks"] for _, one in kinds(found, "collective")] == [8, 2]


VIEW = "aten::view(Tensor(a) self, SymInt[] size) -> Tensor(a)"


def between(tmp_path, *calls, given=None):
    """How many products are summed, with calls between the product and the sum."""
    left, right, out = tensor(1, 4, 8), tensor(2, 8, 6), tensor(3, 4, 6)
    found = observed(tmp_path, ROOT_CALL, call(2, "aten::mm", [left, right], [out]), *calls,
                     call(99, "c10d::allreduce_", [listed(given or out)]), ranks=2)
    assert sum(count for count, _ in kinds(found, "gemm")) >= 1
    return len(kinds(found, "summed"))


def test_a_product_is_summed_afterwards_if_it_is_whole_and_nothing_has_changed_it(tmp_path):
    out, other = tensor(3, 4, 6), tensor(9, 4, 6)
    seen = tensor(7, 24, storage=1003)
    assert between(tmp_path) == 1
    assert between(tmp_path, call(3, "aten::view", [out], [seen], schema=VIEW), given=seen) == 1
    assert between(tmp_path, call(3, "aten::add", [out, other], [other])) == 1
    assert between(tmp_path, call(3, "aten::mul_", [out, other], [out])) == 0
    assert between(tmp_path, call(3, "aten::relu", [out], [other]), given=other) == 0
    assert between(tmp_path, call(3, "aten::addmm", [other, tensor(1, 4, 8), tensor(2, 8, 6)], [out])) == 0
    assert between(tmp_path, call(3, "c10d::broadcast_", [listed(out)])) == 0
    half = tensor(8, 4, 3, storage=1003)
    assert between(tmp_path, call(3, "aten::view", [out], [half], schema=VIEW), given=half) == 0
    late = tensor(8, 4, 6, storage=1003)
    late[0][2] = 6
    assert between(tmp_path, given=late) == 0
    halves = tensor(8, 4, 6, storage=1003, kind="c10::Half", element=2)
    assert between(tmp_path, given=halves) == 0


def test_memory_of_the_device_meta_is_no_sign_of_a_product(tmp_path):
    def on_meta(*shape):
        found = tensor(*shape, storage=5)
        found[0][5] = "meta"
        return found

    out = on_meta(3, 4, 6)
    product = call(2, "aten::mm", [on_meta(1, 4, 8), on_meta(2, 8, 6)], [out])
    for given, summed in ((out, 1), (on_meta(9, 4, 6), 0)):
        found = observed(tmp_path, ROOT_CALL, product, call(3, "c10d::allreduce_", [listed(given)]), ranks=2)
        assert len(kinds(found, "summed")) == summed


def test_a_group_is_known_by_its_name_or_by_its_backends_number(tmp_path):
    groups = [{"pg_name": "0", "group_size": 8}, {"pg_name": "7", "ranks": [4, 5]},
              {"pg_name": "9", "group_size": 4, "backend_id": 82149104}]
    part, name = tensor(1, 10), ("allreduce", [], "String")

    def size(*given, **attrs):
        found = observed(tmp_path, ROOT_CALL,
                         call(2, "## process_group:init ##", [(json.dumps(groups), [], "String")]),
                         call(3, "record_param_comms", [listed(part), *given, name], **attrs))
        return kinds(found, "collective")[0][1]["ranks"], found["ranks"]

    assert size(pg_name="7") == (2, 8)
    assert size((["7", "tp"], [[], []], "Tuple[String,String]")) == (2, 8)
    assert size((12, [], "Int"), (82149104, [], "Int")) == (4, 8)
    for attributes in ({"pg_name": "5"}, {}):
        with pytest.raises(TraceError, match="how many ranks its group has"):
            size(**attributes)
    del groups[1:]
    assert size() == (8, 8)
    with pytest.raises(TraceError, match="how many ranks its group has"):
        size(pg_name="5")
    groups += [{"pg_name": "7", "ranks": [4, 5]}, {"pg_name": "8", "group_size": 3, "pg_desc": "cut"}]
    found = observed(tmp_path, ROOT_CALL, call(
        2, "## process_group:init ##", [(json.dumps(groups)[:-20], [], "String")]), call(
        3, "record_param_comms", [listed(part), name], pg_name="7"), call(
        4, "aten::mm", [tensor(8), tensor(9)]))
    assert kinds(found, "collective")[0][1]["ranks"] == 2
    assert any("a list of groups is cut" in note for note in found["notes"])
    assert kinds(found, "left_out") == [(1, {"name": "aten.mm without shapes"})]


def test_a_tensor_of_all_ranks_counts_as_this_ranks_part(tmp_path):
    """DTensor's call has the shapes of all ranks, and the one inside those of a rank."""
    found = observed(
        tmp_path, ROOT_CALL, call(2, "aten::mm", [tensor(1, 8, 16), tensor(2, 16, 64)], [tensor(3, 8, 64)]),
        call(3, "_c10d_functional::all_gather_into_tensor", [tensor(4, 2, 16), (4, [], "Int")], parent=2),
        call(4, "aten::mm", [tensor(5, 8, 16), tensor(6, 16, 16)], [tensor(7, 8, 16)], parent=2),
        call(5, "_c10d_functional::all_reduce", [tensor(7, 8, 16), ("sum", [], "String"), ("7", [], "String")]),
        call(6, "aten::clone", [tensor(7, 8, 16)], [tensor(8, 8, 16)], parent=5),
        call(7, "c10d::allreduce_", [listed(tensor(8, 8, 16))], parent=5),
        call(8, "record_param_comms", [listed(tensor(8, 8, 16))], parent=7, pg_size=4),
        call(9, "gloo:all_reduce", [tensor(8, 8, 16)]), ranks=9)
    assert kinds(found, "gemm") == [(1, {"m": 8, "n": 16, "k": 16, "batch": 1, "dtype": "float32"})]
    assert [(one["name"], one["ranks"]) for _, one in kinds(found, "collective")] == [
        ("all_gather_into_tensor", 4), ("all_reduce", 4)]
    assert len(kinds(found, "summed")) == 1 and not kinds(found, "memory")


def test_expanded_tensors_count_once_where_the_trace_has_strides(tmp_path):
    expanded, out = tensor(1, 100, 8), tensor(2, 100, 8)
    one = call(2, "aten::mul", [expanded, out], [out])
    one["inputs"]["strides"][0] = [0, 1]
    assert kinds(observed(tmp_path, ROOT_CALL, one), "memory")[0][1]["bytes"] == (8 + 2 * 800) * 4
    del one["inputs"]["strides"]
    assert kinds(observed(tmp_path, ROOT_CALL, one), "memory")[0][1]["bytes"] == 3 * 800 * 4


def test_traces_of_all_ranks_say_the_size_and_who_differs(tmp_path):
    paths = []
    for rank in range(3):
        path = tmp_path / f"step.{rank}.et.gz"
        path.write_bytes(gzip.compress(delimited(HEAD, node(
            1, "sum", COLL, comm_type=ALL_REDUCE, comm_size=64 + (rank == 2)))))
        paths.append(str(path))
    found = traces.convert(paths, rank=1)
    assert (found["rank"], found["ranks"]) == (1, 3)
    assert found["operations"][0]["collective"]["ranks"] == 3
    assert any("other operations than those of rank 1" in note and note.endswith("the ranks 2")
               for note in found["notes"])


# --- hostile files

GOOD = delimited(
    HEAD, node(1, "## process_group:init ##", META, INIT),
    matmul(5, tensor(1, 16, 64), tensor(2, 64, 32), tensor(3, 16, 32)),
    node(6, "sum", COLL, comm_type=ALL_REDUCE, comm_size=2048, after=[5], pg_name="7"),
    node(7, "load", LOAD, tensor_size=100, involved_dim=[True]))
DEEP = "[" * 100000

HOSTILE = {
    b"": "is empty", GOOD[:-3]: "message 4 has a length of .* and the file ends after",
    b"\xff" * 11: "message 0 has a number of more than 10 bytes",
    b"\xff": "message 0 ends inside a number",
    varint(1 << 62): "message 0 has a length of 4611686018427387904 bytes, and at most",
    delimited(field(3, 1)): "GlobalMetadata has a field 3",
    delimited(HEAD, field(1, "x")): "message 1 id is a length and bytes and must be a varint",
    delimited(HEAD, b"\x0b"): "message 1 field 1 has the wire type 3",
    delimited(HEAD, b"\x00\x00"): "message 1 has a field of number 0",
    delimited(HEAD, b"\x12\x7fx"): "message 1 field 2 has 127 bytes, and its message ends after 1",
    delimited(HEAD, field(2, b"\xff\xfe")): "message 1 name is no text in UTF-8",
    delimited(HEAD, node(4, "x", 77)): 'node 4 "x": type is 77',
    delimited(HEAD, node(4, "x", LOAD), node(4, "y", LOAD)): 'node 4 "y": its id is that of another',
    delimited(HEAD, node(4, "x", LOAD, after=[5]), node(5, "y", LOAD, after=[4])): "data_deps form a circle",
    delimited(HEAD, node(4, "x", LOAD, parent=5), node(5, "y", LOAD, parent=4)): "ctrl_deps.*form a circle",
    delimited(HEAD, node(4, "x", COLL, comm_type=12, comm_size=1)): "comm_type is 12 and must be 0 to 9",
    delimited(HEAD, node(4, "x", COLL, comm_type=0)): "comm_size is missing",
    delimited(HEAD, node(4, "x", COLL, comm_type=0, comm_size=-1)): "comm_size is -1",
    delimited(HEAD, node(4, "x", LOAD, tensor_size="big")): "tensor_size is big",
    delimited(HEAD, node(4, "x", LOAD, tensor_size=1 << 60)): "it moves 1152921504606846976 bytes",
    delimited(HEAD, node(4, "aten::mm", COMP, arguments(8, "", DEEP, ""))): "inputs.shapes is .*no list",
    delimited(HEAD, node(4, "aten::mm", COMP, arguments(8, DEEP[:9999], [[]], ["Int"]))): "inputs.values is ",
    delimited(HEAD, node(4, "aten::mm", COMP, arguments(8, [1], [[]], ["Int"]))): "inputs has no tensors",
    delimited(HEAD, node(4, "aten::mm(0)", COMP, arguments(8, [1], [[]], ["Int"]), rf_id=[1])): "inputs has no tensors",
    delimited(HEAD, node(4, "aten::mm", COMP, arguments(8, "[{[]}]", [[]], ["Int"]))): r"inputs.values is \[{\[\]}\]",
    delimited(HEAD, node(4, "aten::mm", COMP, arguments(8, f"[{'9' * 400} + 1j]", [[]], ["Int"]))):
        "inputs.values is .*no list of values",
    delimited(HEAD, node(4, "a\nb" * 99, LOAD, tensor_size="x")): r'node 4 "a\?ba\?b.*\.\.\."',
    delimited(HEAD, node(4, "x", COMP, num_ops=5)): "no product, no collective and no other operation",
    delimited(HEAD, node(4, "x", LOAD, field(10, field(1, "a") + field(20, field(1, b"abc"))))):
        "attribute a has 3 bytes of numbers of 4",
}


@pytest.mark.parametrize("data", HOSTILE, ids=range(len(HOSTILE)))
def test_a_hostile_trace_of_chakra_ends_with_a_sentence(tmp_path, data):
    path = tmp_path / "bad.0.et"
    path.write_bytes(data)
    with pytest.raises(TraceError, match=HOSTILE[data]) as found:
        traces.convert([str(path)], ranks=2)
    assert str(found.value).startswith(str(path)) and "\n" not in str(found.value)


def test_a_hostile_trace_is_read_in_time(tmp_path):
    """A long name, and calls inside each other."""
    name, deep = tmp_path / "name.0.et", tmp_path / "deep.json"
    name.write_bytes(delimited(HEAD, node(4, "a" * (1 << 20), COMP, arguments(8, [1], [[]], ["Int"]))))
    deep.write_text(nodes(*(call(one, "nccl:all_to_all", [tensor(1, 4)], parent=one - 1)
                            for one in range(1, 30000)), MM | {"id": 30000}))
    assert "no product, no collective" in command(name).stderr
    assert command(deep, "--ranks", 2).stderr == ""


VALUES = """
import resource, sys
from t3.traces import TraceError, chakra
resource.setrlimit(resource.RLIMIT_AS, (512 << 20, 512 << 20))
text = sys.stdin.read()
try:
    print(len(chakra.values_of(text, "x", [])))
except TraceError as error:
    print(error)
"""


def values_in_512_mib(text):
    """How many there are, or the sentence, within 512 MiB."""
    return subprocess.run([sys.executable, "-c", VALUES], input=text, capture_output=True, text=True,
                          timeout=SECONDS, check=True).stdout.strip()


def test_millions_of_values_need_no_more_memory_than_they_are():
    count = (1 << 21) - 1
    assert values_in_512_mib(f"[{'0,' * (count - 1)}0]") == str(count)
    assert values_in_512_mib(f"[{'None, ' * 600000}'a']") == "600001"
    # An escape is Python's, whose parser takes hundreds of bytes for each.
    assert values_in_512_mib(rf"[{'0,' * 30000}'\x61']") == "30001"
    assert values_in_512_mib(rf"[{'0,' * 1000000}'\x61']") == (
        "x.values has 2000008 characters and is no JSON with Python's words: of other text at most 65536 are "
        "read")


VALUE_TEXTS = ("0", "-1", "1e-05", "1.5", "True", "False", "None", "'cpu'", '"it\'s"', r"'\n'", "(1, 2)", "''",
               "[]", "1j", "true", "nan", "inf", "'a\"b'", "{1: 2}", "07", "1.", "'\t'", "'é'", "e", "1_0")


def test_values_are_those_of_pythons_parser():
    for one in VALUE_TEXTS:
        text = f"[[{one}, 7], {one}]"
        try:
            wanted = ast.literal_eval(text)
        except (ValueError, SyntaxError):
            with pytest.raises(TraceError, match="x.values is .*no list of values"):
                values_of(text, "x", [])
        else:
            found = values_of(text, "x", [])
            assert found == wanted and str(found) == str(wanted), text


def nodes(*calls, **fields):
    return json.dumps({"schema": "1.1.1-chakra.0.0.4", "nodes": list(calls), **fields})


def changed(one, **fields):
    return {**one, **fields}


MM = call(2, "aten::mm", [tensor(1, 4, 8), tensor(2, 8, 4)], [tensor(3, 4, 4)])
NEST = json.loads("[" * 50 + "]" * 50)
BAD_JSON = {
    "": "is no JSON", DEEP: "is no JSON.*lists in lists", '{"nodes": [NaN]}': "NaN is no number of JSON",
    "[1]": "has no list nodes", '{"nodes": 5}': "has no list nodes", "9" * 9999: "is no JSON",
    '{"nodes": [], "schema": "9.9"}': "schema is 9.9", '{"nodes": []}': "schema is None",
    nodes(5): r"nodes\[0\] must be an object", nodes({}): r"nodes\[0\].id must be a number",
    nodes(): "no product, no collective",
    nodes({"id": 1}): r"nodes\[0\].name must be a string",
    nodes(changed(MM, ctrl_deps=[1])): 'node 2 "aten::mm": ctrl_deps must be the number',
    nodes(changed(MM, attrs=5)): "attrs must be a list",
    nodes(changed(MM, inputs=None)): "inputs must be an object",
    nodes(changed(MM, inputs={"values": 1})): "inputs.values must be a list",
    nodes(changed(MM, inputs={**MM["inputs"], "types": []})): "inputs has 2 values, 2 shapes and 0 types",
    nodes(call(2, "aten::mm", [tensor(1, 4, 8), tensor(2, 9, 4)])): r"\(4, 8\) times \(9, 4\)",
    nodes(call(2, "aten::mm", [tensor(1, 4, -8), tensor(2, 9, 4)])): r"has the shape \[4, -8\]",
    nodes(call(2, "aten::mm", [tensor(1, 1 << 25, 8), tensor(2, 8, 4)])): "gives m 33554432",
    nodes(call(2, "aten::mm", [tensor(1, 8), tensor(2, 8, 4)])): r"\(8,\) and \(8, 4\)",
    nodes(call(2, "aten::add", [tensor(1, 1 << 60, 1 << 60)])): "it moves .* bytes",
    nodes(call(2, "aten::cat", [([], [], "GenericList[" * 9 + "]" * 9)])): "are not as many",
    nodes(call(2, "aten::cat", [(NEST, NEST, "GenericList[" * 50 + "Int" + "]" * 50)])):
        "lists in lists, more than 16",
    nodes(call(2, "aten::cat", [(NEST * 2, NEST, "Int")])): "no product",
    nodes(call(2, "aten::add", [tensor(1, *[1] * 65)])): "which is none of a tensor",
    nodes(changed(MM, id=-1)): r"nodes\[0\].id must be a number",
    nodes(call(2, "aten::cat", [([[]], [[]], "GenericList[a(]")])): "whose brackets do not match",
    nodes(call(2, "c10d::allreduce_", [listed(tensor(1, 4))], pg_size=4096)): "has 4096 ranks",
    nodes(call(2, "c10d::allreduce_", [listed(tensor(1, 1 << 50))], pg_size=4)): "t3 sim has at most",
    nodes(call(2, "## process_group:init ##", [("[{}]", [], "String")])): "group_size of a group",
    nodes(changed(MM, ctrl_deps=3), changed(MM, id=3, ctrl_deps=2)): "ctrl_deps.*form a circle",
}


@pytest.mark.parametrize("text", BAD_JSON, ids=range(len(BAD_JSON)))
def test_a_hostile_trace_of_torch_ends_with_a_sentence(tmp_path, text):
    path = tmp_path / "bad.json"
    path.write_text(text)
    with pytest.raises(TraceError, match=BAD_JSON[text]) as found:
        traces.convert([str(path)], ranks=2)
    assert str(found.value).startswith(str(path)) and "\n" not in str(found.value)


GOOD_JSON = nodes(ROOT_CALL, MM, call(3, "c10d::allreduce_", [listed(tensor(3, 4, 4))], parent=1),
                  call(4, "record_param_comms", [listed(tensor(3, 4, 4))], parent=3, pg_size=4),
                  call(5, "aten::add", [tensor(3, 4, 4)], [tensor(4, 4, 4)])).encode()


def test_a_step_of_more_than_sim_reads_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(traces, "MAX_DIFFERENT", 9)
    monkeypatch.setattr(traces.step, "MAX_OPERATIONS", 99)
    many = [call(2 + one, "aten::mm", [tensor(1, 1 + one, 8), tensor(2, 8, 4)]) for one in range(10)]
    observed(tmp_path, *many[1:])
    with pytest.raises(TraceError, match="10 different products and collectives"):
        observed(tmp_path, *many)
    many = [call(2 + one, "aten::add", [tensor(1, 1 + one)]) for one in range(100)]
    observed(tmp_path, *many[1:])
    with pytest.raises(TraceError, match="more than 99 distinct operations"):
        observed(tmp_path, *many)
    packed = tmp_path / "large.json.gz"
    packed.write_bytes(gzip.compress(bytes(2 << 20)))
    monkeypatch.setattr(traces.files, "MAX_TRACE", 1 << 20)
    with pytest.raises(TraceError, match="more than 1 MiB"):
        traces.convert([str(packed)])


@pytest.mark.parametrize("name, good", [("damaged.0.et", GOOD), ("damaged.json", GOOD_JSON)])
def test_damaged_traces_are_read_or_refused(tmp_path, name, good):
    """Cut at some bytes, and with others in some places."""
    path, draw = tmp_path / name, random.Random(5)
    damaged = [good[:end] for end in range(0, len(good), 1 + len(good) // 500)]
    for _ in range(1000):
        data = bytearray(good)
        for _ in range(draw.randint(1, 4)):
            data[draw.randrange(len(data))] = draw.choice(good + bytes(range(256)))
        damaged.append(bytes(data))
    refused = 0
    for data in damaged:
        path.write_bytes(data)
        try:
            traces.convert([str(path)], ranks=2)
        except TraceError as error:
            refused += str(error).startswith(str(path))
    assert refused > len(damaged) / 4


def places(value):
    """(container, key) of all that is in a value of JSON."""
    items = (value.items() if isinstance(value, dict) else
             enumerate(value) if isinstance(value, list) else ())
    for key, one in items:
        yield value, key
        yield from places(one)


def test_values_of_other_kinds_are_read_or_refused(tmp_path):
    path, draw = tmp_path / "odd.json", random.Random(7)
    others = (None, True, -1, 0, 1 << 70, "", "x", "Tensor(float)", [], [[]], {}, 1.5, "c10d::send",
              "nccl:all_reduce", "aten::linear", [1, 2, 3, 4, 4, "cpu"], "GenericList[Tensor(float)]")
    for _ in range(600):
        damaged = json.loads(GOOD_JSON)
        for container, key in draw.sample(list(places(damaged["nodes"])), draw.randint(1, 9)):
            container[key] = draw.choice(others)
        path.write_text(json.dumps(damaged))
        try:
            traces.convert([str(path)], ranks=2)
        except TraceError as error:
            assert str(error).startswith(str(path)) and "\n" not in str(error)


# --- the command

def command(*words):
    return subprocess.run([sys.executable, "-m", "t3.traces", *map(str, words)], capture_output=True,
                          text=True, timeout=SECONDS, check=False)


def test_the_command_writes_the_file_or_says_one_sentence(tmp_path):
    trace, step = tmp_path / "step.0.et", tmp_path / "step.json"
    trace.write_bytes(GOOD)
    done = command(trace, "-o", step)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert json.loads(step.read_text()) == json.loads(command(trace).stdout)
    for words, status, why in (((tmp_path / "none.et",), 1, "none.et cannot be read: No such file"),
                               ((trace, "-o", tmp_path / "no/x"), 1, "x cannot be written: No such file"),
                               ((trace, "--rank", 9), 1, "rank 9 of 4 is none"),
                               ((trace, "--ranks", 0), 2, "--ranks from 1 to"), ((), 2, "TRACE")):
        done = command(*words)
        assert done.returncode == status and why in done.stderr and not done.stdout, done
        assert status == 2 or done.stderr.count("\n") == 1 and done.stderr.startswith("t3.traces: ")
    trace.write_bytes(struct.pack("<HI", 0x8b1f, 8))
    assert "cannot be unpacked" in command(trace).stderr


def test_sim_reads_what_the_command_writes(tmp_path):
    if not T3.exists():
        pytest.skip(f"{T3} is not built")
    trace, step = tmp_path / "step.0.et", tmp_path / "step.json"
    trace.write_bytes(GOOD)
    assert command(trace, "-o", step).returncode == 0
    done = subprocess.run([T3, "sim", "--json", "--workload", step], capture_output=True, text=True,
                          timeout=SECONDS, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)["step"]
    assert [one["kind"] for one in found["operations"]] == ["GEMM and collective", "memory-bound"]
    assert found["configs"]["t3"]["speedup"] > 1
