# SPDX-License-Identifier: MIT
"""Symbol files for gdb: of the guest's kernel, and of a module.

Debian's kernel comes without one, and its debug package takes a gigabyte. The running kernel's
/proc/kallsyms has the names. A kernel that starts through its PVH entry has the addresses of
its ELF file. So one boot gives symbols for all later boots.
"""

import bisect
import re
import struct

HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
SECTION = struct.Struct("<IIQQQQIIQQ")
SYMBOL = struct.Struct("<IBBHQQ")
SHT_SYMTAB, SHT_STRTAB, SHT_NOBITS = 2, 3, 8
SHF_ALLOC, SHN_ABS = 2, 0xfff1
GLOBAL_FUNC, GLOBAL_OBJECT = 0x12, 0x11
LINE = re.compile(r"^([0-9a-f]+) ([A-Za-z]) (\S+)$", re.M)  # a module's name would follow


def sections_of(vmlinux):
    """[(name, flags, address, size)] of all sections in memory, by address."""
    with open(vmlinux, "rb") as file:
        header = HEADER.unpack(file.read(HEADER.size))
        offset, count, names = header[6], header[12], header[13]
        file.seek(offset)
        table = [SECTION.unpack(file.read(SECTION.size)) for _ in range(count)]
        file.seek(table[names][4])
        text = file.read(table[names][5])
    name = lambda at: text[at:text.index(b"\0", at)]
    found = [(name(entry[0]), entry[2], entry[3], entry[5]) for entry in table
             if entry[2] & SHF_ALLOC and entry[5]]
    return sorted(found, key=lambda entry: entry[2])


class Strings:
    """A string table that grows."""

    def __init__(self):
        self.data = bytearray(1)

    def add(self, name):
        self.data += name + b"\0"
        return len(self.data) - len(name) - 1


def symbol_table(kallsyms, sections, strings):
    starts = [address for _, _, address, _ in sections]
    entries = [bytes(SYMBOL.size)]
    for address, kind, name in LINE.findall(kallsyms):
        address = int(address, 16)
        at = bisect.bisect_right(starts, address) - 1
        inside = at >= 0 and address < starts[at] + sections[at][3]
        entries.append(SYMBOL.pack(strings.add(name.encode()),
                                   GLOBAL_FUNC if kind in "tTwW" else GLOBAL_OBJECT, 0,
                                   at + 1 if inside else SHN_ABS, address, 0))
    return b"".join(entries)


def write_symbols(vmlinux, kallsyms, output):
    """An ELF file with the sections of `vmlinux`, without contents, and these symbols."""
    sections, names, strings = sections_of(vmlinux), Strings(), Strings()
    symbols = symbol_table(kallsyms, sections, strings)
    table = [bytes(SECTION.size)]
    table += [SECTION.pack(names.add(name), SHT_NOBITS, flags, address, HEADER.size, size, 0, 0, 1, 0)
              for name, flags, address, size in sections]
    last = len(table)
    labels = [names.add(name) for name in (b".symtab", b".strtab", b".shstrtab")]
    at = HEADER.size
    table.append(SECTION.pack(labels[0], SHT_SYMTAB, 0, 0, at, len(symbols), last + 1, 1, 8,
                              SYMBOL.size))
    at += len(symbols)
    for label, data in ((labels[1], strings.data), (labels[2], names.data)):
        table.append(SECTION.pack(label, SHT_STRTAB, 0, 0, at, len(data), 0, 0, 1, 0))
        at += len(data)
    ident = b"\x7fELF\x02\x01\x01".ljust(16, b"\0")
    header = HEADER.pack(ident, 2, 62, 1, 0, 0, at, 0, HEADER.size, 0, 0, SECTION.size,
                         len(table), last + 2)
    output.write_bytes(b"".join([header, symbols, strings.data, names.data, *table]))


def write_unplaced(module, output):
    """A copy of a module in which no section has an address.

    All sections of a relocatable file begin at 0, and gdb gives them other addresses. It does not
    when one has an address already, and a linker script may give one. Then functions of two
    sections have the same addresses in the table by which gdb finds callers.
    """
    data = bytearray(module.read_bytes())
    header = HEADER.unpack_from(data)
    for at in range(header[6], header[6] + header[12] * SECTION.size, SECTION.size):
        entry = SECTION.unpack_from(data, at)
        SECTION.pack_into(data, at, *entry[:3], 0, *entry[4:])
    output.write_bytes(data)
