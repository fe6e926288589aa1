# SPDX-License-Identifier: MIT
"""Looks into a folder that is to be a guest's root, without leaving it."""

import os
import struct

LINKS_MAX = 40  # as the kernel's own limit


def inside(root, path):
    """Where the path leads when the folder is the root. None: nowhere."""
    todo, done = path.strip("/").split("/"), []
    links = 0
    while todo:
        part = todo.pop(0)
        if part in ("", "."):
            continue
        if part == "..":
            done = done[:-1]
            continue
        here = root.joinpath(*done, part)
        if not here.is_symlink():
            done.append(part)
            continue
        links += 1
        target = os.readlink(here)
        if links > LINKS_MAX:
            return None
        if target.startswith("/"):
            done = []
        todo = target.split("/") + todo
    found = root.joinpath(*done)
    return found if found.exists() else None


def elf_machine(path):
    """The number of the processor that a program is for. None: it is no ELF file."""
    with open(path, "rb") as file:
        head = file.read(20)
    if len(head) < 20 or head[:4] != b"\x7fELF":
        return None
    return struct.unpack_from("<H" if head[5] == 1 else ">H", head, 18)[0]


def table(root, path):
    """The lines of a file such as /etc/passwd, in fields."""
    found = inside(root, path)
    if found is None:
        return []
    try:
        return [line.split(":") for line in found.read_text(errors="replace").splitlines()]
    except OSError:
        return []
