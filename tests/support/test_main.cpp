#include <gtest/gtest.h>

#include <filesystem>
#include <string>

namespace {

std::string stem_of(const char* path) { return std::filesystem::path(path).stem().string(); }

/// Whether a program is named after a source file, or after its folder and its name.
bool names(const std::string& program, const std::filesystem::path& source) {
  const auto stem = source.stem().string();
  return program == stem || program == source.parent_path().filename().string() + "_" + stem;
}

/// Returns the tests of this program's source file (of all other files unless `own`) as a GoogleTest filter;
/// "" when there are none.
std::string tests_of(const std::string& program, bool own) {
  std::string filter;
  const auto& all = *::testing::UnitTest::GetInstance();
  for (int s = 0; s < all.total_test_suite_count(); ++s) {
    const auto& suite = *all.GetTestSuite(s);
    for (int t = 0; t < suite.total_test_count(); ++t) {
      const auto& test = *suite.GetTestInfo(t);
      if (names(program, test.file()) == own) filter += std::string(suite.name()) + "." + test.name() + ":";
    }
  }
  return filter;
}

/// Restricts a filter to the tests of one source file. A filter excludes what follows its "-".
std::string within(const std::string& filter, const std::string& program) {
  const auto own = tests_of(program, true), others = tests_of(program, false);
  if (own.empty() || others.empty()) return filter;
  if (filter == "*") return own;
  return filter + (filter.find('-') == std::string::npos ? "-" : ":") + others;
}

/// The SKIP_RETURN_CODE of the ctest entries: the summary lists the test as skipped.
constexpr int kSkipped = 77;

/// Whether a test was skipped because something is not installed: GTEST_SKIP() << "missing: NAME".
bool something_is_missing() {
  const auto& all = *::testing::UnitTest::GetInstance();
  for (int s = 0; s < all.total_test_suite_count(); ++s) {
    const auto& suite = *all.GetTestSuite(s);
    for (int t = 0; t < suite.total_test_count(); ++t) {
      const auto& result = *suite.GetTestInfo(t)->result();
      for (int p = 0; result.Skipped() && p < result.total_part_count(); ++p)
        if (std::string(result.GetTestPartResult(p).message()).find("missing: ") != std::string::npos)
          return true;
    }
  }
  return false;
}

}  // namespace

/// Several test files are compiled into one program with one symbolic link per file; a link's name selects
/// the tests that run.
int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  ::testing::GTEST_FLAG(filter) = within(::testing::GTEST_FLAG(filter), stem_of(argv[0]));
  const int status = RUN_ALL_TESTS();
  return status == 0 && something_is_missing() ? kSkipped : status;
}
