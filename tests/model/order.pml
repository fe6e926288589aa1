/* SPDX-License-Identifier: MIT */
/*
 * A REDUCE group of a switch with the flag ORDERED: SPEC.md section 17.2, core/switch/order.c. Sources
 * send an update of each place, in any order, by go-back-N, and are done; so for each epoch that the
 * target reports. The wires lose, repeat and exchange packets. Another group takes entries of the same
 * port. The target's link has one slot. A port is reset at any moment. With SKIP a source may leave
 * places out; with HOSTILE source 0 sends two updates to a place.
 *
 * Checked: updates of a place are added once, in the order of members, in one sum; an entry is free for
 * each update of a right source, and none waits when an epoch begins; in the end no entry is in use,
 * and all is added, or all members know of the end. ../model.py breaks one rule at a time, and sees the
 * check fail:
 *
 *	ARRIVAL        updates are added in the order in which they came
 *	EARLY          a sum leaves before all members have sent or are done
 *	WAIT_DONE      a place waits for members that are done
 *	ANY_DONE       DONE of an epoch counts in the next one
 *	FEW            entries for all members but one are reserved
 *	SHARE          another group takes entries that are reserved
 *	DOUBLE         a second update of a member to a place that waits is taken
 *	TWICE          a sequence number that has passed is taken again
 *	KEEP_HELD      the end of the group leaves its entries in use
 */
#ifndef SOURCES
#define SOURCES 2
#endif
#ifndef EPOCHS
#define EPOCHS 1
#endif
#ifndef ACCIDENTS
#define ACCIDENTS 1
#endif
#ifndef RESETS
#define RESETS 1
#endif
#define PLACES 2
#define WINDOW 2
#define SLOTS  1

#define ENTRIES (SOURCES * PLACES + 1) /* of the owner's port */
#ifdef FEW
#define RESERVE ((SOURCES - 1) * PLACES)
#else
#define RESERVE (SOURCES * PLACES)
#endif

#ifdef SHARE
#define TAKES ENTRIES
#else
#define TAKES 2
#endif

#define ALL   ((1 << SOURCES) - 1)
#define STEPS (PLACES + 1) /* of an epoch: the last one is DONE */
#define END   (EPOCHS * STEPS)
#define NONE  PLACES /* instead of a place */

chan wire[SOURCES] = [WINDOW] of { byte };
chan answers[SOURCES] = [WINDOW] of { byte };
chan ready = [SOURCES * PLACES] of { byte, byte, byte }; /* sums: place, members, order of adding */
chan link = [SLOTS] of { byte, byte, byte };   /* the same; PLACES: the end */

typedef source {
	byte una, next, made;
	byte to[STEPS]; /* in this epoch */
	byte expected;	/* at the switch */
	bool stopped;
};
source s[SOURCES];

/* at the switch: members whose update waits, and in which order they came */
byte from[PLACES], came[PLACES];
byte held, foreign; /* entries in use, of the group and of another one */
byte done, epoch = 1;
bool ended, tell;

/* at the target */
byte got[PLACES]; /* members, in this epoch */
byte reported = 1;
bool knows, refuses;
/* sent in this epoch, by place */
byte sent[PLACES];

byte drops = ACCIDENTS, repeats = ACCIDENTS, swaps = ACCIDENTS, resets = RESETS;
byte takes = TAKES; /* of entries by another group */

/* ------------------------------------------------------------------- switch */

#ifdef WAIT_DONE
#define IS_FULL(p) (from[p] == ALL)
#elif defined(EARLY)
#define IS_FULL(p) (from[p] != 0)
#else
#define IS_FULL(p) ((from[p] | done) == ALL)
#endif

#ifdef ARRIVAL
#define ORDER(p) came[p]
#else
#define HAS(p, i) (from[p] >> i & 1)
/* 1 + each member, as digits of base 4, in the order of members */
#define ORDER(p)                                                                            \
	(((HAS(p, 0)) * (HAS(p, 1) -> (HAS(p, 2) -> 16 : 4) : (HAS(p, 2) -> 4 : 1))) +     \
	 2 * HAS(p, 1) * (HAS(p, 2) -> 4 : 1) + 3 * HAS(p, 2))
#endif

#define COUNT(mask) ((mask & 1) + (mask >> 1 & 1) + (mask >> 2 & 1))

/* The sum keeps one entry until it has left. */
inline leave_if_full(p)
{
	if
	:: from[p] && IS_FULL(p) ->
		held = held - (COUNT(from[p]) - 1);
		ready!p, from[p], ORDER(p);
		from[p] = 0;
		came[p] = 0
	:: else
	fi
}

inline end_group()
{
	ended = 1;
	tell = 1;
#ifndef KEEP_HELD
	held = held - COUNT(from[0]) - COUNT(from[1]);
#endif
	from[0] = 0;
	from[1] = 0;
	came[0] = 0;
	came[1] = 0;
	k = 0;
	do
	:: k < SOURCES -> s[k].stopped = 1; k++
	:: else -> k = 0; break
	od
}

inline update(i, p)
{
	if
#ifndef DOUBLE
	:: from[p] >> i & 1 -> end_group() /* OVERSHOOT */
#endif
#ifdef HOSTILE
	:: !(from[p] >> i & 1) && held == RESERVE -> end_group()
#endif
	:: else ->
		assert(held < RESERVE && held + foreign < ENTRIES);
		held++;
		from[p] = from[p] | 1 << i;
		came[p] = came[p] * 4 + i + 1;
		leave_if_full(p)
	fi
}

inline take(i, number)
{
	if
	:: ended
	:: !ended && number % STEPS < PLACES ->
		assert(number / STEPS + 1 == epoch);
		if
		:: s[i].to[number % STEPS] == NONE
		:: else -> update(i, s[i].to[number % STEPS])
		fi
#ifdef ANY_DONE
	:: !ended && number % STEPS == PLACES ->
#else
	:: !ended && number % STEPS == PLACES && number / STEPS + 1 != epoch
	:: !ended && number % STEPS == PLACES && number / STEPS + 1 == epoch ->
#endif
		done = done | 1 << i;
		leave_if_full(0);
		leave_if_full(1)
	fi
}

inline answer(i, number)
{
	if
	:: nfull(answers[i]) -> answers[i]!number
	:: full(answers[i]) /* lost */
	fi
}

inline arrive(i, number)
{
	if
	:: number == s[i].expected -> take(i, number); s[i].expected = number + 1; answer(i, number)
	:: number < s[i].expected ->
#ifdef TWICE
		take(i, number);
#endif
		answer(i, number)
	:: number > s[i].expected
	fi
}

inline flush(i)
{
	do
	:: wire[i]?_
	:: empty(wire[i]) -> break
	od;
	do
	:: answers[i]?_
	:: empty(answers[i]) -> break
	od
}

inline arrive_from(i)
{
	wire[i]?number;
	arrive(i, number);
	number = 0
}

active proctype crossbar()
{
	byte number, other, a, b, k;

end:	do
	:: atomic { nempty(wire[0]) -> arrive_from(0) }
	:: atomic { nempty(wire[1]) -> arrive_from(1) }
#if SOURCES == 3
	:: atomic { nempty(wire[2]) -> arrive_from(2) }
#endif
	/* messages, then sums */
	:: atomic { tell && nfull(link) -> tell = 0; link!PLACES, 0, 0 }
	:: atomic { !tell && nempty(ready) && nfull(link) ->
		ready?number, a, b;
		link!number, a, b;
		held--;
		number = 0;
		a = 0;
		b = 0 }
	/* the target's report: nothing waits for the old epoch */
	:: atomic { !ended && reported > epoch ->
		assert(!from[0] && !from[1]);
		epoch = reported;
		done = 0;
		sent[0] = 0;
		sent[1] = 0 }
	/* the target has refused a sum */
	:: atomic { refuses -> refuses = 0; end_group() }
	/* another group takes an entry, and gives it back */
#ifdef SHARE
	:: atomic { takes && held + foreign < ENTRIES -> takes--; foreign++ }
#else
	:: atomic { takes && foreign + RESERVE < ENTRIES -> takes--; foreign++ }
#endif
	:: atomic { foreign -> foreign-- }
	/* accidents */
	:: atomic { drops && nempty(wire[0]) -> drops--; wire[0]?_ }
	:: atomic { drops && nempty(answers[0]) -> drops--; answers[0]?_ }
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

/* ------------------------------------------------------------------ sources */

inline choose()
{
	if
	:: s[i].next == s[i].made && s[i].next % STEPS == 0 ->
		if
		:: s[i].to[0] = 0
		:: s[i].to[0] = 1
#ifdef SKIP
		:: s[i].to[0] = NONE
#endif
		fi;
		s[i].to[1] = (s[i].to[0] == NONE -> 0 : 1 - s[i].to[0]);
		if
#ifdef HOSTILE
		:: i == 0 -> s[i].to[1] = s[i].to[0]
#endif
#ifdef SKIP
		:: s[i].to[1] = NONE
#endif
		:: skip
		fi
	:: else
	fi;
	if
	:: s[i].next == s[i].made ->
		if
		:: s[i].next % STEPS < PLACES && s[i].to[s[i].next % STEPS] < PLACES ->
			sent[s[i].to[s[i].next % STEPS]] = sent[s[i].to[s[i].next % STEPS]] | 1 << i
		:: else
		fi;
		s[i].made++
	:: else
	fi
}

/* DONE waits for all responses; an epoch for its report. */
#define MAY_SEND                                                                            \
	(s[i].next < END && (s[i].next % STEPS < PLACES || s[i].una == s[i].next) &&       \
	 s[i].next / STEPS + 1 <= epoch && (s[i].next % STEPS || s[i].una == s[i].next))

active [SOURCES] proctype sender()
{
	byte i = _pid - 1, number;

end:	do
	:: atomic { !s[i].stopped && MAY_SEND && s[i].next < s[i].una + WINDOW && nfull(wire[i]) ->
		choose();
		wire[i]!s[i].next;
		s[i].next++ }
	:: atomic { nempty(answers[i]) ->
		answers[i]?number;
		if
		:: number >= s[i].una ->
			s[i].una = number + 1;
			s[i].next = (s[i].next < s[i].una -> s[i].una : s[i].next)
		:: else
		fi;
		number = 0 }
	/* the timer */
	:: atomic { !s[i].stopped && s[i].una < s[i].next && empty(wire[i]) && empty(answers[i]) ->
		s[i].next = s[i].una }
	od
}

/* ------------------------------------------------------------------- target */

/* Digits of base 4 ascend. */
#define ASCENDS(o)                                                                          \
	((o < 4) || (o < 16 && (o / 4) < (o & 3)) || (o >= 16 && (o / 16) < (o / 4 & 3) && (o / 4 & 3) < (o & 3)))

active proctype target()
{
	byte at, members, order;

end:	do
	:: atomic { nempty(link) ->
		link?at, members, order;
		if
		:: at == PLACES -> knows = 1
		:: at < PLACES && !knows ->
#ifdef HOSTILE
			if
			:: got[at] -> refuses = 1; knows = 1 /* OVERSHOOT */
			:: else
			fi;
#endif
			assert(!got[at] || knows);
			assert(ASCENDS(order));
			got[at] = (knows -> got[at] : members);
			assert((got[at] & sent[at]) == got[at])
		:: else
		fi;
		at = 0;
		members = 0;
		order = 0;
		if
		:: got[0] == ALL && got[1] == ALL && reported < EPOCHS && !knows ->
			reported++;
			got[0] = 0;
			got[1] = 0
		:: else
		fi }
	od
}

/* When nothing moves any more. */
active proctype judge()
{
	byte i;

	atomic {
		timeout ->
		assert(!held && !from[0] && !from[1] && empty(ready));
		assert(!ended || knows);
		do
		:: i < SOURCES -> assert(ended || knows || s[i].una == END); i++
		:: else -> break
		od;
		assert(ended || knows || (got[0] == sent[0] && got[1] == sent[1]))
	}
}
