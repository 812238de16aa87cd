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

/// Many entries as one byte string, to be carried to another machine. Numbers are little-endian, nothing is
/// padded.
///
///     bundle = magic version:u32 count:u32 item*count digest
///     magic  = "AGBUNDL\n"
///     item   = key:32 bytes variant:u64 length:u64 entry        as write_entry() gives it
///     digest = 32 bytes: SHA-256 of all before it
///
/// Any bytes are safe to read. The digest finds accidents; what is believed is decided for each entry, by its
/// own checksums and its MAC.
namespace antegrad::cache {

constexpr uint32_t kBundleVersion = 1;

using BundleProgress = std::function<void(size_t done, size_t all)>;

struct ExportReport {
  uint64_t entries = 0;  ///< in the bundle
  uint64_t gone = 0;     ///< asked for, but no longer there, or damaged
};

/// Entries get a MAC when there is a secret. An address that is there twice counts once. Empty when no entry
/// is left: there is nothing to carry. `report` may be null, `progress` empty.
std::string write_bundle(Store& from, std::span<const Address> addresses, const Secret* secret,
                         ExportReport* report = nullptr, const BundleProgress& progress = {});

/// What the keys made on this machine have in the fields that are the same for all functions: "isa",
/// "antegrad", "libtorch", "toolchain". Fields that are not named here are not compared.
using System = std::vector<std::pair<std::string, std::string>>;

struct ImportReport {
  std::string problem;    ///< why the bundle as a whole cannot be read, and nothing was imported
  uint64_t entries = 0;   ///< in the bundle
  uint64_t imported = 0;  ///< those of `elsewhere` included
  uint64_t present = 0;   ///< left as they are: the store has them, with as much in them
  /// Imported or present, but never found on this machine: entries by reason, such as "made for isa avx512,
  /// here it is avx2".
  std::map<std::string, uint64_t> elsewhere;
  std::map<std::string, uint64_t> left_out;  ///< damaged, not believed, or not stored: entries by reason

  /// Everything in the bundle is in the store now.
  bool complete() const { return problem.empty() && left_out.empty(); }
};

/// With a secret, entries need its MAC. A bundle that is damaged as a whole imports nothing.
ImportReport import_bundle(std::string_view bytes, Store& into, const Secret* secret, const System& here,
                           const BundleProgress& progress = {});

/// One fact a line.
std::string to_text(const ImportReport& report);

}  // namespace antegrad::cache
