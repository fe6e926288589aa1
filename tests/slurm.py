# SPDX-License-Identifier: MIT
"""A Slurm of one machine for a test: munged, slurmctld and slurmd as its own processes, with a
configuration of their own in one folder. The machine's own Slurm is left alone.
"""

import contextlib
import getpass
import os
import pathlib
import re
import shutil
import socket
import subprocess
import tempfile
import time

from loop import Skip

UP_SECONDS = 20
END_SECONDS = 5
PROGRAMS = ("munged", "slurmctld", "slurmd", "srun", "sinfo")

# Without cgroups and accounting: a container may lack the right to the first.
CONFIGURATION = """\
ClusterName=t3
SlurmctldHost={host}(127.0.0.1)
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={place}/munge.socket
SlurmctldPort={ports[0]}
SlurmdPort={ports[1]}
StateSaveLocation={place}/state
SlurmdSpoolDir={place}/spool
SlurmctldPidFile={place}/slurmctld.pid
SlurmdPidFile={place}/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
NodeName={host} NodeAddr=127.0.0.1 CPUs=8 State=UNKNOWN
PartitionName=all Nodes={host} Default=YES State=UP
"""


def free_ports(count):
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]


def version_of(program):
    said = subprocess.run([program, "-V"], capture_output=True, text=True, timeout=60, check=True)
    return int(re.search(r"(\d+)\.", said.stdout)[1])


def configure(place):
    (place / "state").mkdir()
    (place / "spool").mkdir()
    (place / "munge.key").write_bytes(os.urandom(128))
    (place / "munge.key").chmod(0o400)
    (place / "slurm.conf").write_text(CONFIGURATION.format(
        host=socket.gethostname().partition(".")[0], user=getpass.getuser(), place=place,
        ports=free_ports(2)))
    # Since 24.05 it looks for cgroups unless this says no; earlier ones do not know the word.
    disabled = version_of("slurmd") >= 24
    (place / "cgroup.conf").write_text("CgroupPlugin=disabled\n" if disabled else "")


@contextlib.contextmanager
def daemon(place, *command):
    with open(place / f"{command[0]}.out", "wb") as log:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                   env={**os.environ, "SLURM_CONF": str(place / "slurm.conf")})
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def is_up(environment):
    said = subprocess.run(["sinfo", "-h", "-o", "%T"], capture_output=True, text=True, timeout=60,
                          env=environment, check=False)
    return said.stdout.strip() == "idle"


def await_up(place, environment, processes):
    """Skips where it does not come up, with what its parts said."""
    end = time.monotonic() + UP_SECONDS
    while not is_up(environment):
        dead = [process.args[0] for process in processes if process.poll() is not None]
        if dead or time.monotonic() >= end:
            said = [line for path in sorted(place.glob("*.out"))
                    for line in path.read_text(errors="replace").splitlines()
                    if "error" in line.lower() or "fatal" in line]
            raise Skip(f"Slurm does not start here: {' '.join(dead) or 'no node is idle'}; "
                       f"{said[-1] if said else 'no error is logged'}")
        time.sleep(0.2)


@contextlib.contextmanager
def slurm():
    """The environment for srun."""
    missing = [name for name in PROGRAMS if not shutil.which(name)]
    if missing:
        raise Skip(f"there is no {missing[0]}: make cluster installs Slurm (slurmctld, slurmd, "
                   "slurm-client, munge)")
    with tempfile.TemporaryDirectory(prefix="t3-slurm-") as name, contextlib.ExitStack() as stack:
        place = pathlib.Path(name)
        place.chmod(0o755)  # munge wants its socket reachable for all
        configure(place)
        files = [f"--key-file={place}/munge.key",
                 *(f"--{kind}-file={place}/munged.{kind}" for kind in ("log", "pid", "seed"))]
        conf = str(place / "slurm.conf")
        processes = [stack.enter_context(daemon(place, *command)) for command in (
            ("munged", "-F", "-S", f"{place}/munge.socket", *files),
            ("slurmctld", "-D", "-i", "-f", conf), ("slurmd", "-D", "-f", conf))]
        environment = {**os.environ, "SLURM_CONF": conf}
        await_up(place, environment, processes)
        yield environment
