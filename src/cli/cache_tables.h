#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cli/cache_results.h"

namespace antegrad::cli {

/// Results as text for people.
std::string table_of(const StatsResult& result);
std::string table_of(const ListResult& result);
std::string table_of(const ShowResult& result);
std::string table_of(const VerifyResult& result);
std::string table_of(const RemoveResult& result);
std::string table_of(const ExportResult& result);
std::string table_of(const ImportResult& result);
std::string table_of(const ExplainResult& result);

/// "512 B", "1.5 KiB", "5.0 GiB".
std::string size_text(uint64_t bytes);
/// "12 s", "5 min", "3 h", "40 d"; "in the future" for negative ones.
std::string age_text(int64_t seconds);
/// Entries may come from anywhere: control characters but line breaks and tabs become "?", so that nobody
/// writes to the terminal through them.
std::string printable(std::string_view text);

}  // namespace antegrad::cli
