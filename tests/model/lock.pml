/* SPDX-License-Identifier: MIT */
/*
 * The lock of qemu-device/sync/lock.h, with the memory of a processor that delays stores: the store
 * that releases the lock stays in the thread's buffer until the thread runs an atomic operation or
 * takes the mutex, somebody makes the global barrier, or it drains by itself.
 *
 * Checked: one owner at a time; nobody passes those that sleep; and each thread gets the lock as
 * often as it wants it, so nobody sleeps for ever. ../model.py breaks the model, one rule at a
 * time, and sees the check fail:
 *
 *	NO_BARRIER  who goes to sleep makes no global barrier
 *	NO_WAKE     the release wakes nobody
 *	NO_TURNS    a sleeper takes the lock although it is another's turn
 *	OVERTAKE    t3_lock() does not look whether somebody sleeps
 *	PLAIN       the lock is taken by a load and a store, not by an exchange
 */
#ifndef THREADS
#define THREADS 3
#endif
#ifndef TURNS
#define TURNS 2 /* of each thread */
#endif

bool held;
byte tickets, turn;	/* written with the mutex */
bool delayed[THREADS];	/* "held = 0" is in this thread's buffer */
bool asleep[THREADS];	/* in qemu_cond_wait() */
bool mutex;
byte inside;		/* threads between lock and unlock */
byte passed[THREADS];	/* times that the thread got the lock while another slept, in this turn */

#define AWAITED (tickets != turn)

inline drain(who)
{
	if
	:: delayed[who] -> held = 0; delayed[who] = 0
	:: else
	fi
}

inline drain_all()
{
	i = 0;
	do
	:: i < THREADS -> drain(i); i++
	:: else -> break
	od;
	i = 0
}

/* The exchange. taken: whether the lock was free. */
inline exchange()
{
#ifdef PLAIN
	taken = !held;
	if
	:: taken -> held = 1; delayed[_pid] = 0
	:: else
	fi
#else
	atomic {
		drain(_pid);
		taken = !held;
		held = 1
	}
#endif
}

inline mutex_lock()
{
	atomic { !mutex -> mutex = 1; drain(_pid) }
}

inline mutex_unlock()
{
	atomic { drain(_pid); mutex = 0 }
}

inline enter()
{
	atomic {
		inside++;
		assert(inside == 1)
	}
}

inline sleep_for()
{
	mutex_lock();
	ticket = tickets;
	tickets++;
#ifndef NO_BARRIER
	atomic { drain_all() }
#endif
	do
	:: true ->
		taken = 0;
		if
#ifdef NO_TURNS
		:: true -> exchange()
#else
		:: turn == ticket -> exchange()
		:: else
#endif
		fi;
		if
		:: taken ->
			assert(turn == ticket);
			break
		:: else ->
			atomic { drain(_pid); asleep[_pid] = 1; mutex = 0 }
			atomic { !asleep[_pid] && !mutex -> mutex = 1 }
		fi
	od;
	atomic {
		turn++;
		i = 0;
		do
		:: i < THREADS -> passed[i] = 0; i++
		:: else -> break
		od;
		i = 0
	}
	mutex_unlock()
}

/* Once is allowed: the other took its ticket after this thread had looked. */
inline count_pass()
{
	if
	:: taken && AWAITED ->
		passed[_pid]++;
		assert(passed[_pid] <= 1)
	:: else
	fi
}

inline lock()
{
	taken = 0;
	if
#ifdef OVERTAKE
	:: true -> exchange()
#else
	:: !AWAITED -> exchange()
	:: AWAITED
#endif
	fi;
	/* Looks for a while: takes the lock if it is free, or goes to sleep. */
	do
	:: taken -> count_pass(); break
	:: !taken && !held && !AWAITED -> exchange()
	:: !taken -> sleep_for(); break
	od
}

inline unlock()
{
	atomic { inside--; delayed[_pid] = 1 }
	if
	:: AWAITED ->
#ifndef NO_WAKE
		mutex_lock();
		atomic {
			i = 0;
			do
			:: i < THREADS -> asleep[i] = 0; i++
			:: else -> break
			od;
			i = 0
		}
		mutex_unlock()
#else
		skip
#endif
	:: !AWAITED
	fi
}

active [THREADS] proctype thread()
{
	byte n, i, ticket;
	bool taken;

	do
	:: n < TURNS ->
		lock();
		enter();
		unlock();
		n++
	:: else -> break
	od
}

/* Buffers drain by themselves, at any time. */
active proctype memory()
{
	byte i;

end:	do
	:: atomic { delayed[0] -> drain(0) }
	:: atomic { delayed[1] -> drain(1) }
#if THREADS > 2
	:: atomic { delayed[2] -> drain(2) }
#endif
	od
}
