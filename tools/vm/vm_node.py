# SPDX-License-Identifier: MIT
"""Runs one node of several: a VM with a network to the others. Their commands begin together, and
each VM stays until the commands of all have ended.
"""

import contextlib
import os
import subprocess
import sys
import time

import vm_keep
import vm_net
import vm_run
import vm_span
from vm_base import EXIT_DIED, EXIT_TIMEOUT, VmError, read_text
from vm_lines import Lines
from vm_machine import programs
from vm_meet import POLL_SECONDS, meeting, names
from vm_process import ended

BOOTS, WAITS, RUNS, STAYS, ENDS = range(5)


def launcher_check(opts):
    """A function that raises VmError when the launcher that started this node has ended."""
    parent = os.getppid() if opts.launched else None

    def check():
        if parent and os.getppid() != parent:
            raise VmError(EXIT_DIED, f"the launcher is gone, so node {opts.node} is ended, too")
    return check


class Node:
    """Answers the guest when the others are as far as it is, and ends it when one of them fails."""

    def __init__(self, opts, place, rundir, answer):
        self.opts, self.place, self.rundir, self.answer = opts, place, rundir, answer
        self.phase, self.start = BOOTS, time.monotonic()
        self.failed = self.end = None

    def said(self, word):
        """The guest's control line that begins with the word, or None. It may write one just now."""
        lines = read_text(self.rundir / "control").split("\n")[:-1]
        return next((line for line in lines if line.split()[:1] == [word]), None)

    def go_on(self, line, phase):
        self.answer(line)
        self.phase = phase

    def step(self):
        """One look at the guest and the others."""
        if self.phase == BOOTS and self.said("up"):
            self.place.say("up")
            self.phase = WAITS
        if self.phase == WAITS and not self.place.missing("up"):
            self.go_on("go", RUNS)
        if self.phase == RUNS and (done := self.said("done")):
            self.place.say(done)
            self.phase = STAYS
            if done != "done 0":
                self.go_on("end", ENDS)
        if self.phase == STAYS and (self.failed or not self.place.missing("done")):
            self.go_on("end", ENDS)

    def look_at_others(self):
        """From the first failure on the others have a time of grace, in which the node that failed
        may be started again."""
        if self.failed and not self.place.failure_of(self.failed[0]):
            self.failed = self.end = None
        self.failed = self.failed or self.place.failure()
        if not self.failed or self.phase in (STAYS, ENDS):
            return
        self.end = self.end or time.monotonic() + self.opts.grace
        if time.monotonic() >= self.end:
            node, status, how = self.failed
            self.place.left = f"followed {status}"
            raise VmError(status, f"node {node} {how}, so node {self.opts.node} is ended, too")

    def late(self):
        """Whether the time is up. A node that has done its part gives the others theirs."""
        limit = self.opts.timeout
        if self.phase in (STAYS, ENDS):
            limit += self.opts.timeout + self.opts.grace
        return time.monotonic() - self.start > limit

    def late_others(self):
        """Raises VmError when it was the others who took so long."""
        word = {WAITS: "up", STAYS: "done"}.get(self.phase)
        missing = self.place.missing(word) if word else []
        if missing:
            raise VmError(EXIT_TIMEOUT, f"{names(missing)} did not say '{word}' within "
                          f"{self.opts.timeout:g} s, for which node {self.opts.node} waited")

    def watch(self, process, switch, output):
        """Until QEMU ends. False: its time was up."""
        while not ended(process):
            self.opts.check_launcher()
            self.step()
            self.look_at_others()
            vm_net.check_switch(switch, self.rundir)
            if self.late():
                self.late_others()
                return False
            output.pass_on(POLL_SECONDS)
        return True

    def follow(self, process, switch):
        """The same. All that the job has said is passed on."""
        output = Lines(process.stdout, sys.stdout)
        try:
            return self.watch(process, switch, output)
        finally:
            process.kill()
            process.wait()
            output.drain()


def run_vm(opts, argv, accel, place, rundir, facts):
    files = {**vm_run.image_files(opts, argv), **vm_net.guest_files(opts)}
    opts.network = vm_net.socket(place.folder, opts.node)
    with contextlib.ExitStack() as stack:
        switch = None if opts.node else stack.enter_context(
            vm_net.switch(programs(opts)[0], place.folder, opts.nodes, rundir))
        process, answer = stack.enter_context(vm_run.started(
            opts, accel, rundir, files, facts, answered=True, stdout=subprocess.PIPE))
        finished = Node(opts, place, rundir, answer).follow(process, switch)
    return vm_run.outcome(rundir, finished, opts.timeout, opts.strict, opts.known_trouble)


def run_node(opts, argv, accel):
    opts.check_launcher = launcher_check(opts)
    facts_of = lambda folder: vm_span.facts(opts, folder)
    with meeting(opts.meet, opts.node, opts.nodes, facts_of) as place:
        try:
            place.await_all(check=opts.check_launcher)
            opts.span = vm_span.span(opts, place)
            with vm_keep.run_directory(f"{opts.name}/node{opts.node}") as rundir, \
                    vm_run.told(rundir, argv, accel, opts) as facts:
                facts.update(node=opts.node, nodes=opts.nodes)
                facts["status"] = run_vm(opts, argv, accel, place, rundir, facts)
        except VmError as error:
            if not place.left.startswith("followed"):
                place.left = f"left {error.status}"
            raise
        except SystemExit as signal:
            place.left = f"left {signal.code}"
            raise
        except KeyboardInterrupt:
            place.left = "left 130"
            raise
        place.left = f"left {facts['status']}"
        return facts["status"]
