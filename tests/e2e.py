#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""`t3 gemm-rs` and `t3 sim` in VMs from end to end: all types in all ways, faults at links, and what
the VMs' records replay; TAP on stdout.

usage: e2e.py
"""

import collections
import json
import re
import subprocess

from tap import (BUILD, FAIL, LOGS, PASS, PROGRAM_SECONDS, ROOT, Result, execute, here, report,
                 run_suite)
from vm import guest_batch, record_of, record_results, replay_result, vm_result


def matrix():
    """(ranks, arguments of `t3 gemm-rs` but for --write): each runs by both ways."""
    for dtype in ("i32", "f32", "f16", "bf16"):
        yield 4, f"--shape 64x64x64 --dtype {dtype} --iters 2 --seed 7"
    yield 2, "--shape 32x64x32 --dtype f32 --iters 3 --seed 1"
    yield 8, "--shape 128x64x64 --dtype i32 --iters 2 --seed 3"
    yield 4, "--shape 256x256x256 --dtype f32 --iters 1 --seed 5 --tile 64x16"
    yield 4, "--shape 68x36x20 --dtype i32 --iters 2 --seed 9 --tile 16x16"
    yield 32, "--shape 64x32x64 --dtype i32 --iters 1 --seed 2 --tile 2x32"
    yield 4, SPILLING


# More tiles half done at once than the tracker's 256 entries: rank 0 starts late.
SPILLING = ("--shape 512x256x16 --dtype f32 --iters 1 --seed 4 --tile 4x8 "
            "--delay-rank 0 --delay-step 0 --delay-ms 300")


def from_json(text):
    try:
        return json.loads(text)
    except ValueError:
        return None


def same(first, second, keys):
    """Equal results and counts, chunk by chunk; what varies by design is left out."""
    def essence(run):
        return (run["hash"], [[[chunk[key] for key in keys] for chunk in rank["chunks"]]
                              for rank in run["ranks"]])
    return bool(first and second and first["pass"] and second["pass"]
                and essence(first) == essence(second))


def compare(ranks, arguments, runs, log):
    """runs: store, store again, doorbell, gemm."""
    counts = ["chunk", "kind", "local_bytes", "remote_bytes", "triggers", "dma_bytes",
              "nmc_elements"]
    every = counts + ["stores", "doorbells", "link_bytes"]
    checks = {
        "two runs have the same bits and counts": same(runs[0], runs[1], every),
        "all ways give the same bits and update bytes": same(runs[0], runs[2], counts)
                                                        and same(runs[0], runs[3], counts),
    }
    timed = (runs[3] or {}).get("timed", {})
    checks["all devices ran it in virtual time"] = (
        timed.get("devices") == ranks and not timed["host_paced"]
        and all(timed[f"{name}_ps"] > 0 for name in ("sequential", "t3", "t3_mca")))
    if arguments == SPILLING:
        checks["the tracker spills"] = bool(runs[0]) and any(
            rank["varying"]["tracker_spill"] for rank in runs[0].get("ranks", []))
    return [Result(f"e2e/{arguments} ({what})", PASS if good else FAIL, log)
            for what, good in checks.items()]


# The full fabric comes with device memory that few hosts could back, and that takes longer to save
# than a boot, for this one run.
MORE_OPTIONS = {32: ["--device-opts", "memory-size=4G", "--no-saved"]}

# compare() is given these, in this order.
WRITES = ("store", "store", "doorbell", "gemm --timed")


def boot(ranks, jobs, *options):
    """All jobs for one number of ranks in one VM."""
    commands = [f"t3 gemm-rs --json --ranks {ranks} {arguments} --write {write}"
                for arguments in jobs for write in WRITES]
    name = f"e2e-{ranks}-ranks" + re.sub(r"[^\w-]", "-", "".join(options))
    options = [*options, *MORE_OPTIONS.get(ranks, [])]
    status, batch = guest_batch(name, ["--ranks", str(ranks), *options], commands,
                                PROGRAM_SECONDS)
    log = batch[0].log
    results = [Result(f"e2e/{command}", PASS if ran.status == 0 else FAIL, log)
               for command, ran in zip(commands, batch)]
    for index, arguments in enumerate(jobs):
        first = len(WRITES) * index
        runs = [from_json(ran.text) for ran in batch[first:first + len(WRITES)]]
        results += compare(ranks, arguments, runs, log)
    report(results + [vm_result(name, status, log)])


# t3 sim ends so: (its arguments, status).
SIM_USE = [("--help", 0), ("", 2), ("--replay", 2), ("--replay /nonexistent", 2), ("--replay /", 2),
           ("--replay README.md", 2), ("--replay README.md --json", 2), ("argument", 2),
           ("--replay README.md --until 0", 2), ("--replay README.md --until 1x", 2),
           ("--replay README.md --json --verbose", 2), ("--no-such-option", 2),
           ("--list-params", 0), ("--model tools/paper/paper.model --config t3-mca", 0),
           ("--hidden 256 --tokens 1024 --tp 2 --sublayer ip --every-device --json", 0),
           ("--hidden 256 --tokens 1024 --tp 2", 2), ("--model README.md", 2),
           ("--hidden 0 --tokens 1024 --tp 2 --sublayer op", 2),
           ("--hidden 256 --tokens 1024 --tp 3 --sublayer op", 0),
           ("--hidden 256 --tokens 128 --tp 2 --sublayer op", 0),
           ("--hidden 256 --tokens 1024 --tp 513 --sublayer op", 2),
           ("--hidden 256 --tokens 1024 --tp 1 --sublayer op", 2),
           ("--hidden 256 --tokens 1024 --tp 2 --sublayer qkv", 2),
           ("--hidden 256 --tokens 1024 --tp 2 --tp 4 --sublayer op", 2),
           ("--hidden 256 --tokens 1024 --tp 2 --sublayer op --sublayer op", 2),
           ("--hidden 256 --tokens 1024 --tp 2 --sublayer op --param warp=1", 2),
           ("--hidden 256 --tokens 1024 --tp 2 --sublayer op --device", 1),
           ("--device", 2), ("--replay README.md --device", 2),
           ("--model tools/paper/paper.model --timeline /dev/full", 2),
           ("--hidden 256 --tokens 1024 --tp 2 --sublayer op --timeline /dev/full", 1)]


def sim_use():
    """Its exit status, and one sentence on stderr where it is not 0."""
    log = LOGS / "sim-use.log"
    results = []
    with open(log, "w", encoding="utf-8") as output:
        for text, wanted in SIM_USE:
            done = subprocess.run([*here(BUILD / "t3"), "sim", *text.split()], timeout=60, cwd=ROOT,
                                  capture_output=True, text=True, check=False)
            output.write(f"{text}: {done.returncode} {done.stderr}\n")
            good = (done.returncode == wanted
                    and len(done.stderr.splitlines()) == (1 if wanted else 0))
            results.append(Result(f"sim/{text}", PASS if good else FAIL, log))
    report(results)


# Faults given with the fabric: (name, injections, whether the job must still pass).
INJECTED = [
    ("injection", "link-random rank=0 peer=1 nth=3000 seed=7;"
     "drop rank=1 peer=2 nth=30 count=3;duplicate rank=2 peer=3 nth=5;"
     "corrupt rank=3 peer=0 nth=50;reorder rank=3 peer=0 nth=70", True),
    ("link-down", "link-down rank=0 peer=1", False),
]


def injected():
    """Faults injected at links do not change a result; a dead link ends the job on all ranks."""
    job = "t3 gemm-rs --ranks 4 --shape 64x64x64 --dtype i32 --iters 2 --seed 7"
    for name, text, good in INJECTED:
        fabric = f"inject={text},record={record_of(f'e2e-{name}')}"
        status, batch = guest_batch(f"e2e-{name}", ["--ranks", "4", "--fabric-opts", fabric],
                                    [job, f"{job} --write doorbell"], 60)
        first, second = batch
        told = all(f"rank {rank}:" in first.text for rank in range(4))
        ok = first.status == 0 if good else first.status not in (0, 124, None) and told
        ok = ok and (second.status == 0) == good
        outcome = "the same result" if good else "an error on each rank"
        report([Result(f"e2e/{name} ({outcome})", PASS if ok else FAIL, first.log),
                vm_result(f"e2e-{name}", status, first.log)])
        record_results(f"e2e-{name}")


# t3 sim in a VM: (arguments, status, what it says), on a fabric with and without timed=on.
SIM_DEVICE = [("--tp 2 --device", 0, "on 1 device: 6 runs"),
              ("--tp 4 --device --every-device", 0, "on 4 devices: 5 runs"),
              ("--tp 2 --device --timeline /tmp/timeline", 0, "on 1 device: 2 runs"),
              ("--tp 4 --device --json", 0, '"host_paced": false'),
              ("--tp 2 --device --every-device", 2, "the fabric has 4 ranks"),
              ("--tp 4 --device --every-device --config direct", 1, "needs a full fabric")]
SIM_NO_DEVICE = [("--tp 2 --device", 1, "timed=on"), ("--tp 2", 0, "virtual us")]


def sim_device_boot(name, options, uses):
    status, batch = guest_batch(name, ["--ranks", "4", *options],
                                [f"t3 sim --hidden 256 --tokens 1024 --sublayer op {text}"
                                 for text, _, _ in uses], 60)
    report([Result(f"{name}/{text}", PASS if ran.status == wanted and said in ran.text else FAIL, ran.log)
            for (text, wanted, said), ran in zip(uses, batch)] + [vm_result(name, status, batch[0].log)])


def sim_device():
    """The model on devices, whose record replays without them; and where there is none."""
    name = "sim-device"
    sim_device_boot(name, ["--fabric-opts", f"record={record_of(name)}"], SIM_DEVICE)
    report([replay_result(name)])
    sim_device_boot("sim-no-device", ["--fabric-opts", "timed=off"], SIM_NO_DEVICE)


# A model of 8 experts, on a full fabric of 4 ranks. A file of one number has all ranks alike.
EXPERTS_FILE = json.dumps({
    "model_type": "mixtral", "hidden_size": 256, "num_hidden_layers": 2, "num_attention_heads": 8,
    "num_key_value_heads": 8, "intermediate_size": 512, "torch_dtype": "bfloat16", "num_local_experts": 8,
    "num_experts_per_tok": 2})
EXPERTS = "t3 sim --config /tmp/experts.json --tp 4 --tokens 512 --phase prefill"
SIM_EXPERTS = [
    (f"echo '{EXPERTS_FILE}' > /tmp/experts.json && yes 1 | head -n 8 > /tmp/alike", 0, ""),
    # The same bytes as natively, but for the lines on devices.
    (f"{EXPERTS} --ep 4 --routing skewed=0.5 --every-device > /tmp/natively && "
     f"{EXPERTS} --ep 4 --routing skewed=0.5 --every-device --device > /tmp/on-devices && "
     "grep -v '^  on 4 devices: ' /tmp/on-devices | grep -v '^$' > /tmp/a && grep -v '^$' /tmp/natively > /tmp/b && "
     "cmp /tmp/a /tmp/b && grep -F 'runs, as natively' /tmp/on-devices", 0, "on 4 devices: 6 runs, as natively"),
    (f"{EXPERTS} --ep 4 --routing /tmp/alike --device", 0, "on 1 device: 6 runs, as natively"),
    (f"{EXPERTS} --ep 4 --routing uniform --every-device --device --json", 0, '"runs": 6'),
    (f"{EXPERTS} --ep 4 --routing uniform --device", 2, "give --every-device"),
    (f"{EXPERTS} --ep 8 --routing uniform --device --every-device", 2, "--ep is 8, and the fabric has 4 ranks"),
]


def sim_experts():
    """GEMMs of experts with a routing on devices, whose record replays without them."""
    name = "sim-experts"
    status, batch = guest_batch(name, ["--ranks", "4", "--topology", "full", "--fabric-opts",
                                       f"record={record_of(name)}"],
                                [command for command, _, _ in SIM_EXPERTS], 120)
    report([Result(f"{name}/{number}", PASS if ran.status == wanted and said in ran.text else FAIL, ran.log)
            for number, ((_, wanted, said), ran) in enumerate(zip(SIM_EXPERTS, batch))] +
           [vm_result(name, status, batch[0].log), replay_result(name)])


def workload_of_a_record():
    """A run's record becomes a workload: the device's GEMM has its K, and that of stores is given."""
    name, job = "e2e-workload", "t3 gemm-rs --ranks 4 --shape 64x96x128 --dtype f32 --iters 2"
    status, batch = guest_batch(name, ["--ranks", "4", "--fabric-opts", f"record={record_of(name)}"],
                                [f"{job} --write gemm", f"{job} --write doorbell"], 60)
    made = BUILD / "run" / f"{name}.json"
    results = [vm_result(name, status, batch[0].log)]
    for what, command, wanted in (
            ("t3 trace", ["trace", "-o", made, "--record", record_of(name), "--k", "1=32", "--json"],
             [("gemm", 2, 64, 96, 32), ("stores", 2, 64, 96, 32)]),
            ("t3 sim", ["sim", "--workload", made, "--json"], [])):
        done, log = execute(f"{name}-{what[3:]}", [*here(BUILD / "t3"), *command])
        outputs = (from_json(log.read_text(errors="replace")) or {}).get("outputs", [])
        found = [tuple(one.get(key) for key in ("made_by", "count", "m", "n", "k")) for one in outputs
                 if one["collective"] == "reduce_scatter_tensor" and one["ranks"] == 4]
        results.append(Result(f"{name}/{what}", PASS if (done, found) == (0, wanted) else FAIL, log))
    report([*results, replay_result(name)])


def through_a_switch():
    """Sums in a switch: all types by all ways with the same bits; those of integers are the ring's."""
    name, job = "e2e-switch", "t3 gemm-rs --json --ranks 8 --shape 128x64x64 --iters 2 --seed 3"
    jobs = [f"{job} --dtype {dtype} --write {write}" for dtype in ("i32", "f32", "f16", "bf16")
            for write in ("store", "doorbell", "gemm")]
    status, batch = guest_batch(name, ["--ranks", "8", "--topology", "switch"],
                                [f"{job} --dtype i32 --write store --algorithm ring", *jobs], PROGRAM_SECONDS)
    log = batch[0].log
    ring, *runs = [from_json(ran.text) or {} for ran in batch]
    results = [Result(f"e2e/switch: {command}", PASS if ran.status == 0 and run.get("pass") and
                      run["config"]["algorithm"] == "switch" else FAIL, log)
               for command, ran, run in zip(jobs, batch[1:], runs)]
    same_bits = ring.get("pass") and all(run.get("hash") == ring["hash"] for run in runs[:3])
    one_hash = all(len({run.get("hash") for run in runs[first:first + 3]}) == 1 for first in range(0, len(runs), 3))
    ordered = all(rank["varying"]["ordered"] for run in runs[3:] for rank in run.get("ranks", []))
    merged = all(rank["varying"]["merged"] for run in runs for rank in run.get("ranks", [{"varying": {"merged": 0}}]))
    report([*results,
            Result("e2e/switch: sums of integers have the ring's bits", PASS if same_bits else FAIL, log),
            Result("e2e/switch: all ways give the same bits", PASS if one_hash else FAIL, log),
            Result("e2e/switch: floats are added in the order of the ranks", PASS if ordered else FAIL, log),
            Result("e2e/switch: each rank's updates meet in the switch", PASS if merged else FAIL, log),
            vm_result(name, status, log)])


def e2e_suite():
    sim_use()
    through_a_switch()
    workload_of_a_record()
    sim_device()
    sim_experts()
    injected()
    by_ranks = collections.defaultdict(list)
    for ranks, arguments in matrix():
        by_ranks[ranks].append(arguments)
    for ranks, jobs in by_ranks.items():
        boot(ranks, jobs)
    boot(4, ["--shape 64x64x64 --dtype f32 --iters 2 --seed 11"], "--iommu", "--device-opts", "direct-stores=off")


if __name__ == "__main__":
    run_suite("e2e", e2e_suite)
