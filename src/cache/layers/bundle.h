#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cache/directory/secret.h"
#include "cache/format/address.h"
#include "cache/store.h"

/// Many entries as one byte string, for transfer to another machine. Numbers are little-endian, nothing is
/// padded.
///
///     bundle = magic version:u32 count:u32 item*count digest
///     magic  = "AGBUNDL\n"
///     item   = key:32 bytes variant:u64 length:u64 entry        as written by write_entry()
///     digest = 32 bytes: SHA-256 of everything before it
///
/// Any bytes are safe to read. The digest detects accidental damage; whether an entry is trusted depends on
/// its own checksums and MAC.
namespace antegrad::cache {

constexpr uint32_t kBundleVersion = 1;

using BundleProgress = std::function<void(size_t done, size_t all)>;

struct ExportReport {
  uint64_t entries = 0;  ///< in the bundle
  uint64_t gone = 0;     ///< requested, but missing or damaged
};

/// Adds a MAC to each entry when there is a secret. Duplicate addresses count once. Returns an empty string
/// when no entry could be read. `report` may be null, `progress` empty.
std::string write_bundle(Store& from, std::span<const Address> addresses, const Secret* secret,
                         ExportReport* report = nullptr, const BundleProgress& progress = {});

/// Values that keys made on this machine have in fields common to all functions: "isa", "antegrad",
/// "libtorch", "toolchain". Fields that are not listed are not compared.
using System = std::vector<std::pair<std::string, std::string>>;

struct ImportReport {
  std::string problem;    ///< why the bundle as a whole cannot be read; nothing is imported then
  uint64_t entries = 0;   ///< in the bundle
  uint64_t imported = 0;  ///< including those in `elsewhere`
  uint64_t present = 0;   ///< left unchanged, because the store has them with at least as many sections
  /// Imported or present, but never found on this machine: number of entries by reason, such as "made for isa
  /// avx512, here it is avx2".
  std::map<std::string, uint64_t> elsewhere;
  /// Damaged, not trusted, or not stored: number of entries by reason.
  std::map<std::string, uint64_t> left_out;

  /// Whether everything in the bundle is now in the store.
  bool complete() const { return problem.empty() && left_out.empty(); }
};

/// With a secret, entries need its MAC. Nothing is imported from a bundle that is damaged as a whole.
ImportReport import_bundle(std::string_view bytes, Store& into, const Secret* secret, const System& here,
                           const BundleProgress& progress = {});

/// Prints one fact per line.
std::string to_text(const ImportReport& report);

}  // namespace antegrad::cache
