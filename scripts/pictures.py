#!/usr/bin/env python3
"""Draws the pictures of the docs, docs/pictures/*.svg.

    pictures.py            writes them
    pictures.py --check    prints which files are out of date; exit status 1 if one is
"""
import html
import os
import sys

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "docs", "pictures")
# Colours for light and dark pages: background, text, lines, and the fill and border of each kind of box.
STYLE = """
  .page { fill: #ffffff } text { fill: #1f2328; font: 13px sans-serif; text-anchor: middle }
  .code { font: 12px monospace } .left { text-anchor: start } .small { font-size: 11px } .bold { font-weight: bold }
  .line { stroke: #57606a; stroke-width: 1.4; fill: none } .head { fill: #57606a } .cut { stroke: #cf222e; stroke-width: 2;
  stroke-dasharray: 6 4; fill: none } .group { fill: none; stroke: #8250df; stroke-width: 1.6; stroke-dasharray: 4 3 }
  .data { fill: #ddf4ff; stroke: #0969da } .step { fill: #f6f8fa; stroke: #57606a } .good { fill: #dafbe1; stroke: #1a7f37 }
  .warm { fill: #fff8c5; stroke: #9a6700 } .bad { fill: #ffebe9; stroke: #cf222e } .none { fill: none; stroke: none }
  @media (prefers-color-scheme: dark) {
    .page { fill: #0d1117 } text { fill: #e6edf3 } .line { stroke: #9198a1 } .head { fill: #9198a1 }
    .cut { stroke: #ff7b72 } .group { stroke: #bc8cff } .data { fill: #121d2f; stroke: #58a6ff }
    .step { fill: #161b22; stroke: #9198a1 } .good { fill: #12261e; stroke: #3fb950 }
    .warm { fill: #272115; stroke: #d29922 } .bad { fill: #25171c; stroke: #f85149 }
  }"""


class Box:
    def __init__(self, x, y, w, h):
        self.x, self.y, self.w, self.h = x, y, w, h

    def side(self, name):
        """Returns the middle of a side: n, e, s or w."""
        return {"n": (self.x + self.w / 2, self.y), "s": (self.x + self.w / 2, self.y + self.h),
                "w": (self.x, self.y + self.h / 2), "e": (self.x + self.w, self.y + self.h / 2)}[name]


class Picture:
    def __init__(self, width, height, title):
        self.width, self.height, self.title, self.parts = width, height, title, []

    def text(self, x, y, words, style=""):
        self.parts.append(f'<text x="{x:g}" y="{y:g}" class="{style}">{html.escape(words)}</text>')

    def box(self, x, y, w, h, words, kind="step", style=""):
        self.parts.append(f'<rect x="{x:g}" y="{y:g}" width="{w:g}" height="{h:g}" rx="6" class="{kind}"/>')
        lines = words.split("\n")
        for i, line in enumerate(lines):
            at = y + h / 2 + 4.5 + 16 * (i - (len(lines) - 1) / 2)
            self.text(x + w / 2, at, line.lstrip("*"), style + (" bold" if line.startswith("*") else ""))
        return Box(x, y, w, h)

    def group(self, x, y, w, h, words):
        self.parts.append(f'<rect x="{x:g}" y="{y:g}" width="{w:g}" height="{h:g}" rx="10" class="group"/>')
        self.text(x + 8, y + 15, words, "left small")

    def arrow(self, start, end, words="", bend=None):
        """Draws an arrow between two points, straight or through `bend` points. The head is a polygon, not a marker."""
        points = [start, *(bend or []), end]
        path = " ".join(f"{x:g},{y:g}" for x, y in points)
        self.parts.append(f'<polyline points="{path}" class="line"/>')
        (x0, y0), (x1, y1) = points[-2], points[-1]
        length = ((x1 - x0) ** 2 + (y1 - y0) ** 2) ** 0.5 or 1
        ux, uy = (x1 - x0) / length, (y1 - y0) / length
        head = [(x1, y1), (x1 - 8 * ux - 4 * uy, y1 - 8 * uy + 4 * ux), (x1 - 8 * ux + 4 * uy, y1 - 8 * uy - 4 * ux)]
        self.parts.append('<polygon points="' + " ".join(f"{x:.1f},{y:.1f}" for x, y in head) + '" class="head"/>')
        if words:
            (ax, ay), (bx, by) = points[0], points[1]
            self.text((ax + bx) / 2 + (0 if ay == by else 6), (ay + by) / 2 - (5 if ay == by else -4), words,
                      "small" + ("" if ay == by else " left"))

    def svg(self):
        return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width} {self.height}" width="{self.width}" '
                f'height="{self.height}" role="img">\n<title>{html.escape(self.title)}</title>\n<style>{STYLE}\n</style>\n'
                f'<rect width="{self.width}" height="{self.height}" rx="8" class="page"/>\n' + "\n".join(self.parts) +
                "\n</svg>\n")


def pipeline():
    p = Picture(860, 300, "From a C++ function to code: the stages and what goes between them")
    rows = [[("your function\n(lambda, module)", "data"), ("*capture\nruns it over fakes", "step"), ("trace\nwith views, writes", "data"),
             ("*aot\nfunctional", "step"), ("joint graph\n+ signature", "data")],
            [("*passes\ndecompose, simplify", "step"), ("*partition\nmin-cut", "step"), ("forward graph,\nbackward graph", "data"),
             ("*schedule\nfuses into loops", "step"), ("kernels, calls\nof LibTorch", "data")],
            [("*codegen\nprints C", "step"), ("*toolchain\nclang, loader", "step"), ("code in memory", "data"),
             ("*runtime\nguards, arena, node", "step"), ("tensors with\na history", "good")]]
    before = None
    for r, row in enumerate(rows):
        boxes = [p.box(20 + 170 * i, 20 + 96 * r, 140, 56, words, kind) for i, (words, kind) in enumerate(row)]
        if before:
            (x, y), (u, v) = before.side("s"), boxes[0].side("n")
            p.arrow((x, y), (u, v), bend=[(x, y + 20), (u, y + 20)])
        for a, b in zip(boxes, boxes[1:]):
            p.arrow(a.side("e"), b.side("w"))
        before = boxes[-1]
    return p


def joint_graph():
    p = Picture(860, 330, "A joint graph and its cut: what the forward pass saves for the backward pass")
    p.text(215, 24, "forward", "bold")
    p.text(645, 24, "backward", "bold")
    x = p.box(20, 60, 80, 36, "x", "data", "code")
    w = p.box(20, 240, 80, 36, "w", "data", "code")
    h = p.box(160, 130, 110, 40, "h = x · w", "warm", "code")
    t = p.box(160, 60, 110, 40, "t = tanh(h)", "good", "code")
    loss = p.box(300, 60, 100, 40, "mean(t²)", "step", "code")
    tangent = p.box(740, 60, 90, 40, "tangent", "data", "code")
    dt = p.box(590, 60, 110, 40, "dt = 2t/n", "step", "code")
    t2 = p.box(460, 60, 100, 40, "t = tanh(h)", "good", "code")
    dh = p.box(590, 150, 110, 40, "dh = dt(1−t²)", "step", "code")
    dw = p.box(590, 240, 110, 40, "dw = xᵀ · dh", "step", "code")
    p.arrow(x.side("e"), h.side("w"), bend=[(130, 78), (130, 150)])
    p.arrow(w.side("e"), h.side("s"), bend=[(215, 258)])
    p.arrow(h.side("n"), t.side("s"))
    p.arrow(t.side("e"), loss.side("w"))
    p.arrow(tangent.side("w"), dt.side("e"))
    p.arrow(t2.side("e"), dt.side("w"))
    p.arrow(dt.side("s"), dh.side("n"))
    p.arrow(dh.side("s"), dw.side("n"))
    p.arrow(h.side("e"), t2.side("s"), "h is saved: mm is expensive", bend=[(510, 150)])
    p.arrow(x.side("n"), dw.side("w"), "", bend=[(60, 44), (10, 44), (10, 306), (540, 306), (540, 260)])
    p.text(240, 300, "x is saved: it is an input, which is free", "small")
    p.parts.append('<line x1="430" y1="36" x2="430" y2="320" class="cut"/>')
    p.text(430, 24, "cut", "small")
    for i, words in enumerate(("tanh is cheap:", "recomputed, inside", "the kernel that reads it")):
        p.text(716, 160 + 15 * i, words, "small left")
    return p


def layer_norm():
    p = Picture(860, 300, "Layer norm written out: nine ops in eager, one kernel after fusion")
    p.text(200, 24, "written out, eager: a pass over memory per op", "bold")
    ops = ["mean(x)", "x − mean", "(x − mean)²", "mean of that", "+ eps", "rsqrt", "·", "· gain", "+ bias"]
    for i, op in enumerate(ops):
        box = p.box(30 + 125 * (i % 3), 44 + 74 * (i // 3), 100, 36, op, "step", "code")
        if i % 3 != 2:
            p.arrow(box.side("e"), (box.x + 125, box.y + 18))
        elif i != 8:
            p.arrow(box.side("s"), (80, box.y + 74), bend=[(box.x + 50, box.y + 55), (80, box.y + 55)])
    p.text(200, 276, "9 loops over rows × columns, 8 temporaries", "small")
    p.text(640, 24, "compiled: one kernel, parallel over rows", "bold")
    p.group(440, 40, 400, 220, "for each row")
    lines = ["for c: sum += x[c]", "mean = sum / columns", "for c: d = x[c] − mean; squares += d·d", "scale = rsqrt(squares / columns + eps)",
             "for c: y[c] = (x[c] − mean)·scale·gain[c] + bias[c]"]
    kinds = ["data", "step", "data", "step", "good"]
    for i, (line, kind) in enumerate(zip(lines, kinds)):
        p.box(454, 66 + 38 * i, 372, 28, line, kind, "code")
    p.text(640, 276, "x is read from cache in stages two and three; no temporaries", "small")
    return p


def cache_lookup():
    p = Picture(860, 330, "Looking a function up: memory, local directory, shared stores, compiler")
    start = p.box(20, 40, 130, 50, "captured graph\n+ options, ISA, builds", "data", "small")
    key = p.box(190, 40, 110, 50, "key\nSHA-256 of fields", "step", "small")
    local = p.box(340, 40, 130, 50, "*local directory\n~/.cache/antegrad")
    shared = p.box(510, 40, 130, 50, "*shared directory\nif named")
    redis = p.box(680, 40, 130, 50, "*Redis\nif named")
    for a, b, words in ((start, key, ""), (key, local, ""), (local, shared, "miss"), (shared, redis, "miss")):
        p.arrow(a.side("e"), b.side("w"), words)
    check = p.box(430, 150, 210, 52, "length, checksums, address,\nMAC with a key file, kernel hashes", "warm", "small")
    for box in (local, shared, redis):
        x, y = box.side("s")
        p.arrow((x, y), (535, 150), "found" if box is local else "", bend=[(x, 120), (535, 120)])
    load = p.box(430, 250, 210, 46, "*load: map the code, run", "good")
    p.arrow(check.side("s"), load.side("n"), "good: hit")
    make = p.box(120, 150, 210, 52, "*passes, partition,\n*schedule, codegen, compile", "step")
    p.arrow(check.side("w"), make.side("e"), "corrupt, refused")
    p.arrow(redis.side("e"), make.side("s"), "", bend=[(840, 65), (840, 315), (225, 315)])
    p.text(700, 309, "miss everywhere", "small")
    store = p.box(20, 250, 170, 46, "stored in the background", "data")
    p.arrow((170, 202), (170, 250))
    p.arrow(make.side("s"), load.side("w"), "", bend=[(225, 273)])
    return p


def call():
    p = Picture(860, 250, "What happens at a call of a compiled function")
    args = p.box(20, 30, 110, 50, "arguments", "data")
    flat = p.box(170, 30, 120, 50, "*flatten\ntensors + key")
    guard = p.box(330, 30, 170, 50, "*guards of each version\ntypes, sizes, modes, modules", "warm", "small")
    run = p.box(560, 30, 130, 50, "*run\nkernels, LibTorch", "good")
    out = p.box(730, 30, 110, 50, "results\nwith history", "data")
    for a, b, words in ((args, flat, ""), (flat, guard, ""), (guard, run, "hold"), (run, out, "")):
        p.arrow(a.side("e"), b.side("w"), words)
    size = p.box(330, 120, 170, 50, "a version has symbols:\ncapture again, compare", "step")
    new = p.box(560, 120, 130, 50, "another version:\ncapture, compile", "bad")
    p.arrow(guard.side("s"), size.side("n"), "fail")
    p.arrow(size.side("e"), new.side("w"), "differs")
    p.arrow((480, 120), (590, 80), "same", bend=[(480, 100), (590, 100)])
    p.arrow((650, 120), (650, 80))
    back = p.box(730, 120, 110, 50, "backward()", "data")
    node = p.box(730, 195, 110, 44, "compiled node", "good")
    p.arrow(out.side("s"), back.side("n"))
    p.arrow(back.side("s"), node.side("n"))
    p.text(400, 215, "the first backward() of a version compiles its backward graph; later ones run it", "small")
    return p


PICTURES = {"pipeline": pipeline, "joint-graph": joint_graph, "layer-norm": layer_norm, "cache-lookup": cache_lookup, "call": call}


def main():
    checking, changed = sys.argv[1:] == ["--check"], []
    for name, draw in PICTURES.items():
        path, text = os.path.join(FOLDER, name + ".svg"), draw().svg()
        there = open(path, encoding="utf-8").read() if os.path.exists(path) else ""
        if checking and there != text:
            changed.append(name)
        elif not checking:
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
    for name in changed:
        print(f"docs/pictures/{name}.svg is not what scripts/pictures.py draws: run it")
    return 1 if changed else 0


if __name__ == "__main__":
    sys.exit(main())
