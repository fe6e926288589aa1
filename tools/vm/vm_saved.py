# SPDX-License-Identifier: MIT
"""Machines that have booted, from which later runs go on.

A machine is saved when its kernel has booted and nothing of T3 has run: the devices are as at
power-on, and t3.ko is not loaded. The guest's init waits there (await_rest of guest/init). What an
image has besides its base comes after that: the module, libt3, the programs, the job. So an edit of
these needs no new boot, and each run has its own driver and devices from their beginning.

Of a device that nobody has touched the state has only its place on the bus and its sizes. So the
machine that is saved has plain fabrics and devices, and others go on from it, too: on another
topology, with other properties, with injected faults, or as a node of several.

A state belongs to one QEMU, kernel, base and machine, whose hash is its name. A run that cannot go
on from one boots.
"""

import argparse
import contextlib
import fcntl
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import time

import vm_tsc
from vm_base import BUILD, read_text
from vm_fabric import Fabric
from vm_image import archives, cpio
from vm_machine import is_arm64, programs, qemu_command
from vm_process import answers, control_lines, ended, running
from vm_qmp import QmpError, qmp

SAVED = BUILD / "saved"
SAVED_BYTES = 4 << 30  # all states; the least recently used ones are removed
FREE_BYTES = 4 << 30  # left on the disk, or none is saved
SAVE_SECONDS, LOAD_SECONDS = 20, 60
PART_SECONDS = 3600  # far more than it takes to write one
READY_SECONDS = 900  # of a boot that nobody gave a limit
OTHER_SECONDS = 60  # for another launcher that boots the same machine
TSC_DIFFERS = 1e-3  # more than its measurement is wrong by
HOST_BOOT = pathlib.Path("/proc/sys/kernel/random/boot_id")

# Properties of a device that its place on the bus does not show.
HIDDEN = ("direct-stores", "guest-inject", "keys", "reset-generations", "tracker-entries",
          "tracker-ways")

KNOWN_DEVICES = ("t3", "pcie-root-port")

AWAITED = b"rest"  # a folder that bases have whose init can wait
STATE, CONSOLE, FACTS, REFUSED = "state", "console.log", "facts.json", "refused"
INITRD = "initrd"  # as qemu_command() calls it


# --- which machines, and which state -----------------------------------------

def reseeds(opts):
    """Whether the guest's kernel gets new random numbers from a device (vmgenid). Without it all
    runs from one state would have the same ones."""
    configs = (opts.kernel / "boot").glob("config-*")
    return any("\nCONFIG_VMGENID=y\n" in read_text(config) for config in configs)


def adds_known_devices(args):
    """Whether QEMU's arguments of the user's own only add T3 devices and ports for them. What others
    have outside QEMU nobody here knows."""
    names, devices = args[::2], args[1::2]
    return (len(names) == len(devices) and all(name == "-device" for name in names)
            and all(device.split(",")[0] in KNOWN_DEVICES for device in devices))


def is_allowed(opts, accel):
    return (opts.saved and accel == "tcg" and not is_arm64(opts) and adds_known_devices(opts.qemu_arg)
            and reseeds(opts))


def plain(opts, rundir):
    """The machine that is saved for this one."""
    items = [item for item in opts.device_opts.split(",") if item.split("=")[0] not in HIDDEN]
    fabrics = [Fabric(fabric.name, fabric.ranks, {},
                      {key: value for key, value in fabric.device.items() if key not in HIDDEN})
               for fabric in opts.fabric]
    return argparse.Namespace(**{
        **vars(opts), "topology": "ring", "fabric_opts": "", "span": None,
        "device_opts": ",".join(items), "fabric": fabrics,
        "network": getattr(opts, "network", None) and rundir / "network"})


class Parts:
    """An image as the base, with which the machine boots, and the rest. The base is large: who goes on
    from a state only needs its hash."""

    SIGN = cpio({"rest/awaited": b""})  # its last archive

    def __init__(self, image, files):
        first, *others = archives(image)
        self.can_wait = AWAITED in first.names
        self.base = memoryview(image)[:first.end], self.SIGN
        self.rest = b"".join(image[part.start:part.trailer] for part in others) + cpio(files)

    def write_base(self, path):
        with open(path, "wb") as file:
            file.writelines(self.base)

    def hash_of_base(self):
        found = hashlib.sha256()
        for piece in self.base:
            found.update(piece)
        return found.hexdigest()


def parts_of(path, files):
    """None: the image is none of ours."""
    try:
        parts = Parts(path.read_bytes(), files)
    except (ValueError, IndexError):
        return None
    return parts if parts.can_wait else None


def identity(path):
    found = path.stat()
    return f"{path.resolve()} {found.st_size} {found.st_mtime_ns}"


def machine_args(opts, accel, rundir):
    return [*qemu_command(opts, rundir, accel, answered=True), "-device", "vmgenid,guid=auto"]


def of_this_run(text):
    """An argument without what is not of the machine: the clock's measured rate, and which folders
    of the host there are, as none is mounted yet."""
    text = re.sub(r"^(local,id=\w+,path=)(?:[^,]|,,)*", r"\1", text)
    return re.sub(r"\btsc_early_khz=\d+", "", text)


def plain_args(opts, accel, rundir):
    return machine_args(plain(opts, rundir), accel, rundir)


def place_of(opts, accel, parts):
    """The folder of this machine's state."""
    command = plain_args(opts, accel, pathlib.Path("run"))
    facts = [*map(of_this_run, command), *map(identity, programs(opts)),
             parts.hash_of_base()]
    return SAVED / hashlib.sha256("\0".join(facts).encode()).hexdigest()[:16]


def host_facts():
    """What a state needs of the host: the counter that is the guest's clock runs as fast as it did.
    And the host has not been restarted since: a crash may have lost parts of the file."""
    return {"khz": vm_tsc.khz(), "host-boot": read_text(HOST_BOOT).strip()}


def is_usable(place):
    try:
        then, now = json.loads((place / FACTS).read_text()), host_facts()
        return ((place / STATE).exists() and then["host-boot"] == now["host-boot"]
                and abs((then["khz"] or 0) - (now["khz"] or 0)) <= TSC_DIFFERS * (now["khz"] or 0))
    except (OSError, ValueError, KeyError, TypeError):
        return False


# --- the folder of states ----------------------------------------------------

def bytes_of(place):
    return sum(path.stat().st_blocks * 512 for path in place.iterdir())


def discard(place):
    shutil.rmtree(place, ignore_errors=True)


def make_room():
    """Those go whose last use is longest ago, and parts that killed launchers have left."""
    used, taken = [], 0
    for place in SAVED.iterdir():
        with contextlib.suppress(OSError):  # another launcher removes it
            used.append((place.stat().st_mtime, bytes_of(place), place))
    for since, size, place in sorted(used, reverse=True):
        is_part = place.name.startswith(".")
        taken += 0 if is_part else size
        if since < time.time() - PART_SECONDS if is_part else taken > SAVED_BYTES:
            discard(place)


@contextlib.contextmanager
def new_state(place):
    """A folder that becomes the state's at the end of the block, as a whole or not at all."""
    SAVED.mkdir(parents=True, exist_ok=True)
    part = SAVED / f".{place.name}.{os.getpid()}"
    part.mkdir()
    try:
        yield part
        with contextlib.suppress(OSError):  # another run of the same machine was first
            part.rename(place)
        make_room()
    finally:
        discard(part)


@contextlib.contextmanager
def making(place, limit):
    """Alone, if others of the same machine are about to begin, such as the nodes of a cluster. When
    they have waited the state is there, or they make it, too."""
    SAVED.mkdir(parents=True, exist_ok=True)
    path, end = SAVED / f".{place.name}.lock", time.monotonic() + min(OTHER_SECONDS, limit)
    with open(path, "a", encoding="utf-8") as lock:
        while not is_usable(place) and time.monotonic() < end:
            with contextlib.suppress(BlockingIOError):
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            time.sleep(0.05)
        try:
            yield
        finally:
            path.unlink(missing_ok=True)


def transfer(control, command, path, limit):
    """`command`: migrate, or migrate-incoming. Only pages that are not 0 are in the file."""
    control.command("migrate-set-capabilities",
                    capabilities=[{"capability": "mapped-ram", "state": True}])
    control.command(command, uri=f"file:{path}")
    control.migrated(limit)


def has_room(rundir):
    return shutil.disk_usage(rundir).free >= FREE_BYTES


def save(control, rundir, place):
    """The machine stands still meanwhile. One that cannot be saved is not tried again."""
    if not has_room(rundir):
        return
    control.command("stop")
    try:
        with contextlib.suppress(OSError), new_state(place) as part:  # such as a full disk
            try:
                transfer(control, "migrate", part / STATE, SAVE_SECONDS)
            except QmpError as error:
                (part / STATE).unlink(missing_ok=True)
                (part / REFUSED).write_text(f"{error}\n")
                control.cancel()
            shutil.copy(rundir / CONSOLE, part / CONSOLE)
            (part / FACTS).write_text(json.dumps(host_facts()) + "\n")
    finally:
        control.command("cont")


# --- a machine at the point where its guest waits ----------------------------

def says_ready(process, rundir, limit):
    end = time.monotonic() + limit
    while "ready" not in control_lines(rundir):
        if ended(process) or time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True


def boot(stack, command, rundir, place, parts, how, limit):
    """Its process. The guest does not wait if it has died, or needs too long. With a place it is
    saved there."""
    parts.write_base(rundir / INITRD)
    with qmp() as control:
        process = stack.enter_context(running([*command, *control.args], rundir,
                                              pass_fds=[control.fd], **how))
        with contextlib.suppress(QmpError):
            control.begin()
            if says_ready(process, rundir, limit) and place:
                save(control, rundir, place)
    return process


def make(command, rundir, place, parts, limit):
    """Boots and saves a machine that this run only goes on from."""
    if not has_room(rundir):
        return
    with contextlib.ExitStack() as stack:
        boot(stack, command, rundir, place, parts, {"stdout": subprocess.DEVNULL}, limit)
    for name in (CONSOLE, "control"):
        (rundir / name).unlink(missing_ok=True)


def go_on(stack, command, rundir, place, how):
    """Its process, or None: QEMU takes the state for none of this machine. Then it is removed,
    unless QEMU has already refused the command."""
    begun = False
    (rundir / INITRD).write_bytes(Parts.SIGN)  # QEMU wants one, and its guest has read it before
    with qmp() as control, contextlib.ExitStack() as own:
        try:
            os.utime(place)
            shutil.copy(place / CONSOLE, rundir / CONSOLE)
            process = own.enter_context(running([*command, *control.args, "-incoming", "defer"],
                                                rundir, pass_fds=[control.fd], **how))
            control.begin()
            begun = True
            transfer(control, "migrate-incoming", place / STATE, LOAD_SECONDS)
            control.command("cont")
        except (QmpError, OSError):
            (rundir / CONSOLE).unlink(missing_ok=True)
            if begun or not (place / CONSOLE).exists():
                discard(place)
            return None
        stack.push(own.pop_all())
        return process


def begin(stack, opts, accel, rundir, place, parts, how):
    """A process whose guest waits, and whether it went on from a state. If one is of no use, there is
    a new one then."""
    limit = getattr(opts, "timeout", READY_SECONDS)
    command, saved = machine_args(opts, accel, rundir), plain_args(opts, accel, rundir)
    for _ in range(2):
        with making(place, limit):
            if not is_usable(place):
                discard(place)
                if command == saved:
                    return boot(stack, command, rundir, place, parts, how, limit), False
                make(saved, rundir, place, parts, limit)
        process = go_on(stack, command, rundir, place, how) if is_usable(place) else None
        if process:
            return process, True
        if is_usable(place):  # QEMU refuses the command
            break
    return boot(stack, command, rundir, None, parts, how, limit), False


@contextlib.contextmanager
def waiting(opts, accel, rundir, parts, **how):
    """(process, answer, restored), where the guest has just been given the rest of its image. `answer`
    is that of answers(), and `how` is running()'s."""
    place = place_of(opts, accel, parts)
    (rundir / "guest/rest").write_bytes(parts.rest)
    with contextlib.ExitStack() as stack:
        stack.callback((rundir / "guest/rest").unlink, missing_ok=True)
        answer = stack.enter_context(answers(rundir))
        process, restored = begin(stack, opts, accel, rundir, place, parts, how)
        answer(round(time.time()))
        yield process, answer, restored


def saved_parts(opts, accel, files):
    """The image in parts if this run may use a saved machine, or else None."""
    if not is_allowed(opts, accel):
        return None
    parts = parts_of(opts.initramfs, files)
    return None if not parts or (place_of(opts, accel, parts) / REFUSED).exists() else parts
