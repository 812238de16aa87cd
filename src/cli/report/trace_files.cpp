#include "cli/report/trace_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <sstream>

#include "antegrad/error.h"
#include "cli/files.h"

namespace antegrad::cli {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr const char* kWayOut =
    "Run a program with ANTEGRAD_TRACE set to a directory, and name that directory";

bool is_trace(const fs::path& path) {
  return path.extension() == ".jsonl" && path.filename().string().rfind("trace-", 0) == 0;
}

std::vector<fs::path> files_in(const std::string& path) {
  std::error_code error;
  if (fs::is_regular_file(path, error)) return {path};
  std::vector<fs::path> found;
  for (fs::directory_iterator entry(path, error), end; !error && entry != end; entry.increment(error))
    if (is_trace(entry->path())) found.push_back(entry->path());
  if (error)
    throw Error(ErrorCode::Io, "report", fmt::format("cannot read \"{}\": {}", path, error.message()),
                kWayOut);
  if (found.empty())
    throw Error(ErrorCode::Io, "report", fmt::format("\"{}\" has no trace-*.jsonl", path), kWayOut);
  std::sort(found.begin(), found.end());
  return found;
}

/// Returns a key that is the same for "times" events of which only the latest is kept.
std::string times_key(const Json& event) {
  const auto field = [&](const char* name) {
    return event.contains(name) ? event[name].dump() : std::string();
  };
  return field("f") + '/' + field("v") + '/' + field("pass");
}

bool is_event(const Json& json) { return json.is_object() && json.contains("e") && json["e"].is_string(); }

TraceFile read_trace(const fs::path& path) {
  TraceFile file;
  file.name = path.filename().string();
  std::map<std::string, size_t> times;
  std::istringstream text(read_file(path.string()));
  for (std::string line; std::getline(text, line);) {
    auto event = Json::parse(line, nullptr, false);
    if (!is_event(event)) {
      ++file.bad_lines;
      continue;
    }
    if (event["e"] == "process") file.closed = event.value("closes", Json(false)) != Json(true);
    if (event["e"] == "closed") file.closed = true;
    if (event["e"] == "times") {
      const auto [known, is_new] = times.emplace(times_key(event), file.events.size());
      if (!is_new) {
        file.events[known->second] = std::move(event);
        continue;
      }
    }
    file.events.push_back(std::move(event));
  }
  return file;
}

}  // namespace

std::vector<TraceFile> read_traces(const std::string& path) {
  std::vector<TraceFile> out;
  for (const auto& file : files_in(path)) out.push_back(read_trace(file));
  if (std::all_of(out.begin(), out.end(), [](const TraceFile& file) { return file.events.empty(); }))
    throw Error(ErrorCode::Io, "report", fmt::format("\"{}\" has no event of a trace", path), kWayOut);
  return out;
}

}  // namespace antegrad::cli
