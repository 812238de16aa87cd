#include <gtest/gtest.h>

#include <filesystem>
#include <string>

namespace {

std::string stem_of(const char* path) { return std::filesystem::path(path).stem().string(); }

/// Whether a program's name is that of a source, or of its folder and of it.
bool names(const std::string& program, const std::filesystem::path& source) {
  const auto stem = source.stem().string();
  return program == stem || program == source.parent_path().filename().string() + "_" + stem;
}

/// The tests of one source, as a filter; "": there are none.
std::string tests_of(const std::string& program) {
  std::string filter;
  const auto& all = *::testing::UnitTest::GetInstance();
  for (int s = 0; s < all.total_test_suite_count(); ++s) {
    const auto& suite = *all.GetTestSuite(s);
    for (int t = 0; t < suite.total_test_count(); ++t) {
      const auto& test = *suite.GetTestInfo(t);
      if (names(program, test.file())) filter += std::string(suite.name()) + "." + test.name() + ":";
    }
  }
  return filter;
}

}  // namespace

/// A program that holds the tests of several sources has the name of each; it runs those it is called by.
int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  if (::testing::GTEST_FLAG(filter) == "*")
    if (const auto own = tests_of(stem_of(argv[0])); !own.empty()) ::testing::GTEST_FLAG(filter) = own;
  return RUN_ALL_TESTS();
}
