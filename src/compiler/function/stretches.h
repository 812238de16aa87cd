#pragma once
#include <atomic>
#include <map>
#include <memory>
#include <span>
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

  /// Runs a stretch op by op.
  static std::vector<at::Tensor> replay(const capture::Stretch& stretch);

  /// Why the first break was; empty if there was none.
  std::string first_break() const;
  /// Adds what is known of breaks.
  void fill(Report& report) const;
  /// The graphs of the stretches in order of discovery, and the breaks between them.
  Explanation explain() const;

 private:
  struct Part {
    Piece piece;
    std::shared_ptr<const Replay> replay;
    std::shared_ptr<detail::Function> function;
    size_t reals = 0;  ///< number of real numbers among its literals
    Sighting seen;     ///< when it was made
    SizeRules rules;   ///< the integers that it serves; empty where all are fixed
  };
  struct Known {
    capture::Stretch stretch;   ///< without inputs
    std::vector<double> reals;  ///< among its literals, when it was made
    bool any_reals = false;     ///< serves all real numbers
    std::vector<Part> parts;    ///< none where there are no ops
    std::string why;            ///< it ended; empty for the end of the function
    std::atomic<uint64_t> breaks{0};

    /// Whether it serves a stretch that differs at most in literals.
    bool serves(const capture::Stretch& now, const Literals& literals) const;
  };
  struct Key {
    uint64_t hash = 0;
    bool ends = false;  ///< the function ends with it
    Literals literals;
  };
  /// Null when there is none; then `alike` gets those that differ in literals only.
  std::shared_ptr<Known> find(const capture::Stretch& stretch, const Key& key,
                              std::vector<std::shared_ptr<Known>>* alike) const;
  std::shared_ptr<Known> make(const capture::Stretch& stretch, const Key& key, const Known* like,
                              std::string why) const;
  struct Found {
    std::shared_ptr<Known> known;
    bool serves = false;  ///< else it differs in literals, and there are too many of its kind
  };
  Found find_or_make(const capture::Stretch& stretch, const capture::DescribeBreak& why);

  static std::vector<at::Tensor> run(const Part& part, std::vector<at::Tensor> tensors,
                                     std::span<const double> reals);

  const Options& options_;
  mutable std::atomic<int> next_number_{0};
  mutable BriefSharedMutex mutex_;
  std::unordered_multimap<uint64_t, std::shared_ptr<Known>> known_;
  std::vector<std::shared_ptr<Known>> in_order_;
};

}  // namespace antegrad::compiler
