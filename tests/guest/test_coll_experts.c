// SPDX-License-Identifier: MIT
/*
 * A layer of experts on 8 ranks, each a process. The numbers are those of DeepSeek-V3 and
 * Qwen3-235B, with 1/64 of the width. A rank has a part of the experts and some tokens. A router
 * gives each token its experts, and a weight for each (common/experts.h).
 *
 * Dispatch: a token goes to the rank of each of its experts, by an all-to-all with a length for
 * each pair of ranks. Combine: what the experts make of it comes back, and is summed up, in one of
 * two ways. Each has a stated order, so the results are compared bit by bit with a plain loop.
 */
#include "child.h"
#include "coll.h"
#include "experts.h"

#define EPOCHS 2u
#define HEAD   3u    /* numbers before a token that is sent: which one, its expert, its weight */
#define LIMIT  60000 /* ms, of child_end() */

static const struct experts models[] = {
	{ "DeepSeek-V3", 256, true, 7168 / 64, 2048 / 64 },
	{ "Qwen3-235B", 128, false, 4096 / 64, 1536 / 64 },
};

/* ----------------------------------------------------------------- a rank's share */

struct row {
	uint32_t token, choice;
};

struct share {
	const struct experts *m;
	struct t3_comm *comm;
	uint32_t rank;
	float tokens[EXPERTS_TOKENS][EXPERTS_HIDDEN_MAX];
	struct experts_route route[EXPERTS_TOKENS];
	struct row row[EXPERTS_TOKENS * EXPERTS_CHOSEN]; /* that it sends, by target */
	uint32_t sent[EXPERTS_RANKS], received[EXPERTS_RANKS];
};

static void draw_tokens(struct share *s, uint32_t epoch)
{
	uint32_t t, i;

	for (t = 0; t < EXPERTS_TOKENS; t++)
		for (i = 0; i < s->m->hidden; i++)
			s->tokens[t][i] =
				experts_draw(epoch, s->rank * EXPERTS_TOKENS + t, i) * 2 - 1;
}

static void start(struct share *s, struct t3_comm *comm, const struct experts *m)
{
	uint32_t rows = 0, to, t, j;

	memset(s, 0, sizeof(*s));
	s->m = m;
	s->comm = comm;
	s->rank = t3_comm_rank(comm);
	for (t = 0; t < EXPERTS_TOKENS; t++)
		experts_route(m, s->rank, t, &s->route[t]);
	for (to = 0; to < EXPERTS_RANKS; to++)
		for (t = 0; t < EXPERTS_TOKENS; t++)
			for (j = 0; j < EXPERTS_CHOSEN; j++) {
				if (experts_home(m, s->route[t].expert[j]) != to)
					continue;
				s->row[rows++] = (struct row){ t, j };
				s->sent[to]++;
			}
	CHECK_EQ(rows, EXPERTS_TOKENS * EXPERTS_CHOSEN);
	CHECK_EQ(t3_all_to_all(comm, s->sent, s->received, EXPERTS_RANKS, DRM_T3_I32,
			       COLL_DEADLINE),
		 0);
}

static uint32_t all_of(const uint32_t *rows)
{
	uint32_t all = 0, r;

	for (r = 0; r < EXPERTS_RANKS; r++)
		all += rows[r];
	return all;
}

/* An all-to-all of rows, of which each rank sends and gets so many. */
static struct t3_plan *exchange(const struct share *s, const uint32_t *send,
				const uint32_t *receive, uint32_t columns, uint32_t path)
{
	struct t3_plan_desc desc = {
		.collective = T3_ALL_TO_ALL,
		.dtype = DRM_T3_F32,
		.path = path,
		.columns = columns,
	};
	uint64_t for_each[EXPERTS_RANKS], from_each[EXPERTS_RANKS];
	struct t3_plan_lengths lengths = { for_each, from_each };
	struct t3_plan *plan;
	uint32_t r;

	for (r = 0; r < EXPERTS_RANKS; r++) {
		for_each[r] = send[r] * columns;
		from_each[r] = receive[r] * columns;
	}
	if (t3_plan_create_uneven(s->comm, &desc, &lengths, COLL_DEADLINE, &plan))
		guest_fail(__FILE__, __LINE__, "%s", t3_comm_error(s->comm));
	return plan;
}

static void put(struct t3_plan *plan, uint64_t row, const float *data, uint32_t columns)
{
	if (t3_plan_put(plan, row * columns, data, columns))
		guest_fail(__FILE__, __LINE__, "%s", t3_plan_error(plan));
}

static const float *finish(struct t3_plan *plan, uint64_t elements)
{
	const void *data;
	uint64_t bytes;

	if (t3_plan_wait(plan, COLL_DEADLINE))
		guest_fail(__FILE__, __LINE__, "%s", t3_plan_error(plan));
	CHECK_EQ(t3_plan_result(plan, &data, &bytes), 0);
	CHECK_EQ(bytes, elements * sizeof(float));
	return data;
}

/* Send this rank's tokens. Returns the rows that came: a head and a token each. */
static const float *dispatch(const struct share *s, struct t3_plan *plan)
{
	uint32_t hidden = s->m->hidden, i;
	float row[HEAD + EXPERTS_HIDDEN_MAX];

	CHECK_EQ(t3_plan_start(plan, COLL_DEADLINE), 0);
	for (i = 0; i < EXPERTS_TOKENS * EXPERTS_CHOSEN; i++) {
		const struct row *r = &s->row[i];

		row[0] = (float)r->token;
		row[1] = (float)s->route[r->token].expert[r->choice];
		row[2] = s->route[r->token].weight[r->choice];
		memcpy(row + HEAD, s->tokens[r->token], hidden * sizeof(float));
		put(plan, i, row, HEAD + hidden);
	}
	return finish(plan, (uint64_t)all_of(s->received) * (HEAD + hidden));
}

/* A row that came is for an expert of this rank. */
static void serve(const struct share *s, const float *row, float *out)
{
	uint32_t expert = (uint32_t)row[1];

	CHECK_EQ(experts_home(s->m, expert), s->rank);
	experts_apply(s->m, expert, row[2], row + HEAD, out);
}

static void begin_sum(const struct share *s, uint32_t token, float *sum)
{
	memset(sum, 0, s->m->hidden * sizeof(float));
	if (s->m->shared)
		experts_apply(s->m, s->m->experts, 1, s->tokens[token], sum);
}

static void compare(const struct share *s, uint32_t epoch, uint32_t token, const float *got,
		    const float *want)
{
	uint32_t i;

	for (i = 0; i < s->m->hidden; i++)
		if (memcmp(&got[i], &want[i], sizeof(float)) != 0)
			guest_fail(__FILE__, __LINE__,
				   "%s, epoch %u, rank %u: element %u of token %u is %a, not %a",
				   s->m->name, epoch, s->rank, i, token, got[i], want[i]);
}

/* ------------------------------------------- rows come back, and the owner adds them */

/* Each expert's row goes back to where its token came from, as soon as it was computed. */
static const float *give_back(const struct share *s, struct t3_plan *plan, const float *rows)
{
	uint32_t hidden = s->m->hidden, i;
	float out[EXPERTS_HIDDEN_MAX];

	CHECK_EQ(t3_plan_start(plan, COLL_DEADLINE), 0);
	for (i = 0; i < all_of(s->received); i++) {
		serve(s, rows + i * (HEAD + hidden), out);
		put(plan, i, out, hidden);
	}
	return finish(plan, (uint64_t)EXPERTS_TOKENS * EXPERTS_CHOSEN * hidden);
}

/* The order of a sum: the shared expert, then the others from the best one on. */
static void check_rows(const struct share *s, uint32_t epoch, const float *back)
{
	const float *of[EXPERTS_TOKENS][EXPERTS_CHOSEN];
	float got[EXPERTS_HIDDEN_MAX], want[EXPERTS_HIDDEN_MAX], out[EXPERTS_HIDDEN_MAX];
	uint32_t i, t, j;

	for (i = 0; i < EXPERTS_TOKENS * EXPERTS_CHOSEN; i++)
		of[s->row[i].token][s->row[i].choice] = back + i * s->m->hidden;
	for (t = 0; t < EXPERTS_TOKENS; t++) {
		begin_sum(s, t, got);
		begin_sum(s, t, want);
		for (j = 0; j < EXPERTS_CHOSEN; j++) {
			experts_add(s->m, got, of[t][j]);
			experts_apply(s->m, s->route[t].expert[j], s->route[t].weight[j],
				      s->tokens[t], out);
			experts_add(s->m, want, out);
		}
		compare(s, epoch, t, got, want);
	}
}

static void rows_body(struct t3_comm *comm, const struct experts *m)
{
	struct t3_plan *there, *back;
	struct share s;
	uint32_t epoch;

	start(&s, comm, m);
	there = exchange(&s, s.sent, s.received, HEAD + m->hidden, T3_PATH_DOORBELL);
	back = exchange(&s, s.received, s.sent, m->hidden, T3_PATH_STORE);
	for (epoch = 1; epoch <= EPOCHS; epoch++) {
		draw_tokens(&s, epoch);
		check_rows(&s, epoch, give_back(&s, back, dispatch(&s, there)));
	}
	t3_plan_destroy(back);
	t3_plan_destroy(there);
}

/* ---------------------------------------------- sums are made near the owner's memory */

/*
 * A segment sends its rows to consecutive rows. So an expert's rows cannot go to those of their
 * tokens. A rank sends a row for each token of all ranks instead, with the sum of its own experts,
 * which is 0 where the token has none of them.
 */
static struct t3_plan *reduction(const struct share *s)
{
	struct t3_plan_desc desc = {
		.collective = T3_REDUCE_SCATTER,
		.count = (uint64_t)EXPERTS_RANKS * EXPERTS_TOKENS * s->m->hidden,
		.dtype = DRM_T3_F32,
		.op = DRM_T3_OP_ADD,
		.columns = s->m->hidden,
		.tile_rows = 1,
		.flags = T3_PLAN_DETERMINISTIC,
	};
	struct t3_plan *plan;

	if (t3_plan_create(s->comm, &desc, COLL_DEADLINE, &plan))
		guest_fail(__FILE__, __LINE__, "%s", t3_comm_error(s->comm));
	return plan;
}

/* For each token of a rank the sum of this rank's experts, from the token's best one on. */
static void sum_own(const struct share *s, const float *rows, uint32_t owner,
		    float sums[EXPERTS_TOKENS][EXPERTS_HIDDEN_MAX])
{
	const float *row = rows;
	float out[EXPERTS_HIDDEN_MAX];
	uint32_t i;

	memset(sums, 0, sizeof(float[EXPERTS_TOKENS][EXPERTS_HIDDEN_MAX]));
	for (i = 0; owner == s->rank && i < EXPERTS_TOKENS; i++)
		begin_sum(s, i, sums[i]);
	for (i = 0; i < owner; i++)
		row += s->received[i] * (HEAD + s->m->hidden);
	for (i = 0; i < s->received[owner]; i++, row += HEAD + s->m->hidden) {
		serve(s, row, out);
		experts_add(s->m, sums[(uint32_t)row[0]], out);
	}
}

static const float *give_sums(const struct share *s, struct t3_plan *plan, const float *rows)
{
	float sums[EXPERTS_TOKENS][EXPERTS_HIDDEN_MAX];
	uint32_t i, t, owner;

	CHECK_EQ(t3_plan_start(plan, COLL_DEADLINE), 0);
	for (i = 0; (owner = t3_plan_order(plan, i)) != T3_PLAN_NO_CHUNK; i++) {
		sum_own(s, rows, owner, sums);
		for (t = 0; t < EXPERTS_TOKENS; t++)
			put(plan, owner * EXPERTS_TOKENS + t, sums[t], s->m->hidden);
	}
	return finish(plan, (uint64_t)EXPERTS_TOKENS * s->m->hidden);
}

/* The order of a sum: on each rank as above, and then from rank 0 on. */
static void check_sums(const struct share *s, uint32_t epoch, const float *got)
{
	float want[EXPERTS_HIDDEN_MAX], part[EXPERTS_HIDDEN_MAX], out[EXPERTS_HIDDEN_MAX];
	uint32_t t, r, j;

	for (t = 0; t < EXPERTS_TOKENS; t++) {
		memset(want, 0, sizeof(want));
		for (r = 0; r < EXPERTS_RANKS; r++) {
			memset(part, 0, sizeof(part));
			if (r == s->rank)
				begin_sum(s, t, part);
			for (j = 0; j < EXPERTS_CHOSEN; j++) {
				if (experts_home(s->m, s->route[t].expert[j]) != r)
					continue;
				experts_apply(s->m, s->route[t].expert[j], s->route[t].weight[j],
					      s->tokens[t], out);
				experts_add(s->m, part, out);
			}
			experts_add(s->m, want, part);
		}
		compare(s, epoch, t, got + t * s->m->hidden, want);
	}
}

static void sums_body(struct t3_comm *comm, const struct experts *m)
{
	struct t3_plan *there, *sums;
	struct share s;
	uint32_t epoch;

	start(&s, comm, m);
	there = exchange(&s, s.sent, s.received, HEAD + m->hidden, T3_PATH_DOORBELL);
	sums = reduction(&s);
	for (epoch = 1; epoch <= EPOCHS; epoch++) {
		draw_tokens(&s, epoch);
		check_sums(&s, epoch, give_sums(&s, sums, dispatch(&s, there)));
	}
	t3_plan_destroy(sums);
	t3_plan_destroy(there);
}

/* -------------------------------------------------------------------- wrong lengths */

/* Rank 3 expects a row too many of rank 6. All ranks are told, and can go on. */
static void wrong_body(struct t3_comm *comm, const struct experts *m)
{
	uint64_t send[EXPERTS_RANKS], receive[EXPERTS_RANKS];
	struct t3_plan_lengths lengths = { send, receive };
	struct t3_plan_desc desc = { .collective = T3_ALL_TO_ALL, .columns = m->hidden };
	uint32_t rank = t3_comm_rank(comm), r;
	struct t3_plan *plan;

	for (r = 0; r < EXPERTS_RANKS; r++) {
		send[r] = (rank + r) * m->hidden;
		receive[r] = (rank + r + (rank == 3 && r == 6)) * m->hidden;
	}
	CHECK_EQ(t3_plan_create_uneven(comm, &desc, &lengths, COLL_DEADLINE, &plan), -EINVAL);
	if (strcmp(t3_comm_error(comm),
		   "rank 6 sends 1008 elements to rank 3 (send[3]), which expects 1120 of it "
		   "(receive[6])") != 0)
		guest_fail(__FILE__, __LINE__, "%s", t3_comm_error(comm));
	rows_body(comm, m);
}

/* -------------------------------------------------------------------------- ranks */

struct rank {
	const char *dir;
	bool full;
	uint32_t rank;
	const struct experts *model;
	void (*body)(struct t3_comm *comm, const struct experts *m);
};

static void process(int sock, void *arg)
{
	const struct rank *r = arg;
	char text[T3_COMM_TEXT_SIZE];
	struct t3_comm_desc desc = {
		.dir = r->dir,
		.rank = r->rank,
		.ranks = EXPERTS_RANKS,
		.text = text,
		.text_size = sizeof(text),
	};
	struct t3_device *dev = coll_device(EXPERTS_RANKS, r->full, r->rank);
	struct t3_comm *comm;

	(void)sock;
	if (t3_comm_create(dev, &desc, COLL_DEADLINE, &comm))
		guest_fail(__FILE__, __LINE__, "%s", text);
	r->body(comm, r->model);
	CHECK_EQ(t3_comm_barrier(comm, COLL_DEADLINE), 0);
	t3_comm_destroy(comm);
	t3_device_close(dev);
}

static void on_ranks(bool full, const struct experts *m,
		     void (*body)(struct t3_comm *, const struct experts *))
{
	char dir[] = "/tmp/experts-XXXXXX";
	struct child child[EXPERTS_RANKS];
	uint32_t r;

	CHECK(mkdtemp(dir));
	for (r = 0; r < EXPERTS_RANKS; r++) {
		struct rank rank = { dir, full, r, m, body };

		child_start(&child[r], process, &rank);
	}
	for (r = 0; r < EXPERTS_RANKS; r++)
		CHECK_EQ(child_end(&child[r], LIMIT), 0);
	CHECK_EQ(rmdir(dir), 0);
}

static void on_fabrics(const struct experts *m,
		       void (*body)(struct t3_comm *, const struct experts *))
{
	on_ranks(COLL_FULL, m, body);
	on_ranks(COLL_RING, m, body);
}

/* The tests below show irregular lengths, so the drawn ones have to be. */
TEST("the drawn routes are skewed, and some ranks get nothing from others")
{
	uint32_t rows[EXPERTS_RANKS][EXPERTS_RANKS], to[EXPERTS_RANKS], i, r, t, j, empty;
	struct experts_route route;

	for (i = 0; i < ROWS(models); i++) {
		memset(rows, 0, sizeof(rows));
		memset(to, 0, sizeof(to));
		for (r = 0; r < EXPERTS_RANKS; r++)
			for (t = 0; t < EXPERTS_TOKENS; t++) {
				experts_route(&models[i], r, t, &route);
				for (j = 0; j < EXPERTS_CHOSEN; j++)
					rows[r][experts_home(&models[i], route.expert[j])]++;
			}
		for (empty = 0, r = 0; r < EXPERTS_RANKS; r++)
			for (t = 0; t < EXPERTS_RANKS; t++) {
				to[t] += rows[r][t];
				empty += !rows[r][t];
			}
		CHECK(empty >= 10);
		CHECK(to[0] > 3 * EXPERTS_TOKENS * EXPERTS_CHOSEN / 2);
		CHECK(to[7] && to[7] < EXPERTS_TOKENS * EXPERTS_CHOSEN / 4);
	}
}

SLOW_TEST("experts as DeepSeek-V3's give each token the sum of its rows")
{
	on_fabrics(&models[0], rows_body);
}

SLOW_TEST("experts as Qwen3-235B's give each token the sum of its rows")
{
	on_fabrics(&models[1], rows_body);
}

SLOW_TEST("experts as DeepSeek-V3's are summed up near the token's memory")
{
	on_fabrics(&models[0], sums_body);
}

SLOW_TEST("experts as Qwen3-235B's are summed up near the token's memory")
{
	on_fabrics(&models[1], sums_body);
}

SLOW_TEST("lengths that differ at two ranks are refused at all, which go on")
{
	on_ranks(COLL_FULL, &models[0], wrong_body);
}
