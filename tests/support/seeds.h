#pragma once
// Random numbers of tests. Every test starts from the same seed, whichever tests ran before it, so it gets
// the same numbers on every machine. ANTEGRAD_TEST_SEED=N changes the numbers of all tests; a correct test
// passes with any N.
#include <cstdint>

namespace antegrad::test {

/// Returns ANTEGRAD_TEST_SEED, or 0, the seed of CI, when it is not set.
uint64_t test_seed();

/// Seeds LibTorch's default generator with a number that depends on `number` and test_seed(); with
/// test_seed() 0 it is `number`.
void manual_seed(uint64_t number);

}  // namespace antegrad::test
