#include "passes/freeze/fold_batch_norm.h"

#include <gtest/gtest.h>

#include "graph/pass_golden.h"

namespace antegrad::passes {
namespace {

TEST(FoldBatchNorm, Golden) { check_golden("fold_batch_norm"); }

}  // namespace
}  // namespace antegrad::passes
