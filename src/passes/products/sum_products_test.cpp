#include "passes/products/sum_products.h"

#include <gtest/gtest.h>

#include "graph/pass_golden.h"

namespace antegrad::passes {
namespace {

TEST(SumProducts, Golden) { check_golden("sum_products"); }

}  // namespace
}  // namespace antegrad::passes
