/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The stream of a state: little-endian, without padding. SPEC.md section 13. */
#include "state/state.h"

bool t3_stream_refuse(struct t3_stream *s, const char *why)
{
	if (!s->refused)
		s->refused = why;
	return false;
}

bool t3_stream_rule(struct t3_stream *s, bool holds, const char *why)
{
	return holds && !s->refused ? true : t3_stream_refuse(s, why);
}

static void load(struct t3_stream *s, void *data, size_t len)
{
	if (s->refused || len > s->left) {
		t3_stream_refuse(s, "the state is truncated");
		memset(data, 0, len);
		return;
	}
	memcpy(data, s->data, len);
	s->data += len;
	s->left -= len;
}

void t3_stream_bytes(struct t3_stream *s, void *data, size_t len)
{
	if (s->loading) {
		load(s, data, len);
		return;
	}
	if (s->sink)
		s->sink(s->opaque, data, len);
	s->done += len;
}

void t3_stream_u32(struct t3_stream *s, uint32_t *value)
{
	t3_stream_bytes(s, value, sizeof(*value));
}

void t3_stream_u64(struct t3_stream *s, uint64_t *value)
{
	t3_stream_bytes(s, value, sizeof(*value));
}

void t3_stream_below(struct t3_stream *s, uint32_t *value, uint32_t end, const char *why)
{
	t3_stream_u32(s, value);
	if (s->loading && !t3_stream_rule(s, *value < end, why))
		*value = 0;
}

void t3_stream_bool(struct t3_stream *s, bool *value)
{
	uint32_t number = *value;

	t3_stream_below(s, &number, 2, "a flag is neither 0 nor 1");
	*value = number;
}

void t3_stream_time(struct t3_stream *s, uint64_t *value)
{
	t3_stream_u64(s, value);
	if (s->loading && !t3_stream_rule(s, *value < T3_TIME_MAX, "a time is out of range"))
		*value = 0;
}

void t3_stream_same(struct t3_stream *s, uint64_t value, const char *why)
{
	uint64_t other = value;

	t3_stream_u64(s, &other);
	if (s->loading)
		t3_stream_rule(s, other == value, why);
}

/* ------------------------------------------------------------ whole objects */

static void visit_frame(struct t3_stream *s, t3_visitor *visit, void *object, uint32_t magic,
			uint64_t length)
{
	t3_stream_same(s, (uint64_t)T3_STATE_VERSION << 32 | magic,
		       "the state is of another kind, or of another version");
	t3_stream_same(s, length, "the state's length differs from the length in its header");
	visit(s, object);
	t3_stream_same(s, T3_STATE_END, "the state's end marker is missing");
}

void t3_state_save(t3_visitor *visit, void *object, uint32_t magic, t3_sink *sink, void *opaque)
{
	struct t3_stream count = { 0 };
	struct t3_stream s = { .sink = sink, .opaque = opaque };

	visit_frame(&count, visit, object, magic, 0);
	visit_frame(&s, visit, object, magic, count.done);
}

const char *t3_state_load(t3_visitor *visit, void *object, uint32_t magic, const void *data,
			  size_t len)
{
	struct t3_stream s = { .loading = true, .data = data, .left = len };

	visit_frame(&s, visit, object, magic, len);
	t3_stream_rule(&s, !s.left, "the state has bytes after its end");
	return s.refused;
}
