# SPDX-License-Identifier: MIT
"""Which node of how many this is, and where the nodes meet: by options, or else by what the
launchers that start one process for each node put into its environment.
"""

import os
import pathlib
import re

from vm_base import EXIT_USAGE, VmError

NODES_MAX = 32

# The innermost launcher first: Open MPI's may have been started by Slurm's. All of them count
# processes from 0. PMIx gives a process no count, so that one needs --nodes.
LAUNCHERS = (
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
    ("SLURM_PROCID", "SLURM_NTASKS"),
    ("PMIX_RANK", None),
    ("RANK", "WORLD_SIZE"),
)

# What has the same value in each process of a job, and another one in each job.
JOBS = (("PMIX_NAMESPACE",), ("SLURM_JOB_ID", "SLURM_STEP_ID"), ("MASTER_ADDR", "MASTER_PORT"))

# (the processes on this machine, all of them) and (machines, which must be one).
ON_MACHINES = (("OMPI_COMM_WORLD_LOCAL_SIZE", "OMPI_COMM_WORLD_SIZE"), ("SLURM_STEP_NUM_NODES", None))


def wrong(text):
    return VmError(EXIT_USAGE, text)


def number(environ, name):
    """A variable's number, or None where it is missing."""
    text = environ.get(name or "", "")
    if text and not re.fullmatch(r"\d{1,9}", text):
        raise wrong(f"{name} must be a whole number; got '{text}'")
    return int(text) if text else None


def from_launcher(environ):
    """(node, nodes) by the launcher that started this process, each None if it does not say."""
    for rank, size in LAUNCHERS:
        if environ.get(rank):
            return number(environ, rank), number(environ, size)
    return None, None


def check_machine(environ):
    """The nodes meet in a folder of one machine."""
    for here, everywhere in ON_MACHINES:
        found, wanted = number(environ, here), number(environ, everywhere) if everywhere else 1
        if None not in (found, wanted) and found != wanted:
            raise wrong("all nodes must run on one machine, and the launcher has more than one")


def identity(node, nodes, environ):
    """(node, nodes): options first, then the launcher. Raises VmError if they are no sound pair."""
    if node is None or nodes is None:
        check_machine(environ)
        found_node, found_nodes = from_launcher(environ)
        node = found_node if node is None else node
        nodes = found_nodes if nodes is None else nodes
    if node is None or nodes is None:
        missing = "--node" if node is None else "--nodes"
        raise wrong(f"{missing} is missing, and no launcher says it in the environment "
                    "(mpirun, srun, RANK and WORLD_SIZE)")
    if not 1 <= nodes <= NODES_MAX:
        raise wrong(f"there may be 1 to {NODES_MAX} nodes; got {nodes}")
    if not 0 <= node < nodes:
        raise wrong(f"of {nodes} nodes the numbers are 0 to {nodes - 1}; got {node}")
    return node, nodes


def job_name(environ):
    """A name that the nodes of one job have in common, or None."""
    for names in JOBS:
        if all(environ.get(name) for name in names):
            return re.sub(r"[^A-Za-z0-9.-]", "_", "-".join(environ[name] for name in names))
    return None


def runtime_folder(environ):
    """For sockets: the user's own folder, or else the one of all."""
    folder = environ.get("XDG_RUNTIME_DIR", "")
    usable = os.path.isabs(folder) and os.access(folder, os.W_OK | os.X_OK)
    return pathlib.Path(folder if usable else "/tmp")


def meeting_folder(meet, environ):
    """--meet, or a folder that is named by the launcher's job."""
    if meet:
        return meet.absolute()
    name = job_name(environ)
    if not name:
        raise wrong("no launcher names its job in the environment: say with --meet DIR where the "
                    "nodes meet")
    return runtime_folder(environ) / f"t3-vm-{os.getuid()}-{name}"
