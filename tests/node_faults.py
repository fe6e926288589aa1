#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Faults of one node of a cluster, while a job runs over all: each rank gets an error or goes on,
nobody hangs, and the next job gives the right sums. TAP on stdout. cluster_wide.py runs them over
more nodes.

usage: node_faults.py [NAME...]     (default: all tests)
"""

import contextlib
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time

import loop
from loop import BUILD, ROOT, VM, check, run_folder

GUEST = pathlib.Path(os.environ.get("T3_GUEST", BUILD))  # what depends on the kernel
SILENCE = 8  # longer than a connection without a word lasts (SPEC.md 16.1)


class Shape:
    """Of the clusters: cluster_wide.py sets another one."""
    nodes, ranks = 2, 2  # ranks of each node
    slow = 1  # so many times the time of two nodes with two ranks
    program = "node_ranks"  # which must succeed after the fault


def seconds():
    return 300 * Shape.slow


def come_back():
    return f"for i in $(seq 8); do {Shape.program} && echo good again && exit; sleep 1; done; exit 1"


# A job in the background has come far enough, or has ended.
IN_THE_MIDDLE = ("until grep -q 'state=ARM.* epoch=[2-9]' /sys/kernel/debug/accel/*/spaces || ! kill -0 $!; do "
                 "sleep 0.2; done; echo begun")


def far_job(timeout):
    """Over all nodes. It ends with an error."""
    return (f"t3 gemm-rs --nodes --ranks {Shape.nodes * Shape.ranks} --iters 100000 --timeout {timeout} "
            ">/tmp/out 2>&1")


def job():
    return (f"{far_job(seconds() // 2)} & {IN_THE_MIDDLE}; wait $!; "
            f'echo "job: $? $(tail -n 1 /tmp/out)"; {come_back()}')


class Node:
    """A t3-vm node, whose output is read line by line."""

    def __init__(self, number, meet, name, script, *options):
        self.folder = run_folder(name) / f"node{number}"
        self.process = subprocess.Popen(
            [VM, "node", "--node", str(number), "--nodes", str(Shape.nodes), "--ranks", str(Shape.ranks),
             "--meet", meet, "--name", name, "--grace", str(seconds()), "--timeout", str(seconds()),
             "--initramfs", GUEST / "tests.img", *options, "--", "env", f"T3_SLOW={Shape.slow}",
             "sh", "-c", script],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=ROOT)
        self.text = ""

    def await_line(self, regex):
        """Returns the first line in which it is found."""
        for line in self.process.stdout:
            self.text += line
            if re.search(regex, line):
                return line
        raise AssertionError(f"the node ended without '{regex}':\n{self.text}")

    def qemu(self):
        """The process id of its QEMU."""
        for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
            with contextlib.suppress(OSError):
                words = path.read_bytes().split(b"\0")
                if b"qemu-system" in words[0] and any(bytes(self.folder) in word for word in words):
                    return int(path.parent.name)
        raise AssertionError(f"there is no QEMU of {self.folder}")

    def log(self):
        """What its QEMU has reported."""
        return (self.folder / "qemu.log").read_text(encoding="utf-8", errors="replace")

    def signal(self, number):
        os.kill(self.qemu(), number)

    def end(self, status):
        output, _ = self.process.communicate(timeout=seconds())
        self.text += output
        check(self.process.returncode == status, f"status {self.process.returncode}", self.text)


@contextlib.contextmanager
def some_nodes(name, script, *options):
    with tempfile.TemporaryDirectory(prefix="t3-") as folder:
        nodes = [Node(number, f"{folder}/meet", name, script, *options) for number in range(Shape.nodes)]
        try:
            yield nodes, f"{folder}/meet"
        finally:
            for node in nodes:
                node.process.terminate()
                with contextlib.suppress(subprocess.TimeoutExpired):
                    node.process.communicate(timeout=20)
                node.process.kill()


def expect_error(node):
    """Its job ended with an error, before its time was up."""
    line = node.await_line("^job: ")
    check(re.search("^job: 1 FAIL: ", line) and " did not come within " not in line, "an error", node.text)


def a_stopped_node_is_an_error_on_both_and_comes_back():
    """The others find it silent, and it them when it goes on, however busy the host is."""
    with some_nodes("node-stopped", job()) as (nodes, _):
        for node in nodes:
            node.await_line("^begun$")
        nodes[1].signal(signal.SIGSTOP)
        end = time.monotonic() + seconds()
        while "the connection to node 1 has ended: the node is silent" not in nodes[0].log():
            check(time.monotonic() < end, "node 1 is found silent", nodes[0].log())
            time.sleep(0.1)
        nodes[1].signal(signal.SIGCONT)
        for node in nodes:
            expect_error(node)
        for node in nodes:
            node.end(0)
            check(re.search("^good again$", node.text, re.M), "the next job", node.text)


def a_killed_node_is_an_error_and_may_be_started_again(killed=1):
    with some_nodes(f"node-killed-{killed}", job()) as (nodes, meet):
        for node in nodes:
            node.await_line("^begun$")
        nodes[killed].signal(signal.SIGKILL)
        for node in nodes[:killed] + nodes[killed + 1:]:
            expect_error(node)
        nodes[killed].end(125)
        nodes[killed] = Node(killed, meet, f"node-killed-{killed}", come_back())
        for node in nodes:
            node.end(0)
            check(re.search("^good again$", node.text, re.M), "the next job", node.text)


def so_may_node_0_which_has_the_switch():
    a_killed_node_is_an_error_and_may_be_started_again(killed=0)


def a_full_disk_and_a_wrong_clock_hinder_nobody():
    script = ('if [ "$T3_NODE" = 1 ]; then date -s 2001-01-01; for disk in /tmp /dev/shm; do '
              "mount -o remount,size=1m $disk; cat /dev/zero >$disk/full; df $disk; done; fi 2>&1; "
              f"{Shape.program} && echo good")
    with some_nodes("node-full", script) as (nodes, _):
        for node in nodes:
            node.end(0)
            check(re.search("^good$", node.text, re.M), "the job", node.text)
        check("2001" in nodes[1].text and nodes[1].text.count("100%") == 2, "the fault", nodes[1].text)


def a_node_that_stands_still_for_less_than_its_time_ends_no_job():
    """For longer than a connection bears by default, and than a link sends again."""
    script = (f"t3 gemm-rs --nodes --ranks {Shape.nodes * Shape.ranks} --iters 20 --timeout {seconds() // 2} & "
              f"{IN_THE_MIDDLE}; wait $!; echo job: $?")
    with some_nodes("node-still", script, "--node-timeout", "60") as (nodes, _):
        nodes[0].await_line("^begun$")
        nodes[1].signal(signal.SIGSTOP)
        time.sleep(SILENCE)
        nodes[1].signal(signal.SIGCONT)
        for node in nodes:
            check(node.await_line("^job: ") == "job: 0\n", "the job goes on", node.text)
            node.end(0)


def others_outlive_the_spaces_that_a_stopped_node_keeps():
    """What these have under way to it needs real time, and others' work moves the virtual clock."""
    far, near = far_job(seconds() // 2), f"t3 gemm-rs --ranks {Shape.ranks} --iters 100000 --timeout {seconds()}"
    script = (f"{far} & far=$!; [ $T3_NODE = 0 ] || wait; {near} >/tmp/near 2>&1 & near=$!; "
              "cd /sys/kernel/debug/accel; until grep -q 'state=ARM.* epoch=[2-9]' */spaces && "
              "grep -q 'route=.* key=1' */spaces; do sleep 0.2; done; "
              "echo begun; while ping -c 1 -W 1 node1 >/dev/null; do sleep 0.1; done; kill -9 $far; sleep 5; "
              'kill -9 $near; wait $near; echo "near: $?" $(grep -h function */resets) $(tail -n 1 /tmp/near)')
    with some_nodes("node-outlived", script, "--topology", "full") as (nodes, _):
        nodes[0].await_line("^begun$")
        nodes[1].signal(signal.SIGSTOP)
        line = nodes[0].await_line("^near: ")
        nodes[1].signal(signal.SIGCONT)
        check(line.split() == ["near:", "137"] + ["function=0"] * Shape.ranks, "others' work goes on", line)


TESTS = [a_stopped_node_is_an_error_on_both_and_comes_back,
         a_node_that_stands_still_for_less_than_its_time_ends_no_job,
         others_outlive_the_spaces_that_a_stopped_node_keeps,
         a_killed_node_is_an_error_and_may_be_started_again,
         so_may_node_0_which_has_the_switch,
         a_full_disk_and_a_wrong_clock_hinder_nobody]

if __name__ == "__main__":
    sys.exit(loop.main(TESTS))
