#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Unplug, pull out and plug in a device of a running guest; TAP on stdout.

The guest runs a script that says what it sees; the host acts through QMP. Exits 1
when a test failed.
"""

import json
import os
import pathlib
import re
import socket
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
VM = ROOT / "tools/vm/t3-vm"
BUILD = pathlib.Path(os.environ.get("T3_BUILD", ROOT / ".build"))
KERNEL = pathlib.Path(os.environ.get("T3_GUEST", BUILD)) / "kernel"


def slowness():
    """The factor in the kernel's own arguments for its speed."""
    path = KERNEL / "append"
    match = re.search(r"\bT3_SLOW=(\d+)", path.read_text()) if path.exists() else None
    return int(match[1]) if match else 1


SECONDS = 300 * slowness()

# `await N` waits for N devices, and prints each change of their number.
COMMON = """
watch() {
	n=$(ls /dev/accel | wc -l)
	[ "$n" = "$last" ] || echo "devices $n"
	last=$n
}
await() { until watch; [ "$last" = "$1" ]; do sleep 0.05; done; }
job() {
	t3 gemm-rs --ranks 2 --shape 64x64x64 --dtype i32 --timeout $((60 * ${T3_SLOW:-1})) \
		"$@" >/tmp/out 2>&1 &&
		echo "job passed" || { cat /tmp/out; echo "job failed"; }
}
await $RANKS
"""

# The device goes idle, and once in the middle of a job, which has to end.
ACPI = """
await 1; await 2; job
job --iters 100000 >/tmp/job & sleep 1; kill -0 $! && echo "job runs"
wait; cat /tmp/job; await 1; await 2; job
"""

# One whose device is pulled out: with mappings, a thread that waits, a job that hangs.
REMOVAL = """
removal || echo "user failed"
await 2; job
"""

# Bus errors that the port reports: of one access, and fatal ones, whose recovery resets
# the link and with it the function. The host acts when it has read that a job has passed.
AER = """
await_log() { until dmesg | grep -q "$1"; do sleep 0.1; done; }
await_log "device recovery successful" && dmesg -c >/dev/null && echo "first recovered"
job
await_log "device recovery successful" && echo "second recovered"
job
"""

# With ACPI's hot-plug the link of QEMU's port does not come back: the driver gives the
# device up, and the administrator looks for it again.
LOST = """
echo 2000 >/sys/module/t3/parameters/bus_timeout_ms
(
	until dmesg | grep -q "does not answer any more"; do sleep 0.1; done
	sleep 2
	echo 1 >/sys/bus/pci/devices/0000:02:00.0/remove
	sleep 1
	echo 1 >/sys/bus/pci/rescan
) &
removal || echo "user failed"
job
"""

# The guest takes the slot's power away; the host has nothing to do but to plug in.
NATIVE = """
echo 0 >/sys/bus/pci/slots/2/power
await 1; await 2; job
"""

# One processor takes the BARs of another device out of the memory map and puts them
# back, again and again, while the other processor stores to ours.
MOVE = """
job --iters 100000 >/tmp/job & sleep 1
cd $(dirname $(grep -l 0x11e8 /sys/bus/pci/devices/*/device))
echo 1 >enable
for i in $(seq $((200 / ${T3_SLOW:-1}))); do
	printf '\\0' | dd of=config bs=1 seek=4 conv=notrunc 2>/dev/null
	printf '\\2' | dd of=config bs=1 seek=4 conv=notrunc 2>/dev/null
done
kill -0 $! && echo "job runs" || cat /tmp/job
killall t3; wait; job
"""


# Everything that may happen to a device, to each kind of client.
MATRIX = """
CMOCKA_MESSAGE_OUTPUT=TAP test_removal --host --clients 0 && echo "matrix passed"
"""


class Qmp:
    """One command at a time; events that come in between are kept."""

    def __init__(self, path):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(SECONDS)
        self.sock.connect(str(path))
        self.lines = self.sock.makefile("r", encoding="utf-8")
        self.events = []
        self.lines.readline()
        self.command("qmp_capabilities")

    def read(self):
        message = json.loads(self.lines.readline() or '{"event": "EOF"}')
        if message.get("event") == "EOF":
            raise RuntimeError("QEMU has closed its monitor")
        if "event" in message:
            self.events.append(message["event"])
        return message

    def command(self, name, **arguments):
        self.sock.sendall(json.dumps({"execute": name, "arguments": arguments}).encode())
        message = self.read()
        while "event" in message:
            message = self.read()
        if "error" in message:
            raise RuntimeError(f"{name}: {message['error']['desc']}")
        return message["return"]

    def wait_event(self, name):
        while name not in self.events:
            self.read()
        self.events.remove(name)


DEVICE = {"driver": "t3", "id": "t3-1", "bus": "rp1", "fabric": "/objects/f0", "rank": 1}


class Guest:
    """A VM with the guest's output line by line. Rank 1 is in a slot of its own."""

    def __init__(self, directory, script, *options, ranks=2, seconds=SECONDS, name="hotplug"):
        path = pathlib.Path(directory) / "qmp"
        self.process = subprocess.Popen(
            [VM, "run", "--name", name, "--ranks", str(ranks), "--timeout", str(seconds),
             "--known-trouble", PCIEHP_FAULT, *options,
             "--qemu-arg=-qmp", f"--qemu-arg=unix:{path},server=on,wait=off",
             "--", "sh", "-c", f"RANKS={ranks}\n{COMMON}{script}"],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        self.expect(f"devices {ranks}")
        self.qmp = Qmp(path)

    def expect(self, line):
        for text in self.process.stdout:
            print("#", text.rstrip(), flush=True)
            if text.strip() == line:
                return
        raise RuntimeError(f"the guest ended before it said '{line}'")

    def serve(self, last, shown=lambda line: True):
        """Do what test_removal --host asks for, until the guest prints `last`."""
        for text in self.process.stdout:
            line = text.strip()
            if shown(line):
                print("#", line, flush=True)
            if line == last:
                return
            if line in ("host: pull", "host: unplug"):
                if line == "host: pull":
                    self.qmp.command("qom-set", path="t3-1", property="removed", value=True)
                self.qmp.command("device_del", id="t3-1")
                self.qmp.wait_event("DEVICE_DELETED")
            elif line == "host: plug":
                self.qmp.command("device_add", **DEVICE)
        raise RuntimeError(f"the guest ended before it said '{last}'")

    def end(self):
        """The script ends, and the kernel log is clean."""
        self.process.stdout.read()
        status = self.process.wait(SECONDS)
        if status:
            raise RuntimeError(f"the VM ended with status {status}")

    def stop(self):
        self.process.terminate()
        self.process.wait()


def plug(guest):
    guest.qmp.command("device_add", **DEVICE)
    guest.expect("devices 2")


def unplug(guest):
    guest.qmp.command("device_del", id="t3-1")
    guest.expect("devices 1")
    guest.qmp.wait_event("DEVICE_DELETED")


def remove(guest):
    guest.qmp.command("qom-set", path="t3-1", property="removed", value=True)


# The job ends before the slot learns of it.
def pull_out(guest):
    guest.expect("job runs")
    remove(guest)
    guest.expect("job failed")
    unplug(guest)


def hang_job(guest):
    guest.expect("user ready")
    guest.qmp.command("qom-set", path="/objects/f0", property="inject",
                      value="hang-queue rank=1 queue=0")
    guest.expect("job hangs")


def bus_error(guest, error):
    guest.qmp.command("human-monitor-command",
                      **{"command-line": f"pcie_aer_inject_error t3-1 {error}"})


def lose_bus(guest):
    hang_job(guest)
    bus_error(guest, "DLP")
    guest.expect("user told")
    guest.expect("user done")


def hang_and_pull_out(guest):
    hang_job(guest)
    remove(guest)
    guest.expect("user told")
    guest.qmp.command("device_del", id="t3-1")
    guest.expect("node gone")
    guest.qmp.wait_event("DEVICE_DELETED")
    guest.qmp.command("device_add", driver="t3", id="t3-1", bus="rp1", fabric="/objects/f0",
                      rank=1)
    guest.expect("user done")


def recover_from(error, line):
    def inject(guest):
        bus_error(guest, error)
        guest.expect(line)
    return inject


def scenario(script, options, steps, ranks=2):
    """Steps: (name, function of the guest). After a failure the rest fails as well."""
    why, guest = None, None
    with tempfile.TemporaryDirectory() as directory:
        for name, step in steps:
            try:
                if why:
                    raise RuntimeError(why)
                guest = guest or Guest(directory, script, *options, ranks=ranks)
                step(guest)
                yield name, None
            except (RuntimeError, OSError, subprocess.TimeoutExpired) as error:
                why = why or f"{name}: {error}"
                yield name, why
                if guest:
                    guest.stop()
        if guest:
            guest.stop()


def passes(guest):
    guest.expect("job passed")


# Linux 6.12's own, whatever driver the slot's device has: pciehp_unconfigure_device() takes
# reset_lock again below a lock that it took with reset_lock held. Lockdep is off after that.
PCIEHP_FAULT = (r"WARNING: possible circular locking dependency detected\n.*\n.*\n"
                r".*irq/\d+-pciehp/\d+ is trying to acquire lock:\n.*\(&ctrl->reset_lock\)"
                r"(?:(?!.*-> #).*\n)*.*-> #1 \(pci_rescan_remove_lock\)")

NO_ACPI = ["--qemu-arg=-global", "--qemu-arg=ICH9-LPC.acpi-pci-hotplug-with-bridge-support=off"]

SCENARIOS = [
    (ACPI + REMOVAL, [],
     [("acpi-unplug", unplug), ("acpi-plug", plug), ("job-after-plug", passes),
      ("surprise-removal-ends-the-job", pull_out), ("plug-again", plug), ("job-after-removal", passes),
      ("pulled-out-under-a-user", hang_and_pull_out), ("job-after-pull", passes),
      ("clean-end", Guest.end)]),
    (NATIVE + AER, NO_ACPI,
     [("native-power-off-unplugs", lambda guest: guest.expect("devices 1")),
      ("native-plug", plug), ("native-job-after-plug", passes),
      ("bus-error-of-one-access", recover_from("POISON_TLP", "first recovered")),
      ("job-after-bus-error", passes), ("fatal-bus-error", recover_from("DLP", "second recovered")),
      ("job-after-fatal-bus-error", passes), ("bus-error-clean-end", Guest.end)]),
    (LOST, [], [("bus-is-lost-under-a-user", lose_bus), ("job-after-rescan", passes),
                ("lost-bus-clean-end", Guest.end)]),
    (MOVE, ["--qemu-arg=-device", "--qemu-arg=edu"],
     [("bars-move-under-a-job", lambda guest: guest.expect("job runs")),
      ("job-after-moves", passes), ("moves-clean-end", Guest.end)]),
    (MATRIX, ["--topology", "switch"],
     [("removal-matrix", lambda guest: guest.serve("matrix passed")),
      ("removal-matrix-clean-end", Guest.end)], 4),
]


def main():
    results = [result for arguments in SCENARIOS for result in scenario(*arguments)]
    print(f"1..{len(results)}")
    for number, (name, why) in enumerate(results, 1):
        print(f"{'not ok' if why else 'ok'} {number} - {name}{f': {why}' if why else ''}")
    return 1 if any(why for _, why in results) else 0


if __name__ == "__main__":
    os.environ.setdefault("T3_BUILD", str(ROOT / ".build"))
    sys.exit(main())
