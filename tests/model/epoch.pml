/* SPDX-License-Identifier: MIT */
/*
 * Epochs of spaces on a ring: SPEC.md sections 6.2, 6.3 and 9.1, qemu-device/core/space/epoch.c. In each
 * epoch a rank sends one update to the next rank, and is complete when that was applied and its own
 * update has come. Links keep the order and lose nothing: link.pml has them. Each program arms, stores,
 * releases and leaves at any moment that the rules allow. FAULTS times a space faults or its owner dies,
 * at any moment.
 *
 * Checked: an update is applied once, in its own epoch. Without a fault no space faults, though fast
 * ranks leave while others work. In the end each rank has finished, or its space is FAULTED: no rank
 * waits for ever. ../model.py breaks one rule at a time, and sees the check fail:
 *
 *	CURRENT      who has finished an epoch reports it as not finished when it leaves
 *	NO_POISON    a space that ends does not tell its target
 *	NO_STATE     a space that ends does not tell its source (LINE)
 *	FORGET       what came before is not looked at when the space is armed
 *	NO_REPORT    a target does not report that it is armed
 *	ARMED_ONLY   a target that is still ARMING takes no updates
 *	ANY_EPOCH    a target takes updates of any epoch (FREE)
 *	NO_REJECT    a source whose update is refused goes on (FREE)
 *
 * LINE: the last rank has no target, and the first one no source. FREE: also, rank 1 does not wait for
 * updates, so it may be gone before they come, and then they are refused. Then a fault needs no cause.
 * It also holds without ARM_QUERY, which is for grants that are made after the target was armed.
 */
#ifndef RANKS
#define RANKS 3
#endif
#ifndef EPOCHS
#define EPOCHS 2
#endif
#ifndef FAULTS
#define FAULTS 1
#endif

#ifdef FREE
#define LINE
#define NEEDS (r > 1)
#else
#ifdef LINE
#define NEEDS (r > 0)
#else
#define NEEDS 1
#endif
#endif
#ifdef LINE
#define HAS_SOURCE (r > 0)
#define HAS_TARGET (r < RANKS - 1)
#else
#define HAS_SOURCE 1
#define HAS_TARGET 1
#endif

mtype = { IDLE, ARMING, ARMED, COMPLETE, FAULTED, DISABLED };
mtype = { UPDATE, QUERY, POISON, STATE, ACK, NAK };

/* From rank r to its target, and from the target back to r. */
chan there[RANKS] = [2 * EPOCHS + 2] of { mtype, byte };
chan back[RANKS] = [3 * EPOCHS + 2] of { mtype, byte, mtype };

typedef space {
	mtype state;
	byte epoch;
	bool fresh;
	bool dead, poisoned; /* the route, the import */
	byte dead_epoch, poison_epoch;
	byte peer_epoch;     /* of the target */
	bool put, acked, got;
	byte finished;	     /* epochs */
};
space s[RANKS];
byte faults = FAULTS;
bool struck;

#define ME	s[r]
#define SOURCE	((r + RANKS - 1) % RANKS)
#define WORKING (ME.state == ARMING || ME.state == ARMED)
#define LIVE	(ME.state != FAULTED && ME.state != DISABLED)

#ifdef CURRENT
#define NEXT ME.epoch
#else
#define NEXT (ME.epoch + 1)
#endif
#define UNDONE (ME.fresh -> 0 : (WORKING -> ME.epoch : NEXT))

/* The first epoch that is not finished is told before the state changes. */
inline close(how)
{
	if
#ifndef NO_POISON
	:: HAS_TARGET -> there[r]!POISON, UNDONE
#endif
	:: else
	fi;
	if
#ifndef NO_STATE
	:: HAS_SOURCE -> back[SOURCE]!STATE, UNDONE, how
#endif
	:: else
	fi;
	ME.state = how
}

inline fail()
{
	if
	:: LIVE -> close(FAULTED)
	:: else
	fi
}

inline try_complete()
{
	if
	:: ME.state == ARMED && (ME.got || !NEEDS) && ME.acked -> ME.state = COMPLETE
	:: else
	fi
}

inline try_armed()
{
	if
	:: ME.state == ARMING && (ME.peer_epoch >= ME.epoch || !HAS_TARGET) -> ME.state = ARMED; try_complete()
	:: else
	fi
}

inline arm()
{
	ME.epoch = ME.finished + 1;
	ME.fresh = 0;
	ME.put = 0;
	ME.acked = 0;
	ME.got = 0;
	ME.state = ARMING;
	if
#ifndef FORGET
	:: (ME.dead && ME.epoch >= ME.dead_epoch) || (ME.poisoned && ME.epoch >= ME.poison_epoch) -> fail()
#endif
	:: else ->
		if
#ifndef NO_REPORT
		:: HAS_SOURCE -> back[SOURCE]!STATE, ME.epoch, ARMING
#endif
		:: else
		fi;
		if
#ifndef NO_QUERY
		:: HAS_TARGET && ME.peer_epoch < ME.epoch -> there[r]!QUERY, ME.epoch
#endif
		:: else
		fi;
		try_armed()
	fi
}

#ifdef ARMED_ONLY
#define TAKES (ME.state == ARMED)
#else
#define TAKES WORKING
#endif
#ifdef ANY_EPOCH
#define FITS 1
#else
#define FITS (epoch == ME.epoch)
#endif

inline take_update()
{
	if
	:: TAKES && FITS ->
		assert(epoch == ME.epoch && !ME.got);
		ME.got = 1;
		back[SOURCE]!ACK, epoch, IDLE;
		try_complete()
	:: else -> back[SOURCE]!NAK, epoch, IDLE
	fi
}

inline from_source()
{
	if
	:: kind == UPDATE -> take_update()
	:: kind == QUERY && LIVE -> back[SOURCE]!STATE, ME.epoch, ME.state
	:: kind == QUERY && ME.state == DISABLED -> back[SOURCE]!NAK, epoch, IDLE
	:: kind == QUERY && ME.state == FAULTED -> skip /* it was told */
	:: kind == POISON ->
		ME.poisoned = 1;
		ME.poison_epoch = epoch;
		if
		:: WORKING && ME.epoch >= epoch -> fail()
		:: else
		fi
	fi
}

inline from_target()
{
	if
	:: kind == STATE && (state == FAULTED || state == DISABLED) ->
		ME.dead = 1;
		ME.dead_epoch = epoch;
		if
		:: WORKING && ME.epoch >= epoch -> fail()
		:: else
		fi
	:: kind == STATE && state != FAULTED && state != DISABLED ->
		ME.peer_epoch = epoch;
		try_armed()
	:: kind == ACK -> ME.acked = 1; try_complete()
	:: kind == NAK ->
#ifndef NO_REJECT
		fail()
#else
		skip
#endif
	fi
}

inline program()
{
	if
	:: ME.state == IDLE && ME.finished < EPOCHS -> arm()
	:: ME.state == ARMED && !ME.put && HAS_TARGET -> ME.put = 1; there[r]!UPDATE, ME.epoch
	:: ME.state == ARMED && !ME.put && !HAS_TARGET -> ME.put = 1; ME.acked = 1; try_complete()
	:: ME.state == COMPLETE -> ME.finished++; ME.state = IDLE
	:: ME.state == IDLE && ME.finished == EPOCHS -> close(DISABLED)
	fi
}

#define CAN_GO_ON (ME.state == IDLE || ME.state == COMPLETE || (ME.state == ARMED && !ME.put))

active [RANKS] proctype rank()
{
	byte r = _pid, epoch;
	mtype kind, state;

	atomic { ME.state = IDLE; ME.fresh = 1 };
end:	do
	:: atomic { CAN_GO_ON -> program() }
	:: atomic { there[SOURCE]?kind, epoch -> from_source() }
	:: atomic { back[r]?kind, epoch, state -> from_target() }
	:: atomic { faults && LIVE -> faults--; struck = 1; close(FAULTED) }
	:: atomic { faults && LIVE -> faults--; struck = 1; close(DISABLED); ME.finished = EPOCHS } /* its owner died */
	od
}

/* When nothing moves any more. */
active proctype judge()
{
	byte i;

	atomic {
		timeout ->
		do
		:: i < RANKS ->
			assert(s[i].state == FAULTED || (s[i].state == DISABLED && s[i].finished == EPOCHS));
#ifndef FREE
			assert(struck || s[i].state == DISABLED);
#endif
			i++
		:: else -> break
		od
	}
}
