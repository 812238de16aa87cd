#include "cache/format/entry.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

#include "antegrad/error.h"
#include "cache/format/wire.h"

namespace antegrad::cache {
namespace {

constexpr std::string_view kMagic = "AGENTRY\n";
constexpr std::string_view kMacPurpose = "antegrad entry\n";
constexpr uint64_t kDigestBytes = 32;
constexpr uint64_t kTrailer = 2 * kDigestBytes;
constexpr uint64_t kHead = 8 + 4 + 8 + 32 + 8 + 4;
constexpr uint64_t kMinRow = 2 + 1 + 8 + 32;
constexpr uint64_t kRowWithoutName = kMinRow - 1;

ReadEntry failed(Outcome outcome, std::string reason) { return {outcome, {}, std::move(reason)}; }
ReadEntry corrupt(std::string reason) { return failed(Outcome::Corrupt, std::move(reason)); }

uint64_t entry_size(const Entry& entry) {
  uint64_t size = kHead + kTrailer;
  for (const auto& [name, bytes] : entry.sections) size += kRowWithoutName + name.size() + bytes.size();
  return size;
}

Digest mac_of(const Secret& secret, const Digest& body) {
  return hmac_sha256(secret.bytes(), std::string(kMacPurpose).append(body.view()));
}

/// Returns an error unless the digest and, with a secret, the MAC are valid. Nothing else of the body is read
/// before.
std::optional<ReadEntry> check_seal(std::string_view bytes, const Secret* secret) {
  const auto body = bytes.substr(0, bytes.size() - kTrailer);
  ByteReader trailer(bytes.substr(body.size()));
  const auto mac = trailer.digest(), digest = trailer.digest();
  Sha256 hash;
  const auto body_digest = hash.update(body).digest();
  if (hash.update(mac.view()).digest() != digest) return corrupt("the checksum of the entry is wrong");
  if (!secret) return std::nullopt;
  if (mac.is_zero()) return failed(Outcome::Refused, "the entry has no MAC, and a key is set");
  if (!equal_in_constant_time(mac, mac_of(*secret, body_digest))) {
    return failed(Outcome::Refused, "the MAC of the entry was not made with this key");
  }
  return std::nullopt;
}

struct Row {
  std::string_view name;
  uint64_t length = 0;
  Digest checksum;
};

/// Fills `rows` and leaves `in` after the table; returns the reason when the table is invalid.
std::string read_table(ByteReader& in, std::vector<Row>& rows) {
  const uint64_t count = in.u32();
  if (count > kMaxSections) return fmt::format("{} sections, more than {}", count, kMaxSections);
  if (count * kMinRow > in.left()) return fmt::format("{} sections do not fit", count);
  rows.reserve(count);
  std::set<std::string_view> names;
  for (uint64_t i = 0; i < count; ++i) {
    const auto name = in.raw(in.u16());
    const auto length = in.u64();
    const auto checksum = in.digest();
    if (in.failed()) return fmt::format("the table ends in section {}", i);
    if (name.empty() || name.size() > kMaxSectionName) {
      return fmt::format("the name of section {} has {} bytes", i, name.size());
    }
    if (!names.insert(name).second) return fmt::format("section {} has the name of an earlier one", i);
    rows.push_back({name, length, checksum});
  }
  return {};
}

ReadEntry read_sections(ByteReader& in) {
  std::vector<Row> rows;
  if (auto reason = read_table(in, rows); !reason.empty()) return corrupt(std::move(reason));
  ReadEntry out{Outcome::Hit, {}, {}};
  out.entry.sections.reserve(rows.size());
  for (const auto& row : rows) {
    const auto contents = in.raw(row.length);
    if (in.failed()) return corrupt(fmt::format("section \"{}\" does not fit", row.name));
    if (sha256(contents) != row.checksum) {
      return corrupt(fmt::format("the checksum of section \"{}\" is wrong", row.name));
    }
    out.entry.sections.push_back({std::string(row.name), std::string(contents)});
  }
  if (!in.at_end()) return corrupt("bytes follow the last section");
  return out;
}

}  // namespace

const std::string* Entry::find(std::string_view name) const {
  const auto found = std::find_if(sections.begin(), sections.end(),
                                  [&](const auto& section) { return section.name == name; });
  return found == sections.end() ? nullptr : &found->bytes;
}

std::string entry_problem(const Entry& entry) {
  if (entry.sections.size() > kMaxSections) {
    return fmt::format("an entry of {} sections, more than {}", entry.sections.size(), kMaxSections);
  }
  std::set<std::string_view> names;
  for (const auto& [name, bytes] : entry.sections) {
    if (name.empty() || name.size() > kMaxSectionName) {
      return fmt::format("a section with a name of {} bytes, not 1 to {}", name.size(), kMaxSectionName);
    }
    if (!names.insert(name).second) return fmt::format("two sections \"{}\"", name);
  }
  const auto size = entry_size(entry);
  if (size > kMaxEntryBytes) return fmt::format("an entry of {} bytes, more than {}", size, kMaxEntryBytes);
  return {};
}

std::string write_entry(const Entry& entry, const Address& address, const Secret* secret) {
  if (const auto problem = entry_problem(entry); !problem.empty()) {
    throw Error(ErrorCode::InvalidArgument, "cache", problem, "Ask entry_problem() first");
  }
  const auto total = entry_size(entry);
  ByteWriter out;
  out.reserve(total);
  out.raw(kMagic);
  out.u32(kEntryVersion);
  out.u64(total);
  out.digest(address.key);
  out.u64(address.variant);
  out.u32(static_cast<uint32_t>(entry.sections.size()));
  for (const auto& [name, bytes] : entry.sections) {
    out.u16(static_cast<uint16_t>(name.size()));
    out.raw(name);
    out.u64(bytes.size());
    out.digest(sha256(bytes));
  }
  for (const auto& section : entry.sections) out.raw(section.bytes);
  Sha256 hash;
  const auto body = hash.update(out.bytes()).digest();
  const auto mac = secret ? mac_of(*secret, body) : Digest{};
  out.digest(mac);
  out.digest(hash.update(mac.view()).digest());
  return out.take();
}

ReadEntry read_entry(std::string_view bytes, const Address& address, const Secret* secret) {
  ByteReader in(bytes);
  if (in.raw(kMagic.size()) != kMagic) return corrupt("it does not begin like an entry");
  const auto version = in.u32();
  if (in.failed()) return corrupt("it ends before its version");
  if (version != kEntryVersion) {
    return failed(Outcome::Miss,
                  fmt::format("format version {}, and only {} is read", version, kEntryVersion));
  }
  if (bytes.size() < kHead + kTrailer || bytes.size() > kMaxEntryBytes || in.u64() != bytes.size()) {
    return corrupt(fmt::format("{} bytes are not its length", bytes.size()));
  }
  if (auto problem = check_seal(bytes, secret)) return *problem;
  const auto key = in.digest();
  const Address written_for{key, in.u64()};
  if (written_for != address) {
    return failed(secret ? Outcome::Refused : Outcome::Corrupt,
                  fmt::format("it was written for {}", written_for.to_text()));
  }
  const auto begin = bytes.size() - in.left();
  ByteReader rest(bytes.substr(begin, bytes.size() - kTrailer - begin));
  return read_sections(rest);
}

}  // namespace antegrad::cache
