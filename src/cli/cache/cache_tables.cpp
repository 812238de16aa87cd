#include "cli/cache/cache_tables.h"

#include <fmt/format.h>

#include "cli/text.h"

namespace antegrad::cli {
namespace {

constexpr size_t kDigits = 12;
constexpr size_t kShortText = 60;

std::string kind_of(const ListedEntry& entry) {
  if (entry.outcome != cache::Outcome::Hit) return fmt::format("({})", cache::outcome_name(entry.outcome));
  return entry.label.kind.empty() ? "(no label)" : one_line(entry.label.kind);
}

/// Returns as many digits as `show` needs to find the entry.
std::string key_text(const ListedEntry& entry) {
  const auto text = entry.info.address.to_text();
  return text.substr(0, kDigits) + (entry.shares_key ? text.substr(text.find('-')) : std::string());
}

std::string problems_text(const std::vector<std::string>& problems) {
  std::string out;
  for (const auto& problem : problems) out += fmt::format("problem: {}\n", one_line(problem));
  return out;
}

std::string field_text(const cache::KeyField& field) {
  if (!field.text || field.text->size() > kShortText) return {};
  return field.text->find('\n') == std::string::npos ? one_line(*field.text) : std::string();
}

/// Returns a heading with indented lines below it; empty when there are none.
std::string part(std::string_view heading, const std::vector<Row>& rows, const std::vector<size_t>& right) {
  if (rows.empty()) return {};
  std::vector<Row> indented;
  for (auto row : rows) {
    row[0] = "  " + row[0];
    indented.push_back(std::move(row));
  }
  return fmt::format("\n{}\n{}", heading, columns(indented, right));
}

}  // namespace

std::string table_of(const StatsResult& result) {
  const auto& stats = result.stats;
  std::vector<Row> rows = {
      {"directory", one_line(result.directory)},
      {"entries", std::to_string(stats.entries)},
      {"on disk", fmt::format("{} of {}", size_text(stats.bytes), size_text(result.limit_bytes))}};
  if (stats.entries > 0) {
    rows.push_back({"most recent use", age_text(result.now - stats.newest) + " ago"});
    rows.push_back({"least recent use", age_text(result.now - stats.oldest) + " ago"});
  }
  if (stats.leftovers > 0) rows.push_back({"unfinished files", std::to_string(stats.leftovers)});
  if (stats.strangers > 0) rows.push_back({"files of others", std::to_string(stats.strangers)});
  std::vector<Row> kinds;
  for (const auto& [kind, count] : result.kinds) {
    kinds.push_back({one_line(kind), std::to_string(count.entries), size_text(count.bytes)});
  }
  return columns(rows, {}) + part("kinds", kinds, {1, 2}) + problems_text(stats.problems);
}

std::string table_of(const ListResult& result) {
  std::vector<Row> rows = {{"kind", "name", "size", "used", "key"}};
  for (const auto& entry : result.entries) {
    rows.push_back({kind_of(entry), one_line(entry.label.name), size_text(entry.info.bytes),
                    age_text(result.now - entry.info.used), key_text(entry)});
  }
  auto out = result.entries.empty() ? std::string("no entries\n") : columns(rows, {2, 3});
  if (result.more > 0)
    out += fmt::format("{} more {} not {}, used longer ago; --limit 0 lists all\n", result.more,
                       result.more == 1 ? "entry was" : "entries were",
                       result.filtered ? "looked at" : "listed");
  return out;
}

static std::string shown_text(const ShownEntry& shown, int64_t now) {
  const auto& [info, outcome, reason, label, shares_key] = shown.entry;
  std::vector<Row> facts, sections, fields;
  for (const auto& [name, value] : label.facts) facts.push_back({one_line(name), one_line(value)});
  for (const auto& [name, bytes] : shown.sections) sections.push_back({one_line(name), size_text(bytes)});
  for (const auto& field : label.key.fields()) {
    fields.push_back({one_line(field.name), field.hash.hex().substr(0, kDigits), size_text(field.length),
                      field_text(field)});
  }
  return columns({{"address", info.address.to_text()},
                  {"kind", kind_of(shown.entry)},
                  {"name", one_line(label.name)},
                  {"size", size_text(info.bytes)},
                  {"used", age_text(now - info.used) + " ago"}},
                 {}) +
         part("facts", facts, {}) + part("key", fields, {2}) + part("sections", sections, {1});
}

std::string table_of(const ShowResult& result) {
  std::string out;
  for (const auto& shown : result.entries) out += (out.empty() ? "" : "\n") + shown_text(shown, result.now);
  return out;
}

std::string table_of(const VerifyResult& result) {
  const auto& report = result.report;
  std::vector<Row> rows;
  for (const auto& bad : report.bad) {
    rows.push_back({std::string(cache::outcome_name(bad.outcome)), bad.address.to_text().substr(0, kDigits),
                    one_line(bad.reason)});
  }
  auto out = fmt::format("{} entries are good\n", report.good);
  if (report.other_versions > 0) {
    out += fmt::format("{} are of other versions of antegrad\n", report.other_versions);
  }
  if (report.leftovers > 0) out += fmt::format("{} unfinished files\n", report.leftovers);
  if (!rows.empty()) out += fmt::format("{} entries are bad", rows.size());
  return out + part("", rows, {}) + problems_text(report.problems);
}

std::string table_of(const RemoveResult& result) {
  const auto& removed = result.removed;
  return fmt::format("removed {} entries and {} unfinished files: {}\n", removed.entries, removed.leftovers,
                     size_text(removed.bytes)) +
         problems_text(removed.problems);
}

std::string table_of(const ExportResult& result) {
  auto out = fmt::format("{} entries written to {}: {}\n", result.report.entries, one_line(result.file),
                         size_text(result.bytes));
  if (result.report.gone > 0) {
    out += fmt::format("{} left out: damaged, not trusted or gone\n", result.report.gone);
  }
  return out;
}

std::string table_of(const ImportResult& result) { return printable(cache::to_text(result.report)); }

std::string table_of(const ExplainResult& result) {
  return printable(fmt::format("- {}\n+ {}\n{}", result.before, result.after, result.text));
}

}  // namespace antegrad::cli
