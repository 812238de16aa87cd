#include "passes/simplify/gather_early.h"

#include <gtest/gtest.h>

#include "graph/pass_golden.h"

namespace antegrad::passes {
namespace {

TEST(GatherEarly, Golden) { check_golden("gather_early"); }

}  // namespace
}  // namespace antegrad::passes
