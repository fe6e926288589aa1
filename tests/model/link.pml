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
 */
#define SLOTS 2
#ifndef PACKETS
#define PACKETS 4
#endif
#ifndef INCARNATIONS
#define INCARNATIONS 3
#endif
#define RETRIES 1
#define NOBODY	255

/* verdicts */
#define APPLIED 1
#define LOST	2

/* incarnation, sequence number; which packet it is, for the checks alone */
chan wire = [3] of { byte, byte, byte };
chan answers = [2] of { byte, byte, byte };

byte drops = 1, repeats = 1, swaps = 1; /* accidents that are left */
byte cuts = 1, resets = 1;

/* the sender: una and next as sequence numbers of this incarnation, base: the packet of number 0 */
byte incarnation = 1, una, next, base, retries;
bool answered[SLOTS];
byte verdict[PACKETS];

/* the receiver; its incarnation is 0 when it knows of none */
byte current, expected;
byte recorded[SLOTS]; /* to which packet the response of that slot belongs */

/* what happened */
byte applied[PACKETS];
byte last = NOBODY; /* the packet applied last */

inline judge(packet, what)
{
	assert(!verdict[packet]);
	verdict[packet] = what
}

inline transmit(number)
{
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
			assert(applied[who]);
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

inline apply(packet)
{
	applied[packet]++;
	assert(applied[packet] == 1);
	assert(last == NOBODY || last < packet);
	last = packet
}

inline respond(number, packet)
{
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
