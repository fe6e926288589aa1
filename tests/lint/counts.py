#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Count how the C code reads: lengths, functions called once, chains, circles, comments, subjects; and
how large the build's description is.

The rooms are driver, libt3, tools/t3, qemu-device/core and the folders beside core/, without their
tests. A function's braces stand at the margin, as lint's size check takes it; its length goes from
the line with its name to its last brace. For each room are counted:

  functions   all of them, with their median and greatest length in lines
  one caller  static functions of .c files with one call in their file, from another function, and
              no other mention in code (so their address is not taken)
  chains      paths f1 > f2 > f3 of such functions, each of which calls the next one. A path of
              four has two of them, and two paths that part at f3 are two.
  circle      files of the largest circle: each of them leads to each other one by calls. A file
              calls another where a function of it has NAME(, which the other defines, not static.
  pronouns    comments that begin with a pronoun or a bare relative (PRONOUNS)

Of the build are counted: lines of the Makefile, with all of Meson's files, and of tools/build; the
longest line; and make functions that decide, such as $(if and $(call.

Subjects are the commits that HEAD reaches, and those of them with over 72 characters in a subject.
"""

import argparse
import collections
import json
import pathlib
import re
import statistics
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
ROOMS = {"driver": "driver/*.[ch]", "libt3": "libt3/**/*.[ch]", "tools/t3": "tools/t3/**/*.[ch]",
         "core": "qemu-device/core/**/*.[ch]", "beside core": "qemu-device/[!c]*/*.[ch]"}
SUBJECT = 72
PRONOUNS = set("he it itself none nobody nothing she that them they those we what whatever which who "
               "whoever whom whose you".split())

TOKEN = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)
DIRECTIVE = re.compile(r"^[ \t]*#(?:.*\\\n)*.*$", re.M)
CALL = re.compile(r"\b([A-Za-z_]\w*)\s*\(")
MENTION = re.compile(r"\b([A-Za-z_]\w*)\b(\s*\()?")

Function = collections.namedtuple("Function", "path name static lines body")


def blank(match):
    """The same lines without their text, so that lines keep their numbers."""
    return re.sub(r"[^\n]", " ", match[0])


class File:
    """One source: functions, the code beside them, and comments."""

    def __init__(self, path):
        self.path, text = path, path.read_text(encoding="utf-8")
        self.comments = [token for token in TOKEN.findall(text)
                         if token[0] == "/" and "SPDX-License-Identifier" not in token]
        text = TOKEN.sub(blank, text)
        self.macros = " ".join(DIRECTIVE.findall(text))
        self.functions, self.beside = [], []
        self.read(DIRECTIVE.sub(blank, text).splitlines())

    def read(self, lines):
        head, body = [], None
        for line in lines:
            if body is not None:
                body.append(line)
                if line.startswith("}"):
                    self.add(head, body)
                    head, body = [], None
            elif line.startswith("{") and CALL.search(" ".join(head)):
                body = [line]
            elif line.strip():
                head.append(line)
            if body is None and (not line.strip() or line.rstrip()[-1] in ";{}"):
                self.beside += head
                head = []
        self.beside += head

    def add(self, head, body):
        """A function. Attributes, such as __printf(), are no name."""
        names = [(name[1], number) for number, line in enumerate(head)
                 for name in CALL.finditer(line) if not name[1].startswith("__")]
        if names:
            name, first = names[0]
            static = re.search(r"\bstatic\b", " ".join(head))
            self.functions.append(Function(self.path, name, bool(static),
                                           len(head) - first + len(body), "\n".join(body)))

    def called_once(self):
        """{name of a static function with one call and no other mention: its caller's name}"""
        statics = {function.name for function in self.functions if function.static}
        uses = collections.defaultdict(list)
        for function in self.functions:
            for name, call in MENTION.findall(function.body):
                uses[name].append(function.name if call else None)
        for name, call in MENTION.findall(" ".join(self.beside)):
            uses[name] += [] if call else [None]
        for name, _ in MENTION.findall(self.macros):
            uses[name].append(None)
        return {name: uses[name][0] for name in statics
                if len(uses[name]) == 1 and uses[name][0] not in (None, name)}

    def chains(self):
        once = self.called_once()
        return [f"{once[once[name]]} > {once[name]} > {name}" for name in sorted(once)
                if once[name] in once and once[once[name]] in once]


def largest_circle(files):
    home = {function.name: file.path for file in files for function in file.functions
            if not function.static}
    uses = {file.path: {home[name] for function in file.functions
                        for name in CALL.findall(function.body) if name in home}
            for file in files}

    def reached(path):
        found, new = set(), {path}
        while new:
            new = {other for path in new for other in uses[path]} - found
            found |= new
        return found

    reach = {path: reached(path) for path in uses}
    circles = [[other for other in uses if other in reach[path] and path in reach[other]]
               for path in uses]
    largest = max(circles, key=len, default=[])
    return largest if len(largest) > 1 else []


def begins_with_pronoun(comment):
    word = re.search(r"[\w']+", comment)
    return bool(word) and word[0].lower() in PRONOUNS


def count_room(root, pattern):
    files = [File(path) for path in sorted(root.glob(pattern))]
    functions = [function for file in files for function in file.functions]
    sources = [file for file in files if file.path.suffix == ".c"]
    comments = [comment for file in files for comment in file.comments]
    lines = [function.lines for function in functions] or [0]
    return {
        "functions": len(functions), "median": statistics.median_low(lines), "longest": max(lines),
        "statics": sum(function.static for file in sources for function in file.functions),
        "one_caller": sum(len(file.called_once()) for file in sources),
        "chains": [f"{file.path.relative_to(root)}: {chain}"
                   for file in sources for chain in file.chains()],
        "circle": [str(path.relative_to(root)) for path in largest_circle(files)],
        "comments": len(comments),
        "pronouns": [comment for comment in comments if begins_with_pronoun(comment)],
    }


def count_subjects(root):
    done = subprocess.run(["git", "-C", root, "log", "--format=%s"], check=False,
                          capture_output=True, text=True)
    subjects = done.stdout.splitlines()
    return {"commits": len(subjects), "long": [text for text in subjects if len(text) > SUBJECT]}


def count_build(root):
    makefile = root / "Makefile"
    described = [makefile, *root.glob("meson*"), *root.glob("[!.]*/**/meson.build")]
    text = {path: path.read_text(encoding="utf-8") for path in described if path.exists()}
    lines = [line for part in text.values() for line in part.splitlines()]
    scripts = [path for path in (root / "tools/build").glob("*") if path.is_file()]
    return {"makefile": len(text.get(makefile, "").splitlines()), "described": len(lines),
            "longest": max(map(len, lines), default=0),
            "make_functions": len(re.findall(r"\$\((?:if|call|eval|foreach) ", text.get(makefile, ""))),
            "tools_build": sum(len(path.read_text(encoding="utf-8").splitlines()) for path in scripts)}


def share(part, whole):
    part = part if isinstance(part, int) else len(part)
    return f"{part} of {whole} ({100 * part / max(whole, 1):.1f} %)"


def show(rooms, subjects, build, every):
    columns = "{:12} {:>9} {:>6} {:>7}  {:21} {:>6} {:>6}  {}"
    print(columns.format("room", "functions", "median", "longest", "one caller", "chains", "circle",
                         "pronouns"))
    for room, counts in rooms.items():
        print(columns.format(room, counts["functions"], counts["median"], counts["longest"],
                             share(counts["one_caller"], counts["statics"]),
                             len(counts["chains"]), len(counts["circle"]),
                             share(counts["pronouns"], counts["comments"])))
    print(f"subjects over {SUBJECT} characters:", share(subjects["long"], subjects["commits"]))
    print(f"Makefile {build['makefile']} lines, {build['make_functions']} make functions; with Meson's files "
          f"{build['described']} lines, the longest {build['longest']} columns; tools/build {build['tools_build']} lines")
    for room, counts in rooms.items() if every else ():
        for what in ("chains", "circle", "pronouns"):
            for text in counts[what]:
                print(f"{room}: {what}: " + " ".join(text.split()))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0],
                                     epilog="The head of this script defines the counts.")
    parser.add_argument("rooms", nargs="*", metavar="ROOM", help=f"one of: {', '.join(ROOMS)} (all)")
    parser.add_argument("--json", action="store_true", help="print all that was found, as JSON")
    parser.add_argument("--list", action="store_true", help="also name the chains and others")
    parser.add_argument("--root", type=pathlib.Path, default=ROOT, help="another tree")
    options = parser.parse_args()
    if unknown := set(options.rooms) - set(ROOMS):
        parser.error(f"no such room: {', '.join(sorted(unknown))}")
    rooms = {room: count_room(options.root, ROOMS[room]) for room in options.rooms or ROOMS}
    subjects, build = count_subjects(options.root), count_build(options.root)
    if options.json:
        print(json.dumps({"rooms": rooms, "subjects": subjects, "build": build}, indent=1))
    else:
        show(rooms, subjects, build, options.list)


if __name__ == "__main__":
    main()
