# SPDX-License-Identifier: MIT
"""What T3's paper says without figures, and what the sweeps show of it."""


def change(table, column):
    """(first, last) of those rows that have it, or None."""
    found = [row[column] for row in table if row[column] is not None]
    return (found[0], found[-1]) if len(found) > 1 else None


def trend(text, sweeps, sweep, column, rises, places=3, unit=""):
    """A row, if the sweep was run: `rises` is what is published."""
    pair = change(sweeps[sweep]["table"], column) if sweep in sweeps else None
    if not pair:
        return []
    agrees = pair[1] > pair[0] if rises else pair[1] < pair[0]
    here = f"{column}: {pair[0]:.{places}f} to {pair[1]:.{places}f} {unit}".strip()
    return [{"trend": text, "here": here, "verdict": "as published" if agrees else "MISSED"}]


def trends(sweeps):
    if not sweeps:
        return []
    return [
        *trend("twice the compute: FC sub-layers gain more", sweeps, "compute", "T3-MCA FC-2",
               True),
        *trend("twice the compute: OP gains less", sweeps, "compute", "T3-MCA OP", False),
        *trend("a GEMM on fewer compute units slows down", sweeps, "units", "GEMM alone us", True,
               0),
        *trend("a reduce-scatter on few units slows down", sweeps, "units", "RS alone us", False,
               0),
        {"trend": "reduce-scatter alone: 6 % error to hardware",
         "here": "there is no such hardware", "verdict": "not repeated"}]
