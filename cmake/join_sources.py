#!/usr/bin/env python3
"""Joins several sources into one: join_sources.py OUT FILE...

Anonymous namespaces get a name made of the file's name and folder, so that their contents do not clash. The code after such a
namespace still sees its names, but so do the files after it: two joined files must not use the same name for different
things outside their anonymous namespaces."""
import pathlib
import re
import sys

OPENING = re.compile(r"^namespace \{", re.M)
CLOSING = re.compile(r"^\}  // namespace$", re.M)
NOTHING = re.compile(r"(\s|\}  // namespace [\w:]+)*")


def joined(file):
    own = f"of_{file.parent.name}_{file.stem}"
    text = OPENING.sub(f"namespace {own} {{", file.read_text())
    ends = list(CLOSING.finditer(text))
    if ends and not NOTHING.fullmatch(text[ends[-1].end():]):
        first = ends[0].start() + 1
        text = f"{text[:first]} using namespace {own};{text[first:]}"
    return f'#line 1 "{file}"\n{text}'


def main():
    out, *files = map(pathlib.Path, sys.argv[1:])
    out.write_text("".join(map(joined, files)))


if __name__ == "__main__":
    main()
