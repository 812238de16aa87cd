#!/usr/bin/env python3
"""Tells which rows of the list of behaviours (docs/behaviours.txt) no test names.

    scripts/behaviours.py [--section NAME]

A test covers a row by naming its id (three letters, dash, number) in a comment or a test name. Rows in the first table of
docs/behaviours-skipped.md make no sense in C++; those in its second table, "Missing", are known to be missing. The exit
status is always 0.
"""
import argparse
import os
import re
import sys

ID = re.compile(r"(?<![A-Za-z0-9])[A-Z]{3}-\d{2,3}(?![0-9])")
TEST_NAME_ID = re.compile(r"(?<![A-Za-z0-9])([A-Z]{3})_(\d{2,3})(?![A-Za-z0-9])")  # TEST(Aliasing, ALI_04_mutated)


def read(path):
    with open(path, encoding="utf-8", errors="replace") as f:
        return f.read()


def rows(root):
    """Returns id -> section, in the order of the list."""
    return dict(line.split("\t") for line in read(os.path.join(root, "docs/behaviours.txt")).splitlines() if line)


def left_out(root):
    """Returns id -> reason, for rows that make no sense in C++, and for missing ones."""
    path = os.path.join(root, "docs/behaviours-skipped.md")
    tables = (read(path) if os.path.exists(path) else "").partition("\n## Missing\n")
    row = re.compile(r"^\| *([A-Z]{3}-\d{2,3}) *\| *(.+?) *\|$", re.M)
    return dict(row.findall(tables[0])), dict(row.findall(tables[2]))


def test_files(root):
    for folder, folders, names in os.walk(os.path.join(root, "tests")):
        folders[:] = [f for f in folders if f not in ("project", "__pycache__")]  # scripts of tests/project contain sample ids
        yield from (os.path.join(folder, name) for name in names)
    for folder, _, names in os.walk(os.path.join(root, "src")):
        yield from (os.path.join(folder, name) for name in names if name.endswith(("_test.cpp", ".graph")))
    cli_test = os.path.join(root, "tests/project/cli_test.sh")
    if os.path.exists(cli_test):
        yield cli_test


def named(root):
    """Returns id -> files (relative paths) that name it."""
    found = {}
    for path in sorted(test_files(root)):
        text = read(path)
        ids = set(ID.findall(text)) | {"-".join(parts) for parts in TEST_NAME_ID.findall(text)}
        for row in ids:
            found.setdefault(row, []).append(os.path.relpath(path, root))
    return found


def report(root, section=None):
    sections = rows(root)
    if section and section not in sections.values():
        raise SystemExit(f"no section '{section}'; there are: " + ", ".join(dict.fromkeys(sections.values())))
    skipped, missing = left_out(root)
    found = named(root)
    lines = [f"{'section':<28}{'covered':>8}{'skipped':>8}{'missing':>8}{'total':>6}"]
    unnamed, totals = [], [0, 0, 0, 0]
    for name in dict.fromkeys(sections.values()):
        if section and name != section:
            continue
        ids = [row for row in sections if sections[row] == name]
        covered = [row for row in ids if row in found]
        counts = [len(covered), sum(row in skipped for row in ids)]
        counts += [len(ids) - sum(counts), len(ids)]
        lines.append(f"{name:<28}" + "".join(f"{n:>{w}}" for n, w in zip(counts, (8, 8, 8, 6))))
        totals = [a + b for a, b in zip(totals, counts)]
        open_rows = [row for row in ids if row not in found and row not in skipped]
        if open_rows:
            unnamed.append(f"{name}: " + " ".join(open_rows))
    lines.append(f"{'all':<28}" + "".join(f"{n:>{w}}" for n, w in zip(totals, (8, 8, 8, 6))))
    if unnamed:
        lines += ["", "no test names", *unnamed]
    prefixes = {row[:3] for row in sections}
    unknown = sorted(row for row in found if row not in sections and row[:3] in prefixes)
    lines += [f"not in the list: {row} in {', '.join(found[row])}" for row in unknown]
    lines += [f"left out but not in the list: {row}" for row in {**skipped, **missing} if row not in sections]
    lines += [f"left out but named by a test: {row} in {', '.join(found[row])}"
              for row in {**skipped, **missing} if row in found]
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--section", help="only this section, e.g. 'aliasing & mutation'")
    parser.add_argument("--root", default=os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
    arguments = parser.parse_args()
    print(report(arguments.root, arguments.section))
    return 0


if __name__ == "__main__":
    sys.exit(main())
