/* SPDX-License-Identifier: MIT */
/*
 * A link: SPEC.md section 6.1, qemu-device/core/link. Go-back-N with two slots. The wire loses,
 * repeats and exchanges packets, each so many times, and loses what does not fit. Responses are lost,
 * too. The sender repeats at any moment, gives up, and is reset; the connection below a link between
 * nodes is cut.
 *
 * Checked: no packet is applied twice, or after one that was sent behind it; one that the sender calls
 * applied has been applied, and the response was to this packet; each packet gets one verdict in the
 * end. ../model.py breaks one rule at a time, and sees the check fail:
 *
 *	TWICE       a sequence number that has passed is applied again
 *	AHEAD       a packet ahead of its turn is applied
 *	OLD         a packet of an incarnation that has ended is taken
 *	SAME        the incarnation stays when the sender gives up
 *	ANY         a response of another incarnation counts
 *	KEEP        what was under way survives a cut
 *	NO_TIMER    nothing is repeated
 *
 * It also holds with FAR_BEHIND: the receiver answers a packet whose response it no longer has with
 * another packet's. Such a packet is behind all that the sender waits for, which ignores the response.
 * So that rule of the receiver is only for a peer that does not keep the others.
 *
 * TRACE: the model does what a run of the code has done, event by event. ../traces.py makes the runs.
 * Losses, repetitions and exchanges are not in a run: the model has as many as it needs.
 */
#ifdef TRACE
#define SLOTS	  64
#define PACKETS	  512 /* that are looked at; older ones are forgotten */
#define AT(packet) (packet) % PACKETS
#define NUMBER	  int
#define NOBODY	  -1
#define UNDER_WAY 128
#define ANSWERS	  128
#else
#define SLOTS 2
#ifndef PACKETS
#define PACKETS 4
#endif
#ifndef INCARNATIONS
#define INCARNATIONS 3
#endif
#define RETRIES 1
#define AT(packet) packet
#define NUMBER	  byte
#define NOBODY	  255
#define UNDER_WAY 3
#define ANSWERS	  2
#endif

/* verdicts */
#define APPLIED 1
#define LOST	2

/* incarnation, sequence number; which packet it is, for the checks alone */
chan wire = [UNDER_WAY] of { NUMBER, NUMBER, NUMBER };
chan answers = [ANSWERS] of { NUMBER, NUMBER, NUMBER };

#ifndef TRACE
byte drops = 1, repeats = 1, swaps = 1; /* accidents that are left */
byte cuts = 1, resets = 1;
#endif

/* the sender: una and next as sequence numbers of this incarnation, base: the packet of number 0 */
NUMBER incarnation = 1, una, next, base, retries;
bool answered[SLOTS];
byte verdict[PACKETS];

/* the receiver; its incarnation is 0 when it knows of none */
NUMBER current, expected;
NUMBER recorded[SLOTS]; /* to which packet the response of that slot belongs */

/* what happened */
byte applied[PACKETS];
NUMBER last = NOBODY; /* the packet applied last */

/* A run does not tell what is lost. So the oldest is, where the model has no room. */
#ifdef TRACE
#define MAKE_ROOM(channel) if :: full(channel) -> channel?_, _, _ :: nfull(channel) fi;
#else
#define MAKE_ROOM(channel)
#endif

inline judge(packet, what)
{
	assert(!verdict[AT(packet)]);
	verdict[AT(packet)] = what
}

inline transmit(number)
{
	MAKE_ROOM(wire)
	if
	:: nfull(wire) -> wire!incarnation, number, base + number
	:: full(wire) /* lost */
	fi
}

/* The packets without an answer are given up. The next one begins an incarnation. */
inline begin_incarnation()
{
	do
	:: una < next ->
		if
		:: !answered[una % SLOTS] -> judge(base + una, LOST)
		:: else
		fi;
		una++
	:: else -> break
	od;
#ifndef SAME
	incarnation++;
#endif
	base = base + next;
	una = 0;
	next = 0;
	retries = 0
}

inline resend()
{
	i = una;
	do
	:: i < next -> transmit(i); i++
	:: else -> break
	od
}

inline take_answer()
{
	if
#ifdef ANY
	:: number >= una && number < next ->
#else
	:: its == incarnation && number >= una && number < next ->
#endif
		assert(who == base + number);
		if
		:: !answered[number % SLOTS] ->
			assert(applied[AT(who)]);
			judge(who, APPLIED);
			answered[number % SLOTS] = 1
		:: else
		fi;
		do
		:: una < next && answered[una % SLOTS] -> una++; retries = 0
		:: else -> break
		od
	:: else
	fi
}

#ifndef TRACE
active proctype sender()
{
	byte its, number, who, i;

end:	do
	:: atomic { next - una < SLOTS && base + next < PACKETS ->
		answered[next % SLOTS] = 0;
		next++;
		transmit(next - 1) }
	:: atomic { answers?its, number, who -> take_answer() }
#ifndef NO_TIMER
	:: atomic { una < next && empty(answers) && (retries < RETRIES || incarnation == INCARNATIONS) ->
		retries = (retries < RETRIES -> retries + 1 : retries);
		resend() }
	:: atomic { una < next && retries == RETRIES && incarnation < INCARNATIONS -> begin_incarnation() }
#endif
	:: atomic { resets && incarnation < INCARNATIONS -> resets--; begin_incarnation() }
	:: atomic { cuts && incarnation < INCARNATIONS ->
		cuts--;
#ifndef KEEP
		do
		:: wire?its, number, who
		:: answers?its, number, who
		:: empty(wire) && empty(answers) -> break
		od;
#endif
		current = 0;
		expected = 0;
		begin_incarnation() }
	:: base + una == PACKETS -> break
	od
}
#endif

inline apply(packet)
{
	applied[AT(packet)]++;
	assert(applied[AT(packet)] == 1);
	assert(last == NOBODY || last < packet);
	last = packet
}

inline respond(number, packet)
{
	MAKE_ROOM(answers)
	if
	:: nfull(answers) -> answers!its, number, packet
	:: full(answers) /* lost; the packet comes again */
	fi
}

inline take()
{
	if
#ifndef OLD
	:: current && its < current -> skip
#endif
	:: else ->
		if
		:: its != current -> current = its; expected = 0
		:: else
		fi;
		if
		:: number > expected ->
#ifdef AHEAD
			apply(who)
#else
			skip
#endif
		:: number == expected ->
			apply(who);
			recorded[number % SLOTS] = who;
			expected++;
			respond(number, who)
#ifndef FAR_BEHIND
		:: number < expected && expected - number > SLOTS -> skip
#endif
		:: else ->
#ifdef TWICE
			apply(who);
#endif
			respond(number, recorded[number % SLOTS])
		fi
	fi
}

#ifndef TRACE
active proctype receiver()
{
	byte its, number, who;

end:	do
	:: atomic { wire?its, number, who -> take() }
	:: atomic { drops && nempty(wire) -> drops--; wire?its, number, who }
	:: atomic { repeats && nempty(wire) ->
		wire?its, number, who;
		wire!its, number, who; /* behind all that is there, and now */
		repeats--;
		take() }
	:: atomic { swaps && len(wire) > 1 -> swaps--;
		wire?its, number, who;
		wire!its, number, who }
	:: atomic { drops && nempty(answers) -> drops--; answers?its, number, who }
	od
}

/* When nothing moves any more, each packet has its verdict. */
active proctype judge_all()
{
	byte i;

	atomic {
		timeout ->
		do
		:: i < PACKETS -> assert(verdict[i]); i++
		:: else -> break
		od
	}
}

#else /* TRACE */
c_decl {
	\#include "follow.h"
};
int at; /* the next event */

/* kinds of events; tests/unit/common/spy.c has the same */
#define BEGINS	 0
#define SENT	 1
#define REPEATED 2
#define TAKEN	 3
#define ANSWERED 4
#define GIVEN_UP 5
#define BEGUN	 6
#define CUT	 7

#define waits_for(number) (its == incarnation && una <= number && number < next && !answered[number % SLOTS])

/* An answer comes in the order in which it was sent. Those before it were lost, or came twice. */
inline find_answer()
{
	do
	:: answers?i, j, who ->
		if
		:: i == its && j == number -> break
		:: else
		fi
	:: empty(answers) -> assert(false) /* nobody has sent it */
	od
}

inline forget(channel)
{
	do
	:: channel?_, _, _
	:: empty(channel) -> break
	od
}

inline begin_run()
{
	forget(wire);
	forget(answers);
	incarnation = 1;
	una = 0;
	next = 0;
	base = 0;
	current = 0;
	expected = 0;
	last = NOBODY
}

inline send_first()
{
	assert(its == incarnation && number == next && next - una < SLOTS);
	answered[next % SLOTS] = 0;
	verdict[AT(base + next)] = 0;
	applied[AT(base + next)] = 0;
	next++;
	transmit(number)
}

inline take_from_wire()
{
	assert(wire??[eval(its), eval(number), _]); /* it was sent */
	wire?? <eval(its), eval(number), who>;
	i = applied[AT(who)];
	take();
	assert(seen == (applied[AT(who)] != i))
}

active proctype follower()
{
	int its, number, who, i, j, seen;
	byte kind;

	/* Atomic, because there is one way alone: no state is looked for among earlier ones. */
	atomic {
		c_code { read_trace(&now.at); };
		do
		:: c_expr { now.at < events } ->
			kind = c_expr { event[now.at].kind };
			its = c_expr { event[now.at].a };
			number = c_expr { event[now.at].b };
			seen = c_expr { event[now.at].c };
			at++;
			if
			:: kind == BEGINS -> begin_run()
			:: kind == SENT -> send_first()
			:: kind == REPEATED ->
				assert(its == incarnation && una <= number && number < next);
				transmit(number)
			:: kind == TAKEN -> take_from_wire()
			:: kind == ANSWERED ->
				find_answer();
				assert(waits_for(number));
				take_answer()
			:: kind == GIVEN_UP ->
				assert(waits_for(number));
				answered[number % SLOTS] = 1;
				judge(base + number, LOST)
			:: kind == BEGUN ->
				begin_incarnation();
				assert(its >= incarnation);
				incarnation = its
			:: kind == CUT -> current = 0; expected = 0
			fi
		:: else -> break
		od;
		c_code { complete = 1; }
	}
}
#endif
