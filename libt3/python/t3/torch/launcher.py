# SPDX-License-Identifier: MIT
"""Which rank this process is, in the variables that torch reads.

torch's ``env://`` reads RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT. `t3 launch`, mpirun and srun
set variables of their own. What torch needs and nobody has set is taken from those.

From torch 2.4 on the store at which ranks meet is libuv's. Debian's torch is built without, and ends
every start by ``env://`` in an error. The older store is in all torches, and USE_LIBUV=0 takes it.
"""

from __future__ import annotations

import zlib
from typing import MutableMapping, NamedTuple


class Launcher(NamedTuple):
    """The variables of a launcher: numbers, and the first that is set of the names of its job."""

    rank: str
    ranks: str
    local_rank: str
    local_ranks: str
    jobs: tuple[str, ...]


LAUNCHERS = (
    Launcher("T3_RANK", "T3_RANKS", "", "", ("T3_COMM_DIR",)),
    Launcher("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK",
             "OMPI_COMM_WORLD_LOCAL_SIZE", ("PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid")),
    Launcher("SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID", "", ("SLURM_JOB_ID",)),
)
PORTS = range(20000, 32000)  # below those that kernels give to clients


def complete(environment: MutableMapping[str, str]) -> None:
    """Set what torch needs and is not set: of the ranks, if a launcher has started this process."""
    environment.setdefault("USE_LIBUV", "0")
    launcher = next((one for one in LAUNCHERS if environment.get(one.rank)
                     and environment.get(one.ranks)), None)
    if launcher is None or environment.get("RANK"):
        return
    environment["RANK"] = environment[launcher.rank]
    environment.setdefault("WORLD_SIZE", environment[launcher.ranks])
    if local := environment.get(launcher.local_rank):
        environment.setdefault("LOCAL_RANK", local)
    if is_on_one_node(launcher, environment):
        environment.setdefault("MASTER_ADDR", "127.0.0.1")
    environment.setdefault("MASTER_PORT", str(port_of(launcher, environment)))


def is_on_one_node(launcher: Launcher, environment: MutableMapping[str, str]) -> bool:
    """`t3 launch` gives a directory to ranks of one node, and to others none."""
    if launcher.local_ranks:
        return environment.get(launcher.local_ranks) == environment[launcher.ranks]
    if launcher.rank == "T3_RANK":
        return bool(environment.get("T3_COMM_DIR"))
    return environment.get("SLURM_NNODES") == "1"


def port_of(launcher: Launcher, environment: MutableMapping[str, str]) -> int:
    """Of a job, so that two jobs of one machine hardly ever meet."""
    job = next((environment[name] for name in launcher.jobs if environment.get(name)), "")
    return PORTS[zlib.crc32(job.encode()) % len(PORTS)]
