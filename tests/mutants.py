#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Break the product on purpose, one place at a time, and see the tests fail.

usage: mutants.py [NAME...]     (default: all; --list names them, --check only sees
                                 that each still has its place in the tree)

Those of the suite debug:PROGRAM are for one guest program under the debug kernel, which
is built first if it has to be.

Each mutant is one edit in a copy of the tree; the working tree is not touched.
The unedited copy must pass first. Ends in one line "N passed, N failed": passed
is a mutant that a test caught, by a failing test and not by a failing build.
"""

import collections
import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
BUILD = pathlib.Path(os.environ.get("T3_BUILD", ROOT / ".build"))
CACHE = pathlib.Path(os.environ.get("T3_CACHE", ROOT / ".cache"))
COPY = BUILD / "mutants"
SECONDS = 900
PROGRAM_SECONDS = 180
KERNEL_SECONDS = 3600
CONFORMANCE = ".build/conformance-native"
SLOW = {"test_coll_plan", "test_core_campaign", "test_core_node_wire", "test_core_timed_property"}
# With a QEMU of its own, for the files of the device outside the core.
OWN = {"T3_BUILD": str(COPY / ".build/own")}
DEBUG = {"T3_BUILD": str(COPY / ".build/debug"), "T3_KERNEL": "kernel-debug"}

Mutant = collections.namedtuple("Mutant", "name suite file old new")

MUTANTS = [
    Mutant("tracker-count", "unit", "qemu-device/core/space/tracker.c",
           "entry->count += bytes;\n	entry->used = t3_spaces(dev)",
           "entry->count += bytes > 4 ? 4 : bytes;\n	entry->used = t3_spaces(dev)"),
    Mutant("tracker-spill-lost", "unit", "qemu-device/core/space/tracker.c",
           "record->count = entry->count;", "record->count = 0;"),
    Mutant("overshoot-check", "unit", "qemu-device/core/space/tracker.c",
           "if ((uint64_t)entry->count + bytes > expected)", "if (!bytes)"),
    Mutant("comm-open-directory", "unit", "libt3/comm/place.c", "if (st.st_mode & 077)",
           "if (st.st_mode & 007)"),
    Mutant("comm-board-unsealed", "unit", "libt3/comm/board.c",
           "(seals & BOARD_SEALS) == BOARD_SEALS", "seals != -2"),
    Mutant("comm-grace", "unit", "libt3/comm/socket.c", "if (!comm_time_left(grace_ns, 1))",
           "if (!comm)"),
    Mutant("comm-barrier-round", "unit", "libt3/comm/message.c", "step *= 2)", "step *= 4)"),
    Mutant("comm-node", "unit", "libt3/comm/node.c", "sizeof(a->node))", "16)"),
    Mutant("comm-tell", "unit", "libt3/comm/blame.c", "if (cause != before)", "if (comm->ranks < 3)"),
    Mutant("comm-look", "unit", "libt3/comm/blame.c", "	comm_look_for_causes(comm);\n", ""),
    Mutant("comm-last-frame", "unit", "libt3/comm/stream.c",
           "		ret = find(socket, frame, &length);\n		if", "		if"),
    Mutant("far-secret", "unit", "libt3/comm/hello.c",
           "differs |= hello->secret[i] ^ secret[i];", "(void)secret;"),
    Mutant("far-crowd", "unit", "libt3/comm/join.c",
           "return i == STRANGERS && !m->far_strangers;", "return i == STRANGERS;"),
    Mutant("stream-end", "unit", "libt3/comm/stream.c",
           "			ret = -EPIPE;", "			ret = -EAGAIN;"),
    Mutant("comm-turn-away", "unit", "libt3/comm/join.c", "if (ret && m->names) {",
           "if (ret && !m) {"),
    Mutant("comm-slow-caller", "unit", "libt3/comm/callers.c",
           "else if (ret != -EAGAIN || !comm_time_left(caller->until_ns, 1))",
           "else if (ret != -EAGAIN)"),
    Mutant("comm-rank-twice", "unit", "libt3/comm/callers.c",
           "if (h->here >> head->rank & 1) {", "if (!h->here) {"),
    Mutant("python-array", "python", "libt3/python/t3/buffer.py",
           "    handle.retain()\n    # At the", "    # At the"),
    Mutant("python-int32", "python", "libt3/python/t3/dtypes.py",
           "NAMES.get(name, Dtype.__members__.get(name.upper()))",
           "NAMES.get(name) or Dtype.__members__.get(name.upper())"),
    Mutant("python-slice", "python", "libt3/python/t3/_waits.py", "part = min(end, ",
           "part = max(end, "),
    Mutant("python-first-rank", "python", "libt3/python/t3/errors.py", "causes[-1]", "causes[0]"),
    Mutant("timed-tie", "unit", "qemu-device/core/timed/timed_events.c",
           "(uint64_t)distance << SOURCE_SHIFT", "(uint64_t)SOURCE_SELF << SOURCE_SHIFT"),
    Mutant("timed-threshold", "unit", "qemu-device/core/timed/timed_memory.c",
           " && m->entries < m->threshold", ""),
    Mutant("timed-cut", "unit", "qemu-device/core/timed/timed_shape.c",
           "a.panels < b.panels", "a.panels <= b.panels"),
    Mutant("timed-turns", "unit", "qemu-device/core/timed/timed_memory.c",
           "m->lead += stream", "m->lead = stream"),
    Mutant("timed-record", "unit", "qemu-device/core/timed/timed_tracker.c",
           " && !t->tile[tile].filling", ""),
    Mutant("timed-update-cost", "unit", "qemu-device/core/timed/timed_base.c",
           "memory * p->update_percent / percent", "memory * percent / percent"),
    Mutant("timed-step-early", "unit", "qemu-device/core/timed/timed_copy.c",
           "chunks = c->step < last ? c->step + step_chunks(d) : last;",
           "chunks = c->step < last ? c->step : last;"),
    Mutant("timed-all-to-all-ring", "unit", "qemu-device/core/timed/timed_copy.c",
           "	return timed_shape(d)->ranks - 1 - timed_position(timed_shape(d), piece);",
           "	return piece ? 1 : 1;"),
    Mutant("timed-all-gather-updates", "unit", "qemu-device/core/timed/timed_gemm.c",
           "request.update = t3_timed_reduces(d->sim->setup.workload.collective);",
           "request.update = true;"),
    Mutant("timed-own-chunk", "unit", "qemu-device/core/timed/timed_shape.c",
           "shape->tiles - shape->chunk_tiles;", "0;"),
    Mutant("timed-collective-refused", "unit", "qemu-device/core/gang/gang_args.c",
           "args->collective >= T3_TIMED_COLLECTIVES || !t3_timed_runs(program, collective)",
           "args->collective >= T3_TIMED_COLLECTIVES"),
    Mutant("timed-node-peer", "unit", "qemu-device/core/timed/timed_link.c",
           "		distance = ranks;\n		first = 0;", "		distance = 1;\n		first = 0;"),
    Mutant("timed-node-rate", "unit", "qemu-device/core/timed/timed_link.c",
           "timed_ps(bytes, timed_params(d)->node_link_gbps)",
           "timed_ps(bytes, timed_params(d)->link_gbps)"),
    Mutant("timed-node-event", "unit", "qemu-device/core/timed/timed_events.c",
           "return (enum timed_event_kind)(tie >> KIND_SHIFT & KIND_MASK);",
           "return tie ? TIMED_EVENT_SLOT : TIMED_EVENT_SLOT;"),
    Mutant("timed-node-latency", "unit", "qemu-device/core/timed/timed_link.c",
           "distance == TIMED_NEXT_NODE ? p->node_link_latency_ns : p->link_latency_ns",
           "p->link_latency_ns"),
    Mutant("timed-node-part", "unit", "qemu-device/core/timed/timed_shape.c",
           "(elements + shape->nodes - 1) / shape->nodes", "elements / shape->nodes"),
    Mutant("timed-unit-rate", "unit", "qemu-device/core/timed/timed_copy.c",
           "(uint64_t)bytes * reads(d)", "(uint64_t)bytes"),
    Mutant("timed-sum-early", "unit", "qemu-device/core/timed/timed_copy.c",
           "if (sum.time == d->sim->now) {", "if (sum.time) {"),
    Mutant("timed-gather-early", "unit", "qemu-device/core/timed/timed_phase.c",
           "return d->beside && next > T3_TIMED_NODE_REDUCE_SCATTER ? T3_TIMED_GEMM : next;",
           "return next;"),
    Mutant("timed-shared-units", "unit", "qemu-device/core/timed/timed_gemm.c",
           "return setup->params.compute_units - taken;",
           "return taken ? setup->params.compute_units : setup->params.compute_units;"),
    Mutant("timed-dirty-lost", "unit", "qemu-device/core/timed/timed_cache.c",
           "	if (oldest->dirty)\n		write_back(d, oldest);", "	oldest->dirty = false;"),
    Mutant("producer-rings-early", "unit", "libt3/space/producer.c",
           "sum != part->whole", "sum + 1 < part->whole"),
    Mutant("producer-old-count", "unit", "libt3/space/producer.c",
           "count->round == p->round ? count->bytes : 0", "count->bytes"),
    Mutant("check-twice", "unit", "libt3/check/judge.c",
           "if (check->count[event->offset + i] < share)", "if (share)"),
    Mutant("check-old-epoch", "unit", "libt3/check/judge.c",
           "if (epoch != check->epoch || generation", "if (generation"),
    Mutant("check-scale", "unit", "libt3/check/trap.c", "<< insn->scale", ""),
    Mutant("explain-group", "unit", "libt3/device/explain.c",
           "(st->st_mode & 060) != 060", "0"),
    Mutant("dma-address", "unit", "qemu-device/core/space/block.c",
           "		return t3_segment_address(segment, row, col);",
           "		return t3_segment_address(segment, row, col) + 8;"),
    Mutant("epoch-check", "unit", "qemu-device/core/space/packet.c",
           "return packet->epoch == space->epoch ? T3_NAK_NONE : T3_NAK_EPOCH;",
           "return packet->epoch ? T3_NAK_NONE : T3_NAK_EPOCH;"),
    Mutant("generation-check", "unit", "qemu-device/core/space/packet.c",
           "if (packet->dst_generation != t3_space_generation(space))",
           "if (!packet->dst_generation)"),
    Mutant("grant-check", "unit", "qemu-device/core/space/packet.c",
           "(import->segment_mask >> packet->segment & 1) &&", "1 &&"),
    Mutant("duplicate-drop", "unit", "qemu-device/core/link/receiver.c",
           "	if (!ahead) {", "	if (ahead <= 0) {"),
    Mutant("wire-copy", "unit", "qemu-device/core/link/wire.c",
           "	link->deliver = seq;\n	link->held = T3_HELD_NOT;\n", "	link->deliver = seq;\n"),
    Mutant("wire-held", "unit", "qemu-device/core/link/wire.c",
           "	link->held = T3_HELD_NOT;\n	if (swapped)", "	if (swapped)"),
    Mutant("wire-busy", "unit", "qemu-device/core/link/link.c",
           "	link->busy = 0;\n", ""),
    Mutant("incarnation-old", "unit", "qemu-device/core/link/receiver.c",
           "(int32_t)(incarnation - receiver->incarnation) < 0", "0"),
    Mutant("incarnation-response", "unit", "qemu-device/core/link/link.c",
           "if (incarnation != link->incarnation || seq >= link->next)",
           "if (!incarnation || seq >= link->next)"),
    Mutant("incarnation-same", "unit", "qemu-device/core/link/link.c",
           "	link->incarnation++;\n	link->una", "	link->una"),
    Mutant("pipe-index", "unit", "qemu-device/core/node/pipe.c",
           "	return used <= T3_PIPE_SIZE;\n}\n\nbool t3_pipe_write",
           "	return true;\n}\n\nbool t3_pipe_write"),
    Mutant("pipe-wake", "unit", "qemu-device/core/node/pipe.c",
           "other_index(pipe) - pipe->index <= WAKE_ROOM", "other_index(pipe) == pipe->index"),
    Mutant("pipe-end", "unit", "qemu-device/core/node/pipe.c",
           "used <= T3_PIPE_SIZE - at ? used : T3_PIPE_SIZE - at", "used"),
    Mutant("node-move", "unit", "qemu-device/core/node/peer.c",
           "(!peer->may_move || peer->moved)", "peer->moved"),
    Mutant("far-generations", "unit", "qemu-device/core/node/links.c",
           "length == sizeof(loss) ? loss.generation : NULL", "NULL"),
    Mutant("far-rights", "unit", "qemu-device/core/node/links.c",
           "if (!is_peers(peer, src) || ", "if (src >= T3_MAX_RANKS || "),
    Mutant("far-cut", "unit", "qemu-device/core/node/links.c",
           "		t3_link_lost(link, NULL);", "		(void)link;"),
    Mutant("key-compare", "unit", "qemu-device/core/space/key.c",
           " |\n				   (key[2] ^ packet->col) |", " |"),
    Mutant("key-bound", "unit", "qemu-device/core/space/key.c",
           "	return import->used &&\n", "	return import->used && import->rank != import->rank &&\n"),
    Mutant("key-limit", "unit", "qemu-device/core/space/key.c",
           "		link->wrong_keys++;\n", "		link->wrong_keys += 0;\n"),
    Mutant("grant-again-early", "unit", "qemu-device/core/front/admin.c",
           "t3_pump_tells(space, cmd->import, cmd) ?", "space->import[cmd->import % 32].ctl.link ?"),
    Mutant("grant-to-another", "unit", "qemu-device/core/space/pump.c",
           "(!source || is_to(&slot->packet, source))",
           "(!source || is_to(&slot->packet, source) || source)"),
    Mutant("key-asks-late", "unit", "qemu-device/core/space/epoch.c",
           "	ask_route(space, route);\n	t3_epoch_try_armed",
           "	(void)route;\n	t3_epoch_try_armed"),
    Mutant("key-serial", "unit", "qemu-device/core/space/key.c",
           " && space->route[i].serial == serial", " && (serial || !serial)"),
    Mutant("key-segment", "unit", "qemu-device/core/space/map.c",
           " || space->route[i].claim != T3_CLAIM_NONE", ""),
    Mutant("key-user-limit", "guest:test_key", "driver/t3_key.c",
           "	ret = t3_key_may_ask(debt);\n	if (ret)\n		return ret;\n",
           "	t3_key_may_ask(debt);\n"),
    Mutant("key-user-namespace", "guest:test_key", "driver/t3_key.c",
           "		payer = t3_key_ns_payer(ns, payer);\n", "		t3_key_ns_payer(ns, payer);\n"),
    Mutant("key-root-namespace", "guest:test_key", "driver/t3_key.c",
           "uid_eq(root, GLOBAL_ROOT_UID) ? root : payer;",
           "uid_eq(root, GLOBAL_ROOT_UID) ? payer : payer;"),
    Mutant("meter-repeated", "unit", "qemu-device/core/node/meter.c",
           "	if (link->retries || (meter->running", "	if ((meter->running"),
    Mutant("meter-stale", "unit", "qemu-device/core/node/meter.c",
           "now - meter->start < STALE_NS", "now >= meter->start"),
    Mutant("node-cut-on", "unit", "qemu-device/core/node/peer.c",
           "	peer->injected.is_cut = false;\n", ""),
    Mutant("node-fault-seed", "unit", "qemu-device/core/node/fault.c",
           "uint64_t state = inject->value ^ place", "uint64_t state = place"),
    Mutant("node-fault-guest", "unit", "qemu-device/core/front/inject_rule.c",
           "return outside ? T3_INJECT_NODE_CUT : 0;", "return kind ? T3_INJECT_NODE_CUT : outside;"),
    Mutant("greeting-late", "unit", "qemu-device/core/node/peer.c",
           "	if (peer->info.up)\n		peer->silent = 0;", "	peer->silent = 0;"),
    Mutant("identity-fill", "unit", "qemu-device/core/space/prepare.c",
           "return segment->init == T3_INIT_IDENTITY &&",
           "return segment->init == T3_INIT_KEEP &&"),
    Mutant("prepare-at-once", "unit", "qemu-device/core/space/prepare.c",
           "if (work_left(space) <= T3_PREPARE_NOW) {", "if (work_left(space)) {"),
    Mutant("prepare-told-early", "unit", "qemu-device/core/space/epoch.c",
           "if (prepared)", "if (prepared || space->seg_count)"),
    Mutant("share-by-queue", "unit", "qemu-device/core/queue/engine.c",
           "if (start_a != start_b)", "if (start_a > start_b + T3_NONE64 / 2)"),
    Mutant("access-for-others", "unit", "qemu-device/core/front/entry.c",
           "return T3_BUSY_BUDGET;", "return fabric->inline_budget;"),
    Mutant("read-for-others", "qtest", "qemu-device/t3_events.c",
           "	if (!waits)\n", "	if (fabric)\n"),
    Mutant("share-saved-up", "unit", "qemu-device/core/clock/share.c",
           "share->end[client] > share->now ?", "share->end[client] ?"),
    Mutant("release-order", "unit", "qemu-device/core/space/epoch.c",
           "if (space->state != T3_SPACE_COMPLETE || epoch != space->epoch) {",
           "if (epoch != space->epoch) {"),
    Mutant("poison-unseen", "unit", "qemu-device/core/device/poison_set.c",
           "		if (poison->end <= offset)", "		if (poison->end <= offset + 64)"),
    Mutant("gemm-descends", "unit", "qemu-device/core/queue/gemm_math.c",
           "for (k = 0; k < s->depth; k++) {\n		t3_nmc_widen(",
           "for (k = s->depth; k-- > 0;) {\n		t3_nmc_widen("),
    Mutant("gemm-rounds-slices", "unit", "qemu-device/core/queue/gemm.c",
           "	run->k += depth;",
           "	run->k += depth;\n	if (q->desc.dtype == T3_DTYPE_F16)\n"
           "		for (uint32_t i = 0; i < T3_GEMM_SUMS; i++) {\n			uint16_t h;\n\n"
           "			t3_nmc_narrow(q->desc.dtype, &run->sum.f[i], &h, 1);\n"
           "			t3_nmc_widen(q->desc.dtype, &h, &run->sum.f[i], 1);\n		}"),
    Mutant("gemm-stagger", "unit", "qemu-device/core/queue/gemm_plan.c",
           "(g->first_chunk + away) % p->chunks", "away % p->chunks"),
    Mutant("gemm-band", "unit", "qemu-device/core/queue/gemm_plan.c",
           "high = min32(g->raster_rows, down - first);", "high = min32(g->raster_rows, down);"),
    Mutant("gemm-state", "unit", "qemu-device/core/state/state_queue.c",
           "	t3_stream_bytes(s, &run->sum, sizeof(run->sum));", "	;"),
    Mutant("gemm-dtype", "unit", "qemu-device/core/queue/move.c",
           "d->dtype == segment->dtype", "segment"),
    Mutant("gemm-row-overflow", "unit", "qemu-device/core/queue/gemm_plan.c",
           "uint64_t a_row = (uint64_t)g->depth", "uint64_t a_row = 0 * (uint64_t)g->depth"),
    Mutant("gang-incomplete", "unit", "qemu-device/core/gang/gang_run.c",
           "if (!other && is_here(fabric, rank))", "if (!other && !rank)"),
    Mutant("gang-nodes", "unit", "qemu-device/core/gang/gang_run.c",
           "if (!other && is_here(fabric, rank))", "if (!other)"),
    Mutant("gang-unfair", "unit", "qemu-device/core/gang/gang_run.c", "if (since == NOT_WHOLE ||",
           "if (since == NOT_WHOLE || first ||"),
    Mutant("gang-abandoned", "unit", "qemu-device/core/state/state_dev.c",
           "		t3_gang_abandon(dev->fabric);\n", ""),
    Mutant("gang-loud", "unit", "qemu-device/core/gang/gang_run.c",
           "	t3_gang_of(fabric)->left = q->dev->rank + 1;\n",
           "	complete_all(fabric, T3_DESC_GANG, q->dev->rank);\n	end(fabric);\n"),
    Mutant("gang-others-stay", "unit", "qemu-device/core/gang/gang_run.c",
           "	t3_gang_of(fabric)->left = q->dev->rank + 1;\n", ""),
    Mutant("gang-tail-back", "unit", "qemu-device/core/gang/gang_run.c",
           "q->state == T3_QUEUE_READY && q->head != q->tail;", "q->state == T3_QUEUE_READY;"),
    Mutant("tile-behind-the-end", "guest:test_tile", "driver/t3_tile.c",
           "cmd->tile >= from && ", "(cmd->tile >= from || *tiles) && "),
    Mutant("inject-half-a-text", "unit", "qemu-device/core/front/inject_text.c",
           "	if (found == T3_INJECT_FOUND_WRONG)\n		return T3_ADMIN_BAD_VALUE;\n", ""),
    Mutant("tile-query-record", "unit", "qemu-device/core/space/tile_query.c",
           "cmd->counted = t3_tracker_count(segment, tile);",
           "cmd->counted = t3_segment_record(segment, tile)->count;"),
    Mutant("tile-query-unbounded", "unit", "qemu-device/core/space/tile_query.c",
           "segment->tiles - cmd->tile < cmd->tiles ?", "cmd->tiles ?"),
    Mutant("gang-never-paced", "unit", "qemu-device/core/front/admin.c",
           "	t3_gang_host(dev->fabric);\n", ""),
    Mutant("gang-clock", "unit", "qemu-device/core/gang/gang_run.c",
           "time = gang->start + next / 1000;", "time = gang->start;"),
    Mutant("gang-stale-run", "unit", "qemu-device/core/gang/gang_run.c",
           "	t3_gang_drop_run(fabric);\n	t3_heap_remove(", "	t3_heap_remove("),
    Mutant("gang-state", "unit", "qemu-device/core/state/state_queue.c",
           "		t3_stream_bytes(s, t3_gang_args(q), sizeof(struct t3_timed_args));",
           "		return;"),
    Mutant("gang-params", "unit", "qemu-device/core/gang/gang_args.c",
           "args->params[i] < t3_timed_params[i].min ||\n		    ", ""),
    Mutant("turn-lost", "unit", "qemu-device/core/link/turn.c",
           "return !t3_turn_waits(link) ||", "return true ||"),
    Mutant("store-waits-for-tiles", "unit", "qemu-device/core/space/pump.c",
           "t3_link_free_slots(link) <= T3_LINK_RESERVE + link->wanted)",
           "t3_link_free_slots(link) <= T3_LINK_RESERVE)"),
    Mutant("far-store-waits-for-tiles", "unit", "qemu-device/core/space/block.c",
           "			reserve_far(segment);\n", ""),
    Mutant("work-after-fault", "unit", "qemu-device/core/space/fault.c",
           "		t3_block_drop_all(space->sorted[i]);", "		;"),
    Mutant("block-start", "unit", "qemu-device/core/space/block.c",
           "	    tile % segment->block_tiles ||\n", ""),
    Mutant("block-record-poison", "unit", "qemu-device/core/space/poison.c",
           "	       t3_poison_in_record(segment, tile - tile % segment->block_tiles, where);",
           "	       !segment;"),
    Mutant("dirty-late", "unit", "qemu-device/core/space/lane.c",
           "	t3_mem_written(dev, address, size);\n", ""),
    Mutant("dma-stale", "qtest", "qemu-device/t3_dma.c",
           "	drop_pages(s);\n	if (fabric)\n		t3_fabric_leave", "	if (fabric)\n		t3_fabric_leave"),
    Mutant("lock-turns", "qtest", "qemu-device/t3_lock.h",
           "t3_lock_awaited(lock) || ", ""),
    Mutant("again-edge", "unit", "qemu-device/core/space/lane.c",
           " && inside + size <= lane->bytes;", " && size;"),
    Mutant("again-width", "unit", "qemu-device/core/space/lane.c",
           " ||\n	    !t3_store_width(lane->segment, offset, size))", ")"),
    Mutant("store-done", "unit", "qemu-device/core/space/store.c",
           "	if (result == T3_TRACK_DONE)", "	if (result == T3_TRACK_OVERSHOOT)"),
    Mutant("direct-last", "unit", "qemu-device/core/space/lane.c",
           "(uint64_t)entry->count + size >= lane->expected)", "(uint64_t)entry->count + size > lane->expected)"),
    Mutant("direct-poison", "unit", "qemu-device/core/space/lane.c",
           "->state != T3_SPACE_ARMED || t3_poison_any(dev) ||", "->state != T3_SPACE_ARMED ||"),
    Mutant("direct-state", "unit", "qemu-device/core/space/lane.c",
           "lane->segment->space->state != T3_SPACE_ARMED || t3_poison_any", "t3_poison_any"),
    Mutant("lane-busy", "unit", "qemu-device/core/space/lane.c",
           "return !__atomic_exchange_n(busy, 1, __ATOMIC_ACQUIRE) || wait_for(busy);",
           "return busy || wait_for(busy);"),
    Mutant("lane-counts-busy", "unit", "qemu-device/core/space/lane.c",
           "	if (!begin(&segment->busy))\n		return false;\n", ""),
    Mutant("lane-counts-twice", "unit", "qemu-device/core/space/lane.c",
           "		lane->all_stores = lane->all_elements = 0;\n", ""),
    Mutant("lane-counts", "unit", "qemu-device/core/front/regs.c",
           "	t3_lanes_count(dev);\n", ""),
    Mutant("lane-saved", "unit", "qemu-device/core/state/state_dev.c",
           "	t3_lanes_count(dev);\n", ""),
    Mutant("lane-forgets", "unit", "qemu-device/core/space/map.c",
           "	t3_lanes_forget(dev);\n", ""),
    Mutant("lane-age", "unit", "qemu-device/core/space/lane.c",
           "	lane->used = NO_AGE;\n", ""),
    Mutant("lane-clock", "unit", "qemu-device/core/space/lane.c",
           "passed + 1 < tracker->ways || !passed", "!passed"),
    Mutant("lane-clock-late", "unit", "qemu-device/core/space/tracker.c",
           "tracker.clock += T3_AGE_STEP", "tracker.clock += 1"),
    Mutant("lane-tile", "unit", "qemu-device/core/space/lane.c",
           " && entry->tile == lane->tile)", ")"),
    Mutant("event-ranks", "unit", "qemu-device/core/front/entry.c",
           ": 1u << clock->heap.slot[0]->rank;", ": 2u << clock->heap.slot[0]->rank;"),
    Mutant("direct-record", "unit", "qemu-device/core/front/entry.c",
           "dev->port || !dev->fabric ||", "!dev->fabric ||"),
    Mutant("direct-timed", "unit", "qemu-device/core/front/entry.c",
           "!dev->fabric || t3_gang_running(dev->fabric))", "!dev->fabric)"),
    Mutant("store-choice", "unit", "libt3/space/move.c",
           "	t3_string_stores = t3_cpu_emulated();", "	t3_string_stores = !t3_cpu_emulated();"),
    Mutant("wait-state", "unit", "libt3/space/wait.c",
           "return has_words(space, w) ? 0 : ret;", "return ret;"),
    Mutant("store-string", "unit", "libt3/space/store.c",
           "STRING_COPY(\"movsq\", to, from, left);",
           "left *= 8; STRING_COPY(\"movsb\", to, from, left);"),
    Mutant("wide-zeros", "unit", "qemu-device/core/nmc/nmc_wide.c",
           "_mm256_and_ps(a, b)", "_mm256_or_ps(a, b)"),
    Mutant("wide-overlap", "unit", "qemu-device/core/nmc/nmc_wide.c",
           "(ahead && ahead < STEP)", "(!ahead && ahead < STEP)"),
    Mutant("loss-too-wide", "unit", "qemu-device/core/space/epoch.c",
           "return !generation || serial_after(generation[space], granted);",
           "return !generation || generation[space] + 1 != granted;"),
    Mutant("response-stale", "unit", "qemu-device/core/space/pump.c",
           "if (space->state == T3_SPACE_FREE || packet->src_generation != t3_space_generation(space))",
           "if (space->state == T3_SPACE_FREE)"),
    Mutant("waits-for-ended", "unit", "qemu-device/core/space/epoch.c",
           "(is_dead(route, space->epoch) || !t3_epoch_route_ready(route, space->epoch))",
           "is_dead(route, space->epoch)"),
    Mutant("loss-of-newer", "unit", "qemu-device/core/space/epoch.c",
           "serial_after(generation[space], granted)", "generation[space] != granted"),
    Mutant("loss-untold", "unit", "qemu-device/core/front/dev.c",
           "		t3_link_schedule_loss(link);", "		(void)link;"),
    Mutant("loss-after-attach", "unit", "qemu-device/core/link/link.c",
           "	if (!link->on_loss.pos)\n		return;", "	return;"),
    Mutant("inject-count", "unit", "qemu-device/core/device/injection.c",
           "	if (--injection->count)", "	if (injection->count--)"),
    Mutant("store-no-room", "unit", "qemu-device/core/link/link.c",
           "while (!link->far && t3_link_free_slots", "while (0 && t3_link_free_slots"),
    Mutant("write-one-clear", "spec", "qemu-device/core/front/regs.c",
           ">pending[index] &= ~(uint32_t)value;", ">pending[index] = (uint32_t)value;"),
    Mutant("manual-reset-value", "spec", "qemu-device/SPEC.md",
           "| 0x024 | MAX_SEGMENTS | 4 | RO | | 4096 |",
           "| 0x024 | MAX_SEGMENTS | 4 | RO | | 4097 |"),
    Mutant("import-index", "fuzz", "qemu-device/core/space/packet.c",
           "if (packet->import >= T3_SPACE_IMPORTS)", "if (packet->import > 0x7fff)"),
    Mutant("in-flight", "fuzz", "qemu-device/core/space/pump.c",
           "	space->in_flight--;\n	if (packet", "	space->in_flight -= 2;\n	if (packet"),
    Mutant("driver-grant-rights", "guest:test_segment", "driver/t3_segment.c",
           "	if (!(grant->segment_mask & BIT_ULL(args->target_segment)) ||\n", "	if (\n"),
    Mutant("driver-event-writable", "guest:test_mmap", "driver/t3_map.c",
           "vm_flags_mod(vma, VM_DONTEXPAND | VM_DONTDUMP, VM_MAYWRITE);",
           "vm_flags_set(vma, VM_DONTEXPAND | VM_DONTDUMP);"),
    Mutant("driver-get-unique", "guest:test_core_ioctls", "driver/t3_fops.c",
           "	case DRM_IOCTL_NR(DRM_IOCTL_GET_UNIQUE):\n", ""),
    Mutant("driver-pad2", "guest:test_abi_table", "driver/t3_route.c",
           "args->flags || args->pad || args->pad2", "args->flags || args->pad"),
    Mutant("driver-compat", "guest:test_compat32", "driver/t3_fops.c",
           "ret = drm_compat_ioctl(filp, cmd, arg);", "ret = -ENOTTY;"),
    Mutant("driver-ioctl-type", "guest:test_core_ioctls", "driver/t3_fops.c",
           "DRM_IOCTL_TYPE(cmd) != DRM_IOCTL_BASE", "!DRM_IOCTL_TYPE(cmd)"),
    Mutant("driver-early-handle", "guest:test_abi_table", "driver/t3_space_ioctl.c",
           "	space = t3_space_create(file, bo, args->max_tiles, failed);\n",
           "	args->space = handle;\n	space = t3_space_create(file, bo, args->max_tiles, failed);\n"),
    Mutant("driver-bind-once", "guest:test_grant", "driver/t3_route.c",
           "return grant->bound ? -EBUSY : 0;", "return 0;"),
    Mutant("driver-gemm-reads", "guest:test_gemm", "driver/t3_job_bo.c",
           "		if (bo && i % T3_STEP_BOS)\n", "		if (bo && i % T3_STEP_BOS > 1)\n"),
    Mutant("driver-gemm-b-reads", "guest:test_gemm", "driver/t3_job_bo.c",
           "		if (bo && i % T3_STEP_BOS)\n", "		if (bo && i % T3_STEP_BOS == 1)\n"),
    Mutant("driver-gemm-b-rows", "guest:test_gemm", "driver/t3_gemm.c",
           "&user->b, user->depth, command->row_bytes);",
           "&user->b, 1, command->row_bytes);"),
    Mutant("driver-gemm-generation", "guest:test_gemm", "driver/t3_gemm.c",
           "	command->generation = space->generation;", "	command->generation = 1;"),
    Mutant("driver-timed-overlap", "guest:test_timed_command", "driver/t3_timed.c",
           "	return command->src.bo == command->dst.bo &&\n",
           "	return command->src.bo != command->dst.bo &&\n"),
    Mutant("driver-timed-page", "guest:test_timed_command", "driver/t3_timed.c",
           " && offset % T3_PAGE_SIZE + bytes <= T3_PAGE_SIZE;", ";"),
    Mutant("driver-timed-memory", "guest:test_timed_command", "driver/t3_timed.c",
           "	if (operand->bo->kind == T3_BO_DEVICE)\n		return -EOPNOTSUPP;\n", ""),
    Mutant("driver-timed-gang", "guest:test_timed_faults", "driver/t3_timed.c",
           "		return -ECANCELED;\n", "		return -EIO;\n"),
    Mutant("driver-timed-repeat", "guest:test_timed_faults", "driver/t3_command.c",
           "d->opcode == T3_DESC_FILL || d->opcode == T3_DESC_TIMED", "d->opcode == T3_DESC_FILL"),
    Mutant("driver-leak", "debug:test_bounce", "driver/t3_bo_host.c",
           "err_table:\n	sg_free_table(sgt);\n", "err_table:\n"),
    Mutant("driver-fault-ungated", "debug:test_removal", "driver/t3_map.c",
           "	if (t3_access_enter(tdev))\n		return ret;\n"
           "	/* Under the lock, so that t3_map_revoke() unmaps what is inserted here. */\n"
           "	mutex_lock(&map->lock);\n	if (!map->revoked)\n"
           "		ret = t3_map_insert(vmf, obj, PHYS_PFN(map->address));\n"
           "	mutex_unlock(&map->lock);\n	t3_access_exit(tdev);\n",
           "	(void)tdev;\n	mutex_lock(&map->lock);\n	if (!map->revoked)\n"
           "		ret = t3_map_insert(vmf, obj, PHYS_PFN(map->address));\n"
           "	mutex_unlock(&map->lock);\n"),
    Mutant("driver-unlock", "debug:test_grant", "driver/t3_route.c",
           "	ret = t3_release_locked(space, args->import);\n"
           "	mutex_unlock(&t3_topology_lock);\n",
           "	ret = t3_release_locked(space, args->import);\n"
           "	if (!ret)\n		mutex_unlock(&t3_topology_lock);\n"),
    Mutant("driver-never-repeat", "guest:test_recover", "driver/t3_recover.c",
           "	if (!begun || t3_step_repeatable(", "	if (!begun && t3_step_repeatable("),
    Mutant("driver-always-repeat", "guest:test_recover", "driver/t3_recover.c",
           "		return 0;\n	return -ECANCELED;", "		return 0;\n	return 0;"),
    Mutant("driver-slots-kept", "guest:test_recover", "driver/t3_reset.c",
           "	t3_slots_mark_lost(tdev);\n	t3_queues_rebuild(", "	t3_queues_rebuild("),
    Mutant("driver-submit-silent", "guest:test_syncobj", "driver/t3_submit.c",
           "	if (!ret)\n		t3_submit_notify(submit);\n", "	(void)t3_submit_notify;\n"),
    Mutant("driver-transfer-flags", "guest:test_syncobj", "driver/t3_syncobj.c",
           "args->flags & ~DRM_SYNCOBJ_WAIT_FLAGS_WAIT_FOR_SUBMIT", "!args"),
    Mutant("plan-direct-updates", "unit", "libt3/plan/layout.c",
           ".updates = m->ring ? 2 : m->ranks,", ".updates = 2,"),
    Mutant("plan-last-hop", "unit", "libt3/plan/layout.c",
           "else if (t3_plan_next(m) != source)", "else"),
    Mutant("plan-bundle-order", "unit", "libt3/plan/exchange.c",
           "result + (j + 1) * bytes", "result + j * bytes"),
    Mutant("plan-chunk-ragged", "unit", "libt3/plan/geometry.c",
           "(chunk < more ? chunk : more)", "more"),
    Mutant("root-read-only", "root", "tools/vm/vm_root.py", '",readonly=on"', '""'),
    Mutant("root-absolute-link", "root", "tools/vm/vm_userland.py",
           'target.startswith("/")', 'target == "/"'),
    Mutant("saved-random-numbers", "saved", "tools/vm/vm_saved.py",
           'answered=True), "-device", "vmgenid,guid=auto"]', "answered=True)]"),
    Mutant("saved-any-machine", "saved", "tools/vm/vm_saved.py",
           "*map(of_this_run, command), ", ""),
    Mutant("saved-forgotten-boot", "saved", "tools/vm/vm_saved.py",
           "shutil.copy(place / CONSOLE, rundir / CONSOLE)", "open(place / CONSOLE).close()"),
    Mutant("saved-stands-still", "saved", "tools/vm/vm_saved.py",
           '    finally:\n        control.command("cont")\n', "    finally:\n        pass\n"),
    Mutant("plan-nodes-three", "unit", "libt3/plan/nodes.c",
           "w->around = is_ordered(m->desc) && !w->first;",
           "w->around = is_ordered(m->desc) && h->nodes > 1000;"),
    Mutant("plan-nodes-first", "unit", "libt3/plan/nodes.c",
           "w->first = my_node(m) == after(w->node, h->nodes);", "w->first = my_node(m) == 0;"),
    Mutant("plan-nodes-spread", "unit", "libt3/plan/nodes.c",
           "(m->rank == source && m->nodes->place", "(m->nodes->place"),
    Mutant("plan-nodes-unequal", "unit", "libt3/plan/hierarchy.c",
           "if (count[i] != count[0])", "if (!count[i])"),
    Mutant("plan-nodes-choice", "unit", "libt3/plan/space.c",
           "for (r = 0; r < comm->ranks; r++)\n		if (t3_layout_make(",
           "for (r = comm->rank; r <= comm->rank; r++)\n		if (t3_layout_make("),
    Mutant("plan-far-source", "unit", "libt3/plan/source.c",
           "			far = through ?", "			far = !through ?"),
    Mutant("mpi-piece", "examples", "libt3/mpi/piece.c",
           "return (part * p->job->count + p->first) * p->job->element;",
           "return part * p->job->count * p->job->element;"),
    Mutant("mpi-unsigned", "examples", "libt3/mpi/types.c", "{ MPI_UNSIGNED, DRM_T3_I32, SUM }",
           "{ MPI_UNSIGNED, DRM_T3_I32, ANY }"),
    Mutant("mpi-gaps", "examples", "libt3/mpi/move.c", "	if (end == COLL_T3_DONE)\n		unpack(out);",
           "	if (end == COLL_T3_FAILED)\n		unpack(out);"),
    Mutant("mpi-version", "examples", "libt3/mpi/component.c",
           "!strncmp(running, version, strlen(version))", "!strncmp(running, version, 4)"),
]


def run(command, log, more=None, seconds=SECONDS):
    """Exit status of a command in the copy; -1 when it did not end in time."""
    env = {**os.environ, "T3_CACHE": str(CACHE), "T3_BUILD": str(COPY / ".build"),
           **(more or {})}
    env.pop("MAKEFLAGS", None)
    with open(log, "ab") as output:
        try:
            return subprocess.run(command, cwd=COPY, stdin=subprocess.DEVNULL, stdout=output,
                                  stderr=subprocess.STDOUT, timeout=seconds, env=env).returncode
        except subprocess.TimeoutExpired:
            return -1


def copy_tree():
    files = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True,
                           check=True).stdout.decode().split("\0")
    kept = {COPY / name for name in filter(None, files)}
    for old in COPY.rglob("*"):
        if old.is_file() and old not in kept and COPY / ".build" not in old.parents:
            old.unlink()
    for name in filter(None, files):
        target = COPY / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if not target.exists() or target.read_bytes() != (ROOT / name).read_bytes():
            shutil.copy2(ROOT / name, target)
            target.touch()
    # The guest suites mutate no device: they borrow the real build's QEMU. A suite that begins with a
    # make of all puts one of its own there, which may be older than the tree the next time.
    for build in (COPY / ".build", pathlib.Path(DEBUG["T3_BUILD"])):
        build.mkdir(exist_ok=True)
        link = build / "qemu"
        if link.is_dir() and not link.is_symlink():
            shutil.rmtree(link)
        link.unlink(missing_ok=True)
        link.symlink_to((BUILD / "qemu").resolve())


def run_guest(suite, log):
    """None: the module or a program could not be built."""
    kind, _, program = suite.partition(":")
    more = DEBUG if kind == "debug" else {}
    if more and run(["make", "kernel"], log, more, KERNEL_SECONDS):
        return None
    if run(["make", "tests-image"], log, more):
        return None
    return run(["tools/build/check.py", f"guest:{program}" if program else suite], log, more)


def likely_first(file):
    """The unit tests, those first whose names share words with the file's path, in any number; then those
    of the file's room, and last those that take long."""
    room = "test_lib" if file.startswith("libt3/") else "test_core"
    def words(name):
        return {word.rstrip("s") for word in re.split(r"[/_.]", name)} - {"test", "core", "lib", "c", "h"}
    return sorted((ROOT / "tests/unit").glob("test_*.c"),
                  key=lambda test: (-len(words(test.stem) & words(file)), test.stem in SLOW,
                                    not test.stem.startswith(room), test.stem))


def run_programs(programs, log):
    """0: all pass, 1: one fails, None: they cannot be built. What make calls them, below the build."""
    if run(["make", *programs], log):
        return None
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        running = [pool.submit(run, [COPY / program], log, seconds=PROGRAM_SECONDS) for program in programs]
        for done in concurrent.futures.as_completed(running):
            if done.result():
                pool.shutdown(cancel_futures=True)
                return 1
    return 0


def run_unit(file, log):
    """
    Up to the first program that fails: the likely ones, which are soon built, the other ones, the
    conformance suite; else the sanitized ones.
    """
    tests = [f".build/unit/{test.stem}" for test in likely_first(file)]
    for programs in tests[:4], tests[4:12], [*tests[12:], CONFORMANCE]:
        status = run_programs(programs, log)
        if status != 0:
            return status
    return run(["make", "unit"], log)


def verdict(suite, log, file=""):
    """passes, fails (a test said so), or breaks (it could not be built or run)."""
    log.unlink(missing_ok=True)
    if suite == "unit":
        status = run_unit(file, log)
    elif suite == "spec":
        status = run(["make", suite], log)
    elif suite == "qtest":
        status = run(["make", suite], log, OWN)
    elif suite == "python":
        status = (None if run(["make", "build", "python"], log)
                  else run(["tools/build/check.py", suite], log))
    elif suite == "fuzz":
        status = run(["make", "fuzz-build"], log) or run(["tools/build/check.py", "fuzz"], log)
    elif suite == "examples":
        status = run(["make", suite], log)
    else:
        status = run_guest(suite, log)
    text = log.read_text(errors="replace")
    counted = suite == "unit" or re.search(r"^\d+ passed, \d+ failed", text, re.M)
    if status is None or not counted:
        return "breaks"
    return "fails" if status else "passes"


def edit(mutant):
    path = COPY / mutant.file
    path.write_text(path.read_text().replace(mutant.old, mutant.new))


def lost():
    """Mutants whose text is not once in its file any more."""
    return [mutant for mutant in MUTANTS
            if (ROOT / mutant.file).read_text().count(mutant.old) != 1]


def try_mutant(mutant):
    start = time.monotonic()
    copy_tree()
    edit(mutant)
    log = BUILD / "log" / f"mutant-{mutant.name}.log"
    result = verdict(mutant.suite, log, mutant.file)
    copy_tree()
    caught = result == "fails"
    print(f"[{mutant.name}] {'caught' if caught else result} by {mutant.suite} "
          f"({time.monotonic() - start:.0f} s) {'' if caught else log}", flush=True)
    return caught


def main():
    names = sys.argv[1:]
    if names == ["--list"]:
        print("\n".join(mutant.name for mutant in MUTANTS))
        return 0
    for mutant in lost():
        print(f"{mutant.file}: mutant {mutant.name}: its text is not there once",
              file=sys.stderr)
    if lost() or names == ["--check"]:
        return 1 if lost() else 0
    unknown = set(names) - {mutant.name for mutant in MUTANTS}
    if unknown:
        print(f"mutants.py: no mutant '{unknown.pop()}'; --list names them", file=sys.stderr)
        return 2
    chosen = [mutant for mutant in MUTANTS if not names or mutant.name in names]
    (BUILD / "log").mkdir(parents=True, exist_ok=True)
    copy_tree()
    for suite in sorted({mutant.suite for mutant in chosen}):
        result = verdict(suite, BUILD / "log" / f"mutant-none-{suite}.log")
        print(f"[unedited] {result} {suite}", flush=True)
        if result != "passes":
            print("0 passed, 1 failed")
            return 1
    caught = sum(try_mutant(mutant) for mutant in chosen)
    print(f"{caught} passed, {len(chosen) - caught} failed")
    return 0 if caught == len(chosen) else 1


if __name__ == "__main__":
    sys.exit(main())
