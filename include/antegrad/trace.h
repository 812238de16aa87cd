#pragma once
#include <string>
#include <vector>

/// Traces of the compiler's work, for `antegrad report` (docs/report.md). ANTEGRAD_TRACE=directory has the
/// effect of start() without a change to the program.
namespace antegrad::trace {

/// Starts writing events to a new file in `directory`, which is created if missing. Ends the trace that is
/// being written, if any. I/O errors never throw: problems() lists them, and the program continues without a
/// trace.
void start(const std::string& directory);
/// Ends the trace, if there is one.
void stop();

/// Returns the file that is being written; empty when there is none.
std::string file();
/// Returns why there is no trace, or only a part of one.
std::vector<std::string> problems();

}  // namespace antegrad::trace
