# SPDX-License-Identifier: MIT
"""Several nodes by one command. Each is a process of `t3-vm node`, as any launcher starts it; this
one labels their output and ends what is left of them.
"""

import contextlib
import fcntl
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import vm_keep
from vm_base import VmError
from vm_lines import Lines, relay
from vm_meet import alone_in, has_followed, remove_if_left
from vm_process import dies_with_us, ended
from vm_who import runtime_folder

END_SECONDS = 10  # after SIGTERM, and what nodes need beyond the time of grace
DRAIN_SECONDS = 1  # for output, when all nodes have ended


# --- their processes ---------------------------------------------------------

class Cluster:
    def __init__(self, commands):
        self.lines = []  # of output that goes on
        self.nodes, self.statuses, self.failed = [], {}, []  # failed: in the order that it is seen
        for node, command in enumerate(commands):
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                       stderr=subprocess.PIPE, preexec_fn=dies_with_us)
            self.nodes.append(process)
            for pipe, output in ((process.stdout, sys.stdout), (process.stderr, sys.stderr)):
                self.lines.append(Lines(pipe, output, f"node{node}: "))

    def relay(self, seconds):
        """Passes on output for so long, or until there is none."""
        if self.lines:
            self.lines = relay(self.lines, seconds)

    def look(self):
        """Takes the statuses of those that have ended."""
        for node, process in enumerate(self.nodes):
            if node not in self.statuses and ended(process):
                status = process.returncode
                self.statuses[node] = status if status >= 0 else 128 - status
                if status:
                    self.failed.append(node)

    def run(self, grace):
        """Until all have ended. When one fails the others end by themselves, but are not trusted."""
        end = None
        while len(self.statuses) < len(self.nodes):
            self.relay(0.2)
            self.look()
            if self.failed:
                end = end or time.monotonic() + grace + END_SECONDS
                if time.monotonic() >= end:
                    break

    def end(self):
        """Ends what is left, and passes on its last output."""
        for process in self.nodes:
            if not ended(process):
                process.terminate()
        end = time.monotonic() + END_SECONDS
        while time.monotonic() < end and any(not ended(process) for process in self.nodes):
            self.relay(0.1)
        for process in self.nodes:
            process.kill()
            process.wait()
        end = time.monotonic() + DRAIN_SECONDS
        while time.monotonic() < end and self.lines:
            for lines in self.lines:
                lines.print(wait=True)
            self.relay(0.1)
        self.look()

    def first(self, folder):
        """The first that failed by itself, or None. On a busy machine others may end before it."""
        return next((node for node in self.failed if not has_followed(folder, node)),
                    self.failed[0] if self.failed else None)


def node_command(own, node, opts, accel, name, folder):
    """The same options, and then those that are this node's: the last one of a name counts."""
    job = own.index("--")
    given = own[1:job]  # without `cluster`
    return [sys.executable, str(pathlib.Path(sys.argv[0]).resolve()), "node", *given,
            f"--node={node}", f"--nodes={opts.nodes}", f"--meet={folder}", f"--name={name}",
            f"--accel={accel}", *own[job:]]


# --- where they meet ---------------------------------------------------------

@contextlib.contextmanager
def meeting_folder():
    """A new one. What killed clusters of this user have left goes. What the nodes said there is
    kept until the end, as somebody is there."""
    base, prefix = runtime_folder(os.environ), f"t3-cluster-{os.getuid()}-"
    for old in base.glob(f"{prefix}*"):
        with contextlib.suppress(VmError, OSError), alone_in(old):
            remove_if_left(old)
    folder = pathlib.Path(tempfile.mkdtemp(prefix=prefix, dir=base))
    try:
        with open(folder / "node-launcher", "wb") as here:
            fcntl.flock(here, fcntl.LOCK_EX)
            yield folder
    finally:
        with alone_in(folder):
            remove_if_left(folder)


def run_cluster(opts, job, accel, own):
    with vm_keep.run_directory(opts.name) as rundir, meeting_folder() as folder:
        start = time.monotonic()
        cluster = Cluster([node_command(own, node, opts, accel, rundir.name, folder)
                           for node in range(opts.nodes)])
        try:
            cluster.run(opts.grace)
        finally:
            cluster.end()
            first = cluster.first(folder)
            facts = {"command": job, "accel": accel, "nodes": opts.nodes, "first_failed": first,
                     "statuses": [cluster.statuses.get(node) for node in range(opts.nodes)],
                     "seconds": round(time.monotonic() - start, 3)}
            (rundir / "run.json").write_text(json.dumps(facts, indent=1) + "\n")
        if first is None:
            return 0
        status = cluster.statuses[first]
        raise VmError(status, f"node{first} failed first, with status {status}; logs are in "
                      f"{os.path.relpath(rundir)}")
