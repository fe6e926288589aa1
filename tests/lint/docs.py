#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Check the form of the Markdown files: lengths, and that the targets of their links exist.

usage: docs.py [--wrap] FILE...

A README.md has at most 200 lines, and no line of it is over 100 columns. In other files that
holds for prose: code and tables may be wider. A sentence of a README.md or SPEC.md has at most 30
words; code and tables are no sentences, and code in a sentence is one word. A relative link leads
to a file or folder of the repository, and its #anchor to a heading there. Each fault is printed;
the exit status is 1 then. --wrap breaks paragraphs with too long a line again, and changes nothing
else.
"""

import pathlib
import re
import sys
import textwrap

ROOT = pathlib.Path(__file__).resolve().parents[2]
LINES, COLUMNS, WORDS = 200, 100, 30
LINK = re.compile(r"(?<!\\)\[(?:[^\[\]]|\[[^\]]*\])*\]\(([^()\s]+)\)|^\[[^\]]+\]:\s+(\S+)", re.M)
FENCE = re.compile(r"^(```+|~~~+)")
ELSEWHERE = re.compile(r"[a-z]+:", re.I)
END = re.compile(r"(?<=[.!?])[)*\"]*\s+")
ABBREVIATION = re.compile(r"\b([ei])\.([ge])\.")

# The beginning of a line that is no text, before which no paragraph may be broken.
ITEM = re.compile(r"([-*+]|\d+[.)])\s+")
NO_PROSE = re.compile(r"[|#>]|\s*$|" + ITEM.pattern)

wrong = []


def parts(text):
    """(line number, line, whether it is code) of each line."""
    fenced = False
    for number, line in enumerate(text.splitlines(), 1):
        is_fence = bool(FENCE.match(line))
        yield number, line, fenced or is_fence or line.startswith("    ")
        fenced ^= is_fence


def anchors(path):
    """Anchors of headings, as the usual renderers make them."""
    found = set()
    for _, line, code in parts(path.read_text(encoding="utf-8")):
        if not code and (heading := re.match(r"#+\s+(.*)", line)):
            words = re.sub(r"[^\w\- ]", "", re.sub(r"\[(.*?)\]\(.*?\)", r"\1", heading[1]).lower())
            found.add(words.replace(" ", "-"))
    return found


def check_lengths(path, where, text):
    is_readme = path.name == "README.md"
    if is_readme and len(text.splitlines()) > LINES:
        wrong.append(f"{where}: {len(text.splitlines())} lines, at most {LINES} are allowed")
    for number, line, code in parts(text):
        if len(line) > COLUMNS and (is_readme or not (code or line.startswith("|"))):
            wrong.append(f"{where}:{number}: {len(line)} columns, at most {COLUMNS} are allowed")


def paragraphs(text):
    """(number of the first line, text) of each paragraph and each item of a list."""
    first, lines = 0, []
    for number, line, code in [*parts(text), (0, "", False)]:
        new_item = ITEM.match(line)
        if lines and (code or NO_PROSE.match(line)):
            yield first, " ".join(lines)
            lines = []
        if not code and (new_item or not NO_PROSE.match(line)):
            first = first if lines else number
            lines.append(ITEM.sub("", line, count=1) if new_item else line.strip())


def sentences(paragraph):
    text = re.sub(r"`[^`]*`", "code", paragraph)
    text = re.sub(r"\]\([^)]*\)", "]", text)
    return END.split(ABBREVIATION.sub(r"\1\2", text))


def check_sentences(path, where, text):
    if path.name not in ("README.md", "SPEC.md"):
        return
    for number, paragraph in paragraphs(text):
        for sentence in sentences(paragraph):
            words = sentence.split()
            if len(words) > WORDS:
                wrong.append(f"{where}:{number}: {len(words)} words in a sentence, at most {WORDS} "
                             f"are allowed: {' '.join(words[:6])} ...")


def check_link(path, place, target):
    name, _, anchor = target.partition("#")
    other = (path.parent / name).resolve() if name else path
    if not other.is_relative_to(ROOT) or not other.exists():
        wrong.append(f"{place}: no file {target}")
    elif anchor and (other.suffix != ".md" or anchor not in anchors(other)):
        wrong.append(f"{place}: no heading for {target}")


def check_links(path, where, text):
    # A link, and code in a line, may cross the end of the line. No link is in code.
    prose = "\n".join("" if code else line for _, line, code in parts(text))
    prose = re.sub(r"`[^`]*`", lambda span: "`" + "\n" * span[0].count("\n") + "`", prose)
    for link in LINK.finditer(prose):
        target = link[1] or link[2]
        if not ELSEWHERE.match(target):
            check_link(path, f"{where}:{prose.count(chr(10), 0, link.start()) + 1}", target)


def wrapped(lines):
    """The lines of one paragraph, or of one item of a list."""
    if all(len(line) <= COLUMNS for line in lines):
        return lines
    item = ITEM.match(lines[0])
    indent = " " * (len(item[0]) if item else 0)
    new = textwrap.wrap(" ".join(line.strip() for line in lines), COLUMNS, subsequent_indent=indent,
                        break_long_words=False, break_on_hyphens=False)
    return lines if any(NO_PROSE.match(line.lstrip()) for line in new[1:]) else new


def wrap(path):
    paragraph, new = [], []

    def end():
        new.extend(wrapped(paragraph))
        paragraph.clear()

    for _, line, code in parts(path.read_text(encoding="utf-8")):
        if code or NO_PROSE.match(line):
            end()
        if code or (NO_PROSE.match(line) and not ITEM.match(line)):
            new.append(line)
        else:
            paragraph.append(line)
    end()
    path.write_text("\n".join(new) + "\n", encoding="utf-8")


def main():
    if len(sys.argv) < 2:
        print(__doc__, file=sys.stderr)
        return 2
    if sys.argv[1] == "--wrap":
        for name in sys.argv[2:]:
            wrap(pathlib.Path(name))
        return 0
    for name in sys.argv[1:]:
        path = pathlib.Path(name).resolve()
        text = path.read_text(encoding="utf-8")
        check_lengths(path, name, text)
        check_sentences(path, name, text)
        check_links(path, name, text)
    print("\n".join(wrong), end="\n" if wrong else "")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
