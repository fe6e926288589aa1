# SPDX-License-Identifier: MIT
"""How fast this machine's time stamp counter runs.

QEMU's translator gives the guest the host's counter. A kernel measures the counter's rate at
boot, against emulated timers. On a busy host the result can be wrong by a factor of 50. The
kernel's clock then runs too fast by that factor, and the kernel reports lockups. So the
launcher measures the rate against the host's clock, and tells it to the guest.
"""

import ctypes
import functools
import mmap
import pathlib
import platform
import time

# rdtsc; shl $32, %rdx; or %rdx, %rax; ret
CODE = bytes.fromhex("0f31 48c1e220 4809d0 c3")
SPAN_NS = 20_000_000
TRIES = 8
CLOCK = pathlib.Path("/sys/devices/system/clocksource/clocksource0/available_clocksource")


def is_steady():
    """The host's kernel offers the counter as a clock if it is the same on all processors."""
    return (platform.machine() == "x86_64" and CLOCK.exists()
            and "tsc" in CLOCK.read_text(encoding="ascii").split())


def reader():
    """A function that reads the counter. OSError: memory for code is not allowed here."""
    code = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    code.write(CODE)
    read = ctypes.CFUNCTYPE(ctypes.c_uint64)(ctypes.addressof(ctypes.c_char.from_buffer(code)))
    read.code = code  # lives as long as the function
    return read


def pair(read):
    """A time and the counter at it: the least interrupted one of several readings."""
    best = None
    for _ in range(TRIES):
        before, count, after = time.monotonic_ns(), read(), time.monotonic_ns()
        if best is None or after - before < best[0]:
            best = after - before, (before + after) // 2, count
    return best[1:]


@functools.cache
def khz():
    """The counter's rate, or None when it cannot be measured."""
    if not is_steady():
        return None
    try:
        read = reader()
    except OSError:
        return None
    start, first = pair(read)
    time.sleep(SPAN_NS / 1e9)
    end, last = pair(read)
    return round((last - first) * 1_000_000 / (end - start))
