#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""A guest with 4 virtual processors for hours, with faults and migrations; TAP with --short.

usage: soak_vcpus.py [--seed N] [--migrate-every SECONDS] [--scale N] SECONDS
       soak_vcpus.py --short

Rounds follow each other. In each one, several programs work on 4 ranks at the same time: stores
of 4 threads to the same and to different tiles, spaces and devices, queues, collectives, GEMMs.
All of them check their results. A round is one of these:

  clean     nothing happens; everything must pass, and the memory in use is measured
  repaired  the links drop, repeat, damage, delay and exchange packets; everything must pass
  ending    links go down, memory is poisoned, queues hang, functions are reset; a program ends
            well, or with an error that names such a fault. The next round is clean again

In any round the guest may be migrated to another QEMU (live, or stopped, or through a file).
What is drawn depends on the seed; when it comes depends on the machine, too. --short runs each kind once.
--scale is how much a program does in a round (1 to 4). With 4, which is the default, a round takes
50 s on two idle processors. Each program has 240 s: take 1 on a busy host.
Exits 1 when something went wrong, and prints what and the seed.
"""

import argparse
import bisect
import collections
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import time

import hotplug
from soak_machine import RANKS, STEP_SECONDS, Guest, Trouble

LOG = hotplug.BUILD / "log/soak-vcpus.log"
CONSOLE = hotplug.BUILD / "log/soak-vcpus.console.log"
GUEST_BOUND = 16 << 20  # bytes that may be missing after the last clean round
HEAP_BOUND = 64 << 20  # bytes that QEMU's own memory may grow by
MIGRATE_EVERY = 60
LONG_SECONDS = 60  # a program's; its deadlines are later
LOOK = ("t3 status --all | cut -c1-150 | sed 's/^/@ /'; "
        "ps -o pid,ppid,stat,time,args | grep -v '[]]$' | sed 's/^/@ /'")
LIMIT_SECONDS = 7 * 24 * 3600

# Counters that stay as they are in a clean round, and those that are 0 after it.
QUIET = ("link-retries", "link-duplicates", "faults", "dropped", "link-errors", "link-downs",
         "host-dma-errors", "poison-hits", "queue-errors", "injected")
NOTHING_LEFT = ("tracker-live", "held")

# One line, as each order is. Processors' lists of free pages are not in MemFree.
FREE_MEMORY = (
    "for dump in /sys/class/devcoredump/devcd*/data; do [ ! -e $dump ] || echo 1 >$dump; done; "
    "sleep 1; sync; echo 3 >/proc/sys/vm/drop_caches; sleep 1; "
    "awk '/^(MemFree|SReclaimable):/ { sum += $2 * 1024 } $1 == \"count:\" { sum += $2 * 4096 } "
    "END { print \"@\", sum }' /proc/meminfo /proc/zoneinfo")

# --- what happens in a round -------------------------------------------------

REPAIRED = ("drop", "duplicate", "corrupt", "reorder", "delay", "drop-response", "link-random")

# What an error says when it comes of a fault: of itself, or of a rank that has failed by it.
PEER = r"fault (peer-poison|peer-dead|rejected by the target)|Owner died|rank \d+ has ended"
QUEUES = 8  # of a rank, of which some exist at a time
REASONS = {
    "link-down": r"fault link",
    "poison": r"fault poison|(by a queue: |did not compute \()Input/output error",
    "hang-queue": r"Timer expired|canceled",
    "reset": r"No such device|removed or reset|SIGBUS|[Cc]anceled|Input/output error[.)]?$|"
             r"ended by a reset|no reset of the device has ended",
}
ENDING = tuple(REASONS)


def links():
    """Of the ring, in both directions."""
    return [f"rank={rank} peer={(rank + step) % RANKS}"
            for rank in range(RANKS) for step in (1, RANKS - 1)]


def link_fault(rng, kind):
    link = rng.choice(links())
    if kind == "link-random":
        return f"{kind} {link} nth={rng.randrange(64, 1024)} seed={rng.randrange(1 << 32)}"
    value = f" value={rng.randrange(1, 5000)}" if kind == "delay" else ""
    return f"{kind} {link}{value} nth={rng.randrange(1, 300)} count={rng.randrange(1, 3)}"


def repaired_events(rng, seconds):
    """[(time, (action, argument))]"""
    kinds = [*REPAIRED, *rng.choices(REPAIRED, k=2 * len(REPAIRED))]
    return [(rng.uniform(0, seconds), ("inject", link_fault(rng, kind))) for kind in kinds]


def ending_fault(rng, kind, when):
    """A fault, and what takes it back."""
    rank = rng.randrange(RANKS)
    if kind == "link-down":
        link = rng.choice(links())
        return [(when, ("inject", f"link-down {link}")),
                (when + rng.uniform(0.2, 2), ("inject", f"link-up {link}"))]
    if kind == "poison":
        at = f"address={64 * rng.randrange(1 << 15):#x} value={64 * rng.randrange(1, 4096)}"
        return [(when, ("inject", f"poison rank={rank} {at}")),
                (when + rng.uniform(0.5, 3), ("inject", f"unpoison rank={rank}"))]
    if kind == "hang-queue":
        queues = rng.sample(range(QUEUES), QUEUES)
        return [(when, ("hang", (when, rank, queues))), (when + rng.choice([1, 15]), ("unhang", rank))]
    way = rng.choice(["debugfs", "pci", "sysfs"])
    return [(when, ("reset", (rank, way)))]


def ending_events(rng, seconds, kinds):
    events = []
    for kind in kinds:
        for _ in range(rng.randrange(1, 4)):
            events += ending_fault(rng, kind, rng.uniform(0, seconds))
    return events


def mend():
    """Takes back all that can be in force. A queue's hang is taken back by its own event."""
    for link in links():
        yield ";".join([f"link-up {link}"] + [
            f"{kind} {link} nth=0" + (" value=1" if kind == "delay" else "") for kind in REPAIRED])
    yield ";".join(f"unpoison rank={rank}" for rank in range(RANKS))


def reset_command(rank, way):
    if way == "sysfs":
        return (f"for f in /sys/bus/pci/drivers/t3/*/rank; do [ $(cat $f) != {rank} ] || "
                "echo 1 >${f%/rank}/reset; done")
    return f"t3 reset -d {rank} --yes" + (" --pci" if way == "pci" else "")


# --- what works in a round ---------------------------------------------------

# Command, and its rounds or iterations.
OWN = {"stores": ("test_vcpus", 12), "queues": ("test_vcpus_queues", 120),
       "collectives": ("test_coll_again", 5)}
GEMM = {"store": 8, "doorbell": 20, "gemm": 15}
GEMM_SECONDS = {"clean": 240, "repaired": 240, "ending": 90}
JOBS = (*OWN, *(f"gemm-{write}" for write in GEMM))


def job(name, rng, kind, scale):
    """A command with a seed of its own. `scale` is how long it takes."""
    if name in OWN:
        program, rounds = OWN[name]
        faults = " --faults" if kind == "ending" else ""
        return f"{program} --seed {rng.randrange(1 << 32)} --rounds {scale * rounds}{faults}"
    write = name.removeprefix("gemm-")
    return (f"t3 gemm-rs --ranks {RANKS} --shape 128x128x64 --write {write}"
            f" --timeout {GEMM_SECONDS[kind]} --tile {rng.choice(['16x16', '32x32', '8x64'])}"
            f" --dtype {rng.choice(['i32', 'f32', 'f16', 'bf16'])}"
            f" --iters {scale * GEMM[write]} --seed {rng.randrange(1 << 32)}")


def errors_of(name, status, lines):
    """(errors that it told, whether something is wrong beyond them). Of a GEMM it is its verdict:
    the cause. A rank whose peer dies while the link is down learns of it by its deadline alone."""
    if not name.startswith("gemm"):
        return [line for line in lines if line.startswith("# error")], status != 0
    told = [line for line in lines if line.startswith("FAIL: rank ")]
    wrong = any("verified" in line for line in lines)
    return told, status != 0 and (wrong or not told)


class Round:
    """One round of a soak."""

    def __init__(self, soak, number, kind):
        self.soak, self.guest, self.kind = soak, soak.guest, kind
        self.name = f"{soak.seed}/{number}"
        self.rng = random.Random(self.name)
        self.kinds = ENDING if soak.short else self.rng.sample(ENDING, self.rng.randrange(1, 4))
        self.open, self.out, self.starts = {}, {}, collections.Counter()
        self.resets = 0
        self.hung = []  # (rank, queue)
        self.looked = False
        self.events = self.plan()

    def plan(self):
        rng, seconds = self.rng, self.soak.round_seconds
        found = []
        if self.kind == "repaired":
            found = repaired_events(rng, seconds)
        elif self.kind == "ending":
            found = ending_events(rng, seconds, self.kinds)
        if rng.randrange(3) == 0:
            found.append((rng.uniform(0, seconds), ("pause", rng.uniform(0.1, 2))))
        how = rng.choice(["live", "live", "stopped", "file"])
        when = rng.uniform(0.1, 0.8) * seconds
        if self.soak.must_migrate():
            found.append((when, ("migrate", "live" if self.soak.short else how)))
        return sorted(found)

    def hang(self, when, rank, queues):
        """One of the queues that exist now, or a little later."""
        found = next((queue for queue in queues
                      if self.guest.inject(f"hang-queue rank={rank} queue={queue}")), None)
        if found is not None:
            self.hung.append((rank, found))
            self.soak.counts["faults"] += 1
        elif len(queues) > 1:
            bisect.insort(self.events, (when + 0.2, ("hang", (when + 0.2, rank, queues[1:]))))

    def unhang(self, rank):
        for pair in [pair for pair in self.hung if rank in (pair[0], None)]:
            self.hung.remove(pair)
            self.guest.inject(f"unhang-queue rank={pair[0]} queue={pair[1]}")

    def act(self, action, argument):
        guest, counts = self.guest, self.soak.counts
        if action == "inject":
            counts["faults"] += guest.inject(argument) and not re.match("link-up|un", argument)
        elif action == "hang":
            self.hang(*argument)
        elif action == "unhang":
            self.unhang(argument)
        elif action == "reset":
            self.resets += 1
            counts["faults"] += 1
            self.start(f"reset-{self.resets}", reset_command(*argument))
        elif action == "pause":
            guest.pause(argument)
        else:
            guest.migrate(argument)
            counts["migrations"] += 1
            self.soak.migrated = time.monotonic()

    def start(self, name, command):
        self.open[name], self.out[name] = time.monotonic(), []
        self.guest.order(name, command)

    def start_job(self, name):
        self.starts[name] += 1
        rng = random.Random(f"{self.name}/{name}/{self.starts[name]}")
        self.start(name, job(name, rng, self.kind, self.soak.scale))

    def take(self, line):
        """Errors end the programs early, so they begin again while faults are to come."""
        found = re.fullmatch(r"@(out|end) (\S+) (.*)", line)
        if not found or found[2] not in self.open:
            return
        if found[1] == "out":
            self.out[found[2]].append(found[3])
            return
        del self.open[found[2]]
        self.judge(found[2], int(found[3]))
        if self.kind == "ending" and self.events and found[2] in JOBS:
            self.start_job(found[2])

    def check_time(self):
        """What takes long is looked at once, for the log."""
        for name, start in list(self.open.items()):
            spent = time.monotonic() - start
            if spent > 2 * STEP_SECONDS:
                raise Trouble(f"{name}: no end after {2 * STEP_SECONDS} s")
            if spent > LONG_SECONDS and name in JOBS and not self.looked:
                self.looked = True
                self.start("look", LOOK)

    def run(self):
        for name in JOBS:
            self.start_job(name)
        if self.kind == "clean":
            self.start("selftest", "t3 selftest --timeout 240")
        start = time.monotonic()
        while self.open:
            spent = time.monotonic() - start
            if self.events and self.events[0][0] <= spent:
                self.act(*self.events.pop(0)[1])
                continue
            self.check_time()
            line = self.guest.next_line(min(1, self.events[0][0] - spent) if self.events else 1)
            if line:
                self.take(line)
        self.finish()
        return time.monotonic() - start

    def finish(self):
        """What was to happen later happens now, or is left out. All faults are taken back."""
        for _, (action, argument) in self.events:
            if action == "migrate":
                self.act(action, argument)
        self.unhang(None)
        if self.kind != "clean":
            for text in mend():
                if not self.guest.inject(text):
                    raise Trouble(f"a fault is not taken back: {text}")

    def judge(self, name, status):
        """A program that has ended."""
        if name.startswith("reset-") and status:
            raise Trouble(f"{name} failed: {' '.join(self.out[name])}")
        allowed = "|".join([PEER, *map(REASONS.get, self.kinds)]) if self.kind == "ending" else "$^"
        told, wrong = errors_of(name, status, self.out[name])
        unexpected = [line for line in told if not re.search(allowed, line)]
        self.soak.counts["errors"] += len(told) - len(unexpected)
        if wrong or unexpected:
            shown = unexpected if unexpected and not wrong else self.out[name][-30:]
            raise Trouble(f"{name} ended with status {status}:\n  " + "\n  ".join(shown))


# --- the soak ----------------------------------------------------------------

class Soak:
    """Rounds until the time is over."""

    def __init__(self, guest, log, opts):
        self.guest, self.log, self.seed, self.short = guest, log, opts.seed, opts.short
        self.every = opts.migrate_every
        self.scale = 1 if opts.short else opts.scale
        self.counts = {"rounds": 0, "faults": 0, "migrations": 0, "errors": 0}
        self.start = self.migrated = time.monotonic()
        self.round_seconds = 5.0
        self.memory = []  # of each clean round: (free in the guest, QEMU's own)

    def must_migrate(self):
        """In the first round, too: a QEMU that has booted holds the guest's image in memory."""
        is_time = not self.short and time.monotonic() - self.migrated >= self.every
        return is_time or self.counts["rounds"] == 0

    def counters(self):
        """Of all devices, at rest: {name: [of rank 0, ...]}"""
        lines = self.guest.ask("counters", "echo @ $(t3 info --all --json)")
        found = collections.defaultdict(list)
        for device in json.loads(lines[-1][2:]):
            facts = {**device["counters"], "held": device["device"]["memory_size"]
                     - device["device"]["memory_free"]}
            for name, value in facts.items():
                found[name].append(value)
        return found

    def check_counters(self, before, after):
        """What a clean round must not count, and what all devices together must count."""
        change = {name: sum(after[name]) - sum(before[name]) for name in after}
        bad = {name: change[name] for name in QUIET if change[name]}
        bad.update({name: sum(after[name]) for name in NOTHING_LEFT if sum(after[name])})
        for what in ("packets", "bytes"):
            if change[f"link-tx-{what}"] != change[f"link-rx-{what}"]:
                bad[f"link-{what}"] = change[f"link-tx-{what}"] - change[f"link-rx-{what}"]
        if bad:
            raise Trouble(f"counters after a clean round: {bad}")

    def measure(self):
        free = next(int(float(line.split()[1]))
                    for line in self.guest.ask("memory", FREE_MEMORY) if line.startswith("@ "))
        self.memory.append((free, self.guest.machine.heap()))
        first, last = self.memory[0], self.memory[-1]
        if last[0] < first[0] - GUEST_BOUND:
            raise Trouble(f"the guest's free memory: {first[0] >> 10} KiB after the first clean "
                          f"round, {last[0] >> 10} KiB now")
        if last[1] > first[1] + HEAP_BOUND:
            raise Trouble(f"QEMU's own memory: {first[1] >> 10} KiB after the first clean round, "
                          f"{last[1] >> 10} KiB now")

    def round(self, kind):
        one = Round(self, self.counts["rounds"], kind)
        before = self.counters() if kind == "clean" else None
        seconds = one.run()
        self.guest.check()
        if kind == "clean":
            self.check_counters(before, self.counters())
            self.round_seconds = seconds
            self.measure()
        self.counts["rounds"] += 1
        faults = f" ({' '.join(one.kinds)})" if kind == "ending" else ""
        text = ", ".join(f"{count} {name}" for name, count in self.counts.items())
        self.log(f"[soak] {time.monotonic() - self.start:.0f} s: {text}; {kind}{faults} "
                 f"in {seconds:.0f} s; free {self.memory[-1][0] >> 10} KiB, "
                 f"QEMU {self.memory[-1][1] >> 10} KiB", shown=True)

    def run(self, seconds):
        kinds = ("clean", "repaired", "ending")
        while self.short or time.monotonic() - self.start < seconds:
            for kind in kinds:
                self.round(kind)
            if self.short:
                break
        self.round("clean")
        self.guest.end()


class Log:
    """A line with the time, in the log and, if it is to be shown, on the screen."""

    def __init__(self, path):
        path.parent.mkdir(parents=True, exist_ok=True)
        self.file, self.start = open(path, "w", encoding="utf-8"), time.monotonic()

    def __call__(self, text, shown=False):
        self.file.write(f"{time.monotonic() - self.start:9.2f} {text}\n")
        self.file.flush()
        if shown:
            print("#" if text.startswith("[") else "", text, flush=True)


def soak(opts, log):
    """"", or what went wrong."""
    with tempfile.TemporaryDirectory() as directory:
        guest = None
        try:
            guest = Guest(directory, log, LIMIT_SECONDS)
            Soak(guest, log, opts).run(opts.seconds)
            return ""
        except (Trouble, RuntimeError, OSError, subprocess.SubprocessError) as error:
            return str(error) or type(error).__name__
        finally:
            if guest:
                CONSOLE.write_text(guest.consoles(), encoding="utf-8")
                guest.stop()


def parse():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    parser.add_argument("--migrate-every", type=int, default=MIGRATE_EVERY, metavar="SECONDS")
    parser.add_argument("--scale", type=int, choices=range(1, 5), default=4)
    parser.add_argument("--short", action="store_true", help="one round of each kind")
    parser.add_argument("seconds", type=int, nargs="?", default=600)
    return parser.parse_args()


def main():
    opts = parse()
    log = Log(LOG)
    log(f"seed {opts.seed}", shown=True)
    why = soak(opts, log)
    if opts.short:
        print(f"1..1\n{'not ok' if why else 'ok'} 1 - rounds_of_each_kind")
    if why:
        log(f"failed: {why}")
        print(f"soak: {why}\nsoak: seed {opts.seed}; see {LOG}", file=sys.stderr)
    return 1 if why else 0


if __name__ == "__main__":
    os.environ.setdefault("T3_BUILD", str(hotplug.ROOT / ".build"))
    sys.exit(main())
