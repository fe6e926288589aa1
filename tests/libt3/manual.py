#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The manual pages against the headers and the library; TAP on stdout."""

import collections
import re
import shutil
import subprocess
import sys

from api import BUILD, PAGES, ROOT, functions, plain, require, run_tests, same

PLACE = BUILD / "manual-test"

SECTIONS = ["NAME", "LIBRARY", "SYNOPSIS", "DESCRIPTION", "RETURN VALUES", "THREAD SAFETY",
            "EXAMPLES", "ERRORS", "SEE ALSO"]

# Errors that t3(7) documents for all functions, so that a header need not repeat them.
GENERAL = {"EINVAL", "ENODEV", "ENOMEM"}
# The meaning of a header's "those of" for functions of others: a page may document these.
BORROWED = {"open()": {"EACCES", "EMFILE", "ENFILE", "ENOENT"}, "mmap()": {"EAGAIN", "EMFILE"}}
BORROWED_FUNCTIONS = {"the mappings": ["t3_local_map", "t3_grant_import"]}


# --- reading a page ----------------------------------------------------------

def pages(section):
    return sorted(PAGES.glob(f"*.{section}"))


def sections(page):
    """Title: text, in order."""
    parts = re.split(r"^\.Sh (.*)\n", page.read_text(), flags=re.M)
    return dict(zip(parts[1::2], parts[2::2]))


def names(page):
    return re.findall(r"^\.Nm (\w+)", sections(page)["NAME"], re.M)


def quoted(text):
    """The arguments of a macro: words, or text in double quotes."""
    return [first or second for first, second in re.findall(r'"([^"]*)"|(\S+)', text)]


def prototypes(page):
    """name: (result, arguments), of .Ft and .Fn."""
    found = {}
    for result, call in re.findall(r"^\.Ft (.*)\n\.Fn (.*)$", sections(page)["SYNOPSIS"], re.M):
        name, *arguments = quoted(call)
        result = quoted(result)
        found[name] = (plain(" ".join(result)), [plain(argument) for argument in arguments])
    return found


def includes(page):
    return re.findall(r"^\.In (\S+)$", sections(page)["SYNOPSIS"], re.M)


def examples(page):
    """Displayed blocks of EXAMPLES, as a reader sees them."""
    blocks = re.findall(r"^\.Bd -literal.*?\n(.*?)^\.Ed", sections(page)["EXAMPLES"], re.S | re.M)
    return [re.sub(r"\\&", "", block).replace("\\-", "-").replace("\\e", "\\")
            for block in blocks]


def errors(text):
    return set(re.findall(r"^\.It Bq Er (E[A-Z0-9]+)$", text, re.M))


# --- the pages of functions --------------------------------------------------

def every_function_has_one_page():
    found = collections.Counter(name for page in pages(3) for name in names(page))
    same(found, functions(), "in NAME of a page")
    same([name for name, count in found.items() if count > 1], [], "on two pages")
    for page in pages(3):
        require(page.stem == names(page)[0], f"{page.name} begins with {names(page)[0]}")


def synopses_are_the_headers():
    declared = functions()
    for page in pages(3):
        shown = prototypes(page)
        same(shown, names(page), f"{page.name}: functions in SYNOPSIS and NAME")
        for name, (result, arguments) in shown.items():
            wanted = declared[name]
            require((result, arguments) == (wanted.result, wanted.arguments),
                    f"{page.name}: {name} is shown as {result} ({', '.join(arguments)}), declared "
                    f"{wanted.result} ({', '.join(wanted.arguments)})")
        same({declared[name].header for name in shown} - set(includes(page)), [],
             f"{page.name}: headers to include")


def pages_have_all_sections():
    for page in pages(3):
        require([title for title in sections(page) if title in SECTIONS] == SECTIONS,
                f"{page.name}: {list(sections(page))}")


def named_errors(text):
    return set(re.findall(r"-(E[A-Z0-9]+)\b", text))


def borrowed(comment, declared):
    """The errors that "those of ..." allows a page to document, or to leave to that function's
    page."""
    found = set()
    for those in re.findall(r"those of ([^;.]*)", comment):
        others = re.findall(r"\b(t3_\w+)\(\)", those)
        for words, more in BORROWED_FUNCTIONS.items():
            others += more if words in those else []
        for other in others:
            found |= named_errors(declared[other].comment + declared[other].common)
            found |= borrowed(declared[other].comment, declared)
        for words, more in BORROWED.items():
            found |= more if words in those else set()
    return found


def promises():
    """name: (errors that a page must document, errors that it may document)."""
    declared, found, before, last = functions(), {}, set(), None
    for function in declared.values():
        if last and function.comment != last.comment:
            before = found[last.name][0]
        wanted = named_errors(function.comment)
        if re.search(r"Errors:? as above", function.comment):
            wanted |= before
        optional = borrowed(function.comment, declared) | named_errors(function.common) | GENERAL
        found[function.name], last = (wanted, optional), function
    return found


def errors_are_those_of_the_headers():
    by_function = promises()
    for page in pages(3):
        wanted = set().union(*(by_function[name][0] for name in names(page)))
        optional = set().union(*(by_function[name][1] for name in names(page)))
        told = errors(sections(page)["ERRORS"])
        same(wanted - told, [], f"{page.name}: errors that are promised and not told")
        same(told - wanted - optional, [], f"{page.name}: errors that no header promises")


def examples_compile():
    """Each example is a complete function or program, after the SYNOPSIS's headers."""
    flags = subprocess.run(["pkg-config", "--cflags", "libdrm"], capture_output=True, text=True,
                           check=True).stdout.split()
    for page in pages(3):
        blocks = examples(page)
        require(blocks, f"{page.name} has no example")
        head = "".join(f"#include <{name}>\n" for name in includes(page))
        for number, block in enumerate(blocks):
            source = PLACE / f"{page.stem}-{number}.c"
            source.write_text(f"{head}#line 1 \"{page.name} example\"\n{block}")
            done = subprocess.run(["gcc", "-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror", "-c",
                                   f"-I{ROOT}/libt3", f"-I{ROOT}/uapi", *flags, "-o",
                                   PLACE / "object.o", source], capture_output=True, text=True,
                                  check=False)
            require(done.returncode == 0, f"{page.name}: {done.stderr}")


def examples_use_what_they_explain():
    for page in pages(3):
        calls = set(re.findall(r"\b(t3_\w+)\(", "".join(examples(page))))
        same(calls - set(functions()), [], f"{page.name}: functions that libt3 has not")
        require(calls & set(names(page)), f"{page.name}: the example shows none of its functions")


# --- all pages ---------------------------------------------------------------

def mandoc_has_no_complaint():
    everything = [*PAGES.glob("*.[1-9]"), ROOT / "tools/t3/t3.1"]
    done = subprocess.run(["mandoc", "-T", "lint", "-W", "warning", *everything],
                          capture_output=True, text=True, check=False)
    require(done.returncode == 0 and not done.stdout, done.stdout + done.stderr)


def references_lead_to_pages():
    known = {(name, "3") for name in functions()} | {("t3", "1"), ("t3", "4"), ("t3", "7")}
    for page in PAGES.glob("*.[1-9]"):
        for name, section in re.findall(r"^\.Xr (t3\w*) (\d)", page.read_text(), re.M):
            require((name, section) in known, f"{page.name}: there is no {name}({section})")


def overview_leads_to_every_page():
    told = re.findall(r"^\.Xr (t3\w+) 3", (PAGES / "t3.7").read_text(), re.M)
    same({page.stem for page in pages(3)} - set(told), [], "t3(7) does not name")


def overview_tells_the_environment():
    asked = set()
    for source in (ROOT / "libt3").rglob("*.c"):
        asked |= set(re.findall(r'"(T3_[A-Z_]+)"', source.read_text()))
    lines = re.findall(r"^\.It Ev .*", sections(PAGES / "t3.7")["ENVIRONMENT"], re.M)
    same(asked, re.findall(r"\bT3_\w+", " ".join(lines)), "t3(7), ENVIRONMENT")


def node_page_tells_every_ioctl():
    header = (ROOT / "uapi/t3_accel.h").read_text()
    declared = re.findall(r"^#define (DRM_IOCTL_T3_\w+)", header, re.M)
    require(len(declared) > 10, "no ioctls found in t3_accel.h")
    told = re.findall(r"\b(DRM_IOCTL_T3_\w+)", (PAGES / "t3.4").read_text())
    same(told, declared, "t3(4), ioctls")


TESTS = [every_function_has_one_page, synopses_are_the_headers, pages_have_all_sections,
         errors_are_those_of_the_headers, examples_compile, examples_use_what_they_explain,
         mandoc_has_no_complaint, references_lead_to_pages, overview_leads_to_every_page,
         overview_tells_the_environment, node_page_tells_every_ioctl]


if __name__ == "__main__":
    shutil.rmtree(PLACE, ignore_errors=True)
    PLACE.mkdir(parents=True)
    sys.exit(run_tests(TESTS))
