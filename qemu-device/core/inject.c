/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Fault injection: SPEC.md section 12. */
#include "t3_internal.h"

/* Counts an event; true when it is to be hit. */
bool t3_trip_hit(struct t3_trip *trip)
{
	if (!trip->nth || --trip->nth)
		return false;
	if (--trip->count)
		trip->nth = 1;
	return true;
}

static struct t3_link *link_of(const struct t3_fabric *fabric, const struct t3_cmd_inject *inject)
{
	if (inject->rank >= T3_MAX_RANKS || inject->peer >= T3_MAX_RANKS)
		return NULL;
	return fabric->link[inject->rank][inject->peer];
}

static uint32_t set_trip(struct t3_trip *trip, const struct t3_cmd_inject *inject)
{
	if (inject->nth && !inject->count)
		return T3_ADMIN_BAD_VALUE;
	trip->nth = inject->nth;
	trip->count = inject->count;
	return T3_ADMIN_OK;
}

uint32_t t3_inject(struct t3_fabric *fabric, const struct t3_cmd_inject *inject)
{
	struct t3_link *link = link_of(fabric, inject);

	if (!link)
		return T3_ADMIN_NO_ROUTE;
	switch (inject->kind) {
	case T3_INJECT_DROP:
	case T3_INJECT_DUPLICATE:
	case T3_INJECT_DROP_RESPONSE:
		return set_trip(&link->trip[inject->kind], inject);
	case T3_INJECT_LINK_DOWN:
	case T3_INJECT_LINK_UP:
		link->down = inject->kind == T3_INJECT_LINK_DOWN;
		return T3_ADMIN_OK;
	default:
		return T3_ADMIN_BAD_VALUE;
	}
}
