# SPDX-License-Identifier: MIT
"""The network between nodes: one Ethernet segment of theirs alone, without a right of root.

Its switch is a QEMU without a machine: a hub with a Unix socket for each node, in the folder where
the nodes meet. Node 0 starts it. A node's virtio NIC (network_args of vm_machine) is connected to
its socket, again and again until the switch is there.
"""

import contextlib
import os
import subprocess

from vm_base import EXIT_DIED, VmError
from vm_process import dies_with_us, ended, start_qemu

PREFIX = "10.61.0"
PORT = 29500  # of MASTER_PORT, which is PyTorch's default
END_SECONDS = 5


def address(node):
    return f"{PREFIX}.{node + 1}"


def socket(folder, node):
    return folder / f"net-{node}"


def hub_args(folder, nodes):
    args = ["-machine", "none", "-nodefaults", "-no-user-config", "-display", "none",
            "-name", "t3-switch"]
    for node in range(nodes):
        path = str(socket(folder, node)).replace(",", ",,")
        args += ["-netdev", f"stream,id=s{node},server=on,addr.type=unix,addr.path={path}",
                 "-netdev", f"hubport,id=h{node},hubid=0,netdev=s{node}"]
    return args


@contextlib.contextmanager
def switch(qemu, folder, nodes, rundir):
    """Runs as long as the block."""
    for path in folder.glob("net-*"):
        path.unlink()
    with open(rundir / "switch.log", "wb") as log:
        process = start_qemu([str(qemu), *hub_args(folder, nodes)], log, subprocess.DEVNULL,
                             subprocess.DEVNULL, True, dies_with_us)
    try:
        yield process
    finally:
        process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(END_SECONDS)
        process.kill()
        process.wait()


def check_switch(process, rundir):
    if process and ended(process):
        raise VmError(EXIT_DIED, f"the network's switch ended: see {os.path.relpath(rundir)}/switch.log")


def guest_files(opts):
    """What the guest's init reads, and the command's environment."""
    facts = {"T3_NODE": opts.node, "T3_NODES": opts.nodes, "T3_NODE_RANKS": opts.ranks,
             "T3_NODE_ADDRESS": address(opts.node), "MASTER_ADDR": address(0), "MASTER_PORT": PORT}
    hosts = ["127.0.0.1 localhost", *(f"{address(node)} node{node}" for node in range(opts.nodes))]
    return {"node": "".join(f"{key}={value}\n" for key, value in facts.items()).encode(),
            "etc/hosts": ("\n".join(hosts) + "\n").encode()}
