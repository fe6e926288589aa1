/* SPDX-License-Identifier: MIT */
/* A device's port of the fabric's switch, for the commands that show it. */
#ifndef T3_PORT_H
#define T3_PORT_H

#include "common/devices.h"

/* False: the fabric has no switch, or the port could not be read. */
bool port_read(const struct tool_device *device, struct drm_t3_switch_info *port);
json_t *port_to_json(const struct drm_t3_switch_info *port);

#endif /* T3_PORT_H */
