// SPDX-License-Identifier: MIT
/*
 * How the ranks of a plan come together.
 *
 * There are three steps. In each of them every rank sends one message to every other one: its desc,
 * then its grants, then that it is ready. With groups of a switch there is one more after the
 * grants, in which ranks join them. Each message says whether the rank has failed so far. A
 * rank that has failed still sends the rest of its messages. So all ranks know of the failure, none
 * waits for it, and the communicator can go on.
 *
 * In round k of a step a rank sends to the k-th rank after it and receives from the k-th rank
 * before it. So one thread can do that for all ranks, and only a few descriptors are in flight at a
 * time.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "plan/plan.h"

#define MAGIC 0x50335404u /* increase it when the messages change */

enum step { STEP_DESCRIBE, STEP_GRANT, STEP_JOIN, STEP_READY, STEPS };

/* There is no padding, because messages are compared and sent as they are. */
struct message {
	uint32_t magic;
	uint32_t number; /* number of the plan in its communicator */
	uint32_t step;
	int32_t error;	/* the rank's error so far */
	uint32_t fatal; /* not 0: after it the communicator cannot go on */
	uint32_t has;	/* PLAN_HAS_*: these are for the receiver */
	struct t3_plan_desc desc;
	union {
		char text[176]; /* the error's sentence */
		struct {
			struct t3_key key;
			struct t3_group_ticket ticket;
			struct t3_group_target target;
		};
	};
};

/* The first message of a plan with lengths. So it is not taken for that of a plan without. */
struct uneven_message {
	struct message head;
	uint64_t send[T3_COMM_RANKS_MAX], receive[T3_COMM_RANKS_MAX]; /* the rank's own lengths */
};

_Static_assert(sizeof(struct uneven_message) <= COMM_MESSAGE_BYTES, "a message of a communicator");

/* One rank's part of the set-up. */
struct setup {
	struct t3_comm *comm;
	struct t3_plan *plan;	  /* NULL: no memory */
	struct t3_plan_desc desc; /* as the caller gave it */
	bool uneven;		  /* a plan with lengths */
	uint32_t number;
	int64_t deadline_ns;
	int shared; /* file of the shared state, at the node's first rank until it was sent; else -1 */
	int shared_error; /* error of mapping the shared state of another rank */
	int error[T3_COMM_RANKS_MAX];
	char text[T3_COMM_TEXT_SIZE];		      /* the sentence of the lowest rank */
	struct t3_plan_desc descs[T3_COMM_RANKS_MAX]; /* of each rank, as it gave it */
	int dead;				      /* messages were lost: the error is final */
};

static int *own_error(struct setup *s)
{
	return &s->error[s->comm->rank];
}

/* Keep the sentence of the lowest rank that failed. */
static void note_error(struct setup *s, uint32_t rank, int error, const char *text)
{
	uint32_t r;

	for (r = 0; r <= rank; r++)
		if (s->error[r])
			break;
	s->error[rank] = error;
	if (r <= rank)
		return;
	if (rank == s->comm->rank)
		snprintf(s->text, sizeof(s->text), "%s", text);
	else
		snprintf(s->text, sizeof(s->text), "rank %u: %s", rank, text);
}

static void note_own_error(struct setup *s, int error)
{
	if (error && !*own_error(s))
		note_error(s, s->comm->rank, error, s->comm->error);
}

/* --------------------------------------------------------------------- messages */

static bool has_lengths(const struct setup *s, uint32_t step)
{
	return s->uneven && step == STEP_DESCRIBE;
}

static size_t message_size(const struct setup *s, uint32_t step)
{
	return has_lengths(s, step) ? sizeof(struct uneven_message) : sizeof(struct message);
}

static int post(struct setup *s, uint32_t step, uint32_t to, const struct plan_grant *grant)
{
	struct uneven_message message = { 0 };
	struct message *head = &message.head;

	*head = (struct message){
		.magic = MAGIC,
		.number = s->number,
		.step = step,
		.error = s->dead ? s->dead : *own_error(s),
		.fatal = s->dead != 0,
		.desc = s->desc,
	};
	if (head->error) {
		snprintf(head->text, sizeof(head->text), "%.175s", s->comm->error);
	} else {
		head->has = grant->has;
		head->key = grant->key;
		head->ticket = grant->ticket;
		head->target = grant->target;
	}
	if (has_lengths(s, step) && !head->error) {
		memcpy(message.send, s->plan->lengths->send[s->comm->rank], sizeof(message.send));
		memcpy(message.receive, s->plan->lengths->receive[s->comm->rank],
		       sizeof(message.receive));
	}
	return t3_comm_post(s->comm, to, &message, message_size(s, step), grant->fd);
}

/* All ranks know that after the first step, in which they choose the same algorithm. */
static bool is_skipped(const struct setup *s, uint32_t step)
{
	return step == STEP_JOIN && (!s->plan || !t3_plan_joins(s->plan));
}

/* Tell the failure to all ranks that still expect a message of this one. */
static void give_up(struct setup *s, int ret, uint32_t step, uint32_t round)
{
	static const struct plan_grant none = { .fd = -1 };
	uint32_t n = s->comm->ranks;
	char why[T3_COMM_TEXT_SIZE];

	s->dead = ret;
	s->comm->plans_over = ret;
	memcpy(why, s->comm->error, sizeof(why));
	for (; step < STEPS; step++, round = 1) {
		for (; round < n && !is_skipped(s, step); round++) {
			post(s, step, (s->comm->rank + round) % n, &none);
			/* A rank that cannot receive it any more is not the reason. */
			memcpy(s->comm->error, why, sizeof(why));
		}
	}
}

/* Prepare what goes with a message. The message reports a failure of that. */
static struct plan_grant enclosure(struct setup *s, uint32_t step, uint32_t to)
{
	struct plan_grant grant = { .fd = -1 };

	if (step == STEP_DESCRIBE && t3_comm_is_here(s->comm, to))
		grant.fd = s->shared;
	else if (step == STEP_GRANT && !*own_error(s))
		note_own_error(s, t3_plan_grant(s->plan, to, &grant));
	else if (step == STEP_JOIN && !*own_error(s))
		note_own_error(s, t3_plan_join(s->plan, to, &grant));
	return grant;
}

static void post_round(struct setup *s, uint32_t step, uint32_t round)
{
	uint32_t to = (s->comm->rank + round) % s->comm->ranks;
	struct plan_grant grant;
	int ret;

	if (s->dead)
		return;
	grant = enclosure(s, step, to);
	ret = post(s, step, to, &grant);
	if (grant.fd >= 0 && grant.fd != s->shared)
		close(grant.fd);
	if (ret)
		give_up(s, ret, step, round);
}

static int check_message(const struct setup *s, const struct message *m, uint32_t step,
			 uint32_t from)
{
	if (m->magic != MAGIC)
		return t3_comm_fail(s->comm, -EPROTO,
				    "rank %u has a libt3 with plans of version %x, this one %x",
				    from, m->magic, MAGIC);
	if (m->number != s->number)
		return t3_comm_fail(s->comm, -EPROTO,
				    "rank %u creates its plan %u, this one its plan %u: all ranks "
				    "must create their plans in the same order",
				    from, m->number, s->number);
	if (m->step != step || m->error > 0)
		return t3_comm_fail(s->comm, -EPROTO,
				    "rank %u sent step %u of a plan with error %d, where step %u "
				    "is due",
				    from, m->step, m->error, step);
	return 0;
}

static int take_shared(struct setup *s, const struct message *m, int fd)
{
	int ret;

	if (m->error || !s->plan)
		return 0;
	ret = t3_plan_shared_open(fd, &s->plan->shared);
	if (ret == -EPROTO)
		t3_comm_fail(s->comm, ret, "rank %u sent memory of a wrong size or without seals",
			     t3_comm_leader(s->comm));
	else if (ret)
		comm_memory_fail(s->comm, ret);
	return ret;
}

/* A rank that failed sends no grants. Else there is one for each rank that sends to it. */
static int take_grant(struct setup *s, const struct message *m, uint32_t from, int fd)
{
	const struct t3_layout *layout = &s->plan->layout;
	char words[T3_WORDS];
	uint32_t ops;
	int ret;

	if (m->error || *own_error(s))
		return 0;
	if (m->has & PLAN_HAS_TICKET) {
		s->plan->groups.tickets[from] = m->ticket;
		s->plan->groups.invited |= 1u << from;
	}
	if (fd < 0 && !(m->has & PLAN_HAS_KEY)) {
		if (!t3_layout_targets(layout, from, T3_VIA_LINKS, &ops) &&
		    !t3_layout_targets(layout, from, T3_VIA_REDUCE, &ops))
			return 0;
		return t3_comm_fail(s->comm, -EPROTO, "rank %u sent neither a grant nor an error",
				    from);
	}
	if (m->has & PLAN_HAS_KEY)
		ret = t3_key_import(s->plan->space, &m->key, &s->plan->import[from], NULL);
	else
		ret = t3_grant_import(s->plan->space, fd, &s->plan->import[from], NULL);
	if (ret)
		t3_comm_fail(s->comm, ret, "the grant of rank %u: %s", from,
			     t3_error_words(ret, words, sizeof(words)));
	return ret;
}

static void take_target(struct setup *s, const struct message *m, uint32_t from)
{
	if (m->error || !(m->has & PLAN_HAS_TARGET))
		return;
	s->plan->groups.targets[from] = m->target;
	s->plan->groups.joined |= 1u << from;
}

static void take_lengths(struct setup *s, const struct uneven_message *m, uint32_t from)
{
	if (m->head.error || !s->plan || !s->plan->lengths)
		return;
	memcpy(s->plan->lengths->send[from], m->send, sizeof(m->send));
	memcpy(s->plan->lengths->receive[from], m->receive, sizeof(m->receive));
}

/*
 * Receive a message and act on it. A failure with its content is this rank's own, which it reports
 * in the next step. A failure with the shared state waits until the first step is over, because the
 * others cannot see it before.
 */
static void take_round(struct setup *s, uint32_t step, uint32_t round)
{
	uint32_t from = (s->comm->rank + s->comm->ranks - round) % s->comm->ranks;
	struct uneven_message message;
	struct message *m = &message.head;
	int fd = -1, ret;

	if (s->dead)
		return;
	ret = t3_comm_take(s->comm, from, &message, message_size(s, step), &fd, s->deadline_ns);
	if (!ret)
		ret = check_message(s, m, step, from);
	if (ret) {
		give_up(s, ret, step, round + 1);
		goto close_fd;
	}
	m->text[sizeof(m->text) - 1] = '\0';
	if (m->error && !s->error[from])
		note_error(s, from, m->error, m->text);
	if (m->fatal)
		s->comm->plans_over = m->error;
	if (step == STEP_DESCRIBE) {
		s->descs[from] = m->desc;
		if (s->uneven)
			take_lengths(s, &message, from);
		if (from == t3_comm_leader(s->comm))
			s->shared_error = take_shared(s, m, fd);
	} else if (step == STEP_GRANT) {
		note_own_error(s, take_grant(s, m, from, fd));
	} else if (step == STEP_JOIN) {
		take_target(s, m, from);
	}

close_fd:
	if (fd >= 0)
		close(fd);
}

/* ------------------------------------------------------------------------- steps */

static int first_error(const struct setup *s)
{
	uint32_t r;

	for (r = 0; r < s->comm->ranks; r++)
		if (s->error[r])
			return s->error[r];
	return 0;
}

static int make_shared(struct setup *s)
{
	int ret = t3_plan_shared_new(&s->plan->shared, &s->shared);

	return ret ? comm_memory_fail(s->comm, ret) : 0;
}

/*
 * A rank's work before it sends the step's messages. After another rank's failure it would only
 * fail because of that.
 */
static void work(struct setup *s, uint32_t step)
{
	int ret = 0;

	if (first_error(s) || s->dead)
		return;
	if (step == STEP_DESCRIBE) {
		ret = t3_plan_describe(s->plan, &s->desc);
		if (!ret && s->comm->rank == t3_comm_leader(s->comm))
			ret = make_shared(s);
	} else if (step == STEP_GRANT) {
		ret = s->shared_error ? s->shared_error : t3_plan_make_space(s->plan);
	} else if (step == STEP_READY) {
		ret = t3_plan_map(s->plan);
	}
	note_own_error(s, ret);
}

/* Compare with rank 0, so that all ranks say the same. */
static int compare(const struct setup *s)
{
	struct t3_text text = { .at = s->comm->error, .size = sizeof(s->comm->error) };
	uint32_t r;

	for (r = 1; r < s->comm->ranks; r++) {
		if (!memcmp(&s->descs[r], &s->descs[0], sizeof(s->descs[0])))
			continue;
		t3_text_say(&text, "rank %u wants a plan with ", r);
		t3_plan_say_difference(&text, &s->descs[r], &s->descs[0]);
		t3_text_say(&text, "; rank 0 one with ");
		t3_plan_say_difference(&text, &s->descs[0], &s->descs[r]);
		return -EINVAL;
	}
	return s->uneven ? t3_lengths_agree(s->plan) : 0;
}

/*
 * After the first and the last step all ranks know the same. In between, a rank that has failed
 * goes on, to tell the others.
 */
static int decide(struct setup *s, uint32_t step)
{
	int ret;

	if (s->dead)
		return s->dead;
	if (step == STEP_GRANT || step == STEP_JOIN)
		return 0;
	ret = first_error(s);
	if (ret)
		return t3_comm_fail(s->comm, ret, "%s", s->text);
	return step == STEP_DESCRIBE ? compare(s) : 0;
}

static int run(struct setup *setups, uint32_t count)
{
	uint32_t step, round, i;
	int ret = 0, one;

	for (step = 0; step < STEPS && !ret; step++) {
		if (is_skipped(setups, step))
			continue;
		for (i = 0; i < count; i++)
			work(&setups[i], step);
		for (round = 1; round < setups->comm->ranks; round++) {
			for (i = 0; i < count; i++)
				post_round(&setups[i], step, round);
			for (i = 0; i < count; i++)
				take_round(&setups[i], step, round);
		}
		for (i = 0; i < count; i++) {
			one = decide(&setups[i], step);
			ret = ret ? ret : one;
		}
	}
	return ret;
}

/* ------------------------------------------------------------------------ create */

/* A rank that cannot even begin still takes part, to tell the others. */
static void begin(struct setup *s, struct t3_comm *comm, const struct t3_plan_desc *desc,
		  int64_t deadline_ns)
{
	memset(s, 0, sizeof(*s));
	s->comm = comm;
	s->number = ++comm->plans_made;
	s->deadline_ns = deadline_ns;
	s->shared = -1;
	s->plan = calloc(1, sizeof(*s->plan));
	if (s->plan) {
		s->plan->comm = comm;
		s->plan->text = s->plan->text_memory;
	} else {
		note_own_error(s, t3_comm_fail(comm, -ENOMEM, "no memory for the plan"));
	}
	if (desc)
		s->desc = *desc;
	else
		note_own_error(s, t3_comm_fail(comm, -EINVAL, "no description of the plan"));
	s->descs[comm->rank] = s->desc;
}

/* A bit of the plan's own, which no caller knows. */
static void refuse_own_flag(struct setup *s)
{
	if (s->desc.flags & T3_PLAN_CHAINED)
		note_own_error(s, t3_comm_fail(s->comm, -EINVAL,
					       "flags has an unknown one; got flags %u",
					       s->desc.flags));
}

static void begin_uneven(struct setup *s, struct t3_comm *comm, const struct t3_plan_desc *desc,
			 const struct t3_plan_lengths *lengths, int64_t deadline_ns)
{
	begin(s, comm, desc, deadline_ns);
	s->uneven = true;
	if (s->plan)
		note_own_error(s, t3_lengths_begin(s->plan, lengths));
}

static struct t3_plan *end(struct setup *s, bool failed)
{
	if (s->shared >= 0)
		close(s->shared);
	if (!failed)
		return s->plan;
	t3_plan_free(s->plan);
	return NULL;
}

/*
 * A rank has no group of the switch left, or no entries for an order. All ranks know that, and have
 * the same error. Returns whether they begin again with a plan that needs less.
 */
static bool begin_without_groups(struct setup *setups, uint32_t count, int ret)
{
	struct t3_plan_desc desc = setups->desc;
	uint32_t i;

	if (!ret || setups->comm->plans_over || !setups->plan ||
	    !t3_plan_without_groups(setups->plan, ret, &desc))
		return false;
	for (i = 0; i < count; i++) {
		end(&setups[i], true);
		begin(&setups[i], setups[i].comm, &desc, setups[i].deadline_ns);
	}
	return true;
}

static int create(struct setup *s, struct t3_plan **plan)
{
	int ret = run(s, 1);

	while (begin_without_groups(s, 1, ret))
		ret = run(s, 1);
	s->plan = end(s, ret);
	if (!ret)
		*plan = s->plan;
	return ret;
}

int t3_plan_create(struct t3_comm *comm, const struct t3_plan_desc *desc, int64_t deadline_ns,
		   struct t3_plan **plan)
{
	struct setup setup;

	if (!comm)
		return -EINVAL;
	if (comm->plans_over)
		return comm->plans_over;
	begin(&setup, comm, plan ? desc : NULL, deadline_ns);
	refuse_own_flag(&setup);
	return create(&setup, plan);
}

int t3_plan_create_uneven(struct t3_comm *comm, const struct t3_plan_desc *desc,
			  const struct t3_plan_lengths *lengths, int64_t deadline_ns,
			  struct t3_plan **plan)
{
	struct setup setup;

	if (!comm)
		return -EINVAL;
	if (comm->plans_over)
		return comm->plans_over;
	begin_uneven(&setup, comm, plan ? desc : NULL, lengths, deadline_ns);
	return create(&setup, plan);
}

static int check_all(struct t3_comm *const *comms, uint32_t ranks)
{
	uint32_t i;

	if (!comms || !ranks)
		return -EINVAL;
	for (i = 0; i < ranks; i++) {
		if (!comms[i])
			return -EINVAL;
		if (comms[i]->ranks != ranks || comms[i]->rank != i)
			return t3_comm_fail(
				comms[0], -EINVAL,
				"comms[%u] is rank %u of %u, where rank %u of %u is due", i,
				comms[i]->rank, comms[i]->ranks, i, ranks);
		if (!comms[i]->hub || comms[i]->hub != comms[0]->hub)
			return t3_comm_fail(comms[0], -EINVAL,
					    "comms[%u] is not of the t3_comm_create_local() that "
					    "made comms[0]",
					    i);
	}
	for (i = 0; i < ranks; i++)
		if (comms[i]->plans_over)
			return comms[i]->plans_over;
	return 0;
}

/* lengths: of each rank, or NULL for a plan without. */
static int create_all(struct t3_comm *const *comms, uint32_t ranks, const struct t3_plan_desc *desc,
		      const struct t3_plan_lengths *lengths, struct t3_plan **plans)
{
	struct setup *setups;
	uint32_t i;
	int ret;

	ret = desc && plans ? check_all(comms, ranks) : -EINVAL;
	if (ret)
		return ret;
	setups = calloc(ranks, sizeof(*setups));
	if (!setups)
		return -ENOMEM;
	for (i = 0; i < ranks; i++) {
		if (lengths)
			begin_uneven(&setups[i], comms[i], desc, &lengths[i], 0);
		else
			begin(&setups[i], comms[i], desc, 0);
		refuse_own_flag(&setups[i]);
	}
	ret = run(setups, ranks);
	while (begin_without_groups(setups, ranks, ret))
		ret = run(setups, ranks);
	for (i = 0; i < ranks; i++) {
		setups[i].plan = end(&setups[i], ret);
		if (!ret)
			plans[i] = setups[i].plan;
	}
	free(setups);
	return ret;
}

int t3_plan_create_all(struct t3_comm *const *comms, uint32_t ranks,
		       const struct t3_plan_desc *desc, struct t3_plan **plans)
{
	return create_all(comms, ranks, desc, NULL, plans);
}

int t3_plan_create_all_uneven(struct t3_comm *const *comms, uint32_t ranks,
			      const struct t3_plan_desc *desc,
			      const struct t3_plan_lengths *lengths, struct t3_plan **plans)
{
	return lengths ? create_all(comms, ranks, desc, lengths, plans) : -EINVAL;
}
