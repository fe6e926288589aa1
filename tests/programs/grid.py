#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Parallel HDF5 by h5py: all ranks write one file together, by collective I/O; knows nothing of T3.

Each rank has a block of columns of a grid, so that the file interleaves them and MPI-IO exchanges data
before it writes. All ranks read other blocks than they wrote. Rank 0 prints a hash of the file's data.
"""

import hashlib

import h5py
import numpy
from mpi4py import MPI

ROWS, COLUMNS, STEPS = 96, 512, 4

comm = MPI.COMM_WORLD
width = COLUMNS // comm.size


def block(rank):
    return slice(rank * width, (rank + 1) * width)


def values(rank, step):
    return numpy.random.default_rng((rank, step)).standard_normal((ROWS, width), dtype="f4")


with h5py.File("grid.h5", "w", driver="mpio", comm=comm) as file:
    grid = file.create_dataset("grid", (STEPS, ROWS, COLUMNS), "f4")
    for step in range(STEPS):
        with grid.collective:
            grid[step, :, block(comm.rank)] = values(comm.rank, step)

neighbour = (comm.rank + 1) % comm.size
with h5py.File("grid.h5", "r", driver="mpio", comm=comm) as file:
    for step in range(STEPS):
        with file["grid"].collective:
            seen = file["grid"][step, :, block(neighbour)]
        assert (seen == values(neighbour, step)).all(), "the file has other values"
    if comm.rank == 0:
        print(f"grid {hashlib.sha256(file['grid'][:].tobytes()).hexdigest()}")
