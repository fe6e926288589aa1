/* SPDX-License-Identifier: MIT */
/*
 * Events of a link or a space, for a model that must be able to do the same (tests/follow.py).
 * Programs that tests/model/meson.build links append them to a file, one run after the other.
 */
#ifndef T3_TEST_SPY_H
#define T3_TEST_SPY_H

#include <stddef.h>
#include <stdint.h>

/* In a file, tests/model/follow.h reads them. Kind 0 begins a run. */
struct spy_event {
	uint32_t kind, a, b, c;
};

struct spy_events {
	size_t count, room;
	struct spy_event *event;
};

/* Returns its place. */
size_t spy_add(struct spy_events *events, struct spy_event event);
/* Append to the file that the variable names, and forget. No file: they are only forgotten. */
void spy_write(struct spy_events *events, const char *variable);

/* A function that the linker lets through the spy. */
#define REAL(type, name, ...)            \
	type __real_##name(__VA_ARGS__); \
	type __wrap_##name(__VA_ARGS__)

#endif /* T3_TEST_SPY_H */
