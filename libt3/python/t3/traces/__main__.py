# SPDX-License-Identifier: MIT
"""A trace becomes a workload of `t3 sim`: of Chakra (NAME.et), or of PyTorch's execution trace
observer (JSON). Several traces are those of all ranks, in their order."""

from __future__ import annotations

import argparse
import sys

from t3.traces import TraceError, convert
from t3.traces.tensors import BYTES
from t3.workload import MAX_WORLD, text_of, write


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python3 -m t3.traces", description=__doc__)
    parser.add_argument("traces", nargs="+", metavar="TRACE", help="packed by gzip or not")
    parser.add_argument("-o", "--output", metavar="FILE", help="the workload; else it is printed")
    parser.add_argument("--rank", type=int, default=0, metavar="R", help="whose step it is (0)")
    parser.add_argument("--ranks", type=int, metavar="N",
                        help="the size of groups that the trace does not say")
    parser.add_argument("--groups", metavar="FILE",
                        help="the ranks of each group, as ASTRA-sim has them in JSON")
    parser.add_argument("--dtype", choices=sorted(BYTES), default="bfloat16", metavar="TYPE",
                        help="of collectives without a type (bfloat16)")
    words = parser.parse_args()
    if words.rank < 0 or (words.ranks is not None and not 1 <= words.ranks <= MAX_WORLD):
        parser.error(f"--rank is from 0 up, and --ranks from 1 to {MAX_WORLD}")
    return words


def main() -> int:
    words = arguments()
    try:
        workload = convert(words.traces, words.rank, words.ranks, words.groups, words.dtype)
        if words.output:
            write(words.output, workload)
        else:
            sys.stdout.write(text_of(workload))
    except TraceError as error:
        print(f"t3.traces: {error}", file=sys.stderr)
        return 1
    except OSError as error:
        print(f"t3.traces: {words.output or 'standard output'} cannot be written: "
              f"{error.strerror}", file=sys.stderr)
        return 1
    except MemoryError:
        print("t3.traces: there is no memory for such a trace", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
