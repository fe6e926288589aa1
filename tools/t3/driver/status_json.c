// SPDX-License-Identifier: MIT
#include <stdlib.h>

#include "driver/debugfs.h"
#include "driver/status_json.h"

#define DEVICES_MOST 256u /* of a node */
#define RANK_MOST    31

/* Another node cannot look a process up here. */
static void name_owners(json_t *spaces)
{
	json_t *space;
	char name[32];
	size_t i;

	json_array_foreach(spaces, i, space)
	{
		process_name((uint64_t)record_number(space, "pid"), name, sizeof(name));
		json_object_set_new(space, "process", json_string(name));
	}
}

json_t *status_to_json(const struct status *status)
{
	json_t *list = json_array(), *object;
	size_t i;

	for (i = 0; i < status->count; i++) {
		name_owners(status->list[i].spaces);
		object = device_to_json(status->list[i].device);
		json_object_set_new(
			object, "fabric",
			json_integer((json_int_t)status->list[i].device->info.fabric_id));
		json_object_set(object, "spaces", status->list[i].spaces);
		json_object_set(object, "tiles", status->list[i].tiles);
		json_object_set(object, "queues", status->list[i].queues);
		if (status->list[i].links)
			json_object_set(object, "links", status->list[i].links);
		json_array_append_new(list, object);
	}
	return json_pack("{s:o}", "devices", list);
}

static bool is_device(const json_t *object)
{
	json_int_t rank = record_number(object, "rank");

	return json_is_object(object) && rank >= 0 && rank <= RANK_MOST &&
	       json_is_array(json_object_get(object, "spaces")) &&
	       json_is_array(json_object_get(object, "tiles")) &&
	       json_is_array(json_object_get(object, "queues"));
}

static void add_device(struct status *status, struct tool_device *device, const json_t *object,
		       uint32_t node)
{
	device->info.rank = (uint32_t)record_number(object, "rank");
	device->info.fabric_id = (uint64_t)record_number(object, "fabric");
	status->list[status->count++] = (struct status_device){
		.device = device,
		.node = (int)node,
		.spaces = json_object_get(object, "spaces"),
		.tiles = json_object_get(object, "tiles"),
		.queues = json_object_get(object, "queues"),
		.links = json_object_get(object, "links"),
	};
}

bool status_add_json(struct status *status, const json_t *document, uint32_t node,
		     struct tool_device **made)
{
	const json_t *devices = json_object_get(document, "devices"), *object;
	size_t count = json_array_size(devices), i;
	struct status_device *list;

	if (!json_is_array(devices) || count > DEVICES_MOST)
		return false;
	json_array_foreach(devices, i, object) if (!is_device(object)) return false;
	list = reallocarray(status->list, status->count + count + 1, sizeof(*list));
	*made = calloc(count + 1, sizeof(**made));
	if (list)
		status->list = list;
	if (!list || !*made)
		return false;
	json_array_foreach(devices, i, object) add_device(status, &(*made)[i], object, node);
	return true;
}
