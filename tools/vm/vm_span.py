# SPDX-License-Identifier: MIT
"""One fabric over all nodes: what they tell each other for it, and QEMU's arguments."""

import json
import os
import re
import uuid

from vm_base import EXIT_USAGE, VmError
from vm_fabric import with_workers

RANKS_MAX = 32  # of a fabric

# Seconds, of the fabric's property node-timeout.
TIMEOUT_LEAST, TIMEOUT_MOST = 1, 60
TIMEOUT_HELP = f"""how long a node may stand still until the others take its devices for lost,
{TIMEOUT_LEAST}..{TIMEOUT_MOST} (5)"""

SPAN_HELP = """each node has a fabric of its own, instead of one that all devices of all nodes are
on"""


def identity(folder):
    """The UUID of the job's fabric. Node 0 draws it once, so it finds it here when it is started again.
    Who knows it may connect to the nodes: the file is its user's alone. It gets its name when it is
    whole, and goes with the job (vm_meet.clear_if_left)."""
    path, new = folder / "fabric-uuid", folder / ".fabric.new"
    if not path.exists():
        new.unlink(missing_ok=True)
        with open(os.open(new, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w", encoding="ascii") as file:
            file.write(f"{uuid.uuid4()}\n")
        new.rename(path)
    return path.read_text(encoding="ascii").strip()


def facts(opts, folder):
    """What a node says about its part of the fabric when it joins, alone in the folder."""
    if not spans(opts):
        return []
    return [f"ranks {opts.ranks}", *([f"fabric {identity(folder)}"] if opts.node == 0 else [])]


def spans(opts):
    return getattr(opts, "nodes", 1) > 1 and not opts.no_devices and not opts.own_fabrics


def check_span(opts):
    """Raises VmError for what a fabric of several nodes cannot have."""
    timeout = opts.node_timeout
    if timeout is not None and not TIMEOUT_LEAST <= timeout <= TIMEOUT_MOST:  # nor is nan
        raise VmError(EXIT_USAGE, f"--node-timeout must be {TIMEOUT_LEAST} to {TIMEOUT_MOST} seconds; "
                      f"got {timeout:g}")
    if not spans(opts):
        if timeout is not None:
            raise VmError(EXIT_USAGE, "--node-timeout is for a fabric of several nodes")
        return
    if opts.nodes * opts.ranks > RANKS_MAX:
        refuse(f"{opts.nodes} nodes with {opts.ranks} devices each are {opts.nodes * opts.ranks} "
               f"ranks: a fabric has at most {RANKS_MAX}")
    if opts.iommu:
        refuse("devices behind an IOMMU cannot be on a fabric of several nodes")
    if re.search(r"(^|,)node-timeout=", opts.fabric_opts):
        raise VmError(EXIT_USAGE, "--fabric-opts node-timeout= is the option --node-timeout, in seconds")
    for name in ("record", "iothread", "node", "nodes", "uuid"):
        if re.search(rf"(^|,){name}=", opts.fabric_opts):
            refuse(f"--fabric-opts {name}= is not for a fabric of several nodes")


def refuse(why):
    raise VmError(EXIT_USAGE, f"{why}; --own-fabrics gives each node a fabric of its own")


def span(opts, place):
    """The fabric of all nodes, which have come. None: each has its own."""
    if not spans(opts):
        return None
    counts = [int(place.fact(node, "ranks")) for node in range(opts.nodes)]
    return Span(place.folder, opts.node, counts, place.fact(0, "fabric"), opts.node_timeout)


def typed(text):
    """A value of QEMU's key=value form in JSON."""
    if text in ("on", "off"):
        return text == "on"
    return int(text) if re.fullmatch(r"\d+", text) else text


class Span:
    """The place of this node in the fabric. Ranks follow each other from node to node."""

    def __init__(self, folder, node, counts, identity, timeout=None):
        self.folder, self.node, self.counts, self.identity = folder, node, counts, identity
        self.more = {} if timeout is None else {"node-timeout": round(1000 * timeout)}
        self.ranks, self.first = sum(counts), sum(counts[:node])

    def fabric_object(self, name, properties):
        """In JSON: QEMU's other form has no lists. The fabric needs a thread of its own."""
        items = [item.partition("=") for item in with_workers(properties).split(",")]
        fabric = {"qom-type": "t3-fabric", "id": name,
                  **{key: typed(value) for key, _, value in items}, "iothread": f"io-{name}",
                  "node": self.node, "uuid": self.identity, "nodes": self.node_list(), **self.more}
        return ["-object", f"iothread,id=io-{name}", "-object", json.dumps(fabric)]

    def node_list(self):
        return [{"ranks": ranks, "address": {"type": "unix", "path": str(self.folder / f"fabric-{node}")}}
                for node, ranks in enumerate(self.counts)]

    @staticmethod
    def device_properties(given):
        """Who starts such a fabric wants its nodes to work together."""
        return "" if re.search(r"(^|,)keys=", given) else ",keys=fabric"
