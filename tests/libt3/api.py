# SPDX-License-Identifier: MIT
"""libt3 as its public headers declare it, and what its tests share."""

import collections
import os
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("T3_BUILD", ROOT / ".build"))
PAGES = ROOT / "libt3/man"

# comment: the one above it, or above the declarations that it follows without a gap;
# common: what "Errors of all of them" says above, in its part of the header.
Function = collections.namedtuple("Function", "name result arguments comment common header")

PIECE = re.compile(r"/\*(?P<comment>.*?)\*/|^T3_API\s(?P<declaration>[^;]*);", re.S | re.M)
DECLARATION = re.compile(r"(?P<result>.*?)\b(?P<name>t3_\w+)\((?P<arguments>.*)\)", re.S)


class Wrong(Exception):
    """A test that failed, and why."""


def public_headers():
    """Those of libt3 that are installed: internal ones have other names."""
    return sorted((ROOT / "libt3").glob("t3*.h"))


def plain(text):
    """A type or a parameter, however it was broken into lines."""
    return re.sub(r"\s*\*\s*", " *", " ".join(text.split())).strip()


def arguments_of(text):
    return [plain(part) for part in text.split(",")]


def functions_of(header):
    text, comment, common = header.read_text(), "", ""
    for piece in PIECE.finditer(text):
        if piece["comment"] is None:
            match = DECLARATION.fullmatch(" ".join(piece["declaration"].split()))
            if not match:
                raise Wrong(f"{header.name}: cannot read '{piece['declaration']}'")
            yield Function(match["name"], plain(match["result"]), arguments_of(match["arguments"]),
                           comment, common, header.name)
        elif not text[:piece.start()].rpartition("\n")[2].strip():
            # What stands behind a declaration or in a struct speaks of nothing that follows.
            comment = re.sub(r"\s*\n \*", "", piece["comment"])
            if comment.startswith(" ---"):
                common = ""
            elif "Errors of all of them:" in comment:
                common = comment


def functions():
    """By name, in the order of the headers."""
    return {function.name: function for header in public_headers()
            for function in functions_of(header)}


def run_tests(tests):
    """Each is a function that raises Wrong, named as its test; TAP on stdout."""
    failed = 0
    print(f"1..{len(tests)}")
    for number, test in enumerate(tests, 1):
        why = ""
        try:
            test()
        except Exception as error:  # whatever it is, the other tests still run
            why = str(error) if isinstance(error, Wrong) else repr(error)
            failed += 1
        for line in why.splitlines():
            print(f"# {line}")
        print(f"{'not ok' if why else 'ok'} {number} - {test.__name__}", flush=True)
    return 1 if failed else 0


def require(wanted, why):
    if not wanted:
        raise Wrong(why)


def same(found, wanted, what):
    """Two sets of names, with the difference where they are not equal."""
    found, wanted = set(found), set(wanted)
    more, less = sorted(found - wanted), sorted(wanted - found)
    require(not more, f"{what}: not expected: {' '.join(map(str, more))}")
    require(not less, f"{what}: missing: {' '.join(map(str, less))}")


if __name__ == "__main__":
    sys.exit("api.py is imported by install.py and manual.py")
