#include "passes/simplify/unread_statistics.h"

#include <gtest/gtest.h>

#include "graph/pass_golden.h"

namespace antegrad::passes {
namespace {

TEST(UnreadStatistics, Golden) { check_golden("unread_statistics"); }

}  // namespace
}  // namespace antegrad::passes
