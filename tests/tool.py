#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""t3's subcommands: their command lines here, the rest in a VM; TAP on stdout.

usage: tool.py [REGEX]      (default: all; else the tests whose names it is found in)

Exits 1 when a test failed.
"""

import collections
import itertools
import json
import os
import pathlib
import pty
import random
import re
import select
import signal
import subprocess
import sys
import tempfile
import time

import sim_models
import sim_steps
import sim_switch
from vm import BUILD, ROOT, guest_batch

T3 = BUILD / "t3"
SECONDS = 300  # more than anything takes beside other work

# Commands with argp: --help, and the wrong usage of each.
USAGE = {
    "list": ["-d 0"],
    "info": ["-d 0 --all", "-d 256", "-d", "--json=1"],
    "top": ["--interval 0", "--interval 1x", "--interval 3601", "--interval 1.", "--interval .5",
            "--interval 0.0000000001", "--count 0", "--count -1", "--count", "-d 256", "-d x"],
    "status": ["-d", "-d -1", "-d 18446744073709551616", "--json=1"],
    "trace": ["", "-- true", "-o /tmp/x", "-o /tmp/x --", "-o /tmp/x --buffer 3 -- true",
              "-o /tmp/x --sample 0 -- true", "-o /tmp/x --merge y", "-o /tmp/x --qemu-log y",
              "-o /tmp/x --merge y --qemu-log z true", "--record x", "-o /tmp/x --record y true",
              "-o /tmp/x --record y --merge z --qemu-log z", "-o /tmp/x --record y --nodes",
              "-o /tmp/x --record y --rank 32", "-o /tmp/x --rank 1 -- true", "-o /tmp/x --k 8 -- true",
              *(f"-o /tmp/x --record y --k {k}" for k in ("0", "", "x", "=8", "0=8", "1=", "1=2x3", "1=2x3x",
                                                          "1=2x3x4x5", "2x3x4", "16777217", "1=-8"))],
    "inject": ["", "--list drop", "--json drop rank=0 peer=1", "x" * 1100],
    "mpi": ["--json=1"],
    "selftest": ["--timeout 0", "--timeout 3601", "--timeout"],
    "reset": ["", "-d 0 --all", "--yes", "--all --flr"],
    "dump": ["one two", "--all file", "file --free"],
    "perf": ["--collective x", "--dtype i16", "--dtype f8", "--min 3", "--min 2G", "--max 2G", "--max 1025M", "--max 1KB", "--max K",
             "--min 2K --max 1K", "--algorithm x", "--algorithm ring,", "--algorithm ring,ring,ring,ring,ring,ring",
             "--algorithm ring --collective barrier", "--iters 0", "--warmup -1", "--timeout 0", "more",
             "--devices 1", "--devices 1,1", "--devices 1,", "--devices ,1", "--devices 1,x", "--devices 1,256",
             "--devices 0,1 --fabric 0"],
    "stat": ["", "--", "--output", "-d x -- true"],
}
COMMON = ["--no-such-option", "argument too", "-d 1 argument"]

# A job in which all ranks wait for rank 0, which sleeps before its second last step.
SLEEPER = ("t3 gemm-rs --ranks 4 --iters 2 --delay-rank 0 --delay-step 3 --delay-ms 8000 "
           ">/tmp/out 2>&1 & for i in $(seq 200); do t3 status | grep -q '^rank 3 .* epoch 2 ARMING' && break; "
           "sleep 0.05; done; ")
# On a busy host rank 2 may come to that later than rank 3.
AWAIT_RANK_2 = "for i in $(seq 100); do t3 status -d 2 | grep -q '^rank 2 ' && break; sleep 0.05; done; "
ENDED = "; s=$?; kill $! 2>/dev/null; wait; exit $s"
COUNTERS = ("stores", "triggers", "link-tx-bytes", "link-rx-bytes", "tracker-hit")


class Failure(Exception):
    """Why a test has failed."""


def need(condition, why):
    if not condition:
        raise Failure(why)


# --- command lines -----------------------------------------------------------

def t3(arguments, **variables):
    return subprocess.run([T3, *arguments.split()], stdin=subprocess.DEVNULL, timeout=SECONDS,
                          capture_output=True, text=True, check=False, cwd=ROOT,
                          env={**os.environ, **variables})


def check_help(command):
    done = t3(f"{command} --help")
    need(done.returncode == 0 and not done.stderr, f"status {done.returncode}, {done.stderr}")
    need(done.stdout.startswith(f"Usage: t3 {command} "), done.stdout)
    with open("/dev/full", "w", encoding="utf-8") as full:
        status = subprocess.run([T3, command, "--help"], stdout=full, stderr=subprocess.DEVNULL,
                                timeout=SECONDS, check=False).returncode
    need(status == 1, f"status {status} when the help cannot be written")


def check_wrong(command, arguments):
    done = t3(f"{command} {arguments}")
    need(done.returncode == 2, f"status {done.returncode}")
    need(not done.stdout and done.stderr.startswith(f"t3 {command}: "),
         f"{done.stdout!r} {done.stderr!r}")


def check_no_device(command, status):
    done = t3(command)
    need(done.returncode == status and len(done.stderr.splitlines()) == 1 and not done.stdout,
         f"status {done.returncode}, {done.stderr!r}")


def check_sim_fabric():
    done = t3("sim --hidden 64 --tokens 64 --tp 2 --sublayer op --fabric 0")
    need(done.returncode == 2 and "--fabric needs --device" in done.stderr, done.stderr)


NODE = {"T3_NODE": "2", "T3_NODES": "3", "MASTER_ADDR": "node0"}
NODES_WRONG = [
    ("", {}, "--nodes is for a node of a cluster"),
    ("", {**NODE, "T3_NODE": "3"}, "--nodes is for a node of a cluster"),
    ("", NODE, "--ranks must be a multiple of the 3 nodes, not 4"),
]


def check_gemm_nodes(arguments, variables, why):
    done = t3(f"gemm-rs --nodes {arguments}", **variables)
    need((done.returncode, done.stdout) == (2, "") and why in done.stderr, done)


DEVICES_WRONG = [
    ("--devices 1", "--devices must be 2 to 32 different indices of `t3 list`, as in 0,2,3; got '1'"),
    ("--devices 1,1", "2 to 32 different indices"), ("--devices 1,", "2 to 32 different indices"),
    ("--devices 1,256", "2 to 32 different indices"), ("--devices 1;2", "2 to 32 different indices"),
    (f"--devices {','.join(map(str, range(33)))}", "2 to 32 different indices"),
    ("--devices 1,2 --ranks 3", "--devices names 2 devices, and --ranks is 3"),
    ("--devices 1,2 --fabric 0", "--devices says which fabric: leave --fabric out"),
    ("--devices 1,2 --nodes", "--devices is for ranks that are all here, not for --nodes"),
    ("--devices 0,1,2", "--shape"),  # 3 ranks do not divide it
]


def check_gemm_devices(arguments, why):
    done = t3(f"gemm-rs {arguments}")
    need((done.returncode, done.stdout) == (2, "") and why in done.stderr, done)


SUBLAYER = "sim --hidden 64 --tokens 64 --tp 2 --sublayer op"
SIM_WRONG = [
    ("sim --message 64K", "a message needs --tp, too"),
    ("sim --message 32K --tp 2", "--message takes bytes from 64K to 1G"),
    ("sim --message 64K --message 64K --tp 2", "--message is given twice"),
    ("sim --message 64K --tp 2 --config t3", "it takes --config alone only"),
    ("sim --message 64K --tp 2 --config all", "it takes --config alone only"),
    ("sim --message 64K --tp 2 --chunks rows", "--message excludes"),
    ("sim --message 64K --tp 2 --hidden 4", "--message excludes"),
    ("sim --message 64K --tp 1", "tp is 1 and must be 2 to 512"),
    (f"{SUBLAYER} --collective scan", "--collective takes all-reduce, reduce-scatter"),
    (f"{SUBLAYER} --collective all-gather --collective all-gather", "--collective is given twice"),
    (f"{SUBLAYER} --collective all-gather --config direct", "--config direct: collective is all-gather"),
    (f"{SUBLAYER} --collective all-to-all --config ideal-nmc", "--config ideal-nmc: collective is all-to-all"),
    (f"{SUBLAYER} --config all --timeline /dev/null", "--timeline takes one --config"),
    (f"{SUBLAYER} --collective all-gather --nodes 2", "collective all-gather takes one node"),
    ("sim --message 64K --tp 4 --collective all-to-all --nodes 2", "collective all-to-all takes one node"),
    ("sim --message 64K --tp 4 --nodes 3", "nodes is 3 and must divide ranks (tp), 4"),
]


def check_sim_wrong(arguments, why):
    done = t3(arguments)
    need(done.returncode == 2 and why in done.stderr and not done.stdout, f"{done}")


SMALL_SIM = "sim --hidden 256 --tokens 256 --tp 4 --sublayer op"
SIM_REFUSED = [
    ("--nodes 3", "nodes is 3 and must divide ranks (tp), 4"),
    ("--nodes 0", "--nodes takes a number from 1, not '0'"),
    ("--nodes 2 --nodes 2", "--nodes is given twice"),
    ("--nodes 2 --config t3-mca-ag", "program t3-mca-ag takes one node"),
    ("--nodes 2 --config all --config t3-mca-ag", "program t3-mca-ag takes one node"),
    ("--config shared", "program shared needs collective_units below compute_units"),
    ("--config shared --collective all-gather", "program shared runs all-reduce and reduce-scatter"),
    ("--config alone --nodes 2 --collective all-gather", "collective all-gather takes one node"),
    ("--config warp", "--config takes sequential, "),
]


def check_sim_refused(arguments, why):
    done = t3(f"{SMALL_SIM} {arguments}")
    need(done.returncode == 2 and why in done.stderr and not done.stdout, done.stderr)


def workload(arguments):
    done = t3(f"{arguments} --json")
    need(done.returncode == 0, done.stderr)
    return json.loads(done.stdout)["workloads"][0]


def check_sim_timeline_stays():
    """A wrong usage that is found after the file was opened; then a right one replaces it."""
    with tempfile.NamedTemporaryFile("w") as file:
        file.write("of an earlier run" * 100000)
        file.flush()
        done = t3(f"{SUBLAYER} --timeline {file.name} --collective all-gather --config direct")
        need(done.returncode == 2 and os.path.getsize(file.name) == 1700000, f"{done}")
        done = t3(f"{SUBLAYER} --timeline {file.name}")
        need(done.returncode == 0, f"{done}")
        need(json.loads(pathlib.Path(file.name).read_text())["traceEvents"], "the timeline")


def check_sim_message():
    """The tool says what it rounds to, and its bandwidths are those of the bytes and the time."""
    one = workload("sim --message 100001 --tp 8 --collective all-to-all --timeline /dev/null")
    alone = one["configs"]["alone"]
    need(list(one["configs"]) == ["alone"] and "phases" not in one, f"{one}")
    need((one["message"], one["collective"]) == (100001, "all-to-all"), f"{one}")
    need(alone["buffer_bytes"] == one["rows"] * one["columns"] * 2 == 100352, f"{alone}")
    gbps = alone["buffer_bytes"] * 1000 / alone["virtual_ps"]
    need(abs(alone["algorithm_gbps"] - gbps) < 1e-6, f"{gbps}: {alone}")
    need(abs(alone["bus_gbps"] - gbps * 7 / 8) < 1e-6, f"{gbps}: {alone}")
    text = t3("sim --message 100001 --tp 8 --collective all-to-all").stdout
    need("100352 bytes (rounded up from 100001) on each of 8 ranks" in text, text)
    every = workload("sim --message 100001 --tp 8 --collective all-to-all --every-device")
    need(every["configs"] == one["configs"], f"{every}")


def check_sim_collectives():
    """By default, all that the collective has but alone; the command line overrides the file."""
    usual = ["sequential", "ideal", "ideal-nmc", "t3", "t3-mca", "direct"]
    plain = ["sequential", "ideal", "t3", "t3-mca"]
    for name, configs in (("reduce-scatter", usual), ("all-gather", plain), ("all-to-all", plain)):
        one = workload(f"{SUBLAYER} --collective {name}")
        need(list(one["configs"]) == configs and one["collective"] == name, f"{name}: {one}")
        text = t3(f"{SUBLAYER} --collective {name}").stdout
        need(any(line.startswith("  sequential: ") and f", {name} " in line
                 for line in text.splitlines()), text)
        one = workload(f"{SUBLAYER} --collective {name} --config all --config alone")
        need(list(one["configs"]) == [*configs, "alone"], f"{name}: {one}")
    with tempfile.NamedTemporaryFile("w", suffix=".model") as model:
        model.write("[m]\nhidden = 64\ntokens = 64\ntp = 2\ncollective = all-gather\n")
        model.flush()
        need(workload(f"sim --model {model.name}")["collective"] == "all-gather", "of the file")
        one = workload(f"sim --model {model.name} --collective all-reduce")
        need(one["collective"] == "all-reduce" and "direct" in one["configs"], f"{one}")


def check_sim_nodes():
    """All that runs over nodes; the phases follow each other; a file's nodes give way."""
    found = workload(f"{SMALL_SIM} --nodes 2")
    need(set(found["configs"]) == {"sequential", "ideal", "ideal-nmc", "t3", "t3-mca", "direct"}, found)
    phases = found["configs"]["sequential"]["phases"]
    need(list(phases) == ["gemm", "reduce_scatter", "node_reduce_scatter", "node_all_gather",
                          "all_gather"], phases)
    spans = list(phases.values())
    need(all(a["end_ps"] == b["start_ps"] for a, b in zip(spans, spans[1:])), phases)
    need(all(found["phases"][f"{name}_ps"] == span["end_ps"] - span["start_ps"]
             for name, span in phases.items()), found["phases"])
    need(found["nodes"] == 2 and workload(SMALL_SIM)["nodes"] == 1, found["nodes"])
    text = t3(f"{SMALL_SIM} --nodes 2").stdout
    need("4 ranks in 2 nodes" in text and "node link" in text and "node all-gather" in text, text)
    text = t3(SMALL_SIM).stdout
    need("node" not in text, text)
    with tempfile.NamedTemporaryFile("w", suffix=".model") as model:
        model.write("[m]\nhidden = 256\ntokens = 256\ntp = 4\nsublayers = op\nnodes = 4\n")
        model.flush()
        for option, nodes in (("", 4), ("--nodes 2", 2)):
            done = json.loads(t3(f"sim --json --model {model.name} {option}").stdout)
            need(done["workloads"][0]["nodes"] == nodes, done)


def check_sim_shared():
    """Only by its name; both phases begin at 0, and the all-gather after the later one."""
    units = "--param collective_units=8"
    need("shared" not in workload(f"{SMALL_SIM} {units}")["configs"], "shared without its name")
    phases = workload(f"{SMALL_SIM} {units} --config shared")["configs"]["shared"]["phases"]
    gemm, scatter, gather = (phases[name] for name in ("gemm", "reduce_scatter", "all_gather"))
    need(gemm["start_ps"] == scatter["start_ps"] == 0, phases)
    need(gather["start_ps"] == max(gemm["end_ps"], scatter["end_ps"]), phases)
    text = t3(f"{SMALL_SIM} {units} --config shared").stdout
    need("  shared: GEMM " in text, text)


def check_sim_alone_over_nodes():
    """A buffer has a chunk for each rank of a node; both rings' phases are there."""
    one = workload("sim --message 1M --tp 8 --nodes 2")
    alone = one["configs"]["alone"]
    need(one["nodes"] == 2 and alone["buffer_bytes"] == 1 << 20, one)
    need(list(alone["phases"]) == ["reduce_scatter", "node_reduce_scatter", "node_all_gather",
                                   "all_gather"], alone["phases"])
    need(abs(alone["bus_gbps"] - alone["algorithm_gbps"] * 7 / 4) < 1e-6, alone)
    every = workload("sim --message 1M --tp 8 --nodes 2 --every-device")
    need(every["configs"] == one["configs"], every)
    text = t3("sim --message 1M --tp 8 --nodes 2").stdout
    need("on each of 8 ranks in 2 nodes" in text, text)
    scatter = workload(f"{SMALL_SIM} --nodes 2 --collective reduce-scatter --config all --config alone")
    need(list(scatter["configs"]) == ["sequential", "ideal", "ideal-nmc", "t3", "t3-mca", "direct",
                                      "alone"], scatter)
    need("node_all_gather" not in scatter["configs"]["alone"]["phases"], scatter)


def check_alone():
    done = t3("")
    need(done.returncode == 2 and not done.stdout and "'" not in done.stderr.splitlines()[0],
         f"status {done.returncode}, {done.stderr!r}")
    need(done.stderr == t3("help").stdout, done.stderr)


def check_version():
    version = (ROOT / "tools/packaging/VERSION").read_text().strip()
    for word in ("--version", "-V", "version"):
        done = t3(word)
        need((done.returncode, done.stdout, done.stderr) == (0, f"t3 {version}\n", ""), f"{word}: {done}")


def check_json_names_any_file():
    """A name may be no UTF-8, and JSON must be."""
    for command, text, status, key in ((("dump", "--json"), "T3 devcoredump 1\n", 0, "path"),
                                       (("sim", "--json", "--replay"), "no record", 2, "file")):
        with tempfile.NamedTemporaryFile("w", suffix="caf\udce9") as file:
            file.write(text)
            file.flush()
            done = subprocess.run([T3, *command, file.name], stdin=subprocess.DEVNULL, timeout=SECONDS,
                                  capture_output=True, check=False)
            need(done.returncode == status and b"no memory" not in done.stderr, f"{done}")
            found = json.loads(done.stdout)
            found = found[0] if isinstance(found, list) else found
            need(found[key] == file.name.replace("\udce9", "?"), f"{done}")


def check_tile_is_cut():
    done = t3("gemm-rs --tile 1025x1")
    need(done.returncode == 2 and "--tile must be RxC, each 1 to 1024" in done.stderr, done.stderr)


def check_gemm_columns():
    """--help explains each column of the table for a user of `make run`."""
    table = (ROOT / "tools/t3/gemm/table.c").read_text()
    header = "".join(re.findall(r'"([^"]*)"', re.search(r'printf\(("rank chunk kind[^)]*)\);', table)[1]))
    columns = header.replace("\\n", "").split()[2:]
    need(len(columns) == 9, columns)
    done = t3("gemm-rs --help")
    lacks = [name for name in columns if not re.search(rf"^  {name} +\w", done.stdout, re.M)]
    need(done.returncode == 0 and not lacks, f"{lacks} in {done.stdout}")


def check_limit_of_files():
    """A write beyond ulimit -f is an error with a sentence, and a rank that it ends is named."""
    for command, status, said in (("version", 1, "t3: the output could not be written"),
                                  ("launch -n 1 -- sh -c 'echo x >&1'", 128 + signal.SIGXFSZ,
                                   "t3: rank 0 was ended by signal 25 (File size limit exceeded)")):
        with tempfile.TemporaryFile() as output:
            done = subprocess.run(["sh", "-c", f"ulimit -f 0; exec {T3} {command}"], stdout=output, text=True,
                                  stderr=subprocess.PIPE, timeout=SECONDS, check=False)
        need((done.returncode, done.stderr.strip()) == (status, said), done)


def usage_tests():
    yield "a limit of file sizes", check_limit_of_files, ()
    yield "gemm-rs --help has the table's columns", check_gemm_columns, ()
    yield "t3 alone", check_alone, ()
    yield "version", check_version, ()
    yield "gemm-rs --tile", check_tile_is_cut, ()
    yield "JSON names any file", check_json_names_any_file, ()
    for number, wrong in enumerate(NODES_WRONG):
        yield f"gemm-rs --nodes: wrong usage {number}", check_gemm_nodes, wrong
    for number, wrong in enumerate(DEVICES_WRONG):
        yield f"gemm-rs --devices: wrong usage {number}", check_gemm_devices, wrong
    for command, wrong in USAGE.items():
        yield f"{command} --help", check_help, (command,)
        extra = COMMON if t3(f"{command} --help").stdout.startswith(f"Usage: t3 {command} [OPTION...]\n") \
            else COMMON[:1]
        for arguments in wrong + extra:
            yield f"{command} {arguments}: wrong usage", check_wrong, (command, arguments)
    yield "sim --fabric without --device: wrong usage", check_sim_fabric, ()
    for arguments, why in SIM_WRONG:
        yield f"{arguments}: wrong usage", check_sim_wrong, (arguments, why)
    for arguments, why in SIM_REFUSED:
        yield f"sim {arguments}: wrong usage", check_sim_refused, (arguments, why)
    yield "sim --timeline of a wrong usage", check_sim_timeline_stays, ()
    yield "sim of a message", check_sim_message, ()
    yield "sim of collectives", check_sim_collectives, ()
    yield "sim --nodes", check_sim_nodes, ()
    yield "sim --config alone --nodes", check_sim_alone_over_nodes, ()
    yield "sim --config shared", check_sim_shared, ()
    yield from sim_models.tests()
    yield from sim_steps.tests()
    yield from sim_switch.tests()
    for command, status in (("top --once", 1), ("status", 1), ("stat -- true", 125),
                            ("trace -o /dev/null -- true", 125), ("inject --list", 1),
                            ("reset --all", 1), ("info", 1), ("selftest", 1),
                            ("trace -o /nonexistent/x -- true", 125),
                            ("trace -o /dev/null --record README.md", 1),
                            ("trace -o /dev/null --record /nonexistent", 1)):
        yield f"{command}: no device", check_no_device, (command, status)


# --- completion ----------------------------------------------------------------

def complete(*words, path=""):
    """What bash completes for the last word. t3 is the one under test, unless path has another."""
    script = (f'source {ROOT}/tools/t3/t3.bash-completion; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); '
              '_t3; printf "%s\\n" "${COMPREPLY[@]}"')
    done = subprocess.run(["bash", "-c", script, "bash", *words], stdin=subprocess.DEVNULL, timeout=SECONDS,
                          capture_output=True, text=True, check=False,
                          env={**os.environ, "PATH": f"{path or BUILD}:{os.environ['PATH']}"})
    need(done.returncode == 0 and not done.stderr, f"status {done.returncode}, {done.stderr}")
    return {line for line in done.stdout.splitlines() if line}


def commands():
    return re.findall(r"^  ([a-z-]+) ", t3("help").stdout, re.M)


def check_complete_commands():
    need(complete("t3", "") == set(commands()) and len(commands()) > 14, complete("t3", ""))
    need(complete("t3", "sta") == {"stat", "status"}, complete("t3", "sta"))
    need(complete("t3", "x") == set(), "x")


def check_complete_options(command):
    """All words of its --help that look like options. Each of them must be one."""
    shown = set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", t3(f"{command} --help").stdout))
    offered = complete("t3", command, "-")
    need(offered == shown, f"offered {sorted(offered)}, shown {sorted(shown)}")
    if command not in ("help", "version", "launch"):
        need("--json" in offered, "no --json")
    for option in offered:
        error = t3(f"{command} {option}=").stderr
        need("unrecognized" not in error, f"{option}: {error}")


FORMS = {"trace": 3, "inject": 2, "sim": 7}  # forms in t3(1)'s synopsis; other commands have one


def check_manual():
    """t3(1) has each command in its synopsis and as a paragraph, and each long option."""
    page = (ROOT / "tools/t3/t3.1").read_text().replace("\\-", "-")
    _, synopsis, described, *_ = re.split(r"^\.SH .*\n", page, flags=re.M)[1:]
    options = {}
    for command in commands():
        forms = len(re.findall(rf"^\.B t3 {command}\b", synopsis, re.M))
        need(forms == FORMS.get(command, 1), f"{forms} forms of {command}")
        texts = len(re.findall(rf"^\.TP\n\.B {command}$", described, re.M))
        need(texts == (command != "help"), f"{texts} texts on {command}")
        for option in complete("t3", command, "-") - {"--help", "--usage"}:
            options.setdefault(option, command)
    missing = [f"{command} {option}" for option, command in options.items()
               if not re.search(rf"{option}(?![\w-])", page)]
    need(not missing, f"not in the page: {missing}")


# All values of these options.
VALUES = [
    ("gemm-rs", "--dtype", "i32 f32 f16 bf16"),
    ("gemm-rs", "--write", "store doorbell gemm"),
    ("gemm-rs", "--wait", "auto spin sleep"),
    ("sim", "--sublayer", "op fc2 fc1 ip"),
    ("sim", "--dtype", "f16 bf16 f32 f64 i8 u8 i32 u32 i64 u64"),
    ("sim", "--chunks", "auto rows columns"),
    ("sim", "--phase", "training prefill decode"),
    ("sim", "--attention", "fused separate"),
    ("sim", "--mlp", "gated plain"),
    ("sim", "--config", "sequential ideal ideal-nmc t3 t3-mca t3-mca-ag direct switch t3-switch alone shared t3-mca-turns all"),
    ("sim", "--collective", "all-reduce reduce-scatter all-gather all-to-all"),
    ("bench", "--only", "store vcpus doorbell nmc reader submit latency segments gemm copy allreduce "
     "share"),
]


def check_complete_values():
    with tempfile.TemporaryDirectory() as directory:
        fake = pathlib.Path(directory) / "t3"
        fake.write_text("#!/bin/sh\n[ $1 = list ] && printf 'index  pci\\n    0  x\\n   11  x\\n'\n"
                        "[ $1 = inject ] && printf 'device 0\\n  drop  x\\n  delay y\\n'\n", encoding="utf-8")
        fake.chmod(0o755)
        need(complete("t3", "info", "-d", "", path=directory) == {"0", "11"}, "devices")
        need(complete("t3", "top", "--device", "1", path=directory) == {"11"}, "device 1")
        need(complete("t3", "inject", "d", path=directory) == {"drop", "delay"}, "faults")
        need(complete("t3", "gemm-rs", "--fabric", "", path=directory) == {"0", "11"}, "fabrics")
    for command, option, values in VALUES:
        offered = complete("t3", command, option, "")
        need(offered == set(values.split()), f"{command} {option}: {offered}")
        first = values.split()[0]
        need(first in complete("t3", command, option, first[:2]), f"{command} {option} {first[:2]}")
    need("link_gbps=" in complete("t3", "sim", "--param", "link"), "parameters")
    need("README.md" in complete("t3", "stat", "-o", "READ"), "files")
    need("README.md" in complete("t3", "dump", "READ"), "dumps")
    need("README.md" in complete("t3", "trace", "--record", "READ"), "records")
    need("printf" in complete("t3", "stat", "--json", "--", "print"), "commands")
    need("README.md" in complete("t3", "trace", "-o", "x", "--", "cat", "READ"), "arguments")


def check_complete_fish():
    for line, wanted in (("t3 sel", "selftest"), ("t3 gemm-rs --dtype b", "bf16"), ("t3 dump READ", "README.md")):
        done = subprocess.run(["fish", "--no-config", "-c", f'source {ROOT}/tools/t3/t3.fish; complete -C "{line}"'],
                              capture_output=True, text=True, timeout=SECONDS, check=False, cwd=ROOT,
                              env={**os.environ, "PATH": f"{BUILD}:{os.environ['PATH']}"})
        need(done.stdout.split() == [wanted], f"{line}: {done.stdout}{done.stderr}")


def check_complete_zsh():
    """At a terminal, as zsh completes nowhere else."""
    zsh, terminal = pty.fork()
    if not zsh:
        os.execvpe("zsh", ["zsh", "-f", "-i"],
                   {**os.environ, "PATH": f"{BUILD}:{os.environ['PATH']}", "TERM": "dumb"})
    end, shown, typed = time.monotonic() + SECONDS, "", False
    os.write(terminal, f"fpath=({ROOT}/tools/t3 $fpath); autoload -U compinit; compinit -u -D; PS1=ready\n".encode())
    while "selftest --timeout" not in shown and time.monotonic() < end:
        if select.select([terminal], [], [], 1)[0]:
            shown += os.read(terminal, 4096).decode(errors="replace")
        if not typed and shown.count("ready") > 1:
            typed = os.write(terminal, b"t3 self\t --ti\t")
    os.kill(zsh, signal.SIGKILL)
    os.waitpid(zsh, 0)
    os.close(terminal)
    need("selftest --timeout" in shown, shown)


def completion_tests():
    yield "completion in fish", check_complete_fish, ()
    yield "completion in zsh", check_complete_zsh, ()
    yield "completion of commands", check_complete_commands, ()
    for command in commands():
        yield f"completion of {command}'s options", check_complete_options, (command,)
    yield "completion of values", check_complete_values, ()
    yield "t3(1)", check_manual, ()


# --- dumps: files of any content ----------------------------------------------

DUMP = """T3 devcoredump 1
reason a queue hangs
time 12.345
driver 1.4
device 0000:01:00.0 rank 2 ranks 4 version 0x10003 resets 1
register CAPS 0x8 0x41
register VERSION 0x4 0x10003
register TOPOLOGY 0x38 0x2
register FABRIC_ID 0x28 0xffffffffffffffff
counter 6 17
queue 3 priority 2 state 1 head 5 tail 7 head 5 tail 8
job 9 done 1 of 2
step 3 op 1 dtype 3 rows 4 row_bytes 64 src 0x1000 dst 0x2000
space 1 state 5 epoch 7 generation 2 in_flight 0 state 5 epoch 7 aperture 0x0 size 0x1000
fault 10 detail 7 segment 0 tile -1 offset 0xffffffffffffffff epoch 7 src_rank 3
segment 0 kind 3 word 0x100000007 tiles 16 tracked 4
tile 4 count 96 flags 0x4 cause 3
novelty 1 2 3
truncated
"""
DUMP_SAYS = [
    "reason  a queue hangs", "rank 2  ranks 4", "CAPS             0x41 STAGING INJECT",
    "VERSION          0x10003 major 1 minor 3", "TOPOLOGY         0x2 full",
    "FABRIC_ID        0xffffffffffffffff", "stores             17", "queue 3  priority 2  state 1 (READY)",
    "    job 9  done 1  commands 2", "        opcode 3 (UPDATE)  op 1 (ADD)  dtype 3 (BF16)",
    "space 1  state 5 (FAULTED)", "    fault 10 (REJECTED)  detail 7 (EPOCH)",
    "    segment 0  kind 3 (DMA)", "TRACKED epoch 7",
    "        tile 4  count 96  flags 4  more cause 3 STARTED", "unknown: novelty 1 2 3",
    "truncated: "]

# (change to the dump, text on stderr)
DUMPS_BAD = [
    ("empty", lambda text: "", "line 1: it is empty"),
    ("blank", lambda text: "\n", "line 1: it does not begin with"),
    ("version", lambda text: text.replace("dump 1", "dump 2"), "line 1: format 2"),
    ("zeros", lambda text: "\0" * 5000, "line 1: it ends in the middle"),
    ("a zero", lambda text: text.replace("a queue", "a\0queue"), "line 2: byte 0x00"),
    ("a byte", lambda text: text.replace("hangs", "h\x9bngs"), "line 2: byte 0xc2"),
    ("cut", lambda text: text[:-40], "in the middle of this line"),
    ("a short line", lambda text: text.replace(" tail 8", ""), "line 11: it ends before 'tail'"),
    ("a word", lambda text: text.replace("epoch 7 g", "epoc 7 g"), "line 14: 'epoc' where 'epoch'"),
    ("a number", lambda text: text.replace("state 5 epoch 7 a", "state five epoch 7 a"),
     "line 14: 'five' is no number"),
    ("a huge number", lambda text: text.replace("17", "9" * 40), "line 10: "),
    ("a long line", lambda text: text.replace("hangs", "h" * 5000), "line 2: 5015 bytes"),
    ("no owner", lambda text: "T3 devcoredump 1\ntile 4 count 96 flags 0x4\n",
     "line 2: the line has no parent line before it"),
    ("huge", lambda text: text + "register A 0 1\n" * 100000, "is above 1048576 bytes"),
]


def dump_of(text, *options):
    with tempfile.NamedTemporaryFile("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        return subprocess.run([T3, "dump", *options, file.name], stdin=subprocess.DEVNULL, timeout=SECONDS,
                              capture_output=True, text=True, check=False)


def check_dump():
    done = dump_of(DUMP)
    need(done.returncode == 0 and not done.stderr, f"status {done.returncode}, {done.stderr}")
    for text in DUMP_SAYS:
        need(text in done.stdout, f"not said: {text}\n{done.stdout}")
    dump, = json.loads(dump_of(DUMP, "--json").stdout)
    need(dump["queues"][0]["jobs"][0]["steps"][0]["opcode_name"] == "UPDATE", "step")
    need(dump["spaces"][0]["segments"][0]["open_tiles"][0]["set"] == ["STARTED"], "tile")
    need(dump["device"]["rank"] == 2 and dump["truncated"], "device")


# The list in t3_hw.h; the register, or key of a record, that has such values; are they bits?
NAMED = [("CAP", "register CAPS 0x8 {}", True), ("ERROR", "register ERROR_STATUS 0x80 {}", True),
         ("ERROR", "register ERROR_ENABLE 0x84 {}", True),
         ("TILE", re.sub(r"\A.*?^(space.*?)^fault.*?^(segment.*?flags )0x4.*", r"\1\2{}", DUMP,
                             flags=re.M | re.S), True),
         ("ADMIN_STATUS", "register ADMIN_STATUS 0x204 {}", False),
         ("ADMIN_OPCODE", "register ADMIN_COMMAND 0x200 {}", False)]


def names_of(which, bits):
    """{name: value} of a list of t3_hw.h: single bits, or the values of an enumeration."""
    header = (ROOT / "uapi/t3_hw.h").read_text()
    entries = re.search(rf"^#define T3_{which}_LIST\(X, p\) (?:.*\\\n)*.*", header, re.M)[0]
    return {name: 1 << int(value) if bits else int(value) for name, value in
            re.findall(r"X\(p, (\w+), (\d+)", entries)}


def check_names(which, line, bits):
    """The header's names are the dump's: none lacks, none is another one."""
    names = names_of(which, bits)
    need(len(names) >= 3, f"{names} in the header")
    for name, value in names.items():
        done = dump_of("T3 devcoredump 1\n" + line.format(hex(value)) + "\n", "--json")
        need(done.returncode == 0, done.stderr)
        said = f'"{name}"' if not bits else f'"set":["{name}"]'
        need(said in re.sub(r"\s", "", done.stdout), f"{name} is not said: {done.stdout}")


def check_huge_numbers():
    """They stay text, and are not the number of anything."""
    head = "T3 devcoredump 1\n"
    counter, = json.loads(dump_of(f"{head}counter {2**63} 1\n", "--json").stdout)[0]["counters"]
    need(counter == {"index": str(2**63), "value": 1}, counter)
    queue, = json.loads(dump_of(f"{head}queue 0 priority 0 state {2**63} head 0 tail 0 head 0 tail 0\n",
                                "--json").stdout)[0]["queues"]
    need(queue["state"] == str(2**63) and "state_name" not in queue, queue)
    done = dump_of(f"{head}counter {-2**63 - 1} 1\n")
    need(done.returncode == 1 and "is no number for 'index'" in done.stderr, done)


def check_bad_dump(change, said):
    text = change(DUMP)
    for options in ([], ["--json"]):
        done = dump_of(text, *options)
        need(done.returncode == 1 and len(done.stderr.splitlines()) == 1 and said in done.stderr,
             f"status {done.returncode}, {done.stderr!r}")


def check_mutated_dumps():
    """A file with any content gives status 0, or 1 and one sentence."""
    generator = random.Random(7)
    for _ in range(60):
        data = bytearray(DUMP.encode())
        for _ in range(generator.choice((1, 2, 10))):
            at = generator.randrange(len(data))
            data[at:at + generator.randrange(3)] = generator.choice(
                (b"", b"\n", b" ", b"0x", b"-", b"99999999999", b"space 1", b"{}", bytes([at % 128])))
        done = dump_of(data.decode(), *generator.choice(([], ["--json"])))
        need(done.returncode == 0 and not done.stderr
             or done.returncode == 1 and len(done.stderr.splitlines()) == 1,
             f"status {done.returncode}, {done.stderr!r} of {bytes(data)!r}")


def dump_tests():
    yield "dump of a file", check_dump, ()
    for which, line, bits in NAMED:
        yield f"dump, names of {line.split()[1]} {which}", check_names, (which, line, bits)
    for name, change, said in DUMPS_BAD:
        yield f"dump, {name}", check_bad_dump, (change, said)
    yield "dump, huge numbers", check_huge_numbers, ()
    yield "dump, mutated", check_mutated_dumps, ()
    for path, said in (("/nonexistent", "No such file"), ("/", "Is a directory")):
        yield f"dump {path}", lambda path=path, said=said: need(
            said in (done := t3(f"dump {path}")).stderr and done.returncode == 1, done.stderr), ()


# --- timelines ---------------------------------------------------------------

def key_of(event):
    return event["pid"], event["tid"]


def check_timeline(root):
    """Events are ordered by time, each begin has its end, and each track has a name. Returns the
    names."""
    events = root["traceEvents"]
    names = {key_of(event): event["args"]["name"] for event in events
             if event["ph"] == "M" and event["name"] in ("process_name", "thread_name")}
    depth, busy, last = collections.Counter(), {}, -1
    for event in events:
        if event["ph"] == "M":
            continue
        need(event["ts"] >= max(last, 0), f"{event} is before the one before it")
        last, key = event["ts"], key_of(event)
        need(event["ph"] in "BEXiC", f"phase of {event}")
        need(event["ph"] == "C" or key in names, f"no name of the track of {event}")
        need((event["pid"], 0) in names, f"no name of the process of {event}")
        depth[key] += {"B": 1, "E": -1}.get(event["ph"], 0)
        need(depth[key] >= 0, f"an end without a begin: {event}")
        if event["ph"] == "X":
            need(event["dur"] >= 0 and event["ts"] >= busy.get(key, 0) - 0.002, f"overlaps: {event}")
            busy[key] = event["ts"] + event["dur"]
    need(not +depth, f"begins without ends: {depth}")
    return set(names.values())


def named(root, phase, pattern):
    return [event for event in root["traceEvents"]
            if event["ph"] in phase and re.search(pattern, event["name"])]


def check_driver_timeline(status, output):
    """Three ranks, two iterations, each with three jobs that write to the space."""
    need(status == 0, f"status {status}: {output}")
    lines = output.splitlines()
    root = json.loads(next(line for line in lines if line.startswith("{")))
    names = check_timeline(root)
    for name in ("rank 0 (0000:01:00.0)", "rank 1 (0000:02:00.0)", "space 0", "queue 0"):
        need(name in names, f"no track {name} in {names}")
    facts = root["otherData"]
    need((facts["lost"], facts["status"], len(facts["devices"])) == (0, 0, 3), f"facts {facts}")
    need(any(f"{facts['events']} events of 3 devices, 0 lost" in line for line in lines), output)
    need(len(named(root, "B", "^space 0 generation ")) == 3, "spaces")
    need(len(named(root, "B", "^ARMED [12]$")) == 6, "states")
    need(len(named(root, "X", "^job ")) == 18, "jobs")
    need(len(named(root, "i", "delivered$")) >= 4, "segments")
    need(any(event["args"]["value"] > 0 for event in named(root, "C", "^stores/s$")), "counters")


def check_waits(status, output):
    """With --wait sleep each rank waits in the kernel: a slice by a thread."""
    need(status == 0, f"status {status}: {output}")
    root = json.loads(next(line for line in output.splitlines() if line.startswith("{")))
    need(any(name.startswith("waits of t3-") for name in check_timeline(root)), "track")
    need(named(root, "B", r"^space 0 until DELIVERED \d$"), "waits")


def check_lost(status, output):
    need(status == 0, f"status {status}: {output}")
    root = json.loads(next(line for line in output.splitlines() if line.startswith("{")))
    check_timeline(root)
    need(root["otherData"]["lost"] > 0 and "a larger --buffer keeps them" in output, "lost")


def check_instances(status, output):
    need((status, output.strip()) == (0, ""), f"left behind: {output}")


def merge(directory, guest, log, *options):
    (directory / "guest").write_text(guest, encoding="utf-8")
    (directory / "log").write_text(log, encoding="utf-8")
    return subprocess.run([T3, "trace", "-o", directory / "out", "--merge", directory / "guest",
                           "--qemu-log", directory / "log", *options], stdin=subprocess.DEVNULL,
                          timeout=SECONDS, capture_output=True, text=True, check=False)


def check_merged(output, log):
    """All events that the devices logged in that time are on the driver's timeline, at the right
    place."""
    guest = next(line for line in output.splitlines() if line.startswith("{"))
    with tempfile.TemporaryDirectory() as directory:
        done = merge(pathlib.Path(directory), guest, log)
        need(done.returncode == 0 and not done.stdout and "aligned by" in done.stderr, done.stderr)
        root = json.loads((pathlib.Path(directory) / "out").read_text())
    names = check_timeline(root)
    for name in ("space 0: in the device", "space 0: tiles", "queue 0: in the device",
                 "interrupts"):
        need(name in names, f"no track {name} in {names}")
    # Events of this run, and not of others in the log: three chunks of three tiles, one by DMA.
    need(len(named(root, "i", r"^segment \d tile \d+$")) == 2 * 3 * 9, "triggers")
    need(len(named(root, "B", "^from tile ")) == 2 * 3 * 3, "blocks")
    # A state in the driver follows the device's own. On a busy host it may come late, but not all of
    # them later than the next iteration. check_clocks() has the exact times.
    seen = {(event["pid"], event["name"]): event["ts"] for event in
            named(root, "B", "^ARMED ") if event["cat"] == "state"}
    own = {(event["pid"], event["name"]): event["ts"] for event in
           named(root, "B", "^ARMED ") if event["cat"] == "device state"}
    need(len(seen) == 6 and seen.keys() == own.keys(), f"states {seen} {own}")
    need(all(0 <= seen[key] - own[key] for key in seen), f"times {seen} {own}")
    iteration = min(own[pid, "ARMED 2"] - own[pid, "ARMED 1"] for pid, _ in own)
    need(min(seen[key] - own[key] for key in seen) < iteration, f"times {seen} {own}")
    need(root["otherData"]["driver_later_us"] >= 0, "later")


GUEST_STATE = ('{{"ph":"B","pid":1,"tid":10000,"ts":{},"cat":"state","name":"x","args":{{"space":0,'
               '"state":"{}","epoch":{}}}}},{{"ph":"E","pid":1,"tid":10000,"ts":{}}}')


def stamp(at, dated):
    """A time as QEMU 10.0 writes it, or as 10.2 does: without a fraction at a full second."""
    seconds, microseconds = divmod(at, 1_000_000)
    if not dated:
        return f"1@{seconds}.{microseconds:06}:"
    fraction = f".{microseconds:06}" if microseconds else ""
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds)) + f"{fraction}Z "


def made_logs(offset_us, runs, dated=False, others_us=0):
    """The same program repeatedly. The driver sees each third change of the second run, and one of
    them so much sooner than the others."""
    log, guest = [], []
    for run in range(runs):
        for epoch in range(1, 40):
            at = 1_700_000_000_000_000 + run * 700_000 + epoch * 1000 + epoch * epoch % 7
            for number, state in enumerate(("ARMED", "COMPLETE", "IDLE")):
                text = f"{stamp(at, dated)}t3_space_state rank 0 space 0 X -> "
                log.append(f"{text}{state} epoch={epoch}\n")
                at += 200
                if run == 1 and number == epoch % 3:
                    seen = at - 200 + offset_us + 5 + (epoch * 13 % 90 + others_us if epoch != 20 else 0)
                    guest.append(GUEST_STATE.format(seen, state, epoch, seen + 20))
    events = ",".join(guest)
    return (f'{{"otherData":{{"devices":[{{"index":0,"rank":0,"pci":"x"}}]}},"traceEvents":[{events}]}}',
            "".join(log))


def check_clocks(dated):
    """Which run it was, and the offset for the smallest delay, 5 us, also where no other is near it."""
    for offset, others in ((-1_699_999_990_000_000, 0), (12_345, 0), (12_345, 100), (12_345, 150)):
        guest, log = made_logs(offset, 3, dated, others)
        with tempfile.TemporaryDirectory() as directory:
            done = merge(pathlib.Path(directory), guest, log, "--json")
            need(done.returncode == 0, done.stderr)
            facts = json.loads(done.stdout)
            root = json.loads((pathlib.Path(directory) / "out").read_text())
        need(facts["aligned_by"] >= 39 and 20 < facts["driver_later_us"] - others < 80, f"facts {facts}")
        first = min(event["ts"] for event in root["traceEvents"] if event["ph"] == "B"
                    and event["cat"] == "device state")
        true = 1_700_000_000_000_000 + 700_000 + 1000 + 1 + offset
        # The third change of the first epoch, as the driver's first is of the second.
        need(405 <= first - true <= 407, f"first {first}, {true}")


GOOD_GUEST, GOOD_LOG = made_logs(0, 2)
MERGE_BAD = [
    ("no JSON", "{", GOOD_LOG, "--merge takes"),
    ("another JSON", "[]", GOOD_LOG, "does not say which devices"),
    ("no event", GOOD_GUEST.replace('"ph":"B"', '"ph":7'), GOOD_LOG, "a malformed event"),
    ("no time", GOOD_GUEST.replace('"ts"', '"tx"'), GOOD_LOG, "a malformed event"),
    ("a huge time", GOOD_GUEST.replace('"ts":', '"ts":1e300,"x":'), GOOD_LOG, "a malformed event"),
    ("nothing", GOOD_GUEST.split("[{\"ph")[0] + "[]}", GOOD_LOG, "it has no events"),
    ("an impossible rank", GOOD_GUEST.replace('"rank":0', '"rank":32'), GOOD_LOG, "impossible rank"),
    ("equal ranks", GOOD_GUEST.replace('"devices":[', '"devices":[{"index":1,"rank":0},'), GOOD_LOG,
     "the same rank"),
    ("no timestamps", GOOD_GUEST, re.sub("^.*:", "", GOOD_LOG, flags=re.M), "timestamp=on"),
    ("another run", GOOD_GUEST, GOOD_LOG.replace("space 0", "space 1"), "not of the same run"),
    ("garbage", GOOD_GUEST, "@@1@2.3:t3_\n9@9.999999:t3_x rank\n-1@5.123456:t3_x rank 0\n" * 3,
     "timestamp=on"),
    ("garbage of dates", GOOD_GUEST, "2026-11-23T08:20:28.64Z t3_x rank 0\n2026-13-23T08:20:28Z t3_x "
     "rank 0\n2026-11-23T08:20:28.646360 t3_x rank 0\n1926-11-23T08:20:28Z t3_x rank 0\n" * 3,
     "timestamp=on"),
]


def check_full_second():
    """QEMU 10.2 writes no fraction then. All lines of a log are at full seconds here."""
    guest, log = made_logs(0, 2, True)
    whole = re.sub(r"\.\d{6}Z ", "Z ", log)
    need(whole != log and stamp(1_700_000_000_000_000, True) == "2023-11-14T22:13:20Z ", "no such time")
    with tempfile.TemporaryDirectory() as directory:
        done = merge(pathlib.Path(directory), guest, whole)
    need("no event of a device with a time" not in done.stderr, done.stderr)


def check_accidents():
    """What hit a packet is on the link's track, before the packet is sent again."""
    guest, log = made_logs(0, 2)
    at = 1_700_000_000_700_000 + 5000
    log += "".join(f"{stamp(at + 10 * number, False)}t3_link_{text}\n" for number, text in enumerate(
        ("state rank 0 to 1 down", "accident rank 0 to 1 link-down packet=7", "resent rank 0 to 1 packets=1",
         "accident rank 0 to 1 drop-response packet=7")))
    with tempfile.TemporaryDirectory() as directory:
        done = merge(pathlib.Path(directory), guest, log)
        need(done.returncode == 0, done.stderr)
        root = json.loads((pathlib.Path(directory) / "out").read_text())
    names = [event["name"] for event in sorted(root["traceEvents"], key=lambda event: event.get("ts", 0))
             if event.get("cat") == "link"]
    need(names == ["link_state", "link-down of packet 7", "link_resent", "drop-response of packet 7"], names)


def check_bad_merge(guest, log, said):
    with tempfile.TemporaryDirectory() as directory:
        done = merge(pathlib.Path(directory), guest, log)
    need(done.returncode == 1 and len(done.stderr.splitlines()) == 1 and said in done.stderr,
         f"status {done.returncode}, {done.stderr!r}")


def merge_tests():
    yield "trace --merge, clocks", check_clocks, (False,)
    yield "trace --merge, clocks of QEMU 10.2", check_clocks, (True,)
    yield "trace --merge, a full second", check_full_second, ()
    yield "trace --merge, accidents of a link", check_accidents, ()
    for name, guest, log, said in MERGE_BAD:
        yield f"trace --merge, {name}", check_bad_merge, (guest, log, said)


# A boot of its own, in which QEMU logs the devices' events.
TRACED = "t3 trace -o /tmp/t -- t3 gemm-rs --ranks 3 --shape 96x96x96 --iters 2"
# Rank 0 puts its input late, so that the others have to wait for it.
LATE = "--delay-rank 0 --delay-step 2 --delay-ms 500"
TRACE = [
    ("trace", f"{TRACED} --write gemm --wait spin && cat /tmp/t", check_driver_timeline),
    ("trace, waits", f"{TRACED} --wait sleep {LATE} && cat /tmp/t", check_waits),
    ("trace, little room", TRACED.replace("-o", "--buffer 4 -o") + "00 && cat /tmp/t", check_lost),
    ("trace leaves nothing", "ls /sys/kernel/tracing/instances", check_instances),
]


def trace_tests(wanted):
    """Compare the last run with QEMU's log."""
    if not wanted.search("trace in a VM"):
        return
    status, batch = guest_batch("tool-trace", ["--ranks", "3", *(f"--qemu-arg={argument}" for argument in
                                               ("-trace", "t3_*", "-msg", "timestamp=on"))],
                                [command for _, command, _ in TRACE], SECONDS)
    for (name, _, check), ran in zip(TRACE, batch):
        yield name, check, (ran.status, ran.text)
    yield "trace: the VM ends well", lambda: need(status == 0, f"status {status}"), ()
    log = (BUILD / "run/tool-trace/qemu.log").read_text()
    yield "trace --merge", check_merged, (batch[0].text, log)


# --- in the VM: each takes status and output of its command ------------------

def check_status(status, output):
    need(status == 0, f"status {status}")
    need(re.search(r"^rank 0 space 0 \(pid \d+ t3\): epoch 1 ARMED\n    segment 0: \d+ of 16 tiles "
                   r"wait for updates, first: tile \d+ has \d+ of 8192 bytes$", output,
                   re.M), "rank 0 does not wait for updates")
    need(re.search(r"^rank 3 space 0 .*: epoch 2 ARMING\n    waits until rank 0 space 0 has armed "
                   r"it, which is ARMED in epoch 1$", output, re.M),
         "rank 3 does not wait for rank 0 to arm")


def check_status_json(status, output):
    need(status == 0, f"status {status}")
    root = json.loads(output)
    need([device["rank"] for device in root["devices"]] == [0, 1, 2, 3], "not all devices")
    need(root["devices"][0]["spaces"][0]["state"] == "ARMED", "state")
    tile = root["devices"][0]["tiles"][0]["parts"][0]
    need(tile["record"] == "tile" and tile["expected"] == 8192, f"tile {tile}")
    need(len(root["in_flight"]) >= 4, "sentences")


def check_status_link(status, output):
    """A link that is down is seen, from the side that sends, until it is up."""
    need(status == 0, f"status {status}")
    down = "rank 1 link to rank 0: DOWN, 0 packets not answered"
    lines = output.splitlines()
    need(lines.count(down) == 1 and '"link": 0' in output and '"DOWN"' in output, output)
    need("nothing is in flight on 2 devices" in lines[lines.index(down) + 1:], output)
    need(re.search(r"^rank 1 link to rank 0: UP, 0 packets not answered$", output, re.M), output)


def check_status_one(status, output):
    need(status == 0, f"status {status}")
    need(re.search("^rank 2 ", output, re.M) and "rank 0 space 0 (" not in output, "ranks")


def check_idle(status, output):
    need((status, output.strip()) == (0, "nothing is in flight on 4 devices"), output)


def check_top(status, output):
    need(status == 0, f"status {status}")
    need("\033" not in output, "it clears what is no terminal")
    rows = re.findall(r"^ +(\d) +(\d)  \[\|* *[\d.]+%\] ", output, re.M)
    need(max(map(len, output.splitlines())) <= 80, "it is wider than a terminal")
    need(len(re.findall(r"^ +\d( +[\d.]+[kMG]?){8}$", output, re.M)) == 4, f"links of {output}")
    need(rows == [(f"{i}", f"{i}") for i in range(4)], f"devices {rows}")
    need(re.search(r"^ +\d+ t3 +0 +0\.0 +\d+k +0  1 ARMED$", output, re.M), "rank 0's process")
    need(re.search(r"^ +\d+ t3 +3 .* 1 ARMING$", output, re.M), "rank 3's process")


class Shell:
    """The guest's shell on a terminal, without a person."""

    def __init__(self, *options):
        self.process = subprocess.Popen([ROOT / "tools/vm/t3-vm", "shell", *options], cwd=ROOT,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT)
        self.seen = ""

    def wait_for(self, pattern):
        """The output up to there, which is consumed."""
        end = time.monotonic() + SECONDS
        while not (found := re.search(pattern, self.seen)):
            ready, _, _ = select.select([self.process.stdout], [], [], max(0, end - time.monotonic()))
            data = os.read(self.process.stdout.fileno(), 65536) if ready else b""
            need(data, f"no {pattern!r} in {self.seen!r}")
            self.seen += data.decode(errors="replace")
        before, self.seen = self.seen[:found.end()], self.seen[found.end():]
        return before

    def type(self, text):
        self.process.stdin.write(text.encode())
        self.process.stdin.flush()

    def end(self):
        """Ends the VM, too."""
        try:
            self.process.communicate(b"\nexit 0\n", timeout=SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.communicate()


def check_top_screen():
    """Bars, a title and the keys. Each key does what it does in htop. Then the end."""
    shell = Shell("--ranks", "4", "--name", "tool-top")
    try:
        shell.wait_for("# ")
        shell.type("stty rows 24 cols 80; TERM=nothing t3 top; echo status=$?\n")
        need("the terminal 'nothing' is not known" in shell.wait_for(r"status=1"), "a bad TERM")
        shell.type("TERM=dumb t3 top; echo status=$?\n")
        need("the terminal 'dumb' cannot move its cursor" in shell.wait_for(r"status=1"), "dumb")
        for key in ("q", "\033", "\033[21~"):  # F10
            shell.type("TERM=xterm t3 top --interval 0.2; echo status=$?\n")
            shown = shell.wait_for(r"T3: 4 devices[\s\S]*q Quit|q Quit[\s\S]*T3: 4 devices")
            need("\033[?1049h" in shown, f"no screen of its own: {shown!r}")
            shell.type(" ")
            shell.wait_for("PAUSED")
            shell.type(" PMN")
            shell.type(key)
            need("\033[?1049l" in shell.wait_for(r"status=0"), "the screen stays")
        shell.type("TERM=xterm t3 top --interval 0.1 --count 2; echo status=$?\n")
        shell.wait_for(r"status=0")
        shell.type("TERM=xterm t3 top --interval 3600; echo status=$?\n")
        shell.wait_for("taking the first sample")
        shell.type("q")
        shell.wait_for(r"status=0")
    finally:
        shell.end()


def top_tests(wanted):
    if wanted.search("top, on a terminal"):
        yield "top, on a terminal", check_top_screen, ()


def check_top_json(status, output):
    need(status == 0, f"status {status}")
    samples = [json.loads(line) for line in output.splitlines() if line]
    need(len(samples) == 3, f"{len(samples)} samples")
    need(samples[0]["time_ns"] < samples[1]["time_ns"] < samples[2]["time_ns"], "times")
    need(all(sample["interval_ns"] >= 300_000_000 for sample in samples), "intervals")
    total = sum(device["changes"]["stores"] for sample in samples
                for device in sample["devices"])
    rate = sum(device["per_second"]["stores"] * sample["interval_ns"] / 1e9
               for sample in samples for device in sample["devices"])
    need(total > 0 and abs(rate - total) < 1e-6 * total, f"{total} stores, {rate} by their rates")
    mine = [process for sample in samples for process in sample["processes"]]
    need(any(process["process"] == "t3" and process["spaces"] for process in mine), "processes")


def check_unprivileged(status, output):
    need(status == 1 and "is for root alone" in output, f"status {status}: {output}")


def check_stat(status, output):
    need(status == 0, f"status {status}")
    root = json.loads(output)
    need(root["status"] == 0 and root["wall_ns"] > 0, "status, time")
    each = [device["counters"] for device in root["devices"]]
    # 4 ranks: the product's 64x64 i32, in two iterations, each element by 8-byte stores.
    need([counters["stores"] for counters in each] == [4096] * 4, "stores")
    need([counters["nmc-elements"] > 0 for counters in each] == [True] * 4, "elements")
    for name in COUNTERS:
        need(root["total"][name] == sum(counters[name] for counters in each), name)
    need(root["total"]["link-tx-packets"] == root["total"]["link-rx-packets"], "packets")


def check_stat_table(status, output):
    need(status == 0, f"status {status}")
    need(re.search(r"^  stores +16384( +4096){4}$", output, re.M), "stores")
    need("PASS" in output and "tracker hits" in output, "output")


def check_stat_one(status, output):
    need(status == 3, f"status {status}")
    root = json.loads(output)
    need([device["index"] for device in root["devices"]] == [2], "devices")


def check_dump_of_device(status, output):
    """Dumps of two devices that were reset: the newest, both, and none after their release."""
    need(status == 1 and "no T3 device has left a dump" in output, output)
    text, _, rest = output.partition("@\n")
    need("rank 2  ranks 4" in text and "reason  asked for in debugfs" in text, text)
    dumps = json.loads(rest[:rest.rindex("]") + 1])
    need([dump["device"]["rank"] for dump in dumps] == [0, 2], "ranks")
    # The first reset has ended the job, so the second device's state is not certain.
    need(dumps[0]["spaces"][0]["state_name"] == "ARMED", "state")
    need(dumps[0]["spaces"][0]["segments"][0]["kind_name"] == "LOCAL", "segment")


def check_inject_list(status, output):
    need(status == 0, f"status {status}")
    root = json.loads(output)
    need([device["inject"][0]["enabled"] for device in root] == [1, 1], "enabled")
    kinds = {record["kind"]: record for record in root[1]["inject"][1:]}
    need(len(kinds) == 16 and kinds["delay"]["needs"] == "peer,value", f"kinds {kinds}")


def check_reset(status, output):
    """Without --yes nothing is lost. With it all spaces are lost, and the devices work again."""
    need(status == 0, f"status {status}")
    need(re.search(r"^refused: t3: device 0 has space 0 \(ARM.*\) of pid \d+ \(t3\), which would be "
                   r"lost: --yes resets it$", output, re.M), "not refused")
    need(re.search(r"^device 0 \(rank 0\) was reset in [\d.]+ ms; lost: space 0 \(ARM.*\) of pid \d+ "
                   r"\(t3\)$", output, re.M), "not reset")
    need(len(re.findall(r"^device \d .* was reset .*; lost: nothing$", output, re.M)) == 4, "again")
    need("FAIL" in output and "PASS" in output, "jobs")


def check_reset_json(status, output):
    need(status == 0, f"status {status}")
    device, = json.loads(output)
    need(device["index"] == 2 and device["spaces_lost"] == [] and device["ns"] > 0 and device["reset"], device)


def check_reset_part(status, output):
    need(status == 1, f"status {status}")
    said = "/sys/bus/pci/devices/0000:03:00.0/reset: No space left on device"
    need(said in output, said)
    devices = json.loads(output[output.index("["):output.rindex("]") + 1])
    need([device["reset"] for device in devices] == [True, True, False, False], devices)
    need(["ns" in device for device in devices] == [True, True, True, False], devices)


def check_selftest(status, output):
    need(status == 0, f"status {status}")
    need(re.search(r"^[0-9]+ passed, 0 failed, 0 skipped$", output, re.M), output)
    for device in range(4):
        for check in ("memory", "stores bf16: store add min max mul", "stores u8: store add min max and or xor mul",
                      "stores f64: store add min max mul", "doorbells i8", "doorbells u64", "interrupt", "product",
                      "updates of the next rank", *["all-reduce of all ranks"][device:]):
            need(re.search(rf"^passed   device {device}: {check}(: .*)?$", output, re.M), check)


def check_selftest_json(status, output):
    """Of two devices with a dead link between them, that one check fails."""
    need(status == 1, f"status {status}")
    root = json.loads(output[output.index("{"):])
    bad = [(check["index"], check["check"])
           for check in root["checks"] if check["result"] == "failed"]
    need(bad == [(0, "updates of the next rank"), (0, "all-reduce of all ranks"),
                 (1, "updates of the next rank")], f"failed {bad}")


def check_list(status, output):
    need(status == 0, f"status {status}")
    rows = re.findall(r"^ +(\d)  0000:0(\d):00.0  /dev/accel/accel\d +(\d) of 4 +ring ", output, re.M)
    need(rows == [(f"{i}", f"{i + 1}", f"{i}") for i in range(4)], f"rows {rows}")


def check_info_json(status, output):
    need(status == 0, f"status {status}")
    one, end = json.JSONDecoder().raw_decode(output)
    every = json.loads(output[end:])
    need(one["device"]["rank"] == 2 and one["index"] == 2, f"device {one['index']}")
    need([device["index"] for device in every] == [0, 1, 2, 3], "all")


def check_bench(status, output):
    """Times vary, but each figure is a number between its quartiles."""
    need(status == 0, f"status {status}")
    report = json.loads(output)
    rows = {row["name"]: row for row in report["rows"]}
    need(list(rows) == ["store", "store-string", "store-wide"], list(rows))
    for row in rows.values():
        for side in row["sides"]:
            figures = side["ns"]
            need(not figures or 0 < figures["low"] <= figures["median"] <= figures["high"], side)
        need(0 < report["pace_ns"] <= row["pace_ns"], "pace")
        # This machine has no edu to compare with.
        need(row["ratio"] is None and row["reached"] is None, row)
    measured = {name: [side["what"] for side in row["sides"] if side["ns"]] for name, row in rows.items()}
    need(measured == {
        "store": ["T3, tracked, f32 add", "T3, tracked, op store", "T3, f32 add by t3_store()"],
        "store-string": ["T3, tracked, f32 add"], "store-wide": ["T3, tracked, f32 add"]}, measured)
    targets = [row["target"]["at_most"] for row in rows.values()]
    need(targets == [0.15, 0.15, 0.1], targets)


def check_bench_ordinary(status, output):
    need(status == 0, f"status {status}")
    for row in json.loads(output)["rows"]:
        need("T3, f32 add, direct-stores=off" in [side["what"] for side in row["sides"] if side["ns"]], row)


def check_bench_table(status, output):
    need(status == 0, f"status {status}")
    need(re.search(r"^4096 segments, in rising order +[\d.]+x \[[\d.]+ \.\. [\d.]+\]", output, re.M), "ratio")
    need(re.search(r"^    1 segment, as many tiles +[\d.]+ [nu]s", output, re.M), "control")


def ends(wanted, *texts):
    def check(status, output):
        need(status == wanted, f"status {status}")
        for text in texts:
            need(text in output, f"not said: {text}")
    return check


PERF = (("all-reduce", "bf16"), ("reduce-scatter", "f16"), ("all-gather", "u8"), ("all-to-all", "i32"),
        ("broadcast", "f32"))


def check_perf(status, output):
    """Sizes are whole chunks of 4 ranks."""
    need(status == 0, f"status {status}, {output}")
    report = json.loads(output)
    size = {"u8": 1, "f16": 2, "bf16": 2}.get(report["dtype"], 4)
    need([row["elements"] for row in report["rows"]] ==
         [-(-((100 << 2 * i) // size) // 4) * 4 for i in range(4)], report)
    need(all(row["right"] and row["time_ns"] and row["bytes"] == row["elements"] * size
             for row in report["rows"]), report)


def signalled(tool, name):
    """The tool alone gets the signal, and its command says by status 7 that the signal came to it."""
    return (f"rm -f /tmp/up; {tool} -- sh -c 'trap \"exit 7\" {name}; touch /tmp/up; for i in $(seq 100); do "
            f"sleep 0.1; done' & for i in $(seq 100); do [ -e /tmp/up ] && break; sleep 0.1; done; "
            f"kill -{name} $!; wait $!")


GEMM = "t3 gemm-rs --ranks 4 --shape 64x64x64 --dtype i32 --iters 2"
GUEST = [
    ("gemm-rs --tile, larger than a chunk", GEMM + " --tile 1024x9", ends(
        0, "tile 16x9 (a chunk is no larger; asked for 1024x9), write")),
    ("gemm-rs --tile", GEMM + " --tile 16x9", ends(0, "tile 16x9, write")),
    ("status", SLEEPER + "t3 status" + ENDED, check_status),
    ("status --json", SLEEPER + "t3 status --json" + ENDED, check_status_json),
    ("status -d", SLEEPER + AWAIT_RANK_2 + "t3 status -d 2" + ENDED, check_status_one),
    ("status, idle", "t3 status", check_idle),
    ("status, unprivileged", "su user -c 't3 status'", check_unprivileged),
    ("top, unprivileged", "t3 gemm-rs --shape 64x64x64 --iters 200 >/tmp/out & sleep 0.5; su user -c "
     "'t3 top --once --interval 0.1'; s=$?; wait; exit $s", ends(0, "4 devices")),
    ("top", SLEEPER + "t3 top --once --interval 0.2" + ENDED, check_top),
    ("top --json", "t3 gemm-rs --ranks 4 --shape 64x64x64 --iters 20000 --timeout 30 >/tmp/out & "
     "sleep 0.5; t3 top --json --count 3 --interval 0.3; s=$?; kill $!; wait; exit $s", check_top_json),
    *((f"perf of {name}", f"t3 launch -n 4 -- t3 perf --json --min 100 --max 20K --iters 3 --collective {name}"
       f" --dtype {dtype}", check_perf) for name, dtype in PERF),
    ("perf of algorithms", "t3 launch -n 4 -- t3 perf --max 1K --algorithm auto,ring", ends(
        0, "right   auto\n", "right   ring\n")),
    ("perf without links", "t3 launch -n 4 -- t3 perf --algorithm direct", ends(1, "no link from rank")),
    ("perf on one node", "t3 launch -n 4 -- t3 perf --algorithm hierarchical", ends(1, "several nodes")),
    ("perf of a barrier", "t3 launch -n 4 -- t3 perf --collective barrier", ends(0, "barrier of f32, 4 ranks")),
    ("gemm-rs without a switch", f"{GEMM} --algorithm switch", ends(2, "--algorithm switch needs a fabric with a switch")),
    ("perf alone", "t3 perf", ends(1, "t3 launch -n N -- t3 perf")),
    ("perf, out of time", "t3 launch -n 4 -- t3 perf --timeout 0.000001", ends(1, "in time")),
    ("stat", f"t3 stat -- {GEMM}", check_stat_table),
    ("stat --json", f"t3 stat --json -o /tmp/stat -- {GEMM} >/dev/null; cat /tmp/stat",
     check_stat),
    ("stat -d", "t3 stat -d 2 --json -o /tmp/stat -- sh -c 'exit 3'; e=$?; cat /tmp/stat; exit $e",
     check_stat_one),
    ("stat, no command", "t3 stat -- no-such-command", ends(127, "no-such-command")),
    ("stat, no program", "t3 stat -- /tmp", ends(126, "'/tmp' could not be run")),
    ("stat, killed", "t3 stat -- sh -c 'kill -9 $$'", ends(137, "status 137")),
    ("stat, SIGTERM", signalled("t3 stat", "TERM"), ends(7, "status 7", "stores")),
    ("stat, SIGHUP", signalled("t3 stat", "HUP"), ends(7, "status 7", "stores")),
    ("stat, SIGINT ignored", "t3 stat -- sh -c 'kill -INT $$; exit 4' & wait $!", ends(4, "status 4")),
    ("trace, SIGTERM", signalled("t3 trace -o /tmp/t", "TERM") + "; e=$?; grep -c traceEvents /tmp/t; exit $e",
     ends(7, "\n1")),
    ("stat, no output", "t3 stat -o /nonexistent/x -- true", ends(125, "/nonexistent/x")),
    ("stat, full output", "t3 stat -o /dev/full -- true", ends(125, "could not be written")),
    ("dump of no device", "t3 dump", ends(1, "no T3 device has left a dump")),
    ("dump of devices", SLEEPER + "cd /sys/kernel/debug/accel; for i in 1 3; do echo function "
     ">0000:0$i:00.0/reset; done; for i in $(seq 100); do "  # a worker hands them over
     "[ $(ls /sys/class/devcoredump | grep -c devcd) = 2 ] && break; sleep 0.05; done; "
     "t3 dump && echo @ && t3 dump --all --json --free; t3 dump" + ENDED,
     check_dump_of_device),
    ("reset", SLEEPER + "t3 reset --all 2>&1 | sed 's/^/refused: /'; t3 reset --all --yes; wait; "
     "grep -o FAIL /tmp/out; t3 reset --all; t3 gemm-rs --shape 64x64x64", check_reset),
    ("reset --json", "t3 reset -d 2 --json --pci", check_reset_json),
    ("reset --json, a device fails", "r=/sys/bus/pci/devices/0000:03:00.0/reset; mount --bind /dev/full $r && "
     "{ t3 reset --all --json --pci; e=$?; umount $r; exit $e; }", check_reset_part),
    ("reset, unprivileged", "su user -c 't3 reset -d 0'", check_unprivileged),
    ("inject, not allowed", "t3 inject drop rank=0 peer=1", ends(1, "guest-inject=on")),
    ("selftest", "t3 selftest", check_selftest),
    ("selftest, unprivileged", "su user -c 't3 selftest -d 3'", ends(0, "28 passed, 0 failed, 1 skipped")),
    ("list", "t3 list", check_list),
    ("info", "t3 info", ends(0, "device 0: rank 0 of 4, topology ring", "stores")),
    ("info --all", "t3 info --all", ends(0, *(f"device {i}: rank {i} of 4" for i in range(4)))),
    ("info --json", "t3 info -d 2 --json && t3 info --all --json", check_info_json),
    ("info, no such device", "t3 info -d 4", ends(1, "there is no device 4: `t3 list` shows 4")),
    ("bench", "t3 bench --json --rounds 2 --only store", check_bench),
    ("bench, table", "t3 bench --rounds 1 --only segments", check_bench_table),
    ("bench, no peers", "t3 bench --rounds 1 --only vcpus", ends(0, "edu, 2 vCPUs", "not in this machine")),
    ("bench, GEMMs", "t3 bench --rounds 2 --only gemm", ends(0, "two devices, a GEMM of 512x512x512  ")),
    ("bench, copies", "t3 bench --rounds 2 --only copy",
     ends(0, "two devices, a copy of 8 MiB  ", "two devices, an update of 8 MiB, f32  ")),
    ("bench, shares", "t3 bench --rounds 1 --only share",
     ends(0, "copies beside 1 user with copies", "stores beside 4 users with updates of 2 bytes")),
    ("bench, rounds", "t3 bench --rounds 102", ends(2, "--rounds 1 .. 101")),
    ("bench, a part", "t3 bench --only nothing", ends(2, "--only PART must be store, vcpus")),
    ("bench, unprivileged", "su user -c 't3 bench --rounds 1 --only submit'", ends(0, "an empty ioctl")),
    ("no permission", "su nobody -s /bin/sh -c 't3 top --once'", ends(1, "device 0: ", "render")),
    ("no such device", "t3 top -d 9", ends(1, "there is no device 9")),
]


# On the smallest devices that there are.
LEAST = [
    ("selftest, no room for a check", "t3 selftest",
     ends(0, "skipped  device 1: stores f32: creating a space: the device has 4 KiB of memory and 4 of aperture",
          "skipped  device 0: all-reduce of all ranks: making plans: ", "4 passed, 0 failed, 53 skipped")),
    ("gemm-rs, a refused field", "t3 gemm-rs --ranks 2 --shape 256x256x64", ends(
        1, "Invalid argument: drm_t3_bo_create.size is 262144 (0x40000); allowed: 1 to 4096")),
]


# With fault injection allowed. The job of a hung queue stays busy until the queue goes on.
INJECT = [
    ("inject --list", "t3 inject --list --json", check_inject_list),
    ("inject --list, table", "t3 inject --list", ends(0, "device 0, rank 0: faults are allowed",
                                                      "  delay          needs peer,value takes nth,count")),
    ("inject", "t3 inject 'drop rank=0 peer=1 count=2; duplicate rank=1 peer=0' && "
     "t3 gemm-rs --ranks 2 && t3 info -d 0 --json | grep injected && t3 info -d 1 --json | grep injected",
     ends(0, "PASS", '"injected": 2', '"injected": 1')),
    ("inject -d", "t3 inject -d 1 link-down peer=0 && ! t3 gemm-rs --ranks 2 --timeout 5 && "
     "t3 inject -d 1 link-up peer=0 && t3 gemm-rs --ranks 2", ends(0, "PASS", "FAIL")),
    ("status, a dead link", "t3 inject link-down rank=1 peer=0; t3 status; t3 status --json; t3 inject link-up "
     "rank=1 peer=0; t3 status; t3 status --all", check_status_link),
    ("selftest, a dead link", "t3 inject link-down rank=1 peer=0; t3 selftest --json --timeout 20; "
     "s=$?; t3 inject link-up rank=1 peer=0; exit $s", check_selftest_json),
    ("selftest, a hang", "t3 inject link-random rank=0 peer=1 nth=0; t3 inject drop rank=0 peer=1 "
     "count=100000; t3 selftest -d 0 --timeout 20; s=$?; t3 inject drop rank=0 peer=1 nth=0; exit $s",
     ends(1, "failed   device 0: updates of the next rank", "1 failed, 1 skipped")),
    ("inject, a kind", "t3 inject explode rank=0", ends(2, "'explode' is no kind", "drop, duplicate")),
    ("inject, a key", "t3 inject drop rank=0 per=1", ends(2, "drop takes no 'per'", "rank, peer, nth, count")),
    ("inject, no key", "t3 inject delay rank=0 peer=1", ends(2, "delay needs value")),
    ("inject, a number", "t3 inject drop rank=0 peer=-1", ends(2, "peer='-1' is not allowed")),
    ("inject, a pair", "t3 inject drop rank", ends(2, "must say which device")),
    ("inject, a rank", "t3 inject drop rank=32 peer=1", ends(2, "must say which device")),
    ("inject, which device", "t3 inject lose-irq", ends(2, "must say which device")),
    ("inject, no such rank", "t3 inject lose-irq rank=7", ends(2, "must say which device")),
    ("inject, refused", "t3 inject hang-queue rank=0 queue=63", ends(1, "device 0 refused: hang-queue: rank=0 has no queue=63")),
    ("inject, unprivileged", "su user -c 't3 inject lose-irq rank=0'", check_unprivileged),
    ("bench, two devices", "t3 bench --rounds 1 --only allreduce", ends(0, "not in this machine")),
]


def check_info_switch(status, output):
    need(status == 0, f"status {status}")
    ports = [device["switch"] for device in json.loads(output[output.index("["):])]
    need(len(ports) == 4 and all(port["groups"] == 0 and port["used"] == 0 for port in ports), ports)
    # An entry counts for the port whose update opened it: a port that is always late has none.
    need(all(port["merged"] + port["taken"] > 0 for port in ports), ports)
    need(sum(port["sums"] for port in ports) > 0, ports)


def check_top_switch(status, output):
    need(status == 0, f"status {status}, {output}")
    need(re.search(r"^dev  groups +used +most entries", output, re.M), output)
    need(re.search(r"^  0 +1 +\S+ +\S+ +4\.1k ", output, re.M), output)


# The sums of ranks 0 to 3 meet in the switch. Rank 2 sleeps while the others wait for its part.
SWITCH_SLEEPER = ("t3 gemm-rs --ranks 4 --iters 1 --delay-rank 2 --delay-step 0 --delay-ms 8000 >/tmp/out 2>&1 & "
                  "for i in $(seq 200); do t3 status | grep -q 'entries wait' && break; sleep 0.05; done; ")
SWITCH = [
    ("switch, list", "t3 list", ends(0, "switch")),
    ("switch, gemm-rs", f"{GEMM} --write doorbell", ends(0, "sums in the switch", "PASS")),
    ("switch, gemm-rs as a ring", f"{GEMM} --algorithm ring", ends(0, "PASS", "remote")),
    ("switch, info", f"{GEMM} >/tmp/out && t3 info --all --json", check_info_switch),
    ("switch, info in words", "t3 info", ends(0, "port of the switch", "0 of 32", "added to an entry")),
    ("switch, status", SWITCH_SLEEPER + "t3 status --all" + ENDED, ends(
        0, "of the switch: reduce of 4 members, open in epoch 1", "entries wait for members", "link to the switch: UP")),
    ("switch, top", SWITCH_SLEEPER + "t3 top --once --interval 0.2" + ENDED, check_top_switch),
    ("switch, perf", "t3 launch -n 4 -- t3 perf --max 1K --algorithm switch,direct", ends(
        0, "right   switch\n", "right   direct\n")),
]


# A second fabric: that of a single device, which is a fabric of one rank.
ALONE = ["--ranks", "4", "--qemu-arg=-device",
         "--qemu-arg=pcie-root-port,id=alone,chassis=50,slot=50,addr=0x10",
         "--qemu-arg=-device", "--qemu-arg=t3,id=t3-alone,bus=alone"]
ID = "$(t3 list --json | grep -m 1 fabric_id | cut -d '\"' -f 4)"
FABRICS = [
    ("fabric, not chosen", "t3 gemm-rs", ends(1, "several fabrics have a device of that rank", "--fabric")),
    ("fabric by index", "t3 gemm-rs --fabric 2 --shape 64x64x64 --timed --json", ends(0, '"pass": true', '"devices": 4')),
    ("fabric by number", f"t3 gemm-rs --fabric {ID} --shape 64x64x64", ends(0, "PASS")),
    ("fabric by the environment", f"T3_FABRIC={ID} t3 gemm-rs --shape 64x64x64 --timed", ends(0, "PASS", "on 4 devices")),
    ("fabric of one", "t3 gemm-rs --fabric 4 --ranks 2", ends(1, "FAIL")),
    ("fabric, no such index", "t3 gemm-rs --fabric 5", ends(1, "there is no device 5")),
    ("fabric, no such number", "t3 gemm-rs --fabric 0x123", ends(1, "there is no fabric 0x123")),
    ("fabric, no number", "t3 gemm-rs --fabric 0xg", ends(2, "--fabric must be a fabric's number")),
    ("fabric, bad environment", "T3_FABRIC=2 t3 gemm-rs", ends(2, "T3_FABRIC must be a fabric's number")),
    ("fabric, launch", f"test $(t3 launch --fabric 0 -n 1 -- sh -c 'echo $T3_FABRIC') = {ID} && echo same",
     ends(0, "same")),
    ("fabric, launch of none", "t3 launch --fabric 0x123 -n 1 -- true", ends(125, "no fabric 0x123")),
    ("fabric, launch of gemm", "t3 launch --fabric 0 -n 1 -- t3 gemm-rs --shape 64x64x64", ends(0, "PASS")),
    ("fabric, sim", "t3 sim --hidden 512 --tokens 512 --tp 4 --sublayer op --config t3 --device "
     "--every-device --fabric 3", ends(0, "4 devices")),
    ("fabric, sim of a message", "t3 sim --message 1M --tp 4 --collective all-gather --device "
     "--every-device", ends(0, "4 devices", "all-gather of 1048576 bytes")),
    ("fabric, sim of an all-to-all", "t3 sim --message 1M --tp 4 --collective all-to-all --device",
     ends(0, "1 device:")),
    ("fabric, sim of all-to-alls", "t3 sim --message 1M --tp 4 --collective all-to-all --device "
     "--every-device", ends(1, "needs a full fabric")),
    ("fabric, sim of nodes", "t3 sim --hidden 512 --tokens 512 --tp 4 --nodes 2 --sublayer op --device "
     "--every-device --fabric 0 && t3 sim --hidden 512 --tokens 512 --tp 16 --nodes 4 --sublayer op "
     "--param collective_units=8 --config shared --device", ends(0, "4 devices: 4 runs", "1 device: 2 runs")),
    ("fabric, sim of one", "t3 sim --hidden 512 --tokens 512 --tp 4 --sublayer op --config t3 --device "
     "--every-device --fabric 4", ends(1, "needs")),
    ("fabric, bench", "t3 bench --rounds 1 --only submit --fabric 4", ends(0, "an empty ioctl")),
    ("fabric, bench of two", "t3 bench --json --rounds 1 --only store --ordinary 4", check_bench_ordinary),
    ("fabric, bench of none", "t3 bench --rounds 1 --only store --ordinary x", ends(2, "--ordinary must be")),
    ("fabric, bench of one", "t3 bench --rounds 1 --only segments --fabric 4", ends(0, "not in this machine")),
    ("fabric, bench without rank 0", "d=$(t3 list --json | grep -m 1 -o '0000:[^\"]*'); cd /sys/bus/pci/drivers/t3; "
     "echo $d >unbind; t3 bench --rounds 1 --only submit --fabric 1; s=$?; t3 bench --rounds 1 --only submit "
     "--fabric 4 --ordinary 1; echo bench: $s $?; echo $d >bind",
     ends(0, "the fabric has no rank 0 in this machine", "bench: 1 1")),
    ("fabric, list", f"t3 list | grep -c \" {ID}$\"", ends(0, "4")),
    ("fabric, selftest", "t3 selftest", ends(0, " 0 failed")),
]


def fabric_tests(wanted):
    tests = [test for test in FABRICS if wanted.search(test[0])]
    if not tests:
        return
    status, batch = guest_batch("tool-fabric", ALONE, [command for _, command, _ in tests], SECONDS)
    for (name, _, check), ran in zip(tests, batch):
        yield name, check, (ran.status, ran.text)
    yield "fabric: the VM ends well", ends(0), (status, "")


def check_line(status, output):
    source = (ROOT / "tests/libt3/wrong_store.c").read_text().splitlines()
    line = 1 + next(number for number, text in enumerate(source) if "HERE" in text)
    need(status == 128 + 6, f"status {status}: {output}")  # SIGABRT
    need(f"wrong_store.c:{line}" in output and " store (" in output, output)


def debug_tests(wanted):
    """A program with debug information in the shared folder. The guest finds its lines."""
    name = "T3_DEBUG=check names the source line"
    if not wanted.search(name):
        return
    with tempfile.TemporaryDirectory() as place:
        program = pathlib.Path(place) / "wrong_store"
        built = subprocess.run(f"cc -g -o {program} {ROOT}/tests/libt3/wrong_store.c "
                               "$(pkg-config --cflags --libs libt3)", shell=True, check=False,
                               env={**os.environ, "PKG_CONFIG_PATH": str(BUILD)},
                               capture_output=True, text=True)
        need(built.returncode == 0, built.stderr)
        _, batch = guest_batch("tool-debug", ["--ranks", "1", "--share", place],
                               ["T3_DEBUG=check /mnt/host/wrong_store"], SECONDS)
        yield name, check_line, (batch[0].status, batch[0].text)


# (VM, its options, tests that share it)
VMS = [
    ("tool-inject", ["--ranks", "2", "--device-opts", "guest-inject=on"], INJECT),
    ("tool-least", ["--ranks", "2", "--device-opts", "memory-size=4K,aperture-size=4K,tracker-entries=1,"
                    "tracker-ways=1"], LEAST),
    ("tool-guest", ["--ranks", "4"], GUEST),
    ("tool-switch", ["--ranks", "4", "--topology", "switch"], SWITCH),
]


def vm_tests(wanted):
    for vm, options, tests in VMS:
        tests = [test for test in tests if wanted.search(test[0])]
        if not tests:
            continue
        status, batch = guest_batch(vm, options, [command for _, command, _ in tests], SECONDS)
        for (name, _, check), ran in zip(tests, batch):
            yield name, check, (ran.status, ran.text)
        yield f"{vm}: the VM ends well", ends(0), (status, "")


# --- TAP ---------------------------------------------------------------------

def run(number, name, check, arguments):
    try:
        check(*arguments)
    except (Failure, AssertionError, ValueError, KeyError, IndexError, subprocess.TimeoutExpired) as error:
        text = f"{type(error).__name__}: {error}".replace("\n", "\n# ")
        print(f"not ok {number} - {name.replace(' ', '_')}\n# {text}", flush=True)
        return False
    print(f"ok {number} - {name.replace(' ', '_')}", flush=True)
    return True


def main():
    wanted = re.compile(sys.argv[1] if len(sys.argv) > 1 else "")
    tests = [test for source in (usage_tests, completion_tests, dump_tests, merge_tests) for test in source()
             if wanted.search(test[0])]
    passed = [run(number, *test) for number, test in
              enumerate(itertools.chain(tests, trace_tests(wanted), fabric_tests(wanted), debug_tests(wanted),
                                        top_tests(wanted), vm_tests(wanted)), 1)]
    print(f"1..{len(passed)}")
    return 0 if all(passed) else 1


if __name__ == "__main__":
    sys.exit(main())
