// SPDX-License-Identifier: MIT
#include "common/port.h"

bool port_read(const struct tool_device *device, struct drm_t3_switch_info *port)
{
	return device->info.features & DRM_T3_FEATURE_GROUPS &&
	       !t3_device_switch(device->dev, port);
}

json_t *port_to_json(const struct drm_t3_switch_info *port)
{
	const struct {
		const char *name;
		uint64_t value;
	} fields[] = {
		{ "groups", port->groups },
		{ "entries", port->entries },
		{ "used", port->entries_used },
		{ "most", port->entries_most },
		{ "ready", port->ready },
		{ "taken", port->taken },
		{ "merged", port->merged },
		{ "alone", port->alone },
		{ "full", port->full },
		{ "partial", port->partial },
		{ "sums", port->sums },
		{ "copies", port->copies },
		{ "busy", port->busy },
		{ "refused", port->refused },
		{ "wrong_keys", port->wrong_keys },
	};
	json_t *object = json_object();
	size_t i;

	for (i = 0; i < sizeof(fields) / sizeof(*fields); i++)
		json_object_set_new(object, fields[i].name,
				    json_integer((json_int_t)fields[i].value));
	return object;
}
