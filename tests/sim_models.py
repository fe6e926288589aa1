# SPDX-License-Identifier: MIT
"""`t3 sim --config FILE`: tests of tool.py, each trap of a real config.json with a file of its own.

The files are in transformers/. Two have the published sizes of a model, and what a person counted.
"""

import json
import os
import pathlib
import pty
import re
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
T3 = pathlib.Path(os.environ.get("T3_BUILD", ROOT / ".build")) / "t3"
FILES = ROOT / "tests/transformers"
QUICK = ["--config", "sequential", "--config", "t3-mca"]
SECONDS = 300


def run(name, *options):
    command = [T3, "sim", "--config", FILES / f"{name}.json", *map(str, options)]
    return subprocess.run(command, stdin=subprocess.DEVNULL, timeout=SECONDS, capture_output=True,
                          text=True, check=False, cwd=ROOT)


def answer(name, *options):
    done = run(name, *QUICK, "--json", *options)
    assert done.returncode == 0 and not done.stderr, done
    return json.loads(done.stdout)


def gemms(found):
    """{name: (M, N, K, collective, ranks, how often in an iteration)}."""
    rows = {one["name"]: (one["m"], one["n"], one["k"], one["collective"], one["ranks"], one["count"])
            for one in found["gemms"]}
    assert len(rows) == len(found["gemms"]), "a name is there twice"
    return rows


def same(found, wanted):
    assert found == wanted, f"{found} is not {wanted}"


def notes(found, kind, text):
    assert any(text in note for note in found["semantics"][kind]), f"no '{text}' in {found['semantics']}"


# --- counted by hand ---------------------------------------------------------

def dense_model_by_hand():
    """Qwen3-32B on 8 ranks. Attention's output has K = 64 heads x 128 / 8 = 1024; the MLP's
    25600 / 8 = 3200, and twice that for gate and up in backward. QKV has (64 + 2 x 8) heads x
    128 / 8 = 1280 in backward. Each is in each of 64 layers: 256 all-reduces of 128 x 5120."""
    found = answer("sizes-qwen3-32b", "--tp", 8, "--tokens", 128)
    same(gemms(found), {"attention output": (128, 5120, 1024, "all-reduce", 8, 64),
                        "MLP down": (128, 5120, 3200, "all-reduce", 8, 64),
                        "MLP up, backward": (128, 5120, 6400, "all-reduce", 8, 64),
                        "QKV, backward": (128, 5120, 1280, "all-reduce", 8, 64)})
    same(found["layers"][0]["count"], 64)
    # Weights of a rank's layer: 5120 x (1024 + 1280 + 3 x 3200), 28 bytes each, at 1.024 bytes/ps.
    optimizer = found["layers"][0]["operators"][-1]
    same((optimizer["name"], round(optimizer["ps"])),
         ("optimizer", round(5120 * (1024 + 1280 + 9600) * 28 / 1.024)))


def operator_times(found, layer):
    """{name: ps} of the operators of a kind of layer; of those with one name, the first."""
    times = {}
    for one in found["layers"][layer]["operators"]:
        times.setdefault(one["name"], one["ps"])
    return times


def bytes_of_experts_by_hand():
    """DeepSeek-V3 on 8 ranks, its experts on 64, at 1.024 bytes/ps. A rank reads each of its 64 rows
    of 7168 once and writes it for 8 experts. Its weights, of 28 bytes for the optimizer: attention's
    output, queries by 1536, keys and values by 512 and 64 of position, the router, a slice of the
    shared expert, and 4 of 256 experts."""
    found = answer("sizes-deepseek-v3", "--tp", 8, "--ep", 64, "--tokens", 512)
    times = operator_times(found, 1)
    for name in ("copies for experts", "sum over experts", "copies for experts, backward",
                 "sum over experts, backward"):
        same((name, round(times[name])), (name, round(64 * 7168 * (1 + 8) * 2 / 1.024)))
    weights = (7168 * 128 * 128 // 8 + 1536 * (7168 + 128 * 192 // 8) + (512 + 64) * 7168
               + 512 * 128 * (128 + 128) // 8 + 7168 * 256 + 3 * 7168 * 2048 // 8 + 3 * 7168 * 2048 * 4)
    same(round(times["optimizer"]), round(weights * 28 / 1.024))
    # Without expert parallelism, a rank has an eighth of each expert, and copies all 512 rows.
    times = operator_times(answer("sizes-deepseek-v3", "--tp", 8, "--tokens", 512), 1)
    same(round(times["copies for experts"]), round(512 * 7168 * (1 + 8) * 2 / 1.024))
    weights += 3 * 7168 * 2048 * (256 // 8 - 4)
    same(round(times["optimizer"]), round(weights * 28 / 1.024))


def expert_model_by_hand():
    """DeepSeek-V3 on 8 ranks for each layer, its experts on 64. 61 layers, the first 3 dense.
    Attention's output: 128 heads x 128 / 8 = 2048. Backward sums the latent vectors' gradients:
    of queries, 1536 from 128 x (128 + 64) / 8 = 3072; of keys and values, 512 from
    128 x (128 + 128) / 8 = 4096. Dense MLP: 18432 / 8 = 2304, twice that in backward. Shared
    expert: 2048 / 8 = 256, and 512. A rank has 512 / 8 = 64 tokens, 8 copies of each: 512 rows
    that are sent to experts and back, of K = 2048, and 4096 in backward."""
    found = answer("sizes-deepseek-v3", "--tp", 8, "--ep", 64, "--tokens", 512)
    same(gemms(found), {"attention output": (512, 7168, 2048, "all-reduce", 8, 61),
                        "MLP down": (512, 7168, 2304, "all-reduce", 8, 3),
                        "MLP up, backward": (512, 7168, 4608, "all-reduce", 8, 3),
                        "query up, backward": (512, 1536, 3072, "all-reduce", 8, 61),
                        "key and value up, backward": (512, 512, 4096, "all-reduce", 8, 61),
                        "dispatch": (512, 7168, 0, "all-to-all", 64, 58),
                        "experts down": (512, 7168, 2048, "all-to-all", 64, 58),
                        "combine, backward": (512, 7168, 0, "all-to-all", 64, 58),
                        "experts up, backward": (512, 7168, 4096, "all-to-all", 64, 58),
                        "shared expert down": (512, 7168, 256, "all-reduce", 8, 58),
                        "shared expert up, backward": (512, 7168, 512, "all-reduce", 8, 58)})
    same([one["count"] for one in found["layers"]], [3, 58])
    notes(found, "left_out", "num_nextn_predict_layers: 1 layers")
    notes(found, "approximated", "quantization_config is not used")
    # Two rows of a token that decodes, and no backward.
    found = answer("sizes-deepseek-v3", "--tp", 8, "--batch", 16, "--sequence", 4096, "--phase", "decode")
    same(gemms(found), {"attention output": (16, 7168, 2048, "all-reduce", 8, 61),
                        "MLP down": (16, 7168, 2304, "all-reduce", 8, 3),
                        # (8 of the experts + the shared one) x 2048 / 8
                        "experts down": (16, 7168, 2304, "all-reduce", 8, 58)})


def routed(*lines):
    """Experts of local-experts.json on 4 ranks, with a file of tokens per expert."""
    with tempfile.NamedTemporaryFile("w", suffix=".tokens") as file:
        file.write("\n".join(lines))
        file.flush()
        return answer("local-experts", "--tp", 2, "--ep", 4, "--tokens", 1024, "--phase", "prefill",
                      "--routing", file.name)


def routing_by_hand():
    """A rank has 1024 / 2 = 512 tokens, of 2 experts each: 1024 rows. With half of all, expert 0 gets 512
    of each of 4 ranks, 2048, which is twice the mean; the others get a sixth, 170 or 171 of each rank.
    Its rank sends 3 x 512 rows of 256 elements back, and gets 3 x 512 of other ranks."""
    even, skewed = routed("1 1 1 1"), routed("# half of all", "3", "1 1 1")
    load = even["experts"]
    same([load[key] for key in ("mean_rows", "most_rows", "least_rows", "most_rows_of_expert")],
         [1024, 1024, 1024, 1024])
    load = skewed["experts"]
    same([load[key] for key in ("mean_rows", "most_rows", "fullest_rank", "most_rows_of_expert")],
         [1024, 2048, 0, 2048])
    assert 4 * 170 <= load["least_rows"] <= 4 * 171, load
    same([(run["gemm"], run["way"], run["columns"], run["depth"]) for run in load["runs"]],
         [("experts down", "combine", 256, 512), ("experts up", "dispatch", 2 * 512, 256)])
    same(load["runs"][0]["most_sent_bytes"], 3 * 512 * 256 * 2)
    same(load["runs"][1]["most_received_bytes"], 3 * 512 * 256 * 2)
    for one, other in zip(even["experts"]["runs"], load["runs"]):
        assert 1 < other["gemm_ps"] / one["gemm_ps"] < 2.2, (one, other)
        assert other["all_to_all_ps"] > one["all_to_all_ps"], (one, other)
        same(other["configs"]["sequential"]["virtual_ps"], other["gemm_ps"] + other["all_to_all_ps"])
    times = [found["iteration"]["configs"]["sequential"]["iteration_ps"] for found in (even, skewed)]
    assert times[0] < times[1], times


def routing_takes_copies_and_sums_from_t3():
    """What a layer of T3-MCA takes less than Sequential is what its GEMMs do, and copies and sums."""
    found = routed("1 1 1 1")
    layer, runs = found["layers"][0], found["experts"]["runs"]
    times = operator_times(found, 0)
    saved = times["copies for experts"] + times["sum over experts"]
    same(round(times["copies for experts"]), round(512 * 256 * (1 + 2) * 2 / 1.024))
    output = next(work for work in found["workloads"] if work["sublayer"] == "attention output")["configs"]
    saved += output["sequential"]["virtual_ps"] - output["t3-mca"]["virtual_ps"]
    for run in runs:
        configs = run["configs"]
        saved += configs["sequential"]["virtual_ps"] - max(
            configs["t3-mca"]["virtual_ps"], run["gemm_ps"] if run["way"] == "dispatch" else 0)
    same(round(layer["layer_ps"]["sequential"] - layer["layer_ps"]["t3-mca"]), round(saved))


def routing_is_drawn_by_its_seed():
    texts = [run("local-experts", "--tp", 2, "--ep", 4, "--tokens", 256, "--routing", "skewed=1.5", *QUICK,
                 "--seed", seed, "--json").stdout for seed in (1, 1, 2)]
    same(texts[0], texts[1])
    assert "most_rows" in texts[0] and texts[0].replace('"seed": 1', '"seed": 2') != texts[2], texts[0]


# --- traps -------------------------------------------------------------------

def heads_are_not_hidden():
    """8 heads of 64 are 512, and hidden is 360."""
    rows = gemms(answer("head-dim", "--tp", 4, "--tokens", 128))
    same(rows["attention output"], (128, 360, 128, "all-reduce", 4, 4))
    same(rows["QKV, backward"], (128, 360, 384, "all-reduce", 4, 4))


def few_kv_heads_are_copied():
    """2 key heads on 4 ranks: each rank has one, beside its 2 of 8 query heads of 32."""
    found = answer("few-kv-heads", "--tp", 4, "--tokens", 128)
    same(gemms(found)["QKV, backward"], (128, 256, (2 + 2) * 32, "all-reduce", 4, 4))
    notes(found, "exact", "num_key_value_heads 2 is less than --tp 4: 2 ranks have a copy")
    same(gemms(answer("few-kv-heads", "--tp", 2, "--tokens", 128))["QKV, backward"][2], (4 + 2) * 32)


def experts_have_several_names():
    """2 of 4 experts of 512, 4 of 16 of 512, and 4 of 16 of 96, sliced over 4 ranks."""
    rows = gemms(answer("local-experts", "--tp", 4, "--tokens", 128))
    same(rows["experts down"], (128, 256, 2 * 512 // 4, "all-reduce", 4, 4))
    same(rows["experts up, backward"], (128, 256, 2 * 2 * 512 // 4, "all-reduce", 4, 4))
    rows = gemms(answer("experts-per-token", "--tp", 4, "--tokens", 128))
    same(rows["experts down"], (128, 256, 4 * 512 // 4, "all-reduce", 4, 4))
    # Every second layer from the second, which is dense, has experts: one of 4.
    rows = gemms(answer("some-experts", "--tp", 4, "--tokens", 128))
    same(rows["experts down"], (128, 256, 4 * 96 // 4, "all-reduce", 4, 1))
    same(rows["MLP down"], (128, 256, 512 // 4, "all-reduce", 4, 3))


def first_layers_are_dense():
    """Of layers 2 to 5 those that 2 divides, 2 and 4, have 2 of 8 experts and 2 shared ones of 128."""
    rows = gemms(answer("shared-experts", "--tp", 2, "--tokens", 128))
    same(rows["experts down"], (128, 256, (2 + 2) * 128 // 2, "all-reduce", 2, 2))
    same(rows["MLP down"], (128, 256, 256, "all-reduce", 2, 4))


def latent_attention_is_read():
    rows = gemms(answer("latent", "--tp", 4, "--tokens", 128))
    same(rows["attention output"], (128, 256, 8 * 48 // 4, "all-reduce", 4, 4))
    same(rows["query up, backward"], (128, 192, 8 * 48 // 4, "all-reduce", 4, 4))
    same(rows["key and value up, backward"], (128, 64, 8 * (32 + 48) // 4, "all-reduce", 4, 4))
    rows = gemms(answer("latent-without-query", "--tp", 4, "--tokens", 128))
    same(rows["query, backward"], (128, 256, 8 * 48 // 4, "all-reduce", 4, 4))


def text_model_is_nested():
    found = answer("nested", "--tp", 2, "--tokens", 128)
    same(gemms(found)["MLP down"], (128, 256, 256, "all-reduce", 2, 4))
    notes(found, "left_out", "vision_config is not read: only text_config is modelled")


def sizes_need_not_divide():
    """126 layers; 2884 / 16 is 180.25, so each rank has 181."""
    found = answer("odd-sizes", "--tp", 16, "--tokens", 128)
    same(gemms(found)["MLP down"], (128, 2880, 181, "all-reduce", 16, 126))
    notes(found, "approximated", "intermediate_size 2884 is no multiple of --tp 16: each rank has 181")


def windows_alternate():
    """The attention of a sliding layer takes less; its GEMMs are those of the other."""
    found = answer("sliding", "--tp", 2, "--tokens", 2048)
    same([(one["kind"], one["count"]) for one in found["layers"]],
         [("full attention, experts", 2), ("sliding attention, experts", 2)])
    full, sliding = (sum(op["ps"] for op in one["operators"] if op["kind"] == "attention")
                     for one in found["layers"])
    assert sliding < full, (sliding, full)
    same(gemms(found)["attention output"][5], 4)


def side_by_side_has_one_all_reduce():
    """8 heads of 32 and 512 columns of the MLP on 4 ranks: K is 64 + 128 after both, and 3 x 64 + 128
    before them."""
    found = answer("side-by-side", "--tp", 4, "--tokens", 128)
    same(gemms(found), {"attention output and MLP down": (128, 256, 64 + 128, "all-reduce", 4, 4),
                        "QKV and MLP up, backward": (128, 256, 3 * 64 + 128, "all-reduce", 4, 4)})
    notes(found, "approximated", "attention and MLP are side by side")
    same(found["model"]["side_by_side"], True)


def chunks_and_shared_experts_have_no_field():
    """Llama 4's: heads of 128, one of 16 experts of 512 in every second layer, beside a shared one. Three
    of four layers attend to a chunk."""
    found = answer("chunks", "--tp", 4, "--tokens", 256)
    same(gemms(found), {"attention output": (256, 256, 8 * 128 // 4, "all-reduce", 4, 4),
                        "MLP down": (256, 256, 1024 // 4, "all-reduce", 4, 2),
                        "MLP up, backward": (256, 256, 2 * 1024 // 4, "all-reduce", 4, 2),
                        "QKV, backward": (256, 256, 3 * 8 * 128 // 4, "all-reduce", 4, 4),
                        "experts down": (256, 256, (512 + 512) // 4, "all-reduce", 4, 2),
                        "experts up, backward": (256, 256, 2 * (512 + 512) // 4, "all-reduce", 4, 2)})
    same([one["count"] for one in found["layers"]], [2, 1, 1])
    notes(found, "exact", "head_dim is missing: 128, as model_type llama4_text has it")


def old_names_and_plain_mlp():
    """GPT-2: 4 x 256, no gate, and 4 bytes an element."""
    found = answer("plain-mlp", "--tp", 2, "--tokens", 128)
    rows = gemms(found)
    same(rows["MLP down"], (128, 256, 512, "all-reduce", 2, 3))
    same(rows["MLP up, backward"], (128, 256, 512, "all-reduce", 2, 3))
    same((found["model"]["element_bytes"], found["model"]["gated"]), (4, False))
    notes(found, "exact", "n_inner is missing: 4 x n_embd")


REFUSED = [
    ("no-intermediate", "", "no-intermediate.json: intermediate_size is missing"),
    ("hybrid", "", "layer_types[0] is 'linear_attention' and must be full_attention,"),
    ("state-space", "", "mamba_d_state is set: layers are state spaces"),
    ("unknown-type", "", "model_type is 'of_next_year', which this does not know"),
    ("head-dim", "--ep 4", "--ep is 4, and the file has no experts"),
    ("local-experts", "--ep 8", "--ep is 8 and must divide the experts, 4"),
    ("few-kv-heads", "--k 7", "a config.json excludes"),
    ("few-kv-heads", "--config alone", "a model takes no --config alone"),
    ("few-kv-heads", "--config x.json", "--config takes one config.json"),
    ("few-kv-heads", "--phase decode", "--phase decode needs --sequence"),
    ("few-kv-heads", "--sequence 100", "--tokens must be --sequence x --batch"),
    ("few-kv-heads", "--batch 3", "--tokens must be --sequence x --batch"),
    ("few-kv-heads", "--batch 256", "--tokens must be --sequence x --batch"),
    ("few-kv-heads", "--phase x", "--phase takes training, prefill or decode"),
    ("few-kv-heads", "--attention x", "--attention takes fused or separate"),
    ("few-kv-heads", "--mlp x", "--mlp takes gated or plain"),
    ("few-kv-heads", "--ep 0", "--ep takes a number from 1"),
    ("local-experts", "--routing uniform", "--routing needs experts on several ranks"),
    ("local-experts", "--ep 4 --routing even", "--routing takes uniform, skewed=S"),
    ("local-experts", "--ep 4 --routing skewed=5", "--routing takes uniform, skewed=S"),
    ("local-experts", "--ep 4 --routing ./none.txt", "./none.txt cannot be opened: No such file"),
    ("local-experts", "--ep 4 --routing uniform --routing uniform", "--routing is given twice"),
    ("local-experts", "--ep 4 --routing uniform --seed x", "--seed takes a number"),
    ("local-experts", "--ep 4 --seed 3", "--seed is that of a draw"),
    ("sizes-deepseek-v3", "--ep 128 --routing uniform --param cache_kib=1048576", "--routing: --ep 128: "
     "cache_kib is too large: over 2097152 lines of request_bytes on 128 devices"),
    ("sizes-deepseek-v3", "--ep 256 --routing uniform --param link_latency_ns=1000", "--routing: --ep 256: "
     "link_latency_ns is too large: over 33554432 messages in flight between 256 devices"),
    ("nothing", "", "nothing.json cannot be opened: No such file"),
]


def refused(name, options, why):
    done = run(name, "--tp", 4, "--tokens", 128, *options.split())
    assert (done.returncode, done.stdout) == (2, "") and why in done.stderr, done


def unknown_type_is_read_by_its_fields():
    found = answer("unknown-type", "--tp", 4, "--tokens", 128, "--mlp", "plain")
    same(gemms(found)["MLP up, backward"][2], 128)
    notes(found, "approximated", "model_type 'of_next_year' is not known")


# --- figures -----------------------------------------------------------------

def layers_and_iteration_add_up():
    found = answer("some-experts", "--tp", 4, "--tokens", 256)
    for config, got in found["iteration"]["configs"].items():
        whole = sum(one["count"] * one["layer_ps"][config] for one in found["layers"])
        assert abs(whole - got["iteration_ps"]) < 1, (config, whole, got)
    same(list(found["iteration"]["configs"]), ["sequential", "t3-mca"])
    assert found["iteration"]["configs"]["t3-mca"]["speedup"] > 1, found["iteration"]
    assert abs(sum(found["iteration"]["shares"].values()) - 1) < 1e-9, found["iteration"]
    works = {work["sublayer"]: work for work in found["workloads"]}
    for one in found["gemms"]:
        work = works[one["workload"]]
        same((one["m"], one["n"], one["k"]), (work["rows"], work["columns"], work["depth"]))


def equal_inputs_give_equal_output():
    texts = {run("sliding", "--tp", 2, "--tokens", 128, *options).stdout
             for options in ([], []) for _ in range(2)}
    assert len(texts) == 1 and "approximated" in texts.pop(), "the text differs"
    texts = {run("sliding", "--tp", 2, "--tokens", 128, "--json").stdout for _ in range(2)}
    assert len(texts) == 1 and "cpu_seconds" not in texts.pop(), "the JSON differs"


def all_configurations_without_a_gap():
    """A configuration that an all-to-all does not have runs as T3-MCA there."""
    done = run("local-experts", "--tp", 2, "--ep", 4, "--tokens", 128, "--json")
    assert done.returncode == 0, done
    found = json.loads(done.stdout)
    same(list(found["iteration"]["configs"]),
         ["sequential", "ideal", "ideal-nmc", "t3", "t3-mca", "t3-mca-ag", "direct"])
    for got in found["iteration"]["configs"].values():
        assert got["iteration_ps"] > 0, found["iteration"]
    done = run("local-experts", "--tp", 1, "--ep", 4, "--tokens", 128, *QUICK, "--json")
    same({one["collective"] for one in json.loads(done.stdout)["gemms"]}, {"all-to-all"})


def any_gemm_by_its_k():
    words = "sim --m 256 --n 320 --k 1000 --tp 4 --json --config sequential".split()
    done = subprocess.run([T3, *words], capture_output=True, text=True, timeout=SECONDS, check=False)
    work = json.loads(done.stdout)["workloads"][0]
    same([work[key] for key in ("sublayer", "tokens", "hidden", "k", "rows", "columns", "depth")],
         ["gemm", 256, 320, 1000, 256, 320, 250])
    with tempfile.NamedTemporaryFile("w", suffix=".model") as model:
        model.write("[m]\nhidden = 320\ntokens = 256\ntp = 4\nk = 1000\n")
        model.flush()
        words = ["sim", "--model", model.name, "--json", "--config", "sequential"]
        done = subprocess.run([T3, *words], capture_output=True, text=True, timeout=SECONDS, check=False)
    works = json.loads(done.stdout)["workloads"]
    same(([work["depth"] for work in works], works[0]["configs"]), ([250], work["configs"]))


def bounds_are_told():
    """With a slow part, each phase that uses it is bound by it; a default that binds is told."""
    gemm = "sim --m 1024 --n 1024 --k 8192 --tp 4 --json --config sequential --config t3"

    def phases(*params):
        words = [*gemm.split(), *(word for one in params for word in ("--param", one))]
        done = subprocess.run([T3, *words], capture_output=True, text=True, timeout=SECONDS, check=False)
        found = json.loads(done.stdout)
        configs = found["workloads"][0]["configs"]
        for config in configs.values():
            for phase in config["phases"].values():
                assert all(0 <= busy <= 1.001 for busy in phase["busy"].values()), phase
        return {name: config["phases"]["gemm"]["bound"] for name, config in configs.items()}, \
            configs["sequential"]["phases"]["reduce_scatter"]["bound"], found["warnings"]

    same(phases("clock_mhz=100")[0], {"sequential": "compute", "t3": "compute"})
    same(phases("cache_gbps=100")[0], {"sequential": "cache", "t3": "cache"})
    same(phases("memory_gbps=20")[0]["sequential"], "DRAM")
    same(phases("link_gbps=1")[1], "link")
    same(phases()[2], [])
    warnings = phases("clock_mhz=100000")[2]
    assert any("the cache bounds it" in one and "cache_gbps = 2867" in one for one in warnings), warnings
    assert not any("cache_gbps" in one for one in phases("clock_mhz=100000", "cache_gbps=2867")[2])


def on_a_terminal(*words):
    """(standard output, what a terminal got as standard error) of t3 sim."""
    ours, theirs = pty.openpty()
    got = b""
    with tempfile.TemporaryFile() as output:
        with subprocess.Popen([T3, "sim", *words], stdin=subprocess.DEVNULL, stdout=output,
                              stderr=theirs) as process:
            os.close(theirs)
            try:
                while more := os.read(ours, 4096):
                    got += more
            except OSError:  # the other end is closed
                pass
        os.close(ours)
        same(process.returncode, 0)
        output.seek(0)
        return output.read().decode(), got.decode()


def long_runs_show_how_far_they_are():
    """A terminal gets a line of a run of over a million events, which is gone at the end. Its output is
    that of a run without one. A shorter run has no line."""
    words = "--m 8192 --n 8192 --k 32768 --tp 4 --config sequential".split()
    quiet = subprocess.run([T3, "sim", *words], capture_output=True, text=True, timeout=SECONDS, check=True)
    text, shown = on_a_terminal(*words)
    same((text, quiet.stderr), (quiet.stdout, ""))
    lines = shown.split("\r\x1b[K")
    assert len(lines) > 2 and lines[0] == lines[-1] == "", lines
    for line in lines[1:-1]:
        assert re.fullmatch(r"t3 sim: 1 of 1, gemm, sequential: (\d+ % of 4096 tiles|[\d.]+ million events)",
                            line), lines
    assert "%" in lines[1], lines
    same(on_a_terminal("--m", "512", "--n", "512", "--k", "512", "--tp", "4")[1], "")


def page_needs_its_program():
    """An installed t3 has no tools/paper. Nothing is simulated, and nothing is written."""
    with tempfile.TemporaryDirectory() as folder:
        page = pathlib.Path(folder) / "page.html"
        words = [T3, "sim", "--config", FILES / "few-kv-heads.json", "--tp", "4", "--tokens", "128", "--html", page]
        done = subprocess.run(words, capture_output=True, text=True, timeout=SECONDS, check=False,
                              env={**os.environ, "T3_PAPER": folder})
        same((done.returncode, done.stdout, page.exists()), (1, "", False))
        assert "--html needs paper_model.py of T3's sources: set T3_PAPER" in done.stderr, done
    done = subprocess.run([T3, *"sim --m 64 --n 64 --k 64 --tp 2 --html page.html".split()], capture_output=True,
                          text=True, timeout=SECONDS, check=False)
    assert done.returncode == 2 and "--html need a model by --config FILE" in done.stderr, done


def machine_files_are_completed():
    """Each says what it derives; a parameter of the command line stays."""
    gemm = "sim --m 1024 --n 1024 --k 8192 --tp 8 --json --config t3-mca --param link_queue_kib=300"
    for path in sorted((ROOT / "tools/paper/machines").glob("*.machine")):
        done = subprocess.run([T3, *gemm.split(), "--machine", path], capture_output=True, text=True,
                              timeout=SECONDS, check=False)
        assert done.returncode == 0, done
        found = json.loads(done.stdout)
        values = {one["name"]: one["value"] for one in found["parameters"]}
        store = 90 * values["clock_mhz"] / 1400
        same((values["unit_store_gbps"], values["collective_units"]),
             (int(store + 0.5), values["compute_units"]))
        same(values["link_queue_kib"], 300)
        notes(found, "approximated", f"unit_store_gbps = {values['unit_store_gbps']} was not given")
        assert not any("link_queue_kib" in note for note in found["semantics"]["approximated"]), found
    done = subprocess.run([T3, *gemm.split(), "--machine", "/nonexistent"], capture_output=True, text=True,
                          timeout=SECONDS, check=False)
    assert done.returncode == 2 and "/nonexistent: it cannot be opened" in done.stderr, done


def page_has_what_machines_give():
    """The table of tools/paper/models.md, as it falls."""
    page = (ROOT / "tools/paper/models.md").read_text()
    folder = ROOT / "tools/paper/machines"

    def row(start):
        return next(line for line in page.splitlines() if line.startswith(f"| {start}")).split("|")

    for name in ("all-gather", "reduce-scatter"):
        words = [T3, "sim", "--machine", folder / "mi355x.machine", "--message", "1G", "--tp", "8",
                 "--collective", name, "--json"]
        done = subprocess.run(words, capture_output=True, text=True, timeout=SECONDS, check=False)
        alone = json.loads(done.stdout)["workloads"][0]["configs"]["alone"]
        for tool in ("RCCL", "copy engines"):
            cells = row(f"MI355X x 8, {name} of 1 GiB by {tool}")
            same(cells[3].strip(), f"{alone['bus_gbps']:.0f} GB/s")
            published = float(cells[2].split()[0])
            if cells[4].strip():
                same(cells[4].strip(), f"{100 * (alone['bus_gbps'] / published - 1):.0f} %")
    words = [T3, "sim", "--machine", folder / "h200.machine", "--m", "8192", "--n", "8192", "--k", "65536",
             "--tp", "8", "--config", "sequential", "--json"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=SECONDS, check=False)
    took = json.loads(done.stdout)["workloads"][0]["phases"]["gemm_ps"]
    same(row("H100, GEMM of 8192 cubed")[3].strip(), f"{2 * 8192 ** 3 / took:.0f} TFLOP/s")
    for start, config, params in (
            ("MI355X x 8, GEMM of 16384 cubed beside its reduce-scatter by copy engines", "ideal", ()),
            ("MI355X x 8, the same by RCCL, if it takes 32 units", "shared", ("--param", "collective_units=32")),
            ("MI355X x 8, the same by RCCL, if it takes 64 units", "shared", ("--param", "collective_units=64"))):
        words = [T3, "sim", "--machine", folder / "mi355x.machine", "--m", "16384", "--n", "16384", "--k",
                 str(8 * 16384), "--tp", "8", "--collective", "reduce-scatter", "--config", config, "--json", *params]
        done = subprocess.run(words, capture_output=True, text=True, timeout=SECONDS, check=False)
        gain = json.loads(done.stdout)["workloads"][0]["configs"][config]["speedup"]
        published = float(row(start)[2].split()[0])
        same([cell.strip() for cell in row(start)[3:5]],
             [f"{gain:.2f} times", f"{100 * (gain / published - 1):.0f} %"])


def page_has_what_assumptions_give():
    """The table of OP at TP 16 in tools/paper/models.md, and what bounds its phases."""
    page = (ROOT / "tools/paper/models.md").read_text()
    update, conflict = ("--param", "update_percent=100"), ("--param", "row_conflict_ns=0")
    rows = {"as fitted": (), "`update_percent` 100": update, "`row_conflict_ns` 0": conflict,
            "both": update + conflict}
    for start, params in rows.items():
        works = []
        for hidden, tokens in ((3072, 16384), (4256, 8192)):
            words = [T3, "sim", "--hidden", str(hidden), "--tokens", str(tokens), "--tp", "16",
                     "--sublayer", "op", "--json", *QUICK, "--config", "t3", "--config", "ideal", *params]
            done = subprocess.run(words, capture_output=True, text=True, timeout=SECONDS, check=False)
            works.append(json.loads(done.stdout)["workloads"][0]["configs"])
        cells = [" / ".join(f"{one[config]['speedup']:.3f}" for one in works)
                 for config in ("t3", "t3-mca", "ideal")]
        assert f"| {start} | {' | '.join(cells)} |" in page, (start, cells)
        if not params:
            same({one["sequential"]["phases"]["reduce_scatter"]["bound"] for one in works}, {"link"})
            same({one["t3-mca"]["phases"]["gemm"]["bound"] for one in works}, {"DRAM"})


TESTS = [page_has_what_machines_give, page_has_what_assumptions_give, machine_files_are_completed,
         dense_model_by_hand, expert_model_by_hand, bytes_of_experts_by_hand,
         heads_are_not_hidden, few_kv_heads_are_copied,
         experts_have_several_names, first_layers_are_dense, latent_attention_is_read,
         text_model_is_nested, sizes_need_not_divide, windows_alternate,
         side_by_side_has_one_all_reduce, chunks_and_shared_experts_have_no_field, old_names_and_plain_mlp,
         unknown_type_is_read_by_its_fields, layers_and_iteration_add_up,
         equal_inputs_give_equal_output, all_configurations_without_a_gap, any_gemm_by_its_k,
         bounds_are_told, routing_by_hand, routing_takes_copies_and_sums_from_t3,
         routing_is_drawn_by_its_seed, long_runs_show_how_far_they_are,
         page_needs_its_program]


def tests():
    """(name, function, its arguments)"""
    for test in TESTS:
        yield f"sim of a model: {test.__name__.replace('_', ' ')}", test, ()
    for name, options, why in REFUSED:
        yield f"sim of a model: {name} {options}: refused", refused, (name, options, why)
