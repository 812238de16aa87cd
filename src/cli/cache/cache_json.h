#pragma once
#include <string>

#include "cli/cache/cache_results.h"

namespace antegrad::cli {

/// Formats results as JSON for programs: one object, with names as in docs/cache-command.md. Bytes that are
/// not UTF-8 are replaced.
std::string json_of(const StatsResult& result);
std::string json_of(const ListResult& result);
std::string json_of(const ShowResult& result);
std::string json_of(const VerifyResult& result);
std::string json_of(const RemoveResult& result);
std::string json_of(const ExportResult& result);
std::string json_of(const ImportResult& result);
std::string json_of(const ExplainResult& result);

}  // namespace antegrad::cli
