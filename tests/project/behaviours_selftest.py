#!/usr/bin/env python3
"""Tests scripts/behaviours.py on a small temporary tree, and checks that the real list and its exceptions agree."""
import os
import sys
import tempfile
import unittest

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
sys.path.insert(0, os.path.join(ROOT, "scripts"))
import behaviours  # noqa: E402

FILES = {
    "docs/behaviours.txt": "AAA-01\tfirst & only\nAAA-02\tfirst & only\nAAA-03\tfirst & only\nBBB-01\tsecond\n"
                           "BBB-02\tsecond\nBBB-101\tsecond\n",
    "docs/behaviours-skipped.md": "| id | why |\n| --- | --- |\n| AAA-03 | no such thing in C++ |\n\n"
                                  "## Missing\n\n| id | for want of what |\n| --- | --- |\n| BBB-02 | time |\n",
    "tests/cpu/a_test.cpp": "// AAA-01, BBB-101; not XAAA-02 nor AAA-0201\n// AAA-99 is a slip, UTF-16 is none\n",
    "src/ir/b_test.cpp": "TEST(Ir, names_BBB_02_and_nothing_else) {}\n",
    "src/ir/b.cpp": "// AAA-02 outside of a test does not count\n",
    "tests/project/sample_selftest.py": "# BBB-01 in a sample does not count\n",
}


class BehavioursTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        for path, text in FILES.items():
            full = os.path.join(self.folder.name, path)
            os.makedirs(os.path.dirname(full), exist_ok=True)
            with open(full, "w", encoding="utf-8") as f:
                f.write(text)

    def test_counts_and_open_rows(self):
        lines = [" ".join(line.split()) for line in behaviours.report(self.folder.name).splitlines()]
        self.assertEqual(lines, ["section covered skipped missing total", "first & only 1 1 1 3", "second 2 0 1 3",
                                 "all 3 1 2 6", "",
                                 "no test names", "first & only: AAA-02", "second: BBB-01",
                                 "not in the list: AAA-99 in tests/cpu/a_test.cpp",
                                 "left out but named by a test: BBB-02 in src/ir/b_test.cpp"])

    def test_one_section(self):
        text = behaviours.report(self.folder.name, "second")
        self.assertIn("second: BBB-01", text)
        self.assertNotIn("AAA-02", text)

    def test_unknown_section(self):
        with self.assertRaisesRegex(SystemExit, "no section 'third'; there are: first & only, second"):
            behaviours.report(self.folder.name, "third")

    def test_the_real_list(self):
        rows = behaviours.rows(ROOT)
        self.assertEqual(len(rows), 340)
        skipped, missing = behaviours.left_out(ROOT)
        self.assertTrue(skipped and missing)
        self.assertEqual([row for row in {**skipped, **missing} if row not in rows], [])
        found = behaviours.named(ROOT)
        self.assertEqual([row for row in {**skipped, **missing} if row in found], [])


if __name__ == "__main__":
    unittest.main()
