#pragma once
// The random numbers of tests. Every test starts from one seed, whichever tests ran before it, so that it has
// the same numbers on every machine. ANTEGRAD_TEST_SEED=N gives all of them other numbers: a right test
// passes with any.
#include <cstdint>

namespace antegrad::test {

/// ANTEGRAD_TEST_SEED; 0, the seed of the gate, where it is not set.
uint64_t test_seed();

/// Seeds LibTorch's generator with `number`, or with one that follows from it and from test_seed().
void manual_seed(uint64_t number);

}  // namespace antegrad::test
