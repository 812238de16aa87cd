#include "passes/simplify/remove_noop.h"

#include <gtest/gtest.h>

#include "graph/pass_golden.h"

namespace antegrad::passes {
namespace {

TEST(RemoveNoop, Golden) { check_golden("remove_noop"); }

}  // namespace
}  // namespace antegrad::passes
