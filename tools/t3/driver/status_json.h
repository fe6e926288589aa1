/* SPDX-License-Identifier: MIT */
/* A node's status as JSON, for the report of all nodes of a cluster. */
#ifndef T3_STATUS_JSON_H
#define T3_STATUS_JSON_H

#include "driver/status.h"

/* The devices with their records. Each space has the name of its process, too. */
json_t *status_to_json(const struct status *status);
/*
 * Append a node's devices to the status. The records stay the document's; `made` gets the devices,
 * which the caller frees after use. False: the document is none of status_to_json(), or no memory.
 */
bool status_add_json(struct status *status, const json_t *document, uint32_t node,
		     struct tool_device **made);

#endif /* T3_STATUS_JSON_H */
