#pragma once
#include <string>

#include "cli/report/trace_files.h"

namespace antegrad::cli {

/// One HTML page that needs nothing but itself. `directory`: shown as where the traces are from. What traces
/// say is data of the page, never markup.
std::string report_page(const std::vector<TraceFile>& traces, const std::string& directory);

/// The spans in the Trace Event Format that Perfetto and chrome://tracing read.
std::string chrome_trace(const std::vector<TraceFile>& traces);

}  // namespace antegrad::cli
