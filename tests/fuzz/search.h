#pragma once
// Searches of families whose programs are made from a seed and are not shrunk.
#include <gtest/gtest.h>

#include <string>

#include "fuzz/driver.h"

namespace antegrad::fuzz {

/// `check` returns what is wrong with the program of a seed.
inline void search(const char* family, Seeds seeds, std::string (*check)(uint64_t)) {
  uint64_t failures = 0;
  for (uint64_t seed = seeds.first; seed < seeds.first + seeds.count && failures < 3; ++seed)
    if (const auto text = check(seed); !text.empty()) {
      ++failures;
      ADD_FAILURE() << text;
    }
  say_checked(family, seeds.count, failures);
}

inline void search_fresh(const char* family, std::string (*check)(uint64_t)) {
  const auto seeds = fresh_seeds();
  if (!seeds) GTEST_SKIP() << "ANTEGRAD_FUZZ_COUNT=n searches among n";
  search(family, *seeds, check);
}

}  // namespace antegrad::fuzz
