#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""A cluster of 4 VMs with 8 devices each, the largest fabric there is: the GEMM in all types and by
all paths, all collectives, and faults of a node; TAP on stdout.

usage: cluster_wide.py [NAME...]     (default: all tests)

T3_WIDE=NxM takes N nodes with M devices each, and T3_WIDE_SLOW the time that they have, as a
multiple of that of the usual tests. On 2 processors that do nothing else all takes half an hour.
"""

import os
import sys

import cluster
import loop
import node_faults
from loop import VM, check, expect, run

NODES, EACH = (int(part) for part in os.environ.get("T3_WIDE", "4x8").split("x"))
RANKS = NODES * EACH
SLOW = int(os.environ.get("T3_WIDE_SLOW", "10"))
SECONDS = 150 * SLOW
SHAPE = f"--shape {2 * RANKS}x48x{2 * RANKS} --tile 2x16 --iters 2 --timeout {60 * SLOW}"
JOBS = [f"--dtype {dtype} --write {write} {SHAPE}" for dtype in ("i32", "f32", "f16", "bf16")
        for write in ("store", "doorbell", "gemm")]
CLUSTER = ("cluster", "--nodes", str(NODES), "--ranks", str(EACH), "--timeout", str(SECONDS))
IMAGE = ("--initramfs", cluster.GUEST / "tests.img")


def wide(name, *arguments):
    return run(VM, *CLUSTER, "--name", name, *arguments, seconds=SECONDS)


def collectives(name, *options, first="true"):
    """Of all ranks, after a command on each node."""
    result = wide(name, *IMAGE, *options, "--", "sh", "-c", f"{first} && T3_SLOW={SLOW} {cluster.PROGRAM}")
    expect(result, 0, *(f"^node{node}: ranks {node * EACH} to {(node + 1) * EACH - 1}: good$"
                        for node in range(NODES)))


def collectives_run_on_a_ring():
    collectives("wide-ring")


def collectives_run_on_a_full_fabric():
    collectives("wide-full", "--topology", "full")


def collectives_survive_lost_and_changed_packets():
    """Each node's last rank has a bad link to the next node, and its first one to the second."""
    first, last = f"$((T3_NODE * {EACH}))", f"$((T3_NODE * {EACH} + {EACH - 1}))"
    collectives("wide-loss", "--device-opts", "guest-inject=on", first=(
        f't3 inject "link-random rank={last} peer=$((({last} + 1) % {RANKS})) nth=20 seed=1; '
        f'link-random rank={first} peer=$((({first} + 1) % {RANKS})) nth=20 seed=2"'))


def a_gemm_has_the_bits_and_counts_of_one_vm():
    nodes = cluster.gemm_results([*CLUSTER, "--name", "wide-gemm", "--", "env", "NODES=--nodes"], RANKS,
                                 JOBS, SECONDS)
    alone = cluster.gemm_results(["run", "--name", "wide-alone", "--ranks", str(RANKS), "--timeout",
                                  str(SECONDS), "--", "env", "NODES="], RANKS, JOBS, SECONDS)
    cluster.expect_same_results(NODES, JOBS, nodes, alone)
    hashes = [result["hash"] for result in nodes]
    check(len(set(hashes)) == 4 and hashes[::3] == hashes[1::3] == hashes[2::3], "one for each type", hashes)
    print(f"# hashes of i32, f32, f16, bf16: {' '.join(hashes[::3])}")


def a_rank_that_ends_is_an_error_on_all_nodes():
    victim = RANKS - 1
    result = wide("wide-lost", *IMAGE, "--", "env", f"T3_SLOW={SLOW}", cluster.PROGRAM, str(victim))
    expect(result, 0, *(f"^node{rank // EACH}: rank {rank}: .*rank {victim} has ended$"
                        for rank in range(victim)))


FAULTS = [node_faults.a_stopped_node_is_an_error_on_both_and_comes_back,
          node_faults.a_killed_node_is_an_error_and_may_be_started_again,
          node_faults.a_full_disk_and_a_wrong_clock_hinder_nobody]
TESTS = [collectives_run_on_a_ring, collectives_run_on_a_full_fabric,
         collectives_survive_lost_and_changed_packets, a_gemm_has_the_bits_and_counts_of_one_vm,
         a_rank_that_ends_is_an_error_on_all_nodes, *FAULTS]


def main():
    node_faults.Shape.nodes, node_faults.Shape.ranks, node_faults.Shape.slow = NODES, EACH, SLOW
    node_faults.Shape.program = (f"t3 launch --nodes -n {EACH} -- t3 perf --min 4K --max 4K --iters 1 "
                                 f"--timeout {SECONDS // 2}")
    return loop.main(TESTS)


if __name__ == "__main__":
    sys.exit(main())
