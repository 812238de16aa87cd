#pragma once
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace antegrad::cli {

/// What one process has written.
struct TraceFile {
  std::string name;
  std::vector<nlohmann::json> events;  ///< objects, in order; of the times of a pass only the newest
  bool closed = true;                  ///< false: the process has not ended it, or died before it could
  int64_t bad_lines = 0;               ///< that are no events: the last of a process that was killed
};

/// The traces in a directory, by name; or the one that is the file. Throws Error(Io) where there is none.
std::vector<TraceFile> read_traces(const std::string& path);

/// What to say of one that is not closed.
constexpr const char* kNotClosed = "the run ended without closing its trace, or has not ended yet";

}  // namespace antegrad::cli
