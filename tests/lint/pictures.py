#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Make the SVG pictures from their .dot sources, or check that they belong together.

usage: pictures.py [--check]

Each NAME.dot of the repository has its NAME.svg beside it, written by graphviz's dot. The SVG
holds the checksum of its source. --check compares it, and where dot is installed also the names
of nodes and edges and the texts with a new drawing: other versions of dot place them elsewhere.
Exits 1 when a picture is missing or out of date, 77 when all that could be checked is right but
dot is not installed.
"""

import hashlib
import pathlib
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree

ROOT = pathlib.Path(__file__).resolve().parents[2]
ROOMS = ("driver", "libt3", "qemu-device", "tests", "tools", "uapi")
SVG = "{http://www.w3.org/2000/svg}"
SKIPPED = 77


def sources():
    return sorted(path for room in ROOMS for path in (ROOT / room).rglob("*.dot"))


def head(source):
    """Comments, because an SVG whose first line is a licence has no XML declaration."""
    digest = hashlib.sha256(source.read_bytes()).hexdigest()
    # REUSE-IgnoreStart
    return ("<!-- SPDX-License-Identifier: MIT -->\n"
            f"<!-- `make pictures` made this of {source.name}, SHA-256 {digest}. -->\n")
    # REUSE-IgnoreEnd


def drawn(source):
    done = subprocess.run(["dot", "-Tsvg", source], check=True, capture_output=True, text=True)
    return re.search(r"<svg.*</svg>\n", done.stdout, re.S)[0]


def words(text):
    """Names of nodes and edges, and their texts."""
    elements = xml.etree.ElementTree.fromstring(text).iter()
    return sorted(element.text or "" for element in elements
                  if element.tag in (SVG + "title", SVG + "text"))


def complaint(source):
    """Why the picture does not match its source, or nothing."""
    picture = source.with_suffix(".svg")
    if not picture.exists():
        return "is missing"
    text = picture.read_text(encoding="utf-8")
    if not text.startswith(head(source)):
        return f"is older than {source.name}"
    if shutil.which("dot") and words(text) != words(drawn(source)):
        return f"was edited: its texts are not those of {source.name}"
    return ""


def check():
    wrong = 0
    for source in sources():
        if why := complaint(source):
            print(f"{source.with_suffix('.svg').relative_to(ROOT)} {why}: run `make pictures`")
            wrong = 1
    if not wrong and not shutil.which("dot"):
        print("skipped: the texts of the pictures, as graphviz's dot is not installed")
        return SKIPPED
    return wrong


def make():
    if not shutil.which("dot"):
        print("pictures.py: dot is not installed: install the package graphviz", file=sys.stderr)
        return 1
    for source in sources():
        source.with_suffix(".svg").write_text(head(source) + drawn(source), encoding="utf-8")
        print(f"  DOT   {source.with_suffix('.svg').relative_to(ROOT)}")
    return 0


def main():
    if sys.argv[1:] not in ([], ["--check"]):
        print(__doc__, file=sys.stderr)
        return 2
    return check() if sys.argv[1:] else make()


if __name__ == "__main__":
    sys.exit(main())
