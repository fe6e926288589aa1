# SPDX-License-Identifier: MIT
"""A kernel's tree: what the series must know of it, and our lines in the files that it has."""

import re

from render import Problem, compat_macros

KCONFIG = "drivers/accel/Kconfig"
MAKEFILE = "drivers/accel/Makefile"
INDEX = "Documentation/accel/index.rst"
MAINTAINERS = "MAINTAINERS"
PARENTS = (KCONFIG, MAKEFILE, INDEX, MAINTAINERS)

TITLE = "DRM ACCEL DRIVER FOR T3 TRACKING AND TRIGGERING"


class Tree:
    def __init__(self, path):
        self.path = path.resolve()
        missing = [name for name in (*PARENTS, "Makefile") if not (path / name).is_file()]
        if missing:
            raise Problem(f"TREE must be the source of a kernel; {path} has no {missing[0]}")
        if (path / "drivers/accel/t3").exists():
            raise Problem(f"TREE must be a tree without the driver; {path} has drivers/accel/t3")
        self.files = {name: (path / name).read_text() for name in PARENTS}
        head = (path / "Makefile").read_text()
        numbers = [re.search(rf"^{name} = *(\d+)$", head, re.M)
                   for name in ("VERSION", "PATCHLEVEL", "SUBLEVEL")]
        if not all(numbers):
            raise Problem(f"{path}/Makefile does not say which version it is")
        self.version = ".".join(number[1] for number in numbers)
        self.next_version = f"{numbers[0][1]}.{int(numbers[1][1]) + 1}"
        self.macros = compat_macros(path)


def inserted(name, text, line, alike):
    """The text with this line among those that are alike, which have an order."""
    lines = text.splitlines()
    places = [number for number, other in enumerate(lines) if re.match(alike, other)]
    if not places:
        raise Problem(f"{name} has no line like '{line.strip()}'. Adapt tools/series/tree.py")
    later = [number for number in places if lines[number] > line]
    lines.insert(later[0] if later else places[-1] + 1, line)
    return "\n".join(lines) + "\n"


def with_driver(files):
    """The lines by which a kernel's configuration and build reach the driver."""
    kconfig = inserted(KCONFIG, files[KCONFIG], 'source "drivers/accel/t3/Kconfig"',
                       'source "drivers/accel/')
    makefile = inserted(MAKEFILE, files[MAKEFILE], "obj-$(CONFIG_DRM_ACCEL_T3)\t\t+= t3/",
                        r"obj-\$\(CONFIG_DRM_ACCEL_")
    return {**files, KCONFIG: kconfig, MAKEFILE: makefile}


def with_pages(files):
    """The pages of the driver among those of all accelerators."""
    index = inserted(INDEX, files[INDEX], "   t3/index", r"   \w+/index$")
    return {**files, INDEX: index}


def maintained(text, author, patterns):
    """MAINTAINERS with our entry, among those in alphabetical order."""
    entry = "\n".join([TITLE, f"M:\t{author}", "L:\tdri-devel@lists.freedesktop.org",
                       "S:\tMaintained",
                       "T:\tgit https://gitlab.freedesktop.org/drm/misc/kernel.git",
                       *(f"F:\t{pattern}" for pattern in sorted(patterns))])
    titles = [match for match in re.finditer(r"^(\S.*)\n[MRLS]:\t", text, re.M)]
    later = [match.start() for match in titles if match[1] > TITLE and match[1][:4] == "DRM "]
    if not later:
        raise Problem("MAINTAINERS has no entry of DRM after which another one fits")
    return text[:later[0]] + entry + "\n\n" + text[later[0]:]
