/* SPDX-License-Identifier: MIT */
/* Puts the driver's events on a timeline. */
#ifndef T3_TRACE_DRIVER_H
#define T3_TRACE_DRIVER_H

#include "common/devices.h"
#include "trace/perfetto.h"
#include "trace/tracefs.h"

struct trace_driver;

/* devices stay the caller's, and must exist longer. NULL: no memory. */
struct trace_driver *trace_driver_new(const struct tool_devices *devices,
				      struct perfetto *timeline);
void trace_driver_add(struct trace_driver *driver, const struct trace_line *line);
/* End all open slices. Nothing may be added afterwards. */
void trace_driver_finish(struct trace_driver *driver);
void trace_driver_free(struct trace_driver *driver);

#endif /* T3_TRACE_DRIVER_H */
