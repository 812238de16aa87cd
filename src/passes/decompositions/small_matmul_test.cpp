#include "passes/decompositions/small_matmul.h"

#include <gtest/gtest.h>

#include "graph/pass_golden.h"

namespace antegrad::passes {
namespace {

TEST(SmallMatmul, Golden) { check_golden("small_matmul"); }

}  // namespace
}  // namespace antegrad::passes
