#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Two VMs on one fabric for hours, with faults of links and of the connection; TAP with --short.

usage: soak_nodes.py [--seed N] SECONDS
       soak_nodes.py --short

Rounds follow each other. In each, a GEMM with a reduce-scatter over 4 ranks on both nodes runs, and
checks its sums. A round is one of these:

  clean     nothing happens; the job must pass, and no fault is counted
  repaired  links lose, repeat, damage, delay and exchange packets, and the connection stalls for
            less time than the links' retries last; the job must pass
  ending    the connection is cut, or silent for longer than it may, or a link is down; the job passes,
            or ends with an error that names such a fault, before its time is up. Then the connection
            must stand again, and the next round is clean

What is drawn depends on the seed; when it comes depends on the machine, too. --short runs each kind once.
Exits 1 when something went wrong, and prints what and the seed.
"""

import argparse
import pathlib
import random
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time

import hotplug
from loop import BUILD, ROOT, VM

LOG = BUILD / "log/soak-nodes.log"
RANKS = 2  # of each node; rank 1 and 2, and 3 and 0, are neighbours on different nodes
JOB_SECONDS = 120
BOOT_SECONDS = 240
STANDS_SECONDS = 60
LINKS = {0: ((0, 1), (1, 0), (1, 2), (0, 3)), 1: ((2, 3), (3, 2), (2, 1), (3, 0))}  # of senders
COUNTED = ("drop", "duplicate", "corrupt", "reorder", "delay", "drop-response")
REASON = (r"fault (link|peer-dead|peer-poison|rejected by the target)|has ended|Owner died|gave up|"
          r"connection|Input/output error|canceled|Connection timed out|Connection reset|Link has been")
# The guest runs what the host puts into files, and says how it ended.
GUEST = ("i=0; echo @ready; while i=$((i + 1)); do "
         "until [ -e /mnt/host/go-$i ]; do sleep 0.2; done; "
         "grep -q quit /mnt/host/go-$i && exit; "
         "out=$(sh /mnt/host/go-$i 2>&1); status=$?; "
         "echo \"@end $i $status $(echo \"$out\" | tail -n 1)\"; done")


class Trouble(Exception):
    """The product is wrong, or the machine too slow."""


class Node:
    """One VM, its output and its monitor."""

    def __init__(self, number, folder, log):
        self.number, self.log, self.lines = number, log, []
        self.changed = threading.Condition()
        monitor = folder / f"qmp-{number}"
        self.process = subprocess.Popen(
            [VM, "node", "--node", str(number), "--nodes", "2", "--ranks", str(RANKS), "--meet",
             folder / "meet", "--name", "soak-nodes", "--share", folder / "share", "--grace", "1",
             "--timeout", str(7 * 24 * 3600), f"--qemu-arg=-qmp",
             f"--qemu-arg=unix:{monitor},server=on,wait=off", "--", "sh", "-c", GUEST],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=ROOT)
        threading.Thread(target=self.read, daemon=True).start()
        self.monitor, self.qmp = monitor, None

    def read(self):
        for line in self.process.stdout:
            self.log(f"node {self.number}: {line.rstrip()}")
            with self.changed:
                self.lines.append(line.strip())
                self.changed.notify_all()
        with self.changed:
            self.lines.append(None)
            self.changed.notify_all()

    def await_line(self, regex, seconds):
        """Takes lines up to the first in which it is found. None: not in that time."""
        end = time.monotonic() + seconds
        with self.changed:
            while True:
                while self.lines:
                    line = self.lines.pop(0)
                    if line is None:
                        raise Trouble(f"node {self.number} has ended with {self.process.wait()}")
                    if found := re.search(regex, line):
                        return found
                if time.monotonic() >= end:
                    return None
                self.changed.wait(end - time.monotonic())

    def begin(self):
        if not self.await_line("^@ready$", BOOT_SECONDS):
            raise Trouble(f"node {self.number} did not boot")
        self.qmp = hotplug.Qmp(self.monitor)

    def inject(self, text):
        self.log(f"inject at node {self.number}: {text}")
        self.qmp.command("qom-set", path="/objects/f0", property="inject", value=text)

    def status(self):
        return self.qmp.command("qom-get", path="/objects/f0", property="status")

    def injected(self):
        return sum(device["counters"]["injected"] for device in self.status()["devices"])


# --- what happens in a round -------------------------------------------------

def link_fault(rng, node):
    src, dst = rng.choice(LINKS[node])
    kind = rng.choice((*COUNTED, "link-random"))
    if kind == "link-random":
        return f"{kind} rank={src} peer={dst} nth={rng.randrange(64, 512)} seed={rng.randrange(1 << 32)}"
    value = f" value={rng.randrange(1, 5000)}" if kind == "delay" else ""
    return f"{kind} rank={src} peer={dst}{value} nth={rng.randrange(1, 300)} count={rng.randrange(1, 3)}"


def repaired(rng, node):
    """All at once, at the beginning."""
    faults = [link_fault(rng, node) for _ in range(6)]
    faults.append(f"node-random node={1 - node} stall={rng.randrange(1, 60)} seed={rng.randrange(1 << 32)}")
    faults.append(f"node-stall node={1 - node} nth={rng.randrange(1, 500)} ms={rng.randrange(50, 600)}")
    return ";".join(faults)


def ending(rng, node):
    src, dst = LINKS[node][2]
    return rng.choice((
        f"node-cut node={1 - node} nth={rng.randrange(1, 500)} ms={rng.choice((0, 300, 3000))}",
        f"node-stall node={1 - node} nth={rng.randrange(1, 500)} ms={rng.randrange(6000, 9000)}",
        f"node-random node={1 - node} cut={rng.randrange(40, 200)} seed={rng.randrange(1 << 32)}",
        f"link-down rank={src} peer={dst}"))


def mend(node):
    """Takes back all that can be in force."""
    faults = [f"node-cut node={1 - node} nth=0; node-stall node={1 - node} nth=0 ms=1",
              f"node-random node={1 - node}"]
    for src, dst in LINKS[node]:
        link = f"rank={src} peer={dst}"
        faults.append(f"link-up {link}; link-random {link} nth=0")
        faults += [f"{kind} {link} nth=0" + (" value=1" if kind == "delay" else "") for kind in COUNTED]
    return ";".join(faults)


FAULTS = {"clean": None, "repaired": repaired, "ending": ending}


# --- rounds ------------------------------------------------------------------

class Soak:
    def __init__(self, seed, folder, log):
        self.rng, self.folder, self.log, self.round = random.Random(seed), folder, log, 0
        (folder / "share").mkdir()
        self.nodes = [Node(number, folder, log) for number in range(2)]

    def begin(self):
        for node in self.nodes:
            node.begin()

    def order(self, command):
        """Both nodes run it. The file appears as a whole."""
        self.round += 1
        part = self.folder / "share/part"
        part.write_text(command)
        part.rename(self.folder / f"share/go-{self.round}")

    def job(self):
        dtype, write = self.rng.choice(("i32", "f32", "f16", "bf16")), self.rng.choice(("store", "doorbell"))
        return (f"t3 gemm-rs --nodes --ranks {2 * RANKS} --shape 128x64x64 --tile 16x16 --dtype {dtype} "
                f"--write {write} --iters {self.rng.randrange(5, 20)} --seed {self.rng.randrange(1 << 31)} "
                f"--timeout {JOB_SECONDS}")

    def results(self):
        """[(status, last line)] of both nodes."""
        found = []
        for node in self.nodes:
            end = node.await_line(rf"^@end {self.round} (\d+) ?(.*)", 2 * JOB_SECONDS)
            if not end:
                raise Trouble(f"node {node.number}: the job has not ended, long after its time")
            found.append((int(end[1]), end[2]))
        return found

    def await_connection(self):
        end = time.monotonic() + STANDS_SECONDS
        while any(node.status()["nodes"][0]["state"] != "up" for node in self.nodes):
            if time.monotonic() > end:
                raise Trouble(f"no connection {STANDS_SECONDS} s after the faults")
            time.sleep(0.2)

    def run(self, kind):
        """Returns what the round did, in words."""
        before = [node.injected() for node in self.nodes]
        for node in self.nodes:
            if FAULTS[kind]:
                node.inject(FAULTS[kind](self.rng, node.number))
        self.order(self.job())
        results = self.results()
        faults = sum(node.injected() for node in self.nodes) - sum(before)
        for node in self.nodes:
            node.inject(mend(node.number))
        self.await_connection()
        self.judge(kind, results, faults)
        return f"round {self.round} {kind}: {results}, {faults} faults"

    def judge(self, kind, results, faults):
        text = f"round {self.round} {kind}: {results}, {faults} faults"
        good = all(status == 0 for status, _ in results) and results[0][1] == "PASS"
        if kind == "clean" and faults:
            raise Trouble(f"{text}: a clean round has none")
        if good:
            return
        if kind != "ending":
            raise Trouble(text)
        for status, said in results:
            if status and not re.search(REASON, said):
                raise Trouble(f"{text}: the error is none of the fault's")

    def end(self):
        self.order("quit")
        for node in self.nodes:
            status = node.process.wait(timeout=60)
            if status:
                raise Trouble(f"node {node.number} ended with {status}")

    def kill(self):
        for node in self.nodes:
            if node.process.poll() is None:
                node.process.send_signal(signal.SIGTERM)
        for node in self.nodes:
            try:
                node.process.wait(timeout=20)
            except subprocess.TimeoutExpired:
                node.process.kill()


def kinds(short, rng, until):
    """After an ending round comes a clean one."""
    if short:
        yield from ("clean", "repaired", "ending", "clean")
        return
    while time.monotonic() < until:
        kind = rng.choice(("clean", "repaired", "repaired", "ending"))
        yield kind
        if kind == "ending":
            yield "clean"


def soak(seed, seconds, log):
    short = seconds is None
    with tempfile.TemporaryDirectory(prefix="t3-") as name:
        running = Soak(seed, pathlib.Path(name), log)
        try:
            running.begin()
            until = time.monotonic() + (seconds or 0)
            for kind in kinds(short, random.Random(seed ^ 1), until):
                said = running.run(kind)
                log(said)
                print(f"# {said}", flush=True)
            running.end()
        finally:
            running.kill()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--short", action="store_true")
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("seconds", type=float, nargs="?")
    args = parser.parse_args()
    if args.short == (args.seconds is not None):
        parser.error("either --short or SECONDS")
    seed = args.seed if args.seed is not None else 1 if args.short else random.randrange(1 << 32)
    LOG.parent.mkdir(parents=True, exist_ok=True)
    with open(LOG, "w", encoding="utf-8") as file:
        start = time.monotonic()

        def log(line):
            print(f"{time.monotonic() - start:9.3f} {line}", file=file, flush=True)

        print(f"# seed {seed}", flush=True)
        if args.short:
            print("1..1")
        try:
            soak(seed, args.seconds, log)
        except Trouble as trouble:
            log(str(trouble))
            print(f"# {trouble}\n# seed {seed}; {LOG} has the rest", flush=True)
            print("not ok 1 - nodes_survive_faults" if args.short else "FAIL")
            return 1
    print("ok 1 - nodes_survive_faults" if args.short else "PASS")
    return 0


if __name__ == "__main__":
    sys.exit(main())
