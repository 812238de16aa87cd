#pragma once
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace antegrad::cli {

/// The trace of one process.
struct TraceFile {
  std::string name;
  std::vector<nlohmann::json> events;  ///< objects, in order; only the latest "times" event of each pass
  bool closed = true;                  ///< false when the process is still running or was killed
  int64_t bad_lines = 0;  ///< lines that are not events, such as the last line of a killed process
};

/// Reads the traces in a directory, sorted by name, or a single file. Throws Error(Io) when there is none.
std::vector<TraceFile> read_traces(const std::string& path);

/// The note for a trace that is not closed.
constexpr const char* kNotClosed = "the run ended without closing its trace, or has not ended yet";

}  // namespace antegrad::cli
