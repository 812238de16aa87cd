#!/usr/bin/env python3
"""Checks rules of the code base that a compiler does not check: the order of folders, sizes, documented names.

    structure.py [ROOT]     prints problems and size reports; exit status 1 if there is a problem
"""
import ast
import os
import re
import sys

import cpp_text

ORDER = ("util trace ir symbolic aten capture aot passes partition schedule codegen toolchain cache runtime compiler effects distributed program optim engine package c"
         " report cli").split()
NO_LIBTORCH = ("util trace ir symbolic passes partition schedule codegen toolchain cache report aot/signature runtime/plan compiler/plan"
               " compiler/cache").split()  # folders of src/, or rooms in them
LIBTORCH = re.compile(r"(ATen|torch|c10|caffe2)/")
BANNED_IN_PUBLIC = re.compile(r"(llvm|llvm-c|clang|clang-c|boost|nlohmann|fmt)(/|\.h)")
MAX_PUBLIC_HEADERS = 22  # one per thing that a user may want alone: program.h for users of torch.export, control.h for branches and loops
MAX_ARCHITECTURE_LINES = 60
MAX_LINES, REPORT_LINES, REPORT_HEADER_LINES, REPORT_FUNCTION_LINES = 500, 350, 200, 60
MARKERS = re.compile(r"\b(" + "TO" + "DO|FIX" + r"ME)\b(?:\(([\w-]+)\))?")
CODE = (".cpp", ".h", ".py")
HOST = re.compile(r"\b(?:https?|ftp|git|ssh)://(?!www\.w3\.org/)[\w.-]+", re.I)  # XML namespaces are not hosts
MARKED = CODE + (".def", ".cmake", ".sh", "CMakeLists.txt", "Makefile")


class Tree:
    """The files below a root, except hidden and build folders; each file is read once."""

    def __init__(self, root):
        self.root, self.files, self._texts = root, [], {}
        for folder, folders, names in os.walk(root):
            folders[:] = sorted(f for f in folders if not f.startswith(".") and f not in ("build", "__pycache__"))
            for name in sorted(names):
                self.files.append(os.path.relpath(os.path.join(folder, name), root))

    def text(self, path):
        if path not in self._texts:
            with open(os.path.join(self.root, path), encoding="utf-8", errors="replace") as f:
                self._texts[path] = f.read()
        return self._texts[path]

    def ending(self, endings, under=""):
        return [f for f in self.files if f.endswith(endings) and f.startswith(under)]

    def has(self, path):
        return os.path.isfile(os.path.join(self.root, path))

    def resolve(self, including, quoted, path):
        """Returns the file of this tree that an include names, or None."""
        beside = os.path.normpath(os.path.join(os.path.dirname(including), path))
        places = ([beside] if quoted else []) + ["src/" + path, "include/" + path]
        return next((p for p in places if self.has(p)), None)


def check_folder_order(tree):
    for path in tree.ending((".cpp", ".h", ".def"), "src/"):
        parts = path.split("/")
        if len(parts) < 3:
            continue  # src/pch.h
        if parts[1] not in ORDER:
            yield f"{path}: src/{parts[1]} is not in the order of folders"
            continue
        allowed = ORDER[: ORDER.index(parts[1]) + 1]
        for line, quoted, name in cpp_text.includes(tree.text(path)):
            found = tree.resolve(path, quoted, name)
            folder = found.split("/")[1] if found and found.startswith("src/") else name.split("/")[0]
            if folder in ORDER and folder not in allowed:
                yield f"{path}:{line}: src/{parts[1]} includes {name}, but {folder} comes after {parts[1]}"
            elif quoted and not found and not path.endswith("_test.cpp"):
                yield f'{path}:{line}: "{name}" is neither in src/ nor in include/; foreign headers go in <>'


def check_readmes(tree):
    for folder in ORDER:
        if tree.ending((".cpp", ".h"), f"src/{folder}/") and not tree.has(f"src/{folder}/README.md"):
            yield f"src/{folder}: no README.md says what goes in and what comes out"


STATIC = re.compile(r"^\s+(?:\[\[\w+\]\] )?static (?!constexpr|thread_local|inline)(?:const )?(?P<type>[\w:<>, ]+?) (?P<name>\w+)"
                    r"(?: =|;|\{)", re.M)
TRIVIAL = re.compile(r"(bool|int|float|double|size_t|u?int\d+_t|std::(atomic|once_flag|array)\b.*|std::pair<bool, bool>|Isa|GraphParts)$")


def check_statics_are_never_destroyed(tree):
    """Threads and destructors of static objects may call the library while the process exits."""
    for path in tree.ending((".cpp", ".h"), "src/"):
        if path.endswith("_test.cpp") or path.startswith("src/cli/"):
            continue
        for match in STATIC.finditer(tree.text(path)):
            if not TRIVIAL.match(match["type"]):
                line = tree.text(path).count("\n", 0, match.start("name")) + 1
                yield f"{path}:{line}: static {match['name']} is destroyed by exit(); static auto& x = *new T is not"


def check_no_libtorch(tree):
    """Follows includes, so that a header of a later folder or a public header cannot include LibTorch indirectly."""
    reach = {}  # file -> chain of includes that ends at a LibTorch header, or None

    def chain(path):
        if path not in reach:
            reach[path] = None  # also the result within a cycle
            for _, quoted, name in cpp_text.includes(tree.text(path)):
                found = tree.resolve(path, quoted, name)
                rest = chain(found) if found else ([name] if LIBTORCH.match(name) else None)
                if rest:
                    reach[path] = [path] + rest if found else [path, name]
                    break
        return reach[path]

    for path in tree.ending((".cpp", ".h", ".def"), "src/"):
        room = next((r for r in NO_LIBTORCH if path.startswith(f"src/{r}/")), None)
        if room and chain(path):
            yield f"{path}: src/{room} includes LibTorch: " + " -> ".join(chain(path))


PRIVATE_PARTS = re.compile(r'^template struct \w+<[^>]*&|\bANTEGRAD_PRIVATE_MEMBER\(|"N\d*(?:5torch|3c10)|\bPyInterpreterVTable\b', re.M)


def check_private_parts(tree):
    """Private members and mangled names of LibTorch are reached, and explained, in one folder."""
    for path in tree.ending((".cpp", ".h"), "src/"):
        for match in PRIVATE_PARTS.finditer(tree.text(path)) if not path.startswith("src/aten/") else ():
            line = tree.text(path).count("\n", 0, match.start()) + 1
            yield f"{path}:{line}: private parts of LibTorch are the business of src/aten"


def check_sizes(tree, report):
    if tree.has("ARCHITECTURE.md") and len(tree.text("ARCHITECTURE.md").splitlines()) > MAX_ARCHITECTURE_LINES:
        yield f"ARCHITECTURE.md: more than {MAX_ARCHITECTURE_LINES} lines: details go beside the code"
    for path in tree.ending(CODE):
        text = tree.text(path)
        lines = len(text.splitlines())
        if lines > MAX_LINES:
            yield f"{path}: {lines} lines, more than {MAX_LINES}"
        elif lines > REPORT_LINES:
            report(f"{path}: {lines} lines")
        elif path.endswith(".h") and lines > REPORT_HEADER_LINES:
            report(f"{path}: {lines} lines in a header")
        for line, length, head in python_functions(text) if path.endswith(".py") else cpp_text.functions(text):
            if length > REPORT_FUNCTION_LINES:
                report(f"{path}:{line}: {length} lines in {head}")


def python_functions(text):
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node.lineno, node.end_lineno - node.lineno + 1, node.name


def check_public_headers(tree):
    headers = tree.ending(".h", "include/antegrad/")
    if len(headers) > MAX_PUBLIC_HEADERS:
        yield f"include/antegrad: {len(headers)} headers, more than {MAX_PUBLIC_HEADERS}"
    for path in headers:
        for line, quoted, name in cpp_text.includes(tree.text(path)):
            if BANNED_IN_PUBLIC.match(name):
                yield f"{path}:{line}: a public header includes {name}"
            elif (tree.resolve(path, quoted, name) or "").startswith("src/"):
                yield f"{path}:{line}: a public header includes {name}, which is not installed"


def check_markers(tree):
    gaps = tree.text("docs/known-gaps.md") if tree.has("docs/known-gaps.md") else ""
    listed = set(re.findall(r"^## ([\w-]+)\s*$", gaps, re.M))
    for path in tree.ending(MARKED):
        for number, line in enumerate(tree.text(path).splitlines(), 1):
            for marker, name in MARKERS.findall(line):
                if name not in listed:
                    yield (f"{path}:{number}: {marker} without a gap: write {marker}(name) and a heading '## name' in"
                           " docs/known-gaps.md")


def check_hosts(tree):
    """Scripts name no hosts: packages come from the sources that the machine is configured for."""
    for path in tree.files:
        if path.startswith(("scripts/", "cmake/")) or path in ("Makefile", "CMakeLists.txt"):
            for number, line in enumerate(tree.text(path).splitlines(), 1):
                for host in HOST.findall(line):
                    yield f"{path}:{number}: names a host, {host}: ask for packages by their names"


def compare(what, documented_in, names, documented):
    for name in sorted(set(names) - set(documented)):
        yield f"{documented_in}: {what} {name} is not documented"
    for name in sorted(set(documented) - set(names)):
        yield f"{documented_in}: {name} is documented, but there is no such {what}"


def check_documented_names(tree):
    for header, doc in (("error.h", "errors.md"), ("options.h", "options.md")):
        missing = [p for p in ("include/antegrad/" + header, "docs/" + doc) if not tree.has(p)]
        if missing:
            yield f"{missing[0]}: missing"
            continue
        text, page = tree.text("include/antegrad/" + header), tree.text("docs/" + doc)
        if header == "error.h":
            names = cpp_text.enumerators(text, "ErrorCode")
            what, documented = "ErrorCode", re.findall(r"^## (.+?)\s*$", page, re.M)
        else:
            names = cpp_text.struct_fields(text, "Options")
            what, documented = "field of Options", re.findall(r"^\| *`([a-z]\w*)` *\|", page, re.M)
        if not names:
            yield f"include/antegrad/{header}: no {what} found"
        else:
            yield from compare(what, "docs/" + doc, names, documented)
    if tree.has("docs/options.md"):
        page = tree.text("docs/options.md")
        for path in tree.ending((".cpp", ".h"), "src/"):
            if not path.endswith("_test.cpp"):
                for name in sorted(set(re.findall(r'"(ANTEGRAD_[A-Z_]+)"', tree.text(path)))):
                    if f"`{name}`" not in page:
                        yield f"docs/options.md: environment variable {name} of {path} is not documented"


def problems(root, report=lambda text: None):
    tree = Tree(root)
    return [*check_folder_order(tree), *check_readmes(tree), *check_statics_are_never_destroyed(tree),
            *check_no_libtorch(tree), *check_private_parts(tree), *check_sizes(tree, report),
            *check_public_headers(tree), *check_markers(tree), *check_hosts(tree),
            *check_documented_names(tree)]


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(__file__), "..", "..")
    found = problems(root, lambda text: print("long: " + text))
    for problem in found:
        print("problem: " + problem)
    print(f"{len(found)} problems")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
