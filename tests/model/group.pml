/* SPDX-License-Identifier: MIT */
/*
 * A REDUCE group of a switch: SPEC.md sections 17.2 to 17.4, qemu-device/core/switch. Two sources send
 * updates of two places, in any order, by go-back-N with two slots. The wires lose, repeat and exchange
 * packets. Each port has one entry, and the target's link has so few slots that a port is answered
 * BUSY. A port is reset at any moment.
 *
 * Checked: no update is added twice; without a reset none is lost, and the target counts each; a port
 * that waits keeps its room on the link once it is there; in the end all sources are done or stopped,
 * no entry is in use, and the target has all or knows of the end. ../model.py breaks one rule at a time,
 * and sees the check fail:
 *
 *	AGAIN          a sequence number that has passed is taken again
 *	PASS_BUSY      a packet that is answered BUSY has passed
 *	BEHIND_BUSY    a packet behind one that was answered BUSY is taken
 *	OWN_ENTRY      a source adds to an entry that has its bit
 *	KEEP_DONE      an entry waits for sources that are done
 *	NO_ROOM        a sum leaves without a slot, and is lost
 *	ANY_ROOM       no slot is kept for ports that wait
 *	KEEP_ENTRIES   the end of the group leaves its entries in use
 *	UNTOLD         the target is not told of the end
 */
#ifndef UPDATES
#define UPDATES 2 /* of each source; then it is done */
#endif
#define SOURCES 2
#define PLACES	2
#define WINDOW	2
#ifndef SLOTS
#define SLOTS 3 /* more than there are ports that wait */
#endif
#ifndef RESETS
#define RESETS 1
#endif
#ifndef ACCIDENTS
#define ACCIDENTS 1
#endif

#define ALL ((1 << SOURCES) - 1)

/* states of an entry */
#define FREE  0
#define WAITS 1
#define READY 2

chan wire[SOURCES] = [2] of { byte };
chan answers[SOURCES] = [2] of { bool, byte }; /* BUSY, of that number */
chan ready = [SOURCES] of { byte };	       /* entries whose sums wait for the target's link */
/* the target's link: the sources in it, how many updates of each, the place */
chan link = [SLOTS] of { byte, byte, byte, byte };

typedef source {
	byte una, next, made;
	byte to[UPDATES];
	byte expected; /* at the switch */
	bool stopped;
};
source s[SOURCES];

/* Source i's port has entry i. */
typedef entry {
	byte state, at, from, count[SOURCES];
};
entry e[SOURCES];
byte done;
bool went[PLACES];
byte ticket[SOURCES], tickets; /* 0: the port does not wait */
bool had_room[SOURCES];
bool ended, tell;

typedef sums {
	byte sent[SOURCES], added[SOURCES], counted;
};
sums p[PLACES];
bool knows; /* the target, of the end */

byte drops = ACCIDENTS, repeats = ACCIDENTS, swaps = ACCIDENTS, resets = RESETS;

/* -------------------------------------------------------------------- room */

#define OTHER(i)  (1 - i)
#define BEFORE(i) (ticket[OTHER(i)] && (!ticket[i] || ticket[OTHER(i)] < ticket[i]))
#ifdef ANY_ROOM
#define HAS_ROOM(i) (len(link) < SLOTS)
#define SUM_HAS_ROOM (len(link) < SLOTS)
#else
#define HAS_ROOM(i) (SLOTS - len(link) >= 1 + BEFORE(i))
#define SUM_HAS_ROOM (SLOTS - len(link) >= 1 + (ticket[0] > 0) + (ticket[1] > 0))
#endif

inline look_at_room()
{
	had_room[0] = ticket[0] && SLOTS - len(link) >= 1 + BEFORE(0);
	had_room[1] = ticket[1] && SLOTS - len(link) >= 1 + BEFORE(1)
}

inline keep_room()
{
	assert(!had_room[0] || !ticket[0] || SLOTS - len(link) >= 1 + BEFORE(0));
	assert(!had_room[1] || !ticket[1] || SLOTS - len(link) >= 1 + BEFORE(1));
	had_room[0] = 0;
	had_room[1] = 0
}

inline served(i)
{
	ticket[i] = 0;
	if
	:: !ticket[OTHER(i)] -> tickets = 0
	:: else
	fi
}

/* ----------------------------------------------------------------- entries */

inline free_entry(k)
{
	e[k].state = FREE;
	e[k].at = 0;
	e[k].from = 0;
	e[k].count[0] = 0;
	e[k].count[1] = 0
}

inline leave_if_full(k)
{
	if
#ifdef KEEP_DONE
	:: e[k].state == WAITS && e[k].from == ALL -> e[k].state = READY; ready!k
#else
	:: e[k].state == WAITS && (e[k].from | done) == ALL -> e[k].state = READY; ready!k
#endif
	:: else
	fi
}

inline add(i, k)
{
	e[k].from = e[k].from | 1 << i;
	e[k].count[i]++;
	leave_if_full(k)
}

/* busy: it was not taken */
inline alone(i, here)
{
	went[here] = 1;
	if
	:: HAS_ROOM(i) ->
		look_at_room();
		link!1 << i, i == 0, i == 1, here;
		served(i);
		keep_room()
	:: else ->
		busy = 1;
		if
		:: !ticket[i] -> tickets++; ticket[i] = tickets
		:: else
		fi
	fi
}

#ifdef OWN_ENTRY
#define MAY_ADD(i, k) 1
#else
#define MAY_ADD(i, k) (!(e[k].from >> i & 1))
#endif
#define IS_AT(k, here) (e[k].state == WAITS && e[k].at == here)

inline update(i, here)
{
	if
	:: ended
	:: !ended && IS_AT(0, here) && MAY_ADD(i, 0) -> add(i, 0)
	:: !ended && !IS_AT(0, here) && IS_AT(1, here) && MAY_ADD(i, 1) -> add(i, 1)
	:: !ended && !IS_AT(0, here) && !IS_AT(1, here) && !went[here] && (done | 1 << i) != ALL &&
		e[i].state == FREE ->
		e[i].state = WAITS;
		e[i].at = here;
		add(i, i)
	:: else -> alone(i, here)
	fi;
	if
	:: !busy -> served(i)
	:: else
	fi
}

/* ------------------------------------------------------------------- ports */

inline answer(i, how, number)
{
	if
	:: nfull(answers[i]) -> answers[i]!how, number
	:: full(answers[i]) /* lost */
	fi
}

inline take(i, number)
{
	busy = 0;
	if
	:: number < UPDATES -> update(i, s[i].to[number])
	:: else ->
		done = done | 1 << i;
		leave_if_full(0);
		leave_if_full(1)
	fi;
#ifndef PASS_BUSY
	if
	:: !busy -> s[i].expected = number + 1
	:: else
	fi;
#else
	s[i].expected = number + 1;
#endif
	answer(i, busy, number);
	busy = 0
}

inline arrive(i, number)
{
	if
	:: number == s[i].expected -> take(i, number)
	:: number < s[i].expected ->
#ifdef AGAIN
		last = s[i].expected;
		take(i, number);
		s[i].expected = last;
		last = 0
#else
		answer(i, 0, number)
#endif
	:: number > s[i].expected ->
#ifdef BEHIND_BUSY
		if
		:: ticket[i] -> take(i, number)
		:: else
		fi
#else
		skip
#endif
	fi
}

inline end_group()
{
	ended = 1;
#ifndef UNTOLD
	tell = 1;
#endif
#ifndef KEEP_ENTRIES
	if
	:: e[0].state == WAITS -> free_entry(0)
	:: else
	fi;
	if
	:: e[1].state == WAITS -> free_entry(1)
	:: else
	fi;
#endif
	s[0].stopped = 1;
	s[1].stopped = 1
}

inline flush(i)
{
	do
	:: wire[i]?_
	:: empty(wire[i]) -> break
	od;
	do
	:: answers[i]?_, _
	:: empty(answers[i]) -> break
	od;
	served(i)
}

/* All of the switch is one process: its links have nothing else in common. */
active proctype crossbar()
{
	byte number, other, last;
	bool busy;

end:	do
	:: atomic { nempty(wire[0]) -> wire[0]?number; arrive(0, number); number = 0 }
	:: atomic { nempty(wire[1]) -> wire[1]?number; arrive(1, number); number = 0 }
	/* messages, then sums */
	:: atomic { tell && nfull(link) -> tell = 0; link!0, 0, 0, 0 }
#ifdef NO_ROOM
	:: atomic { !tell && nempty(ready) ->
		ready?number;
		if
		:: nfull(link) -> link!e[number].from, e[number].count[0], e[number].count[1], e[number].at
		:: full(link) /* lost */
		fi;
#else
	:: atomic { !tell && nempty(ready) && SUM_HAS_ROOM ->
		ready?number;
		look_at_room();
		link!e[number].from, e[number].count[0], e[number].count[1], e[number].at;
		keep_room();
#endif
		free_entry(number);
		number = 0 }
	/* accidents */
	:: atomic { drops && nempty(wire[0]) -> drops--; wire[0]?_ }
	:: atomic { drops && nempty(answers[0]) -> drops--; answers[0]?_, _ }
	:: atomic { repeats && nempty(wire[0]) && nfull(wire[0]) ->
		repeats--;
		wire[0]?<number>;
		wire[0]!number;
		number = 0 }
	:: atomic { swaps && len(wire[0]) == 2 ->
		swaps--;
		wire[0]?number;
		wire[0]?other;
		wire[0]!other;
		wire[0]!number;
		number = 0;
		other = 0 }
	:: atomic { resets -> resets--; flush(0); end_group() }
	:: atomic { resets -> resets--; flush(1); end_group() }
	od
}

/* ------------------------------------------------------------------- sources */

inline choose()
{
	if
	:: s[i].next == s[i].made && s[i].next < UPDATES ->
		if
		:: s[i].to[s[i].made] = 0; p[0].sent[i]++
		:: s[i].to[s[i].made] = 1; p[1].sent[i]++
		fi;
		s[i].made++
	:: else
	fi
}

#define MAY_SEND (s[i].next < UPDATES || (s[i].next == UPDATES && s[i].una == UPDATES))

/* A packet that would be answered BUSY again changes nothing, so the next try is when there is room. */
active [SOURCES] proctype sender()
{
	byte i = _pid - 1, number;
	bool busy;

end:	do
	:: atomic { !s[i].stopped && MAY_SEND && s[i].next < s[i].una + WINDOW && nfull(wire[i]) &&
		(!ticket[i] || HAS_ROOM(i)) -> choose(); wire[i]!s[i].next; s[i].next++ }
	:: atomic { nempty(answers[i]) ->
		answers[i]?busy, number;
		if
		:: busy && number >= s[i].una -> s[i].next = s[i].una
		:: !busy && number >= s[i].una ->
			s[i].una = number + 1;
			s[i].next = (s[i].next < s[i].una -> s[i].una : s[i].next)
		:: else
		fi;
		busy = 0;
		number = 0 }
	/* the timer */
	:: atomic { !s[i].stopped && s[i].una < s[i].next && empty(wire[i]) && empty(answers[i]) &&
		(!ticket[i] || HAS_ROOM(i)) -> s[i].next = s[i].una }
	od
}

/* -------------------------------------------------------------------- target */

/* Its arrivals always sink. */
active proctype target()
{
	byte from, a, b, at;

end:	do
	:: atomic { nempty(link) ->
		link?from, a, b, at;
		if
		:: !from -> knows = 1
		:: from && !knows ->
			p[at].added[0] = p[at].added[0] + a;
			p[at].added[1] = p[at].added[1] + b;
			p[at].counted = p[at].counted + (from & 1) + (from >> 1 & 1);
			assert(p[at].added[0] <= p[at].sent[0] && p[at].added[1] <= p[at].sent[1])
		:: else
		fi;
		from = 0;
		a = 0;
		b = 0;
		at = 0 }
	od
}

/* When nothing moves any more. */
active proctype judge()
{
	byte k;

	atomic {
		timeout ->
		assert(e[0].state == FREE && e[1].state == FREE && empty(ready));
		assert(ended || (s[0].una == UPDATES + 1 && s[1].una == UPDATES + 1));
		assert(!ended || knows);
		do
		:: k < PLACES ->
			assert(ended || (p[k].added[0] == p[k].sent[0] && p[k].added[1] == p[k].sent[1]));
			assert(ended || p[k].counted == p[k].sent[0] + p[k].sent[1]);
			k++
		:: else -> break
		od
	}
}
