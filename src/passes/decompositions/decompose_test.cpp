#include "passes/decompositions/decompose.h"

#include <gtest/gtest.h>

#include "graph/pass_golden.h"

namespace antegrad::passes {
namespace {

TEST(Decompose, Golden) { check_golden("decompose"); }

TEST(Decompose, KnowsItsOps) {
  EXPECT_TRUE(is_decomposed("aten.native_layer_norm"));
  EXPECT_TRUE(is_decomposed("aten._foreach_add_.List"));
  EXPECT_FALSE(is_decomposed("aten.mm"));
  const auto ops = decomposed_ops();
  EXPECT_TRUE(std::ranges::is_sorted(ops));
  for (auto op : ops) EXPECT_TRUE(is_decomposed(op)) << op;
}

}  // namespace
}  // namespace antegrad::passes
