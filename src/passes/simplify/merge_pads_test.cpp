#include "passes/simplify/merge_pads.h"

#include <gtest/gtest.h>

#include "graph/pass_golden.h"

namespace antegrad::passes {
namespace {

TEST(MergePads, Golden) { check_golden("merge_pads"); }

}  // namespace
}  // namespace antegrad::passes
