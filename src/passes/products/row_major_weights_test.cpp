#include "passes/products/row_major_weights.h"

#include <gtest/gtest.h>

#include "graph/pass_golden.h"

namespace antegrad::passes {
namespace {

TEST(RowMajorWeights, Golden) { check_golden("row_major_weights"); }

}  // namespace
}  // namespace antegrad::passes
