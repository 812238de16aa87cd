#!/usr/bin/env python3
"""Joins the C++ of README.md and docs/*.md into one test program: what the docs show is compiled and run.

    join.py ROOT OUT.cpp      exit status 1 if an excerpt differs from its file

Every ```cpp block is used. A page becomes a namespace with a test, and a block a scope in that test. Comments before a block
say what else it needs:

    <!-- code: with NAME -->         starts with the lines of tests/docs/NAME.inc
    <!-- code: continues -->         continues the scope of the previous block
    <!-- code: outside -->           goes into the namespace: functions and types
    <!-- code: throws CODE -->       throws Error(CODE)
    <!-- code: check EXPRESSION -->  after a block: must be true there
    <!-- code: from PATH -->         is an excerpt of that file of the project, and is not compiled again

A block with a main() becomes a program of its own.
"""
import os
import re
import sys

FENCE = re.compile(r"^```(\w*)\s*$")
COMMENT = re.compile(r"^<!--\s*code:\s*(\w+)\s*(.*?)\s*-->\s*$")
MAIN = re.compile(r"^int main\([^)]*\)", re.M)


class Block:
    def __init__(self, line, notes):
        self.line, self.notes, self.lines, self.checks = line, notes, [], []

    @property
    def text(self):
        return "\n".join(self.lines) + "\n"


def blocks_of(text):
    """Returns the ```cpp blocks of a page, with the notes before and the checks after them."""
    found, notes, inside, block = [], [], False, None
    for number, line in enumerate(text.splitlines(), 1):
        fence, comment = FENCE.match(line), COMMENT.match(line)
        if inside:
            if line.strip() == "```":
                inside = False
            elif block:
                block.lines.append(line)
        elif fence:
            inside, block = True, None
            if fence.group(1) == "cpp":
                block = Block(number, notes)
                found.append(block)
            notes = []
        elif comment and comment.group(1) == "check":
            if not found:
                raise SystemExit(f"line {number}: a check before the first block")
            found[-1].checks.append((number, comment.group(2)))
        elif comment:
            notes.append((comment.group(1), comment.group(2)))
    return found


def unindented(text):
    return [line.strip() for line in text.splitlines() if line.strip()]


def is_excerpt(part, whole):
    """Whether `whole` contains the lines of `part` in a row, ignoring indentation; a line … stands for any lines."""
    at, lines = 0, unindented(whole)
    for run in re.split(r"^\s*(?://\s*)?…\s*$", part, flags=re.M):
        wanted = unindented(run)
        while wanted and lines[at:at + len(wanted)] != wanted:
            if at >= len(lines):
                return False
            at += 1
        at += len(wanted)
    return True


class Page:
    """One page as C++: the contents of its namespace, and the body of its test."""

    def __init__(self, root, path):
        self.root, self.path = root, path
        self.includes, self.outside, self.body, self.problems = [], [], [], []
        self.open = False
        with open(os.path.join(root, path), encoding="utf-8") as file:
            for block in blocks_of(file.read()):
                self.add(block)
        self.close()

    def close(self):
        if self.open:
            self.body.append(self.end)
        self.open = False

    def prelude(self, name):
        with open(os.path.join(self.root, "tests/docs", name + ".inc"), encoding="utf-8") as file:
            return file.read()

    def without_includes(self, block):
        kept = []
        for line in block.lines:
            (self.includes if line.startswith("#include") else kept).append(line)
        return "\n".join(kept) + "\n"

    def add(self, block):
        notes = dict(block.notes)
        if "from" in notes:
            with open(os.path.join(self.root, notes["from"]), encoding="utf-8") as file:
                if not is_excerpt(block.text, file.read()):
                    self.problems.append(f"{self.path}:{block.line}: this is not what {notes['from']} has")
            return
        code = f'#line {block.line + 1} "{self.path}"\n' + self.without_includes(block)
        if "outside" in notes:
            self.outside.append(code)
            return
        if MAIN.search(code):
            name = f"main_at_{block.line}"
            self.outside.append(MAIN.sub(f"int {name}()", code))
            self.body.append(f"  EXPECT_EQ({name}(), 0);\n")
            return
        if "continues" not in notes:
            self.close()
            start, self.end = ("  {\n", "  }\n") if "throws" not in notes else (
                "  expect_error(antegrad::ErrorCode::%s, [&] {\n" % notes["throws"], "  });\n")
            self.body.append(start + (self.prelude(notes["with"]) if "with" in notes else ""))
            self.open = True
        self.body.append(code)
        self.body += [f'#line {line} "{self.path}"\n  EXPECT_TRUE({check});\n' for line, check in block.checks]


def program(pages):
    """Returns the text of the test program."""
    includes = sorted({line for page in pages for line in page.includes})
    out = ["// Made by tests/docs/join.py.\n", "\n".join(includes), "\n#include <antegrad/antegrad.h>\n",
           '#include "docs/support.h"\n']
    for page in pages:
        if not page.body and not page.outside:
            continue
        name = re.sub(r"\W", "_", os.path.splitext(os.path.basename(page.path))[0]).lower()
        out += [f"\nnamespace page_{name} {{\n", *page.outside, f"TEST(Docs, {name}) {{\n", *page.body, "}\n",
                f"}}  // namespace page_{name}\n"]
    return "".join(out)


def main():
    root, out = sys.argv[1:3]
    names = sorted(n for n in os.listdir(os.path.join(root, "docs")) if n.endswith(".md"))
    pages = [Page(root, path) for path in ["README.md"] + ["docs/" + n for n in names]]
    problems = [problem for page in pages for problem in page.problems]
    for problem in problems:
        print(problem, file=sys.stderr)
    with open(out, "w", encoding="utf-8") as file:
        file.write(program(pages))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
