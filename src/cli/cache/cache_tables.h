#pragma once
#include <string>

#include "cli/cache/cache_results.h"

namespace antegrad::cli {

/// Formats results as text for people.
std::string table_of(const StatsResult& result);
std::string table_of(const ListResult& result);
std::string table_of(const ShowResult& result);
std::string table_of(const VerifyResult& result);
std::string table_of(const RemoveResult& result);
std::string table_of(const ExportResult& result);
std::string table_of(const ImportResult& result);
std::string table_of(const ExplainResult& result);

}  // namespace antegrad::cli
