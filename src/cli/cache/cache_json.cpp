#include "cli/cache/cache_json.h"

#include <nlohmann/json.hpp>

namespace antegrad::cli {
namespace {

using Json = nlohmann::ordered_json;

std::string text_of(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

Json entry_json(const ListedEntry& entry) {
  Json out = {{"address", entry.info.address.to_text()},
              {"kind", entry.label.kind},
              {"name", entry.label.name},
              {"bytes", entry.info.bytes},
              {"used", entry.info.used},
              {"outcome", cache::outcome_name(entry.outcome)}};
  if (!entry.reason.empty()) out["reason"] = entry.reason;
  return out;
}

Json field_json(const cache::KeyField& field) {
  Json out = {{"name", field.name}, {"hash", field.hash.hex()}, {"length", field.length}};
  if (field.text) out["text"] = *field.text;
  return out;
}

Json counts_json(const std::map<std::string, uint64_t>& counts) {
  auto out = Json::array();
  for (const auto& [reason, count] : counts) out.push_back({{"reason", reason}, {"entries", count}});
  return out;
}

}  // namespace

std::string json_of(const StatsResult& result) {
  const auto& stats = result.stats;
  Json out = {{"directory", result.directory}, {"entries", stats.entries},
              {"bytes", stats.bytes},          {"limit_bytes", result.limit_bytes},
              {"leftovers", stats.leftovers},  {"strangers", stats.strangers},
              {"oldest", stats.oldest},        {"newest", stats.newest},
              {"problems", stats.problems}};
  for (const auto& [kind, count] : result.kinds) {
    out["kinds"][kind] = {{"entries", count.entries}, {"bytes", count.bytes}};
  }
  return text_of(out);
}

std::string json_of(const ListResult& result) {
  auto entries = Json::array();
  for (const auto& entry : result.entries) entries.push_back(entry_json(entry));
  return text_of({{"entries", std::move(entries)}, {"more", result.more}});
}

static Json shown_json(const ShownEntry& shown) {
  auto out = entry_json(shown.entry);
  auto facts = Json::array(), fields = Json::array(), sections = Json::array();
  for (const auto& [name, value] : shown.entry.label.facts)
    facts.push_back({{"name", name}, {"value", value}});
  for (const auto& field : shown.entry.label.key.fields()) fields.push_back(field_json(field));
  for (const auto& [name, bytes] : shown.sections) sections.push_back({{"name", name}, {"bytes", bytes}});
  out["facts"] = std::move(facts);
  out["key"] = std::move(fields);
  out["sections"] = std::move(sections);
  return out;
}

std::string json_of(const ShowResult& result) {
  if (result.entries.size() == 1) return text_of(shown_json(result.entries.front()));
  auto entries = Json::array();
  for (const auto& shown : result.entries) entries.push_back(shown_json(shown));
  return text_of({{"entries", std::move(entries)}});
}

std::string json_of(const VerifyResult& result) {
  auto bad = Json::array();
  for (const auto& entry : result.report.bad) {
    bad.push_back({{"address", entry.address.to_text()},
                   {"outcome", cache::outcome_name(entry.outcome)},
                   {"reason", entry.reason}});
  }
  return text_of({{"directory", result.directory},
                  {"good", result.report.good},
                  {"other_versions", result.report.other_versions},
                  {"bad", std::move(bad)},
                  {"leftovers", result.report.leftovers},
                  {"problems", result.report.problems}});
}

std::string json_of(const RemoveResult& result) {
  return text_of({{"directory", result.directory},
                  {"entries", result.removed.entries},
                  {"leftovers", result.removed.leftovers},
                  {"bytes", result.removed.bytes},
                  {"problems", result.removed.problems}});
}

std::string json_of(const ExportResult& result) {
  return text_of({{"file", result.file},
                  {"entries", result.report.entries},
                  {"gone", result.report.gone},
                  {"bytes", result.bytes}});
}

std::string json_of(const ImportResult& result) {
  const auto& report = result.report;
  return text_of({{"file", result.file},
                  {"problem", report.problem},
                  {"entries", report.entries},
                  {"imported", report.imported},
                  {"present", report.present},
                  {"elsewhere", counts_json(report.elsewhere)},
                  {"left_out", counts_json(report.left_out)}});
}

std::string json_of(const ExplainResult& result) {
  auto differences = Json::array();
  for (const auto& [name, text] : result.differences)
    differences.push_back({{"field", name}, {"diff", text}});
  return text_of({{"before", result.before},
                  {"after", result.after},
                  {"equal", result.equal},
                  {"fields", result.fields},
                  {"differences", std::move(differences)}});
}

}  // namespace antegrad::cli
