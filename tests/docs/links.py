#!/usr/bin/env python3
"""Checks the links within the project of README.md, ARCHITECTURE.md, CONTRIBUTING.md, docs/*.md and src/*/README.md.

    links.py ROOT      prints broken links; exit status 1 if there is one
"""
import os
import re
import sys

LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")


def without_code(text):
    return re.sub(r"`[^`\n]*`", "", re.sub(r"^```.*?^```", "", text, flags=re.M | re.S))


def anchors(text):
    """Returns the anchors that GitHub makes of headings."""
    names = set()
    for heading in re.findall(r"^#+\s+(.*)$", re.sub(r"^```.*?^```", "", text, flags=re.M | re.S), flags=re.M):
        words = re.sub(r"[^\w\- ]", "", re.sub(r"[`*]", "", heading).lower())
        names.add(words.strip().replace(" ", "-"))
    return names


def problems(root):
    pages = [n for n in ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md") if os.path.exists(os.path.join(root, n))]
    pages += ["docs/" + n for n in sorted(os.listdir(os.path.join(root, "docs"))) if n.endswith(".md")]
    source = os.path.join(root, "src")
    if os.path.isdir(source):
        rooms = [f"src/{n}/README.md" for n in sorted(os.listdir(source))]
        pages += [n for n in rooms if os.path.exists(os.path.join(root, n))]
    texts = {page: open(os.path.join(root, page), encoding="utf-8").read() for page in pages}
    for page, text in texts.items():
        for link in LINK.findall(without_code(text)):
            if re.match(r"\w+:", link):
                continue
            path, _, anchor = link.partition("#")
            target = os.path.normpath(os.path.join(os.path.dirname(page), path)) if path else page
            if not os.path.exists(os.path.join(root, target)):
                yield f"{page}: {link} leads nowhere"
            elif anchor and target in texts and anchor not in anchors(texts[target]):
                yield f"{page}: {target} has no heading #{anchor}"
    index = texts.get("docs/README.md", "")
    for page in pages:
        if page.startswith("docs/") and page != "docs/README.md" and f"({page[5:]}" not in index:
            yield f"docs/README.md does not name {page}"


def main():
    found = list(problems(sys.argv[1] if len(sys.argv) > 1 else "."))
    print("\n".join(found) or "all links lead somewhere")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
