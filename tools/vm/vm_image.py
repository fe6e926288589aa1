# SPDX-License-Identifier: MIT
"""The guest's image: cpio archives, one behind the other, as the kernel unpacks them."""

import collections

MAGIC, HEAD, TRAILER = b"070701", 110, b"TRAILER!!!"

# Places in the image: from `start` to `trailer` are entries, and at `end` begins the next one.
Archive = collections.namedtuple("Archive", "start trailer end names")


def aligned(place):
    return place + -place % 4


def cpio_entry(name, data, mode, inode):
    """One entry of a cpio archive in the kernel's "newc" form."""
    fields = (inode, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(name) + 1, 0)
    head = MAGIC + b"".join(b"%08X" % field for field in fields)
    head += name.encode() + b"\0"
    return head + bytes(-len(head) % 4) + data + bytes(-len(data) % 4)


def cpio(files):
    entries = [cpio_entry(name, data, 0o100755, number)
               for number, (name, data) in enumerate(files.items(), 1)]
    return b"".join(entries) + cpio_entry(TRAILER.decode(), b"", 0, 0)


def archives(image):
    """All of an image. ValueError: it is something else, such as a compressed one."""
    found, start, at, names = [], 0, 0, set()
    while at < len(image):
        if image[at:at + len(MAGIC)] != MAGIC:
            raise ValueError(f"no cpio archive at byte {at}")
        size, length = int(image[at + 54:at + 62], 16), int(image[at + 94:at + 102], 16)
        name = image[at + HEAD:at + HEAD + length - 1]
        end = aligned(aligned(at + HEAD + length) + size)
        if name == TRAILER:
            while image[end:end + 4] == bytes(4):  # up to a whole block
                end += 4
            found.append(Archive(start, at, end, names))
            start, names = end, set()
        else:
            names.add(name)
        at = end
    if start != at:
        raise ValueError("the last cpio archive has no end")
    return found


def write_initrd(path, image, files):
    """The image, and behind it an archive of the files."""
    base = image.read_bytes()
    path.write_bytes(base + bytes(-len(base) % 4) + cpio(files))
