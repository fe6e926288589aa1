// SPDX-License-Identifier: MIT
/* Compares the core's calls to its host with those of the record. */
#include "sim/state.h"

/*
 * Take the next record, if it has this type and device. NULL: nothing is left to compare, or the
 * next record is another one.
 */
static const struct replay_head *next(struct replay *replay, uint32_t type, uint32_t slot)
{
	struct replay_head *head = replay_peek(replay);

	if (!head)
		return NULL;
	if (head->type != type ||
	    (type != T3_REC_KICK && type != T3_REC_END && head->slot != slot)) {
		replay_diverged(replay, NULL, "%s of device %u", replay_type_name(type), slot);
		return NULL;
	}
	head->valid = false;
	return head;
}

static void differs(struct replay *replay, const char *what, uint64_t recorded, uint64_t replayed)
{
	char text[64];

	if (recorded == replayed || replay->reader.ended)
		return;
	snprintf(text, sizeof(text), "%s 0x%llx", what, (unsigned long long)recorded);
	replay_diverged(replay, text, "%s 0x%llx", what, (unsigned long long)replayed);
}

/* The record ended while it was read. The core's call goes on without a comparison. */
static bool cut_off(struct replay *replay)
{
	if (replay->reader.ended)
		replay->over = true;
	return replay->over;
}

/* ----------------------------------------------------------------- callbacks */

static bool dma_read(void *opaque, uint64_t addr, void *buf, size_t len)
{
	struct replay_device *d = opaque;
	struct replay *replay = d->replay;
	const struct replay_head *head = next(replay, T3_REC_DMA_READ, d->slot);
	bool failed;

	if (!head)
		return false;
	failed = head->flags & T3_REC_FAILED;
	differs(replay, "DMA_READ of address", replay_address(replay, d->slot, T3_REC_AT_DMA),
		addr);
	differs(replay, "DMA_READ of length", reader_number(&replay->reader), len);
	if (replay->over || cut_off(replay))
		return false;
	replay_log(replay, "    DMA_READ  device %u  0x%llx  %zu bytes%s", d->slot,
		   (unsigned long long)addr, len, failed ? "  failed" : "");
	if (failed)
		return false;
	reader_bytes(&replay->reader, buf, len);
	return !cut_off(replay);
}

static void compare_written(struct replay *replay, const void *buf, size_t len)
{
	uint64_t recorded[2] = { 0 }, replayed[2] = { 0 };

	if (len <= T3_REC_DMA_PLAIN) {
		reader_bytes(&replay->reader, recorded, len);
		memcpy(replayed, buf, len);
		differs(replay, "DMA_WRITE of", recorded[0], replayed[0]);
		differs(replay, "DMA_WRITE of, from byte 8,", recorded[1], replayed[1]);
	} else {
		reader_bytes(&replay->reader, recorded, sizeof(recorded[0]));
		differs(replay, "DMA_WRITE of data with hash", recorded[0],
			t3_record_hash(0, buf, len));
	}
}

static bool dma_write(void *opaque, uint64_t addr, const void *buf, size_t len)
{
	struct replay_device *d = opaque;
	struct replay *replay = d->replay;
	const struct replay_head *head = next(replay, T3_REC_DMA_WRITE, d->slot);
	bool failed;

	if (!head)
		return true;
	failed = head->flags & T3_REC_FAILED;
	differs(replay, "DMA_WRITE to address", replay_address(replay, d->slot, T3_REC_AT_DMA),
		addr);
	differs(replay, "DMA_WRITE of length", reader_number(&replay->reader), len);
	if (!replay->over)
		compare_written(replay, buf, len);
	if (replay->over || cut_off(replay))
		return true;
	replay_log(replay, "    DMA_WRITE  device %u  0x%llx  %zu bytes%s", d->slot,
		   (unsigned long long)addr, len, failed ? "  failed" : "");
	return !failed;
}

static void irq(void *opaque, uint32_t vector)
{
	struct replay_device *d = opaque;
	struct replay *replay = d->replay;

	if (!next(replay, T3_REC_IRQ, d->slot))
		return;
	differs(replay, "IRQ vector", reader_number(&replay->reader), vector);
	if (!replay->over && !cut_off(replay))
		replay_log(replay, "    IRQ  device %u  vector %u", d->slot, vector);
}

static void kick(void *opaque)
{
	struct replay *replay = opaque;

	if (next(replay, T3_REC_KICK, 0))
		replay_log(replay, "    KICK");
}

static void guest_error(void *opaque, const char *what)
{
	struct replay_device *d = opaque;

	replay_log(d->replay, "    guest error  device %u  %s", d->slot, what);
}

static void trace_state(void *opaque, uint32_t space, uint32_t from, uint32_t to, uint32_t epoch)
{
	struct replay_device *d = opaque;

	replay_log(d->replay, "    state  device %u  space %u  %s to %s  epoch %u", d->slot, space,
		   t3_name_space_state(from), t3_name_space_state(to), epoch);
	if (d->replay->options->watch && d->attached)
		d->replay->options->watch->state(d->replay->options->opaque, d->dev, d->rank, space,
						 from, to, epoch);
}

static void trace_fault(void *opaque, uint32_t space, const struct t3_fault_record *record)
{
	struct replay_device *d = opaque;

	replay_log(d->replay, "    fault  device %u  space %u  %s  segment %d  tile %d", d->slot,
		   space, t3_name_fault(record->kind), (int)record->segment, (int)record->tile);
}

static void trace_trigger(void *opaque, uint32_t space, uint32_t segment, uint32_t tile)
{
	struct replay_device *d = opaque;

	replay_log(d->replay, "    trigger  device %u  space %u  segment %u  tile %u", d->slot,
		   space, segment, tile);
}

static void trace_queue(void *opaque, uint32_t queue, uint32_t from, uint32_t to)
{
	struct replay_device *d = opaque;

	replay_log(d->replay, "    queue  device %u  queue %u  %s to %s", d->slot, queue,
		   t3_name_queue_state(from), t3_name_queue_state(to));
}

static void trace_descriptor(void *opaque, uint32_t queue, uint32_t index, uint32_t opcode,
			     uint32_t status)
{
	struct replay_device *d = opaque;

	replay_log(d->replay, "    descriptor  device %u  queue %u  index %u  %s  status %s",
		   d->slot, queue, index, t3_name_opcode(opcode),
		   t3_name_descriptor_status(status));
	if (d->replay->options->watch && d->attached)
		d->replay->options->watch->descriptor(d->replay->options->opaque, d->dev, d->rank,
						      queue, status);
}

static void trace_block(void *opaque, uint32_t space, uint32_t segment, uint32_t tile, bool sent)
{
	struct replay_device *d = opaque;

	replay_log(d->replay, "    block %s  device %u  space %u  segment %u  first tile %u",
		   sent ? "sent" : "started", d->slot, space, segment, tile);
}

static void trace_timeout(void *opaque, uint32_t peer, uint32_t packets, bool given_up)
{
	struct replay_device *d = opaque;

	replay_log(d->replay, "    link  device %u  to rank %u  %s %u packets", d->slot, peer,
		   given_up ? "gives up" : "resends", packets);
}

static void trace_link(void *opaque, uint32_t peer, bool down)
{
	struct replay_device *d = opaque;

	replay_log(d->replay, "    link  device %u  to rank %u  %s", d->slot, peer,
		   down ? "down" : "up");
}

static void trace_accident(void *opaque, uint32_t peer, uint32_t kind, uint64_t sequence)
{
	struct replay_device *d = opaque;

	replay_log(d->replay, "    accident  device %u  to rank %u  %s  packet %llu", d->slot, peer,
		   t3_name_inject(kind), (unsigned long long)sequence);
}

static void trace_loss(void *opaque, uint32_t peer)
{
	struct replay_device *d = opaque;

	replay_log(d->replay, "    loss  device %u  of rank %u", d->slot, peer);
}

static void trace_nak(void *opaque, const struct t3_packet *packet, uint32_t nak)
{
	struct replay_device *d = opaque;

	replay_log(d->replay, "    nak  device %u  space %u  %s from rank %u  %s", d->slot,
		   packet->dst_space, t3_name_packet(packet->type), packet->src_rank,
		   t3_name_nak(nak));
}

const struct t3_host_ops replay_host_ops = {
	.dma_read = dma_read,
	.dma_write = dma_write,
	.irq = irq,
	.guest_error = guest_error,
	.trace_state = trace_state,
	.trace_fault = trace_fault,
	.trace_trigger = trace_trigger,
	.trace_queue = trace_queue,
	.trace_descriptor = trace_descriptor,
	.trace_block = trace_block,
	.trace_timeout = trace_timeout,
	.trace_link = trace_link,
	.trace_accident = trace_accident,
	.trace_loss = trace_loss,
	.trace_nak = trace_nak,
};

const struct t3_fabric_ops replay_fabric_ops = {
	.kick = kick,
};

/* ------------------------------------------------------------- device memory */

/* True: the next record is MEMORY for this read. */
static bool memory_is_next(struct replay *replay)
{
	const struct replay_head *head = replay_peek(replay);

	return head && head->type == T3_REC_MEMORY && head->fetches == replay->context.fetches;
}

/* The bytes that the CPU had written by then. */
static void fetch(void *opaque, uint64_t offset, uint64_t len)
{
	struct replay_device *d = opaque;
	struct replay *replay = d->replay;
	const struct replay_head *head = &replay->head;

	replay->context.fetches++;
	while (!replay->over && memory_is_next(replay)) {
		if (head->slot != d->slot || head->offset < offset || head->length > len ||
		    head->offset - offset > len - head->length) {
			replay_diverged(replay, NULL, "a read of device %u, 0x%llx, %llu bytes",
					d->slot, (unsigned long long)offset,
					(unsigned long long)len);
			return;
		}
		replay->head.valid = false;
		replay->context.fetches = 0;
		reader_bytes(&replay->reader, d->memory + head->offset, head->length);
		if (cut_off(replay))
			return;
		replay_log(replay, "    MEMORY  device %u  0x%llx  %llu bytes", d->slot,
			   (unsigned long long)head->offset, (unsigned long long)head->length);
	}
}

static void stored(void *opaque, uint64_t offset, uint64_t len)
{
	struct replay_device *d = opaque;

	t3_record_hash_memory(&d->replay->context, d->slot, offset, d->memory + offset, len);
}

const struct t3_mem_watch replay_mem_watch = {
	.fetch = fetch,
	.stored = stored,
};

/* ------------------------------------------------------------ end of an entry */

static void compare_hash(struct replay *replay, uint32_t flags)
{
	struct t3_record_context *context = &replay->context;
	uint16_t recorded = t3_record_check(context->told);

	if (flags & T3_REC_HASH)
		reader_bytes(&replay->reader, &recorded, sizeof(recorded));
	differs(replay, "hash of all writes to device memory", recorded,
		t3_record_check(context->hash));
	context->told = context->hash;
}

void replay_end(struct replay *replay, uint64_t value, uint32_t size)
{
	const struct replay_head *head = next(replay, T3_REC_END, 0);
	struct t3_record_context *context = &replay->context;
	uint64_t recorded = 0, returned = 0;

	if (!head)
		return;
	memcpy(&returned, &value, size);
	if (size) {
		reader_bytes(&replay->reader, &recorded, size);
		differs(replay, "result", recorded, returned);
	}
	if (head->flags & T3_REC_TIME) {
		context->now += reader_number(&replay->reader);
		context->seq += reader_number(&replay->reader);
	}
	differs(replay, "virtual time", context->now, t3_fabric_now(replay->fabric));
	differs(replay, "event number", context->seq, t3_fabric_event_number(replay->fabric));
	compare_hash(replay, head->flags);
	cut_off(replay);
	if (!replay->over && size)
		replay_log(replay, "    = 0x%llx", (unsigned long long)returned);
}
