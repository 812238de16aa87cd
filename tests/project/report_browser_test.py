#!/usr/bin/env python3
"""Opens a page of `antegrad report` in headless Chromium: it loads, search and zoom work, and hostile texts remain text.

    report_browser_test.py PATH_OF_ANTEGRAD [TRACE_DIRECTORY]

Without Chromium, its driver or selenium the test is skipped: exit status 77. With a directory, all its pages are only
loaded, and errors on the console are reported.
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

SKIPPED = 77
SYSTEM_PYTHON = "/usr/bin/python3"
EVIL = "</script><script>window.hacked=1</script><img src=x onerror=\"window.hacked=2\">\"'><b>bold</b>"

GRAPH = """graph @net forward {
  in %0: f32[8,4] user "x"
  in %1: f32[4,4] param "weight"
  %2: f32[8,4] = aten.mm(%0, %1) at "layer1" seq 1
  %3: f32[8,4] = aten.relu(%2) at "layer1"
  %4: f32[8,4] = aten.exp(%3) at "<b>layer2</b>"
  %5: f32[8,4], %6: f32[8,1] = aten.some_op(%4, [1, none, %0], "%3 <script>window.hacked=3</script>") at "<b>layer2</b>"
  %7: f32[] = aten.sum(%5)
  out %7 user
  out %3 saved
}
"""


def long_graph(count):
    lines = ["graph @long joint {", '  in %0: f32[4] user "x"']
    for i in range(1, count):
        lines.append(f"  %{i}: f32[4] = aten.{'sin' if i % 2 else 'cos'}(%{i - 1}) {'backward' if i > count / 2 else ''}".rstrip())
    return "\n".join(lines + [f"  out %{count - 1} user", "}"])


def events():
    """Returns a trace with everything that pages show, with hostile texts."""
    f, v = {"f": 1}, {"f": 1, "v": 1}
    forward, backward = {**v, "pass": "forward"}, {**v, "pass": "backward"}
    kernel = {"name": "k_1", "text": EVIL, "source": f"// {EVIL}\nfor (int i = 0; i < 8; ++i) x[i] = 1.5f;"}
    span = lambda i, t, name, **more: {"e": "begin", "t": t, "tid": 1, "id": i, "name": name, **v, **more}
    end = lambda i, t: {"e": "end", "t": t, "tid": 1, "id": i}
    return [
        {"e": "process", "t": 0, "format": 1, "pid": 7, "program": EVIL, "unix_us": 1700000000000000},
        {"e": "function", "t": 1, "tid": 1, **f, "name": EVIL, "policy": "MinCut"},
        {"e": "function", "t": 1, "tid": 1, "f": 2, "name": "never called"},
        span(1, 10, "make a version", detail=EVIL), span(2, 20, "capture"), end(2, 120), span(3, 130, "pass", detail="dead_code"), end(3, 140),
        {"e": "begin", "t": 150, "tid": 2, "id": 4, "name": "compile C", **v}, {"e": "end", "t": 350, "tid": 2, "id": 4}, end(1, 400),
        {"e": "graph", **v, "which": "captured", "text": long_graph(600)}, {"e": "graph", **v, "which": "forward", "text": GRAPH},
        {"e": "partition", **v, "saved_bytes": 128, "peak_forward": 256, "peak_backward": 300, "decisions": [
            {"value": 3, "op": "aten.relu", "scope": EVIL, "bytes": 128, "saved": True, "reason": EVIL},
            {"value": 4, "op": "aten.exp", "scope": "", "bytes": 128, "saved": False, "reason": "cheap to recompute"}]},
        {"e": "program", **forward, "text": GRAPH, "kernels": [kernel], "toolchain": "clang", "isa": "avx2", "decisions": [
            {"what": "kernel k_1: rows", "nodes": [1, 2]}, {"what": "LibTorch", "why": EVIL, "nodes": [0]}]},
        {"e": "kernel", **forward, "name": "k_1", "key": "00ff", "from": "compiled", "us": 1200, "toolchain": "clang"},
        {"e": "times", **forward, "runs": 3, "steps": ["aten.mm", "k_1"], "us": [5.5, 2.25]},
        {"e": "times", **backward, "runs": 3, "steps": ["aten.mm"], "us": [9.5]},
        {"e": "memory", **forward, "bytes": [128, 256], "labels": ["aten.mm", EVIL], "arena_bytes": 128},
        {"e": "memory", **backward, "bytes": [256, 200], "labels": ["aten.mm", "k_2"], "arena_bytes": 0},
        {"e": "eager_memory", **v, "forward": [128, 256, 384], "forward_labels": ["a", "b", "c"], "backward": [500, 300],
         "backward_labels": ["d", EVIL], "saved_bytes": 384},
        {"e": "cache", **forward, "outcome": "miss", "reason": EVIL, "key": "ab" * 32, "saved_s": 0},
        {"e": "warning", **f, "kind": "eager", "text": EVIL, "way_out": EVIL}, {"e": "warning", "kind": EVIL, "text": "x"},
        {"e": "version", **v, "name": EVIL, "reason": "", "guards": [EVIL], "sizes": "", "eager": False, "dynamic": False},
        {"e": "version", **f, "v": 2, "name": EVIL, "reason": EVIL, "guards": [], "sizes": "s0 >= 2", "eager": False, "dynamic": True},
        {"e": "an event of a later version"},
        {"e": "begin", "t": 500, "tid": 1, "id": 9, "name": "make a backward pass", **backward},
    ]


class Browser:
    def __init__(self):
        from selenium import webdriver
        from selenium.webdriver.chrome.service import Service
        options = webdriver.ChromeOptions()
        for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--window-size=1280,900",
                         "--disable-background-networking"):
            options.add_argument(argument)
        options.binary_location = shutil.which("chromium") or shutil.which("chromium-browser")
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        self.driver = webdriver.Chrome(service=Service(shutil.which("chromedriver")), options=options)
        self.failures = 0

    def run(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def all(self, selector):
        return self.driver.find_elements("css selector", selector)

    def one(self, selector):
        return self.driver.find_element("css selector", selector)

    def go(self, place):
        self.run("location.hash = arguments[0]", place)
        time.sleep(0.2)

    def check(self, good, what):
        if not good:
            self.failures += 1
            print("FAILED:", what)

    def check_console(self, where):
        for entry in self.driver.get_log("browser"):
            self.check(False, f"{where}: console: {entry['level']} {entry['message']}")


def wait_for(condition, seconds=5):
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.05)
    return condition()


def check_pages(browser):
    """Visits all reachable pages, and returns the addresses of functions."""
    functions = browser.run("return used.map(f => address(f))")
    versions = browser.run("return allVersions.map(v => `${address(v.owner)}/${v.number}`)")
    sections = browser.run("return SECTIONS.map(s => s[0])")
    places = ["#overview", "#time", "#cache", "#warnings"] + [f"{v}/{s}" for v in versions[:12] for s in sections]
    for place in places:
        browser.go(place)
        browser.check(browser.run("return document.getElementById('main').textContent.length") > 10, f"{place} is empty")
        wide = browser.run("return document.documentElement.scrollWidth - document.documentElement.clientWidth")
        browser.check(wide <= 0, f"{place} is {wide} pixels wider than the window")
        browser.check_console(place)
    return functions


def check_graph(browser, function):
    browser.go(f"{function}/1/graphs")
    nodes = browser.all(".canvas .node")
    browser.check(len(nodes) >= 8, f"{len(nodes)} boxes are drawn")
    browser.run("arguments[0].dispatchEvent(new MouseEvent('click', {bubbles: true}))", nodes[2])
    browser.check(browser.one(".side pre").text.strip() != "", "a click shows no text")

    view = lambda: browser.run("return document.querySelector('.canvas svg').getAttribute('viewBox')")
    before = view()
    browser.one("button[aria-label='zoom in']").click()
    browser.check(view() != before, "zooming in changes nothing")
    zoomed = view()
    browser.run("const svg = document.querySelector('.canvas svg'), box = svg.getBoundingClientRect();"
                "svg.dispatchEvent(new WheelEvent('wheel', {deltaY: -120, clientX: box.x + 50, clientY: box.y + 50, cancelable: true, bubbles: true}))")
    browser.check(view() != zoomed, "the wheel changes nothing")
    browser.one("button[aria-label='show all']").click()
    browser.check(float(view().split()[2]) > float(zoomed.split()[2]), "fitting does not zoom out")

    search = browser.one("input[type=search]")
    search.send_keys("relu")
    browser.check(len(browser.all(".canvas .node.hit")) >= 1, "no box is marked")
    browser.check("match" in browser.one(".found").text, "matches are not counted")
    browser.one("button[data-key=text]").click()
    marks = browser.all(".lines mark")
    browser.check(len(marks) == 1 and marks[0].text == "relu", f"{len(marks)} marks in the text")
    browser.check(len(browser.all(".lines div")) >= 10, "the text lacks lines")


def check_long_graph(browser, function):
    browser.go(f"{function}/1/graphs")
    browser.one("button[data-key=captured]").click()
    drawn = len(browser.all(".canvas .node"))
    browser.check(200 < drawn < 300, f"{drawn} boxes of a long graph are drawn")
    browser.one("button[aria-label='later part']").click()
    browser.check(len(browser.all(".canvas .node.ghost")) == 1, "what another part defines is not shown")
    browser.one("input[type=search]").send_keys("%555:")
    browser.one("button[aria-label='next match']").click()
    browser.check(len(browser.all(".canvas .node.hit.at")) == 1, "a match in another part is not gone to")


def check_hostile(browser):
    browser.check(browser.run("return window.hacked === undefined"), "a text of the trace was run")
    browser.check(not browser.all("img") and not browser.all("#main b") and not browser.all("#nav b"), "a text of the trace became markup")
    browser.go("#overview")
    browser.check(EVIL in browser.one("#main").text, "a hostile name is not shown as it is")


def narrow(browser, function):
    browser.driver.set_window_size(800, 900)
    for place in ("#overview", f"{function}/1/graphs", f"{function}/1/memory", f"{function}/1/kernels"):
        browser.go(place)
        wide = browser.run("return document.documentElement.scrollWidth - document.documentElement.clientWidth")
        browser.check(wide <= 0, f"at 800 pixels {place} is {wide} wider than the window")


def missing_parts():
    missing = [] if shutil.which("chromedriver") else ["chromedriver"]
    if not (shutil.which("chromium") or shutil.which("chromium-browser")):
        missing.append("chromium")
    try:
        import selenium  # noqa: F401
    except ImportError:
        # Debian's package is for Debian's interpreter.
        if os.access(SYSTEM_PYTHON, os.X_OK) and os.path.realpath(sys.executable) != os.path.realpath(SYSTEM_PYTHON):
            os.execv(SYSTEM_PYTHON, [SYSTEM_PYTHON, *sys.argv])
        missing.append("selenium")
    return missing


def main():
    missing = missing_parts()
    if missing:
        print("skipped: no", ", no ".join(missing), "(Debian: chromium chromium-driver python3-selenium)")
        return SKIPPED
    with tempfile.TemporaryDirectory() as work:
        given = sys.argv[2] if len(sys.argv) > 2 else None
        if not given:
            with open(os.path.join(work, "trace-7.jsonl"), "w", encoding="utf-8") as out:
                out.writelines(json.dumps(event) + "\n" for event in events())
                out.write('{"e":"begin","t":')
        page = os.path.join(work, "page.html")
        subprocess.run([sys.argv[1], "report", given or work, "-o", page], check=True, stdout=subprocess.DEVNULL)
        browser = Browser()
        try:
            browser.driver.get("file://" + page)
            browser.check(wait_for(lambda: len(browser.all("#main h1")) == 1), "the page does not load")
            functions = check_pages(browser)
            if not given:
                check_graph(browser, functions[0])
                check_long_graph(browser, functions[0])
                check_hostile(browser)
            narrow(browser, functions[0])
            browser.check_console("at the end")
        finally:
            browser.driver.quit()
    print("all passed" if not browser.failures else f"{browser.failures} failed")
    return 1 if browser.failures else 0


if __name__ == "__main__":
    sys.exit(main())
