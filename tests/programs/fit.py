#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Data-parallel least squares by gradient descent, with mpi4py and NumPy; knows nothing of T3.

Each rank has rows of the data. All ranks add their gradients, in f32 and, as a check, in integers.
Rank 0 prints the loss of each step, and a hash of the integers, which have the same bits everywhere.
"""

import hashlib

import numpy
from mpi4py import MPI

FEATURES, ROWS, STEPS = 8192, 64, 6

comm = MPI.COMM_WORLD
random = numpy.random.default_rng(comm.rank)
truth = numpy.random.default_rng(99).standard_normal(FEATURES, dtype="f4")
rows = random.standard_normal((ROWS, FEATURES), dtype="f4")
values = rows @ truth
weights = numpy.zeros(FEATURES, "f4")
digest = hashlib.sha256()

for step in range(STEPS):
    error = rows @ weights - values
    loss = comm.allreduce(float(error @ error), MPI.SUM)
    gradient = numpy.empty_like(weights)
    comm.Allreduce(rows.T @ error, gradient, MPI.SUM)
    whole = numpy.empty(FEATURES, "i4")
    comm.Allreduce((rows[0] * 1000).astype("i4") + step, whole, MPI.SUM)
    digest.update(whole.tobytes())
    weights -= gradient / numpy.float32(2 * FEATURES)
    everywhere = numpy.empty((comm.size, FEATURES), "f4")
    comm.Allgather(weights, everywhere)
    assert (everywhere == weights).all(), "the ranks have different weights"
    if comm.rank == 0:
        print(f"step {step} loss {loss:.1f}")
if comm.rank == 0:
    print(f"integers {digest.hexdigest()}")
