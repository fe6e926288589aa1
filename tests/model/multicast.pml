/* SPDX-License-Identifier: MIT */
/*
 * MULTICAST groups of a switch: SPEC.md sections 17.3 and 17.4, core/switch/update.c and port.c. Two
 * sources have a group each, with the same two targets. They send updates by go-back-N, in epochs that
 * both targets have reported. The wires lose, repeat and exchange packets. The links to the targets have
 * so few slots that a port is answered BUSY. The port of a source or of a target is reset at any moment.
 *
 * Checked: each target gets each update once, in order, in the epoch that it has armed; a port that
 * waits keeps its room on each link once it is there; in the end all have all, or know of the end, and
 * no port waits. ../model.py breaks one rule at a time, and sees the check fail:
 *
 *	HALF           a copy leaves where there is room, though another one has none
 *	DROP_FULL      a copy for which there is no room is lost
 *	LACKING        a port waits for the links without room alone
 *	STAYS          a port whose packet is refused still waits
 *	HIGHEST        the source is told the highest epoch of the targets
 *	NO_END         the reset of a port does not end the groups of its rank
 *	ONE_END        only the target whose port was reset is told of the end
 */
#ifndef EPOCHS
#define EPOCHS 1
#endif
#ifndef UPDATES
#define UPDATES 2 /* in an epoch */
#endif
#ifndef SLOTS
#define SLOTS 1
#endif
#ifndef ACCIDENTS
#define ACCIDENTS 1
#endif
#ifndef RESETS
#define RESETS 1
#endif
#ifndef SECOND
#define SECOND UPDATES /* updates of the second source in an epoch */
#endif
#define WINDOW 2

#define TOTAL(g) (EPOCHS * OF_EPOCH(g))
#define OF_EPOCH(g) (g == 0 -> UPDATES : SECOND)
#define END 255 /* instead of a number */

chan wire[2] = [WINDOW] of { byte };
chan answers[2] = [WINDOW] of { bool, byte }; /* BUSY, of that number */
chan link[2] = [SLOTS] of { byte, byte };     /* to the targets: the group, the number */

typedef group { /* and its source */
	byte una, next;
	byte expected; /* at the switch */
	bool stopped, ended;
	bool tell[2];	  /* a target, of the end */
	byte reported[2]; /* by a target */
	byte got[2];
	byte armed[2]; /* a target's epoch */
	bool knows[2];
};
group g[2];
byte ticket[2], tickets; /* 0: the port does not wait */

typedef needs {
	bool at[2], had[2]; /* of a link: it waits for it, and has had room there */
};
needs port[2];

byte drops = ACCIDENTS, repeats = ACCIDENTS, swaps = ACCIDENTS, resets = RESETS;

/* -------------------------------------------------------------------- room */

#define OTHER(i)     (1 - i)
#define FREE(t)	     (SLOTS - len(link[t]))
#define BEFORE(i, t) (ticket[OTHER(i)] && port[OTHER(i)].at[t] && (!ticket[i] || ticket[OTHER(i)] < ticket[i]))
#define HAS_ROOM(i, t) (FREE(t) >= 1 + BEFORE(i, t))
#define HAS_ALL(i)     (HAS_ROOM(i, 0) && HAS_ROOM(i, 1))

/* Port i sends. What the other one waits for must stay. */
#define HAD(i, t) (ticket[i] && HAS_ROOM(i, t))

inline look_at_room(i)
{
	port[OTHER(i)].had[0] = HAD(OTHER(i), 0);
	port[OTHER(i)].had[1] = HAD(OTHER(i), 1)
}

inline keep_room(i)
{
	assert(!port[OTHER(i)].had[0] || HAS_ROOM(OTHER(i), 0));
	assert(!port[OTHER(i)].had[1] || HAS_ROOM(OTHER(i), 1));
	port[OTHER(i)].had[0] = 0;
	port[OTHER(i)].had[1] = 0
}

inline served(i)
{
	ticket[i] = 0;
	port[i].at[0] = 0;
	port[i].at[1] = 0;
	if
	:: !ticket[OTHER(i)] -> tickets = 0
	:: else
	fi
}

inline wait(i)
{
	busy = 1;
	if
	:: !ticket[i] -> tickets++; ticket[i] = tickets
	:: else
	fi;
#ifdef LACKING
	port[i].at[0] = !HAS_ROOM(i, 0);
	port[i].at[1] = !HAS_ROOM(i, 1)
#else
	port[i].at[0] = 1;
	port[i].at[1] = 1
#endif
}

/* ------------------------------------------------------------------ updates */

inline copy_where_is_room(i, number)
{
	if
	:: HAS_ROOM(i, 0) -> link[0]!i, number
	:: else
	fi;
	if
	:: HAS_ROOM(i, 1) -> link[1]!i, number
	:: else
	fi
}

inline update(i, number)
{
	if
	:: HAS_ALL(i) ->
		look_at_room(i);
		link[0]!i, number;
		link[1]!i, number;
		served(i);
		keep_room(i)
	:: else ->
#ifdef DROP_FULL
		copy_where_is_room(i, number);
		served(i)
#else
#ifdef HALF
		copy_where_is_room(i, number);
#endif
		wait(i)
#endif
	fi
}

inline answer(i, how, number)
{
	if
	:: nfull(answers[i]) -> answers[i]!how, number
	:: full(answers[i]) /* lost */
	fi
}

inline take(i, number)
{
	if
	:: g[i].ended -> /* refused */
#ifndef STAYS
		served(i)
#endif
	:: else -> update(i, number)
	fi;
	if
	:: !busy -> g[i].expected = number + 1
	:: else
	fi;
	answer(i, busy, number);
	busy = 0
}

inline arrive(i)
{
	wire[i]?number;
	if
	:: number == g[i].expected -> take(i, number)
	:: number < g[i].expected -> answer(i, 0, number)
	:: number > g[i].expected
	fi;
	number = 0
}

/* --------------------------------------------------------------------- ends */

/* By the reset of target t's port; 2: of the source's. */
inline end_group(i, t)
{
#ifndef NO_END
	g[i].ended = 1;
	g[i].stopped = 1;
#ifdef ONE_END
	g[i].tell[0] = (t == 0);
	g[i].tell[1] = (t == 1)
#else
	g[i].tell[0] = 1;
	g[i].tell[1] = 1
#endif
#else
	skip
#endif
}

/* What is under way is lost, and its sender knows. */
inline reset_source(i)
{
	do
	:: wire[i]?_
	:: empty(wire[i]) -> break
	od;
	do
	:: answers[i]?_, _
	:: empty(answers[i]) -> break
	od;
	g[i].stopped = 1;
	g[i].una = 0;
	g[i].next = 0;
	end_group(i, 2);
	served(i)
}

inline reset_target(t)
{
	do
	:: link[t]?_, _
	:: empty(link[t]) -> break
	od;
	end_group(0, t);
	end_group(1, t)
}

inline send_end(i, t)
{
	g[i].tell[t] = 0;
	link[t]!i, END
}

#define MAY_TELL(i, t) (g[i].tell[t] && nfull(link[t]))

active proctype crossbar()
{
	byte number, other;
	bool busy;

end:	do
	:: atomic { nempty(wire[0]) -> arrive(0) }
	:: atomic { nempty(wire[1]) -> arrive(1) }
	:: atomic { MAY_TELL(0, 0) -> send_end(0, 0) }
	:: atomic { MAY_TELL(0, 1) -> send_end(0, 1) }
	:: atomic { MAY_TELL(1, 0) -> send_end(1, 0) }
	:: atomic { MAY_TELL(1, 1) -> send_end(1, 1) }
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
	:: atomic { resets -> resets--; reset_source(0) }
	:: atomic { resets -> resets--; reset_target(0) }
	od
}

/* ------------------------------------------------------------------ sources */

#ifdef HIGHEST
#define TOLD(i) (g[i].reported[0] > g[i].reported[1] -> g[i].reported[0] : g[i].reported[1])
#else
#define TOLD(i) (g[i].reported[0] < g[i].reported[1] -> g[i].reported[0] : g[i].reported[1])
#endif

/* Nothing new once it knows of the end, but what is not answered is sent again. */
#define MAY_SEND(i)                                                                         \
	(g[i].next < TOTAL(i) && !g[i].stopped && g[i].next / OF_EPOCH(i) + 1 <= TOLD(i) && \
	 g[i].next < g[i].una + WINDOW)

/* A packet that would be answered BUSY again changes nothing, so the next try is when there is room. */
#define MAY_TRY(i) (!ticket[i] || HAS_ALL(i) || g[i].ended)

active [2] proctype sender()
{
	byte i = _pid - 1, number, last;
	bool busy;

end:	do
	:: atomic { (MAY_SEND(i) || g[i].next < last) && nfull(wire[i]) && MAY_TRY(i) ->
		wire[i]!g[i].next;
		g[i].next++;
		last = (last < g[i].next -> g[i].next : last) }
	:: atomic { nempty(answers[i]) ->
		answers[i]?busy, number;
		if
		:: busy && number >= g[i].una -> g[i].next = g[i].una
		:: !busy && number >= g[i].una ->
			g[i].una = number + 1;
			g[i].next = (g[i].next < g[i].una -> g[i].una : g[i].next)
		:: else
		fi;
		busy = 0;
		number = 0 }
	/* the timer */
	:: atomic { g[i].una < g[i].next && empty(wire[i]) && empty(answers[i]) && MAY_TRY(i) ->
		g[i].next = g[i].una }
	/* its port was reset */
	:: atomic { last && g[i].next == 0 && g[i].stopped && empty(wire[i]) && !ticket[i] -> last = 0 }
	od
}

/* ------------------------------------------------------------------ targets */

#define MAY_ARM(i)                                                                          \
	(g[i].armed[t] < EPOCHS && !g[i].knows[t] && g[i].got[t] == g[i].armed[t] * OF_EPOCH(i))

inline arm(i)
{
	g[i].armed[t]++;
	g[i].reported[t] = g[i].armed[t]
}

/* Their arrivals always sink. */
active [2] proctype target()
{
	byte t = _pid - 3, from, number;

end:	do
	:: atomic { MAY_ARM(0) -> arm(0) }
	:: atomic { MAY_ARM(1) -> arm(1) }
	:: atomic { nempty(link[t]) ->
		link[t]?from, number;
		if
		:: number == END -> g[from].knows[t] = 1
		:: number != END ->
			assert(!g[from].knows[t]);
			assert(number == g[from].got[t]);
			assert(number / OF_EPOCH(from) + 1 == g[from].armed[t]);
			g[from].got[t]++
		fi;
		from = 0;
		number = 0 }
	od
}

#define ENDS_WELL(i, t) (g[i].ended -> g[i].knows[t] : g[i].got[t] == TOTAL(i))

/* When nothing moves any more. */
active proctype judge()
{
	atomic {
		timeout ->
		assert(!ticket[0] && !ticket[1]);
		assert(ENDS_WELL(0, 0) && ENDS_WELL(0, 1) && ENDS_WELL(1, 0) && ENDS_WELL(1, 1));
		assert((g[0].stopped || g[0].una == TOTAL(0)) && (g[1].stopped || g[1].una == TOTAL(1)))
	}
}
