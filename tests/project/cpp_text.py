"""Just enough parsing of C++ for structure.py: comments, includes, function lengths, enumerators, struct fields.

Heuristics for clang-formatted code, not a parser: no macros are expanded, and a raw string is one token.
"""
import re

_TOKEN = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"([^()\\ ]*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|(?<![0-9a-fA-F])\'(?:\\.|[^\'\\\n])+\'', re.S)
_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"\n]+)[>"]', re.M)
_NOT_A_FUNCTION = re.compile(r"^(namespace|extern|enum|union|using|if|for|while|switch|do|else|try|catch|return)\b")
_TYPE = re.compile(r"^(?:template\s*<[^{]*>\s*)?(?:class|struct|union|enum)\b[^()]*$")


def blank(text):
    """Removes comments and empties literals, but keeps newlines, so that line numbers stay the same."""

    def repl(match):
        token = match.group(0)
        newlines = "\n" * token.count("\n")
        return newlines if token.startswith("/") else '""' + newlines

    return _TOKEN.sub(repl, text)


def includes(text):
    """Yields (line, quoted?, path)."""
    # Removes only comments: the path of an include is a literal.
    bare = _TOKEN.sub(lambda m: "\n" * m.group(0).count("\n") if m.group(0).startswith("/") else m.group(0), text)
    for match in _INCLUDE.finditer(bare):
        yield bare.count("\n", 0, match.start(1)) + 1, match.group(1) == '"', match.group(2)


def functions(text):
    """Yields (line, lines, head) for each function body; lambdas count as part of the function around them."""
    code = re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", lambda m: "\n" * m.group(0).count("\n"), blank(text), flags=re.M)
    scopes = []  # per open brace: (line, head) of a function, or None
    head_start = parens = 0
    for match in re.finditer(r"[{};()]", code):
        char, at = match.group(0), match.start()
        if char in "()":
            parens += 1 if char == "(" else -1
            continue
        if parens > 0:  # a lambda or an initializer among arguments
            if char == "{":
                scopes.append(("arg", parens))
                parens = 0
            elif char == "}" and scopes:
                scopes.pop()
            continue
        if char == "}" and scopes:
            top = scopes.pop()
            if top and top[0] == "arg":
                parens = top[1]
                continue
            if top and top[0] == "fn":
                line = top[1]
                yield line, code.count("\n", 0, at) + 2 - line, top[2]
        elif char == "{":
            raw = code[head_start:at]
            head = re.sub(r"^(?:(?:public|private|protected)\s*:\s*)+", "", raw.strip())
            inside = any(s and s[0] == "fn" for s in scopes) or any(s and s[0] == "arg" for s in scopes)
            is_fn = not inside and "(" in head and not _NOT_A_FUNCTION.match(head) and not _TYPE.match(head)
            line = code.count("\n", 0, head_start + len(raw) - len(raw.lstrip())) + 1
            scopes.append(("fn", line, " ".join(head.split())[:60]) if is_fn else None)
        head_start = at + 1


def _body(text, opening):
    """Returns the blanked text between the braces after the match of `opening`, or None."""
    code = blank(text)
    match = re.search(opening, code)
    if not match:
        return None
    start = code.index("{", match.start()) + 1
    depth = 1
    for brace in re.finditer(r"[{}]", code[start:]):
        depth += 1 if brace.group(0) == "{" else -1
        if depth == 0:
            return code[start : start + brace.start()]
    return code[start:]


def enumerators(text, name):
    body = _body(text, rf"\benum\s+(?:class\s+)?{name}\b[^;{{]*{{")
    return None if body is None else re.findall(r"(?:^|,)\s*(\w+)\s*(?:=[^,]*)?(?=,|$)", body.strip())


def struct_fields(text, name):
    """Returns the names of the data members of a plain struct, without member functions, nested types, aliases or statics."""
    body = _body(text, rf"\bstruct\s+{name}\b[^;{{]*{{")
    if body is None:
        return None
    while True:  # innermost braces first, until each initializer and body is an "@"
        shorter = re.sub(r"\{[^{}]*\}", lambda m: "@" + "\n" * m.group(0).count("\n"), body)
        if shorter == body:
            break
        body = shorter
    fields = []
    for statement in re.split(r";|(?<=\))[^;=]*@", body):
        statement = statement.strip()
        while re.search(r"<[^<>]*>", statement):
            statement = re.sub(r"<[^<>]*>", "", statement)
        if re.match(r"(enum|struct|class|using|typedef|static|friend|template)\b|.*\boperator\b", statement, re.S):
            continue
        if not statement or "(" in re.split(r"[=@]", statement)[0]:
            continue  # a member function
        declarators = re.sub(r"\([^()]*\)", "", statement).split(",")
        for declarator in declarators:
            match = re.search(r"(\w+)\s*$", re.split(r"[=@]", declarator)[0])
            if match:
                fields.append(match.group(1))
    return fields
