#include "cli/cache/cache_commands.h"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <functional>
#include <iostream>
#include <map>
#include <tuple>

#include "antegrad/error.h"
#include "cache/directory/explain.h"
#include "cache/layers/bundle.h"
#include "cli/cache/cache_json.h"
#include "cli/cache/cache_tables.h"
#include "cli/errors.h"
#include "cli/files.h"
#include "cli/option_checks.h"
#include "cli/progress_bar.h"
#include "cli/text.h"
#include "toolchain/isa.h"

namespace antegrad::cli {
namespace {

/// The key fields whose values are known here, without LibTorch.
cache::System system_here() { return {{"isa", std::string(toolchain::isa_name(toolchain::detect_isa()))}}; }

/// The default limit of `list`.
constexpr uint64_t kListed = 20;

bool confirmed(const std::string& question) {
  fmt::print(stderr, "{} [y/N] ", question);
  std::string answer;
  std::getline(std::cin, answer);
  return answer == "y" || answer == "Y" || answer == "yes";
}

}  // namespace

CLI::App& CacheCommands::add(const std::string& name, const std::string& help, Run run) {
  auto& command = *group_->add_subcommand(name, help);
  command
      .add_option("--dir", place_.directory,
                  "the cache directory; by default $ANTEGRAD_CACHE_DIR,\n"
                  "$XDG_CACHE_HOME/antegrad or ~/.cache/antegrad")
      ->type_name("DIR")
      ->check(not_empty());
  command
      .add_option("--key-file", place_.key_file,
                  "the file with the secret of its MACs;\nby default $ANTEGRAD_CACHE_KEY_FILE, or none")
      ->type_name("FILE")
      ->check(not_empty());
  command.add_flag("--json", json_, "print JSON");
  command.callback([this, name, run] {
    chosen_ = "cache:" + name;
    run_ = run;
  });
  return command;
}

CacheCommands::CacheCommands(CLI::App& app)
    : group_(app.add_subcommand("cache", "inspect and maintain caches")) {
  using Self = CacheCommands;
  group_->require_subcommand(1);
  group_->footer(
      "Examples:\n"
      "  antegrad cache stats --kinds\n"
      "  antegrad cache list --limit 10\n"
      "  antegrad cache gc --size 1G\n"
      "  antegrad cache export bundle.agc && antegrad cache import --dir other bundle.agc\n"
      "\n"
      "Exit codes: 0 success; 1 failure, or damage was found; 2 wrong usage.");
  add("stats", "print the number and the size of the entries", &Self::stats)
      .add_flag("--kinds", kinds_, "also count each kind, which reads every entry");

  auto& list = add("list", "list the entries, the most recently used first", &Self::list);
  list.add_option("--kind", kind_, "only entries of this kind: function, code, kernel,\nsizes or fact")
      ->type_name("KIND")
      ->check(one_of({"function", "code", "kernel", "sizes", "fact"}));
  list.add_option("--name", name_, "only entries of functions of this name")->type_name("NAME");
  list.add_option("--limit", limit_,
                  "the most entries to list; 0: all.\nThe default is 20, and all with --json")
      ->type_name("N")
      ->check(whole_number());

  const std::string key_help = "the first digits of a key, at least 4, as list prints it";
  add("show", "print everything about the entries of a key", &Self::show)
      .add_option("KEY", key_, key_help)
      ->required()
      ->type_name("");
  add("verify", "check every entry; exit code 1 if one is damaged", &Self::verify);
  add("clear", "remove all entries", &Self::clear).add_flag("--yes", yes_, "do not ask for confirmation");
  add("gc", "remove unfinished files, and the least recently used entries beyond a size", &Self::gc)
      .add_option("--size", limit_bytes_,
                  "the size to keep, such as 500M or 2G; 0: no limit.\nThe default is 5G")
      ->transform(size_in_bytes())
      ->type_name("SIZE");

  add("export", "write all entries to one file", &Self::export_bundle)
      .add_option("FILE", file_, "the bundle to write")
      ->required()
      ->check(not_empty())
      ->type_name("");
  add("import", "import the entries of such a file", &Self::import_bundle)
      .add_option("FILE", file_, "a bundle; - reads standard input")
      ->required()
      ->type_name("");

  auto& explain = add("explain", "print what differs between two keys", &Self::explain);
  explain.add_option("KEY_A", key_, key_help)->required()->type_name("");
  explain.add_option("KEY_B", other_key_, "the same; by default the nearest older key")->type_name("");
}

bool CacheCommands::parsed() const { return run_ != nullptr; }

CommandOutput CacheCommands::run() { return (this->*run_)(); }

CacheView CacheCommands::open(Access access) const { return {chosen_, place_, access, limit_bytes_}; }

template <class Result>
CommandOutput CacheCommands::output(const Result& result, bool failed) const {
  return {json_ ? json_of(result) : table_of(result), failed ? 1 : 0};
}

CommandOutput CacheCommands::stats() {
  const auto cache = open(Access::Read);
  StatsResult result{cache.store().directory(), limit_bytes_, cache.now(), cache.store().stats(), {}};
  if (kinds_) {
    ProgressBar progress("stats");
    const auto entries = cache.entries();
    for (size_t i = 0; i < entries.size(); ++i) {
      const auto entry = cache.read(entries[i]);
      const auto failed = fmt::format("({})", cache::outcome_name(entry.outcome));
      auto& count = result.kinds[entry.outcome == cache::Outcome::Hit ? entry.label.kind : failed];
      ++count.entries;
      count.bytes += entries[i].bytes;
      progress(i + 1, entries.size());
    }
  }
  return output(result);
}

CommandOutput CacheCommands::list() {
  const auto cache = open(Access::Read);
  ListResult result{cache.now(), {}, 0, !kind_.empty() || !name_.empty()};
  const auto limit = limit_.value_or(json_ ? 0 : kListed);
  const auto entries = cache.entries();
  std::map<cache::Digest, int> entries_of_key;
  for (const auto& info : entries) ++entries_of_key[info.address.key];
  ProgressBar progress("list");
  for (size_t i = 0; i < entries.size(); ++i) {
    if (limit > 0 && result.entries.size() == limit) {
      result.more = entries.size() - i;
      break;
    }
    auto entry = cache.read(entries[i]);
    entry.shares_key = entries_of_key[entries[i].address.key] > 1;
    const bool wanted =
        (kind_.empty() || entry.label.kind == kind_) && (name_.empty() || entry.label.name == name_);
    if (wanted) result.entries.push_back(std::move(entry));
    progress(i + 1, entries.size());
  }
  return output(result);
}

CommandOutput CacheCommands::show() {
  const auto cache = open(Access::Read);
  ShowResult result{cache.now(), {}};
  for (const auto& info : cache.find(key_)) {
    const auto loaded = cache.store().get(info.address);
    if (loaded.outcome != cache::Outcome::Hit) {
      throw Error(ErrorCode::Io, chosen_,
                  fmt::format("{}: {}", cache::outcome_name(loaded.outcome), loaded.reason),
                  "Check all entries with antegrad cache verify");
    }
    ShownEntry shown{{info, loaded.outcome, {}, {}}, {}};
    if (auto label = cache::label_of(loaded.entry)) shown.entry.label = std::move(*label);
    for (const auto& [name, bytes] : loaded.entry.sections) shown.sections.emplace_back(name, bytes.size());
    result.entries.push_back(std::move(shown));
  }
  return output(result);
}

CommandOutput CacheCommands::verify() {
  const auto cache = open(Access::Read);
  ProgressBar progress("verify");
  VerifyResult result{cache.store().directory(), cache.store().verify(std::ref(progress))};
  return output(result, !result.report.bad.empty() || !result.report.problems.empty());
}

CommandOutput CacheCommands::clear() {
  const auto cache = open(Access::Change);
  const auto& directory = cache.store().directory();
  if (!yes_) {
    if (::isatty(STDIN_FILENO) != 1) {
      throw UsageError(chosen_, fmt::format("this would remove all entries of {}", directory),
                       "Add --yes to do it");
    }
    const auto count = cache.store().list().size();
    if (!confirmed(fmt::format("Remove {} entries of {}?", count, directory)))
      return {"nothing removed\n", 1};
  }
  RemoveResult result{directory, cache.store().clear()};
  return output(result, !result.removed.problems.empty());
}

CommandOutput CacheCommands::gc() {
  const auto cache = open(Access::Change);
  RemoveResult result{cache.store().directory(), cache.store().collect()};
  return output(result, !result.removed.problems.empty());
}

CommandOutput CacheCommands::export_bundle() {
  const auto cache = open(Access::Read);
  std::vector<cache::Address> addresses;
  for (const auto& info : cache.store().list()) addresses.push_back(info.address);
  ExportResult result{file_, 0, {}};
  std::string bytes;
  {
    ProgressBar progress("export");
    bytes = cache::write_bundle(cache.store(), addresses, cache.secret(), &result.report, std::ref(progress));
  }
  if (bytes.empty()) {
    throw Error(ErrorCode::Io, chosen_,
                fmt::format("{} has no entries that can be read", cache.store().directory()),
                "Run a compiled function first, or name another directory with --dir");
  }
  write_file(chosen_, file_, bytes);
  result.bytes = bytes.size();
  return output(result, result.report.gone > 0);
}

CommandOutput CacheCommands::import_bundle() {
  const auto bytes = read_file(file_);
  const auto cache = open(Access::Create);
  ProgressBar progress("import");
  ImportResult result{
      file_, cache::import_bundle(bytes, cache.store(), cache.secret(), system_here(), std::ref(progress))};
  if (!result.report.problem.empty()) {
    throw Error(ErrorCode::Io, chosen_,
                fmt::format("nothing is imported from {}: {}", file_, result.report.problem),
                "Export the bundle again, or copy it again");
  }
  return output(result, !result.report.complete());
}

CommandOutput CacheCommands::explain() {
  const auto cache = open(Access::Read);
  const auto first = cache.find_key(key_);
  cache::Key before = first.label.key, after;
  auto address_before = first.info.address, address_after = first.info.address;
  if (!other_key_.empty()) {
    const auto second = cache.find_key(other_key_);
    after = second.label.key;
    address_after = second.info.address;
  } else {
    const auto& [kind, name] = std::tie(first.label.kind, first.label.name);
    auto found = cache::nearest_key(cache.store(), first.label.key, kind, name, first.info.used);
    if (!found) found = cache::nearest_key(cache.store(), first.label.key, kind, name);
    if (!found) {
      throw Error(
          ErrorCode::InvalidArgument, chosen_,
          fmt::format("no other key is of kind \"{}\" and name \"{}\"", printable(kind), printable(name)),
          "Name a second key to compare with");
    }
    before = std::move(found->label.key);
    address_before = found->info.address;
    after = first.label.key;
  }
  auto& store = cache.store();
  auto differences =
      cache::difference(before, after, store.get(address_before).entry, store.get(address_after).entry);
  ExplainResult result{before.digest().hex(),
                       after.digest().hex(),
                       cache::equal_fields(before, after),
                       std::max(before.fields().size(), after.fields().size()),
                       differences,
                       cache::explain(before, after, differences)};
  return output(result);
}

}  // namespace antegrad::cli
