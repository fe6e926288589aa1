// SPDX-License-Identifier: GPL-2.0-only
/*
 * The device coredump: the state of the function before it, or one of its queues, was
 * reset. It is taken under admin_lock, where nothing may allocate memory, into a buffer of
 * the device. A work hands it over to the core. The core keeps the first dump until it was
 * read or five minutes have passed, so that it shows the first failure.
 *
 * Format, version 1. Text with one record in a line; numbers with 0x are hexadecimal. Each
 * line begins with its kind. Lines of a queue, space or segment follow its own line. If the
 * text does not fit into T3_DUMP_SIZE, the rest is missing and the last line is "truncated".
 *
 *  T3 devcoredump 1
 *  reason TEXT
 *  time SECONDS since boot
 *  driver MAJOR.MINOR
 *  device NAME rank R ranks R version V resets N
 *  register NAME OFFSET VALUE      all that are not part of an array
 *  counter INDEX VALUE             enum t3_counter_id
 *  queue ID priority P state S head H tail T (of the device) head H tail T (of the driver)
 *  job SEQNO done D of N           in the order of the ring; step D is the next
 *  step OPCODE op O dtype T rows R row_bytes B src ADDRESS dst ADDRESS
 *  space ID state S epoch E generation G in_flight N (of the device) state S epoch E (of
 *   the event area) aperture OFFSET size SIZE
 *  fault KIND detail D segment S tile T offset O epoch E src_rank R   the first one
 *  segment INDEX kind K word WORD tiles N tracked N
 *  tile INDEX count BYTES flags F  begun and not complete, as last written back by the
 *   tracker; at most T3_DUMP_TILES of a segment
 */
#include <linux/devcoredump.h>
#include <linux/io-64-nonatomic-lo-hi.h>
#include <linux/ktime.h>
#include <linux/seq_buf.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include <drm/drm_managed.h>

#include "t3_admin.h"
#include "t3_device.h"
#include "t3_dump.h"
#include "t3_event.h"
#include "t3_job.h"
#include "t3_queue.h"
#include "t3_regs.h"
#include "t3_space.h"

#define T3_DUMP_SIZE  (256 * 1024)
#define T3_DUMP_TILES 16
#define T3_DUMP_SCAN  4096 /* records looked at, of a segment */

struct t3_dump {
	struct t3_device *tdev;
	struct work_struct work;
	struct seq_buf text; /* admin_lock while !taken, else the work's */
	bool taken;
	char buffer[T3_DUMP_SIZE];
};

struct t3_dump_register {
	const char *name;
	u32 offset;
	bool wide;
};

#define T3_DUMP_32(name) { #name, T3_REG_##name, false }
#define T3_DUMP_64(name) { #name, T3_REG_##name, true }

static const struct t3_dump_register t3_dump_registers[] = {
	T3_DUMP_32(ID),		    T3_DUMP_32(VERSION),      T3_DUMP_32(CAPS),
	T3_DUMP_64(MEMORY_SIZE),    T3_DUMP_64(APERTURE_SIZE), T3_DUMP_32(MAX_SPACES),
	T3_DUMP_64(FABRIC_ID),	    T3_DUMP_32(RANK),	      T3_DUMP_32(RANKS),
	T3_DUMP_32(TOPOLOGY),	    T3_DUMP_32(TRACKER),      T3_DUMP_64(VCLOCK),
	T3_DUMP_32(INCARNATION),    T3_DUMP_32(ERROR_STATUS), T3_DUMP_32(ERROR_ENABLE),
	T3_DUMP_32(EVENT_VECTOR),   T3_DUMP_32(ERROR_VECTOR), T3_DUMP_32(EVENT_SUMMARY),
	T3_DUMP_64(DMA_ADDRESS),    T3_DUMP_64(POISON_ADDRESS),
	T3_DUMP_32(ADMIN_COMMAND),  T3_DUMP_32(ADMIN_STATUS),
};

static void t3_dump_header(struct t3_device *tdev, struct seq_buf *text, const char *reason)
{
	ktime_t now = ktime_get_boottime();

	seq_buf_printf(text, "T3 devcoredump 1\nreason %s\ntime %lld.%03lld\n", reason,
		       ktime_to_ms(now) / 1000, ktime_to_ms(now) % 1000);
	seq_buf_printf(text, "driver %u.%u\n", T3_DRIVER_MAJOR, T3_DRIVER_MINOR);
	seq_buf_printf(text, "device %s rank %u ranks %u version %#x resets %u\n",
		       dev_name(tdev->drm.dev), tdev->caps.rank, tdev->caps.ranks,
		       tdev->caps.version, atomic_read(&tdev->resets));
}

static void t3_dump_all_registers(struct t3_device *tdev, struct seq_buf *text)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(t3_dump_registers); i++) {
		const struct t3_dump_register *reg = &t3_dump_registers[i];
		void __iomem *address = tdev->regs + reg->offset;

		seq_buf_printf(text, "register %s %#x %#llx\n", reg->name, reg->offset,
			       reg->wide ? readq(address) : readl(address));
	}
	for (i = 0; i < T3_COUNTER_COUNT; i++)
		seq_buf_printf(text, "counter %u %llu\n", i, t3_hw_counter(tdev, i));
}

static void t3_dump_job(const struct t3_job *job, struct seq_buf *text)
{
	const struct t3_descriptor *step;

	seq_buf_printf(text, "job %llu done %u of %u\n", job->fence->base.seqno, job->done,
		       job->count);
	if (job->done == job->count)
		return;
	step = &job->steps[job->done].descriptor;
	seq_buf_printf(text, "step %u op %u dtype %u rows %u row_bytes %u src %#llx dst %#llx\n",
		       step->opcode, step->op, step->dtype, step->rows, step->row_bytes,
		       step->src, step->dst);
}

static void t3_dump_queue(struct t3_queue *queue, struct seq_buf *text)
{
	void __iomem *regs = queue->tdev->regs + 4 * queue->hw_id;
	const struct t3_job *job;

	lockdep_assert_held(&queue->lock);
	seq_buf_printf(text, "queue %u priority %u state %u head %u tail %u head %u tail %u\n",
		       queue->hw_id, queue->priority, readl(regs + T3_REG_QUEUE_STATE),
		       readl(regs + T3_REG_QUEUE_HEAD), readl(regs + T3_REG_QUEUE_TAIL),
		       queue->head, queue->tail);
	list_for_each_entry(job, &queue->in_flight, node)
		t3_dump_job(job, text);
}

static void t3_dump_queues(struct t3_device *tdev, struct seq_buf *text)
{
	struct t3_queue *queue;
	unsigned long flags;
	u32 id;

	for (id = 0; id < tdev->caps.max_queues; id++) {
		spin_lock_irqsave(&tdev->queue_lock, flags);
		queue = tdev->queues[id];
		if (queue) {
			spin_lock(&queue->lock);
			t3_dump_queue(queue, text);
			spin_unlock(&queue->lock);
		}
		spin_unlock_irqrestore(&tdev->queue_lock, flags);
	}
}

/* The segment table is not locked here, so its values are checked against the counter table. */
static void t3_dump_tiles(struct t3_space *space, u32 base, u32 tiles, u32 epoch,
			  struct seq_buf *text)
{
	struct t3_tile_record record;
	u32 i, shown = 0;

	if (base >= space->counter_count)
		return;
	tiles = min3(tiles, space->counter_count - base, (u32)T3_DUMP_SCAN);
	for (i = 0; i < tiles && shown < T3_DUMP_TILES; i++) {
		memcpy_fromio(&record,
			      space->tdev->memory + space->counters.start +
				      (u64)(base + i) * sizeof(record),
			      sizeof(record));
		if (record.epoch != epoch || !record.count ||
		    (record.flags & T3_TILE_TRIGGERED))
			continue;
		seq_buf_printf(text, "tile %u count %u flags %#x\n", i, record.count,
			       record.flags);
		shown++;
	}
}

static void t3_dump_segment(struct t3_space *space, u32 index, u32 epoch, struct seq_buf *text)
{
	const struct t3_segment *segment = &space->segments[index];
	struct t3_cmd_seg_stats cmd = { .space = space->hw_id, .segment = index };

	if (!READ_ONCE(segment->mapped) ||
	    t3_admin_locked(space->tdev, T3_CMD_SEG_STATS, &cmd, sizeof(cmd), true))
		return;
	seq_buf_printf(text, "segment %u kind %u word %#llx tiles %llu tracked %llu\n", index,
		       READ_ONCE(segment->kind), READ_ONCE(space->area->segment[index]),
		       cmd.tiles, cmd.tiles_tracked);
	if (cmd.tiles_tracked < cmd.tiles)
		t3_dump_tiles(space, READ_ONCE(segment->counter_base), cmd.tiles, epoch, text);
}

static void t3_dump_fault(const struct t3_fault_record *fault, struct seq_buf *text)
{
	seq_buf_printf(text,
		       "fault %u detail %u segment %d tile %d offset %#llx epoch %u src_rank %u\n",
		       READ_ONCE(fault->kind), READ_ONCE(fault->detail),
		       (s32)READ_ONCE(fault->segment), (s32)READ_ONCE(fault->tile),
		       READ_ONCE(fault->offset), READ_ONCE(fault->epoch),
		       READ_ONCE(fault->src_rank));
}

static void t3_dump_space(struct t3_space *space, struct seq_buf *text)
{
	struct t3_cmd_space cmd = { .space = space->hw_id };
	u64 state = t3_event_state(space);
	u32 i;

	if (t3_admin_locked(space->tdev, T3_CMD_SPACE_QUERY, &cmd, sizeof(cmd), true))
		return;
	seq_buf_printf(text, "space %u state %u epoch %u generation %u in_flight %u",
		       space->hw_id, cmd.state, cmd.epoch, cmd.generation, cmd.in_flight);
	seq_buf_printf(text, " state %u epoch %u aperture %#llx size %#llx\n",
		       t3_state_kind(state), t3_state_epoch(state), space->aperture.start,
		       space->size);
	if (READ_ONCE(space->area->faults))
		t3_dump_fault(&space->area->fault, text);
	for (i = 0; i < T3_SPACE_SEGMENTS && !seq_buf_has_overflowed(text); i++)
		t3_dump_segment(space, i, cmd.epoch, text);
}

static void t3_dump_spaces(struct t3_device *tdev, struct seq_buf *text)
{
	struct t3_space *space;
	unsigned long flags;
	u32 id;

	for (id = 0; id < tdev->caps.max_spaces && !seq_buf_has_overflowed(text); id++) {
		spin_lock_irqsave(&tdev->slot_lock, flags);
		space = tdev->slots[id];
		if (space)
			t3_space_get(space);
		spin_unlock_irqrestore(&tdev->slot_lock, flags);
		if (space)
			t3_dump_space(space, text);
		t3_space_put(space);
	}
}

/**
 * t3_dump_take() - dump the state of the function
 * @tdev: the device
 * @reason: for the head of the dump
 *
 * Before anything is reset. Nothing happens while an earlier dump is being handed over.
 *
 * Context: admin_lock is held; registers answer.
 */
void t3_dump_take(struct t3_device *tdev, const char *reason)
{
	struct t3_dump *dump = tdev->dump;

	lockdep_assert_held(&tdev->admin_lock);
	if (smp_load_acquire(&dump->taken)) /* pairs with t3_dump_work() */
		return;
	seq_buf_init(&dump->text, dump->buffer, sizeof(dump->buffer));
	t3_dump_header(tdev, &dump->text, reason);
	t3_dump_all_registers(tdev, &dump->text);
	t3_dump_queues(tdev, &dump->text);
	t3_dump_spaces(tdev, &dump->text);
	dump->taken = true;
	schedule_work(&dump->work);
}

#define T3_DUMP_TRUNCATED "truncated\n"

/* Copies whole lines, and says in the last one if there are more. Returns the length. */
static size_t t3_dump_copy(struct seq_buf *text, char *copy)
{
	size_t length = seq_buf_used(text);

	memcpy(copy, text->buffer, length);
	if (!seq_buf_has_overflowed(text))
		return length;
	while (length && copy[length - 1] != '\n')
		length--;
	memcpy(copy + length, T3_DUMP_TRUNCATED, strlen(T3_DUMP_TRUNCATED));
	return length + strlen(T3_DUMP_TRUNCATED);
}

/* The core frees the copy by vfree(). */
static void t3_dump_hand_over(struct t3_dump *dump)
{
	char *copy = vmalloc(seq_buf_used(&dump->text) + sizeof(T3_DUMP_TRUNCATED));

	if (copy)
		dev_coredumpv(dump->tdev->drm.dev, copy, t3_dump_copy(&dump->text, copy),
			      GFP_KERNEL);
}

static void t3_dump_work(struct work_struct *work)
{
	struct t3_dump *dump = container_of(work, struct t3_dump, work);

	t3_dump_hand_over(dump);
	smp_store_release(&dump->taken, false); /* pairs with t3_dump_take() */
}

static void t3_dump_free(struct drm_device *drm, void *dump)
{
	vfree(dump);
}

/**
 * t3_dump_init() - allocate the buffer of the dump
 * @tdev: the device
 *
 * Context: probe.
 * Return: 0 or -ENOMEM.
 */
int t3_dump_init(struct t3_device *tdev)
{
	tdev->dump = vzalloc(sizeof(*tdev->dump));
	if (!tdev->dump)
		return -ENOMEM;
	tdev->dump->tdev = tdev;
	INIT_WORK(&tdev->dump->work, t3_dump_work);
	return drmm_add_action_or_reset(&tdev->drm, t3_dump_free, tdev->dump);
}

/**
 * t3_dump_stop() - wait until no dump is being handed over
 * @tdev: the device
 *
 * The device is unplugged, so none is taken any more.
 *
 * Context: remove, or a failed probe. Sleeps.
 */
void t3_dump_stop(struct t3_device *tdev)
{
	cancel_work_sync(&tdev->dump->work);
}

#ifdef T3_KUNIT
#include "tests/t3_dump_test.c"
#endif
