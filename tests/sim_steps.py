# SPDX-License-Identifier: MIT
"""`t3 sim --workload FILE`: tests of tool.py. The step is made here, so that its sums are known."""

import json
import os
import pathlib
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
T3 = pathlib.Path(os.environ.get("T3_BUILD", ROOT / ".build")) / "t3"
SECONDS = 300
HEAD = {"format": "t3-workload", "version": 1, "by": "a test", "rank": 0, "ranks": 4, "notes": []}
PRODUCT = {"m": 256, "n": 320, "k": 96, "batch": 1, "dtype": "bfloat16"}
SUM = {"name": "matmul_all_reduce", "bytes": 256 * 320 * 2, "ranks": 4, "dtype": "bfloat16"}
GRADIENTS = {"name": "all_reduce", "bytes": 1 << 20, "ranks": 8, "dtype": "float32"}
STEP = [
    {"pass": "forward", "count": 3, "gemm": PRODUCT},
    {"pass": "forward", "count": 2, "gemm": PRODUCT, "collective": SUM, "summed": "while made"},
    {"pass": "backward", "count": 5, "gemm": PRODUCT, "collective": SUM, "summed": "while made"},
    {"pass": "backward", "count": 1, "collective": GRADIENTS},
    {"pass": "forward", "count": 2, "gemm": {**PRODUCT, "batch": 7}},
    {"pass": "optimizer", "count": 4, "memory": {"name": "aten.add_", "bytes": 1024}},
    {"pass": "forward", "count": 6, "collective": {**GRADIENTS, "name": "broadcast"}},
]


def t3(*words):
    return subprocess.run([T3, "sim", *map(str, words)], stdin=subprocess.DEVNULL, timeout=SECONDS,
                          capture_output=True, text=True, check=False, cwd=ROOT)


def run(operations, *options, **head):
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump({**HEAD, **head, "operations": operations}, file)
        file.flush()
        return t3("--workload", file.name, *options)


def answer(operations, *options):
    done = run(operations, "--json", *options)
    assert done.returncode == 0 and not done.stderr, done
    return json.loads(done.stdout)


def other(*words):
    done = t3(*words, "--json")
    assert done.returncode == 0, done
    return json.loads(done.stdout)["workloads"][0]["configs"]


def same(found, wanted):
    assert found == wanted, f"{found} is not {wanted}"


def operations_take_what_their_workloads_take():
    """K of all ranks is 4 x 96. The product alone is the GEMM phase of one of as many operations."""
    found = answer(STEP)["step"]["operations"]
    gemm = "--m", 256, "--n", 320, "--dtype", "bf16"
    alone = other(*gemm, "--k", 2 * 96, "--tp", 2, "--config", "sequential")
    same(found[0]["ps"]["t3"], 3 * alone["sequential"]["phases"]["gemm"]["end_ps"])
    summed = other(*gemm, "--k", 4 * 96, "--tp", 4)
    for config in ("sequential", "t3", "t3-mca"):
        same(found[1]["ps"][config], 2 * summed[config]["virtual_ps"])
        same(found[2]["ps"][config], 5 * summed[config]["virtual_ps"])
    gradients = other("--message", "1M", "--tp", 8, "--dtype", "f32")["alone"]["virtual_ps"]
    same(found[3]["ps"], {"sequential": gradients, "t3": gradients, "t3-mca": gradients})
    # 1024 bytes at 1.024 bytes/ps, four times
    same(round(found[5]["ps"]["t3"]), 4000)
    same([one["kind"] for one in found], ["other GEMM", "GEMM and collective", "GEMM and collective",
                                          "collective alone", "attention", "memory-bound"])


def step_is_the_sum_of_its_passes_and_operations():
    found = answer(STEP)["step"]
    for config, got in found["configs"].items():
        whole = sum(one["ps"][config] for one in found["operations"])
        assert abs(whole - got["step_ps"]) < 1, (config, whole, got)
        for name, times in found["passes_ps"].items():
            part = sum(one["ps"][config] for one in found["operations"] if one["pass"] == name)
            assert abs(part - times[config]) < 1, (name, config)
    same(list(found["configs"]), ["sequential", "t3", "t3-mca"])
    assert found["configs"]["t3-mca"]["speedup"] > 1, found["configs"]
    assert abs(sum(found["shares"].values()) - 1) < 1e-9, found["shares"]


def all_configurations_are_there_when_they_are_asked_for():
    found = answer(STEP, "--config", "all")["step"]["configs"]
    same(list(found), ["sequential", "ideal", "ideal-nmc", "t3", "t3-mca", "t3-mca-ag", "direct"])
    assert all(one["step_ps"] > 0 for one in found.values()), found
    same(list(answer(STEP, "--config", "direct")["step"]["configs"]), ["sequential", "direct"])


def reduce_scatters_and_other_collectives_run():
    """Of each kind one that is summed and one that is alone; small messages, too."""
    names = ("reduce_scatter_tensor", "all_gather", "all_to_all_single", "gather", "reduce")
    step = [{"pass": "forward", "count": 1, "collective": {**GRADIENTS, "name": name, "bytes": size}}
            for name in names for size in (1, 100, 1 << 20)]
    step.append({"pass": "forward", "count": 1, "gemm": PRODUCT, "summed": "afterwards",
                 "collective": {**SUM, "name": "reduce_scatter_tensor"}})
    found = answer(step)
    assert all(time > 0 for one in found["step"]["operations"] for time in one["ps"].values()), found
    same(found["workloads"][0]["collective"], "reduce-scatter")
    assert any("1 products were made before they were summed" in note
               for note in found["semantics"]["approximated"]), found["semantics"]


def text_has_the_step_and_what_it_left_out():
    done = run(STEP, "--param", "link_gbps=100")
    assert done.returncode == 0 and not done.stderr, done
    for part in (": a step of rank 0 of 4, recorded by a test\n",
                 "product 2                    256 x 320 x 96  all-reduce         4       7\n",
                 "step product 2: 256 x 320 x 96 on each of 4 ranks", "\n  forward      ",
                 "\n  optimizer    ", "\n  speed-up                                    1.000 ",
                 "broadcast: 6 in a step"):
        assert part in done.stdout, (part, done.stdout)
    lines = {line.split()[0]: line.split()[1:] for line in done.stdout.splitlines() if line.strip()}
    same((lines["ms"], lines["step"][0]), (["calls", "sequential", "t3", "t3-mca"], "17"))


def equal_files_give_equal_output():
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump({**HEAD, "operations": STEP}, file)
        file.flush()
        for option in ((), ("--json",)):
            same(len({t3("--workload", file.name, *option).stdout for _ in range(2)}), 1)


def wrong_steps_are_refused():
    for operations, options, why in (
            ([{**STEP[0], "count": 0}], (), "operations[0].count is 0 and must be a whole number"),
            (STEP, ("--tp", 4), "--workload excludes a config.json, --model"),
            (STEP, ("--config", "x.json"), "--workload excludes a config.json"),
            (STEP, ("--dtype", "f16"), "--workload excludes a config.json"),
            (STEP, ("--config", "alone"), "--workload takes no --config alone"),
            (STEP, ("--workload", "x"), "--workload is given twice"),
            (STEP, ("--phase", "prefill"), "need a model by --config FILE"),
            ([{**STEP[3], "collective": {**GRADIENTS, "bytes": 1 << 40}}], (),
             "all_reduce of 1099511627776 bytes: ")):
        done = run(operations, *options)
        assert (done.returncode, done.stdout if options else "") == (2, "") and why in done.stderr, done
    done = t3("--workload", "/nonexistent.json")
    assert done.returncode == 2 and "/nonexistent.json cannot be opened: No such file" in done.stderr, done


def tests():
    """(name, function, its arguments)"""
    for test in (operations_take_what_their_workloads_take,
                 step_is_the_sum_of_its_passes_and_operations,
                 all_configurations_are_there_when_they_are_asked_for,
                 reduce_scatters_and_other_collectives_run, text_has_the_step_and_what_it_left_out,
                 equal_files_give_equal_output, wrong_steps_are_refused):
        yield f"sim of a step: {test.__name__.replace('_', ' ')}", test, ()
