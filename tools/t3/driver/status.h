/* SPDX-License-Identifier: MIT */
/* What the driver's files say of work in flight, put into sentences. */
#ifndef T3_STATUS_H
#define T3_STATUS_H

#include "common/devices.h"

struct status_device {
	const struct tool_device *device;
	json_t *spaces, *tiles, *queues; /* records: debugfs.h */
};

struct status {
	size_t count;
	struct status_device *list;
};

/* An array of strings; with all also of spaces and queues that wait for nothing. */
json_t *status_sentences(const struct status *status, bool all);

#endif /* T3_STATUS_H */
