#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The check of the Markdown files' form; TAP on stdout.

usage: docs.py [NAME...]     (default: all tests)

Each test writes a page and expects exactly the faults that the check must report.
"""

import pathlib
import sys
import tempfile

import loop
from loop import ROOT, check, run

LONG = " ".join(["word"] * 31) + "."
FITS = " ".join(["word"] * 30) + "."


def docs(text, name, *options):
    """What docs.py prints of a page, and the page afterwards."""
    with tempfile.TemporaryDirectory() as folder:
        page = pathlib.Path(folder) / name
        page.write_text(text, encoding="utf-8")
        status, out, error = run(sys.executable, ROOT / "tests/lint/docs.py", *options, page)
        check(not error and status == (1 if out else 0), f"docs.py ended with {status}", error)
        return out.replace(f"{page}:", ""), page.read_text(encoding="utf-8")


def wrapped(text):
    return docs(text, "README.md", "--wrap")[1]


def reports(text, *expected, name="README.md"):
    found = [line.strip() for line in docs(text, name)[0].splitlines()]
    check(found == list(expected), f"found {found}, expected {expected}", text)


def long_sentence(line):
    return f"{line}: 31 words in a sentence, at most 30 are allowed: word word word word word word ..."


def sentence_too_long():
    reports(wrapped(f"# Page\n\n{FITS} {LONG}\n"), long_sentence(3))
    reports(wrapped(f"{LONG}\n\nShort.\n"), long_sentence(1), name="SPEC.md")


def sentence_that_fits():
    reports(wrapped(f"{FITS} {FITS} ({FITS}) {FITS}\n"))


def other_pages_may_have_long_sentences():
    reports(wrapped(f"{LONG}\n"), name="notes.md")


def sentence_in_a_list():
    """Each item is a paragraph of its own, with all of its lines."""
    reports(wrapped(f"Text:\n\n- {FITS}\n- {LONG}\n1. {LONG}\n"), long_sentence(5), long_sentence(7))


def code_and_tables_are_no_sentences():
    words = "word " * 14
    reports("".join(f"    {words}\n" for _ in range(4)))
    reports("```\n" + f"{words}\n" * 4 + "```\n")
    reports("| a |\n|---|\n" + f"| {words} |\n" * 4)


def code_in_a_sentence_is_one_word():
    reports(wrapped(" ".join(["`a b c. d`"] * 30) + ".\n"))


def line_too_long():
    reports("x" * 101 + "\n", "1: 101 columns, at most 100 are allowed")
    reports("x" * 100 + "\n")
    reports("| " + "x" * 100 + " |\n", name="SPEC.md")


def readme_too_long():
    reports("Text.\n\n" * 100 + "Text.\n", "201 lines, at most 200 are allowed")
    reports("Text.\n\n" * 100 + "Text.\n", name="SPEC.md")


def link_to_nothing():
    reports("[a](nowhere.md)\n", "1: no file nowhere.md")


def wrap_keeps_what_fits():
    text = "# Page\n\nShort lines\nstay.\n\n| a | b |\n|---|---|\n"
    check(wrapped(text) == text, "--wrap changed a page without long lines")


TESTS = [sentence_too_long, sentence_that_fits, other_pages_may_have_long_sentences,
         sentence_in_a_list, code_and_tables_are_no_sentences, code_in_a_sentence_is_one_word,
         line_too_long, readme_too_long, link_to_nothing, wrap_keeps_what_fits]

if __name__ == "__main__":
    sys.exit(loop.main(TESTS))
