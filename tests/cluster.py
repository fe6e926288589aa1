#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""t3-vm cluster and t3-vm node: two VMs with a network between them, started by t3-vm, mpirun and
srun; TAP on stdout.

usage: cluster.py [NAME...]     (default: all tests)
"""

import contextlib
import functools
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from unittest import mock

import loop
from loop import BUILD, ROOT, VM, Skip, check, expect, run, run_folder
from slurm import slurm

sys.path[:0] = [str(ROOT / "tools/vm"), str(ROOT / "tools/build")]
import vm_who  # pylint: disable=wrong-import-position
from batch import batch_command, read_batch  # pylint: disable=wrong-import-position

BOOT_SECONDS = 60
GUEST = pathlib.Path(os.environ.get("T3_GUEST", BUILD))  # what depends on the kernel
FAST = ("--no-devices", "--no-driver")  # which boots faster


# --- nodes in VMs ------------------------------------------------------------

def processes_of(*texts):
    """Those that have one of the texts in their command lines."""
    found = []
    for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            line = path.read_bytes().replace(b"\0", b" ").decode(errors="replace")
            if any(text in line for text in texts):
                found.append(line)
    return found


def await_none(*texts):
    end = time.monotonic() + 10
    while (left := processes_of(*texts)) and time.monotonic() < end:
        time.sleep(0.1)
    check(not left, "processes are left", "\n".join(left))


def meeting_folders():
    return list(vm_who.runtime_folder(os.environ).glob(f"t3-cluster-{os.getuid()}-*"))


def cluster(name, *arguments, seconds=BOOT_SECONDS):
    return run(VM, "cluster", "--name", name, *arguments, seconds=seconds)


PINGS = """ping -c 1 -w 10 node$((1 - T3_NODE)) >/dev/null && echo "$(hostname) hears the other"
echo "$T3_NODE of $T3_NODES with $T3_NODE_RANKS at $T3_NODE_ADDRESS, $MASTER_ADDR:$MASTER_PORT"
for i in $(seq 300); do printf 'line '; echo $i; done
t3 list | grep -c accel0"""


def nodes_reach_each_other_by_name():
    """And their lines come whole, each with the node's name."""
    status, out, err = cluster("cluster-pings", "--nodes", "2", "--ranks", "1", "--", "sh", "-c", PINGS)
    check(status == 0 and not err, f"status {status}", out + err)
    for node in (0, 1):
        mine = [line.removeprefix(f"node{node}: ") for line in out.splitlines()
                if line.startswith(f"node{node}: ")]
        wanted = [f"node{node} hears the other",
                  f"{node} of 2 with 1 at 10.61.0.{node + 1}, 10.61.0.1:29500",
                  *(f"line {number}" for number in range(1, 301)), "1"]
        check(mine == wanted, f"the lines of node {node}", out)
        facts = json.loads((run_folder("cluster-pings") / f"node{node}/run.json").read_text())
        check(facts["status"] == 0 and facts["node"] == node and facts["nodes"] == 2, "run.json", facts)
    check(len(out.splitlines()) == 606, "other lines", out)
    await_none(str(run_folder("cluster-pings")))
    check(not meeting_folders(), "a folder is left", meeting_folders())


def a_failure_ends_the_other_nodes():
    """After the time of grace, with the status of the one that failed first."""
    start = time.monotonic()
    result = cluster("cluster-fails", "--grace", "1", *FAST, "--", "sh", "-c",
                     "[ $T3_NODE = 1 ] && exit 7; echo goes on; sleep 300")
    expect(result, 7, "^node0: goes on$",
           "^node0: t3-vm: node 1 ended with status 7, so node 0 is ended, too$",
           r"^t3-vm: node1 failed first, with status 7; logs are in \S*run/cluster-fails$")
    check(time.monotonic() - start < BOOT_SECONDS, "it took too long")
    facts = json.loads((run_folder("cluster-fails") / "run.json").read_text())
    check(facts["first_failed"] == 1 and facts["statuses"] == [7, 7], "run.json", facts)


def a_node_that_hangs_meets_the_timeout():
    result = cluster("cluster-hangs", "--timeout", "15", "--grace", "1", *FAST, "--", "sh", "-c",
                     "[ $T3_NODE = 0 ] || sleep 300")
    expect(result, 124, "^node1: t3-vm: no end after 15.0 s")
    await_none(str(run_folder("cluster-hangs")))


@contextlib.contextmanager
def started(name):
    """A cluster whose command runs in both VMs."""
    command = [VM, "cluster", "--name", name, *FAST, "--", "sh", "-c", "echo begun; sleep 300"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          cwd=ROOT, env={**os.environ, "PYTHONFAULTHANDLER": "1"}) as process:
        try:
            begun = sorted(process.stdout.readline() for _ in range(2))
            check(begun == ["node0: begun\n", "node1: begun\n"], "the command begins", begun)
            yield process
        finally:
            process.kill()


def output_of(process, seconds):
    """Until its end. If that does not come, it says where it is."""
    try:
        return process.communicate(timeout=seconds)[0]
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGABRT)
        output = process.communicate(timeout=seconds)[0]
        check(False, f"no end after {seconds} s", output)


def a_killed_cluster_leaves_no_process():
    with started("cluster-killed") as process:
        process.kill()
        process.wait()
        await_none(str(run_folder("cluster-killed")), *map(str, meeting_folders()))
    check(meeting_folders(), "a killed cluster cannot remove its folder")


def sigterm_ends_all_nodes():
    """The folder of a cluster that was killed before is gone by then."""
    stale = vm_who.runtime_folder(os.environ) / f"t3-cluster-{os.getuid()}-stale"
    with contextlib.suppress(FileExistsError):
        stale.mkdir(mode=0o700)
    (stale / "node-0").write_text("nodes 2\n")
    with started("cluster-term") as process:
        check(len(meeting_folders()) == 1 and not stale.exists(), "old folders", meeting_folders())
        process.send_signal(signal.SIGTERM)
        output = output_of(process, 20)
        check(process.returncode == 128 + signal.SIGTERM, f"status {process.returncode}", output)
    await_none(str(run_folder("cluster-term")))
    check(not meeting_folders(), "a folder is left", meeting_folders())


# --- other launchers ---------------------------------------------------------

NODE = (VM, "node", "--name", "cluster-launched", "--grace", "2", *FAST)
JOB = ("sh", "-c", "ping -c 1 -w 10 node$((1 - T3_NODE)) >/dev/null && echo node $T3_NODE hears; "
       "[ $T3_NODE = 0 ] || sleep 2; exit $((T3_NODE * 9))")


def expect_of_launcher(result, label):
    expect(result, 9, rf"^{label(0)}node 0 hears$", rf"^{label(1)}node 1 hears$")
    await_none(f"{BUILD}/run/cluster-launched")


def mpirun_starts_nodes():
    """Open MPI, through PMIx; it labels their lines, and has the status of the one that failed."""
    if not shutil.which("mpirun"):
        raise Skip("there is no mpirun: install openmpi-bin")
    root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    result = run("mpirun", "--oversubscribe", "--tag-output", "-n", "2", *NODE, "--", *JOB, env=root,
                 seconds=BOOT_SECONDS)
    expect_of_launcher(result, lambda node: rf"\[\d+,{node}\]<stdout>: ?")


def srun_starts_nodes():
    """Slurm, with daemons of the test's own."""
    with slurm() as environment:
        result = run("srun", "-n", "2", "-l", *NODE, "--", *JOB, env=environment,
                     seconds=BOOT_SECONDS)
    expect_of_launcher(result, lambda node: f"{node}: ")


# --- one fabric --------------------------------------------------------------

RANKS = ["--ranks", "2", "--initramfs", GUEST / "tests.img"]
PROGRAM = "/usr/lib/t3/tests/node_ranks"


def of_node(node, text):
    """Its lines, without its name before them."""
    label = f"node{node}: "
    return "".join(line.removeprefix(label) for line in text.splitlines(keepends=True)
                   if line.startswith(label))


def labelled(node, text):
    return "".join(f"node{node}: {line}" for line in text.splitlines(keepends=True))


def run_parts(name, options, scripts):
    """{part: (status, stdout, stderr)} of scripts that both nodes of one cluster run, one after the other.
    The status is the higher one of the two nodes, or the cluster's own if that has failed."""
    seconds = 2 * BOOT_SECONDS
    whole, out, err = cluster(name, *options, "--", *batch_command(seconds, scripts.values()),
                              seconds=len(scripts) * seconds)
    nodes = [read_batch(of_node(node, out), len(scripts)) for node in (0, 1)]
    return {part: (-1, out, err) if None in (first.status, second.status) else
            (whole or max(first.status, second.status), labelled(0, first.text) + labelled(1, second.text), err)
            for part, first, second in zip(scripts, *nodes)}


def collectives_of_a_full_fabric_are_hierarchical():
    """With the bits of their order, and what does not fit is refused; also as t3 perf measures it."""
    result = cluster("cluster-hierarchical", *RANKS, "--topology", "full", "--", "sh", "-c",
                     f"{PROGRAM} && t3 launch --nodes -n 2 -- t3 perf --max 1K --iters 2 --algorithm "
                     "ring,hierarchical,auto", seconds=2 * BOOT_SECONDS)
    expect(result, 0, "^node0: ranks 0 to 1: good$", "^node1: ranks 2 to 3: good$",
           *(rf"^node0: +1024 .* right +{name}$" for name in ("ring", "hierarchical", "auto")))


def collectives_of_a_fabric_with_a_switch_meet_there():
    """In the parts on both nodes, and a rank that ends is an error at all others."""
    result = cluster("cluster-switch", *RANKS, "--topology", "switch", "--", "sh", "-c",
                     f"{PROGRAM} && t3 launch --nodes -n 2 -- t3 perf --max 1K --iters 2 --algorithm "
                     f"switch,auto && {PROGRAM} 3", seconds=2 * BOOT_SECONDS)
    expect(result, 0, "^node0: ranks 0 to 1: good$", "^node1: ranks 2 to 3: good$",
           *(rf"^node0: +1024 .* right +{name}$" for name in ("switch", "auto")),
           *(rf"^node{rank // 2}: rank {rank}: all-reduce, .*rank 3 has ended$" for rank in range(3)))


SHAPES = ("--shape 64x48x64 --tile 16x16 --iters 2", "--shape 68x35x20 --tile 16x5 --iters 3 --seed 7")
JOBS = [f"--dtype {dtype} --write {write} {shape}" for dtype in ("i32", "f32", "f16", "bf16")
        for write, shape in zip(("store", "doorbell"), SHAPES)] + [f"--write gemm {SHAPES[0]}"]
TIMED_JOBS = [f"--timed {job}" for job in JOBS]
VARYING = ("varying", "nodes")


def without(names, value):
    """What is left of a JSON value without the members that have these names."""
    if isinstance(value, list):
        return [without(names, item) for item in value]
    if isinstance(value, dict):
        return {key: without(names, item) for key, item in value.items() if key not in names}
    return value


def gemm_script(ranks, jobs):
    return "\n".join(f"t3 gemm-rs --json --ranks {ranks} {job} $NODES || exit" for job in jobs)


def gemm_read(result):
    """The JSON of each job, in order."""
    status, out, err = result
    check(status == 0, f"status {status}",
          "\n".join(line for line in out.splitlines() if '"reason"' in line or " rank " in line) + err)
    results, text, decoder = [], re.sub(r"^node\d: ", "", out, flags=re.MULTILINE), json.JSONDecoder()
    while text.strip():
        found, end = decoder.raw_decode(text := text.lstrip())
        results, text = [*results, found], text[end:]
    return results


def gemm_results(command, ranks, jobs, seconds):
    return gemm_read(run(VM, *command, "sh", "-c", gemm_script(ranks, jobs), seconds=seconds))


# Rank 2 is the first one of node 1.
LATE = ("t3 launch --nodes -n 2 -- sh -c '[ $T3_RANK != 2 ] || exec sleep 600; "
        "exec t3 perf --max 1K --iters 1 --timeout 40'")


@functools.cache
def ring():
    """In one cluster. A job that has lost a rank does not disturb the next one."""
    return run_parts("cluster-ring", RANKS, {
        "collectives": "t3 list && t3 launch --nodes -l -n 2 -- sh -c 'echo $T3_RANK of $T3_RANKS' && "
                       f"{PROGRAM}",
        "gemm-lost": "t3 gemm-rs --nodes --ranks 4 --kill-rank 1 --kill-step 2 --timeout 20",
        "lost": f"{PROGRAM} 3",
        "late": LATE,
        "gemm": f"NODES=--nodes\n{gemm_script(4, TIMED_JOBS)}"})


def collectives_run_over_two_nodes():
    """And the devices are ranks of one fabric, one node after the other."""
    result = ring()["collectives"]
    expect(result, 0, *(rf"^node{rank // 2}: .* {rank} of 4 +ring" for rank in range(4)),
           *(rf"^node{rank // 2}: \[{rank}\] {rank} of 4$" for rank in range(4)),
           "^node0: ranks 0 to 1: good$", "^node1: ranks 2 to 3: good$")
    found = set(re.findall(r" (0x[0-9a-f]+)$", result[1], re.MULTILINE))
    check(len(found) == 1, "the fabric's identity", result[1])


def a_gemm_over_nodes_has_the_bits_and_counts_of_one_vm():
    """For all types and paths of the output, and a timed run; only the first node prints."""
    alone = gemm_results(["run", "--name", "cluster-alone", "--ranks", "4", "--", "env", "NODES="], 4,
                         TIMED_JOBS, 3 * BOOT_SECONDS)
    expect_same_results(2, JOBS, gemm_read(ring()["gemm"]), alone)


def expect_same_results(count, jobs, nodes, alone):
    """Of a cluster of so many nodes, and of one VM."""
    check(len(nodes) == len(alone) == len(jobs), "results", f"{len(nodes)} and {len(alone)}")
    for job, here, there in zip(jobs, nodes, alone):
        check(here["hash"] == there["hash"], job, f"hash {here['hash']}, of one VM {there['hash']}")
        check(here["pass"] and without(VARYING, here) == without(VARYING, there), job, f"{here}\n{there}")
        check(here["config"]["nodes"] == count, "nodes", here["config"])


def sums_of_a_gemm_over_nodes_meet_in_the_switch():
    """With the bits and counts of one VM: those of floats in the order of the ranks."""
    fabric, jobs = ["--ranks", "4", "--topology", "switch"], [JOBS[0], JOBS[3], JOBS[-1]]
    alone = gemm_results(["run", "--name", "cluster-alone", *fabric, "--", "env", "NODES="], 4, jobs,
                         2 * BOOT_SECONDS)
    nodes = gemm_results(["cluster", "--name", "cluster-switch", *fabric[2:], *RANKS, "--", "env",
                          "NODES=--nodes --algorithm switch"], 4, jobs, 2 * BOOT_SECONDS)
    expect_same_results(2, jobs, nodes, alone)


def a_gemm_over_nodes_names_the_rank_that_ended():
    expect(ring()["gemm-lost"], 1, "^node0: FAIL: rank 1 was ended by signal 9", "^node1: FAIL: rank [23]: ")


def a_rank_that_ends_is_an_error_on_both_nodes():
    expect(ring()["lost"], 0, *(rf"^node{rank // 2}: rank {rank}: all-reduce, rank {rank} \(node {rank // 2}\), "
                                "epoch 1: .*rank 3 has ended$" for rank in range(3)))


def a_rank_that_does_not_come_is_named_on_both_nodes():
    """Its own node names it, too. Which of the deadlines passes first is not known."""
    expect(ring()["late"], 1, "^node0: t3: rank 0: rank 2 of 4 did not come to .* in time(; .*)?$",
           *(f"^node{rank // 2}: t3: rank {rank}: (rank 0 has given up: )?rank 2 did not come (to .* )?in time$"
             for rank in (1, 3)),
           *(f"^node{rank // 2}: t3: rank {rank} ended with status 1, because rank 2 was late$"
             for rank in (0, 1, 3)))


# A node's job ends with that of the other node, so there may be none to kill.
VIEW = """t3 status --nodes --wait 60 || exit
t3 gemm-rs --nodes --ranks 2 --iters 100000 --timeout 300 >/dev/null 2>&1 & sleep 1
t3 top --nodes --once --wait 60 --json; t3 top --nodes --once --wait 60
t3 status --nodes --all --wait 60
kill $! 2>/dev/null; wait
[ $T3_NODE = 1 ] || t3 status --nodes --wait 0.1; exit 0"""


def the_tool_looks_at_all_nodes():
    """Node 0 prints what all have, and says who has not answered."""
    result = cluster("cluster-view", "--ranks", "1", "--", "sh", "-c", VIEW, seconds=3 * BOOT_SECONDS)
    expect(result, 0, "^node0: nothing is in flight on 2 devices of 2 nodes$",
           *(f"^node0: node {node}: T3: 1 device, " for node in (0, 1)),
           *(rf"^node0: node {node} rank {node} space \d+ \(pid \d+ t3\): epoch " for node in (0, 1)),
           r"^node0: t3: node 1 did not answer within 0\.1 s$")
    line = re.search(r'^node0: (\{"nodes".*)', result[1], re.MULTILINE)
    nodes = json.loads(line[1])["nodes"]
    check([node["sample"]["devices"][0]["rank"] for node in nodes] == [0, 1], "the samples", line[1])
    check("node1: " not in result[1], "only node 0 prints", result[1])


TRACE = """t3 trace --nodes --wait 60 --json -o /tmp/all.json -- \\
    t3 gemm-rs --nodes --ranks 2 --iters 5 --shape 64x64x64 || exit
[ $T3_NODE = 1 ] && { ls /tmp/all.json; exit 0; }
grep -o '"node . rank . [^"]*"' /tmp/all.json | sort -u
grep -o '"node .: rank .' /tmp/all.json | sort -u
t3 trace --nodes --wait 1 -o /tmp/all.json -- true"""


def one_timeline_has_all_nodes():
    """By the clock of node 0. Who does not come is named."""
    result = cluster("cluster-trace", "--ranks", "1", "--", "sh", "-c", TRACE, seconds=3 * BOOT_SECONDS)
    expect(result, 0, *(f'^node0: "node {node}: rank {node}$' for node in (0, 1)),
           "^node1: ls: /tmp/all.json: No such file",
           "^node0: t3: node 1 is not in the timeline: it did not begin$",
           "^node0: /tmp/all.json: .*; 1 of 2 nodes, .*virtual clocks are each node's own$")
    facts = json.loads(re.search(r'^node0: (\{"clock".*)', result[1] + result[2], re.MULTILINE)[1])
    other = facts["nodes"][0]
    check(facts["clock"] == "CLOCK_MONOTONIC of node 0" and facts["events"], "node 0", facts)
    check(other["node"] == 1 and other["facts"]["events"] and not other["facts"]["status"], "node 1", other)
    check(0 < other["clock_error_us"] == facts["clock_error_us"], "the clocks' error", facts)


def nodes_may_have_fabrics_of_their_own():
    result = cluster("cluster-own", "--own-fabrics", "--ranks", "1", "--", "t3", "list")
    expect(result, 0, "^node0: .* 0 of 1 ", "^node1: .* 0 of 1 ")


def the_administrator_may_forbid_keys():
    """The nodes are on one fabric, but their ranks do not get grants from each other."""
    result = cluster("cluster-no-keys", *RANKS, "--device-opts", "keys=node", "--grace", "3", "--",
                     PROGRAM, seconds=2 * BOOT_SECONDS)
    expect(result, 255, "on another node: it takes keys=fabric of the device and keys=2 of t3.ko$")


def an_mpi_job_spans_the_nodes():
    """Started by mpirun in one of them: a program from Debian, and one that uses libt3."""
    if not shutil.which("NPopenmpi"):
        raise Skip("there is no NPopenmpi: install netpipe-openmpi")
    job = ("[ $T3_NODE = 0 ] || exit 0; cd /tmp && mpirun -n 4 sh -c 'hostname; exec mpi_all_reduce' && "
           "mpirun -n 2 --map-by node /mnt/host/NPopenmpi -u 64 -n 2 2>&1")
    folder = pathlib.Path(shutil.which("NPopenmpi")).parent
    result = cluster("cluster-mpi", "--ranks", "2", "--initramfs", GUEST / "mpi.img", "--share", folder,
                     "--", "sh", "-c", job, seconds=2 * BOOT_SECONDS)
    expect(result, 0, "^node0: node0$", "^node0: node1$", r"^node0: +\d+: +64 bytes ",
           *(f"^node0: rank {rank} of 4: 5 sums of 10007 elements are MPI's$" for rank in range(4)))


TESTS = [nodes_reach_each_other_by_name, collectives_run_over_two_nodes,
         collectives_of_a_full_fabric_are_hierarchical,
         collectives_of_a_fabric_with_a_switch_meet_there,
         a_gemm_over_nodes_has_the_bits_and_counts_of_one_vm,
         sums_of_a_gemm_over_nodes_meet_in_the_switch, a_gemm_over_nodes_names_the_rank_that_ended,
         a_rank_that_ends_is_an_error_on_both_nodes, a_rank_that_does_not_come_is_named_on_both_nodes,
         the_tool_looks_at_all_nodes, one_timeline_has_all_nodes, nodes_may_have_fabrics_of_their_own,
         the_administrator_may_forbid_keys, a_failure_ends_the_other_nodes,
         a_node_that_hangs_meets_the_timeout, a_killed_cluster_leaves_no_process,
         sigterm_ends_all_nodes, mpirun_starts_nodes, srun_starts_nodes,
         an_mpi_job_spans_the_nodes]


def main():
    """Clusters of others are not looked at."""
    with tempfile.TemporaryDirectory(prefix="t3-") as folder, \
            mock.patch.dict(os.environ, XDG_RUNTIME_DIR=folder):
        return loop.main(TESTS)


if __name__ == "__main__":
    sys.exit(main())
