#include "trace/trace.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>

namespace antegrad::trace {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

class TraceTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "antegrad_trace_XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    directory_ = name;
  }
  void TearDown() override {
    stop();
    fs::remove_all(directory_);
  }

  std::vector<fs::path> files() const {
    std::vector<fs::path> out;
    for (const auto& entry : fs::directory_iterator(directory_)) out.push_back(entry.path());
    std::sort(out.begin(), out.end());
    return out;
  }
  static std::vector<Json> read(const fs::path& path) {
    std::vector<Json> out;
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);) out.push_back(Json::parse(line));
    return out;
  }

  fs::path directory_;
};

std::string json_string(std::string_view text) {
  std::string out;
  append_string(out, text);
  return out;
}

TEST(JsonTest, EscapesWhatWouldEndTheStringOrTheLine) {
  EXPECT_EQ(json_string("a\"b\\c\nd\te\x01"), R"("a\"b\\c\nd\te\u0001")");
  EXPECT_EQ(Json::parse(json_string("a\"b\\c\nd\te\x01\x7f")).get<std::string>(), "a\"b\\c\nd\te\x01\x7f");
}

TEST(JsonTest, KeepsUtf8AndReplacesOtherBytes) {
  EXPECT_EQ(json_string("grün → 𝄞"), "\"grün → 𝄞\"");
  for (const std::string bad : {"\x80", "\xC0\xAF", "\xED\xA0\x80", "\xE2\x82", "\xF5\x80\x80\x80", "\xFF"}) {
    const auto text = json_string("<" + bad + ">");
    EXPECT_NO_THROW(Json::parse(text)) << text;
    EXPECT_NE(text.find("\xEF\xBF\xBD"), std::string::npos);
  }
}

TEST(JsonTest, CutsWhatIsTooLong) {
  const auto text = json_string(std::string(kMostText + 1000, 'x'));
  EXPECT_LT(text.size(), kMostText + 100);
  EXPECT_NE(text.find("(cut)"), std::string::npos);
}

TEST(JsonTest, WritesNumbersListsAndObjects) {
  JsonObject inner;
  inner.add("flag", true).add("none", std::numeric_limits<double>::quiet_NaN());
  JsonObject object;
  object.add("inner", inner)
      .add("list", std::vector<int64_t>{1, -2})
      .add("half", 0.5)
      .add("empty", JsonObject());
  object.add("words", std::vector<std::string>{"a", "b\""});
  EXPECT_EQ(object.text(),
            R"({"inner":{"flag":true,"none":null},"list":[1,-2],"half":0.5,"empty":{},"words":["a","b\""]})");
}

TEST_F(TraceTest, IsOffUntilStarted) {
  EXPECT_FALSE(on());
  { const Span nothing("span"); }
  warn("kind", "text");
  EXPECT_TRUE(files().empty());
  EXPECT_EQ(file(), "");
}

TEST_F(TraceTest, WritesEventsWithTheirContext) {
  start((directory_ / "a" / "b").string());
  ASSERT_TRUE(on());
  const auto path = file();
  EXPECT_EQ(fs::path(path).filename(), fmt::format("trace-{}.jsonl", ::getpid()));
  {
    const In in({7, 2, "forward"});
    const Span outer("outer", "why");
    Event("version").with("guards", "s0 >= 2").send();
  }
  Event("end of it").send();
  stop();
  EXPECT_FALSE(on());
  const auto lines = read(path);
  ASSERT_EQ(lines.size(), 6u);
  EXPECT_EQ(lines[5]["e"], "closed");
  EXPECT_EQ(lines[0]["e"], "process");
  EXPECT_EQ(lines[0]["closes"], true);
  EXPECT_EQ(lines[0]["pid"], ::getpid());
  EXPECT_EQ(lines[0]["format"], 1);
  EXPECT_EQ(lines[1]["e"], "begin");
  EXPECT_EQ(lines[1]["name"], "outer");
  EXPECT_EQ(lines[1]["detail"], "why");
  EXPECT_EQ(lines[2]["guards"], "s0 >= 2");
  EXPECT_EQ(lines[2]["f"], 7);
  EXPECT_EQ(lines[2]["v"], 2);
  EXPECT_EQ(lines[2]["pass"], "forward");
  EXPECT_EQ(lines[3]["e"], "end");
  EXPECT_EQ(lines[3]["id"], lines[1]["id"]);
  EXPECT_LE(lines[1]["t"].get<int64_t>(), lines[3]["t"].get<int64_t>());
  EXPECT_FALSE(lines[4].contains("f"));
}

TEST_F(TraceTest, ThreadsDoNotMixLines) {
  start(directory_.string());
  constexpr int kThreads = 8, kEvents = 200;
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < kThreads; ++t)
      threads.emplace_back([t] {
        for (int i = 0; i < kEvents; ++i)
          Event("x").with("who", t * kEvents + i).with("text", std::string(i * 20, 'y')).send();
      });
  }
  std::set<int> seen, tids;
  for (const auto& line : read(file()))
    if (line["e"] == "x") {
      seen.insert(line["who"].get<int>());
      tids.insert(line["tid"].get<int>());
    }
  EXPECT_EQ(seen.size(), static_cast<size_t>(kThreads * kEvents));
  EXPECT_EQ(tids.size(), static_cast<size_t>(kThreads));
}

TEST_F(TraceTest, WhatWasWrittenSurvivesACrash) {
  const auto child = ::fork();
  if (child == 0) {
    start(directory_.string());
    for (int i = 0; i < 10; ++i) Event("x").with("i", i).send();
    ::kill(::getpid(), SIGKILL);
  }
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  ASSERT_EQ(files().size(), 1u);
  EXPECT_EQ(read(files()[0]).size(), 11u);
}

TEST_F(TraceTest, OneOfAProcessThatEndsByItselfIsClosed) {
  std::fflush(nullptr);
  const auto child = ::fork();
  if (child == 0) {
    start(directory_.string());
    Event("x").send();
    std::exit(0);
  }
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  ASSERT_EQ(files().size(), 1u);
  EXPECT_EQ(read(files()[0]).back()["e"], "closed");
}

TEST_F(TraceTest, AChildHasAFileOfItsOwn) {
  start(directory_.string());
  Event("parent").send();
  const auto child = ::fork();
  if (child == 0) {
    Event("child").send();
    ::_exit(0);
  }
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  Event("parent").send();
  ASSERT_EQ(files().size(), 2u);
  const auto own = read(file());
  const auto childs = read(directory_ / fmt::format("trace-{}.jsonl", child));
  ASSERT_EQ(own.size(), 3u);
  ASSERT_EQ(childs.size(), 2u);
  EXPECT_EQ(childs[0]["pid"], child);
  EXPECT_EQ(childs[1]["e"], "child");
}

TEST_F(TraceTest, ASecondTraceOfAProcessIsASecondFile) {
  start(directory_.string());
  start(directory_.string());
  EXPECT_EQ(files().size(), 2u);
}

TEST_F(TraceTest, ADirectoryThatCannotBeWrittenToIsAProblemNotAnError) {
  const auto before = problems().size();
  std::ofstream(directory_ / "file") << "x";
  start((directory_ / "file").string());
  EXPECT_FALSE(on());
  { const Span nothing("span"); }
  ASSERT_EQ(problems().size(), before + 1);
  EXPECT_NE(problems().back().find("cannot write to"), std::string::npos) << problems().back();
  EXPECT_NE(problems().back().find("Name a directory"), std::string::npos);
}

TEST_F(TraceTest, AFullDiskEndsTheTrace) {
  const auto child = ::fork();
  if (child == 0) {
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{4096, 4096};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    start(directory_.string());
    for (int i = 0; i < 10 && on(); ++i) Event("x").with("text", std::string(1000, 'y')).send();
    const auto found = problems();
    const bool said = !found.empty() && found.back().find("ends early") != std::string::npos;
    ::_exit(!on() && said ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace antegrad::trace
