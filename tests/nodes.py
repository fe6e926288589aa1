#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Nodes of t3-vm without a VM: who a node is, where nodes meet, and their lines; TAP on stdout.

usage: nodes.py [NAME...]     (default: all tests)
"""

import argparse
import contextlib
import fcntl
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from unittest import mock

import loop
from loop import ROOT, VM, check, expect, run

sys.path.insert(0, str(ROOT / "tools/vm"))
import vm_cluster  # pylint: disable=wrong-import-position
import vm_meet  # pylint: disable=wrong-import-position
import vm_node  # pylint: disable=wrong-import-position
import vm_process  # pylint: disable=wrong-import-position
import vm_span  # pylint: disable=wrong-import-position
import vm_who  # pylint: disable=wrong-import-position
from vm_base import VmError  # pylint: disable=wrong-import-position
from vm_lines import LINE_MAX, Lines  # pylint: disable=wrong-import-position


def refusal(function, *arguments):
    try:
        function(*arguments)
    except VmError as error:
        return str(error)
    return ""


# --- who a node is -----------------------------------------------------------

OMPI = {"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "4", "PMIX_RANK": "1"}
SLURM = {"SLURM_PROCID": "2", "SLURM_NTASKS": "3", "SLURM_JOB_ID": "7", "SLURM_STEP_ID": "0"}
TORCH = {"RANK": "0", "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "1234"}


def launchers_say_who_a_node_is():
    """Options decide, then the innermost launcher."""
    for node, nodes, environ, wanted in (
            (None, None, OMPI, (1, 4)), (None, None, SLURM, (2, 3)), (None, None, TORCH, (0, 2)),
            (None, None, {**SLURM, **OMPI}, (1, 4)), (None, 8, {"PMIX_RANK": "5"}, (5, 8)),
            (1, 2, OMPI, (1, 2)), (3, None, OMPI, (3, 4)), (0, 1, {}, (0, 1)), (31, 32, {}, (31, 32))):
        found = vm_who.identity(node, nodes, environ)
        check(found == wanted, f"{node} {nodes} {environ}: {found}, not {wanted}")


def unsound_nodes_are_refused():
    for node, nodes, environ, said in (
            (None, None, {}, "--node is missing"),
            (0, None, {"PMIX_RANK": "0"}, "--nodes is missing"),
            (2, 2, {}, "0 to 1; got 2"), (-1, 2, {}, "got -1"), (0, 0, {}, "1 to 32 nodes"),
            (0, 33, {}, "1 to 32 nodes"),
            (None, None, {**TORCH, "RANK": "x"}, "RANK must be a whole number"),
            (None, None, {**OMPI, "OMPI_COMM_WORLD_LOCAL_SIZE": "2"}, "on one machine"),
            (None, None, {**SLURM, "SLURM_STEP_NUM_NODES": "2"}, "on one machine")):
        found = refusal(vm_who.identity, node, nodes, environ)
        check(said in found, f"{node} {nodes} {environ}: no '{said}'", found)


def a_job_has_a_folder_of_its_own():
    for environ, end in ((SLURM, "7-0"), (TORCH, "127.0.0.1-1234"),
                         ({**SLURM, "PMIX_NAMESPACE": "prte@a/1"}, "prte_a_1")):
        found = vm_who.meeting_folder(None, {**environ, "XDG_RUNTIME_DIR": "/nonexistent"})
        check(str(found) == f"/tmp/t3-vm-{os.getuid()}-{end}", "the folder", found)
    check("--meet DIR" in refusal(vm_who.meeting_folder, None, OMPI), "no job, no folder")
    with tempfile.TemporaryDirectory() as name:
        found = vm_who.meeting_folder(None, {**SLURM, "XDG_RUNTIME_DIR": name})
        check(found.parent == pathlib.Path(name), "the user's own folder", found)


# --- where they meet ---------------------------------------------------------

@contextlib.contextmanager
def place():
    with tempfile.TemporaryDirectory() as name:
        yield pathlib.Path(name) / "meet"


def nodes_meet_and_leave_nothing():
    with place() as folder:
        with vm_meet.meeting(folder, 0, 2) as zero:
            check(zero.missing("nodes") == [1], "node 1 is not there")
            with vm_meet.meeting(folder, 1, 2) as one:
                zero.await_all(5)
                check(folder.stat().st_mode & 0o777 == 0o700, "others may look into it")
                one.say("up")
                check(zero.missing("up") == [0] and not zero.failure(), "node 1 is up")
                one.say("done 0")
                one.left = "left 0"
            check(folder.exists() and not zero.failure(), "node 1 left, all is well")
        check(not folder.exists(), "the folder is left")


def failures_are_told_apart():
    for said, wanted in ((["done 7"], (1, 7, "ended with status 7")),
                         (["left 124"], (1, 124, "ended with status 124")),
                         (["up"], (1, 125, "was killed")), (["followed 7"], None),
                         (["done 0", "left 0"], None)):
        with place() as folder, vm_meet.meeting(folder, 0, 2) as zero:
            one = vm_meet.Meeting(folder, 1, 2)
            one.join()
            zero.await_all(5)
            for line in said:
                one.say(line)
            one.close()
            found = zero.failure()
            check(found == wanted, f"{said}: {found}, not {wanted}")


def two_nodes_cannot_have_one_number():
    with place() as folder, vm_meet.meeting(folder, 0, 2) as zero:
        check("already in" in refusal(vm_meet.meeting(folder, 0, 2).__enter__), "a second node 0")
        with vm_meet.meeting(folder, 1, 3):
            check("node 1 is one of 3 nodes" in refusal(zero.await_all, 5), "another count")


def who_does_not_come_is_named():
    with place() as folder, vm_meet.meeting(folder, 1, 3) as one:
        said = refusal(one.await_all, 0.2)
        check(f"nodes 0, 2 did not come to {folder}" in said, "who is missing", said)


def what_killed_nodes_left_is_ignored():
    with place() as folder:
        folder.mkdir(mode=0o700)
        for node in (0, 1):
            (folder / f"node-{node}").write_text("nodes 2\nup\ndone 9\n")
        (folder / "net-0").touch()
        with vm_meet.meeting(folder, 0, 2) as zero:
            check(zero.missing("nodes") == [1] and not zero.failure(), "an old node 1 is taken for one")
        check(not folder.exists(), "the folder is left")


def a_folder_that_others_may_use_is_refused():
    with place() as folder:
        folder.mkdir(mode=0o755)
        check("not a folder of yours alone" in refusal(vm_meet.meeting(folder, 0, 1).__enter__),
              "mode 755")
        (folder / "mine").touch()
        folder.chmod(0o700)
        with vm_meet.meeting(folder, 0, 1):
            pass
        check([path.name for path in folder.iterdir()] == ["mine"], "a file of the user's goes")
    with place() as folder:
        folder.symlink_to("/tmp")
        check("not a folder of yours" in refusal(vm_meet.meeting(folder, 0, 1).__enter__), "a link")
        long = folder.parent / ("x" * 100)
        check("too long" in refusal(vm_meet.meeting(long, 0, 1).__enter__), "the path of a socket")


def follower(folder, place, **more):
    """A node whose guest's control lines are a file, and what it has answered to them."""
    opts = argparse.Namespace(**{"node": place.node, "timeout": 1, "grace": 0.5, **more})
    answers = []
    return vm_node.Node(opts, place, folder, answers.append), answers


def a_command_begins_and_a_vm_ends_when_all_are_there():
    """Also where a line of the guest is not complete yet."""
    with place() as folder, tempfile.TemporaryDirectory() as name, \
            vm_meet.meeting(folder, 0, 2) as zero, vm_meet.meeting(folder, 1, 2) as one:
        zero.await_all(5)
        node, answers = follower(pathlib.Path(name), zero)
        for said, other, wanted in (("", "", []), ("up\n", "", []), ("", "up", ["go"]),
                                    ("done", "", ["go"]), (" 0", "", ["go"]), ("\n", "", ["go"]),
                                    ("", "done 0", ["go", "end"])):
            with open(f"{name}/control", "a", encoding="utf-8") as control:
                control.write(said)
            if other:
                one.say(other)
            node.step()
            check(answers == wanted, f"after '{said}' and '{other}'", answers)


def a_node_that_is_done_gives_others_their_time():
    with place() as folder, vm_meet.meeting(folder, 0, 1) as zero:
        node, _ = follower(folder, zero)
        for phase, seconds, late in ((vm_node.RUNS, 0.5, False), (vm_node.RUNS, 1.1, True),
                                     (vm_node.STAYS, 1.1, False), (vm_node.ENDS, 1.1, False),
                                     (vm_node.STAYS, 2.6, True), (vm_node.ENDS, 2.6, True)):
            node.phase, node.start = phase, time.monotonic() - seconds
            check(node.late() == late, f"phase {phase} after {seconds} s", node.late())


def a_failure_has_its_grace_and_its_status():
    with place() as folder, vm_meet.meeting(folder, 0, 2) as zero:
        with vm_meet.meeting(folder, 1, 2) as one:
            zero.await_all(5)
            one.left = "left 9"
        node, _ = follower(folder, zero, grace=0.2)
        node.look_at_others()  # now the time runs
        time.sleep(0.3)
        said = refusal(node.look_at_others)
        check(said == "node 1 ended with status 9, so node 0 is ended, too", "why", said)
        check(zero.left == "followed 9", "its last word", zero.left)
        node.phase = vm_node.STAYS
        node.look_at_others()  # it has done its part


def a_node_that_is_started_again_has_not_failed():
    """Within the time of grace. What it said before no longer counts."""
    with place() as folder, vm_meet.meeting(folder, 0, 2) as zero:
        with vm_meet.meeting(folder, 1, 2) as one:
            one.say("up")
            zero.await_all(5)
            one.left = "left 9"
        node, _ = follower(folder, zero, grace=0.2)
        node.look_at_others()
        with vm_meet.meeting(folder, 1, 2) as one:
            time.sleep(0.3)
            node.look_at_others()
            check(not node.failed and zero.missing("up") == [0, 1], "the new node 1", node.failed)
            one.left = "left 8"
        node.look_at_others()
        check(node.failed == (1, 8, "ended with status 8"), "it fails again", node.failed)


def came(folder, node):
    """The node comes to the folder. Returns the meeting as a context, and its part of the fabric."""
    opts = argparse.Namespace(node=node, nodes=2, ranks=1, no_devices=False, own_fabrics=False)
    return vm_meet.meeting(folder, node, 2, lambda folder: vm_span.facts(opts, folder))


def node_0_comes_back_to_its_fabric():
    """However it ended, as long as another node is there. Nobody else may read the identity."""
    with place() as folder:
        with came(folder, 1) as one:
            seen = set()
            for left in ("left 125", "followed 125", "left 0"):
                with came(folder, 0) as zero:
                    seen.add(zero.fact(0, "fabric"))
                    check(one.missing("fabric") == [1] and one.fact(0, "fabric") in seen, "node 1 sees it")
                    mode = (folder / "fabric-uuid").stat().st_mode & 0o777
                    check(mode == 0o600, f"mode {mode:o}")
                    zero.left = left
                one.failure()  # it looks whether node 0 has come again
            check(len(seen) == 1, "one fabric", seen)
        check(not folder.exists(), "the folder is left")


def a_fabric_of_a_killed_job_is_not_taken_again():
    """Whoever comes first. The old identity is whole, cut off, or a link."""
    old = "6f1d2c3e-0000-4000-8000-0123456789ab"
    for first, text in ((0, f"{old}\n"), (1, f"{old}\n"), (1, old[:7]), (1, None)):
        with place() as folder:
            folder.mkdir(mode=0o700)
            if text is None:
                (folder / "fabric-uuid").symlink_to("/etc/hostname")
            else:
                (folder / "fabric-uuid").write_text(text)
            (folder / "node-0").write_text(f"ranks 1\nfabric {old}\nnodes 2\nup\n")
            (folder / ".fabric.new").touch()
            with came(folder, first), came(folder, 1 - first) as second:
                found = second.fact(0, "fabric")
            check(found != old and re.fullmatch("[0-9a-f-]{36}", found), f"node {first} first: {found}")


@contextlib.contextmanager
def output_pipe():
    """A text file like sys.stdout, and the pipe's end to read from."""
    read, write = os.pipe()
    os.set_blocking(read, False)
    with open(read, "rb", buffering=0) as pipe, open(write, "w", encoding="ascii") as output:
        yield output, pipe


def lines_stay_whole():
    read, write = os.pipe()
    with open(read, "rb", buffering=0) as pipe, output_pipe() as (output, shown):
        fcntl.fcntl(output, fcntl.F_SETPIPE_SZ, 2 * LINE_MAX)
        lines = Lines(pipe, output, "n: ")
        for text, wanted in ((b"a", b""), (b"b\nc\r\nd", b"n: ab\nn: c\r\n"),
                             (b"x" * (LINE_MAX - 8), b""), (b"x" * 8, b"n: d" + b"x" * LINE_MAX + b"\n"),
                             (b"\n\ne", b"n: \nn: \n")):
            os.write(write, text)
            got = b""
            for _ in range(4):  # reads
                lines.take()
                got += shown.read() or b""
            check(got == wanted, "lines", got[:80])
        os.close(write)
        lines.drain()
        got = shown.read()
        check(got == b"n: e\n", "the last line", got)


def read_all(pipe, into):
    os.set_blocking(pipe.fileno(), True)
    into.append(pipe.readall())


@contextlib.contextmanager
def cluster_without_reader(*commands):
    """A cluster of such processes and, called, what its stdout gets: read from that call on."""
    got = []
    with output_pipe() as (output, shown), mock.patch("sys.stdout", output), \
            mock.patch("vm_cluster.END_SECONDS", 0.3):
        reader = threading.Thread(target=read_all, args=(shown, got))
        cluster = vm_cluster.Cluster([["sh", "-c", command] for command in commands])
        yield cluster, reader.start
        cluster.end()
        output.close()
        reader.join()
        cluster.shown = got[0].decode().splitlines()


def a_reader_who_stops_does_not_stop_the_clock():
    with cluster_without_reader("exit 7", "exec yes yyy") as (cluster, read):
        cluster.run(0.2)
        check(cluster.statuses == {0: 7}, "the other one is left to be ended", cluster.statuses)
        read()
    check(set(cluster.shown) == {"node1: yyy"} and cluster.statuses == {0: 7, 1: 128 + 15}, "lines are whole",
          (cluster.statuses, set(cluster.shown)))


def a_reader_who_pauses_gets_all():
    with cluster_without_reader("seq 1 50000", "seq 1 50000; printf end") as (cluster, read):
        threading.Timer(0.5, read).start()
        cluster.run(5)
        check(cluster.statuses == {0: 0, 1: 0}, "both end", cluster.statuses)
    for node, last in ((0, []), (1, ["node1: end"])):
        lines = [line for line in cluster.shown if line.startswith(f"node{node}: ")]
        check(lines == [f"node{node}: {i}" for i in range(1, 50001)] + last, f"node {node}", lines[-3:])
    check(len(cluster.shown) == 100001, "no other lines", len(cluster.shown))


def wrong_use_is_told():
    for arguments, said in ((["cluster"], "cluster needs a command"),
                            (["cluster", "--nodes", "33", "--", "true"], "1 to 32 nodes"),
                            (["cluster", "--nodes", "0", "--", "true"], "1 to 32 nodes"),
                            (["cluster", "--nodes", "5", "--ranks", "8", "--", "true"],
                             "5 nodes with 8 devices each are 40 ranks: a fabric has at most 32"),
                            (["cluster", "--iommu", "--", "true"], "--own-fabrics gives each node"),
                            (["cluster", "--fabric-opts", "record=/tmp/x", "--", "true"],
                             "--fabric-opts record= is not for a fabric of several nodes"),
                            (["cluster", "--fabric-opts", "timed=on,iothread=", "--", "true"],
                             "--fabric-opts iothread= is not for a fabric of several nodes"),
                            (["cluster", "--grace", "-1", "--", "true"], "--grace must be"),
                            (["cluster", "--node-timeout", "0.9", "--", "true"],
                             "--node-timeout must be 1 to 60 seconds; got 0.9"),
                            (["cluster", "--node-timeout", "61", "--", "true"], "must be 1 to 60 seconds"),
                            (["cluster", "--node-timeout", "nan", "--", "true"], "must be 1 to 60 seconds"),
                            (["cluster", "--node-timeout", "9", "--own-fabrics", "--", "true"],
                             "--node-timeout is for a fabric of several nodes"),
                            (["cluster", "--fabric-opts", "timed=on,node-timeout=9000", "--", "true"],
                             "is the option --node-timeout, in seconds"),
                            (["cluster", "--meet", "/tmp/x", "--", "true"], "--meet"),
                            (["node", "--node", "0", "--nodes", "2", "--", "true"], "--meet DIR"),
                            (["node", "--nodes", "2", "--", "true"], "--node is missing")):
        clean = {name: "" for names in (*vm_who.LAUNCHERS, *vm_who.JOBS) for name in names if name}
        expect(run(VM, *arguments, env=clean), 126, re.escape(said))


def one_fabric_has_the_ranks_of_all_nodes():
    """In their order, with addresses that differ, and in JSON with numbers and truths."""
    span = vm_span.Span(pathlib.Path("/x"), 1, [2, 3, 1], "some-uuid")
    check((span.ranks, span.first) == (6, 2), "the place of node 1", vars(span))
    *_, text = span.fabric_object("f0", "topology=full,ranks=6,timed=on,workers=0,inject=drop rank=1")
    wanted = {"qom-type": "t3-fabric", "id": "f0", "topology": "full", "ranks": 6, "timed": True,
              "workers": 0, "inject": "drop rank=1", "iothread": "io-f0", "node": 1, "uuid": "some-uuid",
              "nodes": [{"ranks": ranks, "address": {"type": "unix", "path": f"/x/fabric-{node}"}}
                        for node, ranks in enumerate((2, 3, 1))]}
    check(json.loads(text) == wanted, "the object", text)
    span = vm_span.Span(pathlib.Path("/x"), 1, [2, 3, 1], "some-uuid", 1.5)
    *_, text = span.fabric_object("f0", "topology=full,ranks=6,timed=on,workers=0,inject=drop rank=1")
    check(json.loads(text) == {**wanted, "node-timeout": 1500}, "the object", text)
    check(span.device_properties("memory-size=64M") == ",keys=fabric", "keys are allowed")
    check(not span.device_properties("keys=off"), "the user's word on keys")


def a_node_does_not_outlive_its_launcher():
    """Here it waits for a node that never comes."""
    with place() as folder:
        command = f"{VM} node --meet {folder} --ranks 1 -- true; true"
        with subprocess.Popen(["sh", "-c", command], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE,
                              text=True, env={**os.environ, **TORCH}) as launcher:
            end = time.monotonic() + 20
            while not (folder / "node-0").exists():
                check(time.monotonic() < end, "the node does not come")
                time.sleep(0.05)
            launcher.kill()
            said = launcher.communicate(timeout=60)[1]  # until the node closes it
        check("the launcher is gone, so node 0 is ended" in said, "what it says", said)
        check(not folder.exists(), "the folder is left")


class InterruptedLock:
    """A signal comes when the lock is taken, and before anybody can give it back."""

    def __init__(self, lock):
        self.lock, self.release = lock, lock.release

    def acquire(self, *arguments):
        got = self.lock.acquire(*arguments)
        os.kill(os.getpid(), signal.SIGTERM)
        return got


def a_signal_leaves_no_process_locked():
    """Popen.poll() by itself would leave its lock held, and wait() then waited for ever."""
    def on_signal(_number, _frame):
        raise InterruptedError
    before = signal.signal(signal.SIGTERM, on_signal)
    try:
        with subprocess.Popen(["sleep", "100"]) as process:
            lock = process._waitpid_lock  # pylint: disable=protected-access
            process._waitpid_lock = InterruptedLock(lock)  # pylint: disable=protected-access
            try:
                vm_process.ended(process)
                check(False, "the signal got lost")
            except InterruptedError:
                pass
            check(not lock.locked(), "the lock is left held")
            process._waitpid_lock = lock  # pylint: disable=protected-access
            check(not vm_process.ended(process), "it has ended")
            process.kill()
            process.wait()
            check(vm_process.ended(process) and not signal.pthread_sigmask(signal.SIG_BLOCK, ()), "its end")
    finally:
        process.kill()
        signal.signal(signal.SIGTERM, before)


def a_cluster_names_the_node_that_failed_by_itself():
    """Also when one that followed it has ended before, and has been seen before."""
    with place() as folder:
        folder.mkdir()
        for first in (0, 1):
            words = ["nodes 2\nup\ndone 7\nleft 7\n", "nodes 2\nup\nfollowed 7\n"]
            for node in (0, 1):
                (folder / f"node-{node}").write_text(words[node ^ first])
            for order in ((0, 1), (1, 0)):
                cluster = vm_cluster.Cluster([["sh", "-c", f"sleep {0.5 * order.index(node)}; exit 7"]
                                              for node in (0, 1)])
                cluster.run(1)
                cluster.end()
                check(cluster.first(folder) == first, f"{order}: node {cluster.first(folder)}")
        (folder / "node-1").unlink()
        check(cluster.first(folder) == 1, "without a word from it")
        cluster.failed = [0]
        check(cluster.first(folder) == 0, "nobody else has failed")
        cluster.failed = []
        check(cluster.first(folder) is None, "nobody has failed")


TESTS = [launchers_say_who_a_node_is, unsound_nodes_are_refused, a_job_has_a_folder_of_its_own,
         nodes_meet_and_leave_nothing, failures_are_told_apart, two_nodes_cannot_have_one_number,
         who_does_not_come_is_named, what_killed_nodes_left_is_ignored,
         a_folder_that_others_may_use_is_refused,
         a_command_begins_and_a_vm_ends_when_all_are_there,
         a_node_that_is_done_gives_others_their_time, a_failure_has_its_grace_and_its_status,
         a_node_that_is_started_again_has_not_failed, node_0_comes_back_to_its_fabric,
         a_fabric_of_a_killed_job_is_not_taken_again, lines_stay_whole,
         a_reader_who_stops_does_not_stop_the_clock, a_reader_who_pauses_gets_all, wrong_use_is_told,
         one_fabric_has_the_ranks_of_all_nodes, a_signal_leaves_no_process_locked,
         a_cluster_names_the_node_that_failed_by_itself,
         a_node_does_not_outlive_its_launcher]

if __name__ == "__main__":
    sys.exit(loop.main(TESTS))
