#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Live migration of a guest to a second QEMU in the middle of a job; TAP on stdout.

The job verifies its own results, so it passes in the second QEMU only if nothing of
the devices, the fabric, device memory or interrupts was lost. Exits 1 when a test failed.
"""

import collections
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

from hotplug import ROOT, SECONDS, VM, Qmp

# The job dirties memory as fast as it is sent: without these the switch would come when
# the job has ended. Bytes per second (0: no limit), and milliseconds of standstill.
AT_ONCE = {"max-bandwidth": 0, "downtime-limit": 60000}

SCRIPT = """
{prepare}
{job} >/tmp/out 2>&1 &
sleep 1
kill -0 $! && echo "job runs"
wait $! && echo "job passed"
tail -n 3 /tmp/out
"""

# options of the VM, what goes before the job, the job, a command of the guest's shell, and whether
# the machine stops, and then moves, when a queue of each device has work
Job = collections.namedtuple("Job", "options prepare job stops", defaults=[False])

GEMM = "t3 gemm-rs --ranks 3 --shape 96x96x96 --dtype f32"
MODEL = json.dumps({
    "model_type": "mixtral", "hidden_size": 1024, "num_hidden_layers": 2, "num_attention_heads": 8,
    "num_key_value_heads": 8, "intermediate_size": 2048, "torch_dtype": "bfloat16",
    "num_local_experts": 8, "num_experts_per_tok": 2})
SIM = ("t3 sim --config /tmp/experts.json --tp 4 --ep 4 --tokens 4096 --phase prefill "
       "--routing skewed=0.5 --every-device --device")
JOBS = {
    "store": Job(["--ranks", "3"], "", f"{GEMM} --write store --iters 250"),
    "doorbell": Job(["--ranks", "3"], "", f"{GEMM} --write doorbell --iters 600"),
    # Each run is compared with the model of the guest's own program.
    "timed experts": Job(["--ranks", "4", "--topology", "full", "--fabric-opts", "timed=on"],
                         f"echo '{MODEL}' >/tmp/experts.json", SIM, True),
}


class Machine:
    """One QEMU; of the two the second waits for the first one's state."""

    def __init__(self, directory, name, job, *options):
        path = pathlib.Path(directory) / name
        script = SCRIPT.format(prepare=job.prepare, job=job.job)
        self.process = subprocess.Popen(
            [VM, "run", "--name", f"migrate-{name}", *job.options, "--strict", "--timeout", str(2 * SECONDS),
             "--qemu-arg=-qmp", f"--qemu-arg=unix:{path},server=on,wait=off",
             *(f"--qemu-arg={option}" for option in options), "--", "sh", "-c", script],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        self.qmp = self.connect(path)

    def connect(self, path):
        end = time.monotonic() + SECONDS
        while True:
            try:
                return Qmp(path)
            except OSError as error:
                if time.monotonic() > end or self.process.poll() is not None:
                    raise RuntimeError("QEMU did not start") from error
                time.sleep(0.05)

    def expect(self, line):
        for text in self.process.stdout:
            print("#", text.rstrip(), flush=True)
            if text.strip() == line:
                return
        raise RuntimeError(f"the guest ended before it said '{line}'")

    def has_work(self):
        """Whether each device has a queue that is not empty."""
        status = self.qmp.command("qom-get", path="/objects/f0", property="status")
        return all(any(queue["head"] != queue["tail"] for queue in device["queues"])
                   for device in status["devices"])

    def stop_at_work(self):
        end = time.monotonic() + SECONDS
        while True:
            if self.has_work():
                self.qmp.command("stop")
                if self.has_work():
                    return
                self.qmp.command("cont")
            if time.monotonic() > end:
                raise RuntimeError("the devices have nothing to do")
            time.sleep(0.01)

    def wait_migrated(self):
        end = time.monotonic() + SECONDS
        while (status := self.qmp.command("query-migrate").get("status")) != "completed":
            if status == "failed" or time.monotonic() > end:
                raise RuntimeError(f"the migration is {status}")
            time.sleep(0.05)

    def stop(self):
        self.process.terminate()
        self.process.wait()


def migrate(directory, name, job):
    """The job starts in the first QEMU and passes in the second."""
    uri = f"unix:{directory}/stream"
    first = Machine(directory, f"{name}-from", job)
    try:
        second = Machine(directory, f"{name}-to", job, "-incoming", uri)
        try:
            first.expect("job runs")
            first.qmp.command("migrate-set-parameters", **AT_ONCE)
            if job.stops:
                first.stop_at_work()
            first.qmp.command("migrate", uri=uri)
            first.wait_migrated()
            first.qmp.command("quit")
            if job.stops:
                second.qmp.command("cont")
            second.expect("job passed")
            second.process.stdout.read()
            if second.process.wait(SECONDS):
                raise RuntimeError("the second VM did not end well")
        finally:
            second.stop()
    finally:
        first.stop()


def main():
    failed = False
    print(f"1..{len(JOBS)}")
    for number, (name, job) in enumerate(JOBS.items(), 1):
        why = ""
        with tempfile.TemporaryDirectory() as directory:
            try:
                migrate(directory, name.replace(" ", "-"), job)
            except (RuntimeError, OSError, subprocess.TimeoutExpired) as error:
                why, failed = f": {error}", True
        print(f"{'not ok' if why else 'ok'} {number} - {name}{why}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    os.environ.setdefault("T3_BUILD", str(ROOT / ".build"))
    sys.exit(main())
