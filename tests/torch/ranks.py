# SPDX-License-Identifier: MIT
"""Ranks as processes, forked when torch is imported: that takes seconds in a VM."""

import datetime
import os
import pathlib
import pickle
import signal
import sys
import traceback

import torch
import torch.distributed as dist

RANKS = 4
SECONDS = 60  # a timeout that a passing test never comes near


class Failed(AssertionError):
    """What a rank has raised, as text."""


def join(rank, ranks, directory, backend="t3", seconds=SECONDS, name="meet"):
    os.environ.update(RANK=str(rank), WORLD_SIZE=str(ranks), LOCAL_RANK=str(rank))
    dist.init_process_group(backend, init_method=f"file://{directory}/{name}", rank=rank,
                            world_size=ranks, timeout=datetime.timedelta(seconds=seconds))


class Ranks:
    """Processes that run functions of (rank, ranks, directory) and answer by pipes."""

    def __init__(self, directory, ranks=RANKS):
        self.directory, self.ranks = pathlib.Path(directory), ranks
        self.pids, self.orders, self.answers = [], [], []
        sys.stdout.flush()
        for rank in range(ranks):
            self._fork(rank)

    def _fork(self, rank):
        take, order = os.pipe()
        answer, give = os.pipe()
        pid = os.fork()
        if not pid:
            os.close(order)
            os.close(answer)
            for end in (*self.orders, *self.answers):
                end.close()
            self._serve(rank, open(take, "rb"), open(give, "wb"))
        os.close(take)
        os.close(give)
        self.pids.append(pid)
        self.orders.append(open(order, "wb"))
        self.answers.append(open(answer, "rb"))

    def _serve(self, rank, take, give):
        """Until the other end closes. A rank ends as a program does: what it has is closed."""
        torch.set_num_threads(1)
        status = 0
        try:
            while True:
                try:
                    function, arguments = pickle.load(take)
                except EOFError:
                    break
                try:
                    answer = True, function(rank, self.ranks, self.directory, *arguments)
                except BaseException as error:  # the test looks at it
                    answer = False, (type(error).__name__, str(error), traceback.format_exc())
                pickle.dump(answer, give)
                give.flush()
            if dist.is_initialized():
                dist.destroy_process_group()
        except BaseException:
            traceback.print_exc()
            status = 1
        finally:
            sys.stderr.flush()
            os._exit(status)

    def start(self, function, *arguments, only=None):
        for rank in range(self.ranks) if only is None else only:
            pickle.dump((function, arguments), self.orders[rank])
            self.orders[rank].flush()

    def outcomes(self, only=None):
        """(True, result) or (False, (type, text, trace)) of each rank."""
        return [pickle.load(self.answers[rank])
                for rank in (range(self.ranks) if only is None else only)]

    def run(self, function, *arguments):
        """The results of all ranks. Errors: Failed, with the trace of the first that failed."""
        self.start(function, *arguments)
        outcomes = self.outcomes()
        for rank, (is_right, answer) in enumerate(outcomes):
            if not is_right:
                raise Failed(f"rank {rank}: {answer[2]}")
        return [answer for _, answer in outcomes]

    def kill(self, rank):
        os.kill(self.pids[rank], signal.SIGKILL)

    def end(self):
        """The statuses of the ranks, which end by themselves."""
        for end in (*self.orders, *self.answers):
            end.close()
        statuses = [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in self.pids]
        self.pids = []
        return statuses


def apart(function, *arguments):
    """function(*arguments) in a process of its own.

    torch 2.6 refuses a backward pass in a process that is forked after one.
    """
    one = Ranks(".", 1)
    try:
        return one.run(without_place, function, *arguments)[0]
    finally:
        one.end()


def without_place(_rank, _ranks, _directory, function, *arguments):
    return function(*arguments)
