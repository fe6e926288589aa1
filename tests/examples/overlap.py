#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""What a timeline of `t3 trace` says of overlap: how many segments were delivered before a rank, which
was still computing, began to wait for its result.

usage: overlap.py TIMELINE
"""

import collections
import json
import re
import sys

WAIT = re.compile(r"space (\d+) until DELIVERED (\d+)")


def epochs(events):
    """(device, space, epoch) -> [delivered before the wait, delivered after it], of epochs waited for."""
    found, current, waiting = collections.defaultdict(lambda: [0, 0]), {}, set()
    names = {(event["pid"], event["tid"]): event["args"]["name"] for event in events
             if event["ph"] == "M" and event["name"] == "thread_name"}
    for event in sorted((event for event in events if event["ph"] in "Bi"), key=lambda event: event["ts"]):
        device, name = event["pid"], event["name"]
        row = re.fullmatch(r"space (\d+)", names.get((device, event["tid"]), ""))
        if wait := WAIT.fullmatch(name):
            waiting.add((device, int(wait[1]), int(wait[2])))
        elif row and (state := re.fullmatch(r"(?:ARMING|ARMED) (\d+)", name)):
            current[device, int(row[1])] = int(state[1])
        elif row and re.fullmatch(r"segment \d+ delivered", name) and (device, int(row[1])) in current:
            key = (device, int(row[1]), current[device, int(row[1])])
            found[key][key in waiting] += 1
    return {key: counts for key, counts in found.items() if key in waiting}


def main():
    if len(sys.argv) != 2:
        print("usage: overlap.py TIMELINE", file=sys.stderr)
        return 2
    with open(sys.argv[1], encoding="utf-8") as file:
        found = epochs(json.load(file)["traceEvents"])
    sums = collections.defaultdict(lambda: [0, 0])
    for (_, space, _), counts in found.items():
        for when in (0, 1):
            sums[space][when] += counts[when]
    for space, (before, after) in sorted(sums.items()):
        print(f"space {space}: {before} of {before + after} segments were delivered while the ranks "
              "were computing")
    return 0


if __name__ == "__main__":
    sys.exit(main())
