// Golden tests of partitions. A file testdata/<case>.graph holds a joint graph, a line "---", and the
// expected result: both graphs, what is saved, and the report. The comments "# policy: SaveAll", "# rule:
// net.layer1 recompute" and "# target: fuses" override defaults. With ANTEGRAD_UPDATE_GOLDEN=1 in the
// environment, the expected part is rewritten; review the diff.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <set>
#include <sstream>

#include "graph/golden.h"
#include "ir/text.h"
#include "ir/verify.h"
#include "partition/partition.h"

namespace antegrad::partition {
namespace {

Policy policy_named(const std::string& text) {
  std::istringstream words(text);
  std::string name;
  double number = 0;
  words >> name >> number;
  if (name == "SaveAll") return SaveAll{};
  if (name == "RecomputeAll") return RecomputeAll{};
  if (name == "bytes") return MemoryBudget::bytes(static_cast<int64_t>(number));
  if (name == "share") return MemoryBudget::fraction(number);
  EXPECT_EQ(name, "MinCut");
  return MinCut{};
}

struct Setup {
  Policy policy = MinCut{};
  std::vector<ScopeRule> rules;
  Target target;
};

Setup read_setup(const std::string& text) {
  Setup setup;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("# policy: ")) setup.policy = policy_named(line.substr(10));
    if (line == "# target: fuses") setup.target.fuses = true;
    if (!line.starts_with("# rule: ")) continue;
    std::istringstream words(line.substr(8));
    std::string scope, keep;
    words >> scope >> keep;
    setup.rules.push_back({scope, keep == "save" ? Keep::Save : Keep::Recompute});
  }
  return setup;
}

std::string describe(const Partition& parts) {
  std::string saved;
  for (const auto& one : parts.saved)
    saved += one.input >= 0 ? fmt::format(" input {}", one.input) : fmt::format(" output {}", one.output);
  return fmt::format("{}{}saved:{}\nbytes: {} saved, peak {} forward, {} backward\n{}",
                     ir::print(parts.forward), ir::print(parts.backward), saved, parts.saved_bytes,
                     parts.peak.forward, parts.peak.backward, print(parts.decisions));
}

/// Removes trailing blanks, which the table has.
std::string trimmed(const std::string& text) {
  std::string out;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  }
  return out;
}

class Golden : public ::testing::TestWithParam<std::string> {};

TEST_P(Golden, Graphs) {
  const auto path = std::filesystem::path(ANTEGRAD_SOURCE_DIR) / "src/partition/testdata" / GetParam();
  const auto text = read_text(path);
  const auto split = text.find("\n---\n");
  const auto input = text.substr(0, split == std::string::npos ? text.size() : split + 1);
  const auto setup = read_setup(input);
  const auto joint = ir::parse(input);
  ir::verify(joint);
  const auto parts = partition(joint, setup.policy, setup.rules, setup.target);
  ir::verify(parts.forward);
  ir::verify(parts.backward);
  EXPECT_EQ(ir::parse(ir::print(parts.forward)), parts.forward);
  EXPECT_EQ(ir::parse(ir::print(parts.backward)), parts.backward);
  const auto actual = trimmed(describe(parts));
  if (updating_golden()) {
    std::ofstream(path, std::ios::binary) << input << "---\n" << actual;
    return;
  }
  ASSERT_NE(split, std::string::npos) << "no line ---";
  EXPECT_EQ(actual, text.substr(split + 5));
}

std::set<std::string> cases() {
  std::set<std::string> out;
  for (const auto& entry : std::filesystem::directory_iterator(std::filesystem::path(ANTEGRAD_SOURCE_DIR) /
                                                               "src/partition/testdata"))
    if (entry.path().extension() == ".graph") out.insert(entry.path().filename().string());
  return out;
}

INSTANTIATE_TEST_SUITE_P(Partition, Golden, ::testing::ValuesIn(cases()),
                         [](const auto& info) { return info.param.substr(0, info.param.find('.')); });

}  // namespace
}  // namespace antegrad::partition
