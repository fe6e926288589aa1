#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Faults of one node of a cluster, while a job runs over all: each rank gets an error or goes on,
nobody hangs, and the next job gives the right sums. TAP on stdout.

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
SECONDS = 150
SILENCE = 8  # longer than a connection without a word lasts (SPEC.md 16.1)
COME_BACK = "for i in $(seq 8); do node_ranks && exit; sleep 1; done; exit 1"
JOB = ("echo begun; t3 gemm-rs --nodes --iters 100000 --timeout 60 >/tmp/out 2>&1; "
       f'echo "job: $? $(tail -n 1 /tmp/out)"; {COME_BACK}')


class Node:
    """A t3-vm node, whose output is read line by line."""

    def __init__(self, number, meet, name, job):
        self.folder = run_folder(name) / f"node{number}"
        self.process = subprocess.Popen(
            [VM, "node", "--node", str(number), "--nodes", "2", "--ranks", "2", "--meet", meet, "--name",
             name, "--grace", str(SECONDS), "--timeout", str(SECONDS), "--initramfs", GUEST / "tests.img",
             "--", "sh", "-c", job],
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

    def signal(self, number):
        os.kill(self.qemu(), number)

    def end(self, status):
        output, _ = self.process.communicate(timeout=SECONDS)
        self.text += output
        check(self.process.returncode == status, f"status {self.process.returncode}", self.text)


@contextlib.contextmanager
def two_nodes(name, job):
    with tempfile.TemporaryDirectory(prefix="t3-") as folder:
        nodes = [Node(number, f"{folder}/meet", name, job) for number in range(2)]
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
    with two_nodes("node-stopped", JOB) as (nodes, _):
        for node in nodes:
            node.await_line("^begun$")
        time.sleep(3)
        nodes[1].signal(signal.SIGSTOP)
        time.sleep(SILENCE)
        nodes[1].signal(signal.SIGCONT)
        for node in nodes:
            expect_error(node)
        for node in nodes:
            node.end(0)
            check(re.search("^ranks .*: good$", node.text, re.M), "the next job", node.text)


def a_killed_node_is_an_error_and_may_be_started_again():
    with two_nodes("node-killed", JOB) as (nodes, meet):
        for node in nodes:
            node.await_line("^begun$")
        time.sleep(3)
        nodes[1].signal(signal.SIGKILL)
        expect_error(nodes[0])
        nodes[1].end(125)
        nodes[1] = Node(1, meet, "node-killed", COME_BACK)
        for node in nodes:
            node.end(0)
            check(re.search("^ranks .*: good$", node.text, re.M), "the next job", node.text)


def a_full_disk_and_a_wrong_clock_hinder_nobody():
    job = ('if [ "$T3_NODE" = 1 ]; then date -s 2001-01-01; for disk in /tmp /dev/shm; do '
           "mount -o remount,size=1m $disk; cat /dev/zero >$disk/full; df $disk; done; fi 2>&1; node_ranks")
    with two_nodes("node-full", job) as (nodes, _):
        for node in nodes:
            node.end(0)
            check(re.search("^ranks .*: good$", node.text, re.M), "the job", node.text)
        check("2001" in nodes[1].text and nodes[1].text.count("100%") == 2, "the fault", nodes[1].text)


TESTS = [a_stopped_node_is_an_error_on_both_and_comes_back,
         a_killed_node_is_an_error_and_may_be_started_again,
         a_full_disk_and_a_wrong_clock_hinder_nobody]

if __name__ == "__main__":
    sys.exit(loop.main(TESTS))
