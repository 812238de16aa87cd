#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "antegrad/error.h"
#include "cli/report/report_page.h"
#include "cli/report/trace_files.h"
#include "trace/trace.h"

namespace antegrad::cli {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

class ReportTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "antegrad_report_XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    directory_ = name;
  }
  void TearDown() override { fs::remove_all(directory_); }

  void write(const std::string& name, const std::string& text) const {
    std::ofstream(directory_ / name) << text;
  }
  std::vector<TraceFile> read() const { return read_traces(directory_.string()); }

  fs::path directory_;
};

/// Returns the data that the page contains for its script.
Json data_of(const std::string& page) {
  const std::string begin = R"(<script type="application/json" id="data">)";
  const auto from = page.find(begin) + begin.size();
  return Json::parse(page.substr(from, page.find("</script>", from) - from));
}

size_t occurrences(const std::string& text, const std::string& what) {
  size_t found = 0;
  for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++found;
  return found;
}

TEST_F(ReportTest, ReadsWhatTheSinkWrites) {
  trace::start(directory_.string());
  { const trace::Span span("capture", "f"); }
  trace::stop();
  const auto traces = read();
  ASSERT_EQ(traces.size(), 1u);
  ASSERT_EQ(traces[0].events.size(), 4u);
  EXPECT_TRUE(traces[0].closed);
  EXPECT_EQ(traces[0].events[1]["name"], "capture");
  EXPECT_EQ(traces[0].bad_lines, 0);
}

TEST_F(ReportTest, CountsLinesThatAreNoEvents) {
  write("trace-1.jsonl", "{\"e\":\"process\",\"pid\":1}\n[1]\nnonsense\n{\"e\":7}\n{\"e\":\"function\",\"na");
  write("other.jsonl", "{\"e\":\"process\"}\n");
  const auto traces = read();
  ASSERT_EQ(traces.size(), 1u);
  EXPECT_EQ(traces[0].events.size(), 1u);
  EXPECT_EQ(traces[0].bad_lines, 4);
}

TEST_F(ReportTest, SaysOfARunThatItEndedEarly) {
  const std::string first = "{\"e\":\"process\",\"pid\":1,\"closes\":true}\n";
  write("trace-1.jsonl", first);
  write("trace-2.jsonl", first + "{\"e\":\"closed\",\"t\":3}\n");
  write("trace-3.jsonl", "{\"e\":\"process\",\"pid\":1}\n");  // from a version that did not close traces
  const auto traces = read();
  ASSERT_EQ(traces.size(), 3u);
  EXPECT_FALSE(traces[0].closed);
  EXPECT_TRUE(traces[1].closed);
  EXPECT_TRUE(traces[2].closed);
  const auto data = data_of(report_page(traces, directory_.string()))["traces"];
  EXPECT_EQ(data[0]["not_closed"], "the run ended without closing its trace, or has not ended yet");
  EXPECT_FALSE(data[1].contains("not_closed"));
}

TEST_F(ReportTest, KeepsTheNewestTimesOfAPass) {
  write("trace-1.jsonl",
        "{\"e\":\"times\",\"f\":1,\"v\":1,\"pass\":\"forward\",\"runs\":1}\n"
        "{\"e\":\"times\",\"f\":1,\"v\":1,\"pass\":\"backward\",\"runs\":1}\n"
        "{\"e\":\"times\",\"f\":1,\"v\":1,\"pass\":\"forward\",\"runs\":20}\n");
  const auto events = read()[0].events;
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0]["runs"], 20);
}

TEST_F(ReportTest, SaysWhatIsMissing) {
  const auto text_of = [](const std::string& path) -> std::string {
    try {
      read_traces(path);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::Io);
      return error.what();
    }
    return "";
  };
  EXPECT_NE(text_of(directory_.string()).find("has no trace-*.jsonl. Run a program with ANTEGRAD_TRACE"),
            std::string::npos);
  EXPECT_NE(text_of((directory_ / "none").string()).find("cannot read"), std::string::npos);
}

TEST_F(ReportTest, ThePageIsSelfContainedAndItsDataIsNoMarkup) {
  const std::string evil = "</script><script>alert(1)</script><img src=x onerror=alert(2)><!--@SCRIPT@";
  write("trace-1.jsonl", Json({{"e", "function"}, {"f", 1}, {"name", evil}}).dump() + "\n");
  const auto page = report_page(read(), directory_.string());
  EXPECT_EQ(data_of(page)["traces"][0]["events"][0]["name"], evil);
  EXPECT_EQ(occurrences(page, "</script>"), 2u) << "the ends of its own two";
  EXPECT_EQ(occurrences(page, "<img"), 0u);
  EXPECT_EQ(occurrences(page, "src="), 1u) << "in the data only";
  EXPECT_EQ(occurrences(page, "http://") + occurrences(page, "https://"), 1u) << "the name of SVG";
  EXPECT_EQ(occurrences(page, "innerHTML"), 0u);
  EXPECT_EQ(occurrences(page, "@STYLE@") + occurrences(page, "@DATA@"), 0u);
}

TEST_F(ReportTest, TakesTextThatIsNoUtf8) {
  write("trace-1.jsonl", "{\"e\":\"function\",\"name\":\"\xff\"}\n{\"e\":\"function\",\"name\":\"ok\"}\n");
  EXPECT_NO_THROW(data_of(report_page(read(), "\xff")));
}

TEST_F(ReportTest, SpansBecomeChromeTraceEvents) {
  write("trace-1.jsonl",
        "{\"e\":\"process\",\"pid\":11,\"program\":\"p\",\"unix_us\":1000}\n"
        "{\"e\":\"function\",\"f\":3,\"name\":\"net\"}\n"
        "{\"e\":\"begin\",\"t\":5,\"tid\":1,\"id\":1,\"name\":\"make a version\",\"f\":3,\"v\":1}\n"
        "{\"e\":\"begin\",\"t\":7,\"tid\":1,\"id\":2,\"name\":\"pass\",\"detail\":\"dead_code\"}\n"
        "{\"e\":\"end\",\"t\":9,\"tid\":1,\"id\":2}\n"
        "{\"e\":\"end\",\"t\":20,\"tid\":1,\"id\":1}\n"
        "{\"e\":\"begin\",\"t\":30,\"tid\":2,\"id\":3,\"name\":\"capture\"}\n");
  write("trace-2.jsonl",
        "{\"e\":\"process\",\"pid\":12,\"unix_us\":1500}\n"
        "{\"e\":\"begin\",\"t\":1,\"tid\":1,\"id\":1,\"name\":\"capture\"}\n{\"e\":\"end\",\"t\":2,\"id\":1}"
        "\n");
  const auto json = Json::parse(chrome_trace(read()));
  std::vector<Json> spans;
  for (const auto& event : json["traceEvents"]) {
    const auto ph = event["ph"].get<std::string>();
    ASSERT_TRUE(ph == "X" || ph == "B" || ph == "M") << event;
    EXPECT_TRUE(event["pid"].is_number() && event["tid"].is_number() && event["name"].is_string());
    if (ph == "M") {
      EXPECT_TRUE(event["name"] == "process_name" || event["name"] == "thread_name");
      EXPECT_TRUE(event["args"]["name"].is_string());
      continue;
    }
    EXPECT_TRUE(event["ts"].is_number());
    EXPECT_EQ(event.contains("dur"), ph == "X");
    spans.push_back(event);
  }
  ASSERT_EQ(spans.size(), 4u);
  EXPECT_EQ(spans[0]["name"], "pass dead_code");
  EXPECT_EQ(spans[0]["ts"], 7);
  EXPECT_EQ(spans[0]["dur"], 2);
  EXPECT_EQ(spans[1]["dur"], 15);
  EXPECT_EQ(spans[1]["args"]["function"], "net");
  EXPECT_EQ(spans[2]["ph"], "B") << "never ended";
  EXPECT_EQ(spans[3]["ts"], 501) << "processes share a clock";
  EXPECT_EQ(spans[3]["pid"], 12);
}

}  // namespace
}  // namespace antegrad::cli
