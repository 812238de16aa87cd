#!/usr/bin/env python3
"""Writes several sources as one: join_sources.py OUT FILE...

Names that a file keeps to itself in an anonymous namespace stay its own: the namespace is named after the file."""
import pathlib
import re
import sys


def main():
    out, *files = map(pathlib.Path, sys.argv[1:])
    parts = []
    for file in files:
        text = re.sub(r"^namespace \{", f"namespace of_{file.stem} {{", file.read_text(), flags=re.M)
        parts.append(f'#line 1 "{file}"\n{text}')
    out.write_text("".join(parts))


if __name__ == "__main__":
    main()
