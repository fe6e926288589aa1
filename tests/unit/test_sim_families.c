/* SPDX-License-Identifier: MIT */
/* Families of models: what their config.json leaves out, or says in words of its own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "sim/iteration.h"
#include "test.h"

enum { TOKENS = 16, TP = 2, TEXT = 512 };

/* 4 layers of 8 heads of 16, 2 of them of keys: on 2 ranks K of the attention's output is 64. */
#define SIZES                                                                         \
	"\"hidden_size\": 96, \"num_hidden_layers\": 4, \"num_attention_heads\": 8, " \
	"\"num_key_value_heads\": 2, \"head_dim\": 16, \"intermediate_size\": 200"

static bool read_text(const char *text, enum sim_mlp mlp, struct sim_transformer *t, char *why)
{
	FILE *file = fmemopen((char *)text, strlen(text), "r");
	bool good;

	assert_non_null(file);
	good = sim_transformer_read(file, mlp, t, why);
	fclose(file);
	return good;
}

/* "N x K, how often" of each GEMM of an iteration that ends in a collective. */
static void describe(struct sim_transformer *t, char *text)
{
	const struct sim_setting setting = { SIM_TRAINING, TP, 1, TOKENS, 1, 2, true, false };
	static struct sim_iteration it;
	char why[SIM_WHY_SIZE] = "";
	uint32_t i;
	int used = 0;

	if (!sim_iteration_build(t, &setting, &it, why))
		fail_msg("%s", why);
	for (i = 0; i < it.gemms; i++) {
		const struct sim_gemm *g = &it.gemm[i];

		if (g->reduced)
			used += snprintf(
				text + used, TEXT - (size_t)used, "%s%s %llu x %llu, %llu",
				used ? "; " : "", g->name, (unsigned long long)g->n,
				(unsigned long long)g->k,
				(unsigned long long)(sim_gemm_count(&it, i, SIM_REDUCED, false) +
						     sim_gemm_count(&it, i, SIM_REDUCED, true)));
	}
	used += snprintf(text + used, TEXT - (size_t)used, "; layers");
	for (i = 0; i < SIM_LAYER_KINDS; i++)
		used += snprintf(text + used, TEXT - (size_t)used, " %llu",
				 (unsigned long long)t->count[i]);
}

struct family_file {
	const char *text, *wanted;
	enum sim_mlp mlp;
	const char *note; /* NULL: of none */
};

static bool has_note(const struct sim_transformer *t, const char *text)
{
	json_t *kind, *note;
	const char *key;
	size_t i;

	json_object_foreach(t->notes, key, kind) json_array_foreach(
		kind, i, note) if (strstr(json_string_value(note), text)) return true;
	return false;
}

static void check_files(const struct family_file *files, size_t count)
{
	char text[TEXT], why[SIM_WHY_SIZE];
	struct sim_transformer t;
	size_t i;

	for (i = 0; i < count; i++) {
		if (!read_text(files[i].text, files[i].mlp, &t, why))
			fail_msg("%s\n%s", files[i].text, why);
		describe(&t, text);
		if (strcmp(text, files[i].wanted))
			fail_msg("%s\ngives %s\nand not %s", files[i].text, text, files[i].wanted);
		if (files[i].note && !has_note(&t, files[i].note))
			fail_msg("%s has no note '%s'", files[i].text, files[i].note);
		sim_transformer_free(&t);
	}
}

#define CHECK_FILES(files) check_files(files, sizeof(files) / sizeof((files)[0]))

/* Attention and MLP side by side: K is 64 + 100 after them, (8 + 2 x 2) x 16 / 2 + 100 before. */
#define BESIDE \
	"QKV and MLP up 96 x 196, 4; attention output and MLP down 96 x 164, 4; layers 4 0 0 0"
/* One after the other: 64 and 100, and as many columns as rows. */
#define PLAIN_AFTER \
	"attention output 96 x 64, 4; MLP down 96 x 100, 8; QKV 96 x 96, 4; layers 4 0 0 0"

TEST("attention and MLP side by side end in one all-reduce")
{
	static const struct family_file files[] = {
		{ "{\"model_type\": \"phi\", " SIZES "}", BESIDE, SIM_MLP_BY_TYPE,
		  "attention and MLP are side by side" },
		{ "{\"model_type\": \"gpt_neox\", " SIZES "}", BESIDE, SIM_MLP_BY_TYPE, NULL },
		{ "{\"model_type\": \"gpt_neox\", \"use_parallel_residual\": false, " SIZES "}",
		  PLAIN_AFTER, SIM_MLP_BY_TYPE, NULL },
		{ "{\"model_type\": \"new\", \"use_parallel_residual\": true, " SIZES "}", BESIDE,
		  SIM_MLP_PLAIN, NULL },
		{ "{\"model_type\": \"new\", " SIZES "}", PLAIN_AFTER, SIM_MLP_PLAIN, NULL },
		/* A gate has 100 columns more. */
		{ "{\"model_type\": \"cohere\", " SIZES "}",
		  "QKV and MLP up 96 x 296, 4; attention output and MLP down 96 x 164, 4; "
		  "layers 4 0 0 0",
		  SIM_MLP_BY_TYPE, NULL },
		/* Of 4 layers the last one attends to all. */
		{ "{\"model_type\": \"cohere2\", \"sliding_window\": 8, " SIZES "}",
		  "QKV and MLP up 96 x 296, 4; attention output and MLP down 96 x 164, 4; "
		  "layers 1 3 0 0",
		  SIM_MLP_BY_TYPE, NULL },
	};

	CHECK_FILES(files);
}

/* 4 x 96 = 384 columns, 192 on a rank. */
TEST("keys of Falcon are groups in its newer decoder, and one head in the older one")
{
#define FALCON                                                                        \
	"\"model_type\": \"falcon\", \"hidden_size\": 96, \"num_hidden_layers\": 4, " \
	"\"num_attention_heads\": 8, \"num_kv_heads\": 4, \"multi_query\": true"
	static const struct family_file files[] = {
		{ "{" FALCON ", \"new_decoder_architecture\": true, \"parallel_attn\": false}",
		  "QKV and MLP up 96 x 288, 4; attention output and MLP down 96 x 240, 4; "
		  "layers 4 0 0 0",
		  SIM_MLP_BY_TYPE, NULL },
		/* One key head, which both ranks have: 8 x 12 / 2 + 2 x 12. */
		{ "{" FALCON ", \"new_decoder_architecture\": false, \"parallel_attn\": true}",
		  "QKV and MLP up 96 x 264, 4; attention output and MLP down 96 x 240, 4; "
		  "layers 4 0 0 0",
		  SIM_MLP_BY_TYPE, NULL },
		{ "{" FALCON ", \"parallel_attn\": false}",
		  "attention output 96 x 48, 4; MLP down 96 x 192, 8; QKV 96 x 72, 4; "
		  "layers 4 0 0 0",
		  SIM_MLP_BY_TYPE, NULL },
	};

	CHECK_FILES(files);
}

/*
 * intermediate_size 200 is that of an expert, and each token has a shared one: (200 + 200) / 2. The
 * dense MLP has 600.
 */
TEST("layers of Llama 4 have experts, chunks and sizes by fields of their own")
{
#define LLAMA4                                                         \
	"\"model_type\": \"llama4_text\", \"num_local_experts\": 4, "  \
	"\"num_experts_per_tok\": 1, \"intermediate_size_mlp\": 600, " \
	"\"attention_chunk_size\": 8, " SIZES
#define EVERY_SECOND                                                              \
	"attention output 96 x 64, 4; MLP down 96 x 300, 2; MLP up 96 x 600, 2; " \
	"QKV 96 x 96, 4; experts down 96 x 200, 2; experts up 96 x 400, 2; layers "
	static const struct family_file files[] = {
		/* Layers 1 and 3 have experts; layer 3 attends to all. */
		{ "{" LLAMA4 ", \"interleave_moe_layer_step\": 2}", EVERY_SECOND "0 2 1 1",
		  SIM_MLP_BY_TYPE, "attention_chunk_size 8" },
		{ "{" LLAMA4 ", \"moe_layers\": [0, 3], \"no_rope_layers\": [1, 0, 1, 0]}",
		  EVERY_SECOND "1 1 1 1", SIM_MLP_BY_TYPE, NULL },
		{ "{" LLAMA4 ", \"interleave_moe_layer_step\": 2, \"layer_types\": "
		  "[\"chunked_attention\", \"chunked_attention\", \"chunked_attention\", "
		  "\"full_attention\"]}",
		  EVERY_SECOND "0 2 1 1", SIM_MLP_BY_TYPE, NULL },
	};

	CHECK_FILES(files);
}

/* Of 8 experts of 40 two, and two shared ones: 160 / 2. */
TEST("experts have the names that ERNIE and Hunyuan give them")
{
#define EXPERTS                                                                   \
	"attention output 96 x 64, 4; MLP down 96 x 100, 2; MLP up 96 x 200, 2; " \
	"QKV 96 x 96, 4; experts down 96 x 80, 2; experts up 96 x 160, 2; layers 2 0 2 0"
	static const struct family_file files[] = {
		{ "{\"model_type\": \"ernie4_5_moe\", \"moe_num_experts\": 8, \"moe_k\": 2, "
		  "\"moe_intermediate_size\": 40, \"moe_num_shared_experts\": 2, "
		  "\"moe_layer_start_index\": 1, \"moe_layer_end_index\": 2, "
		  "\"moe_layer_interval\": 1, " SIZES "}",
		  EXPERTS, SIM_MLP_BY_TYPE, NULL },
		{ "{\"model_type\": \"ernie4_5_moe\", \"moe_num_experts\": 8, \"moe_k\": 2, "
		  "\"moe_intermediate_size\": 40, \"moe_num_shared_experts\": 2, "
		  "\"moe_layer_start_index\": 0, \"moe_layer_end_index\": -1, "
		  "\"moe_layer_interval\": 2, " SIZES "}",
		  EXPERTS, SIM_MLP_BY_TYPE, NULL },
		{ "{\"model_type\": \"afmoe\", \"num_experts\": 8, \"num_experts_per_tok\": 2, "
		  "\"moe_intermediate_size\": 40, \"num_shared_experts\": 2, "
		  "\"num_dense_layers\": 2, " SIZES "}",
		  EXPERTS, SIM_MLP_GATED, NULL },
		{ "{\"model_type\": \"hunyuan_v1_moe\", \"num_experts\": 8, "
		  "\"moe_topk\": [2, 2, 2, 2], \"moe_intermediate_size\": [40, 40, 40, 40], "
		  "\"num_shared_expert\": [2, 2, 2, 2], \"first_k_dense_replace\": 2, " SIZES "}",
		  EXPERTS, SIM_MLP_GATED, NULL },
	};

	CHECK_FILES(files);
}

#define GATED_AFTER                                                                        \
	"attention output 96 x 64, 4; MLP down 96 x 100, 4; MLP up 96 x 200, 4; QKV 96 x " \
	"96, 4; layers "

TEST("fields that deny what their names say refuse nothing")
{
	static const struct family_file files[] = {
		/* All layers are softmax attention. */
		{ "{\"model_type\": \"minimax_m2\", \"attn_type_list\": [1, 1, 1, 1], "
		  "\"num_local_experts\": 8, \"num_experts_per_tok\": 2, " SIZES "}",
		  "attention output 96 x 64, 4; experts down 96 x 200, 4; experts up 96 x 400, 4; "
		  "QKV 96 x 96, 4; layers 0 0 4 0",
		  SIM_MLP_BY_TYPE, NULL },
		/* The words of a state space are there, and no layer is one. The MLP is the shared. */
		{ "{\"model_type\": \"granitemoehybrid\", \"mamba_d_state\": 128, "
		  "\"num_local_experts\": 0, \"shared_intermediate_size\": 300, \"layer_types\": "
		  "[\"attention\", \"attention\", \"attention\", \"attention\"], " SIZES "}",
		  "attention output 96 x 64, 4; MLP down 96 x 150, 4; MLP up 96 x 300, 4; "
		  "QKV 96 x 96, 4; layers 4 0 0 0",
		  SIM_MLP_BY_TYPE, NULL },
		/* The pattern is in letters, and the list is there, too. */
		{ "{\"model_type\": \"exaone4\", \"sliding_window\": 8, "
		  "\"sliding_window_pattern\": \"LLLG\", \"layer_types\": [\"sliding_attention\", "
		  "\"sliding_attention\", \"sliding_attention\", \"full_attention\"], " SIZES "}",
		  GATED_AFTER "1 3 0 0", SIM_MLP_BY_TYPE, NULL },
	};

	CHECK_FILES(files);
}

/* 2 groups of keys; without the word there would be as many as heads. */
TEST("keys of ChatGLM are groups under a name of its own")
{
	static const struct family_file files[] = {
		{ "{\"model_type\": \"chatglm\", \"hidden_size\": 96, \"num_layers\": 4, "
		  "\"num_attention_heads\": 8, \"kv_channels\": 16, \"ffn_hidden_size\": 200, "
		  "\"multi_query_attention\": true, \"multi_query_group_num\": 2}",
		  GATED_AFTER "4 0 0 0", SIM_MLP_BY_TYPE, NULL },
		{ "{\"model_type\": \"chatglm\", \"hidden_size\": 96, \"num_layers\": 4, "
		  "\"num_attention_heads\": 8, \"kv_channels\": 16, \"ffn_hidden_size\": 200, "
		  "\"multi_query_attention\": false, \"multi_query_group_num\": 2}",
		  "attention output 96 x 64, 4; MLP down 96 x 100, 4; MLP up 96 x 200, 4; "
		  "QKV 96 x 192, 4; layers 4 0 0 0",
		  SIM_MLP_BY_TYPE, NULL },
	};

	CHECK_FILES(files);
}

/* Gemma's: 8 heads of 256, 4 of keys; of 6 layers the last one attends to all. */
TEST("a nested config may leave out what its type has, and a note says so")
{
	static const struct family_file files[] = {
		{ "{\"model_type\": \"gemma3\", \"text_config\": {\"model_type\": \"gemma3_text\", "
		  "\"hidden_size\": 96, \"intermediate_size\": 200, \"num_hidden_layers\": 6, "
		  "\"sliding_window\": 8}}",
		  "attention output 96 x 1024, 6; MLP down 96 x 100, 6; MLP up 96 x 200, 6; "
		  "QKV 96 x 2048, 6; layers 1 5 0 0",
		  SIM_MLP_BY_TYPE, "num_attention_heads is missing: 8, as model_type gemma3_text" },
		{ "{\"model_type\": \"llava\", \"text_config\": {\"model_type\": \"llama\"}}",
		  "attention output 4096 x 2048, 32; MLP down 4096 x 5504, 32; MLP up 4096 x "
		  "11008, "
		  "32; QKV 4096 x 6144, 32; layers 32 0 0 0",
		  SIM_MLP_BY_TYPE, "hidden_size is missing: 4096, as model_type llama has it" },
		/* A window that is null is none; one that is missing is that of the model_type. */
		{ "{\"model_type\": \"mistral\", \"sliding_window\": null, " SIZES "}",
		  GATED_AFTER "4 0 0 0", SIM_MLP_BY_TYPE, NULL },
		{ "{\"model_type\": \"mistral\", " SIZES "}", GATED_AFTER "0 4 0 0",
		  SIM_MLP_BY_TYPE, "sliding_window is missing: 4096" },
	};

	CHECK_FILES(files);
}

TEST("what is no layer of this model is refused by its field")
{
	static const struct {
		const char *text, *why;
	} bad[] = {
		{ "{\"model_type\": \"minimax_m1\", \"attn_type_list\": [1, 0], " SIZES "}",
		  "attn_type_list[1] is not 1: the layer is no softmax attention" },
		{ "{\"model_type\": \"minimax_m1\", \"attn_type_list\": 7, " SIZES "}",
		  "attn_type_list is 7 and must be a list of 1" },
		{ "{\"model_type\": \"granitemoehybrid\", \"mamba_d_state\": 128, \"layer_types\": "
		  "[\"mamba\", \"attention\", \"mamba\", \"mamba\"], " SIZES "}",
		  "layer_types[0] is 'mamba' and must be full_attention" },
		{ "{\"model_type\": \"new\", \"n_experts\": 8, " SIZES "}",
		  "n_experts is set, and this finds no experts in the file" },
		{ "{\"model_type\": \"new\", \"moe_layers_enum\": \"4,5\", " SIZES "}",
		  "moe_layers_enum is set, and this finds no experts in the file" },
		{ "{\"model_type\": \"dbrx\", \"d_model\": 96, \"attn_config\": {\"a\": 1}}",
		  "attn_config is set: attention's sizes are in an object of their own" },
		{ "{\"model_type\": \"florence\", \"is_encoder_decoder\": true, \"text_config\": "
		  "{\"model_type\": \"llama\"}}",
		  "is_encoder_decoder is set" },
		{ "{" LLAMA4 ", \"layer_types\": [\"chunked_attention\", \"sliding_attention\", "
		  "\"full_attention\", \"full_attention\"]}",
		  "layer_types has sliding_attention and chunked_attention" },
		{ "{" LLAMA4 ", \"no_rope_layers\": [1]}",
		  "no_rope_layers must be a list of num_hidden_layers, 4, numbers" },
		{ "{" LLAMA4 ", \"moe_layers\": [4]}", "moe_layers is 4 and must be" },
		{ "{\"model_type\": \"new\", \"attention_chunk_size\": 8, " SIZES "}",
		  "attention_chunk_size is 8, and no layer_types says in which layers" },
		{ "{\"model_type\": \"new\", \"parallel_attn\": true, \"num_experts\": 8, "
		  "\"num_experts_per_tok\": 2, \"moe_intermediate_size\": 8, " SIZES "}",
		  "num_experts_per_tok is set, and attention and MLP are side by side" },
		{ "{\"model_type\": \"new\", \"num_experts\": 8, \"moe_topk\": [2, 1], " SIZES "}",
		  "moe_topk is [2,1] and must be a whole number" },
		{ "{\"model_type\": \"exaone4\", \"sliding_window\": 8, " SIZES "}",
		  "sliding_window is 8, and no layer_types says in which layers" },
	};
	char why[SIM_WHY_SIZE];
	struct sim_transformer t;
	size_t i;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_false(read_text(bad[i].text, SIM_MLP_GATED, &t, why));
		if (!strstr(why, bad[i].why))
			fail_msg("'%s' does not say '%s'", why, bad[i].why);
	}
}

#define INDEXED                                                                            \
	"\"model_type\": \"deepseek_v32\", \"hidden_size\": 8, \"num_hidden_layers\": 1, " \
	"\"num_attention_heads\": 4, \"intermediate_size\": 8, \"kv_lora_rank\": 6, "      \
	"\"q_lora_rank\": 10, \"qk_nope_head_dim\": 2, \"qk_rope_head_dim\": 1, "          \
	"\"v_head_dim\": 2, \"index_topk\": 2, \"index_n_heads\": 3"

static const struct sim_operator *operator_of(const struct sim_layer *layer, const char *name)
{
	uint32_t i;

	for (i = 0; i < layer->operators; i++)
		if (!strcmp(layer->op[i].name, name))
			return &layer->op[i];
	fail_msg("there is no operator '%s'", name);
	return NULL;
}

/*
 * An index of 3 heads of 5 compares each of 8 tokens with all 8 of its sequence, whatever TP is, and 2 of
 * them are attended to by 2 of 4 heads: 3 of a key and 2 of a value.
 */
TEST("an index chooses the tokens that latent attention attends to")
{
	struct sim_setting setting = { SIM_PREFILL, 2, 1, 8, 1, 2, true, false };
	struct sim_transformer t;
	static struct sim_iteration it;
	const struct sim_operator *op;
	char why[SIM_WHY_SIZE] = "";

	assert_true(read_text("{" INDEXED ", \"index_head_dim\": 5}", SIM_MLP_BY_TYPE, &t, why));
	assert_true(sim_iteration_build(&t, &setting, &it, why));
	assert_true(has_note(&t, "index_topk 2"));
	op = operator_of(&it.layer[0], "index scores");
	assert_true(op->flops == 2 * 8 * 8 * 3 * 5);
	assert_true(op->bytes == 2 * (8 * 3 * 5 + 8 * 5));
	assert_true(operator_of(&it.layer[0], "fused attention")->flops == 2 * 8 * 2 * 2 * (3 + 2));
	op = operator_of(&it.layer[0], "index queries");
	assert_int_equal(it.gemm[op->gemm].n, 15);
	assert_int_equal(it.gemm[op->gemm].k, 10);
	op = operator_of(&it.layer[0], "index keys");
	assert_int_equal(it.gemm[op->gemm].n, 5);
	assert_int_equal(it.gemm[op->gemm].k, 8);
	/* A step after 100 tokens compares with all, and reads the latent vectors of 2. */
	setting.phase = SIM_DECODE;
	setting.sequence = 100;
	assert_true(sim_iteration_build(&t, &setting, &it, why));
	assert_true(operator_of(&it.layer[0], "index scores")->bytes == 2 * (3 * 5 + 100 * 5));
	op = operator_of(&it.layer[0], "fused attention");
	assert_true(op->bytes == 2 * (2 * 3 + 2 * (6 + 1) + 2 * 2));
	sim_transformer_free(&t);
	assert_false(read_text("{" INDEXED "}", SIM_MLP_BY_TYPE, &t, why));
	assert_non_null(strstr(why, "index_head_dim is missing"));
	assert_false(read_text("{\"model_type\": \"llama\", \"index_topk\": 4, " SIZES "}",
			       SIM_MLP_BY_TYPE, &t, why));
	assert_non_null(strstr(why, "index_topk is set, and kv_lora_rank is not"));
}

/*
 * On a machine that moves a byte in a picosecond and computes an operation in one. A rank has 2 of 4
 * heads of 2, and 4 of 8 columns of the MLP; 4 tokens of 8. One norm 2 x 4 x 8 x 2, the activation 2 x
 * 4 x 4 x 2, the residual 3 x 4 x 8 x 2. Fused attention: 4 x 4 scores x 2 heads, 4 operations each in
 * scores and context.
 */
TEST("a layer of attention and MLP side by side is what a hand computes")
{
	static const char text[] = "{\"model_type\": \"phi\", \"hidden_size\": 8, "
				   "\"num_hidden_layers\": 1, \"num_attention_heads\": 4, "
				   "\"intermediate_size\": 8}";
	const struct sim_setting setting = { SIM_PREFILL, 2, 1, 4, 1, 2, true, false };
	const struct sim_machine_rate rate = { 1, 1 };
	struct sim_cost costs[SIM_MAX_GEMMS] = { 0 };
	struct sim_transformer t;
	static struct sim_iteration it;
	char why[SIM_WHY_SIZE] = "";

	assert_true(read_text(text, SIM_MLP_BY_TYPE, &t, why));
	assert_true(sim_iteration_build(&t, &setting, &it, why));
	assert_int_equal(it.gemms, 2);
	costs[0].gemm = 1000; /* before */
	costs[1].reduced[SIM_SEQUENTIAL] = 5000;
	assert_true(sim_layer_time(&it.layer[0], costs, &rate, SIM_SEQUENTIAL) ==
		    128 + 1000 + 2 * 4 * 4 * 2 * 4 + 64 + 5000 + 192);
	sim_transformer_free(&t);
}
