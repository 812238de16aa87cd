#include "passes/simplify/common_subexpressions.h"

#include <gtest/gtest.h>

#include "graph/pass_golden.h"

namespace antegrad::passes {
namespace {

TEST(CommonSubexpressions, Golden) { check_golden("common_subexpressions"); }

}  // namespace
}  // namespace antegrad::passes
