# SPDX-License-Identifier: MIT
"""The options of `t3-vm cluster` and `t3-vm node` beyond those of `t3-vm run`. A cluster starts a
node for each VM, so they have the same ones.
"""

import os
import pathlib

from vm_span import SPAN_HELP, TIMEOUT_HELP, check_span
from vm_who import NODES_MAX, identity, meeting_folder, wrong

NODE_HELP = """this node's number from 0; default: OMPI_COMM_WORLD_RANK, SLURM_PROCID, PMIX_RANK or
RANK of the environment"""
NODES_HELP = """the number of nodes, 1..32; default: OMPI_COMM_WORLD_SIZE, SLURM_NTASKS or WORLD_SIZE
of the environment"""
MEET_HELP = """the folder where the nodes of a job meet, on this machine and yours alone; default: one
that is named by the job of the launcher"""
TEXT = """\
A node is a VM with some of the fabric's devices, and a network to the other nodes: 10.61.0.1 is node0,
10.61.0.2 is node1. CMD begins when all nodes are up, and each node stays up until CMD has ended on
all of them. When it fails on one, the others have --grace seconds to end. CMD's environment has
  T3_NODE, T3_NODES        this node's number from 0, and how many there are
  T3_NODE_RANKS            the devices of each node
  T3_NODE_ADDRESS          this node's address
  MASTER_ADDR, MASTER_PORT the address of node0, and a port there

exit status: 0 if it is that on all nodes, else that of the first that failed, as of `t3-vm run`
RUNS/NAME/nodeN keeps the files of each node.
"""


def nodes_text(runs):
    return TEXT.replace("RUNS", runs)


def add_node_options(parser, command):
    add = parser.add_argument
    add("--grace", type=float, default=10, metavar="SEC",
        help="time for the other nodes to end when one has failed (10)")
    add("--node-timeout", type=float, metavar="SEC", help=TIMEOUT_HELP)
    add("--own-fabrics", action="store_true", help=SPAN_HELP)
    if command == "cluster":
        add("--nodes", type=int, default=2, metavar="N", help=f"the number of nodes, 1..{NODES_MAX} (2)")
        return
    add("--nodes", type=int, metavar="N", help=NODES_HELP)
    add("--node", type=int, metavar="I", help=NODE_HELP)
    add("--meet", type=pathlib.Path, metavar="DIR", help=MEET_HELP)


def check_nodes(opts):
    """Fills in what a launcher says. Raises VmError."""
    if opts.command == "cluster":
        identity(0, opts.nodes, os.environ)
    else:
        opts.launched = opts.node is None
        opts.node, opts.nodes = identity(opts.node, opts.nodes, os.environ)
        opts.meet = meeting_folder(opts.meet, os.environ)
    check_span(opts)
    if not opts.grace >= 0:  # nor is nan
        raise wrong(f"--grace must be 0 or more seconds; got {opts.grace:g}")
