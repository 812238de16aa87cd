#pragma once
#include <array>
#include <cstdint>
#include <deque>
#include <unordered_set>

#include "antegrad/tree.h"
#include "compiler/code/template.h"
#include "util/fork_mutex.h"

namespace antegrad::compiler {

/// Notices a stream of sizes that hardly ever repeat. Thread-safe.
class NewSizes {
 public:
  /// `most`: the number of combinations of sizes to remember.
  explicit NewSizes(int most) : most_(most) {}

  /// For call number `call`, which no version serves. Returns whether its sizes have not been met before and
  /// most calls of late were such calls; after the first such stream, whether a good part of them were.
  bool is_stream(uint64_t call, const Leaves& leaves);

 private:
  /// A stream: so many of the last `kWindow` calls had new sizes, or of the last `kLaterWindow` once there
  /// has been one. An epoch that begins with sizes that were met before should not compile for its other
  /// sizes.
  static constexpr size_t kNew = 24;
  static constexpr uint64_t kWindow = 32, kLaterWindow = 256;

  const int most_;
  BriefMutex mutex_;
  std::array<uint64_t, kNew> calls_{};  ///< the last ones with new sizes, as a ring
  size_t next_ = 0;
  bool streamed_ = false;             ///< there has been a stream
  std::unordered_set<uint64_t> met_;  ///< hashes of sizes
  std::deque<uint64_t> order_;        ///< the same, oldest first
};

/// Whether calls at new sizes in a stream may run uncompiled: where calling LibTorch's ops takes most of the
/// time of an uncompiled call, by estimate. What a new combination of sizes costs is proportional to the
/// number of ops too, and compiled code cannot make up for it in a single call. Not where there are
/// checkpoints: what they may refer to in compiled code may be gone, or have a history, in an uncompiled one.
bool may_pass_by(const Template& compiled);

}  // namespace antegrad::compiler
