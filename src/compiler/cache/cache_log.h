#pragma once
#include <mutex>
#include <string>
#include <vector>

#include "cache/directory/outcome.h"
#include "util/fork_mutex.h"

namespace antegrad::compiler {

/// The outcomes of one function's cache lookups, for its report. Thread-safe.
class CacheLog {
 public:
  void count(cache::Outcome outcome) { outcomes_.add(outcome); }
  void note(const std::string& reason);  ///< duplicates are dropped
  void add_key(const std::string& key);
  void add_saved(double forward, double backward);

  struct Totals {
    cache::Counters outcomes;
    std::vector<std::string> reasons, keys;
    double seconds_saved_forward = 0, seconds_saved_backward = 0;
  };
  Totals totals() const;

 private:
  cache::OutcomeCounter outcomes_;
  mutable BriefMutex mutex_;
  std::vector<std::string> reasons_, keys_;
  double forward_ = 0, backward_ = 0;
};

}  // namespace antegrad::compiler
