# SPDX-License-Identifier: MIT
"""Exceptions: which class for which error, and what they carry."""

import builtins
import errno
import pickle

import pytest

import t3
from t3 import errors
from t3._names import FaultKind, Nak


def fault(kind):
    return t3.Fault(kind, Nak.NONE, 0, 1, 64, 2, 3, 100, "words")


@pytest.mark.parametrize("number, kind", [
    (errno.ETIMEDOUT, t3.TimeoutError), (errno.EPIPE, t3.PeerError), (errno.EIO, t3.FaultError),
    (errno.ENODEV, t3.DeviceGoneError), (errno.EINVAL, t3.Error), (errno.ENOSPC, t3.Error)])
def test_each_error_has_its_class(number, kind):
    made = errors.make(-number, "a sentence", "wait")
    assert type(made) is kind
    assert isinstance(made, OSError)
    assert made.errno == number
    assert str(made) == f"[Errno {number}] wait: a sentence"


def test_a_timeout_is_pythons_timeout():
    assert isinstance(errors.make(-errno.ETIMEDOUT), builtins.TimeoutError)


def test_without_a_sentence_errno_speaks():
    assert "Invalid argument" in str(errors.make(-errno.EINVAL))


def test_a_fault_carries_its_record():
    record = fault(FaultKind.OVERSHOOT)
    made = errors.make(-errno.EIO, "sentence", "wait", record)
    assert type(made) is t3.FaultError and made.fault is record


@pytest.mark.parametrize("kind", [FaultKind.PEER_DEAD, FaultKind.PEER_POISON])
def test_a_peers_fault_is_a_peer_error(kind):
    made = errors.make(-errno.EIO, "fault peer-dead; rank 2 has ended", "wait", fault(kind))
    assert type(made) is t3.PeerError
    assert made.rank == 2 and made.fault.kind is kind


@pytest.mark.parametrize("sentence, rank", [
    ("rank 3 has ended", 3), ("rank 1 has given up: rank 2 did not come in time", 2),
    ("all-reduce, rank 0, epoch 1: fault peer-dead; rank 7 faulted: overshoot", 7),
    ("all-reduce, rank 0, epoch 1: the space faulted", None), ("", None)])
def test_a_peer_error_names_the_rank_that_was_first(sentence, rank):
    assert errors.make(-errno.EPIPE, sentence).rank == rank


def test_a_refused_field_is_named_once():
    with pytest.raises(t3.Error) as caught:
        t3.Segment(0, 4, 4, updates=65)._desc()
    refusal = caught.value.refusal
    assert (refusal.struct, refusal.field, refusal.value) == ("t3_segment_desc", "updates", 65)
    assert refusal.ioctl == "" and refusal.index is None and refusal.allowed == "1 to 64"
    assert "t3_segment_desc.updates is 65; allowed: 1 to 64" in str(caught.value)
    assert pickle.loads(pickle.dumps(caught.value)).refusal == refusal
    assert errors.make(-errno.EINVAL).refusal is None
    with pytest.raises(t3.Error) as again:
        t3.Segment(0, 4, 4, updates=65)._desc()
    assert again.value.refusal == refusal


def test_exceptions_survive_pickling():
    made = errors.make(-errno.EPIPE, "rank 3 has ended", "barrier")
    again = pickle.loads(pickle.dumps(made))
    assert type(again) is t3.PeerError
    assert (again.errno, again.strerror, again.rank) == (made.errno, made.strerror, 3)


def test_a_newer_devices_number_is_no_error():
    assert int(FaultKind(99)) == 99 and FaultKind(99).name == "UNKNOWN_99"


def test_no_device_is_told_with_what_there_is():
    with pytest.raises(t3.Error, match="/dev/no-such-node") as caught:
        t3.Device("/dev/no-such-node")
    assert caught.value.errno == errno.ENOENT
