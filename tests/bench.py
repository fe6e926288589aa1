#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""How fast the models, and the devices in a VM, are on this host.

usage: bench.py [--no-vm] [--rounds N]

The timed model: the published sub-layers, larger models too, in each configuration, on one core; and 32
models by their config.json.
Then one VM with four T3 devices and, beside them, edu, pci-testdev and ivshmem-plain of the same
QEMU, in which `t3 bench` measures stores, doorbells, updates, waits and jobs, each in turn with its
control. Then boots of the small image and of the host's root, in turn. Then a published sub-layer by
driver and device, which the guest computes itself, too, with the boot's time taken off, and what a
product and its reduce-scatter take by each way for a write to count. Last, two QEMUs: what each way
between them carries, and the time from a packet to its response, with two processes that wake each
other as the control.

Prints the figures and writes them to .build/bench.json. Exits 1 when a run fails, not when a target
is missed: a row says so, and tools/t3/bench/README.md says what limits it. The table's time is the
process's CPU time, on which another load of the host has little influence; the VM's is the guest's
time stamp counter.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
BUILD = pathlib.Path(os.environ.get("T3_BUILD", ROOT / ".build"))
MODELS = [ROOT / "tools/paper" / name for name in ("paper.model", "larger.model")]
VM = ROOT / "tools/vm/t3-vm"
# Models by their config.json, in all configurations: (file, TP), each with so many tokens.
FILES = [("sizes-qwen3-32b", 8), ("sizes-qwen3-32b", 4), ("sizes-deepseek-v3", 8), ("odd-sizes", 8)]
FILE_TOKENS = (512, 1024, 1536, 2048, 3072, 4096, 6144, 8192)
FILES_SECONDS = 10.0
TRIES = 3  # the best of them: the others had less of the host's caches
TABLE_SECONDS, TABLE_BYTES, EVENTS_PER_SECOND = 5.0, 200 << 20, 20e6
RANKS, SIDE, ITERATIONS = 4, 256, 4
WRITES = ("store", "doorbell", "gemm")
VM_SECONDS = 300
PACE_STEADY = 0.9  # the least quality of a row: else the host did other work while it was measured
SUBLAYER = "--hidden 4256 --tokens 8192 --tp 8 --sublayer fc2"
SUBLAYER_SECONDS = 3.0
TRIP_RATIO = 3.0  # of a packet over shared memory to a bare round trip
WRITE_RATIO = 1.15  # of a job whose stores count to one with doorbells
ROOT_TIMES = 2.0  # of a boot of the small image
SAVED_TIMES = 0.5
PEERS = ("-device", "edu", "-device", "pci-testdev",
         "-object", "memory-backend-ram,id=peer,size=4M,share=on",
         "-device", "ivshmem-plain,memdev=peer")
# A device on a fabric of its own whose stores take QEMU's ordinary path. In `t3 list` it is the last.
ORDINARY = ("--fabric", "ordinary:ranks=1,device.direct-stores=off")
REPORT = BUILD / "bench.json"


def row(what, figure, bound="", good=True):
    print(f"{what:44} {figure:>22}   {bound}{'' if good else '   MISSED'}".rstrip(), flush=True)
    return {"what": what.strip(), "figure": figure, "target": bound or None,
            "reached": good if bound else None}


# --- the timed model -------------------------------------------------------------

def simulated(*options):
    """(events computed, CPU seconds, largest memory in bytes) of t3 sim."""
    with tempfile.TemporaryFile("w+", encoding="utf-8") as output:
        process = subprocess.Popen([BUILD / "t3", "sim", "--json", *map(str, options)],
                                   stdin=subprocess.DEVNULL, stdout=output)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise RuntimeError(f"t3 sim ended with {process.returncode}")
        output.seek(0)
        found = json.load(output)
        return (found["events"] - found["recalled_events"], usage.ru_utime + usage.ru_stime,
                usage.ru_maxrss * 1024)


def table():
    """The same of all published sub-layers."""
    events, seconds, memory = zip(*(simulated("--model", model) for model in MODELS))
    return sum(events), sum(seconds), max(memory)


def config_files():
    runs = [simulated("--config", ROOT / f"tests/transformers/{file}.json", "--tp", tp, "--tokens", tokens)
            for file, tp in FILES for tokens in FILE_TOKENS]
    events, seconds, _ = zip(*runs)
    return sum(seconds), sum(events), len(runs)


def bench_files():
    seconds, events, count = min(config_files() for _ in range(TRIES))
    return [row(f"timed model, {count} models by config.json", f"{seconds:.2f} s CPU",
                f"at most {FILES_SECONDS:.0f} s", seconds <= FILES_SECONDS),
            row("  its events", f"{events / seconds / 1e6:.1f} million/s")]


def bench_table():
    runs = [table() for _ in range(TRIES)]
    events, seconds, memory = min(runs, key=lambda run: run[1])
    rate = events / seconds
    return [row("timed model, the whole table", f"{seconds:.2f} s CPU",
                f"at most {TABLE_SECONDS:.0f} s", seconds <= TABLE_SECONDS),
            row("  its memory", f"{memory / (1 << 20):.0f} MB",
                f"at most {TABLE_BYTES >> 20} MB", memory <= TABLE_BYTES),
            row("  its events", f"{rate / 1e6:.1f} million/s",
                f"at least {EVENTS_PER_SECOND / 1e6:.0f}", rate >= EVENTS_PER_SECOND)]


# --- the VM ----------------------------------------------------------------------

def run_vm(name, *command, qemu=(), options=()):
    """(standard output, seconds)"""
    start = time.monotonic()
    done = subprocess.run([VM, "run", "--no-saved", "--ranks", str(RANKS), "--name", name, *options,
                           *(f"--qemu-arg={arg}" for arg in qemu), "--", *command],
                          stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=VM_SECONDS, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)} ended with {done.returncode}: {done.stderr.strip()}")
    return done.stdout, time.monotonic() - start


# --- the devices -----------------------------------------------------------------

def duration(ns):
    for unit, size in (("ms", 1e6), ("us", 1e3)):
        if ns >= size:
            return f"{ns / size:.2f} {unit}"
    return f"{ns:.1f} ns"


def between(figure, show):
    return f"{show(figure['median'])} [{show(figure['low'])} .. {show(figure['high'])}]"


def verdict(measured, best_pace):
    target, ratio = measured["target"], measured["ratio"]
    parts = [between(ratio, "{:.3f}x".format)] if ratio else []
    if target:
        way, = target.keys() - {"of"}
        bound = duration(target[way]) if target["of"] == "ns" else f"{target[way]:g}x"
        parts.append(f"target: {target['of']} {way.replace('_', ' ')} {bound}")
        parts.append({True: "reached", False: "MISSED", None: "no control"}[measured["reached"]])
    pace = best_pace / measured["pace_ns"]
    if pace < PACE_STEADY:
        parts.append(f"(host at {100 * pace:.0f} % of its best)")
    return "   ".join(parts)


def print_measured(measured, best_pace):
    print(f"{measured['title']:48} {verdict(measured, best_pace)}".rstrip())
    for side, name in zip(measured["sides"], ("", "control: ", *["beside: "] * 9)):
        figure = between(side["ns"], duration) if side["ns"] else "not in this machine"
        print(f"    {name + side['what']:44} {figure}", flush=True)


def bench_devices(rounds):
    text, _ = run_vm("bench", "t3", "bench", "--json", "--rounds", str(rounds), "--ordinary", str(RANKS),
                     qemu=PEERS, options=ORDINARY)
    report = json.loads(text[text.index("{"):text.rindex("}") + 1])
    print(f"\nin one VM: median [quartiles] of {report['rounds']} rounds, all sides in each; ratios of "
          f"rounds\nreading the clock takes {report['clock_read_ns']:.0f} ns, which waits and jobs "
          "are shown without\n")
    for measured in report["rows"]:
        print_measured(measured, report["pace_ns"])
        if not all(side["ns"] for side in measured["sides"]):
            raise RuntimeError(f"{measured['name']}: a control is missing")
    print()
    return report


# --- whole jobs ------------------------------------------------------------------

def wall_seconds(text):
    """The time of the slowest rank. The answer begins with the first brace."""
    answer = json.loads(text[text.index("{"):text.rindex("}") + 1])
    if not answer["pass"]:
        raise RuntimeError(answer.get("reason", "wrong results"))
    return max(rank["varying"]["wall_ns"] for rank in answer["ranks"]) / 1e9


def sublayer(boot, *options):
    """(seconds beyond boot, the part of them on the device) of the best of some runs."""
    command = ["t3", "sim", "--json", "--device", *SUBLAYER.split(), *options]
    text, seconds = min((run_vm("bench", *command) for _ in range(TRIES)), key=lambda run: run[1])
    answer = json.loads(text[text.index("{"):text.rindex("}") + 1])
    return seconds - boot, answer["workloads"][0]["device"]["wall_seconds"]


def bench_sublayer(boot):
    """The rest of the time is the guest's own run, which compares all counters."""
    seconds, device = sublayer(boot, "--config", "t3-mca")
    yield row("  T-NLG TP 8 FC-2: Sequential and T3-MCA", f"{seconds:.1f} s beyond boot",
               f"at most {SUBLAYER_SECONDS:.0f} s", seconds <= SUBLAYER_SECONDS)
    yield row("    on the device", f"{device:.2f} s")
    seconds, device = sublayer(boot)
    yield row("  all configurations", f"{seconds:.1f} s beyond boot")
    yield row("    on the device", f"{device:.2f} s")


def boots():
    """Seconds of a boot, of one with the host's root, and from a saved machine, in turn."""
    run_vm("bench", "true", options=["--saved"])  # saves it
    runs = [[run_vm("bench", "true", options=options)[1]
             for options in ((), ("--root", "host"), ("--saved",))] for _ in range(TRIES)]
    return [min(times) for times in zip(*runs)]


def job(write):
    """Seconds of an iteration of a product and its reduce-scatter."""
    text, _ = run_vm("bench", "t3", "gemm-rs", "--json", "--ranks", str(RANKS), "--shape",
                     f"{SIDE}x{SIDE}x{SIDE}", "--iters", str(ITERATIONS), "--write", write)
    return wall_seconds(text) / ITERATIONS


def bench_writes():
    """The best of some runs, all ways in turn."""
    runs = [[job(write) for write in WRITES] for _ in range(TRIES)]
    best = dict(zip(WRITES, map(min, zip(*runs))))
    for write in WRITES:
        yield row(f"  gemm-rs {SIDE}^3 on {RANKS} ranks, {write}", f"{1000 * best[write]:.0f} ms/iteration")
    ratio = best["store"] / best["doorbell"]
    yield row("    stores to doorbells", f"{ratio:.2f}x", f"at most {WRITE_RATIO:g}x", ratio <= WRITE_RATIO)


def bench_jobs():
    boot, rooted, saved = boots()
    yield row("VM, boot and end", f"{boot:.1f} s")
    yield row("  from a saved machine", f"{saved:.1f} s, {saved / boot:.2f}x",
              f"at most {SAVED_TIMES:g}x", saved <= SAVED_TIMES * boot)
    yield row("  with the host's root", f"{rooted:.1f} s, {rooted / boot:.2f}x",
              f"at most {ROOT_TIMES:g}x", rooted <= ROOT_TIMES * boot)
    yield from bench_sublayer(boot)
    yield from bench_writes()


# --- nodes -------------------------------------------------------------------------

def node_figures():
    """{way: {what: value}} of two QEMUs, and of two processes that wake each other by eventfds."""
    program = BUILD / "qemu/tests/qtest/t3/t3-qtest"
    done = subprocess.run([program, "-m", "perf", "-p", "/x86_64/t3/nodes/perf"],
                          env={**os.environ, "QTEST_QEMU_BINARY": str(BUILD / "qemu/qemu-system-x86_64")},
                          stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=VM_SECONDS, check=False)
    if done.returncode:
        raise RuntimeError(f"t3-qtest ended with {done.returncode}: {done.stderr.strip()}")
    figures = {}
    for line in done.stdout.splitlines():
        if line.startswith("# perf "):
            way, what, value = line.split()[2:]
            figures.setdefault(way, {})[what] = float(value)
    return figures


def bench_nodes():
    figures = node_figures()
    for what, text in (("ping-pong-ns", "ping-pong"), ("round-trip-ns", "after a pause of 1 ms")):
        yield row(f"two processes, eventfds there and back, {text}",
                  duration(figures["eventfd"][what]))
        yield row("  the same on two CPUs", duration(figures["eventfd-apart"][what]))
    control = min(figures[way]["ping-pong-ns"] for way in ("eventfd", "eventfd-apart"))
    for way, found in figures.items():
        if "bytes-per-second" in found:
            yield row(f"  1 MiB in packets, {way}", f"{found['bytes-per-second'] / 1e6:.0f} MB/s")
            yield row(f"  doorbell to the end of 1 KiB, {way}", duration(found["packet-ns"]))
    for way in ("shared-memory", "unix", "tcp"):
        trip = figures[way]["ping-pong-ns"]
        bound = TRIP_RATIO if way == "shared-memory" else None
        yield row(f"  packet to its response, ping-pong, {way}",
                  f"{duration(trip)}, {trip / control:.1f}x",
                  f"at most {bound:g}x" if bound else "", not bound or trip <= bound * control)
        yield row(f"  packet to its response after a pause, {way}",
                  duration(figures[way]["round-trip-ns"]))


def write_report(report):
    BUILD.mkdir(parents=True, exist_ok=True)
    REPORT.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    print(f"written to {REPORT}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--no-vm", action="store_true", help="the timed model alone")
    parser.add_argument("--rounds", type=int, default=31, metavar="N",
                        help="of each row of `t3 bench`, 1..101 (31)")
    options = parser.parse_args()
    try:
        report = {"model": bench_table() + bench_files()}
        if not options.no_vm:
            report["devices"] = bench_devices(options.rounds)
            report["jobs"] = list(bench_jobs())
            report["nodes"] = list(bench_nodes())
    except (RuntimeError, ValueError, OSError, subprocess.TimeoutExpired) as error:
        sys.exit(f"bench: {error}")
    write_report(report)
    return 0


if __name__ == "__main__":
    sys.exit(main())
