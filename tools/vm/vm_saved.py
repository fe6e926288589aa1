# SPDX-License-Identifier: MIT
"""Machines that have booted, from which later runs go on.

A machine is saved when its kernel has booted and nothing of T3 has run: the devices are as at
power-on, and t3.ko is not loaded. The guest's init waits there (await_rest of guest-init). What an
image has besides its base comes after that: the module, libt3, the programs, the job. So an edit of
these needs no new boot, and each run has its own driver and devices from their beginning.

A state belongs to one QEMU, kernel, base and machine, whose hash is its name. A run that cannot go
on from one boots.
"""

import contextlib
import hashlib
import json
import os
import pathlib
import re
import shutil
import time

import vm_tsc
from vm_base import BUILD, read_text
from vm_image import archives, cpio
from vm_machine import is_arm64, programs, qemu_command
from vm_process import answers, control_lines, ended, running
from vm_qmp import QmpError, qmp

SAVED = BUILD / "saved"
SAVED_BYTES = 2 << 30  # all states; the least recently used ones are removed
FREE_BYTES = 4 << 30  # left on the disk, or none is saved
SAVE_SECONDS, LOAD_SECONDS = 20, 60
PART_SECONDS = 3600  # far more than it takes to write one
READY_SECONDS = 900  # of a boot that nobody gave a limit
TSC_DIFFERS = 1e-3  # more than its measurement is wrong by
HOST_BOOT = pathlib.Path("/proc/sys/kernel/random/boot_id")

AWAITED = b"rest"  # a folder that bases have whose init can wait
STATE, CONSOLE, FACTS, REFUSED = "state", "console.log", "facts.json", "refused"


# --- which machines, and which state -----------------------------------------

def reseeds(opts):
    """Whether the guest's kernel gets new random numbers from a device (vmgenid). Without it all
    runs from one state would have the same ones."""
    configs = (opts.kernel / "boot").glob("config-*")
    return any("\nCONFIG_VMGENID=y\n" in read_text(config) for config in configs)


def is_allowed(opts, accel):
    """Not with arguments of the user's own, whose state outside QEMU nobody here knows. A record
    begins at power-on, and injected faults count from there."""
    fabric = " ".join([opts.fabric_opts, *(key for fabric in opts.fabric for key in fabric.own)])
    return (opts.saved and accel == "tcg" and not is_arm64(opts) and not opts.qemu_arg
            and not re.search(r"\b(record|inject)\b", fabric) and reseeds(opts))


class Parts:
    """An image as the base, with which the machine boots, and the rest."""

    def __init__(self, image, files):
        first, *others = archives(image)
        self.can_wait = AWAITED in first.names
        self.base = image[:first.end] + cpio({"rest/awaited": b""})
        self.rest = b"".join(image[part.start:part.trailer] for part in others) + cpio(files)


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


def place_of(opts, accel, parts):
    """The folder of this machine's state."""
    command = machine_args(opts, accel, pathlib.Path("run"))
    facts = [*map(of_this_run, command), *map(identity, programs(opts)),
             hashlib.sha256(parts.base).hexdigest()]
    return SAVED / hashlib.sha256("\0".join(facts).encode()).hexdigest()[:16]


def host_facts():
    """What a state needs of the host: the counter that is the guest's clock runs as fast as it did.
    And the host has not been restarted since: a crash may have lost parts of the file."""
    return {"khz": vm_tsc.khz(), "host-boot": read_text(HOST_BOOT).strip()}


def is_usable(place):
    try:
        then, now = json.loads((place / FACTS).read_text()), host_facts()
        return (then["host-boot"] == now["host-boot"]
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


def transfer(control, command, path, limit):
    """`command`: migrate, or migrate-incoming. Only pages that are not 0 are in the file."""
    control.command("migrate-set-capabilities",
                    capabilities=[{"capability": "mapped-ram", "state": True}])
    control.command(command, uri=f"file:{path}")
    control.migrated(limit)


def save(control, rundir, place):
    """The machine stands still meanwhile. One that cannot be saved is not tried again."""
    if shutil.disk_usage(rundir).free < FREE_BYTES:
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


def boot(stack, command, rundir, place, how, limit):
    """Its process. The guest does not wait if it has died, or needs too long."""
    control = stack.enter_context(qmp())
    process = stack.enter_context(running([*command, *control.args], rundir, pass_fds=[control.fd],
                                          **how))
    with contextlib.suppress(QmpError):
        control.begin()
        if says_ready(process, rundir, limit):
            save(control, rundir, place)
    return process


def go_on(stack, command, rundir, place, how):
    """Its process, or None: the state is of no use."""
    with contextlib.ExitStack() as own:
        try:
            os.utime(place)
            shutil.copy(place / CONSOLE, rundir / CONSOLE)
            control = own.enter_context(qmp())
            process = own.enter_context(running([*command, *control.args, "-incoming", "defer"],
                                                rundir, pass_fds=[control.fd], **how))
            control.begin()
            transfer(control, "migrate-incoming", place / STATE, LOAD_SECONDS)
            control.command("cont")
        except (QmpError, OSError):
            (rundir / CONSOLE).unlink(missing_ok=True)
            return None
        stack.push(own.pop_all())
        return process


@contextlib.contextmanager
def waiting(opts, accel, rundir, parts, **how):
    """(process, restored), where the guest has just been given the rest of its image. `how` is
    running()'s."""
    limit = getattr(opts, "timeout", READY_SECONDS)
    place = place_of(opts, accel, parts)
    command = machine_args(opts, accel, rundir)
    (rundir / "initrd").write_bytes(parts.base)
    (rundir / "guest/rest").write_bytes(parts.rest)
    with contextlib.ExitStack() as stack:
        stack.callback((rundir / "guest/rest").unlink, missing_ok=True)
        answer = stack.enter_context(answers(rundir))
        process = go_on(stack, command, rundir, place, how) if is_usable(place) else None
        restored = process is not None
        if not restored:
            discard(place)
            process = boot(stack, command, rundir, place, how, limit)
        answer(round(time.time()))
        yield process, restored


def saved_parts(opts, accel, files):
    """The image in parts if this run may use a saved machine, or else None."""
    if not is_allowed(opts, accel):
        return None
    parts = parts_of(opts.initramfs, files)
    return None if not parts or (place_of(opts, accel, parts) / REFUSED).exists() else parts
