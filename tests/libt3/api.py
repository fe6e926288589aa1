# SPDX-License-Identifier: MIT
"""The public headers of libt3 as data, and what libt3's tests share."""

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
    """A test failed. The text is the reason."""


def public_headers():
    """The headers that are installed. Internal ones have other names."""
    return sorted((ROOT / "libt3").glob("t3*.h"))


def plain(text):
    """A type or a parameter on one line."""
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
            # A comment after a declaration or in a struct does not concern what follows.
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
    """Each test is a function that raises Wrong. Its name is the test's name. TAP on stdout."""
    failed = 0
    print(f"1..{len(tests)}")
    for number, test in enumerate(tests, 1):
        why = ""
        try:
            test()
        except Exception as error:  # any exception: the other tests still run
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
    """Compare two sets of names, and report their differences."""
    found, wanted = set(found), set(wanted)
    more, less = sorted(found - wanted), sorted(wanted - found)
    require(not more, f"{what}: not expected: {' '.join(map(str, more))}")
    require(not less, f"{what}: missing: {' '.join(map(str, less))}")


if __name__ == "__main__":
    sys.exit("api.py is imported by install.py and manual.py")
