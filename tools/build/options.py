#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Check the options of `make run` before anything is installed or built.

usage: options.py     (RANKS NODES SHAPE TILE DTYPE WRITE ITERS SEED from the environment)

Prints one sentence for the first wrong one, with what is allowed, and exits 2.
"""

import argparse
import os
import re
import sys

MOST = 2**64 - 1  # of a seed
ELEMENTS = 67108864  # of the output
TILES = 1048576


class Parser(argparse.ArgumentParser):
    """A wrong option ends the program with a sentence, and without the usage."""

    def error(self, message):
        print("t3:", re.sub(r"^argument --\w+: ", "", message), file=sys.stderr)
        sys.exit(2)


def numbers(count, low, high, rule):
    """A type of argument: so many whole numbers with an x between them."""
    def parse(text):
        # A sign or a leading zero is refused, which other programs would take for something else.
        if re.fullmatch("x".join(["(0|[1-9][0-9]{0,19})"] * count), text, re.ASCII):
            values = [int(word) for word in text.split("x")]
            if all(low <= value <= high for value in values):
                return values[0] if count == 1 else values
        raise argparse.ArgumentTypeError(f"{rule}; got '{text}'")
    return parse


def one_of(words, rule):
    def parse(text):
        if text in words:
            return text
        raise argparse.ArgumentTypeError(f"{rule}; got '{text}'")
    return parse


TYPES = {
    "RANKS": numbers(1, 2, 32, "RANKS must be a whole number from 2 to 32"),
    "NODES": numbers(1, 1, 32, "NODES must be a whole number that divides RANKS"),
    "DTYPE": one_of(("i32", "f32", "f16", "bf16"), "DTYPE must be one of i32, f32, f16, bf16"),
    "WRITE": one_of(("store", "doorbell", "gemm"), "WRITE must be store, doorbell or gemm"),
    "ITERS": numbers(1, 1, 100000, "ITERS must be a whole number from 1 to 100000"),
    "SEED": numbers(1, 0, MOST, f"SEED must be a whole number from 0 to {MOST}"),
    "SHAPE": numbers(3, 1, 65536, "SHAPE must be MxNxK, each 1 to 65536, as in 256x256x256"),
    "TILE": numbers(2, 1, 1024, "TILE must be ROWSxCOLS, each 1 to 1024, as in 32x32"),
}


def tiles(given):
    """How many tiles the output of all ranks is cut into."""
    (rows, columns), (m, n, _) = given.TILE, given.SHAPE
    m //= given.RANKS
    return -(-m // min(rows, m)) * -(-n // min(columns, n)) * given.RANKS


def main():
    parser = Parser(usage=__doc__, add_help=False)
    for name, kind in TYPES.items():
        parser.add_argument(f"--{name}", type=kind)
    text = {name: os.environ.get(name, "") for name in TYPES}
    given = parser.parse_args([f"--{name}={value}" for name, value in text.items()])
    m, n, k = given.SHAPE
    if given.RANKS % given.NODES:
        parser.error(f"NODES must be a whole number that divides RANKS={given.RANKS}; got '{given.NODES}'")
    if m % given.RANKS or k % given.RANKS:
        parser.error(f"SHAPE MxNxK needs M and K divisible by RANKS={given.RANKS}; got '{text['SHAPE']}'")
    if m * n > ELEMENTS:
        parser.error(f"SHAPE MxNxK needs M times N at most {ELEMENTS} elements; got '{text['SHAPE']}'")
    if tiles(given) > TILES:
        parser.error(f"TILE must cut the output into at most {TILES} tiles; "
                     f"'{text['TILE']}' makes {tiles(given)} of '{text['SHAPE']}'")


if __name__ == "__main__":
    main()
