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
  int64_t bad_lines = 0;               ///< that are no events: the last of a process that was killed
};

/// The traces in a directory, by name; or the one that is the file. Throws Error(Io) where there is none.
std::vector<TraceFile> read_traces(const std::string& path);

}  // namespace antegrad::cli
