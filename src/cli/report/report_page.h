#pragma once
#include <string>

#include "cli/report/trace_files.h"

namespace antegrad::cli {

/// Returns a self-contained HTML page. `directory` is shown as the source of the traces. Contents of traces
/// are data of the page, never markup.
std::string report_page(const std::vector<TraceFile>& traces, const std::string& directory);

/// Returns the spans in the Trace Event Format for Perfetto and chrome://tracing.
std::string chrome_trace(const std::vector<TraceFile>& traces);

}  // namespace antegrad::cli
