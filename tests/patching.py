#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The guest's kernel patches its code while its other processor executes it; TAP on stdout.

usage: patching.py [NAME...]     (default: all tests)

QEMU 10.0 to 10.2 executes replaced code now and then; qemu_code_protection() of qemu-overlay.sh
says how, and mends it. Here each window between a store and a translation is held open
for long, in a QEMU of the test's own: without the mend no run of it ends well.
"""

import importlib.util
import json
import os
import re
import shlex
import shutil
import subprocess
import sys

import loop
from loop import BUILD, ROOT, VM, check, expect, run

# (source below accel/tcg, an expression for the text after or before which it waits, with that
# pause). From 10.2 on the first function is told which processor asks.
PAUSE = "{ static __thread unsigned int n; if (n++ %% %d == 0) { g_usleep(200); } }\n"
INVALIDATED = r"        tb_invalidate_phys_range_fast\((cpu, )?ram_addr, size, retaddr\);\n"
TRANSLATED = r"    search_size = encode_search\("
PAUSES = [("cputlb.c", INVALIDATED, lambda found: found[0] + PAUSE % 4),
          ("translate-all.c", TRANSLATED, lambda found: PAUSE % 32 + found[0])]

# Static calls and static keys, in code that both processors execute all the time.
PATCHING = """
(while :; do cat /proc/stat /proc/meminfo /proc/self/maps /proc/interrupts >/dev/null; done) &
(while :; do /bin/true; done) &
for round in 1 2 3; do
	for events in sched timer syscalls kmem; do
		echo 1 >/sys/kernel/tracing/events/$events/enable || exit 1
	done
	echo 0 >/sys/kernel/tracing/events/enable
	echo 1 >/proc/sys/kernel/sched_schedstats
	echo 0 >/proc/sys/kernel/sched_schedstats
done
"""
LIMIT = 300


def device_script():
    path = ROOT / "tools/build/qemu-device.py"
    spec = importlib.util.spec_from_file_location("qemu_device", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def paused_object(script, entry, place, linked, name, old, new):
    """One source of QEMU's with its pause, compiled as the object that QEMU is linked with. From 10.2
    on some are also compiled for programs without a machine."""
    text = (entry / "source/accel/tcg" / name).read_text()
    text, count = re.subn(old, new, text)
    check(count == 1, f"{name} is another one")
    (place / name).write_text(text)
    commands = json.loads((entry / "build/compile_commands.json").read_text())
    root = json.loads((entry / "commands.json").read_text())["root"]
    [object_name] = [word for word in linked if word.endswith(f"/accel_tcg_{name}.o")]
    [command] = [one["command"] for one in commands if object_name.endswith(f"/{one['output']}")]
    words = script.compiler_arguments(command, root)
    # The folder of the source itself, because a copy of it does not search there.
    words[1:1] = ["-iquote", "entry/source/accel/tcg"]
    subprocess.run([*words, "-o", place / f"{name}.o", "-c", place / name], cwd=BUILD / "qemu",
                   check=True)
    return object_name, str(place / f"{name}.o")


def paused_qemu(place):
    """QEMU with the pauses. It has no device of ours."""
    entry, script = (BUILD / "qemu/entry").resolve(), device_script()
    linker, before, after = script.recipe(entry)["link"]
    objects = dict(paused_object(script, entry, place, before, *pause) for pause in PAUSES)
    words = [objects.pop(word, word) for word in before] + after
    check(not objects, "QEMU is not linked with", objects)
    (place / "words").write_text(shlex.join(words))
    subprocess.run([linker, "-o", place / "qemu-system-x86_64", f"@{place}/words"],
                   cwd=BUILD / "qemu", check=True)
    (place / "qemu-bundle").symlink_to(entry / "build/qemu-bundle")


def code_is_patched():
    """A processor that executes code after a store to it sees the store."""
    if os.environ.get("T3_ACCEL") == "kvm":
        raise loop.Skip("it pauses QEMU's translator (TCG) between two of its steps")
    expect(run("make", "-s", "build"), 0)
    place = BUILD / "qemu-paused"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    paused_qemu(place)
    expect(run(VM, "run", "--qemu", place, "--accel", "tcg", "--no-devices", "--no-driver",
               "--name", "patching", "--timeout", str(LIMIT), "--", "sh", "-c", PATCHING,
               seconds=LIMIT + loop.SECONDS), 0)
    shutil.rmtree(place)


if __name__ == "__main__":
    sys.exit(loop.main([code_is_patched]))
