#include "passes/simplify/keep_errors.h"

#include <gtest/gtest.h>

#include "graph/pass_golden.h"

namespace antegrad::passes {
namespace {

TEST(KeepErrors, Golden) { check_golden("keep_errors"); }

}  // namespace
}  // namespace antegrad::passes
