# SPDX-License-Identifier: MIT
"""Runs `t3 sim --json`, for all parts of `make paper`."""

import contextlib
import json
import os
import pathlib
import resource
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("T3_BUILD", ROOT / ".build"))
T3 = os.environ.get("T3_PROGRAM", BUILD / "t3")  # the t3 that has started paper_model.py
RUN_SECONDS = 600
REFUSED = 2  # t3's status for arguments that it does not take


class Refused(RuntimeError):
    """The arguments, by t3: `sentence` says why."""

    def __init__(self, text):
        super().__init__(text)
        self.sentence = text.rsplit(": ", 1)[-1]


def output_of(command, seconds):
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=seconds, check=False)
    if done.returncode:
        kind = Refused if done.returncode == REFUSED else RuntimeError
        raise kind(f"{' '.join(map(str, command))}: {done.stderr.strip()}")
    return done.stdout


def native(*options):
    return json.loads(output_of([T3, "sim", "--json", *map(str, options)], RUN_SECONDS))


def values_of(parameters):
    """{name: value} of an answer's parameters."""
    return {one["name"]: one["value"] for one in parameters}


def workload_options(work):
    """The options that run one workload of an answer again."""
    return ["--hidden", work["hidden"], "--tokens", work["tokens"], "--tp", work["tp"],
            "--sublayer", work["sublayer"]]


class CpuSeconds:
    """CPU time by parts of a run, with the programs that they started."""

    def __init__(self):
        self.seconds = {}

    @contextlib.contextmanager
    def on(self, name):
        before = self.now()
        yield
        self.seconds[name] = self.seconds.get(name, 0) + self.now() - before

    @staticmethod
    def now():
        used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
        return sum(one.ru_utime + one.ru_stime for one in used)
