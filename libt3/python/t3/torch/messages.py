# SPDX-License-Identifier: MIT
"""send and recv: short messages by gloo, and long ones by the devices of both ranks.

gloo has tags and receives from any rank. So a long message begins with a note by gloo, which has
the message's tag and a number. The receiver answers, in the order in which it takes messages, with
that number. Then both ranks run a broadcast on a communicator of their own, for this direction.
"""

from __future__ import annotations

import os
import queue
import threading
from typing import Any, Callable

import torch

import t3
from t3._names import Feature
from t3.torch import counts
from t3.torch.device import Devices
from t3.torch.errors import Aborted, NoWay

LONG = 16384  # bytes, from which on a message goes by the devices
PIECE = 1 << 18  # bytes of a plan: there may be many channels
# Tags that programs do not use.
ANSWER, DATA = 0x7fff0001, 0x7fff0003
JOIN, JOIN_REPLY = 0x7fff0002, 0x7fff0004  # two, as the channel the other way may join meanwhile


def long_from() -> int:
    """By T3_TORCH_MESSAGE_MIN, which all ranks must have alike."""
    text = os.environ.get("T3_TORCH_MESSAGE_MIN", str(LONG))
    if not text.isdecimal():
        raise RuntimeError(f"t3: T3_TORCH_MESSAGE_MIN is a number of bytes; it is {text!r}")
    return int(text)


class Channel:
    """The way of long messages from one rank to another one, as one of them has it."""

    def __init__(self, gloo: Any, device: t3.Device | None, rank: int, peer: int, is_sender: bool,
                 seconds: float) -> None:
        self._gloo, self._device, self._seconds = gloo, device, seconds
        self._rank, self._peer, self._is_sender = rank, peer, is_sender
        self._pair: Devices | None = None
        self.lock = threading.Lock()

    def carry(self, data: torch.Tensor) -> str:
        """Both ranks call it in one order, with the lock held. Returns the way."""
        try:
            self._devices().broadcast(data, 0)
            return counts.DEVICE
        except NoWay:
            if self._is_sender:
                self._gloo.send([data], self._peer, DATA).wait()
            else:
                self._gloo.recv([data], self._peer, DATA).wait()
            return counts.GLOO

    def _devices(self) -> Devices:
        if self._device is None:
            raise NoWay("there is no device")
        if self._pair is None:
            comm = t3.Comm.from_all_gather(self._device, self._gather, 0 if self._is_sender else 1,
                                           2, self._seconds)
            self._pair = Devices(comm, self._seconds, "auto", Feature(0), plans=2, piece=PIECE)
        return self._pair

    def _gather(self, mine: bytes) -> list[bytes]:
        """The sender tells first."""
        theirs = torch.empty(len(mine), dtype=torch.uint8)
        text = torch.frombuffer(bytearray(mine), dtype=torch.uint8)
        if self._is_sender:
            self._gloo.send([text], self._peer, JOIN).wait()
            self._gloo.recv([theirs], self._peer, JOIN_REPLY).wait()
            return [mine, bytes(theirs.tolist())]
        self._gloo.recv([theirs], self._peer, JOIN).wait()
        self._gloo.send([text], self._peer, JOIN_REPLY).wait()
        return [bytes(theirs.tolist()), mine]

    def abort(self) -> None:
        if self._pair is not None:
            self._pair.aborted = True

    def close(self) -> None:
        if self._pair is not None and self.lock.acquire(timeout=1.0):
            self._pair.close(0)
            self._pair = None
            self.lock.release()


class Outgoing(Channel):
    """It has a thread, which waits for the receiver's answers."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._sent: dict[int, tuple[torch.Tensor, Slip]] = {}
        self._due: queue.SimpleQueue[bool] = queue.SimpleQueue()
        self._next = 0
        threading.Thread(target=self._serve, name=f"t3-to-{self._peer}", daemon=True).start()

    def send(self, data: torch.Tensor, tag: int) -> Slip:
        """Begin to send. The slip has the outcome."""
        slip = Slip()
        with self.lock:
            number, self._next = self._next, self._next + 1
            self._sent[number] = data, slip
        note = torch.tensor([number, data.numel()])
        slip.keep(note, self._gloo.send([note], self._peer, tag))
        self._due.put(True)
        return slip

    def _serve(self) -> None:
        while self._due.get():
            try:
                self._answer()
            except BaseException as error:  # pylint: disable=broad-except
                self._fail(error)
                return

    def _answer(self) -> None:
        answer = torch.empty(2, dtype=torch.int64)
        self._gloo.recv([answer], self._peer, ANSWER).wait()
        number, size = answer.tolist()
        with self.lock:
            data, slip = self._sent[number]
            if size == data.numel():
                slip.finish(way=self.carry(data))
            else:
                slip.finish(error=ValueError(f"the tensor has {data.numel()} bytes, and that of "
                                             f"rank {self._peer} has {size}"))
            del self._sent[number]

    def _fail(self, error: BaseException) -> None:
        for _, slip in list(self._sent.values()):
            slip.finish(error=error)

    def close(self) -> None:
        self._due.put(False)
        self._fail(Aborted("the group was aborted or destroyed"))
        super().close()


class Incoming(Channel):
    def take(self, number: int, size: int, data: torch.Tensor) -> str:
        """The message with this number, of that many bytes. Returns the way."""
        answer = torch.tensor([number, data.numel()])
        with self.lock:
            self._gloo.send([answer], self._peer, ANSWER).wait()
            if size != data.numel():
                raise ValueError(f"rank {self._peer} sends {size} bytes, and the tensor has "
                                 f"{data.numel()}")
            return self.carry(data)


class Slip:
    """The outcome of a message that another thread sends."""

    def __init__(self) -> None:
        self._done = threading.Event()
        self._error: BaseException | None = None
        self._way = ""
        self._kept: tuple[Any, ...] = ()

    def keep(self, *things: Any) -> None:
        """gloo reads them until the message has gone."""
        self._kept = things

    def finish(self, way: str = "", error: BaseException | None = None) -> None:
        if not self._done.is_set():
            self._way, self._error = way, error
            self._done.set()

    def wait(self) -> str:
        """The way that it went."""
        self._done.wait()
        if self._error is not None:
            raise self._error
        return self._way


class Messages:
    """send and recv of a group. Each begins in the order of the calls."""

    def __init__(self, gloo: Any, device: t3.Device | None, rank: int, seconds: float) -> None:
        self._gloo, self._device = gloo, device
        self._rank, self._seconds = rank, seconds
        self._long_from = long_from()
        self._out: dict[int, Outgoing] = {}
        self._in: dict[int, Incoming] = {}
        self._lock = threading.Lock()

    def is_long(self, data: torch.Tensor) -> bool:
        return data.numel() >= max(1, self._long_from)

    def send(self, data: torch.Tensor, peer: int, tag: int) -> Callable[[], str]:
        """Begin, and return what waits for the end and says the way."""
        if not self.is_long(data):
            begun = self._gloo.send([not_empty(data)], peer, tag)

            def wait() -> str:
                begun.wait()
                return counts.GLOO

            return wait
        with self._lock:
            channel = self._out.get(peer)
            if channel is None:
                channel = self._out[peer] = Outgoing(*self._channel(peer, True))
        return channel.send(data, tag).wait

    def receive(self, data: torch.Tensor, peer: int | None,
                tag: int) -> tuple[Callable[[], str], Callable[[], int]]:
        """The same, and what says whose message it was."""
        note = torch.empty(2, dtype=torch.int64) if self.is_long(data) else None
        text = not_empty(data) if note is None else note
        begun = (self._gloo.recv_anysource([text], tag) if peer is None
                 else self._gloo.recv([text], peer, tag))

        def source() -> int:
            return int(begun._source_rank()) if peer is None else peer

        def wait() -> str:
            begun.wait()
            if note is None:
                return counts.GLOO
            number, size = note.tolist()
            return self._incoming(source()).take(number, size, data)

        return wait, source

    def _incoming(self, peer: int) -> Incoming:
        with self._lock:
            if peer not in self._in:
                self._in[peer] = Incoming(*self._channel(peer, False))
            return self._in[peer]

    def _channel(self, peer: int, is_sender: bool) -> tuple[Any, ...]:
        return self._gloo, self._device, self._rank, peer, is_sender, self._seconds

    def close(self) -> None:
        for channel in (*self._out.values(), *self._in.values()):
            channel.abort()
        for channel in (*self._out.values(), *self._in.values()):
            channel.close()
        self._gloo = None


def not_empty(data: torch.Tensor) -> torch.Tensor:
    """gloo sends at least a byte."""
    return data if data.numel() else torch.zeros(1, dtype=torch.uint8)
