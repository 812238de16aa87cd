#include "passes/simplify/dead_code.h"

#include <gtest/gtest.h>

#include "graph/pass_golden.h"

namespace antegrad::passes {
namespace {

TEST(DeadCode, Golden) { check_golden("dead_code"); }

}  // namespace
}  // namespace antegrad::passes
