#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Check that each room of a house uses only the rooms that its list allows.

usage: rooms.py HOUSE OBJECTS

HOUSE is a folder of C sources, OBJECTS the folder of their object files. HOUSE/rooms.txt
lists the rooms (the folders below HOUSE; "." is HOUSE itself), from the ground up. A folder
with a rooms.txt of its own is one room here, of which others include the headers at its top.

  ROOM: what ROOM is allowed to use, by name, all of them above this line
  up ROOM -> ROOM: struct NAME
  private ROOM -> ROOM
  in ROOM: NAME...
  without FOLDER

The second form names the table of callbacks through which a lower room tells a higher one.
The third lets the first room include the headers of the second that end in private.h. The fourth
is for a house without folders: ROOM holds the files of these names, with or without suffix; a
name with a suffix goes before one without. The fifth leaves a folder out, such as tests.
The first line of the list may be "at most N up". A use is an #include of a file of another
room, or a symbol that the object files of another room define. What is wrong is printed,
and the exit status is 1.
"""

import collections
import pathlib
import re
import subprocess
import sys

INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.M)
ROOM = re.compile(r"(\S+):\s*(.*)")
UP = re.compile(r"up (\S+) -> (\S+): struct (\w+)")
PRIVATE = re.compile(r"private (\S+) -> (\S+)")
IN = re.compile(r"in (\S+):\s*(.*)")
WITHOUT = re.compile(r"without (\S+)")
MOST = re.compile(r"at most (\d+) up")


class House:
    def __init__(self, folder, objects):
        self.folder, self.objects = pathlib.Path(folder), pathlib.Path(objects)
        self.allowed, self.ups, self.most, self.wrong = {}, [], None, []
        self.private, self.places, self.without = set(), {}, set()
        self.inner = [path.parent for path in self.folder.glob("*/rooms.txt")]
        self.read_list()

    def say(self, text):
        self.wrong.append(text)

    def read_list(self):
        path = self.folder / "rooms.txt"
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            line, where = line.split("#")[0].strip(), f"{path}:{number}"
            if up := UP.fullmatch(line):
                self.ups.append((where, *up.groups()))
            elif private := PRIVATE.fullmatch(line):
                self.private.add(private.groups())
            elif inside := IN.fullmatch(line):
                self.read_places(where, inside[1], inside[2].split())
            elif without := WITHOUT.fullmatch(line):
                self.without.add(without[1])
            elif most := MOST.fullmatch(line):
                self.most = int(most[1])
            elif room := ROOM.fullmatch(line):
                self.read_room(where, room[1], room[2].split())
            elif line:
                self.say(f"{where}: neither 'ROOM: ROOMS', 'up ROOM -> ROOM: struct NAME', "
                         f"'private ROOM -> ROOM', 'in ROOM: NAMES', 'without FOLDER' nor "
                         f"'at most N up': {line}")

    def read_room(self, where, room, uses):
        for other in uses:
            if other not in self.allowed:
                self.say(f"{where}: {room} uses {other}, which no line before lists")
        if room in self.allowed:
            self.say(f"{where}: {room} is listed twice")
        self.allowed[room] = set(uses)

    def read_places(self, where, room, names):
        for name in names:
            if name in self.places:
                self.say(f"{where}: {name} is placed twice")
            if not list(self.folder.glob(name if "." in name else f"{name}.[ch]")):
                self.say(f"{where}: there is no {name}")
            self.places[name] = room

    def room_of(self, path):
        for house in self.inner:
            if path.is_relative_to(house):
                return house.relative_to(self.folder).as_posix()
        folder = path.parent.relative_to(self.folder).as_posix()
        if not self.places or folder != ".":
            return folder
        return self.places.get(path.name) or self.places.get(path.stem) or path.name

    def is_inner(self, path):
        return any(path.is_relative_to(house) for house in self.inner)

    def sources(self):
        """Without those of houses inside this one, which have their own check."""
        return [path for path in sorted(self.folder.rglob("*.[ch]"))
                if not self.is_inner(path) and
                path.relative_to(self.folder).parts[0] not in self.without]

    def check_list(self):
        rooms = {self.room_of(path) for path in self.sources()}
        rooms |= {self.room_of(house) for house in self.inner}
        for room in sorted(rooms - set(self.allowed)):
            self.say(f"{self.folder}/rooms.txt: room {room} is not listed")
        for room in sorted(set(self.allowed) - rooms):
            self.say(f"{self.folder}/rooms.txt: room {room} has no sources")
        if self.most is not None and len(self.ups) > self.most:
            self.say(f"{self.folder}/rooms.txt: {len(self.ups)} tables of callbacks lead up, "
                     f"at most {self.most} may")
        for where, low, high, name in self.ups:
            texts = [path.read_text(encoding="utf-8") for path in self.sources()
                     if self.room_of(path) == low]
            if not any(re.search(rf"^struct {name} {{", text, re.M) for text in texts):
                self.say(f"{where}: room {low} declares no struct {name}")
            if low not in self.allowed.get(high, ()):
                self.say(f"{where}: {high} is not above {low}")

    def judge(self, who, room, other, what):
        if other not in (room, None) and other not in self.allowed.get(room, ()):
            self.say(f"{who}: room {room} must not use {other} ({what})")

    def judge_inner(self, path, found, name):
        tops = [header for header in found if header.parent in self.inner]
        if not tops and any(map(self.is_inner, found)):
            self.say(f'{path}: #include "{name}": it is not at the top of its house')

    def judge_private(self, path, other, name):
        if name.endswith("private.h") and (self.room_of(path), other) not in self.private:
            self.say(f'{path}: #include "{name}": it is private to room {other}')

    def check_includes(self):
        headers = collections.defaultdict(set)
        for path in self.folder.rglob("*.h"):
            headers[path.name].add(path)
        for path in self.sources():
            for name in INCLUDE.findall(path.read_text(encoding="utf-8")):
                found = {header for header in headers[pathlib.PurePath(name).name]
                         if header.as_posix().endswith("/" + name.lstrip("./"))}
                rooms = {self.room_of(header) for header in found}
                if rooms and self.room_of(path) not in rooms:
                    self.judge(path, self.room_of(path), min(rooms), f'#include "{name}"')
                    self.judge_private(path, min(rooms), name)
                    self.judge_inner(path, found, name)

    def object_of(self, path):
        """The newest object file of a source, as the kernel's build, ours in QEMU or Meson names it."""
        inside = path.relative_to(self.folder)
        names = (inside.with_suffix(".o"), f"{inside}.o", f"*.p/{'_'.join(inside.parts)}.o")
        made = [found for name in names for found in self.objects.glob(str(name))]
        return max(made, key=lambda found: found.stat().st_mtime, default=None)

    def object_files(self):
        """{object file: its source}; what was not built is said."""
        found = {}
        for path in self.sources():
            if path.suffix != ".c":
                continue
            if made := self.object_of(path):
                found[str(made)] = path
            else:
                self.say(f"{self.objects}: {path.name} has no object file: build first")
        return found

    def check_calls(self):
        files = self.object_files()
        if not files:
            return
        done = subprocess.run(["nm", "-A", "--extern-only", *files], check=True,
                              capture_output=True, text=True)
        defined, used = {}, set()
        for line in done.stdout.splitlines():
            where, words = line.rsplit(":", 1)[0].rstrip(), line.rsplit(":", 1)[1].split()
            if words[-2] == "U":
                used.add((files[where], words[-1]))
            else:
                defined[words[-1]] = self.room_of(files[where])
        for path, name in sorted(used):
            self.judge(path, self.room_of(path), defined.get(name), name)

    def check(self):
        self.check_list()
        self.check_includes()
        self.check_calls()
        for text in self.wrong:
            print(text)
        return 1 if self.wrong else 0


def main():
    if len(sys.argv) != 3:
        print(__doc__, file=sys.stderr)
        return 2
    return House(sys.argv[1], sys.argv[2]).check()


if __name__ == "__main__":
    sys.exit(main())
