#include "cli/cache/cache_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <tuple>

#include "antegrad/error.h"
#include "cache/directory/local_store.h"
#include "cli/environment.h"
#include "cli/errors.h"
#include "cli/text.h"

namespace antegrad::cli {
namespace {

constexpr size_t kMinDigits = 4;
constexpr size_t kMaxCandidates = 8;

std::string directory_of(const CachePlace& place) {
  if (!place.directory.empty()) return place.directory;
  return cache::default_directory(
      {environment("ANTEGRAD_CACHE_DIR"), environment("XDG_CACHE_HOME"), environment("HOME")});
}

std::shared_ptr<const cache::Secret> secret_of(const std::string& where, const CachePlace& place) {
  const auto file = place.key_file.empty() ? environment("ANTEGRAD_CACHE_KEY_FILE") : place.key_file;
  if (file.empty()) return nullptr;
  cache::FileSystem files;
  auto read = cache::read_key_file(files, file);
  if (read.secret) return std::move(read.secret);
  throw Error(ErrorCode::Io, where, read.reason, "Name another file with --key-file, or correct this one");
}

/// The prefix of an address: digits of the key and, after a "-", digits of the variant.
struct Beginning {
  explicit Beginning(std::string_view text) {
    const auto dash = text.find('-');
    key = lower(text.substr(0, dash));
    variant = dash == text.npos ? std::string() : lower(text.substr(dash + 1));
    const auto is_digits = [](const std::string& digits) {
      return std::all_of(digits.begin(), digits.end(), [](unsigned char c) { return std::isxdigit(c) != 0; });
    };
    is_one = key.size() >= kMinDigits && is_digits(key) && is_digits(variant);
  }

  bool fits(const cache::Address& address) const {
    const auto text = address.to_text();
    return text.starts_with(key) && text.substr(text.find('-') + 1).starts_with(variant);
  }

  static std::string lower(std::string_view text) {
    std::string out(text);
    for (auto& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return out;
  }

  std::string key, variant;
  bool is_one = false;
};

}  // namespace

CacheView::CacheView(std::string where, const CachePlace& place, Access access, uint64_t limit_bytes)
    : where_(std::move(where)), secret_(secret_of(where_, place)) {
  cache::LocalSettings settings;
  settings.directory = directory_of(place);
  settings.limit_bytes = limit_bytes;
  settings.read_only = access == Access::Read;
  // Opening a store for writing creates its directory, which only an import may do.
  std::error_code ignored;
  if (access != Access::Create && !settings.directory.empty() &&
      !std::filesystem::exists(std::filesystem::symlink_status(settings.directory, ignored))) {
    throw Error(ErrorCode::Io, where_, fmt::format("there is no cache in {}", settings.directory),
                "Name its directory with --dir, or run a compiled function first");
  }
  auto opened = cache::open_local_store(settings, secret_, std::make_shared<cache::FileSystem>());
  if (!opened.store) throw Error(ErrorCode::Io, where_, opened.reason, "Name a directory with --dir");
  store_ = std::move(opened.store);
}

int64_t CacheView::now() const { return cache::FileSystem().now(); }

std::vector<cache::EntryInfo> CacheView::entries() const {
  auto out = store_->list();
  std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) {
    return std::tie(b.used, b.nanoseconds, a.address) < std::tie(a.used, a.nanoseconds, b.address);
  });
  return out;
}

ListedEntry CacheView::read(const cache::EntryInfo& info) const {
  auto loaded = store_->get(info.address);
  auto label = cache::label_of(loaded.entry);
  return {info, loaded.outcome, std::move(loaded.reason), label ? std::move(*label) : cache::Label{}};
}

std::vector<cache::EntryInfo> CacheView::matching(const std::string& beginning) const {
  const Beginning digits(beginning);
  if (!digits.is_one) {
    throw UsageError(where_, fmt::format("\"{}\" is not the beginning of a key", one_line(beginning)),
                     fmt::format("Give {} or more hexadecimal digits, as list prints them", kMinDigits));
  }
  auto out = entries();
  std::erase_if(out, [&](const auto& info) { return !digits.fits(info.address); });
  if (out.empty()) {
    throw Error(ErrorCode::InvalidArgument, where_,
                fmt::format("no key in {} begins with {}", store_->directory(), beginning),
                "antegrad cache list prints the keys");
  }
  return out;
}

void CacheView::ambiguous(const std::string& beginning, const std::vector<cache::EntryInfo>& found) const {
  std::string candidates;
  for (size_t i = 0; i < std::min(found.size(), kMaxCandidates); ++i) {
    candidates += (i > 0 ? ", " : "") + found[i].address.to_text();
  }
  if (found.size() > kMaxCandidates) candidates += ", …";
  throw Error(
      ErrorCode::InvalidArgument, where_,
      fmt::format("{} entries of several keys begin with {}: {}", found.size(), beginning, candidates),
      "Give more digits");
}

std::vector<cache::EntryInfo> CacheView::find(const std::string& beginning) const {
  auto found = matching(beginning);
  const auto& key = found.front().address.key;
  if (std::any_of(found.begin(), found.end(), [&](const auto& info) { return info.address.key != key; })) {
    ambiguous(beginning, found);
  }
  return found;
}

ListedEntry CacheView::find_key(const std::string& beginning) const {
  const auto found = find(beginning);
  auto entry = read(found.front());
  if (entry.outcome == cache::Outcome::Hit && !entry.label.kind.empty()) return entry;
  throw Error(ErrorCode::Io, where_,
              entry.reason.empty() ? fmt::format("entry {} has no label", found.front().address.to_text())
                                   : entry.reason,
              "Check all entries with antegrad cache verify");
}

}  // namespace antegrad::cli
