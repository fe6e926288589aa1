/* SPDX-License-Identifier: MIT */
/*
 * Grants, generations and keys: SPEC.md sections 2.1, 6.2, 6.4, 6.5 and 10. qemu-device/core:
 * space/key.c, packet.c, pump.c, space_life.c, the peers' part of epoch.c, and front/admin.c.
 *
 * One slot for spaces on each of three ranks. The target has one entry of its import table. The two
 * sources have one route each. Source 1 is on another node. The target's owner grants the entry by
 * name (IMPORT_SET) or by key, revokes, resets the space, destroys it and reuses the slot; sources ask
 * with any key there ever was or a guessed one, for any generation, and set routes as it pleases them.
 * Any of them ends by DISABLE, fault or function reset. Epochs are left out: a space that is not
 * FAULTED takes updates at any time, and a source sends one after each ARM.
 *
 * Links are as link.pml has them: in order, at most once, one verdict for each packet. They may give
 * up, and all that is under way is lost, with that verdict at its sender. The connection to source 1
 * may be cut, of which both ends hear.
 *
 * A generation is the number of a space in its slot. The checks know the space itself: they hold the
 * number that the device compares against it. Checked:
 *
 *	- An update is applied in the space it was meant for, and only while its source has a grant.
 *	- A key binds its entry only for the ranks it was made for, for one space, and until it is
 *	  revoked. The right key is accepted. Wrong keys from another node are judged a few times only.
 *	- No route is told to be dead, and no space poisoned, without a cause.
 *	- Whenever nothing is under way, no claim waits, no source waits for a target that has ended or
 *	  has revoked its grant, no target has a grant to a space that has ended without knowing it, and
 *	  nothing counts as in flight. So each disabled space becomes QUIESCED.
 *	- No channel overflows: a packet is sent only if there is room, and one message waits at most.
 *
 * ../model.py breaks one rule at a time, and sees the check fail:
 *
 *	SAME            the next space in a slot has the generation of the last one
 *	NO_GENERATION   the target does not compare the generation of a packet with its own
 *	NO_SOURCE       nor that of the source with the entry's
 *	ANY_RANK        nor the rank of the source with the entry's
 *	KEEP            IMPORT_CLEAR leaves the entry as it is
 *	KEEP_KEY        IMPORT_CLEAR leaves the key
 *	RESET_KEEPS     RESET leaves the entry and its key
 *	ANY_KEY         a key is not compared
 *	ANY_MASK        a key is good for each rank
 *	REBIND          a key is good for a second space
 *	NO_AGAIN        a space cannot show its key again when the answer was lost
 *	NO_LIMIT        wrong keys of another node are not counted
 *	FORGIVE         a cut connection forgives them
 *	ANY_SERIAL      an answer to an earlier claim counts for the one that waits
 *	STALE_ANSWER    a response to an earlier space in the slot counts
 *	EARLY           a route is used before its claim is answered
 *	NO_ASK          a space that was armed meanwhile does not ask its target then
 *	NO_TELL         a source is not told that its grant is revoked
 *	UNTOLD          a space that ends while its claim is under way does not tell its target
 *	NO_LOSS         neighbours do not learn of a function reset
 *	LOSS_ALL        they take it for the end of all spaces of that rank
 *	LOSS_OTHERS     they take it for the end of all but the one that was there then
 *	REUSE           an entry is granted again while its last source is still to hear of it
 *
 * BY_NAME and BY_KEY leave out the other kind of grant.
 */
#ifndef ENDS
#define ENDS 2 /* of spaces of any rank: RESET, DISABLE, a fault, a function reset */
#endif
#ifndef GRANTS
#define GRANTS 2
#endif
#ifndef CLAIMS
#define CLAIMS 2 /* of each source */
#endif
#ifndef GIVE_UPS
#define GIVE_UPS 0
#endif
#ifndef CUTS
#define CUTS 0
#endif
#define SOURCES 2
#define SPACES	(ENDS + 1) /* in a slot, one after the other */
#define BOTH	2 /* sources may claim a key */
#define FAR	1 /* the source on another node */
#define SLOTS	2
#define WRONG	1 /* wrong keys of that source that are judged at once */
#define TICKS	1

mtype = { FREE, IDLE, ARMING, ARMED, FAULTED, DISABLED };
mtype = { CLAIM, QUERY, UPDATE, POISON, READY, GONE };
mtype = { UNSET, ASKED, SET };
mtype = { YES, NO, LIMIT, LOST };

typedef source {
	mtype state = IDLE;
	byte number = 1; /* of the space in its slot, from 1 on */
	byte in_flight;
	bool armed_once, put;
	mtype route = UNSET;
	byte to; /* which of the target's spaces */
	bool dead, ready;
	byte claims, asked; /* serial numbers of the last claim, and of the one that is waited for */
	mtype waits;	    /* a message for the link; 0: none */
	byte its, wants, key, serial;
	byte loss;  /* the target's space after a function reset of which it does not know; 0: none */
	byte grant; /* for the checks: which the route was made for; 0: none */
	bool gives_up; /* the link does, from the source */
	bool silent;   /* the link does, to the source */
};
source s[SOURCES];

/* the target, and its entry */
mtype state = IDLE;
byte number = 1, in_flight;
bool used, keyed, poisoned;
byte key, rank, from; /* from: which of the source's spaces */
mtype waits;
byte waits_to, its, wants;
byte wrong;	     /* keys that count against FAR */
bool loss[SOURCES]; /* a function reset of which it does not know */

/* For the checks. A grant's number is its key, too; 0 is never one. */
byte grants, current; /* how many there were; the entry's */
byte space_of[GRANTS + 1], made_for[GRANTS + 1], bound_to[GRANTS + 1];
byte had_route[GRANTS + 1]; /* which of the source's spaces had a route for it when it ended */
bool over[GRANTS + 1];
byte ended; /* the target's last space that has faulted or ended */
byte judged, ticks; /* wrong keys of FAR; how many were forgiven */

byte give_ups = GIVE_UPS, cuts = CUTS, ends = ENDS;

/* type, the source's space, the target's, key and serial number of a claim */
chan to[SOURCES] = [SLOTS] of { mtype, byte, byte, byte, byte };
/* type, the source's space, serial number, verdict */
chan answers[SOURCES] = [SLOTS] of { mtype, byte, byte, mtype };
/* STATE: what, the target's space, the source's */
chan told[SOURCES] = [SLOTS] of { mtype, byte, byte };

/* What devices compare is the generation. It is the number of the space in its slot. */
#ifdef SAME
#define SAME_TARGET(a, b)    1
#define SAME_SOURCE(i, a, b) 1
#else
#define SAME_TARGET(a, b)    ((a) == (b))
#define SAME_SOURCE(i, a, b) ((a) == (b))
#endif

#define ME	    s[i]
#define ROOM(a, b)  (len(a) + len(b) < SLOTS)
#define WORKING	    (ME.state == ARMING || ME.state == ARMED)
#define LIVE	    (ME.state != FREE && ME.state != DISABLED)
#define TARGET_LIVE (state == IDLE || state == FAULTED)
#define GAVE_UP	    (give_ups < GIVE_UPS)
#define WAS_CUT	    (cuts < CUTS)

/* News of a reset is about older spaces than the one that was there afterwards. */
#ifdef LOSS_ALL
#define IS_LOST(a, b) 1
#else
#ifdef LOSS_OTHERS
#define IS_LOST(a, b) !SAME_TARGET(a, b)
#else
#define IS_LOST(a, b) ((a) < (b))
#endif
#endif

#define WHO(i, space) ((space) * SOURCES + (i))
#define MADE_FOR(grant) (made_for[grant] == i || made_for[grant] == BOTH)

/* The source's route leads where its grant is from, and that has not ended. So nothing may be refused. */
#define GOOD                                                                                     \
	(ME.grant && space_of[ME.grant] == ME.to && bound_to[ME.grant] == WHO(i, ME.number) && \
	 !over[ME.grant] && ME.to > ended && !WAS_CUT)

/* k: a grant that there was; 0: none, a guess */
inline choose_grant()
{
	do
	:: k < grants -> k++
	:: break
	od
}

/* ------------------------------------------------------------------ a source */

inline unset_route()
{
	ME.route = UNSET;
	ME.to = 0;
	ME.dead = 0;
	ME.ready = 0;
	ME.asked = 0;
	ME.grant = 0
}

inline drop_message()
{
	ME.waits = 0;
	ME.its = 0;
	ME.wants = 0;
	ME.key = 0;
	ME.serial = 0
}

/* The claim has not left: it does not count as sent. */
inline take_back_claim()
{
	if
	:: ME.route == ASKED && ME.waits == CLAIM -> drop_message(); ME.in_flight--
	:: else
	fi
}

inline hear_end()
{
	assert(!GOOD); /* there is a cause */
	ME.dead = 1;
	becomes = (WORKING -> FAULTED : becomes)
}

inline hear()
{
	if
	:: LIVE && SAME_SOURCE(i, y, ME.number) && ME.route != UNSET && SAME_TARGET(x, ME.to) ->
		if
		:: kind == GONE -> hear_end()
		:: kind == READY -> ME.ready = 1
		fi
	:: else
	fi;
	in_flight = (state != FREE && SAME_TARGET(x, number) -> in_flight - 1 : in_flight)
}

inline claim_answered()
{
	if
#ifdef ANY_SERIAL
	:: ME.route == ASKED ->
#else
	:: ME.route == ASKED && ME.asked == n ->
#endif
		if
		:: answer == YES -> assert(ME.asked == n); ME.route = SET
		:: else -> unset_route()
		fi;
#ifndef NO_ASK
		sends = (ME.state == ARMING && ME.route == SET -> QUERY : sends)
#endif
	:: else
	fi
}

inline answered()
{
	if
#ifdef STALE_ANSWER
	:: ME.state == FREE
#else
	:: ME.state == FREE || !SAME_SOURCE(i, x, ME.number)
#endif
	:: else ->
		assert(ME.in_flight);
		ME.in_flight--;
		if
		:: kind == CLAIM -> claim_answered()
		:: kind != CLAIM && answer == LOST -> becomes = FAULTED
		:: (kind == QUERY || kind == UPDATE) && answer == NO -> assert(!GOOD); becomes = FAULTED
		:: kind == UPDATE && answer == YES && ME.state == ARMED -> ME.state = IDLE
		:: else
		fi
	fi
}

/* A response, or what is under way is lost with the link's incarnation. */
inline take_answer()
{
	if
	:: answers[i]?kind, x, n, answer
	:: empty(answers[i]) -> to[i]?kind, x, y, k, n
	fi;
	answer = (ME.gives_up -> LOST : answer);
	ME.gives_up = ME.gives_up && (nempty(answers[i]) || nempty(to[i]));
	answered()
}

inline claim()
{
	ME.claims++;
	ME.route = ASKED;
	ME.asked = ME.claims;
	ME.grant = k;
	if
	:: ME.to = 1
	:: number > 1 -> ME.to = number
	fi;
	sends = CLAIM
}

inline arm()
{
	ME.armed_once = 1;
	ME.ready = 0;
	ME.state = ARMING;
	becomes = (ME.dead -> FAULTED : 0);
	sends = (ME.route == SET && !ME.dead -> QUERY : 0)
}

/* What was sent is lost with the sender. */
inline reset_function()
{
	do
	:: answers[i]?_, _, _, _
	:: to[i]?_, _, _, _, _
	:: empty(answers[i]) && empty(to[i]) -> break
	od;
	ME.gives_up = 0;
	ME.loss = 0;
	drop_message();
	ME.state = FAULTED; /* nothing is told */
	becomes = FREE;
#ifndef NO_LOSS
	loss[i] = 1;
#endif
	skip
}

/* The target learns that the source's spaces have ended. */
#define HEAR_LOSS(i)                                                                              \
	poisoned = poisoned || (TARGET_LIVE && used && rank == i && !SAME_SOURCE(i, from, s[i].number)); \
	loss[i] = 0


#ifdef EARLY
#define MAY_STORE (ME.state == ARMED || (ME.state == ARMING && ME.route == ASKED))
#else
#define MAY_STORE (ME.state == ARMED)
#endif
#define MAY_END (ends && i != FAR && LIVE)

/* POISON, if the target may know of the route. */
inline tell_end()
{
	if
	:: ME.state == FAULTED || ME.route == UNSET
	:: ME.state != FAULTED && ME.route == ASKED && ME.waits == CLAIM -> take_back_claim(); unset_route()
	:: else ->
		had_route[ME.grant] = (space_of[ME.grant] == ME.to -> WHO(i, ME.number) : had_route[ME.grant]);
		y = ME.to;
#ifdef UNTOLD
		sends = (ME.route == SET -> POISON : 0);
#else
		sends = POISON;
#endif
		if
		:: ME.route == ASKED -> unset_route()
		:: else
		fi
	fi
}

/*
 * On its route, or on the one that it had (y). A newer message replaces one that waits. One that has
 * room leaves at once, but for claims: they alone can be taken back.
 */
inline send()
{
	ME.in_flight = (ME.waits && SAME_SOURCE(i, ME.its, ME.number) -> ME.in_flight : ME.in_flight + 1);
	y = (ME.to -> ME.to : y);
	n = (sends == CLAIM -> ME.asked : 0);
	if
	:: !ME.waits && !ME.gives_up && ROOM(to[i], answers[i]) -> to[i]!sends, ME.number, y, k, n
	:: ME.waits || ME.gives_up || !ROOM(to[i], answers[i]) || sends == CLAIM ->
		ME.waits = sends;
		ME.its = ME.number;
		ME.wants = y;
		ME.key = k;
		ME.serial = n
	fi
}

inline next_space()
{
	unset_route();
	ME.in_flight = 0;
	ME.put = 0;
	ME.number++;
}

active [SOURCES] proctype source_of()
{
	byte i = _pid, x, y, n, k;
	mtype kind, answer, sends, becomes;

end:	do
	:: atomic {
		if
		:: ME.waits && !ME.gives_up && ROOM(to[i], answers[i]) ->
			to[i]!ME.waits, ME.its, ME.wants, ME.key, ME.serial;
			drop_message()
		:: nempty(answers[i]) || (ME.gives_up && nempty(to[i])) -> take_answer()
		:: !ME.silent && nempty(told[i]) -> told[i]?kind, x, y; hear()
		:: ME.loss ->
			n = (i == FAR -> ME.loss : number); /* another node's news is as old as its frame */
			ME.loss = 0;
			if
			:: LIVE && ME.route != UNSET && IS_LOST(ME.to, n) -> hear_end()
			:: else
			fi
		:: give_ups && !ME.gives_up && (nempty(to[i]) || nempty(answers[i])) -> give_ups--; ME.gives_up = 1
		/* what the program does: CREATE, ROUTE_SET, ROUTE_CLAIM, ROUTE_CLEAR, ARM, a store */
		:: ME.state == FREE -> ME.state = IDLE
#ifndef BY_KEY
		:: ME.state == IDLE && ME.route == UNSET && !ME.waits && grants ->
			choose_grant();
			ME.route = (k -> SET : UNSET);
			ME.to = space_of[k];
			ME.grant = k
#endif
#ifndef BY_NAME
		:: ME.state == IDLE && ME.route == UNSET && !ME.waits && ME.claims < CLAIMS -> choose_grant(); claim()
#endif
		:: ME.state == IDLE && ME.route != UNSET -> take_back_claim(); unset_route()
		:: ME.state == IDLE && ME.route != UNSET && !ME.armed_once -> arm()
		:: MAY_STORE && !ME.put && !ME.gives_up && ROOM(to[i], answers[i]) ->
			ME.put = 1;
			ME.in_flight++;
			to[i]!UPDATE, ME.number, ME.to, 0, 0
		/* RESET, DISABLE, DESTROY, function reset */
		:: MAY_END -> ends--; becomes = IDLE
		:: MAY_END -> ends--; becomes = DISABLED
		:: ME.state == DISABLED && !ME.in_flight && !ME.waits -> becomes = FREE
		:: MAY_END -> ends--; reset_function()
		fi;
		/* what follows from it */
		if
		:: ME.state == ARMING && !becomes && ME.route == UNSET -> ME.state = IDLE /* it is complete */
		:: ME.state == ARMING && !becomes && ME.route == SET && ME.ready -> ME.state = ARMED
		:: LIVE && becomes -> tell_end()
		:: else
		fi;
		if
		:: sends -> send()
		:: else
		fi;
		if
		:: becomes == FREE || becomes == IDLE -> next_space(); ME.state = becomes
		:: LIVE && (becomes == FAULTED || becomes == DISABLED) -> ME.state = becomes
		:: else
		fi;
		x = 0; y = 0; n = 0; k = 0;
		kind = 0; answer = 0; sends = 0; becomes = 0 }
	od
}

/* ---------------------------------------------------------------- the target */

inline clear_entry()
{
	used = 0;
	keyed = 0;
	poisoned = 0;
	key = 0;
	rank = 0;
	from = 0;
	current = 0
}

inline make_grant()
{
	grants++;
	current = grants;
	space_of[grants] = number;
	made_for[grants] = i
}

/* To the entry's source. A newer message replaces one that waits. */
inline target_sends(what)
{
	in_flight = (waits && SAME_TARGET(its, number) -> in_flight : in_flight + 1);
	if
	:: !waits && !s[rank].silent && nfull(told[rank]) -> told[rank]!what, number, from
	:: waits || s[rank].silent || full(told[rank]) ->
		waits = what;
		waits_to = rank;
		its = number;
		wants = from
	fi
}

/* IMPORT_CLEAR. In FAULTED it has told the source before. */
inline revoke()
{
#ifndef NO_TELL
	if
	:: used && state == IDLE -> target_sends(GONE)
	:: else
	fi;
#endif
	over[current] = 1;
#ifndef KEEP
	used = 0;
#ifdef KEEP_KEY
	rank = 0;
	from = 0;
	poisoned = 0
#else
	clear_entry()
#endif
#endif
}

inline reset_target()
{
	i = 0;
	do
	:: told[0]?_, _, _
	:: told[1]?_, _, _
	:: empty(told[0]) && empty(told[1]) -> break
	od;
	s[0].silent = 0;
	s[1].silent = 0;
	loss[0] = 0;
	loss[1] = 0;
	waits = 0;
	waits_to = 0;
	its = 0;
	wants = 0;
	state = FAULTED; /* nothing is told */
	becomes = FREE;
#ifndef NO_LOSS
	s[0].loss = number + 1;
	s[1].loss = number + 1;
#endif
	skip
}

/* A message about the entry to its last source has arrived. A key may be claimed by any source. */
#ifdef REUSE
#define IS_TOLD(i) 1
#define ALL_TOLD   1
#else
#define ON_ITS_WAY(i, what)	told[i]??[what, eval(number), _]
#define ON_ITS_WAY_TO(i, what)	told[i]??[what, eval(number), eval(s[i].number)]
#define IS_TOLD(i)		!(ON_ITS_WAY_TO(i, GONE) || ON_ITS_WAY_TO(i, READY))
#define ALL_TOLD                                                           \
	!(ON_ITS_WAY(0, GONE) || ON_ITS_WAY(0, READY) || ON_ITS_WAY(1, GONE) || \
	  ON_ITS_WAY(1, READY))
#endif
#define MAY_GRANT (TARGET_LIVE && !used && !keyed && !waits && grants < GRANTS)

inline grant_by_name(number_of)
{
	i = number_of;
	make_grant();
	used = 1;
	rank = i;
	from = s[i].number;
	bound_to[grants] = WHO(i, from)
}

#ifdef ANY_KEY
#define OPENS keyed
#else
#define OPENS (keyed && key == k)
#endif
#ifdef ANY_MASK
#define MAY_CLAIM 1
#else
#define MAY_CLAIM MADE_FOR(key)
#endif
#ifdef REBIND
#define UNBOUND 1
#else
#ifdef NO_AGAIN
#define UNBOUND (!used)
#else
#define UNBOUND (!used || (rank == i && SAME_SOURCE(i, from, x)))
#endif
#endif
/* The key is right, and good for this space. */
#define MUST_OPEN                                                                                       \
	(TARGET_LIVE && y == number && k && k == current && space_of[k] == number && MADE_FOR(k) && \
	 !over[k] && (!bound_to[k] || bound_to[k] == WHO(i, x)))

inline judge_claim()
{
	if
	:: i == FAR && wrong >= WRONG -> answer = LIMIT
	:: !(i == FAR && wrong >= WRONG) && TARGET_LIVE && SAME_TARGET(y, number) && OPENS && MAY_CLAIM && UNBOUND ->
		assert(MUST_OPEN);
		used = 1;
		rank = i;
		from = x;
		bound_to[k] = WHO(i, x);
		answer = YES
	:: else ->
		assert(!keyed || !MUST_OPEN);
		answer = NO;
		judged = (i == FAR -> judged + 1 : judged);
		assert(judged <= WRONG + ticks);
#ifndef NO_LIMIT
		wrong = (i == FAR -> wrong + 1 : wrong)
#endif
	fi
}

#ifdef NO_GENERATION
#define FOR_ME 1
#else
#define FOR_ME SAME_TARGET(y, number)
#endif
#ifdef NO_SOURCE
#define FROM_ITS 1
#else
#define FROM_ITS SAME_SOURCE(i, from, x)
#endif
#ifdef ANY_RANK
#define BY_ITS 1
#else
#define BY_ITS (rank == i)
#endif

inline take()
{
	if
	:: kind == CLAIM -> judge_claim()
	:: kind != CLAIM && TARGET_LIVE && FOR_ME && used && BY_ITS && FROM_ITS ->
		answer = YES;
		if
		:: kind == QUERY ->
			tells = (state == FAULTED -> GONE : READY);
			ME.grant = (ME.number == x -> current : ME.grant)
		:: kind == POISON -> poisoned = 1
		:: kind == UPDATE && (state == FAULTED || poisoned) -> answer = NO
		:: kind == UPDATE && state == IDLE && !poisoned ->
			assert(y == number);
			assert(current && !over[current] && space_of[current] == number);
			assert(bound_to[current] == WHO(i, x))
		fi
	:: else -> answer = NO
	fi
}

/* The link gives up. A message that is lost is a fault of its space. */
inline lose_message()
{
	told[i]?_, x, _;
	if
	:: state != FREE && SAME_TARGET(x, number) ->
		assert(in_flight);
		in_flight--;
		becomes = (state == IDLE -> FAULTED : 0)
	:: else
	fi;
	s[i].silent = nempty(told[i])
}

/* All routes and grants over the connection have ended. */
inline cut_connection()
{
	s[FAR].gives_up = nempty(to[FAR]) || nempty(answers[FAR]);
	s[FAR].silent = nempty(told[FAR]);
	s[FAR].loss = SPACES + 1; /* all routes over it */
	poisoned = poisoned || (TARGET_LIVE && used && rank == FAR);
#ifdef FORGIVE
	wrong = 0
#endif
}

inline next_target()
{
	ended = number;
	in_flight = 0;
	number++;
}

active proctype target()
{
	byte i, x, y, n, k;
	mtype kind, answer, tells, becomes;
	bool takes, gets;

end:	do
	:: atomic {
		if
		:: waits && !s[waits_to].silent && nfull(told[waits_to]) ->
			told[waits_to]!waits, its, wants;
			waits = 0;
			waits_to = 0;
			its = 0;
			wants = 0
		:: nempty(to[0]) && !s[0].gives_up -> takes = 1
		:: nempty(to[1]) && !s[1].gives_up -> takes = 1; i = 1
		:: s[0].silent -> gets = 1
		:: s[1].silent -> gets = 1; i = 1
		:: loss[0] -> HEAR_LOSS(0)
		:: give_ups && !s[0].silent && nempty(told[0]) -> give_ups--; s[0].silent = 1
		:: cuts -> cuts--; cut_connection()
		:: wrong && ticks < TICKS -> ticks++; wrong--
		/* what its owner does: CREATE, IMPORT_SET, KEY_SET, IMPORT_CLEAR */
		:: state == FREE -> state = IDLE
#ifndef BY_KEY
		:: MAY_GRANT && IS_TOLD(0) -> grant_by_name(0)
		:: MAY_GRANT && IS_TOLD(1) -> grant_by_name(1)
#endif
#ifndef BY_NAME
		:: MAY_GRANT && ALL_TOLD ->
			if
			:: i = 0
			:: i = 1
			fi;
			make_grant();
			keyed = 1;
			key = grants;
			if
			:: true
			:: made_for[grants] = BOTH
			fi
#endif
		:: used || keyed -> revoke()
		/* RESET, DISABLE, DESTROY, function reset, a fault */
		:: ends && TARGET_LIVE -> ends--; becomes = IDLE
		:: ends && TARGET_LIVE -> ends--; becomes = DISABLED
		:: state == DISABLED && !in_flight && !waits -> becomes = FREE
		:: ends && TARGET_LIVE -> ends--; reset_target()
		:: ends && state == IDLE -> ends--; becomes = FAULTED
		fi;
		if
		:: takes ->
			to[i]?kind, x, y, k, n;
			take();
			answers[i]!kind, x, n, answer
		:: gets -> lose_message()
		:: else
		fi;
		/* what follows from it */
		if
		:: becomes && state == IDLE && used -> tells = GONE
		:: else
		fi;
		if
		:: tells -> target_sends(tells)
		:: else
		fi;
		if
		:: becomes == FREE || becomes == IDLE ->
			next_target();
#ifdef RESET_KEEPS
			if
			:: becomes == FREE -> clear_entry()
			:: else
			fi;
#else
			clear_entry();
#endif
			state = becomes
		:: becomes == FAULTED || becomes == DISABLED -> ended = number; state = becomes
		:: else
		fi;
		i = 0; x = 0; y = 0; n = 0; k = 0; takes = 0; gets = 0;
		kind = 0; answer = 0; tells = 0; becomes = 0 }
	od
}

#define AT_REST(i)                                                                                  \
	(empty(to[i]) && empty(answers[i]) && empty(told[i]) && !s[i].waits && !s[i].loss && !loss[i] && \
	 !s[i].gives_up && !s[i].silent)

/* Whenever nothing is under way. */
active proctype judge()
{
	byte i;

end:	do
	:: atomic { !waits && AT_REST(0) && AT_REST(1) ->
		assert(state == FREE || !in_flight);
		do
		:: i < SOURCES ->
			assert(ME.route != ASKED && (ME.state == FREE || !ME.in_flight));
			/* Its program may store nothing. But somebody waits for it then. */
			assert(ME.state != ARMING || GAVE_UP || WAS_CUT);
			assert(ME.state != ARMED || GOOD || GAVE_UP || WAS_CUT);
			assert(!TARGET_LIVE || !used || rank != i || had_route[current] != WHO(i, from) || poisoned || GAVE_UP);
			i++
		:: else -> i = 0; break
		od }
	od
}
