#include "cache/format/line_diff.h"

#include <gtest/gtest.h>

namespace antegrad::cache {
namespace {

TEST(LineDiff, NothingForEqualTexts) {
  EXPECT_EQ(line_diff("", ""), "");
  EXPECT_EQ(line_diff("a\nb\n", "a\nb\n"), "");
}

TEST(LineDiff, OnlyWhatDiffers) {
  EXPECT_EQ(line_diff("a\nb\nc\n", "a\nx\nc\n"), "@ line 2\n- b\n+ x\n");
  EXPECT_EQ(line_diff("a\nb\n", "a\nnew\nb\n"), "@ line 2\n+ new\n");
  EXPECT_EQ(line_diff("a\nold\nb\n", "a\nb\n"), "@ line 2\n- old\n");
  EXPECT_EQ(line_diff("", "a\n"), "@ line 1\n+ a\n");
}

TEST(LineDiff, SeveralPlaces) {
  EXPECT_EQ(line_diff("1\n2\n3\n4\n5\n6\n7\n", "1\nX\n3\n4\n5\nY\n7\n"),
            "@ line 2\n- 2\n+ X\n@ line 6\n- 6\n+ Y\n");
}

TEST(LineDiff, MovedLines) {
  EXPECT_EQ(line_diff("a\nb\nc\nd\n", "b\nc\na\nd\n"), "@ line 1\n- a\n@ line 4\n+ a\n");
}

TEST(LineDiff, LineBreakAtTheEnd) {
  EXPECT_EQ(line_diff("a\n", "a"), "one of them ends in a line break, the other does not\n");
}

TEST(LineDiff, LongDifferencesAreCut) {
  std::string before, after;
  for (int i = 0; i < 50; ++i) before += "old " + std::to_string(i) + "\n";
  for (int i = 0; i < 50; ++i) after += "new " + std::to_string(i) + "\n";
  const auto text = line_diff(before, after, 3);
  EXPECT_EQ(text, "@ line 1\n- old 0\n- old 1\n- old 2\n… 97 more lines\n");
}

/// Far too many pairs of lines to compare all of them.
TEST(LineDiff, VeryLongTexts) {
  std::string before, after;
  for (int i = 0; i < 20000; ++i) {
    before += "line " + std::to_string(i) + "\n";
    after += "line " + std::to_string(i + (i > 100 && i < 19000)) + "\n";
  }
  const auto text = line_diff(before, after);
  EXPECT_TRUE(text.starts_with("@ line 102\n- line 101\n- line 102\n")) << text.substr(0, 200);
  EXPECT_NE(text.find("more lines\n"), std::string::npos);
}

}  // namespace
}  // namespace antegrad::cache
