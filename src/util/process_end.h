#pragma once
#include <functional>

#include "antegrad/error.h"

namespace antegrad::inline util {

/// The end of the process: exit() destroys static objects, of LLVM and LibTorch too, while other threads run.
/// It waits for threads that are at work with them, and lets no further ones begin. All of it is thread-safe,
/// and a child made by fork() starts afresh.
namespace process_end {

/// Nothing more is compiled: exit() was called.
class Ending : public Error {
 public:
  Ending();
};

enum class Work {
  Making,       ///< captures and compiles. User code may be part of it: exit() waits ten seconds at most
  InLlvm,       ///< is inside of LLVM, which ends of itself: exit() waits
  OpeningLlvm,  ///< makes LLVM's static objects: exit() and fork() wait
};

/// Work that static objects are needed for.
class Section {
 public:
  /// When exit() was called: work with LLVM throws Ending. Making sleeps for a while, in which the process
  /// ends, if this is another thread than the one that exits and not inside of such work already; then it
  /// goes on without a section.
  explicit Section(Work work);
  /// Sleeps in the same way.
  ~Section();
  Section(const Section&) = delete;
  Section& operator=(const Section&) = delete;
  bool entered() const { return entered_; }

 private:
  const Work work_;
  bool entered_;
};

/// Whether exit() was called by this thread: LibTorch's thread-local objects are destroyed, and nothing can
/// be captured.
bool begun_here();

/// Whether exit() was called. Cheap; work that takes long asks between its parts.
bool begun();

/// Whether this process was forked while another thread was inside of LLVM, whose locks may be held for ever.
bool llvm_lost();

/// How many forks are between this process and the one that loaded the library.
int forks();

/// Static objects that exist by now are destroyed after exit() has waited. Called after they were made.
void outlive_statics();
/// Whether exit() has come to those: static objects of libraries may be gone.
bool destroys_statics();

/// Calls it in exit(), when nothing is being made any more. It does not throw.
void at_end(std::function<void()> last);

}  // namespace process_end
}  // namespace antegrad::inline util
