# SPDX-License-Identifier: MIT
"""One fabric over all nodes: what they tell each other for it, and QEMU's arguments."""

import json
import re
import uuid

from vm_base import EXIT_USAGE, VmError
from vm_fabric import with_workers

RANKS_MAX = 32  # of a fabric

SPAN_HELP = """each node has a fabric of its own, instead of one that all devices of all nodes are
on"""


def facts(opts):
    """What a node says about its part of the fabric when it joins."""
    if not spans(opts):
        return []
    return [f"ranks {opts.ranks}", *([f"fabric {uuid.uuid4()}"] if opts.node == 0 else [])]


def spans(opts):
    return getattr(opts, "nodes", 1) > 1 and not opts.no_devices and not opts.own_fabrics


def check_span(opts):
    """Raises VmError for what a fabric of several nodes cannot have."""
    if not spans(opts):
        return
    if opts.nodes * opts.ranks > RANKS_MAX:
        refuse(f"{opts.nodes} nodes with {opts.ranks} devices each are {opts.nodes * opts.ranks} "
               f"ranks: a fabric has at most {RANKS_MAX}")
    if opts.iommu:
        refuse("devices behind an IOMMU cannot be on a fabric of several nodes")
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
    return Span(place.folder, opts.node, counts, place.fact(0, "fabric"))


def typed(text):
    """A value of QEMU's key=value form in JSON."""
    if text in ("on", "off"):
        return text == "on"
    return int(text) if re.fullmatch(r"\d+", text) else text


class Span:
    """The place of this node in the fabric. Ranks follow each other from node to node."""

    def __init__(self, folder, node, counts, identity):
        self.folder, self.node, self.counts, self.identity = folder, node, counts, identity
        self.ranks, self.first = sum(counts), sum(counts[:node])

    def fabric_object(self, name, properties):
        """In JSON: QEMU's other form has no lists. The fabric needs a thread of its own."""
        items = [item.partition("=") for item in with_workers(properties).split(",")]
        fabric = {"qom-type": "t3-fabric", "id": name,
                  **{key: typed(value) for key, _, value in items}, "iothread": f"io-{name}",
                  "node": self.node, "uuid": self.identity, "nodes": self.node_list()}
        return ["-object", f"iothread,id=io-{name}", "-object", json.dumps(fabric)]

    def node_list(self):
        return [{"ranks": ranks, "address": {"type": "unix", "path": str(self.folder / f"fabric-{node}")}}
                for node, ranks in enumerate(self.counts)]

    @staticmethod
    def device_properties(given):
        """Who starts such a fabric wants its nodes to work together."""
        return "" if re.search(r"(^|,)keys=", given) else ",keys=fabric"
