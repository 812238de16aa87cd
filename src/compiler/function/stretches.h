#pragma once
#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "antegrad/function.h"
#include "capture/tape.h"
#include "compiler/function/replay.h"
#include "util/fork_mutex.h"

namespace antegrad::compiler {

/// The stretches of a function that is compiled in parts (capture/tape.h), each a compiled function of its
/// own that is found by what was recorded. Thread-safe.
class Stretches {
 public:
  explicit Stretches(const Options& options) : options_(options) {}

  /// As capture::RunStretch.
  std::vector<at::Tensor> run(const capture::Stretch& stretch, const capture::DescribeBreak& why);

  /// Adds what is known of breaks.
  void fill(Report& report) const;
  /// Describes the stretches in order of discovery, and the breaks between them.
  std::string describe() const;

 private:
  struct Known {
    capture::Stretch stretch;                    ///< without inputs
    std::vector<double> numbers;                 ///< as numbers_of() says
    bool general = false;                        ///< serves all numbers
    std::shared_ptr<const Replay> replay;        ///< null where there are no ops
    std::shared_ptr<detail::Function> function;  ///< null where there are no ops
    std::string why;                             ///< it ended; empty for the end of the function
    std::atomic<uint64_t> breaks{0};
  };
  struct Key {
    uint64_t hash = 0;
    bool ends = false;  ///< the function ends with it
    std::vector<double> numbers;
  };
  struct Found {
    std::shared_ptr<Known> known;
    bool others = false;  ///< there is one that differs in numbers
  };
  Found find(const capture::Stretch& stretch, const Key& key) const;
  std::shared_ptr<Known> make(const capture::Stretch& stretch, const Key& key, bool general,
                              std::string why) const;
  std::shared_ptr<Known> find_or_make(const capture::Stretch& stretch, const capture::DescribeBreak& why);

  const Options& options_;
  mutable std::atomic<int> next_number_{0};
  mutable BriefSharedMutex mutex_;
  std::unordered_multimap<uint64_t, std::shared_ptr<Known>> known_;
  std::vector<std::shared_ptr<Known>> in_order_;
};

}  // namespace antegrad::compiler
