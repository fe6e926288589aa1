/* SPDX-License-Identifier: MIT */
/* Turns the driver's records of work in flight into sentences. */
#ifndef T3_STATUS_H
#define T3_STATUS_H

#include "common/devices.h"

#define NO_NODE (-1)

struct status_device {
	const struct tool_device *device;
	int node;			 /* of a cluster; NO_NODE: this machine alone is shown */
	json_t *spaces, *tiles, *queues; /* records: debugfs.h */
	json_t *links;			 /* or NULL */
};

struct status {
	size_t count;
	struct status_device *list;
};

/* An array of strings. With all it includes spaces, queues and links that wait for nothing. */
json_t *status_sentences(const struct status *status, bool all);

#endif /* T3_STATUS_H */
