# SPDX-License-Identifier: MIT
"""Plans: collectives whose data moves while it is made."""

from __future__ import annotations

import dataclasses
import errno
from typing import TYPE_CHECKING, Any, Callable, Iterable, Sequence

from t3 import _waits, dtypes, errors
from t3._library import ffi, lib, string
from t3._names import (T3_PLAN_DETERMINISTIC, T3_PLAN_NO_CHUNK, T3_PLAN_WIDEN, Algorithm, Collective,
                       Dtype, Path, Progress)
from t3._resource import Handle, Resource
from t3.buffer import array_of, view_of
from t3.comm import Comm, plan_lengths
from t3.dtypes import DtypeLike, OpLike
from t3.records import Fault
from t3.space import BorrowedSpace

if TYPE_CHECKING:
    import numpy as np

REDUCTIONS = (Collective.REDUCE_SCATTER, Collective.ALL_REDUCE)


@dataclasses.dataclass(frozen=True)
class About:
    """What a plan's arrays need to know."""

    kind: Dtype
    columns: int  # 0: an array


def plan_desc(collective: str, shape: int | tuple[int, int], dtype: DtypeLike, *,
              op: OpLike = "add", root: int = 0, algorithm: str = "auto", path: str = "auto",
              tile: int | tuple[int, int] = 0,
              deterministic: bool = False, widen: bool = False) -> tuple[Any, About]:
    """The C struct for Comm.plan()'s arguments."""
    what = member(Collective, collective, "collective")
    rows, columns = (1, 0) if isinstance(shape, int) else shape
    count = shape if isinstance(shape, int) else rows * columns
    tile_rows, tile_columns = (0, tile) if isinstance(tile, int) else tile
    kind = dtypes.dtype_of(dtype)
    return ffi.new("struct t3_plan_desc *", {
        "collective": what, "algorithm": member(Algorithm, algorithm, "algorithm"),
        "count": count, "dtype": kind, "op": dtypes.op_of(op) if what in REDUCTIONS else 0,
        "root": root, "path": member(Path, path, "path"), "columns": columns,
        "tile_rows": tile_rows, "tile_columns": tile_columns,
        "flags": (T3_PLAN_DETERMINISTIC if deterministic else 0) |
                 (T3_PLAN_WIDEN if widen else 0)}), About(kind, columns)


def member(kind: Any, name: str, what: str) -> Any:
    try:
        return kind[name.upper().replace("-", "_")]
    except KeyError:
        raise ValueError(f"{what} is {', '.join(kind.__members__).lower()}; got {name!r}") from None


class PlanSpace(BorrowedSpace):
    """The space of a plan, for GEMM jobs, statistics and descriptors. The plan owns it."""

    def __init__(self, plan: Plan) -> None:
        parent = plan._live()
        self._own(Handle(lib.t3_plan_space(parent.pointer), lambda _: 0, (parent,)))

    def __del__(self) -> None:
        self.close()  # it only borrows: forgetting it is fine


class Plan(Resource):
    """A collective that can run again and again, as Comm.plan() makes it.

    Each epoch is: start(), put() what this rank has, wait(). wait() returns the result, which is
    valid until the next start(). One thread at a time. After an Error other than a TimeoutError
    only close() is possible.
    """

    def __init__(self, handle: Handle, about: About) -> None:
        self._own(handle)
        self._about = about
        self._space: PlanSpace | None = None

    @classmethod
    def all_of(cls, comms: Sequence[Comm], collective: str, shape: int | tuple[int, int],
               dtype: DtypeLike = "float32", **options: Any) -> list[Plan]:
        """The plans of all ranks of Comm.local(), for one thread. Arguments as Comm.plan()."""
        desc, about = plan_desc(collective, shape, dtype, **options)
        return cls._all_by(comms, about, lambda array, ranks, out: lib.t3_plan_create_all(
            array, ranks, desc, out))

    @classmethod
    def all_uneven(cls, comms: Sequence[Comm], lengths: Iterable[Iterable[int]],
                   dtype: DtypeLike = "float32", columns: int = 0, **options: Any) -> list[Plan]:
        """The all-to-alls of all ranks of Comm.local(): rank i sends lengths[i][j] elements to j.

        A matrix of ranks x ranks. All else is as for Comm.plan_uneven().
        """
        desc, about = plan_desc("all_to_all", (0, columns) if columns else 0, dtype, **options)
        rows = [list(row) for row in lengths]
        if {len(rows), *map(len, rows)} != {len(comms)}:
            raise ValueError(f"lengths is a matrix of {len(comms)} x {len(comms)}; got {rows}")
        each = plan_lengths(zip(rows, zip(*rows)), len(comms))
        return cls._all_by(comms, about, lambda array, ranks, out: lib.t3_plan_create_all_uneven(
            array, ranks, desc, each[0], out))

    @classmethod
    def _all_by(cls, comms: Sequence[Comm], about: About,
                create: Callable[[Any, int, Any], int]) -> list[Plan]:
        handles = [comm._live() for comm in comms]
        array = ffi.new("struct t3_comm *[]", [handle.pointer for handle in handles])
        out = ffi.new("struct t3_plan *[]", len(handles))
        result = create(array, len(handles), out)
        if result:
            sentences = [string(lib.t3_comm_error(handle.pointer)) for handle in handles]
            raise errors.make(result, next(filter(None, sentences), ""), "plans")
        return [cls(Handle(out[index], lib.t3_plan_destroy, (comm,)), about)
                for index, comm in enumerate(handles)]

    def close(self) -> None:
        """End the plan. Its memory goes when the last array of a result has gone."""
        space, self._space = getattr(self, "_space", None), None
        if space is not None:
            space.close()
        super().close()

    # --- facts

    @property
    def space(self) -> PlanSpace:
        """The plan's space."""
        if self._space is None:
            self._space = PlanSpace(self)
        return self._space

    @property
    def epoch(self) -> int:
        """The epoch armed last, 0 for none."""
        return int(self._call(lib.t3_plan_epoch))

    def chunk(self, number: int) -> tuple[int, int]:
        """(first element, elements) of a chunk of the whole. Errors: ERANGE: no such chunk."""
        first, count = ffi.new("uint64_t *"), ffi.new("uint64_t *")
        self._check(self._call(lib.t3_plan_chunk, number, first, count), f"chunk {number}")
        return int(first[0]), int(count[0])

    def order(self) -> list[int]:
        """The chunks this rank has input for, in the order that overlaps best."""
        chunks: list[int] = []
        while (chunk := self._call(lib.t3_plan_order, len(chunks))) != T3_PLAN_NO_CHUNK:
            chunks.append(int(chunk))
        return chunks

    # --- an epoch

    def arm(self) -> None:
        """Release the last epoch and arm the next one. Errors: EBUSY: it was not waited for."""
        self._check(self._call(lib.t3_plan_arm), "arm")

    def ready(self, timeout: float | None = None) -> None:
        """Wait until the ranks that this one sends to are armed."""
        self._wait(lib.t3_plan_ready, lambda space, end: lib.t3_wait_armed(
            space, lib.t3_plan_epoch(self._live().pointer), end), timeout, "ready")

    def start(self, timeout: float | None = None) -> None:
        """arm(), unless that was done, and ready()."""
        result = self._call(lib.t3_plan_start, 0)
        if result and result != -errno.ETIMEDOUT:
            self._check(result, "start")
        if result:
            self.ready(timeout)

    def put(self, first: int, data: Any) -> None:
        """Put an array as elements first, first + 1, .. of the whole, as this rank's input.

        Order and length are free, and each element is put once in an epoch. Errors: ERANGE: the
        rank has no such input; EOVERFLOW: more than a tile has; EBUSY: not started.
        """
        self._live()
        array = dtypes.input_array(data, self._about.kind)
        self._check(self._call(lib.t3_plan_put, first, ffi.cast("void *", dtypes.address(array)),
                               array.size), f"put at {first}")

    def put_tile(self, chunk: int, tile: int, data: Any) -> None:
        """Put a tile of a chunk, an array of its rows and columns. Errors: as put()."""
        self._live()
        array = dtypes.input_array(data, self._about.kind)
        row = array.shape[-1] * array.itemsize if array.ndim else array.itemsize
        self._check_tile(chunk, tile, array)
        self._check(self._call(lib.t3_plan_put_tile, chunk, tile,
                               ffi.cast("void *", dtypes.address(array)), row),
                    f"put of tile {tile} of chunk {chunk}")

    def _check_tile(self, chunk: int, tile: int, array: Any) -> None:
        """C cannot see how long the array is."""
        place = ffi.new("struct t3_tile *")
        self._check(self._call(lib.t3_plan_tile, chunk, tile, place),
                    f"tile {tile} of chunk {chunk}")
        shape = place.rows, place.row_bytes // array.itemsize
        if array.shape != shape and not (shape[0] == 1 and array.shape == shape[1:]):
            raise ValueError(f"tile {tile} of chunk {chunk} has {shape} elements, and the array "
                             f"{array.shape}")

    def wait(self, timeout: float | None = None) -> np.ndarray[Any, Any]:
        """Wait for the result of this epoch, and return it.

        It is a read-only array of device memory, nothing is copied: a matrix if the plan has one,
        else flat. From the next arm() on it shows the next epoch. Errors: TimeoutError says which
        tile lacks what and which rank is late, and waiting again is allowed; PeerError; FaultError.
        """
        self._wait(lib.t3_plan_wait, lambda space, end: lib.t3_wait(
            space, lib.t3_plan_epoch(self._live().pointer), 0, Progress.DELIVERED, end), timeout,
            "wait")
        return self.result()

    def result(self) -> np.ndarray[Any, Any]:
        """The result that wait() returned. Errors: EBUSY: the epoch was not waited for."""
        data, size = ffi.new("void **"), ffi.new("uint64_t *")
        self._check(self._call(lib.t3_plan_result, data, size), "result")
        about = self._about
        memory = view_of(self._live(), data[0], size[0])
        array = array_of(memory, about.kind, size[0] // dtypes.SIZES[about.kind])
        array.flags.writeable = False
        return array.reshape(-1, about.columns) if about.columns else array

    def _wait(self, call: Callable[[Any, int], int], look: Callable[[Any, int], int],
              timeout: float | None, what: str) -> None:
        """A plan's own wait blames a rank when it times out: in the slices the space waits."""
        end = _waits.deadline(timeout)
        result = self._call(call, 0)
        if result == -errno.ETIMEDOUT and end:
            self._call(lambda pointer: _waits.in_slices(
                lambda part: look(lib.t3_plan_space(pointer), part), end))
            result = self._call(call, end)  # it ends at once, and says why
        self._check(result, what)

    def _check(self, result: int, what: str) -> None:
        if not result:
            return
        sentence = self._call(lambda pointer: string(lib.t3_plan_error(pointer)))
        raise errors.make(result, sentence, what, self._fault(result))

    def _fault(self, result: int) -> Fault | None:
        return self.space.fault if result == -errno.EIO else None
