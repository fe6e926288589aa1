# SPDX-License-Identifier: MIT
"""Looks at a process, which a signal may interrupt at any moment.

A signal's handler raises SystemExit between any two steps of Python. In Popen.poll() that may be
where its lock is taken and nobody gives it back yet: then poll() never sees the end, and wait()
waits for ever. So signals wait meanwhile.
"""

import signal

ENDING = (signal.SIGHUP, signal.SIGINT, signal.SIGTERM)


def ended(process):
    """Whether it has ended. `returncode` is its status then."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    try:
        signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)
        return process.poll() is not None
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
