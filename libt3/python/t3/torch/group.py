# SPDX-License-Identifier: MIT
"""A group: its devices, gloo, and the calls of its collectives in their order."""

from __future__ import annotations

import datetime
import functools
import itertools
import operator
import os
import re
import sys
import threading
from typing import Any, Callable, Mapping, Sequence

import torch
import torch.distributed as dist

import t3
from t3.torch import counts, opening, recording
from t3.torch.collectives import Alone, Collectives, Flat
from t3.torch.device import Devices
from t3.torch.errors import Aborted, CollectiveError
from t3.torch.gloo import Gloo, as_bytes
from t3.torch.messages import Messages
from t3.torch.work import Job, Lane, Message, Work, plain_tensors

LINGER = 10.0  # seconds that a healthy rank waits at its end for the others
ALGORITHMS = ("auto", "ring", "direct", "hierarchical", "switch")
DEVICE = re.compile(r"device 0x([0-9a-f]+)")
LATE = re.compile(r"\brank (\d+)\b")

_numbers = itertools.count()


class Group:
    """The collectives of torch for one group, as calls that return at once.

    Ranks are those in the group. close() ends it.
    """

    def __init__(self, store: Any, rank: int, ranks: int, timeout: datetime.timedelta) -> None:
        self.rank, self.ranks, self.timeout = rank, ranks, timeout
        self.name = str(next(_numbers))
        self._devices: Devices | None = None
        self.gloo: Gloo | None = None
        self._messages: Messages | None = None
        self._has_device = False
        self._failure = ""
        self._maker = os.getpid()
        self._closing = threading.Lock()
        self._is_closed = False
        if ranks > 1:
            try:
                self._join(store)
            except BaseException:
                self._release()
                raise
        self._collectives = Collectives(rank, ranks, self._devices or self.gloo or Alone(),
                                        lambda: self.gloo)
        self._lane = Lane(f"t3-{self.name}")

    def _join(self, store: Any) -> None:
        """All ranks join, or all learn which one cannot."""
        seconds = self.timeout.total_seconds()
        algorithm = os.environ.get("T3_TORCH_ALGORITHM", "auto")
        device, widens = None, False
        try:
            if algorithm not in ALGORITHMS:
                raise RuntimeError(f"t3: T3_TORCH_ALGORITHM is {', '.join(ALGORITHMS)}; it is "
                                   f"{algorithm!r}")
            widens = wants_widening(os.environ, algorithm)
            device = opening.acquire(self.rank)
            self._has_device = device is not None
            state = f"device {device.info.features:#x}" if device else "none"
        except RuntimeError as error:
            state = str(error)
        meeting = Meeting(store, self.rank, self.ranks, self.timeout)
        features = common_features(meeting.gather("state", state), self.rank)
        self.name = meeting.gather("name", self.name)[0]  # ranks count the groups that they are in
        self.gloo = Gloo(dist.PrefixStore("t3/gloo", store), self.rank, self.ranks, self.timeout)
        self._messages = Messages(self.gloo.group, device, self.rank, seconds)
        if device is None or features is None:
            return
        if widens and not features & t3.Feature.WIDEN:
            raise RuntimeError("t3: T3_TORCH_WIDEN is 1, and a device of the group lacks widening "
                               "(see t3 info)")
        calls = itertools.count()
        try:
            comm = t3.Comm.from_all_gather(device, lambda mine: [
                bytes.fromhex(text) for text in meeting.gather(f"join/{next(calls)}", mine.hex())],
                self.rank, self.ranks, seconds)
            try:
                self._devices = Devices(comm, seconds, algorithm, features, widens=widens)
            except OSError:
                comm.close()
                raise
        except OSError as error:
            raise RuntimeError(f"t3: rank {self.rank} of {self.ranks} cannot join group "
                               f"{self.name}: {error}") from error

    # --- calls

    def submit(self, name: str, result: Any, call: Callable[[Collectives], Any],
               given: Sequence[torch.Tensor] = ()) -> Work:
        """The work of call(collectives), whose outcome is `result`. `given` is what it sends."""
        is_dry = False
        if recorder := recording.active():
            recorder.collective(name, self.ranks, given)
            is_dry = any(tensor.is_meta for tensor in given)
        in_rank_order = torch.are_deterministic_algorithms_enabled()
        job = Job(lambda: None if is_dry else self._run(name, call, in_rank_order),
                  lambda error: self._explain(name, error), result)
        try:
            self._lane.add(job)
        except Aborted as error:
            raise self._explain(name, error) from None
        return Work(job, self._lane, len(result) if name.endswith("_coalesced") else 1)

    def _run(self, name: str, call: Callable[[Collectives], Any], in_rank_order: bool) -> None:
        if self._failure:
            raise RuntimeError(f"an earlier collective of the group failed, destroy it: "
                               f"{self._failure}")
        with recording.hidden():
            self._collectives.run(name, lambda: call(self._collectives), in_rank_order)

    def send(self, tensors: Sequence[torch.Tensor], peer: int, tag: int) -> Work:
        tensor, = tensors
        with plain_tensors():
            data = as_bytes(Flat(tensor).data)
        what = f"send to rank {peer}, tag {tag}"
        self._record("send", tensor)
        wait = self._begin(what, lambda messages: messages.send(data, peer, tag))
        return Message(self._message("send", what, tensors, wait, []), lambda: self.rank)

    def receive(self, tensors: Sequence[torch.Tensor], peer: int | None, tag: int) -> Work:
        """From a rank, or from any."""
        tensor, = tensors
        with plain_tensors():
            flat = Flat(tensor)
            data = as_bytes(flat.data)
        what = f"recv from {'any rank' if peer is None else f'rank {peer}'}, tag {tag}"
        self._record("recv", tensor)
        wait, source = self._begin(what, lambda messages: messages.receive(data, peer, tag))
        work = Message(self._message("recv", what, tensors, wait, [flat]), source)
        if self._messages is not None and self._messages.is_long(data):
            work.begin()  # the sender waits for it, whatever this rank does meanwhile
        return work

    def _record(self, name: str, tensor: torch.Tensor) -> None:
        if recorder := recording.active():
            recorder.collective(name, self.ranks, [tensor])

    def _begin(self, what: str, start: Callable[[Messages], Any]) -> Any:
        """Messages match in the order of their calls: they have begun when this returns."""
        try:
            if self.ranks == 1:
                raise ValueError("a group of one rank has no other rank")
            if self._messages is None:
                raise Aborted("the group was aborted or destroyed")
            with plain_tensors(), recording.hidden():
                return start(self._messages)
        except (RuntimeError, ValueError) as error:
            raise self._explain(what, error) from error

    def _message(self, name: str, what: str, tensors: Sequence[torch.Tensor],
                 wait: Callable[[], str], flats: list[Flat]) -> Job:
        def finish() -> None:
            with recording.hidden():
                way = wait()
                for flat in flats:
                    flat.store()
            counts.count(name, way)

        return Job(finish, lambda error: self._explain(what, error), list(tensors))

    def monitored_barrier(self, timeout: datetime.timedelta | None, wait_all_ranks: bool) -> None:
        """Rank 0 names the rank, or all the ranks, that did not come in time."""
        if self.gloo is None:
            return
        try:
            self.gloo.group.monitored_barrier(timeout or self.timeout, wait_all_ranks)
        except RuntimeError as error:
            raise self._explain("monitored_barrier", error) from error

    def _explain(self, what: str, error: BaseException) -> BaseException:
        """The error with the names of collective, group and rank."""
        if isinstance(error, (CollectiveError, KeyboardInterrupt, SystemExit)):
            return error
        why = error.strerror if isinstance(error, t3.Error) else str(error)
        text = f"t3: {what} in group {self.name}, rank {self.rank} of {self.ranks}: {why}"
        if isinstance(error, (ValueError, TypeError)):
            return ValueError(text)
        self._failure = self._failure or f"{what}: {why}"
        return CollectiveError(text, what.split()[0], self.rank, peer_of(error))

    # --- the end

    def abort(self) -> None:
        """End calls that wait, here and, as this rank is gone, at the other ranks."""
        self.close(linger=0)

    def close(self, linger: float = LINGER) -> None:
        """End the group. The calls that were made before still run, if it lingers."""
        with self._closing:
            if self._is_closed:
                return
            if linger and not self._failure:
                self._lane.drain(linger)
            self._is_closed = True
        if self._devices is not None:
            self._devices.aborted = True
        self._lane.close(lambda: self._explain("call", Aborted("the group was aborted or "
                                                               "destroyed")))
        if self._lane.wait_until_idle(1.0) and self._devices is not None:
            self._devices.close(0 if self._failure else linger)
            self._devices = None
        self._release()

    def _release(self) -> None:
        if self._messages is not None:
            self._messages.close()
            self._messages = None
        if self.gloo is not None:
            self.gloo.close()
            self.gloo = None
        if self._has_device:
            self._has_device = False
            opening.release()

    def close_at_exit(self) -> None:
        """Without a wait for the others where this program ends by an exception.

        A forked child has a copy, whose threads are its parent's.
        """
        if os.getpid() == self._maker:
            self.close(0 if hasattr(sys, "last_type") else LINGER)


class Meeting:
    """An all-gather of texts by torch's store."""

    def __init__(self, store: Any, rank: int, ranks: int, timeout: datetime.timedelta) -> None:
        self._store, self._rank, self._ranks, self._timeout = store, rank, ranks, timeout

    def gather(self, key: str, mine: str) -> list[str]:
        """The text of each rank. Errors: RuntimeError names a rank that does not come."""
        self._store.set(f"t3/{key}/{self._rank}", mine)
        texts = []
        for peer in range(self._ranks):
            name = f"t3/{key}/{peer}"
            try:
                self._store.wait([name], self._timeout)
                texts.append(self._store.get(name).decode())
            except RuntimeError as error:
                raise RuntimeError(f"t3: rank {peer} of {self._ranks} did not come in "
                                   f"{self._timeout.total_seconds():g} seconds, says rank "
                                   f"{self._rank}: {error}") from error
        return texts


def wants_widening(environment: Mapping[str, str], algorithm: str) -> bool:
    """By T3_TORCH_WIDEN, which all ranks must have alike."""
    text = environment.get("T3_TORCH_WIDEN", "0")
    if text not in ("0", "1"):
        raise RuntimeError(f"t3: T3_TORCH_WIDEN is 0 or 1; it is {text!r}")
    if text == "1" and algorithm not in ("auto", "direct"):
        raise RuntimeError("t3: with T3_TORCH_WIDEN=1 T3_TORCH_ALGORITHM is auto or direct; it is "
                           f"{algorithm!r}")
    return text == "1"


def common_features(states: Sequence[str], rank: int) -> t3.Feature | None:
    """Of the devices of all ranks, or None without devices.

    Errors: RuntimeError: that of this rank, or else of the first rank that has one.
    """
    found = [DEVICE.fullmatch(state) for state in states]
    bad = [peer for peer, state in enumerate(states) if not found[peer] and state != "none"]
    if bad:
        raise RuntimeError(states[rank if rank in bad else bad[0]])
    numbers = [int(one[1], 16) for one in found if one]
    if not numbers:
        return None
    if len(numbers) < len(states):
        raise RuntimeError(f"t3: T3_TORCH_DEVICE is none at rank {states.index('none')} and not at "
                           f"rank {next(peer for peer, one in enumerate(found) if one)}")
    return t3.Feature(functools.reduce(operator.and_, numbers))


def peer_of(error: BaseException) -> int | None:
    """The rank that an error of libt3 blames."""
    if isinstance(error, t3.PeerError):
        return error.rank
    if not isinstance(error, (t3.TimeoutError, t3.FaultError)):
        return None
    found = LATE.findall(error.strerror or "")
    return int(found[-1]) if found else None
