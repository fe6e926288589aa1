/* SPDX-License-Identifier: MIT */
/* What spaces do in epochs, for tests/model/epoch.pml: into the file that T3_SPACE_TRACE names. */
#include <stdio.h>
#include <stdlib.h>

#include "space/space_private.h"
#include "spy.h"

/* tests/model/epoch.pml has the same. i: of a route or import */
enum kind {
	BEGINS,	      /* a generation: rank, space */
	ROUTE,	      /* i, whether it is used; it is new */
	IMPORT,	      /* i, whether it is used; it is new */
	ARM,	      /* epoch, whether the memory is ready at once */
	PREPARED,     /* it is ready now */
	RELEASE,      /* epoch */
	HEARD,	      /* i, epoch, state of the target */
	POISONED,     /* i, epoch */
	LOST,	      /* i, whether it is an import: its device has gone */
	GONE,	      /* these were all that are lost */
	ANSWERS,      /* i, epoch, state: a source has asked, or loses its grant */
	UPDATE,	      /* epoch, t3_nak */
	BECOMES,      /* state, whether all is delivered */
	TELLS_TARGET, /* i, t3_packet_type, epoch */
	TELLS_SOURCE, /* i, epoch, state */
	REFUSED,      /* a packet of the space had no effect */
	ENDS,	      /* state */
	NOTHING,
};

#define EPOCH_MAX 0x7fffffffu /* the model's numbers have a sign */

struct peer {
	bool used;
	uint32_t rank, space, generation, import;
	uint32_t epoch; /* that it told; when it is 0 again, it is a new one */
};

struct run {
	struct run *next;
	const struct t3_space *space;
	bool blind; /* it has a part that cannot be seen */
	struct peer route[T3_SPACE_ROUTES], import[T3_SPACE_IMPORTS];
	struct spy_events events;
};

static struct run *first; /* the one that was looked for last */

REAL(void, t3_space_set_state, struct t3_space *space, uint32_t state);
REAL(void, t3_space_put_state, struct t3_space *space, uint32_t state);
REAL(void, t3_epoch_arm, struct t3_space *space, uint32_t epoch);
REAL(void, t3_epoch_prepared, struct t3_space *space);
REAL(void, t3_epoch_release, struct t3_space *space, uint32_t epoch);
REAL(void, t3_epoch_peer_state, struct t3_space *space, struct t3_route *route, uint32_t state,
     uint32_t epoch);
REAL(void, t3_epoch_poisoned, struct t3_space *space, struct t3_import *import, uint32_t epoch);
REAL(void, t3_epoch_peer_lost, struct t3_space *space, uint32_t rank, const uint32_t *generation);
REAL(void, t3_epoch_send_state, struct t3_space *space, struct t3_import *import, uint32_t state,
     uint32_t epoch);
REAL(void, t3_epoch_send_gone, struct t3_space *space, uint32_t state);
REAL(void, t3_pump_control, struct t3_space *space, struct t3_link *link, struct t3_ctl *ctl,
     const struct t3_packet *packet);
REAL(void, t3_pump_response, struct t3_link *link, const struct t3_packet *packet, uint32_t status);
REAL(uint32_t, t3_packet_receive, struct t3_link *link, const struct t3_packet *packet,
     const uint8_t *payload);
REAL(void, t3_spaces_fini, struct t3_dev *dev);

/* ------------------------------------------------------------------------ runs */

static void end(struct run *r)
{
	spy_write(&r->events, "T3_SPACE_TRACE");
	free(r);
}

static void end_all(void)
{
	struct run *r;

	while ((r = first)) {
		first = r->next;
		end(r);
	}
}

/* NULL: nobody has seen it begin. */
static struct run *run_of(const struct t3_space *space)
{
	struct run **at = &first, *r;

	while ((r = *at) && r->space != space)
		at = &r->next;
	if (!r)
		return NULL;
	*at = r->next;
	r->next = first;
	first = r;
	return r;
}

static void end_of(const struct t3_space *space)
{
	struct run *r = run_of(space);

	if (!r)
		return;
	first = r->next;
	end(r);
}

static void add(struct run *r, struct spy_event event)
{
	if (r && !r->blind)
		spy_add(&r->events, event);
}

static void begin(const struct t3_space *space)
{
	static bool registered;
	struct run *r = calloc(1, sizeof(*r));

	if (!r)
		abort();
	if (!registered)
		atexit(end_all);
	registered = true;
	end_of(space); /* its last generation */
	r->space = space;
	r->next = first;
	first = r;
	add(r, (struct spy_event){ BEGINS, space->dev->rank, space->id, 0 });
}

/* ----------------------------------------------------------------------- peers */

static void compare(struct run *r, uint32_t kind, uint32_t i, struct peer *known, struct peer now)
{
	bool same;

	if (!known->used && !now.used)
		return;
	same = known->used && now.used && known->rank == now.rank && known->space == now.space &&
	       known->generation == now.generation && known->import == now.import &&
	       (now.epoch || !known->epoch);
	*known = now;
	if (same)
		return;
	add(r, (struct spy_event){ kind, i, now.used, 0 });
}

/* An epoch that the model's numbers cannot be. */
static void bound(struct run *r, uint32_t epoch)
{
	if (r)
		r->blind |= epoch > EPOCH_MAX;
}

/* Routes and imports may have come and gone since the last event. */
static struct run *look(const struct t3_space *space)
{
	struct run *r = run_of(space);
	uint32_t i;

	if (!r || r->blind)
		return NULL;
	for (i = 0; i < T3_SPACE_ROUTES; i++) {
		const struct t3_route *route = &space->route[i];

		r->blind |= route->claim != T3_CLAIM_NONE;
		compare(r, ROUTE, i, &r->route[i],
			(struct peer){ route->used, route->rank, route->space, route->generation,
				       route->import, route->peer_epoch + route->dead });
	}
	for (i = 0; i < T3_SPACE_IMPORTS; i++) {
		const struct t3_import *import = &space->import[i];

		compare(r, IMPORT, i, &r->import[i],
			(struct peer){ import->used, import->rank, import->space,
				       import->generation, 0, import->poisoned });
	}
	bound(r, space->epoch);
	return r;
}

static uint32_t route_number(const struct t3_space *space, const struct t3_route *route)
{
	return (uint32_t)(route - space->route);
}

static uint32_t import_number(const struct t3_space *space, const struct t3_import *import)
{
	return (uint32_t)(import - space->import);
}

/* ---------------------------------------------------------------------- states */

static bool is_delivered(const struct t3_space *space)
{
	bool all = !space->segs_left;
	uint32_t i;

	for (i = 0; i < space->seg_count; i++)
		all &= space->sorted[i]->tiles_tracked == space->sorted[i]->tiles &&
		       space->sorted[i]->acked_bytes == space->sorted[i]->send_bytes;
	return all;
}

void __wrap_t3_space_set_state(struct t3_space *space, uint32_t state)
{
	if (state == T3_SPACE_IDLE && space->fresh)
		begin(space);
	else
		add(run_of(space),
		    (struct spy_event){ BECOMES, state,
					state == T3_SPACE_COMPLETE && is_delivered(space), 0 });
	__real_t3_space_set_state(space, state);
}

/* A saved state is loaded, or the slot is cleared. */
void __wrap_t3_space_put_state(struct t3_space *space, uint32_t state)
{
	end_of(space);
	__real_t3_space_put_state(space, state);
}

void __wrap_t3_spaces_fini(struct t3_dev *dev)
{
	struct run **at = &first, *r;

	while ((r = *at)) {
		if (r->space->dev == dev) {
			*at = r->next;
			end(r);
		} else {
			at = &r->next;
		}
	}
	__real_t3_spaces_fini(dev);
}

void __wrap_t3_epoch_send_gone(struct t3_space *space, uint32_t state)
{
	add(look(space), (struct spy_event){ ENDS, state, 0, 0 });
	__real_t3_epoch_send_gone(space, state);
}

/* --------------------------------------------------------------------- doorbells */

void __wrap_t3_epoch_arm(struct t3_space *space, uint32_t epoch)
{
	struct run *r = look(space);
	size_t at;

	bound(r, epoch);
	add(r, (struct spy_event){ ARM, epoch, 1, 0 });
	at = r ? r->events.count : 0;
	__real_t3_epoch_arm(space, epoch);
	if (space->preparing && r && !r->blind)
		r->events.event[at - 1].b = 0;
}

void __wrap_t3_epoch_prepared(struct t3_space *space)
{
	add(look(space), (struct spy_event){ PREPARED, 0, 0, 0 });
	__real_t3_epoch_prepared(space);
}

void __wrap_t3_epoch_release(struct t3_space *space, uint32_t epoch)
{
	add(look(space), (struct spy_event){ RELEASE, epoch, 0, 0 });
	__real_t3_epoch_release(space, epoch);
}

/* ---------------------------------------------------------------------- messages */

void __wrap_t3_epoch_peer_state(struct t3_space *space, struct t3_route *route, uint32_t state,
				uint32_t epoch)
{
	bound(run_of(space), epoch);
	add(look(space), (struct spy_event){ HEARD, route_number(space, route), epoch, state });
	__real_t3_epoch_peer_state(space, route, state, epoch);
	look(space);
}

void __wrap_t3_epoch_poisoned(struct t3_space *space, struct t3_import *import, uint32_t epoch)
{
	bound(run_of(space), epoch);
	add(look(space), (struct spy_event){ POISONED, import_number(space, import), epoch, 0 });
	__real_t3_epoch_poisoned(space, import, epoch);
	look(space);
}

void __wrap_t3_epoch_send_state(struct t3_space *space, struct t3_import *import, uint32_t state,
				uint32_t epoch)
{
	add(look(space), (struct spy_event){ ANSWERS, import_number(space, import), epoch, state });
	__real_t3_epoch_send_state(space, import, state, epoch);
}

static bool is_lost(const struct peer *peer, uint32_t rank, const uint32_t *generation)
{
	return peer->used && peer->rank == rank &&
	       (!generation || (int32_t)(generation[peer->space] - peer->generation) > 0);
}

void __wrap_t3_epoch_peer_lost(struct t3_space *space, uint32_t rank, const uint32_t *generation)
{
	struct run *r = t3_space_live(space) ? look(space) : NULL;
	uint32_t i;

	for (i = 0; r && i < T3_SPACE_ROUTES; i++)
		if (is_lost(&r->route[i], rank, generation))
			add(r, (struct spy_event){ LOST, i, 0, 0 });
	for (i = 0; r && i < T3_SPACE_IMPORTS; i++)
		if (is_lost(&r->import[i], rank, generation))
			add(r, (struct spy_event){ LOST, i, 1, 0 });
	add(r, (struct spy_event){ GONE, 0, 0, 0 });
	__real_t3_epoch_peer_lost(space, rank, generation);
	look(space);
}

void __wrap_t3_pump_control(struct t3_space *space, struct t3_link *link, struct t3_ctl *ctl,
			    const struct t3_packet *packet)
{
	struct run *r = run_of(space);

	if (packet->type == T3_PKT_STATE)
		add(r, (struct spy_event){
			       TELLS_SOURCE,
			       import_number(space, t3_container_of(ctl, struct t3_import, ctl)),
			       packet->epoch, packet->arg });
	else if (packet->type != T3_PKT_CLAIM)
		add(r, (struct spy_event){
			       TELLS_TARGET,
			       route_number(space, t3_container_of(ctl, struct t3_route, ctl)),
			       packet->type, packet->epoch });
	__real_t3_pump_control(space, link, ctl, packet);
}

/* ----------------------------------------------------------------------- updates */

/* Those that are refused before the space's epoch is looked at are none of its business. */
static bool is_judged(uint32_t nak)
{
	return nak != T3_NAK_MALFORMED && nak != T3_NAK_NO_DEVICE && nak != T3_NAK_NO_SPACE &&
	       nak != T3_NAK_GENERATION && nak != T3_NAK_NO_GRANT;
}

uint32_t __wrap_t3_packet_receive(struct t3_link *link, const struct t3_packet *packet,
				  const uint8_t *payload)
{
	struct t3_dev *dev = link->fabric->dev[link->dst];
	struct run *r = NULL;
	uint32_t nak;
	size_t at = 0;

	if (dev && packet->type == T3_PKT_UPDATE && packet->dst_space < T3_MAX_SPACES)
		r = look(&t3_spaces(dev)->space[packet->dst_space]);
	if (r) {
		add(r, (struct spy_event){ NOTHING, packet->epoch, 0, 0 });
		at = r->events.count - 1;
	}
	nak = __real_t3_packet_receive(link, packet, payload);
	/* A burst that is refused comes again, packet by packet. */
	if (r && !r->blind && is_judged(nak) &&
	    (nak == T3_NAK_NONE || t3_burst_packets(packet) == 1)) {
		r->events.event[at].kind = UPDATE;
		r->events.event[at].b = nak;
	}
	return nak;
}

static bool has_failed(const struct t3_space *space, const struct t3_packet *packet,
		       uint32_t status)
{
	if (space->state == T3_SPACE_FREE || packet->src_generation != t3_space_generation(space) ||
	    packet->type == T3_PKT_CLAIM || status == T3_NAK_NONE)
		return false;
	return packet->type == T3_PKT_UPDATE || packet->type == T3_PKT_ARM_QUERY ||
	       status == T3_STATUS_LINK;
}

void __wrap_t3_pump_response(struct t3_link *link, const struct t3_packet *packet, uint32_t status)
{
	const struct t3_space *space =
		&t3_spaces(link->fabric->dev[link->src])->space[packet->src_space];

	if (has_failed(space, packet, status))
		add(look(space), (struct spy_event){ REFUSED, 0, 0, 0 });
	__real_t3_pump_response(link, packet, status);
}
