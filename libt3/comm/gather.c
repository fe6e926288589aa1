// SPDX-License-Identifier: MIT
/*
 * Ranks meet by an all-gather. Each rank listens first, and then puts the name of its socket on its
 * card. So whoever knows the name can connect at once. A rank that cannot join takes part, too:
 * an all-gather that one rank leaves out may never end at the others.
 */
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "comm/bootstrap.h"

#define CARD_MAGIC   0x6472616333540a0dull
#define CARD_VERSION 2u
#define PLACE_MAGIC  0x6563616c3354310dull

static struct comm_card blank_card(const struct comm_request *request)
{
	return (struct comm_card){
		.magic = CARD_MAGIC,
		.version = CARD_VERSION,
		.bytes = sizeof(struct comm_card),
		.rank = request->rank,
		.ranks = request->ranks,
	};
}

static int choose_name(struct t3_comm *comm, unsigned char *name)
{
	if (getrandom(name, COMM_NAME_BYTES, 0) == COMM_NAME_BYTES)
		return 0;
	return t3_comm_fail(comm, -errno, "there is no random number: %s", strerror(errno));
}

/* Begin to listen, and write where onto the card. */
static int prepare(struct t3_comm *comm, struct comm_card *card, int *listener)
{
	int ret;

	ret = comm_find_node(comm, &card->node);
	if (!ret)
		ret = choose_name(comm, card->name);
	return ret ? ret : comm_listen_at_name(comm, card->name, listener);
}

void comm_excuse(const struct comm_request *request, int error)
{
	struct comm_card card = blank_card(request), all[T3_COMM_RANKS_MAX];

	card.error = (uint32_t)-error;
	request->all_gather(request->ctx, &card, all, sizeof(card));
}

/* ------------------------------------------------------- what the others brought */

static int judge_form(struct t3_comm *comm, const struct comm_card *card, uint32_t rank)
{
	if (card->magic != CARD_MAGIC)
		return t3_comm_fail(comm, -EPROTO,
				    "the all-gather brought no card of rank %u: rank i's bytes "
				    "belong at i times their number",
				    rank);
	if (card->version != CARD_VERSION)
		return t3_comm_fail(comm, -EPROTO,
				    "rank %u has a libt3 with cards of version %u, this one %u",
				    rank, card->version, CARD_VERSION);
	if (card->bytes != sizeof(*card) || card->pad)
		return t3_comm_fail(comm, -EPROTO, "rank %u has a card of a wrong form", rank);
	return 0;
}

static int judge_card(struct t3_comm *comm, const struct comm_card *card, uint32_t rank)
{
	int ret;

	ret = judge_form(comm, card, rank);
	if (ret)
		return ret;
	if (card->rank != rank)
		return t3_comm_fail(comm, -EPROTO,
				    "the all-gather brought the card of rank %u as that of rank %u",
				    card->rank, rank);
	if (card->ranks != comm->ranks)
		return t3_comm_fail(comm, -EDOM, "rank %u counts %u ranks, this one %u", rank,
				    card->ranks, comm->ranks);
	return 0;
}

/* All ranks have the same cards, so that they fail alike. */
static int judge(struct t3_comm *comm, const struct comm_card *mine, const struct comm_card *cards)
{
	uint32_t rank;
	int ret = 0;

	for (rank = 0; rank < comm->ranks && !ret; rank++)
		ret = judge_card(comm, &cards[rank], rank);
	if (ret)
		return ret;
	if (memcmp(&cards[comm->rank], mine, sizeof(*mine)))
		return t3_comm_fail(comm, -EEXIST,
				    "rank %u is taken: the all-gather brought another card than "
				    "this one's",
				    comm->rank);
	for (rank = 0; rank < comm->ranks; rank++) {
		if (cards[rank].error)
			return t3_comm_fail(comm, -EPIPE, "rank %u cannot join: %s", rank,
					    strerror((int)cards[rank].error));
	}
	return 0;
}

/* ----------------------------------------------------------------------- meet */

static int gather(struct t3_comm *comm, const struct comm_request *request, const void *mine,
		  void *all, size_t bytes)
{
	int ret;

	ret = request->all_gather(request->ctx, mine, all, bytes);
	if (ret && request->gather_text)
		return t3_comm_fail(comm, ret, "%s", request->gather_text);
	if (ret < 0 && ret >= -4095)
		return t3_comm_fail(comm, ret, "the all-gather failed: %s", strerror(-ret));
	if (ret)
		return t3_comm_fail(comm, -EIO, "the all-gather failed: it returned %d", ret);
	return 0;
}

static int exchange(struct t3_comm *comm, const struct comm_request *request,
		    const struct comm_card *mine, struct comm_card *cards)
{
	int ret = gather(comm, request, mine, cards, sizeof(*mine));

	return ret ? ret : judge(comm, mine, cards);
}

static int in_time(struct t3_comm *comm, const struct comm_request *request)
{
	return comm_time_left(request->deadline_ns, 1)
		       ? 0
		       : t3_comm_fail(comm, -ETIMEDOUT, "the all-gather ended after the deadline");
}

static int join(struct t3_comm *comm, int listener, const struct comm_card *cards,
		const struct comm_far *far, int64_t deadline_ns)
{
	unsigned char names[T3_COMM_RANKS_MAX][COMM_NAME_BYTES];
	uint32_t rank;

	for (rank = 0; rank < comm->ranks; rank++)
		memcpy(names[rank], cards[rank].name, COMM_NAME_BYTES);
	return comm_join_by_name(comm, listener, names, far, deadline_ns);
}

/* ------------------------------------------------------------------ other nodes */

static int judge_place(struct t3_comm *comm, const struct comm_place *place, uint32_t rank)
{
	if (place->magic != PLACE_MAGIC || place->rank != rank)
		return t3_comm_fail(comm, -EPROTO,
				    "the second all-gather brought no place of rank %u", rank);
	if (place->error)
		return t3_comm_fail(comm, -EPIPE, "rank %u cannot join: %s", rank,
				    strerror((int)place->error));
	return 0;
}

/*
 * The ranks are on several nodes: a second all-gather tells where each listens for the others. A
 * rank that cannot go on takes part in this one, too.
 */
static int find_places(struct t3_comm *comm, const struct comm_request *request,
		       struct comm_place *places, int *listener)
{
	struct comm_place mine = { .magic = PLACE_MAGIC, .rank = comm->rank };
	char why[T3_COMM_TEXT_SIZE];
	uint32_t rank;
	int own, ret;

	own = in_time(comm, request);
	if (!own)
		own = comm_listen_far(comm, &mine, listener);
	mine.error = (uint32_t)-own;
	memcpy(why, comm->error, sizeof(why));
	ret = gather(comm, request, &mine, places, sizeof(mine));
	if (own)
		return t3_comm_fail(comm, own, "%s", why);
	for (rank = 0; rank < comm->ranks && !ret; rank++)
		ret = judge_place(comm, &places[rank], rank);
	return ret ? ret : in_time(comm, request);
}

static int join_nodes(struct t3_comm *comm, const struct comm_request *request, int listener,
		      const struct comm_card *cards)
{
	struct comm_place places[T3_COMM_RANKS_MAX] = { 0 };
	struct comm_far far = { .listener = -1, .place = places };
	int ret;

	ret = find_places(comm, request, places, &far.listener);
	if (!ret)
		ret = join(comm, listener, cards, &far, request->deadline_ns);
	else
		close(listener);
	if (far.listener >= 0)
		close(far.listener);
	return ret;
}

int comm_meet(struct t3_comm *comm, const struct comm_request *request)
{
	struct comm_card mine = blank_card(request), cards[T3_COMM_RANKS_MAX] = { 0 };
	int listener = -1, ret;

	ret = prepare(comm, &mine, &listener);
	if (ret) {
		comm_excuse(request, ret);
		return ret;
	}
	ret = exchange(comm, request, &mine, cards);
	if (!ret) {
		comm_number_nodes(comm, cards);
		if (t3_comm_spans_nodes(comm))
			return join_nodes(comm, request, listener, cards);
		ret = in_time(comm, request);
	}
	if (!ret)
		return join(comm, listener, cards, NULL, request->deadline_ns);
	close(listener);
	return ret;
}
