#pragma once
#include <functional>

#include "antegrad/error.h"

namespace antegrad::inline util {

/// The end of the process. exit() destroys static objects, including those of LLVM and LibTorch, while other
/// threads are running: it waits for threads that are using them and prevents new ones from starting to.
/// Thread-safe; a child created by fork() starts afresh.
namespace process_end {

/// Thrown after exit() was called: nothing more is compiled.
class Ending : public Error {
 public:
  Ending();
};

enum class Work {
  Making,       ///< capturing and compiling; may run user code, so exit() waits for ten seconds at most
  InLlvm,       ///< inside LLVM, which always returns: exit() waits
  OpeningLlvm,  ///< creating LLVM's static objects: exit() and fork() wait
};

/// A section of work that needs static objects.
class Section {
 public:
  /// After exit() was called, work with LLVM throws Ending. Work::Making, unless nested in such work or in
  /// the thread that exits, sleeps long enough for the process to end, then continues without entering a
  /// section.
  explicit Section(Work work);
  /// May sleep in the same way.
  ~Section();
  Section(const Section&) = delete;
  Section& operator=(const Section&) = delete;
  bool entered() const { return entered_; }

 private:
  const Work work_;
  bool entered_;
};

/// Whether this thread called exit(): LibTorch's thread-local objects are destroyed, and nothing can be
/// captured.
bool begun_here();

/// Whether exit() was called. Cheap enough for long work to check repeatedly.
bool begun();

/// Whether this process was forked while another thread was inside LLVM, whose locks may be held for ever.
bool llvm_lost();

/// The number of forks between the process that loaded the library and this one.
int forks();

/// Makes static objects that exist by now outlive the wait in exit(). Must be called after they were created.
void outlive_statics();
/// Whether exit() has begun to destroy those objects, so that static objects of libraries may be gone.
bool destroys_statics();

/// Registers a function that exit() calls once nothing is being compiled any more. It must not throw.
void at_end(std::function<void()> last);

}  // namespace process_end
}  // namespace antegrad::inline util
