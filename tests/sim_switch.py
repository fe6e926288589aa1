# SPDX-License-Identifier: MIT
"""`t3 sim --config switch --config t3-switch`: tests of tool.py."""

import json

import sim_models
from sim_models import notes, same
from sim_steps import t3

BOTH = ["--config", "switch", "--config", "t3-switch"]
SUBLAYER = ["--hidden", 1024, "--tokens", 2048, "--tp", 8, "--sublayer", "op"]


def answer(*options):
    done = t3(*SUBLAYER, "--json", *options)
    assert done.returncode == 0 and not done.stderr, done
    return json.loads(done.stdout)


def a_sublayer_has_rows_and_ports():
    """An output of 2048 x 1024 x 2 bytes: it goes up once and comes down once."""
    found = answer(*BOTH)
    configs = found["workloads"][0]["configs"]
    same(list(configs), ["switch", "t3-switch"])
    for name, config in configs.items():
        port, output = config["switch"], 2048 * 1024 * 2
        same(port["up_update_bytes"] + port["up_multicast_bytes"], output)
        same(port["down_sum_bytes"] + port["down_gathered_bytes"], output)
        same((port["unreduced_updates"], port["updates"]), (0, 7 * port["sums"]))
        same(config["counters"]["link_bytes"], output)
        assert config["speedup"] > 1, (name, config["speedup"])
    notes(found, "exact", "each port of a switch")
    notes(found, "approximated", "at that device's port")
    notes(found, "left_out", "of a switch: bounds of its queues")


def no_run_without_a_switch_tells_of_one():
    found = answer("--config", "t3-mca")
    assert "switch" not in json.dumps(found), "a switch is told of"
    same(len(found["parameters"]), 45)
    assert "switch" not in answer()["workloads"][0]["configs"], "it runs unasked"


def few_entries_are_told_of():
    done = t3(*SUBLAYER, "--config", "t3-switch", "--param", "switch_entries=1")
    assert done.returncode == 0 and " of 1 entries; " in done.stdout, done
    found = answer("--config", "t3-switch", "--param", "switch_entries=1")
    config = found["workloads"][0]["configs"]["t3-switch"]
    assert config["switch"]["unreduced_updates"] > 0, config
    same({one["name"]: one["value"] for one in found["parameters"]}["switch_entries"], 1)


def a_model_has_an_iteration():
    done = sim_models.run("some-experts", "--tp", 4, "--tokens", 256, *BOTH, "--json")
    assert done.returncode == 0, done
    found = json.loads(done.stdout)
    configs = found["iteration"]["configs"]
    same(list(configs), ["sequential", "switch", "t3-switch"])
    assert min(configs["t3-switch"]["speedup"], configs["switch"]["speedup"]) > 1, configs


def an_all_to_all_is_that_of_links():
    """Each expert is on one rank, so that the ranks exchange rows."""
    options = ["--tp", 1, "--ep", 4, "--tokens", 128, "--json", "--config", "t3-mca"]
    done = sim_models.run("local-experts", *options, *BOTH)
    assert done.returncode == 0, done
    found = json.loads(done.stdout)
    configs = found["iteration"]["configs"]
    same(configs["switch"], configs["sequential"])
    same(configs["t3-switch"], configs["t3-mca"])
    notes(found, "approximated", "an all-to-all takes as long by a switch as by links")


REFUSED = [
    ([*SUBLAYER, "--nodes", 2], "takes one node, because its switch stays in a node"),
    ([*SUBLAYER, "--collective", "all-to-all"], "all-reduce, reduce-scatter and all-gather only"),
    ([*SUBLAYER, "--param", "switch_entries=0"], "must be 1 to 65536"),
    (["--config", sim_models.FILES / "local-experts.json", "--tp", 2, "--ep", 4, "--tokens", 128,
      "--routing", "uniform"], "--routing takes no --config switch and t3-switch"),
]


def refused(config, options, why):
    done = t3(*options, "--config", config)
    assert done.returncode == 2 and why in done.stderr and not done.stdout, done


TESTS = [a_sublayer_has_rows_and_ports, no_run_without_a_switch_tells_of_one, few_entries_are_told_of,
         a_model_has_an_iteration, an_all_to_all_is_that_of_links]


def tests():
    """(name, function, its arguments)"""
    for test in TESTS:
        yield f"sim of a switch: {test.__name__.replace('_', ' ')}", test, ()
    for config in ("switch", "t3-switch"):
        for options, why in REFUSED:
            yield f"sim of a switch: {config}: {why}", refused, (config, options, why)
