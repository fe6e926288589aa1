# SPDX-License-Identifier: MIT
"""A guest with 4 virtual processors that takes orders, and that moves from QEMU to QEMU.

The guest runs what it is told through a serial line of its own, several commands at once. Its
output, the monitor and that line are those of the QEMU that it is in at the time.
"""

import os
import pathlib
import queue
import re
import socket
import subprocess
import sys
import threading
import time

from hotplug import BUILD, ROOT, VM, Qmp

sys.path.insert(0, str(ROOT / "tools/vm"))
import vm_trace  # pylint: disable=wrong-import-position

RANKS = 4
CPUS = 4
# Generous: machines are slow and shared. A hang is a step that takes longer.
STEP_SECONDS = 300
# A guest that writes much is stopped after that time, so that its memory can be copied.
LIVE_SECONDS = 20
LOGS_OF_QEMU = re.compile(r"assert|ERROR|abort|[Ss]egmentation|core dumped", re.I)
LOGGED = 400  # characters of a line
BIG_MAPPING = 64 << 20  # the guest's and the devices' memory and translated code are larger

# An order is one line: its name, its time limit, the command. One write per line keeps the lines
# of several commands apart. The other three serial lines are t3-vm's. This one is not raw: a child
# that ends interrupts the shell's `read`, which then forgets the part of a line that it has read.
SCRIPT = r"""
obey() {
	timeout -s KILL "$2" sh -c "$3" >/tmp/out.$1 2>&1
	status=$?
	[ $status = 0 ] && keep='^# error|^@' || keep=.
	grep -aE "$keep" /tmp/out.$1 | tail -n 60 | while read -r line; do echo "@out $1 $line"; done
	rm -f /tmp/out.$1
	echo "@end $1 $status"
}
stty -F /dev/ttyS3 -echo
exec 7</dev/ttyS3
echo "@ready"
while read -r name seconds command <&7; do
	[ "$name" != end ] || break
	obey "$name" "$seconds" "$command" &
done
echo "@bye"
"""


class Trouble(Exception):
    """What ends the soak: the reason."""


class Machine:
    """One QEMU; with `incoming` it waits for the state of another one."""

    def __init__(self, directory, number, seconds, incoming=""):
        self.name = f"soak-vcpus-{'ab'[number % 2]}"
        self.log = open(pathlib.Path(directory) / f"{number}.err", "w+", encoding="utf-8")
        qmp, orders = (pathlib.Path(directory) / f"{number}.{end}" for end in ("qmp", "orders"))
        more = ["-qmp", f"unix:{qmp},server=on,wait=off",
                "-chardev", f"socket,id=orders,path={orders},server=on,wait=off",
                "-device", "isa-serial,index=3,irq=7,chardev=orders",
                *(["-incoming", incoming] if incoming else [])]
        self.process = subprocess.Popen(
            [VM, "run", "--name", self.name, "--ranks", str(RANKS), "--cpus", str(CPUS),
             "--append", "8250.nr_uarts=4", "--timeout", str(seconds),
             *(f"--qemu-arg={option}" for option in more), "--", "sh", "-c", SCRIPT],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=self.log)
        try:
            self.qmp = self.connect(lambda: Qmp(qmp))
            self.qmp.sock.settimeout(STEP_SECONDS)
            self.orders = self.connect(lambda: connected(orders))
        except BaseException:
            self.stop()
            raise

    def connect(self, make):
        end = time.monotonic() + STEP_SECONDS
        while True:
            try:
                return make()
            except OSError as error:
                if time.monotonic() > end or self.process.poll() is not None:
                    raise Trouble(f"QEMU did not start: {self.said()}") from error
                time.sleep(0.05)

    def folder(self):
        return BUILD / "run" / self.name

    def console(self):
        return read(self.folder() / "console.log")

    def said(self):
        """What QEMU and the launcher said."""
        self.log.flush()
        self.log.seek(0)
        return (read(self.folder() / "qemu.log") + self.log.read()).strip()

    def qemu(self):
        """The process of QEMU: the launcher's only child."""
        pid = self.process.pid
        return int(read(f"/proc/{pid}/task/{pid}/children").split()[0])

    def heap(self):
        """Bytes of QEMU's own memory, without the guest's, the devices' and translated code."""
        total = counted = 0
        for line in read(f"/proc/{self.qemu()}/smaps").splitlines():
            head = re.match(r"([0-9a-f]+)-([0-9a-f]+) \S+ \S+ \S+ (\d+) *(.*)$", line)
            if head:
                size = int(head[2], 16) - int(head[1], 16)
                counted = head[4] == "[heap]" or (head[3] == "0" and size < BIG_MAPPING)
            elif counted and line.startswith("Rss:"):
                total += int(line.split()[1]) << 10
        return total

    def stop(self):
        if self.process.poll() is None:
            self.process.terminate()
        self.process.wait()
        self.log.close()


def connected(path):
    line = socket.socket(socket.AF_UNIX)
    try:
        line.connect(str(path))
    except OSError:
        line.close()
        raise
    return line


def read(path):
    try:
        return pathlib.Path(path).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


class Guest:
    """The guest in whatever QEMU it is. `log` takes lines."""

    def __init__(self, directory, log, seconds):
        self.directory, self.log, self.seconds = directory, log, seconds
        self.number, self.ended_consoles, self.rest = 0, "", b""
        self.lines = queue.Queue()
        self.machine = Machine(directory, 0, seconds)
        self.reader = self.follow()
        self.await_line(lambda line: line == "@ready")

    # --- what it says

    def follow(self):
        thread = threading.Thread(target=self.read_lines, args=[self.machine], daemon=True)
        thread.start()
        return thread

    def read_lines(self, machine):
        """A line may begin in one QEMU and end in the next."""
        while chunk := os.read(machine.process.stdout.fileno(), 65536):
            *lines, self.rest = (self.rest + chunk).split(b"\n")
            for line in lines:
                self.lines.put(line.decode(errors="replace").strip())
        self.lines.put(None)

    def next_line(self, seconds):
        """The next line, or None after that time."""
        try:
            line = self.lines.get(timeout=max(seconds, 0))
        except queue.Empty:
            return None
        if line is None:
            raise Trouble(f"the VM has ended: {self.machine.said()}")
        self.log(f"  {line[:LOGGED]}")
        return line

    def await_line(self, wanted, seconds=STEP_SECONDS):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            line = self.next_line(end - time.monotonic())
            if line is not None and wanted(line):
                return line
        raise Trouble(f"the guest did not answer for {seconds} s")

    # --- what it is told

    def order(self, name, command, seconds=STEP_SECONDS):
        self.log(f"order {name}: {command}")
        self.machine.orders.sendall(f"{name} {seconds} {command}\n".encode())

    def ask(self, name, command):
        """Runs it alone. Returns its lines; it must succeed."""
        self.order(name, command)
        found = []

        def is_end(line):
            found.append(line.removeprefix(f"@out {name} "))
            return line.startswith(f"@end {name} ")

        if self.await_line(is_end, STEP_SECONDS + 60) != f"@end {name} 0":
            raise Trouble(f"'{command}' failed: {' '.join(found)}")
        return found[:-1]

    def command(self, name, **arguments):
        return self.machine.qmp.command(name, **arguments)

    def inject(self, text):
        """False: the device refused it, because a queue does not exist, for example."""
        try:
            self.command("qom-set", path="/objects/f0", property="inject", value=text)
        except RuntimeError as error:
            self.log(f"inject {text}: {error}")
            return False
        self.log(f"inject {text}")
        return True

    # --- where it is

    def pause(self, seconds):
        self.log(f"stop for {seconds:.2f} s")
        self.command("stop")
        time.sleep(seconds)
        self.command("cont")

    def migrate(self, how):
        """live: while it runs; stopped: while it does not; file: saved, and restored later."""
        self.log(f"migrate {how} from {self.machine.name}")
        path = f"{self.directory}/{self.number}.state"
        uri = f"{'file' if how == 'file' else 'unix'}:{path}"
        if how != "live":
            self.command("stop")
        second = None if how == "file" else self.receiver(uri)
        try:
            self.send(uri)
            second = second or self.receiver(uri)
            self.leave(second)
        except BaseException:
            if second and second is not self.machine:
                self.log(f"the receiver: {second.said()}")
                second.stop()
            raise
        pathlib.Path(path).unlink(missing_ok=True)
        self.await_running(how == "live")

    def receiver(self, uri):
        return Machine(self.directory, self.number + 1, self.seconds, uri)

    def send(self, uri):
        self.command("migrate-set-parameters", **{"max-bandwidth": 0, "downtime-limit": 2000})
        self.command("migrate", uri=uri)
        start, stopped = time.monotonic(), False
        while (found := self.command("query-migrate"))["status"] != "completed":
            spent = time.monotonic() - start
            if found["status"] in ("failed", "cancelled") or spent > STEP_SECONDS:
                raise Trouble(f"the migration is {found['status']} after {spent:.0f} s: "
                              f"{found.get('error-desc', '')} {self.machine.said()}")
            if spent > LIVE_SECONDS and not stopped:
                stopped = True
                self.command("stop")
            time.sleep(0.05)

    def leave(self, second):
        """The first QEMU ends. What it has not printed yet comes before the second one's."""
        first = self.machine
        first.qmp.command("quit")
        self.reader.join(STEP_SECONDS)
        first.process.wait(STEP_SECONDS)
        self.check_qemu(first)
        self.ended_consoles += first.console()
        first.stop()
        held = []
        while (line := self.lines.get()) is not None:
            held.append(line)
        for line in held:
            self.lines.put(line)
        self.machine, self.number = second, self.number + 1
        self.reader = self.follow()

    def await_running(self, was_live):
        """The second QEMU has checked the state of all devices when it runs."""
        end = time.monotonic() + STEP_SECONDS
        while (status := self.command("query-status")["status"]) == "inmigrate":
            if time.monotonic() > end:
                raise Trouble("the second QEMU does not take the state")
            time.sleep(0.05)
        if status == "paused":
            self.command("cont")
        elif status != "running" or not was_live:
            raise Trouble(f"the second QEMU is {status}")
        self.log(f"runs in {self.machine.name}")

    # --- whether it is well

    def check_qemu(self, machine):
        bad = [line for line in read(machine.folder() / "qemu.log").splitlines()
               if LOGS_OF_QEMU.search(line)]
        if bad:
            raise Trouble(f"QEMU said: {bad[0]}")

    def consoles(self):
        return self.ended_consoles + self.machine.console()

    def check(self):
        """No report of the guest's kernel and no complaint of QEMU so far."""
        self.check_qemu(self.machine)
        report = vm_trace.report(self.consoles())
        if report:
            raise Trouble("the guest's kernel complained:\n" + "\n".join(report))

    def end(self):
        """The VM ends by itself, with a clean log."""
        self.machine.orders.sendall(b"end 0 0\n")
        self.await_line(lambda line: line == "@bye")
        status = self.machine.process.wait(STEP_SECONDS)
        if status:
            raise Trouble(f"the VM ended with status {status}: {self.machine.said()}")
        self.check()

    def stop(self):
        self.machine.stop()
