# SPDX-License-Identifier: MIT
"""More fabrics than the one under test: reads --fabric, and makes QEMU's arguments."""

import collections
import os
import re

RANKS_MAX = 8  # functions of one slot, behind one port
FABRICS_MAX = 8
WORKERS_MAX = 32  # of a fabric
FIRST_SLOT, FIRST_CHASSIS = 0x10, 100  # after those of the fabric under test
SMALL = {"memory-size": "16M", "aperture-size": "16M"}

FABRIC_HELP = """one more fabric, may be given again: ranks=N (1..8), other properties of the fabric
(topology=full, timed=on), and of its devices (device.memory-size=64M; the default is 16M, also
for their aperture). The guest finds its devices after the others"""

Fabric = collections.namedtuple("Fabric", "name ranks own device")


def parse_fabric(text):
    """NAME:ranks=N,K=V,device.K=V,... as a Fabric. ValueError says what is wrong."""
    name, _, rest = text.partition(":")
    if not re.fullmatch(r"[a-z]\w*", name) or name == "f0":
        raise ValueError("the name must be letters and digits, and another one than f0")
    own, device = {}, dict(SMALL)
    for item in rest.split(","):
        key, equals, value = item.partition("=")
        if not key or not equals or not value:
            raise ValueError(f"'{item}' is not K=V")
        if key.startswith("device."):
            device[key.removeprefix("device.")] = value
        else:
            own[key] = value
    ranks = own.pop("ranks", "")
    if not re.fullmatch(r"[1-9]", ranks) or int(ranks) > RANKS_MAX:
        raise ValueError(f"ranks must be 1..{RANKS_MAX}")
    return Fabric(name, int(ranks), {"topology": "ring", **own}, device)


def check_fabrics(fabrics):
    """What is wrong with the combination of them, or None."""
    names = [fabric.name for fabric in fabrics]
    if len(set(names)) != len(names):
        return "two fabrics have one name"
    return f"there may be {FABRICS_MAX}" if len(names) > FABRICS_MAX else None


def with_workers(properties):
    if re.search(r"(^|,)workers=", properties):
        return properties
    return f"{properties},workers={min(len(os.sched_getaffinity(0)) - 1, WORKERS_MAX)}"


def fabric_object(name, properties, thread):
    """The fabric, with a thread for its events unless the properties name one, and with one for
    slices of GEMMs for each further processor of the host. With an empty name there, events run
    in QEMU's main loop."""
    if not thread or re.search(r"(^|,)iothread=", properties):
        return ["-object", f"t3-fabric,id={name},{properties}"]
    properties = with_workers(properties)
    return ["-object", f"iothread,id=io-{name}",
            "-object", f"t3-fabric,id={name},{properties},iothread=io-{name}"]


def fabric_args(number, fabric, thread):
    """The fabric object, and its devices as the functions of one slot."""
    of = lambda properties: "".join(f",{key}={value}" for key, value in properties.items())
    name, place = fabric.name, FIRST_CHASSIS + number
    args = [*fabric_object(name, f"ranks={fabric.ranks}{of(fabric.own)}", thread),
            "-device", f"pcie-root-port,id=rp-{name},chassis={place},slot={place},"
            f"addr={FIRST_SLOT + number:#x}"]
    for rank in range(fabric.ranks):
        more = ",multifunction=on" if rank == 0 else ""
        args += ["-device", f"t3,id={name}-{rank},bus=rp-{name},addr=0.{rank},fabric={name},"
                 f"rank={rank}{of(fabric.device)}{more}"]
    return args
