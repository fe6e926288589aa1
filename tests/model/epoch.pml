/* SPDX-License-Identifier: MIT */
/*
 * Epochs of spaces on a ring: SPEC.md sections 6.2, 6.3 and 9.1, qemu-device/core/space/epoch.c. In each
 * epoch a rank sends one update to the next rank, and is complete when that was applied and its own
 * update has come. Links keep the order and lose nothing, but with CUTS. Each program arms, stores,
 * releases and leaves at any moment that the rules allow. FAULTS times a space faults or its owner dies,
 * at any moment.
 *
 * CUTS times a link does what link.pml has shown of it: its incarnation ends at any moment, in one
 * direction or, between nodes, in both. Each packet that was not answered is lost, with a verdict at
 * its sender, whether it was applied or not. Then the link goes on. Messages and responses are then
 * in no order to each other, because either may have been repeated.
 *
 * Checked: an update is applied once, in its own epoch. Without a fault no space faults, though fast
 * ranks leave while others work. In the end each rank has finished, or its space is FAULTED: no rank
 * waits for ever. With CUTS and FAULTS both, a message of a space that has ended may be lost, and nobody
 * is left to repeat it. Only then a rank may wait. ../model.py breaks one rule at a time, and sees the check fail:
 *
 *	CURRENT      who has finished an epoch reports it as not finished when it leaves
 *	NO_POISON    a space that ends does not tell its target
 *	NO_STATE     a space that ends does not tell its source (LINE)
 *	FORGET       what came before is not looked at when the space is armed
 *	NO_REPORT    a target does not report that it is armed
 *	ARMED_ONLY   a target that is still ARMING takes no updates
 *	ANY_EPOCH    a target takes updates of any epoch (FREE)
 *	NO_REJECT    a source whose update is refused goes on (FREE)
 *	WAITS        a source waits for a target that has ended in a later epoch (FREE, CUTS)
 *	NO_VERDICT   a source whose packet is lost goes on (CUTS)
 *	STATE_LOST   a target whose STATE is lost goes on (CUTS)
 *	UNPREPARED   a target arms a space whose memory is still being prepared (TRACE)
 *
 * LINE: the last rank has no target, and the first one no source. FREE: also, rank 1 does not wait for
 * updates, so it may be gone before they come, and then they are refused. Then a fault needs no cause.
 * It also holds without ARM_QUERY, which is for grants that are made after the target was armed.
 *
 * TRACE: one space of the code, with as many routes and imports as it has. The model does what the
 * space has done, event by event, and says what the space must tell its peers. ../follow.py has the runs.
 */
#ifdef TRACE
#define RANKS	1
#define PEERS	32
#define NUMBER	int
byte targets, sources; /* the highest ones so far, plus 1 */
#else
#define PEERS	1
#define NUMBER	byte
#define targets 1
#define sources 1
#endif
#ifndef RANKS
#define RANKS 3
#endif
#ifndef EPOCHS
#define EPOCHS 2
#endif
#ifndef FAULTS
#define FAULTS 1
#endif

#ifndef CUTS
#define CUTS 0
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

#ifdef TRACE
/* as t3_space_state and t3_packet_type */
#define IDLE	  1
#define ARMING	  2
#define ARMED	  3
#define COMPLETE  4
#define FAULTED	  5
#define DISABLED  6
#define QUERY	  2
#define POISON	  4
#define STATE_TYPE byte
#else
mtype = { IDLE, ARMING, ARMED, COMPLETE, FAULTED, DISABLED };
mtype = { UPDATE, QUERY, POISON, STATE, ACK, NAK };
#define STATE_TYPE mtype
#endif

typedef route { /* to a target */
	bool used, dead;
	NUMBER dead_epoch, peer_epoch;
};
typedef import { /* from a source */
	bool used, poisoned;
	NUMBER poison_epoch;
};
typedef space {
	STATE_TYPE state;
	NUMBER epoch;
	bool fresh;
	route to[PEERS];
	import from[PEERS];
	bool put, acked, got;
	byte finished; /* epochs */
};
space s[RANKS];
byte t, f, found; /* of loops over targets and sources; else 0 */

#define ME	s[r]
#define SOURCE	((r + RANKS - 1) % RANKS)
#define WORKING (ME.state == ARMING || ME.state == ARMED)
#define LIVE	(ME.state != FAULTED && ME.state != DISABLED)

#ifdef TRACE
#define r 0
/* What the space must do before it takes anything else: a new state, or a message. */
#define BECOMES	    12
#define TELLS_TARGET 13
#define TELLS_SOURCE 14
chan out = [80] of { byte, byte, int, int };
bool must_fail, preparing;
#ifdef UNPREPARED
#define PREPARING 0
#else
#define PREPARING preparing
#endif

#define SET(new)	       ME.state = new; out!BECOMES, new, 0, 0
#define TELL_TARGET(kind, e)   out!TELLS_TARGET, t, kind, e
#define TELL_SOURCE(e, new)    out!TELLS_SOURCE, f, e, new
#else
/* From rank r to its target, and from the target back to r. */
chan there[RANKS] = [2 * EPOCHS + 2] of { mtype, byte };
chan back[RANKS] = [3 * EPOCHS + 2] of { mtype, byte, mtype };
byte faults = FAULTS;
bool struck;
#define PREPARING 0 /* memory is ready at once */
#if CUTS
chan states[RANKS] = [3 * EPOCHS + 2] of { mtype, byte, mtype }; /* not among the responses */
byte cuts = CUTS;
bool severed[RANKS]; /* the connection to its source has ended, which it does not know yet */
bool unheard;	     /* the end of a space was lost */
#else
#define states back
#endif

#define SET(new)	       ME.state = new
#define TELL_TARGET(kind, e)   there[r]!kind, e
#define TELL_SOURCE(e, new)    states[SOURCE]!STATE, e, new
#endif

#ifdef CURRENT
#define NEXT ME.epoch
#else
#define NEXT (ME.epoch + 1)
#endif
#define UNDONE (ME.fresh -> 0 : (WORKING -> ME.epoch : NEXT))

/* Macros, because an inline's parameters cannot be such expressions. */
#define TELL_TARGETS(kind, e, condition)                                             \
	do                                                                           \
	:: t < targets ->                                                            \
		if                                                                   \
		:: ME.to[t].used && (condition) -> TELL_TARGET(kind, e)              \
		:: else                                                              \
		fi;                                                                  \
		t++                                                                  \
	:: else -> t = 0; break                                                      \
	od
#define TELL_SOURCES(e, new)                                                         \
	do                                                                           \
	:: f < sources ->                                                            \
		if                                                                   \
		:: ME.from[f].used -> TELL_SOURCE(e, new)                            \
		:: else                                                              \
		fi;                                                                  \
		f++                                                                  \
	:: else -> f = 0; break                                                      \
	od

/* The first epoch that is not finished is told before the state changes. */
inline close(how)
{
#ifndef NO_POISON
	TELL_TARGETS(POISON, UNDONE, true);
#endif
#ifndef NO_STATE
	TELL_SOURCES(UNDONE, how);
#endif
	ME.state = how
}

inline fail()
{
#ifdef TRACE
	must_fail = LIVE
#else
	if
	:: LIVE -> close(FAULTED)
	:: else
	fi
#endif
}

/* In a run it happens when all is delivered, of which the space's segments know. */
inline try_complete()
{
#ifndef TRACE
	if
	:: ME.state == ARMED && (ME.got || !NEEDS) && ME.acked -> SET(COMPLETE)
	:: else
	fi
#else
	skip
#endif
}

/* Each target has reached the epoch. */
inline try_armed()
{
	do
	:: t < targets -> found = found || (ME.to[t].used && ME.to[t].peer_epoch < ME.epoch); t++
	:: else -> t = 0; break
	od;
	if
	:: ME.state == ARMING && !found && !PREPARING -> SET(ARMED); try_complete()
	:: else
	fi;
	found = 0
}

#define ENDED_BEFORE(peer, gone, at_epoch) (peer.used && peer.gone && ME.epoch >= peer.at_epoch)

inline find_ended()
{
	do
	:: t < targets -> found = found || ENDED_BEFORE(ME.to[t], dead, dead_epoch); t++
	:: else -> t = 0; break
	od;
	do
	:: f < sources -> found = found || ENDED_BEFORE(ME.from[f], poisoned, poison_epoch); f++
	:: else -> f = 0; break
	od
}

inline become_ready()
{
#ifndef NO_REPORT
	TELL_SOURCES(ME.epoch, ARMING);
#endif
	skip
}

inline ask_targets()
{
#ifndef NO_QUERY
	TELL_TARGETS(QUERY, ME.epoch, ME.to[t].peer_epoch < ME.epoch);
#endif
	skip
}

/* ready: the space's memory is, so sources may send at once. */
inline arm(number, ready)
{
	ME.epoch = number;
	ME.fresh = 0;
	ME.put = 0;
	ME.acked = 0;
	ME.got = 0;
	SET(ARMING);
	find_ended();
	if
#ifndef FORGET
	:: found -> found = 0; fail()
#endif
	:: else ->
		found = 0;
		if
		:: ready -> become_ready()
		:: else
		fi;
		ask_targets();
		if
		:: ready -> try_armed()
		:: else
		fi
	fi
}

#ifdef ARMED_ONLY
#define TAKES (ME.state == ARMED)
#else
#define TAKES WORKING
#endif
#ifdef ANY_EPOCH
#define FITS(number) 1
#else
#define FITS(number) (number == ME.epoch)
#endif

/* A target that ends in a later epoch takes nothing of this one any more. */
#ifdef WAITS
#define NOT_READY(i) 0
#else
#define NOT_READY(i) (ME.to[i].peer_epoch < ME.epoch)
#endif

inline hear_state(i, number, new)
{
	if
	:: new == FAULTED || new == DISABLED ->
		ME.to[i].dead = 1;
		ME.to[i].dead_epoch = number;
		if
		:: WORKING && (ENDED_BEFORE(ME.to[i], dead, dead_epoch) || NOT_READY(i)) -> fail()
		:: else
		fi
	:: else ->
		ME.to[i].peer_epoch = number;
		try_armed()
	fi
}

inline poison(i, number)
{
	ME.from[i].poisoned = 1;
	ME.from[i].poison_epoch = number;
	if
	:: WORKING && ENDED_BEFORE(ME.from[i], poisoned, poison_epoch) -> fail()
	:: else
	fi
}

#ifndef TRACE
inline take_update()
{
	if
	:: TAKES && FITS(epoch) ->
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
	:: kind == QUERY && LIVE -> states[SOURCE]!STATE, ME.epoch, ME.state
	:: kind == QUERY && ME.state == DISABLED -> back[SOURCE]!NAK, epoch, IDLE
	:: kind == QUERY && ME.state == FAULTED -> states[SOURCE]!STATE, ME.epoch, FAULTED
	:: kind == POISON -> poison(0, epoch)
	fi
}

inline from_target()
{
	if
	:: kind == STATE -> hear_state(0, epoch, state)
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
	:: ME.state == IDLE && ME.finished < EPOCHS -> arm(ME.finished + 1, true)
	:: ME.state == ARMED && !ME.put && ME.to[0].used -> ME.put = 1; there[r]!UPDATE, ME.epoch
	:: ME.state == ARMED && !ME.put && !ME.to[0].used -> ME.put = 1; ME.acked = 1; try_complete()
	:: ME.state == COMPLETE -> ME.finished++; ME.state = IDLE
	:: ME.state == IDLE && ME.finished == EPOCHS -> close(DISABLED)
	fi
}

#if CUTS
#define TARGET ((r + 1) % RANKS)
#define HEARS_SOURCE (!severed[r])
#define HEARS_TARGET (!severed[TARGET])

/* The sender may also have waited for the response to a message alone. So it may fault if nothing is lost. */
inline lose_packets()
{
	do
	:: there[r]?kind, epoch -> found = 1; unheard = unheard || (kind == POISON && !LIVE)
	:: back[r]?_, _, _ -> found = 1
	:: empty(there[r]) && empty(back[r]) -> break
	od;
	if
#ifdef NO_VERDICT
	:: true
#else
	:: LIVE -> close(FAULTED)
	:: !LIVE || !found
#endif
	fi;
	found = 0
}

inline lose_states()
{
	do
	:: states[SOURCE]?_, _, state -> found = 1; unheard = unheard || !LIVE
	:: empty(states[SOURCE]) -> break
	od;
	if
#ifdef STATE_LOST
	:: true
#else
	:: LIVE -> close(FAULTED)
	:: !LIVE || !found
#endif
	fi;
	found = 0
}
#else
#define HEARS_SOURCE 1
#define HEARS_TARGET 1
#endif

#define CAN_GO_ON (ME.state == IDLE || ME.state == COMPLETE || (ME.state == ARMED && !ME.put))

active [RANKS] proctype rank()
{
	byte r = _pid, epoch;
	mtype kind, state;

	atomic { ME.state = IDLE; ME.fresh = 1; ME.to[0].used = HAS_TARGET; ME.from[0].used = HAS_SOURCE };
end:	do
	:: atomic { CAN_GO_ON -> program() }
	:: atomic { HEARS_SOURCE && nempty(there[SOURCE]) -> there[SOURCE]?kind, epoch; from_source() }
	:: atomic { back[r]?kind, epoch, state -> from_target() }
#if CUTS
	:: atomic { HEARS_TARGET && nempty(states[r]) -> states[r]?kind, epoch, state; from_target() }
	:: atomic { cuts && HAS_TARGET && HEARS_TARGET -> cuts--; struck = 1; lose_packets() }
	:: atomic { cuts && HAS_SOURCE && HEARS_SOURCE -> cuts--; struck = 1; lose_states() }
	:: atomic { cuts && HAS_TARGET && HEARS_TARGET ->
		cuts--;
		struck = 1;
		severed[TARGET] = 1;
		lose_packets();
		hear_state(0, 0, DISABLED) }
	:: atomic { severed[r] -> severed[r] = 0; lose_states(); poison(0, 0) }
#endif
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
#if CUTS
			assert(unheard || s[i].state == FAULTED || (s[i].state == DISABLED && s[i].finished == EPOCHS));
#else
			assert(s[i].state == FAULTED || (s[i].state == DISABLED && s[i].finished == EPOCHS));
#endif
#ifndef FREE
			assert(struck || s[i].state == DISABLED);
#endif
			i++
		:: else -> break
		od
	}
}

#else /* TRACE */
c_decl {
	\#include "follow.h"
};
int at; /* the next event */

/* kinds of events, beside those that the model expects; tests/unit/common/spy_space.c has the same */
#define BEGINS	 0
#define ROUTE	 1
#define IMPORT	 2
#define ARM	 3
#define PREPARED 4
#define RELEASE	 5
#define HEARD	 6
#define POISONED 7
#define LOST	 8
#define GONE	 9
#define ANSWERS	 10
#define UPDATE	 11
#define REFUSED	 15
#define ENDS	 16
#define NOTHING	 17

/* as t3_nak */
#define NAK_EPOCH     7
#define NAK_NOT_ARMED 8
#define NAK_FAULTED   9
#define NAK_OVERSHOOT 10

inline set_route(number, is_used)
{
	targets = (number < targets -> targets : number + 1);
	ME.to[number].used = is_used;
	ME.to[number].dead = 0;
	ME.to[number].peer_epoch = 0
}

inline set_import(number, is_used)
{
	sources = (number < sources -> sources : number + 1);
	ME.from[number].used = is_used;
	ME.from[number].poisoned = 0
}

inline begin_run()
{
	do
	:: out?_, _, _, _
	:: empty(out) -> break
	od;
	must_fail = 0;
	preparing = 0;
	ME.state = IDLE;
	ME.epoch = 0;
	ME.fresh = 1;
	do
	:: t < targets -> set_route(t, 0); t++
	:: else -> t = 0; targets = 0; break
	od;
	do
	:: f < sources -> set_import(f, 0); f++
	:: else -> f = 0; sources = 0; break
	od
}

/* How an update of that epoch is answered. Its place in the segments is not looked at. */
inline judge_update(number, nak)
{
	if
	:: ME.state == FAULTED -> assert(nak == NAK_FAULTED)
	:: ME.state == COMPLETE -> assert(nak == NAK_OVERSHOOT)
	:: ME.state == IDLE || (WORKING && preparing) -> assert(nak == NAK_NOT_ARMED)
	:: WORKING && !preparing && !FITS(number) -> assert(nak == NAK_EPOCH)
	:: else ->
		assert(TAKES && !preparing);
		assert(nak != NAK_EPOCH && nak != NAK_NOT_ARMED && nak != NAK_FAULTED)
	fi
}

/* The space itself takes the next step. */
inline become(new, delivered)
{
	if
	:: new == COMPLETE -> assert(ME.state == ARMED && delivered); ME.state = COMPLETE
	:: new == DISABLED -> assert(ME.state == FAULTED); ME.state = DISABLED
	:: new > DISABLED -> assert(ME.state == DISABLED)
	:: else -> assert(new == 0)
	fi
}

/* A fault may come at any time. It also ends what the space was about to do. */
inline end(how)
{
	assert(LIVE);
	assert(!must_fail || (!len(out) && how == FAULTED));
	do
	:: out?_, _, _, _
	:: empty(out) -> break
	od;
	must_fail = 0;
	preparing = 0;
	close(how);
	if
	:: how == DISABLED -> out!BECOMES, how, 0, 0
	:: else
	fi
}

inline take_input()
{
	if
	:: kind == ROUTE -> set_route(a, b)
	:: kind == IMPORT -> set_import(a, b)
	:: kind == ARM && ME.state == IDLE && a && (ME.fresh || a == ME.epoch + 1) ->
		preparing = !b;
		arm(a, b)
	:: kind == RELEASE && ME.state == COMPLETE && a == ME.epoch -> SET(IDLE)
	:: kind == PREPARED ->
		preparing = 0;
		become_ready();
		try_armed()
	:: kind == HEARD -> hear_state(a, b, c)
	:: kind == POISONED -> poison(a, b)
	:: kind == LOST && b -> ME.from[a].poisoned = 1; ME.from[a].poison_epoch = 0
	:: kind == LOST && !b -> ME.to[a].dead = 1; ME.to[a].dead_epoch = 0
	:: kind == GONE ->
		find_ended();
		if
		:: WORKING && found -> fail()
		:: else
		fi;
		found = 0
	:: kind == ANSWERS ->
		assert(ME.from[a].used);
		assert((b == ME.epoch && c == ME.state && !preparing) || (b == UNDONE && c == DISABLED));
		out!TELLS_SOURCE, a, b, c
	:: kind == UPDATE -> judge_update(a, b)
	:: else ->
		assert(kind == ARM || kind == RELEASE || kind == REFUSED); /* at a wrong time */
		fail()
	fi
}

active proctype follower()
{
	byte kind, k, x;
	int a, b, c, y, z;

	/* Atomic, because there is one way alone: no state is looked for among earlier ones. */
	atomic {
		c_code { read_trace(&now.at); };
		do
		:: c_expr { now.at < events } ->
			kind = c_expr { event[now.at].kind };
			a = c_expr { event[now.at].a };
			b = c_expr { event[now.at].b };
			c = c_expr { event[now.at].c };
			at++;
			if
			:: kind == BEGINS -> begin_run()
			:: kind == NOTHING
			:: kind == ENDS -> end(a)
			:: kind >= BECOMES && kind <= TELLS_SOURCE && len(out) ->
				out?k, x, y, z;
				assert(k == kind && x == a && y == b && z == c)
			:: kind == BECOMES && !len(out) -> assert(!must_fail); become(a, b)
			:: else ->
				assert(kind != TELLS_TARGET && kind != TELLS_SOURCE); /* it need not */
				assert(!len(out) && !must_fail); /* first it does what it must */
				take_input()
			fi
		:: else -> break
		od;
		c_code { complete = 1; }
	}
}
#endif
