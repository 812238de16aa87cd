#!/usr/bin/env python3
"""slowest.py BUILD [COUNT]: prints the slowest steps of a build and the slowest tests of the last ctest.

Steps are read from ninja's log, which has the last run of each. Steps with a ccache hit appear fast: for the times of a clean
build, build in a new folder with CCACHE_DISABLE=1."""
import pathlib
import re
import sys

TEST = re.compile(r"^\d+/\d+ Testing: (\S+)$|^Test time = +([0-9.]+) sec$", re.M)


def steps(build):
    """Returns [(seconds, output)]. A step with several outputs has a line for each in the log."""
    log = build / ".ninja_log"
    times = {}
    for line in log.read_text().splitlines() if log.exists() else []:
        fields = line.split("\t")
        if len(fields) != 5:
            continue
        start, end, _, output, command = fields
        if (build / output).exists():
            times[output] = (start, end, command)
    outputs = {}
    for output, step in times.items():
        outputs.setdefault(step, output)
    return [((int(end) - int(start)) / 1000, output) for (start, end, _), output in outputs.items()]


def tests(build):
    """Returns [(seconds, name)]."""
    log = build / "Testing/Temporary/LastTest.log"
    times, name = [], None
    for match in TEST.finditer(log.read_text(errors="replace") if log.exists() else ""):
        if match[1]:
            name = match[1]
        elif name:
            times.append((float(match[2]), name))
    return times


def show(what, times, count):
    print(f"{len(times)} {what}, {sum(seconds for seconds, _ in times):.0f} seconds; the slowest:")
    for seconds, name in sorted(times, reverse=True)[:count]:
        print(f"{seconds:8.1f}  {name}")


def main():
    build = pathlib.Path(sys.argv[1])
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 20
    show("build steps", steps(build), count)
    show("tests", tests(build), count)


if __name__ == "__main__":
    main()
