# SPDX-License-Identifier: MIT
"""All assumed parameters drawn at once: a Latin hypercube, in parts that merge, and its ranges.

Nothing here depends on where or in which order draws are run: part i of n computes the whole
hypercube from the seed and runs each n-th draw, and a merge puts the draws in order again.
"""

import concurrent.futures
import json
import math
import random
import sys
import time

FORMAT = "t3 paper draws, 2"
LEAST, MOST = 0.05, 0.95
LOGARITHMIC = 4  # a range from there on is drawn evenly in the logarithm
SAY_SECONDS = 10


class BadPart(Exception):
    """A part that does not fit the others, or is none."""


# --- the hypercube -----------------------------------------------------------

def assumed(parameters):
    """Those with a range; the others are published."""
    return [one for one in parameters if one["low"] != one["high"]]


def is_power(value):
    return value > 0 and value & (value - 1) == 0


def pick(parameter, share):
    """The value at this share, 0 to below 1, of a parameter's range.

    Where low, high and default are powers of two, values are powers of two: such are sizes of
    tiles, requests and sets. Others are whole numbers.
    """
    low, high = parameter["low"], parameter["high"]
    if all(map(is_power, (low, high, parameter["default"]))):
        first, last = low.bit_length() - 1, high.bit_length() - 1
        return 1 << first + int(share * (last - first + 1))
    if low > 0 and high >= LOGARITHMIC * low:
        # Half a step below low and above high: the ends are as likely as what is between.
        start, end = math.log(low - 0.5), math.log(high + 0.5)
        return min(high, max(low, round(math.exp(start + share * (end - start)))))
    return low + int(share * (high - low + 1))


def hypercube(parameters, draws, seed):
    """[{name: value}]: of each parameter's range, each of `draws` equal parts is drawn once."""
    generator = random.Random(f"t3 paper {seed}")
    points = [{} for _ in range(draws)]
    for parameter in assumed(parameters):
        order = sorted(range(draws), key=[generator.random() for _ in range(draws)].__getitem__)
        for point, part in zip(points, order):
            point[parameter["name"]] = pick(parameter, (part + generator.random()) / draws)
    return points


# --- running -----------------------------------------------------------------

def duration(seconds):
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"


class Progress:
    """How far it is, and how long it will last, now and then on stderr."""

    def __init__(self, what, count, stream=sys.stderr):
        self.what, self.count, self.stream = what, count, stream
        self.done, self.began = 0, time.monotonic()
        self.said = self.began

    def step(self):
        self.done += 1
        now = time.monotonic()
        if now - self.said < SAY_SECONDS and self.done < self.count:
            return
        self.said = now
        left = (now - self.began) / self.done * (self.count - self.done)
        text = f"{duration(left)} left" if self.done < self.count else \
            f"in {duration(now - self.began)}"
        print(f"{self.what}: {self.done} of {self.count}, {text}", file=self.stream, flush=True)


def shard_of(text):
    """"2/5" as (2, 5)."""
    words = text.split("/")
    if len(words) != 2 or not all(word.isascii() and word.isdigit() for word in words):
        raise ValueError(f"'{text}' is not I/N")
    number, count = map(int, words)
    if not 1 <= number <= count:
        raise ValueError(f"part {number} of {count} does not exist")
    return number, count


def indices(draws, shard):
    """The draws of part (number, count)."""
    number, count = shard
    return range(number - 1, draws, count)


def run(what, points, chosen, work, jobs):
    """{index: work(point)} of the chosen ones, `jobs` at a time."""
    progress, rows = Progress(what, len(chosen)), {}
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        running = {pool.submit(work, points[index]): index for index in chosen}
        try:
            for one in concurrent.futures.as_completed(running):
                rows[running[one]] = one.result()
                progress.step()
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    return rows


# --- parts -------------------------------------------------------------------

def part(identity, shard, **tables):
    """What one machine writes. `identity` must be the same for all parts: seed, draws, model.

    A table is {index: row}: the draws, and the runs of the sweeps.
    """
    return {"format": FORMAT, "shard": list(shard), "identity": identity,
            **{name: [[index, rows[index]] for index in sorted(rows)]
               for name, rows in tables.items()}}


def read_part(path):
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise BadPart(f"{path} is no JSON: {error}") from error
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise BadPart(f"{path} has no draws of this version of paper.py")
    return found


def check_identity(parts, identity):
    for name, one in parts:
        for key, wanted in identity.items():
            if one["identity"].get(key) != wanted:
                raise BadPart(f"{name} has another {key} than the run here")


def merge(parts, table, count, what):
    """All rows of one table, in order. `parts` is [(name, part)], `what` a row's name."""
    rows = {}
    for name, one in parts:
        for index, row in one[table]:
            if index in rows:
                raise BadPart(f"{name} has {what} {index}, which another part has, too")
            rows[index] = row
    missing = sorted(set(range(count)) - rows.keys())
    if missing:
        raise BadPart(f"{len(missing)} of {count} {what}s are in no part, "
                      f"the first is {missing[0]}")
    return [rows[index] for index in sorted(rows)]


# --- what comes out ----------------------------------------------------------

def quantile(values, share):
    """Between the two next values, in proportion."""
    ordered = sorted(values)
    at = share * (len(ordered) - 1)
    below = math.floor(at)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (at - below)


def spread(values):
    """(5 %, median, 95 %)"""
    return tuple(quantile(values, share) for share in (LEAST, 0.5, MOST))


def taken(rows):
    """Those that the model ran: it refuses a machine that it cannot be."""
    return [row for row in rows if "refused" not in row]


def gathered(rows, key):
    """Values by name, of the rows that have it: what is held out may be refused on its own."""
    values = {}
    for row in taken(rows):
        for name, value in row[key].items():
            values.setdefault(name, []).append(value)
    return values


def ranges(rows):
    """Of each figure: (5 %, median, 95 %)."""
    return {name: spread(values) for name, values in gathered(rows, "figures").items()}


def sublayer_ranges(rows):
    """The same of what each sub-layer has."""
    return {name: {what: spread([one[what] for one in found]) for what in found[0]}
            for name, found in gathered(rows, "sublayers").items()}


def effects(points, rows, figure):
    """[(parameter, median of its lowest third of draws, of its highest)], the strongest first."""
    ran = [(point, row["figures"][figure]) for point, row in zip(points, rows)
           if "refused" not in row]
    third, found = len(ran) // 3, []
    for name in ran[0][0] if third else ():
        ordered = [value for _, value in sorted(ran, key=lambda one, name=name: one[0][name])]
        found.append((name, quantile(ordered[:third], 0.5), quantile(ordered[-third:], 0.5)))
    return sorted(found, key=lambda one: -abs(one[2] - one[1]))
