#!/bin/bash
# SPDX-License-Identifier: MIT
# sparse 0.6.4 of Debian 12 (sparse=0.6.4-3): a lock that is released by __attribute__((cleanup)),
# as the kernel's guard() and scoped_guard() do, counts as still held at the function's end.
#
# Seen: of two functions that take and release a lock, the one by hand has no warning, the one by
# scope has this:
#     warning: context imbalance in 'by_scope' - wrong count at exit
# The program that gcc makes of them releases both: it ends with status 0. So kernel code that is
# checked by sparse takes spinlocks by hand, or lives with the warning. A mutex has no such context.
#
# The package is unpacked below a temporary folder, by the sources of this machine's apt, which must
# have Debian 12's. It needs gcc, and no root.
set -euo pipefail

VERSION=0.6.4-3
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT

(cd "$place" && apt-get -qq download "sparse=$VERSION" 2>/dev/null && dpkg -x sparse_*.deb root)
cat >"$place/locks.c" <<'C'
#ifdef __CHECKER__
#define CHANGES(lock, before, after) __attribute__((context(lock, before, after)))
#define STEP(lock, by) __context__(lock, by)
#else
#define CHANGES(lock, before, after)
#define STEP(lock, by) (void)(lock)
#endif

struct lock {
	int taken;
};

static void take(struct lock *lock) CHANGES(lock, 0, 1)
{
	STEP(lock, 1);
	lock->taken++;
}

static void drop(struct lock *lock) CHANGES(lock, 1, 0)
{
	STEP(lock, -1);
	lock->taken--;
}

static inline void end_of_scope(struct lock **lock)
{
	drop(*lock);
}

static int by_hand(struct lock *lock)
{
	take(lock);
	drop(lock);
	return 0;
}

static int by_scope(struct lock *lock)
{
	struct lock *held __attribute__((cleanup(end_of_scope))) = lock;

	take(held);
	return 0;
}

int main(void)
{
	struct lock lock = { 0 };

	return by_hand(&lock) + by_scope(&lock) + lock.taken;
}
C

"$place/root/usr/bin/sparse" --version
said=$("$place/root/usr/bin/sparse" -Wcontext "$place/locks.c" 2>&1 || true)
said=${said//"$place/"/}
echo "$said"
[ "$said" = "locks.c:37:12: warning: context imbalance in 'by_scope' - wrong count at exit" ] || {
	echo "expected one warning, for by_scope" >&2
	exit 1
}
gcc -Wall -Werror -o "$place/locks" "$place/locks.c"
"$place/locks"
echo "the program releases both"
