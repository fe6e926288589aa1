#!/bin/sh
# SPDX-License-Identifier: MIT
# Validate the options of `make run` before anything is installed or built.
# Reads RANKS NODES SHAPE DTYPE WRITE ITERS SEED TILE from the environment.
# POSIX sh and nothing else: this is the first thing to run on a bare machine.
set -eu

fail() {
	echo "t3: $*" >&2
	exit 2
}

# is_number TEXT MAX-DIGITS: plain decimal digits, no sign, no leading zero. The
# length comes first, because shell arithmetic wraps on long numbers.
is_number() {
	[ "${#1}" -ge 1 ] && [ "${#1}" -le "$2" ] || return 1
	case $1 in
	*[!0-9]*) return 1 ;;
	0?*) return 1 ;;
	esac
}

# in_range TEXT LOW HIGH: HIGH has at most 9 digits.
in_range() {
	is_number "$1" 9 && [ "$1" -ge "$2" ] && [ "$1" -le "$3" ]
}

# seed_fits TEXT: 0..2^64-1, compared as text when it is as long as the maximum.
seed_fits() {
	is_number "$1" 20 || return 1
	[ "${#1}" -lt 20 ] && return 0
	head=${1%??????????}
	tail=${1#??????????}
	tail=$(strip_zeros "$tail")
	[ "$head" -lt 1844674407 ] || { [ "$head" -eq 1844674407 ] && [ "$tail" -le 3709551615 ]; }
}

# A leading zero would make the shell read the number as octal.
strip_zeros() {
	rest=$1
	while [ "${rest#0}" != "$rest" ] && [ "${#rest}" -gt 1 ]; do
		rest=${rest#0}
	done
	echo "$rest"
}

# split_x TEXT COUNT: sets f1 f2 f3; fails unless there are exactly COUNT fields.
split_x() {
	f1=${1%%x*} f2='' f3=''
	rest=${1#"$f1"}
	rest=${rest#x}
	if [ "$2" -eq 3 ]; then
		f2=${rest%%x*}
		rest=${rest#"$f2"}
		f3=${rest#x}
	else
		f2=$rest
	fi
	[ "$1" = "$f1${f2:+x$f2}${f3:+x$f3}" ]
}

check_shape() {
	rule="SHAPE must be MxNxK, each 1 to 65536, as in 256x256x256; got '$SHAPE'"
	split_x "$SHAPE" 3 || fail "$rule"
	m=$f1 n=$f2 k=$f3
	for dimension in "$m" "$n" "$k"; do
		in_range "$dimension" 1 65536 || fail "$rule"
	done
	[ $((m % RANKS)) -eq 0 ] && [ $((k % RANKS)) -eq 0 ] ||
		fail "SHAPE MxNxK needs M and K divisible by RANKS=$RANKS; got '$SHAPE'"
	[ $((m * n)) -le 67108864 ] ||
		fail "SHAPE MxNxK needs M times N at most 67108864 elements; got '$SHAPE'"
}

check_tile() {
	rule="TILE must be ROWSxCOLS, each 1 to 1024, as in 32x32; got '$TILE'"
	split_x "$TILE" 2 || fail "$rule"
	in_range "$f1" 1 1024 && in_range "$f2" 1 1024 || fail "$rule"
	rows=$((m / RANKS))
	[ "$f1" -le "$rows" ] || f1=$rows
	[ "$f2" -le "$n" ] || f2=$n
	tiles=$((((rows + f1 - 1) / f1) * ((n + f2 - 1) / f2) * RANKS))
	[ "$tiles" -le 1048576 ] ||
		fail "TILE must cut the output into at most 1048576 tiles; '$TILE' makes $tiles of '$SHAPE'"
}

: "${RANKS=}" "${NODES=}" "${SHAPE=}" "${DTYPE=}" "${WRITE=}" "${ITERS=}" "${SEED=}" "${TILE=}"

in_range "$RANKS" 2 32 || fail "RANKS must be a whole number from 2 to 32; got '$RANKS'"
in_range "$NODES" 1 "$RANKS" && [ $((RANKS % NODES)) -eq 0 ] ||
	fail "NODES must be a whole number that divides RANKS=$RANKS; got '$NODES'"
case $DTYPE in
i32 | f32 | f16 | bf16) ;;
*) fail "DTYPE must be one of i32, f32, f16, bf16; got '$DTYPE'" ;;
esac
case $WRITE in
store | doorbell | gemm) ;;
*) fail "WRITE must be store, doorbell or gemm; got '$WRITE'" ;;
esac
in_range "$ITERS" 1 100000 || fail "ITERS must be a whole number from 1 to 100000; got '$ITERS'"
seed_fits "$SEED" || fail "SEED must be a whole number from 0 to 18446744073709551615; got '$SEED'"
check_shape
check_tile
