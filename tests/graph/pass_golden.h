#pragma once
// For tests of passes: golden files testdata/<pass>/<case>.graph contain the input, a line "---" and the
// expected output. With ANTEGRAD_UPDATE_GOLDEN=1 in the environment the expected output is rewritten; review
// the diff.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "graph/golden.h"
#include "ir/text.h"
#include "ir/verify.h"
#include "passes/pipeline.h"

namespace antegrad::passes {

/// Runs the pass on one input and checks that the result is a valid graph, that the pass reports correctly
/// whether it changed anything, and that a second run changes nothing.
inline std::string run_checked(const Pass& pass, const std::string& input) {
  auto graph = ir::parse(input);
  ir::verify(graph);
  const auto before = ir::print(graph);
  const bool changed = pass.run(graph);
  ir::verify(graph);
  const auto after = ir::print(graph);
  EXPECT_EQ(changed, before != after);
  EXPECT_FALSE(pass.run(graph)) << "the second run changed the graph to\n" << ir::print(graph);
  return after;
}

inline void check_golden_file(const Pass& pass, const std::filesystem::path& path) {
  SCOPED_TRACE(path.string());
  const auto text = read_text(path);
  const std::string separator = "---\n";
  const auto split = text.find("\n" + separator);
  const auto input = split == std::string::npos ? text : text.substr(0, split + 1);
  const auto actual = run_checked(pass, input);
  if (updating_golden()) {
    std::ofstream(path, std::ios::binary) << input << separator << actual;
    return;
  }
  ASSERT_NE(split, std::string::npos) << "no line ---";
  EXPECT_EQ(actual, text.substr(split + 1 + separator.size()));
}

/// Checks every file of testdata/<pass>.
inline void check_golden(std::string_view pass_name) {
  const auto folder = std::filesystem::path(ANTEGRAD_SOURCE_DIR) / "src/passes/testdata" / pass_name;
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.path().extension() == ".graph") files.push_back(entry.path());
  std::ranges::sort(files);
  ASSERT_FALSE(files.empty()) << folder;
  for (const auto& path : files) check_golden_file(find_pass(pass_name), path);
}

}  // namespace antegrad::passes
