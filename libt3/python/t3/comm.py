# SPDX-License-Identifier: MIT
"""Communicators, and plain collectives on arrays."""

from __future__ import annotations

import errno
import operator
import os
from typing import TYPE_CHECKING, Any, Callable, Iterable, Sequence

from t3 import _waits, dtypes, errors
from t3._library import ffi, lib, path_bytes, string
from t3._names import T3_COMM_TEXT_SIZE, T3_PLAN_DETERMINISTIC, T3_PLAN_WIDEN, Dtype
from t3._resource import Handle, Resource
from t3.device import Device
from t3.dtypes import DtypeLike, OpLike

if TYPE_CHECKING:
    import numpy as np

    from t3.plan import About, Plan

    Array = np.ndarray[Any, Any]

AllGather = Callable[[bytes], Iterable[bytes]]


class Comm(Resource):
    """A communicator: ranks, each with a device of its own, that make the same calls in one order.

    It and its plans belong to one thread at a time. Ctrl-C ends each wait. A collective that was
    interrupted goes on behind it, so that nothing but close() is possible then.
    Call barrier() after the last collective, so that all ranks can end.
    """

    _interrupted = False

    @classmethod
    def from_environment(cls, device: Device, timeout: float | None = None) -> Comm:
        """Join the ranks that T3_RANK, T3_RANKS and T3_COMM_DIR, or MASTER_ADDR, name.

        `t3 launch`, torchrun and the like set them. Errors: TimeoutError: a rank did not come;
        PeerError: one has ended; EINVAL: a variable is missing or malformed.
        """
        return cls._join(device, {"dir": ffi.NULL}, timeout)

    @classmethod
    def in_directory(cls, device: Device, directory: str | os.PathLike[str], rank: int, ranks: int,
                     timeout: float | None = None) -> Comm:
        """Join the ranks that meet in a directory of mode 0700. Errors: as from_environment()."""
        path = ffi.new("char[]", path_bytes(directory))
        return cls._join(device, {"dir": path, "rank": rank, "ranks": ranks}, timeout)

    @classmethod
    def _join(cls, device: Device, fields: dict[str, Any], timeout: float | None) -> Comm:
        text, out = ffi.new("char[]", T3_COMM_TEXT_SIZE), ffi.new("struct t3_comm **")
        desc = ffi.new("struct t3_comm_desc *", {
            **fields, "text": text, "text_size": T3_COMM_TEXT_SIZE})
        end, parent = _waits.deadline(timeout), device._live()

        def join(pointer: Any, _kept: Any) -> Handle:
            result = lib.t3_comm_create(pointer, desc, end, out)
            if result:
                raise errors.make(result, string(text), "join")
            return Handle(out[0], lib.t3_comm_destroy, (parent,))

        # The fields are passed so that what desc points to lives on, also when Ctrl-C has led out.
        return cls._with(_waits.interruptible(lambda: device._call(join, fields), forget))

    @classmethod
    def from_all_gather(cls, device: Device, all_gather: AllGather, rank: int, ranks: int,
                        timeout: float | None = None) -> Comm:
        """Join by an all-gather of the caller's: it takes bytes and returns those of each rank.

        With mpi4py it is ``comm.allgather``. It is called once or twice, in this thread, and what
        it raises is raised again here. The timeout holds from its end on.
        """
        text, out = ffi.new("char[]", T3_COMM_TEXT_SIZE), ffi.new("struct t3_comm **")
        gather = Gather(all_gather, ranks)
        desc = ffi.new("struct t3_bootstrap_desc *", {
            "all_gather": gather.callback, "rank": rank, "ranks": ranks, "text": text,
            "text_size": T3_COMM_TEXT_SIZE})
        result = device._call(lib.t3_comm_create_bootstrap, desc, _waits.deadline(timeout), out)
        if gather.error is not None:
            if not result:
                lib.t3_comm_destroy(out[0])
            raise gather.error
        if result:
            raise errors.make(result, string(text), "join")
        return cls._of(out[0], device)

    @classmethod
    def local(cls, devices: Sequence[Device]) -> list[Comm]:
        """All ranks in this process: result[i] is rank i, on devices[i].

        Each may have a thread of its own. One thread that drives all of them uses Plan.all_of(),
        and neither barrier() nor the plain collectives.
        """
        out = ffi.new("struct t3_comm *[]", len(devices))
        handles = [device._live() for device in devices]
        array = ffi.new("struct t3_device *[]", [handle.pointer for handle in handles])
        result = lib.t3_comm_create_local(array, len(devices), out)
        if result:
            raise errors.make(result, what="local communicator")
        return [cls._of(out[index], device) for index, device in enumerate(devices)]

    @classmethod
    def _of(cls, pointer: Any, device: Device) -> Comm:
        return cls._with(Handle(pointer, lib.t3_comm_destroy, (device._live(),)))

    @classmethod
    def _with(cls, handle: Handle) -> Comm:
        made = cls.__new__(cls)
        made._own(handle)
        return made

    @property
    def rank(self) -> int:
        return int(self._call(lib.t3_comm_rank))

    @property
    def ranks(self) -> int:
        return int(self._call(lib.t3_comm_ranks))

    def barrier(self, timeout: float | None = None) -> None:
        """Wait until all ranks have called it. After an error only close() is possible."""
        self._whole("barrier", lambda pointer, end: lib.t3_comm_barrier(pointer, end), timeout)

    def _whole(self, what: str, call: Callable[[Any, int], int | Handle],
               timeout: float | None) -> Any:
        """A call that may not be repeated, out of which Ctrl-C leads nevertheless.

        call(pointer, deadline) returns an error number, or the handle of what it has made.
        """
        if self._interrupted:
            raise errors.Error(errno.EINTR, "an earlier call was interrupted and still runs: only "
                                            "close() is possible")
        end = _waits.deadline(timeout)
        try:
            result = _waits.interruptible(lambda: self._outcome(call, end), forget)
        except BaseException:
            self._interrupted = True
            raise
        if isinstance(result, Exception):
            raise result
        if result and not isinstance(result, Handle):
            raise errors.make(result, self._call(lambda pointer: string(
                lib.t3_comm_error(pointer))), what)
        return result

    def _outcome(self, call: Callable[[Any, int], int | Handle], end: int) -> Any:
        """What the call returns. Arguments that cffi refuses are no interruption."""
        try:
            return self._call(lambda pointer: call(pointer, end))
        except Exception as error:  # pylint: disable=broad-except
            return error  # _whole() raises it

    # --- plans

    def plan(self, collective: str, shape: int | tuple[int, int], dtype: DtypeLike = "float32",
             timeout: float | None = None, **options: Any) -> Plan:
        """Make a plan, which can run again and again. All ranks call this with the same arguments.

        `collective` is "reduce_scatter", "all_gather", "all_reduce", "all_to_all" or "broadcast",
        `shape` the elements, or (rows, columns), of the whole. Options: op ("add", "min", "max",
        "and", "or", "xor", "mul"), root, algorithm ("auto", "ring", "direct" and the others of
        t3.Algorithm), path ("auto", "store", "doorbell"), tile, the columns or (rows, columns) of
        a tracked tile, and deterministic: a reduction of floats in the order of the ranks, whose
        bits depend on nothing else.
        """
        from t3.plan import plan_desc  # pylint: disable=import-outside-toplevel

        desc, about = plan_desc(collective, shape, dtype, **options)
        return self._plan_by(about, timeout, lambda comm, end, out: lib.t3_plan_create(
            comm, desc, end, out))

    def plan_uneven(self, send: Iterable[int], receive: Iterable[int],
                    dtype: DtypeLike = "float32", columns: int = 0,
                    timeout: float | None = None, **options: Any) -> Plan:
        """Make an all-to-all with a length for each pair of ranks, as MPI_Alltoallv() has it.

        send[r] elements go to rank r, and receive[r] come from it, which is rank r's send for this
        rank. Each has a number for each rank, 0 too, with `columns` of whole rows. What this rank
        sends is the whole: chunk r is for rank r. The result has the elements of rank 0, of rank 1
        and so on, without gaps. Options: algorithm, path and tile, as plan() has them, and the same
        at all ranks. ValueError: not a number for each rank. Errors: EINVAL: two ranks differ in
        what one sends the other, which the sentence names; EFBIG: more than a device has.
        """
        from t3.plan import plan_desc  # pylint: disable=import-outside-toplevel

        desc, about = plan_desc("all_to_all", (0, columns) if columns else 0, dtype, **options)
        lengths = plan_lengths([(send, receive)], self.ranks)
        return self._plan_by(about, timeout, lambda comm, end, out: lib.t3_plan_create_uneven(
            comm, desc, lengths[0], end, out))

    def _plan_by(self, about: About, timeout: float | None,
                 create: Callable[[Any, int, Any], int]) -> Plan:
        from t3.plan import Plan  # pylint: disable=import-outside-toplevel

        out, parent = ffi.new("struct t3_plan **"), self._live()

        def handle(pointer: Any, end: int) -> int | Handle:
            return create(pointer, end, out) or Handle(out[0], lib.t3_plan_destroy, (parent,))

        return Plan(self._whole("plan", handle, timeout), about)

    # --- plain collectives

    def set_deterministic(self, on: bool) -> None:
        """Later all_reduce() and reduce_scatter() of floats are in the order of the ranks.

        Their bits depend on the ranks' elements alone. All ranks call this alike. Ends
        set_widening().
        """
        self._set_plan_flags(T3_PLAN_DETERMINISTIC if on else 0)

    def set_widening(self, on: bool) -> None:
        """Later all_reduce() and reduce_scatter() of float16 and bfloat16 round each sum once.

        They add and multiply in float32, each rank with a link to each other one. All ranks call
        this alike. Ends set_deterministic().
        """
        self._set_plan_flags(T3_PLAN_WIDEN if on else 0)

    def _set_plan_flags(self, flags: int) -> None:
        result = self._call(lib.t3_comm_set_plan_flags, flags)
        if result:
            raise errors.make(result, self._call(lambda pointer: string(
                lib.t3_comm_error(pointer))), "flags")

    def all_reduce(self, data: Any, out: Array | None = None, op: OpLike = "add",
                   dtype: DtypeLike | None = None, timeout: float | None = None) -> Array:
        """The reduction of all ranks' data, with data's shape. `out` may be data itself.

        Errors of the plain collectives: TimeoutError, PeerError, FaultError; EINVAL: the ranks'
        arguments differ. An error other than EINVAL and EFBIG ends them for this communicator.
        """
        array, kind = self._input(data, dtype)
        result = self._output(out, kind, array.size).reshape(array.shape)
        self._collective("all-reduce", lambda pointer, end: lib.t3_all_reduce(
            pointer, pointer_to(array), pointer_to(result), array.size, kind, dtypes.op_of(op),
            end), timeout)
        return result

    def reduce_scatter(self, data: Any, out: Array | None = None, op: OpLike = "add",
                       dtype: DtypeLike | None = None, timeout: float | None = None) -> Array:
        """Chunk `rank` of the reduction of all ranks' data. Chunks are flat: see chunk()."""
        array, kind = self._input(data, dtype)
        result = self._output(out, kind, self.chunk(array.size)[1])
        self._collective("reduce-scatter", lambda pointer, end: lib.t3_reduce_scatter(
            pointer, pointer_to(array), pointer_to(result), array.size, kind, dtypes.op_of(op),
            end), timeout)
        return result

    def all_gather(self, data: Any, count: int | None = None, out: Array | None = None,
                   dtype: DtypeLike | None = None, timeout: float | None = None) -> Array:
        """The data of rank 0, rank 1 and so on, flat.

        `count` is the number of elements of the whole, if the ranks' chunks are not equally long.
        """
        array, kind = self._input(data, dtype)
        whole = array.size * self.ranks if count is None else count
        if array.size != self.chunk(whole)[1]:
            raise ValueError(f"of {whole} elements rank {self.rank} has {self.chunk(whole)[1]}, "
                             f"and data has {array.size}")
        result = self._output(out, kind, whole)
        self._collective("all-gather", lambda pointer, end: lib.t3_all_gather(
            pointer, pointer_to(array), pointer_to(result), whole, kind, end), timeout)
        return result

    def all_to_all(self, data: Any, out: Array | None = None, dtype: DtypeLike | None = None,
                   timeout: float | None = None) -> Array:
        """Chunk c of data goes to rank c. The result has chunk `rank` of rank 0, 1 and so on."""
        array, kind = self._input(data, dtype)
        result = self._output(out, kind, self.chunk(array.size)[1] * self.ranks)
        self._collective("all-to-all", lambda pointer, end: lib.t3_all_to_all(
            pointer, pointer_to(array), pointer_to(result), array.size, kind, end), timeout)
        return result

    def broadcast(self, data: Array, root: int = 0, dtype: DtypeLike | None = None,
                  timeout: float | None = None) -> Array:
        """data of the root, into the data of the other ranks, which is returned.

        The root's is only read: it may be read-only or have gaps.
        """
        if self.rank == root:
            array, kind = self._input(data, dtype)
        else:
            kind = dtypes.dtype_of(data.dtype if dtype is None else dtype)
            array = dtypes.output_array(data, kind, data.size, "data")
        self._collective("broadcast", lambda pointer, end: lib.t3_broadcast(
            pointer, pointer_to(array), array.size, kind, root, end), timeout)
        return array

    def chunk(self, count: int, rank: int | None = None) -> tuple[int, int]:
        """(first element, elements) of a rank's chunk of `count` elements."""
        who = self.rank if rank is None else rank
        size, longer = divmod(count, self.ranks)
        return who * size + min(who, longer), size + (who < longer)

    @staticmethod
    def _input(data: Any, dtype: DtypeLike | None) -> tuple[Array, Dtype]:
        array = dtypes.numpy().asarray(data)
        kind = dtypes.dtype_of(array.dtype if dtype is None else dtype)
        return dtypes.input_array(array, kind), kind

    @staticmethod
    def _output(out: Array | None, kind: Dtype, count: int) -> Array:
        if out is None:
            made: Array = dtypes.numpy().empty(count, dtypes.numpy_dtype(kind))
            return made
        return dtypes.output_array(out, kind, count)

    def _collective(self, what: str, call: Callable[[Any, int], int],
                    timeout: float | None) -> None:
        self._whole(what, call, timeout)


def plan_lengths(pairs: Iterable[tuple[Iterable[int], Iterable[int]]],
                 ranks: int) -> tuple[Any, list[Any]]:
    """The C array of each rank's (send, receive), and the arrays that it points to."""
    kept = []
    for pair in pairs:
        for what, lengths in zip(("send", "receive"), pair):
            numbers = [operator.index(length) for length in lengths]
            if len(numbers) != ranks or min(numbers) < 0:
                raise ValueError(f"{what} has a length of 0 or more for each of the {ranks} ranks; "
                                 f"got {numbers}")
            kept.append(ffi.new("uint64_t[]", numbers))
    return ffi.new("struct t3_plan_lengths[]", list(zip(kept[::2], kept[1::2]))), kept


def pointer_to(array: Array) -> Any:
    """Of its first byte. The caller keeps the array."""
    return ffi.cast("void *", dtypes.address(array)) if array.size else ffi.NULL


def forget(made: Any) -> None:
    """End what nobody waited for."""
    if isinstance(made, Handle):
        made.end()


class Gather:
    """A C callback for an all-gather of Python's, and what that raised."""

    def __init__(self, function: AllGather, ranks: int) -> None:
        self._function, self._ranks = function, ranks
        self.error: BaseException | None = None
        self.callback = ffi.callback("t3_all_gather_fn", self._call, error=-errno.EIO)

    def _call(self, _context: Any, mine: Any, every: Any, size: int) -> int:
        try:
            parts = [bytes(part) for part in self._function(bytes(ffi.buffer(mine, size)))]
            if [len(part) for part in parts] != [size] * self._ranks:
                raise ValueError(f"the all-gather returned {len(parts)} parts of "
                                 f"{sorted({len(part) for part in parts})} bytes, where "
                                 f"{self._ranks} of {size} are due")
        except BaseException as error:  # pylint: disable=broad-except
            self.error = error  # raised when C has returned
            return -errno.EIO
        ffi.memmove(every, b"".join(parts), size * self._ranks)
        return 0
