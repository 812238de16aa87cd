#include "passes/evaluate/constant_folding.h"

#include <gtest/gtest.h>

#include "graph/pass_golden.h"

namespace antegrad::passes {
namespace {

TEST(ConstantFolding, Golden) { check_golden("constant_folding"); }

}  // namespace
}  // namespace antegrad::passes
