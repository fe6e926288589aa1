/* SPDX-License-Identifier: MIT */
/* config.json of models: hostile ones are refused by the field's name, and iterations add up. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "sim/iteration.h"
#include "test.h"

#define LLAMA                                                                           \
	"\"model_type\": \"llama\", \"hidden_size\": 4096, \"num_hidden_layers\": 32, " \
	"\"num_attention_heads\": 32, \"num_key_value_heads\": 8, \"intermediate_size\": 14336"
#define QWEN_MOE                                                                         \
	"\"model_type\": \"qwen3_moe\", \"hidden_size\": 64, \"num_hidden_layers\": 4, " \
	"\"num_attention_heads\": 4, \"num_key_value_heads\": 4, \"num_experts\": 8, "   \
	"\"num_experts_per_tok\": 2, \"moe_intermediate_size\": 32, \"intermediate_size\": 128"

static bool read_bytes(const char *text, size_t size, struct sim_transformer *t, char *why)
{
	FILE *file = tmpfile();
	bool good;

	assert_non_null(file);
	assert_int_equal(fwrite(text, 1, size, file), size);
	rewind(file);
	good = sim_transformer_read(file, SIM_MLP_BY_TYPE, t, why);
	fclose(file);
	return good;
}

static void read_good(const char *text, struct sim_transformer *t)
{
	char why[SIM_WHY_SIZE] = "";

	if (!read_bytes(text, strlen(text), t, why))
		fail_msg("%s", why);
}

static bool has_note(const struct sim_transformer *t, const char *key, const char *text)
{
	json_t *note;
	size_t i;

	json_array_foreach(json_object_get(t->notes, key), i,
			   note) if (strstr(json_string_value(note), text)) return true;
	return false;
}

/* ----------------------------------------------------------------------- files */

TEST("a config.json is read, and what it does not say is noted")
{
	struct sim_transformer t;

	read_good("\xef\xbb\xbf{" LLAMA ", \"torch_dtype\": \"bfloat16\", \"new_field\": 3}", &t);
	assert_int_equal(t.hidden, 4096);
	assert_int_equal(t.key_dim, 128);
	assert_int_equal(t.kv_heads, 8);
	assert_int_equal(t.intermediate, 14336);
	assert_int_equal(t.element_bytes, 2);
	assert_int_equal(t.count[0], 32);
	assert_true(t.gated);
	assert_true(
		has_note(&t, "exact", "head_dim is missing: hidden_size / num_attention_heads"));
	assert_true(has_note(&t, "left_out", "field new_field is not read"));
	assert_false(has_note(&t, "left_out", "torch_dtype"));
	sim_transformer_free(&t);
}

TEST("hostile config.json files are refused by the field's name")
{
	static const struct {
		const char *text, *why;
	} bad[] = {
		{ "", "it is no JSON: line 1" },
		{ "[]", "it is no JSON object" },
		{ "{\"hidden_size\": 1, \"hidden_size\": 2}",
		  "duplicate object key near '\"hidden_size\"'" },
		{ "{\"model_type\": \"llama\", \"hidden_size\": 99999999999999999999}",
		  "in field hidden_size: too big integer" },
		{ "{\"model_type\": \"llama\", \"hidden_size\": 1e999}",
		  "in field hidden_size: real number overflow" },
		{ "{\"hidden_size\": }", "line 1 in field hidden_size" },
		{ "{}", "model_type is missing" },
		{ "{\"model_type\": 3}", "model_type is missing, or no string" },
		{ "{\"model_type\": \"warp\\u001b\"}",
		  "model_type is 'warp\\x1b', which this does not" },
		{ "{\"model_type\": \"llama\"}", "hidden_size is missing" },
		{ "{\"model_type\": \"llama\", \"hidden_size\": null}", "hidden_size is missing" },
		{ "{\"model_type\": \"llama\", \"hidden_size\": \"4096\"}",
		  "hidden_size is \"4096\" and must be a whole number from 1 to 16777216" },
		{ "{\"model_type\": \"llama\", \"hidden_size\": 4096.5}", "hidden_size is 4096.5" },
		{ "{\"model_type\": \"llama\", \"hidden_size\": -1}",
		  "hidden_size is -1 and must" },
		{ "{\"model_type\": \"llama\", \"hidden_size\": 9223372036854775807}",
		  "hidden_size is 9223372036854775807 and must" },
		{ "{\"model_type\": \"llama\", \"hidden_size\": [[[[1]]]]}",
		  "hidden_size is [[[[1]]]] and must" },
		{ "{\"model_type\": \"llama\", \"hidden_size\": 64}",
		  "num_hidden_layers is missing" },
		{ "{" LLAMA ", \"head_dim\": 0}", "head_dim is 0 and must" },
		{ "{" LLAMA ", \"n_layer\": 31}", "num_hidden_layers and n_layer differ" },
		{ "{" LLAMA ", \"layer_types\": [\"full_attention\"]}",
		  "layer_types must be a list of num_hidden_layers, 32, names" },
		{ "{" LLAMA ", \"sliding_window\": 128}",
		  "sliding_window is 128, and no layer_types" },
		{ "{" LLAMA ", \"use_sliding_window\": 1}",
		  "use_sliding_window is 1 and must be true" },
		{ "{" LLAMA ", \"use_parallel_residual\": 1}",
		  "use_parallel_residual is 1 and must" },
		{ "{" LLAMA ", \"attn_layer_period\": 8}",
		  "attn_layer_period is set: some layers are no" },
		{ "{" LLAMA ", \"num_local_experts\": 8}", "num_experts_per_tok is missing" },
		{ "{" LLAMA ", \"num_local_experts\": 8, \"num_experts_per_tok\": 9}",
		  "num_experts_per_tok is 9, and there are 8 experts" },
		{ "{" LLAMA ", \"num_local_experts\": 8, \"num_experts_per_tok\": 2}",
		  "moe_intermediate_size is missing, and there are 8 experts" },
		{ "{" LLAMA ", \"num_local_experts\": 8, \"num_experts\": 4}",
		  "num_local_experts and num_experts differ" },
		{ "{" LLAMA ", \"kv_lora_rank\": 512}", "qk_nope_head_dim is missing" },
		{ "{" QWEN_MOE ", \"mlp_only_layers\": [4]}",
		  "mlp_only_layers is 4 and must be a whole "
		  "number from 0 to 3" },
		{ "{" QWEN_MOE ", \"mlp_only_layers\": {}}",
		  "mlp_only_layers is {} and must be a list" },
		{ "{" QWEN_MOE ", \"moe_layer_freq\": [1]}",
		  "moe_layer_freq must be a number, or a list" },
		{ "{" QWEN_MOE ", \"moe_layer_freq\": 0}", "moe_layer_freq is 0 and must" },
		{ "{" QWEN_MOE ", \"decoder_sparse_step\": 0}",
		  "decoder_sparse_step is 0 and must" },
		{ "{\"text_config\": []}", "text_config is [] and must be an object" },
		{ "{\"text_config\": {\"model_type\": \"mixtral\"}}",
		  "text_config.hidden_size is missing" },
		{ "{\"model_type\": \"llama\", \"hidden_size\": 64, \"num_hidden_layers\": 1, "
		  "\"num_attention_heads\": 4}",
		  "intermediate_size is missing, and there are no experts" },
		{ "{\"model_type\": \"llama\", \"hidden_size\": 65, \"num_hidden_layers\": 1, "
		  "\"num_attention_heads\": 4}",
		  "head_dim is missing, and num_attention_heads 4 does not" },
		{ "{\"model_type\": \"llama\", \"hidden_size\": 64, \"num_hidden_layers\": 1, "
		  "\"num_attention_heads\": 4, \"num_key_value_heads\": 3}",
		  "num_key_value_heads is 3 and must divide num_attention_heads, 4" },
	};
	struct sim_transformer t;
	char why[SIM_WHY_SIZE];
	size_t i;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_false(read_bytes(bad[i].text, strlen(bad[i].text), &t, why));
		assert_null(t.notes);
		if (!strstr(why, bad[i].why))
			fail_msg("'%s' does not say '%s'", why, bad[i].why);
	}
}

TEST("files that nest deeply or are long are refused")
{
	static char text[(1 << 22) + 2];
	struct sim_transformer t;
	char why[SIM_WHY_SIZE];

	memset(text, '[', sizeof(text));
	memcpy(text, "{\"layer_types\": ", 16);
	assert_false(read_bytes(text, 100000, &t, why));
	assert_non_null(strstr(why, "in field layer_types: maximum parsing depth reached"));
	assert_false(read_bytes(text, sizeof(text), &t, why));
	assert_string_equal(why, "it is longer than 4194304 bytes");
}

/* ----------------------------------------------------------------------- layers */

TEST("layers have the kinds that fields say")
{
	struct sim_transformer t;

	read_good("{" QWEN_MOE ", \"mlp_only_layers\": [3]}", &t);
	assert_int_equal(t.count[SIM_LAYER_EXPERTS], 3);
	assert_int_equal(t.count[0], 1);
	sim_transformer_free(&t);
	read_good("{" QWEN_MOE ", \"decoder_sparse_step\": 2}", &t);
	assert_int_equal(t.count[SIM_LAYER_EXPERTS], 2);
	sim_transformer_free(&t);
	read_good("{" QWEN_MOE ", \"first_k_dense_replace\": 1, \"moe_layer_freq\": 2}", &t);
	assert_int_equal(t.count[SIM_LAYER_EXPERTS], 1); /* layer 2 */
	sim_transformer_free(&t);
	read_good("{" QWEN_MOE ", \"moe_layer_freq\": [0, 1, 1, 0]}", &t);
	assert_int_equal(t.count[SIM_LAYER_EXPERTS], 2);
	sim_transformer_free(&t);
	read_good("{" QWEN_MOE ", \"sliding_window\": 32, \"use_sliding_window\": true, "
		  "\"max_window_layers\": 1}",
		  &t);
	assert_int_equal(t.count[SIM_LAYER_EXPERTS | SIM_LAYER_SLIDING], 3);
	sim_transformer_free(&t);
	read_good("{" QWEN_MOE ", \"sliding_window\": 32, \"use_sliding_window\": false}", &t);
	assert_int_equal(t.count[SIM_LAYER_EXPERTS], 4);
	sim_transformer_free(&t);
	/* Of 8 layers, the last of a pattern of 6 attends to all: layer 5. */
	read_good("{\"model_type\": \"gemma3_text\", \"hidden_size\": 64, "
		  "\"num_hidden_layers\": 8, \"num_attention_heads\": 4, "
		  "\"intermediate_size\": 128, \"sliding_window\": 32}",
		  &t);
	assert_int_equal(t.count[SIM_LAYER_SLIDING], 7);
	assert_int_equal(t.count[0], 1);
	sim_transformer_free(&t);
}

TEST("a size of one shared expert counts for each of them")
{
	struct sim_transformer t;

	read_good("{" QWEN_MOE ", \"shared_expert_intermediate_size\": 48}", &t);
	assert_int_equal(t.shared_size, 48);
	sim_transformer_free(&t);
	read_good("{" QWEN_MOE ", \"shared_expert_intermediate_size\": 48, "
		  "\"num_shared_experts\": 3}",
		  &t);
	assert_int_equal(t.shared_size, 3 * 48);
	sim_transformer_free(&t);
}

TEST("a text model's element type comes before that of the model around it")
{
	struct sim_transformer t;

	read_good("{\"torch_dtype\": \"float32\", \"text_config\": {" LLAMA
		  ", \"torch_dtype\": \"bfloat16\"}}",
		  &t);
	assert_int_equal(t.element_bytes, 2);
	sim_transformer_free(&t);
	read_good("{\"torch_dtype\": \"float32\", \"text_config\": {" LLAMA "}}", &t);
	assert_int_equal(t.element_bytes, 4);
	sim_transformer_free(&t);
}

TEST("a file with multi-query attention has one key head")
{
	static const char text[] =
		"{\"model_type\": \"gpt_bigcode\", \"n_embd\": 64, \"n_layer\": 2, "
		"\"n_head\": 4, \"multi_query\": true}";
	struct sim_transformer t;

	read_good(text, &t);
	assert_int_equal(t.heads, 4);
	assert_int_equal(t.kv_heads, 1);
	sim_transformer_free(&t);
}

/* ------------------------------------------------------------------- iterations */

/* A plain MLP of 4 x hidden, with dropout, as the paper's models have. */
static struct sim_transformer hand(void)
{
	return (struct sim_transformer){ .type = "hand",
					 .hidden = 4,
					 .layers = 3,
					 .heads = 2,
					 .kv_heads = 2,
					 .key_dim = 2,
					 .value_dim = 2,
					 .intermediate = 16,
					 .dropout = true,
					 .count = { 3 } };
}

/* The GEMMs of one rank: K is 2 for the attention's output, 8 for the MLP, 6 for QKV. */
static void hand_costs(const struct sim_iteration *it, struct sim_cost *costs)
{
	static const struct {
		uint64_t k;
		struct sim_cost cost;
	} given[] = {
		{ 2, { 10, { 0 }, { [SIM_SEQUENTIAL] = 100, [SIM_T3] = 90, [SIM_T3_MCA] = 80 } } },
		{ 8,
		  { 40, { 0 }, { [SIM_SEQUENTIAL] = 200, [SIM_T3] = 160, [SIM_T3_MCA] = 150 } } },
		{ 6,
		  { 30, { 0 }, { [SIM_SEQUENTIAL] = 150, [SIM_T3] = 130, [SIM_T3_MCA] = 120 } } },
	};
	uint32_t i, k;

	assert_int_equal(it->gemms, 3);
	for (i = 0; i < it->gemms; i++)
		for (k = 0; k < 3; k++)
			if (it->gemm[i].k == given[k].k)
				costs[i] = given[k].cost;
}

static double hand_time(enum sim_phase phase, bool fused, double flops, enum sim_config config)
{
	const struct sim_setting setting = { phase, 2, 1, 2, 1, 2, fused, false };
	const struct sim_machine_rate rate = { flops, 1 };
	struct sim_transformer t = hand();
	struct sim_cost costs[SIM_MAX_GEMMS] = { 0 };
	static struct sim_iteration it;
	char why[SIM_WHY_SIZE];

	assert_true(sim_iteration_build(&t, &setting, &it, why));
	assert_int_equal(it.layers, 1);
	hand_costs(&it, costs);
	return sim_layer_time(&it.layer[0], costs, &rate, config);
}

/*
 * On a machine that moves a byte in a picosecond. Layer norms 64, softmax 16, residuals 96,
 * activation 64; scores and context 24 each. Backward: memory 348, GEMMs 170, sub-layers 350,
 * attention 96, and 96 weights of 28 bytes.
 */
TEST("an iteration is what a hand computes")
{
	const double forward = 240 + 48 + 300 + 70;

	assert_true(hand_time(SIM_PREFILL, false, 1, SIM_SEQUENTIAL) == forward);
	assert_true(hand_time(SIM_PREFILL, false, 1, SIM_T3_MCA) == forward - 70);
	assert_true(hand_time(SIM_PREFILL, false, 1, SIM_T3) == forward - 50);
	assert_true(hand_time(SIM_PREFILL, true, 1, SIM_SEQUENTIAL) == forward - 16 - 48 + 32);
	/* Slower arithmetic: scores and context take 16 operations each. */
	assert_true(hand_time(SIM_PREFILL, false, 0.5, SIM_SEQUENTIAL) == forward - 48 + 64);
	assert_true(hand_time(SIM_TRAINING, false, 1, SIM_SEQUENTIAL) ==
		    forward + 36 + 348 + 170 + 350 + 96 + 2688);
}

TEST("each GEMM has two gradients")
{
	const struct sim_setting setting = { SIM_TRAINING, 2, 1, 2, 1, 2, false, false };
	struct sim_transformer t = hand();
	static struct sim_iteration it;
	char why[SIM_WHY_SIZE];
	uint32_t i;

	assert_true(sim_iteration_build(&t, &setting, &it, why));
	for (i = 0; i < it.gemms; i++) {
		/* The MLP's two have one shape. */
		uint64_t twins = it.gemm[i].k == 8 ? 2 : 1, sum;

		sum = sim_gemm_count(&it, i, SIM_PLAIN, false) +
		      sim_gemm_count(&it, i, SIM_PLAIN, true) +
		      sim_gemm_count(&it, i, SIM_REDUCED, false) +
		      sim_gemm_count(&it, i, SIM_REDUCED, true);
		assert_int_equal(sum, 3 * 3 * twins);
		sum = sim_gemm_count(&it, i, SIM_REDUCED, false) +
		      sim_gemm_count(&it, i, SIM_REDUCED, true);
		assert_int_equal(sum, 3 * twins);
	}
}

TEST("a machine's rates are those of its parameters")
{
	struct t3_timed_params params;
	struct sim_machine_rate rate;

	t3_timed_params_default(&params);
	rate = sim_machine_rate(&params, 2);
	assert_true(fabs(rate.flops - 103.2192) < 1e-9);
	assert_true(rate.bytes == 1.024);
	assert_true(fabs(sim_machine_rate(&params, 4).flops - 51.6096) < 1e-9);
}

/* A decoding step attends to what is cached, in a window to its end only. */
TEST("a decoding step has a row for each sequence")
{
	const struct sim_setting setting = { SIM_DECODE, 2, 1, 1000, 16, 2, true, false };
	struct sim_transformer t;
	static struct sim_iteration it;
	char why[SIM_WHY_SIZE];
	const struct sim_operator *op;
	double bytes[2];
	uint32_t i, k;

	read_good("{\"model_type\": \"mistral\", \"hidden_size\": 64, \"num_hidden_layers\": 2, "
		  "\"num_attention_heads\": 4, \"num_key_value_heads\": 2, \"head_dim\": 16, "
		  "\"intermediate_size\": 128, \"sliding_window\": 100, \"layer_types\": "
		  "[\"full_attention\", \"sliding_attention\"]}",
		  &t);
	assert_true(sim_iteration_build(&t, &setting, &it, why));
	assert_int_equal(it.layers, 2);
	assert_int_equal(it.gemm[0].m, 16);
	for (i = 0; i < 2; i++)
		for (k = 0; k < it.layer[i].operators; k++) {
			op = &it.layer[i].op[k];
			if (op->kind == SIM_ATTENTION)
				bytes[i] = op->bytes;
		}
	/* Queries and contexts 16 x 32 each; keys and values of 1000 or 100 tokens, one head. */
	assert_true(bytes[0] == 2 * (2 * 16 * 32 + 2 * 16 * 1000 * 16));
	assert_true(bytes[1] == 2 * (2 * 16 * 32 + 2 * 16 * 100 * 16));
	sim_transformer_free(&t);
}

TEST("settings that do not fit the model are refused")
{
	static const struct {
		struct sim_setting setting;
		const char *why;
	} bad[] = {
		{ { SIM_TRAINING, 1, 1, 8, 1, 2, true, false },
		  "--tp is 1: no GEMM ends in a collective" },
		{ { SIM_TRAINING, 3, 1, 8, 1, 2, true, false },
		  "num_attention_heads is 4, which --tp 3" },
		{ { SIM_TRAINING, 513, 1, 8, 1, 2, true, false }, "at most 512" },
		{ { SIM_TRAINING, 2, 3, 8, 1, 2, true, false },
		  "--ep is 3 and must be 1 or a multiple of --tp" },
		{ { SIM_TRAINING, 2, 16, 8, 1, 2, true, false },
		  "--ep is 16 and must divide the experts, 8" },
		{ { SIM_TRAINING, 2, 1, 0, 1, 2, true, false },
		  "--sequence 0 x --batch 1 is too much" },
		{ { SIM_TRAINING, 2, 1, 1u << 24, 2, 2, true, false },
		  "is too much: at most 16777216" },
		{ { SIM_TRAINING, 2, 1, ~0ull, ~0ull, 2, true, false }, "is too much" },
	};
	struct sim_transformer t;
	static struct sim_iteration it;
	char why[SIM_WHY_SIZE] = "";
	size_t i;

	read_good("{" QWEN_MOE "}", &t);
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_false(sim_iteration_build(&t, &bad[i].setting, &it, why));
		if (!strstr(why, bad[i].why))
			fail_msg("'%s' does not say '%s'", why, bad[i].why);
	}
	sim_transformer_free(&t);
	read_good("{" LLAMA "}", &t);
	assert_false(sim_iteration_build(&t, &bad[4].setting, &it, why));
	assert_non_null(strstr(why, "--ep is 16, and the file has no experts"));
	sim_transformer_free(&t);
}
