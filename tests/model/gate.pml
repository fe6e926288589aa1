/* SPDX-License-Identifier: MIT */
/*
 * Stores of vCPUs beside calls that have the core to themselves: qemu-device/sync/lane.h and fabric/access.c.
 * The memory is that of a processor that delays stores until the thread runs an atomic operation or
 * a barrier, or they drain by themselves. Two vCPUs have a lane, a third shares one of them. The
 * lock of enter and leave is only a bit here; lock.pml has it.
 *
 * Checked: no store runs beside such a call, or after the device has left its fabric; no lane has
 * two stores; and each call gets to its end. ../model.py breaks one rule at a time, and sees the
 * check fail:
 *
 *	NO_BARRIER  nothing orders closing the gate before looking at the lanes
 *	NO_WAIT     a call does not wait for the lanes
 *	LOOK_FIRST  a store looks at the gate before it marks its lane
 *	REOPEN      the gate is opened again after the device has left
 *	PLAIN       the lane is marked by a plain store
 *	NO_SHARE    a store goes on if its lane was marked already
 */
#define VCPUS 3
#define LANES 2
#define CALLS 2
#ifndef TURNS
#define TURNS 2 /* of each thread */
#endif

bool marked[LANES];
bool closed;
bool attached = 1;
bool lock;

bool clearing[VCPUS]; /* "marked = 0" is in this thread's buffer */
bool marking[VCPUS];  /* "marked = 1" is: PLAIN */
bool closing;	      /* "closed = 1" is, in that of the lock's owner */

byte stores;	     /* that run now */
byte inside[LANES];  /* of each lane */
byte alone;	     /* calls that run now */

#define LANE (_pid % LANES)

inline drain(who)
{
	if
	:: clearing[who] -> marked[who % LANES] = 0; clearing[who] = 0
	:: else
	fi;
	if
	:: marking[who] -> marked[who % LANES] = 1; marking[who] = 0
	:: else
	fi
}

/* free: nobody had the lane. */
inline mark()
{
#ifdef PLAIN
	atomic { drain(_pid); free = !marked[LANE]; marking[_pid] = free }
#else
	atomic { drain(_pid); free = !marked[LANE]; marked[LANE] = 1 }
#endif
#ifdef NO_SHARE
	free = 1
#endif
}

inline clear()
{
	atomic {
		if
		:: marking[_pid] -> drain(_pid)
		:: else
		fi;
		clearing[_pid] = 1
	}
}

inline run_store()
{
	atomic {
		stores++;
		inside[LANE]++;
		assert(!alone);
		assert(attached);
		assert(inside[LANE] == 1)
	}
	atomic { stores--; inside[LANE]-- }
}

active [VCPUS] proctype vcpu()
{
	byte n;
	bool free, open;

	do
	:: n < TURNS ->
#ifdef LOOK_FIRST
		open = !closed;
#endif
		mark();
		if
		:: free ->
#ifndef LOOK_FIRST
			open = !closed;
#endif
			if
			:: open -> run_store()
			:: else
			fi;
			clear()
		:: else
		fi;
		atomic { n++; free = 0; open = 0 }
	:: else -> break
	od
}

inline close_gate()
{
	closing = 1;
#ifndef NO_BARRIER
	atomic {
		if
		:: closing -> closed = 1; closing = 0
		:: else
		fi
	}
#endif
}

inline wait_for_lanes()
{
#ifdef NO_WAIT
	skip
#else
	i = 0;
	do
	:: i < LANES -> !marked[i]; i++
	:: else -> i = 0; break
	od
#endif
}

/* One that leaves the fabric, and others. */
active [CALLS] proctype call()
{
	byte n, i;

	do
	:: n < TURNS ->
		atomic { !lock -> lock = 1 }
		close_gate();
		wait_for_lanes();
		atomic { alone++; assert(alone == 1); assert(!stores) }
		if
		:: attached = 0
		:: skip
		fi;
		atomic {
			alone--;
			closing = 0;
#ifdef REOPEN
			closed = 0;
#else
			closed = !attached;
#endif
			lock = 0
		}
		n++
	:: else -> break
	od
}

/* Buffers drain by themselves, at any time. */
active proctype memory()
{
end:
	do
	:: atomic { clearing[0] || marking[0] -> drain(0) }
	:: atomic { clearing[1] || marking[1] -> drain(1) }
	:: atomic { clearing[2] || marking[2] -> drain(2) }
	:: atomic { closing -> closed = 1; closing = 0 }
	od
}
