#pragma once
#include <string>
#include <vector>

/// A record of what the compiler does, for `antegrad report` (docs/report.md). ANTEGRAD_TRACE=directory does
/// the same as start() without changing the program.
namespace antegrad::trace {

/// Writes what happens from now on into a file of its own in `directory`, which is made where it is missing.
/// A trace that is already being written ends. Never throws for reasons of I/O: problems() has what went
/// wrong, and the program goes on without a trace.
void start(const std::string& directory);
/// Ends the trace, where there is one.
void stop();

/// The file that is being written; "": none.
std::string file();
/// Why there is no trace, or only a part of one.
std::vector<std::string> problems();

}  // namespace antegrad::trace
