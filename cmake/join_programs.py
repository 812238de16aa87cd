#!/usr/bin/env python3
"""Joins several programs into one source: join_programs.py OUT FILE...

The resulting program has a symlink per file, and runs the one that it is invoked as. Each file is in a namespace of its own;
the includes of all files come first."""
import pathlib
import re
import sys

INCLUDE = re.compile(r"^#include .*$", re.M)
MAIN = re.compile(r"^int main\((.*)\) \{$", re.M)

DISPATCH = """
int main(int argc, char** argv) {{
  const std::string name = std::filesystem::path(argv[0]).filename().string();
{calls}  std::fprintf(stderr, "there is no program '%s' in this one\\n", name.c_str());
  return 2;
}}
"""


def main():
    out, *files = map(pathlib.Path, sys.argv[1:])
    includes = {"#include <cstdio>": None, "#include <filesystem>": None, "#include <string>": None}
    parts, calls = [], ""
    for file in files:
        text = file.read_text()
        includes.update(dict.fromkeys(INCLUDE.findall(text)))
        parameters = MAIN.search(text)[1]
        text = MAIN.sub(r"int run(\1) {", INCLUDE.sub("", text))
        parts.append(f'namespace {file.stem} {{\n#line 1 "{file}"\n{text}}}\n')
        calls += f'  if (name == "{file.stem}") return {file.stem}::run({"argc, argv" if parameters else ""});\n'
    out.write_text("\n".join(includes) + "\n" + "".join(parts) + DISPATCH.format(calls=calls))


if __name__ == "__main__":
    main()
