#include "cache/layers/bundle.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "cache/format/label.h"
#include "cache/format/wire.h"

namespace antegrad::cache {
namespace {

constexpr std::string_view kMagic = "AGBUNDL\n";
constexpr uint64_t kHead = 8 + 4 + 4;
constexpr uint64_t kDigestBytes = 32;
constexpr uint64_t kMinItem = 32 + 8 + 8;
constexpr size_t kHashDigits = 12;
constexpr size_t kMaxShownText = 80;

struct Item {
  Address address;
  std::string_view bytes;
};

void write_item(ByteWriter& out, const Address& address, const std::string& bytes) {
  out.digest(address.key);
  out.u64(address.variant);
  out.u64(bytes.size());
  out.raw(bytes);
}

/// Fills `items`, which point into `bytes`; returns the reason when the bytes are not a bundle.
std::string read_items(std::string_view bytes, std::vector<Item>& items) {
  ByteReader in(bytes);
  if (bytes.empty()) return "it is empty";
  if (in.raw(kMagic.size()) != kMagic) return "it does not begin like a bundle";
  const auto version = in.u32();
  if (in.failed()) return "it ends before its version";
  if (version != kBundleVersion) {
    return fmt::format("format version {}, and only {} is read", version, kBundleVersion);
  }
  if (bytes.size() < kHead + kDigestBytes) return fmt::format("{} bytes are too few", bytes.size());
  const auto sealed = bytes.substr(0, bytes.size() - kDigestBytes);
  if (sha256(sealed).view() != bytes.substr(sealed.size())) return "the checksum of the bundle is wrong";
  const uint64_t count = in.u32();
  ByteReader rest(sealed.substr(kHead));
  if (count > rest.left() / kMinItem) return fmt::format("{} entries do not fit", count);
  items.reserve(count);
  for (uint64_t i = 0; i < count; ++i) {
    Item item;
    item.address.key = rest.digest();
    item.address.variant = rest.u64();
    item.bytes = rest.raw(rest.u64());
    if (rest.failed()) return fmt::format("it ends in entry {}", i);
    items.push_back(item);
  }
  return rest.at_end() ? "" : "bytes follow the last entry";
}

/// The text may come from an untrusted file, so it is shown only if it is short and printable.
std::string text_of(const KeyField& field) {
  const auto visible = [](char c) { return c >= ' ' && c < '\x7f'; };
  const bool shown = field.text && !field.text->empty() && field.text->size() <= kMaxShownText &&
                     std::all_of(field.text->begin(), field.text->end(), visible);
  return shown ? *field.text : field.hash.hex().substr(0, kHashDigits);
}

/// Returns why the entry will not be found on this machine; empty when there is no such reason.
std::string made_elsewhere(const Entry& entry, const System& here) {
  const auto label = label_of(entry);
  if (!label) return {};
  std::string made_for, is;
  for (const auto& [name, text] : here) {
    const auto* field = label->key.find(name);
    if (!field || (field->hash == sha256(text) && field->length == text.size())) continue;
    made_for += fmt::format("{}{} {}", made_for.empty() ? "" : " and ", name, text_of(*field));
    is += (is.empty() ? "" : " and ") + text;
  }
  return made_for.empty() ? "" : fmt::format("made for {}, here it is {}", made_for, is);
}

/// Whether the store has an entry with at least as many sections, which is then kept.
bool is_present(Store& store, const Address& address, const Entry& entry) {
  const auto found = store.get(address);
  return found.outcome == Outcome::Hit && found.entry.sections.size() >= entry.sections.size();
}

void import_item(const Item& item, Store& into, const Secret* secret, const System& here, ImportReport& out) {
  const auto read = read_entry(item.bytes, item.address, secret);
  if (read.outcome != Outcome::Hit) {
    ++out.left_out[fmt::format("{}: {}", outcome_name(read.outcome), read.reason)];
    return;
  }
  if (is_present(into, item.address, read.entry)) {
    ++out.present;
  } else if (const auto saved = into.put(item.address, read.entry)) {
    ++out.imported;
  } else {
    ++out.left_out[saved.reason];
    return;
  }
  if (const auto reason = made_elsewhere(read.entry, here); !reason.empty()) ++out.elsewhere[reason];
}

}  // namespace

std::string write_bundle(Store& from, std::span<const Address> addresses, const Secret* secret,
                         ExportReport* report, const BundleProgress& progress) {
  ByteWriter out;
  out.raw(kMagic);
  out.u32(kBundleVersion);
  out.u32(0);  // the count, filled in at the end
  ExportReport counts;
  std::set<Address> seen;
  for (size_t i = 0; i < addresses.size(); ++i) {
    const auto& address = addresses[i];
    if (!seen.insert(address).second) continue;
    const auto loaded = from.get(address);
    if (loaded.outcome == Outcome::Hit) {
      write_item(out, address, write_entry(loaded.entry, address, secret));
      ++counts.entries;
    } else {
      ++counts.gone;
    }
    if (progress) progress(i + 1, addresses.size());
  }
  if (report) *report = counts;
  if (counts.entries == 0) return {};
  ByteWriter count;
  count.u32(static_cast<uint32_t>(counts.entries));
  auto bytes = out.take();
  bytes.replace(kHead - count.bytes().size(), count.bytes().size(), count.bytes());
  return bytes.append(sha256(bytes).view());
}

ImportReport import_bundle(std::string_view bytes, Store& into, const Secret* secret, const System& here,
                           const BundleProgress& progress) {
  ImportReport out;
  std::vector<Item> items;
  out.problem = read_items(bytes, items);
  if (!out.problem.empty()) return out;
  out.entries = items.size();
  for (size_t i = 0; i < items.size(); ++i) {
    import_item(items[i], into, secret, here, out);
    if (progress) progress(i + 1, items.size());
  }
  return out;
}

std::string to_text(const ImportReport& report) {
  if (!report.problem.empty()) return fmt::format("nothing is imported: {}\n", report.problem);
  auto out = fmt::format("{} of {} entries imported\n", report.imported, report.entries);
  if (report.present > 0) out += fmt::format("{} were there already\n", report.present);
  for (const auto& [reason, count] : report.left_out) out += fmt::format("{} left out: {}\n", count, reason);
  for (const auto& [reason, count] : report.elsewhere) {
    out += fmt::format("{} not used on this machine: {}\n", count, reason);
  }
  return out;
}

}  // namespace antegrad::cache
