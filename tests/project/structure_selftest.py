#!/usr/bin/env python3
"""Breaks each rule of structure.py in a small temporary tree and expects its message."""
import os
import tempfile
import unittest

import cpp_text
import structure

MARK = "TO" + "DO"
GOOD = {
    "include/antegrad/error.h": "enum class ErrorCode {\n  Internal,  ///< a, b\n  Parse,\n};\n",
    "include/antegrad/options.h": """#include <string>
struct Options {
  enum class Unsupported { Error, Eager };
  Unsupported unsupported = Unsupported::Error;  ///< says what; happens
  std::map<std::string, std::vector<int>> limits{{"a", {1, 2}}};
  std::function<void(int)> hook;
  static Options from_environment();
  bool is_default() const { return !verify; }
  bool operator==(const Options&) const = default;
  bool verify = false, strict{};
  std::string name = std::string("a;b", 3);
};
""",
    "docs/errors.md": "# Errors\n\n## Internal\n\n### Example\n\n## Parse\n",
    "docs/options.md": "| field | what |\n| --- | --- |\n| `unsupported` | |\n| `limits` | |\n| `hook` | |\n| `verify` | |\n"
                       "| `strict` | |\n| `name` | |\n| `ANTEGRAD_VERIFY` | |\n",
    "docs/known-gaps.md": "## a-gap\nWhy.\n",
    "src/util/error.cpp": '#include "antegrad/error.h"\n#include <fmt/format.h>\n',
    "src/ir/graph.h": '#include "ir/types.h"\n#include "util/x.h"\n#include <vector>\n',
    "src/ir/types.h": "// #include <ATen/ATen.h>\n/* #include \"cli/main.h\" */\n",
    "src/util/x.h": "",
    "src/capture/rules/rules.h": '#include "ir/graph.h"\n#include <ATen/ATen.h>\n',
    "src/capture/rules/a.cpp": '#include "rules.h"\n',
    "src/compiler/env.cpp": 'auto v = getenv("ANTEGRAD_VERIFY");\n',
    "src/pch.h": "#include <ATen/ATen.h>\n",
    "build/release/x.cpp": "\n" * 600,
    ".deps/x.h": "\n" * 600,
    **{f"src/{folder}/README.md": "" for folder in structure.ORDER},
}


class StructureTest(unittest.TestCase):
    def run_tree(self, changes):
        self.reports = []
        with tempfile.TemporaryDirectory() as root:
            for path, text in {**GOOD, **changes}.items():
                if text is None:
                    continue
                full = os.path.join(root, path)
                os.makedirs(os.path.dirname(full), exist_ok=True)
                with open(full, "w", encoding="utf-8") as f:
                    f.write(text)
            return structure.problems(root, self.reports.append)

    def expect(self, changes, *parts):
        """Expects exactly one problem, whose message contains all the parts."""
        found = self.run_tree(changes)
        self.assertEqual(len(found), 1, found)
        for part in parts:
            self.assertIn(part, found[0])

    def test_good_tree_has_no_problem(self):
        self.assertEqual(self.run_tree({}), [])
        self.assertEqual(self.reports, [])

    def test_include_of_a_later_folder(self):
        self.expect({"src/util/x.h": '\n#include "ir/types.h"\n'}, "src/util/x.h:2", "ir comes after util")
        self.expect({"src/util/x.h": '\n#include <ir/types.h>\n'}, "src/util/x.h:2", "ir comes after util")
        self.expect({"src/aot/a_test.cpp": '#include "cli/missing.h"\n'}, "cli comes after aot")

    def test_include_of_a_later_folder_by_a_relative_path(self):
        self.expect({"src/util/x.h": '#include "../ir/types.h"\n'}, "ir comes after util")

    def test_folder_without_readme(self):
        self.expect({"src/ir/README.md": None}, "src/ir: no README.md")

    def test_long_architecture(self):
        self.expect({"ARCHITECTURE.md": "\n" * 61}, "ARCHITECTURE.md: more than 60 lines")

    def test_private_parts_of_libtorch(self):
        text = "template struct Members<&c10::StorageImpl::refuses_>;\n"
        self.expect({"src/engine/a.cpp": text}, "src/engine/a.cpp:1", "private parts of LibTorch")
        text = "struct Table final : c10::impl::PyInterpreterVTable {};\n"
        self.expect({"src/capture/a.cpp": text}, "src/capture/a.cpp:1", "private parts of LibTorch")
        self.expect({"src/engine/a.cpp": 'auto n = "N5torch8autograd4NodeE";\n'}, "src/engine/a.cpp:1")
        self.assertEqual(self.run_tree({"src/aten/a.cpp": text}), [])

    def test_statics_that_are_destroyed(self):
        self.expect({"src/ir/a.cpp": "int f() {\n  static const std::vector<int> all = {1};\n}\n"}, "src/ir/a.cpp:2", "static all")
        self.expect({"src/ir/a.cpp": "int f() {\n  static Table table;\n}\n"}, "static table is destroyed by exit()")
        self.assertEqual(self.run_tree({"src/ir/a.cpp": "int f() {\n  static auto& all = *new Table;\n  static int n = 0;\n"
                                                        "  static constexpr Table t;\n  static std::atomic<int> m{0};\n}\n"}), [])

    def test_unknown_folder(self):
        self.expect({"src/misc/a.h": ""}, "src/misc is not in the order")

    def test_quoted_include_that_is_not_ours(self):
        self.expect({"src/ir/a.cpp": '#include "fmt/format.h"\n'}, "src/ir/a.cpp:1", "foreign headers go in <>")

    def test_libtorch_in_a_folder_without_it(self):
        self.expect({"src/ir/a.cpp": "#include <c10/util/Half.h>\n"}, "src/ir/a.cpp", "includes LibTorch")
        self.expect({"src/cache/a.cpp": "#include <torch/torch.h>\n"}, "src/cache/a.cpp", "includes LibTorch")
        self.expect({"src/runtime/plan/a.cpp": "#include <c10/util/Half.h>\n"}, "src/runtime/plan includes LibTorch")

    def test_libtorch_through_a_header_of_another_folder(self):
        self.expect({"src/passes/a.cpp": '#include "capture/rules/rules.h"\n'},
                    "src/passes/a.cpp -> src/capture/rules/rules.h -> ATen/ATen.h")

    def test_include_cycles_end(self):
        self.assertEqual(self.run_tree({"src/ir/a.h": '#include "ir/b.h"\n', "src/ir/b.h": '#include "ir/a.h"\n'}), [])

    def test_file_size(self):
        self.expect({"tests/cpu/a_test.cpp": "\n" * 501}, "tests/cpu/a_test.cpp: 501 lines")
        self.expect({"scripts/a.py": "\n" * 501}, "scripts/a.py: 501 lines")
        self.assertEqual(self.run_tree({"src/ir/a.cpp": "\n" * 500, "src/ir/a.h": "\n" * 201}), [])
        self.assertEqual(self.reports, ["src/ir/a.cpp: 500 lines", "src/ir/a.h: 201 lines in a header"])

    def test_long_functions_are_reported(self):
        body = "  f(1);\n" * 60
        text = f"namespace a {{\nvoid short_one() {{}}\n\nint long_one(int x) {{\n{body}}}\n}}  // namespace a\n"
        python = "def long_two():\n" + "    f(1)\n" * 60
        self.assertEqual(self.run_tree({"src/ir/a.cpp": text, "scripts/a.py": python}), [])
        self.assertEqual(self.reports, ["scripts/a.py:1: 61 lines in long_two",
                                        "src/ir/a.cpp:4: 62 lines in int long_one(int x)"])

    def test_number_of_public_headers(self):
        most = structure.MAX_PUBLIC_HEADERS  # there are two already
        self.expect({f"include/antegrad/h{i}.h": "" for i in range(most - 1)}, f"{most + 1} headers, more than {most}")

    def test_public_headers_bring_no_other_library(self):
        for name in ("llvm/IR/Module.h", "boost/graph/graph.hpp", "nlohmann/json.hpp", "fmt/core.h"):
            self.expect({"include/antegrad/a.h": f"#include <{name}>\n"}, "include/antegrad/a.h:1", name)
        self.expect({"include/antegrad/a.h": '#include "ir/types.h"\n'}, "which is not installed")

    def test_markers_need_a_gap(self):
        self.expect({"src/ir/a.cpp": f"// {MARK}: later\n"}, "src/ir/a.cpp:1", f"{MARK} without a gap")
        self.expect({"scripts/a.sh": f"# {MARK}(other): later\n"}, "scripts/a.sh:1")
        self.expect({"CMakeLists.txt": f"\n# {'FIX' + 'ME'}\n"}, "CMakeLists.txt:2")
        self.assertEqual(self.run_tree({"src/ir/a.cpp": f"// {MARK}(a-gap): later\nint {MARK}S;\n"}), [])

    def test_scripts_name_no_host(self):
        self.expect({"scripts/a.sh": "pip install --index-url " + "https:" + "//example.org/simple torch\n"}, "names a host")
        self.expect({"Makefile": "fetch:\n\tcurl " + "http:" + "//example.org\n"}, "names a host")
        self.assertEqual(self.run_tree({"scripts/a.py": 'svg = "http:' + '//www.w3.org/2000/svg"\n'}), [])

    def test_error_codes_and_their_page(self):
        self.expect({"docs/errors.md": "## Internal\n"}, "ErrorCode Parse is not documented")
        self.expect({"docs/errors.md": "## Internal\n## Parse\n## Gone\n"}, "Gone is documented, but")
        self.expect({"docs/errors.md": None}, "docs/errors.md: missing")

    def test_options_and_their_page(self):
        page = GOOD["docs/options.md"]
        self.expect({"docs/options.md": page.replace("| `hook` | |\n", "")}, "Options hook is not documented")
        self.expect({"docs/options.md": page + "| `gone` | |\n"}, "gone is documented, but")
        self.expect({"include/antegrad/options.h": "struct Other {};\n"}, "no field of Options found")

    def test_environment_variables_are_documented(self):
        self.expect({"src/compiler/a.cpp": 'getenv("ANTEGRAD_SECRET");\n'}, "ANTEGRAD_SECRET of src/compiler/a.cpp")


class CppTextTest(unittest.TestCase):
    def test_functions(self):
        text = '''struct S {
  explicit S(int x) : x_(x) {}
  int get() const { return x_; }
  std::vector<int> v{1, 2};
};
TEST(Suite, Name) {
  run([&](int a) {
    if (a) { go("}"); }
  });
  for (int i = 0; i < 3; ++i) {
    go('{');
  }
}
const int table[] = {f(1), f(2)};
'''
        found = [(line, length, head) for line, length, head in cpp_text.functions(text)]
        self.assertEqual(found, [(2, 1, "explicit S(int x) : x_(x)"), (3, 1, "int get() const"),
                                 (6, 8, "TEST(Suite, Name)")])

    def test_enumerators(self):
        self.assertEqual(cpp_text.enumerators("enum class E : int { A = 1, B, C = 4 };", "E"), ["A", "B", "C"])
        self.assertEqual(cpp_text.enumerators("enum class E { A, };", "E"), ["A"])
        self.assertIsNone(cpp_text.enumerators("enum class E { A };", "F"))

    def test_struct_fields(self):
        self.assertEqual(cpp_text.struct_fields(GOOD["include/antegrad/options.h"], "Options"),
                         ["unsupported", "limits", "hook", "verify", "strict", "name"])


if __name__ == "__main__":
    unittest.main()
