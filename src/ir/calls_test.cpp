#include "ir/calls.h"

#include <gtest/gtest.h>

#include "ir/text.h"
#include "ir/verify.h"

namespace antegrad::ir {
namespace {

Graph inlined(const std::string& text) {
  auto graph = inline_calls(parse(text));
  verify(graph);
  graph.compact();
  return graph;
}

TEST(Calls, BecomeTheNodesOfTheirGraphs) {
  const auto graph = inlined(R"(graph @g functional {
  in %0: f32[4] user
  %1: f32[4] = aten.exp(%0)
  %2: f32[4], %3: f32[4] = antegrad.call(graph @twice functional {
    in %0: f32[4] user
    in %1: f32[4] user
    %2: f32[4] = aten.mul.Tensor(%0, %1)
    %3: f32[4] = antegrad.call(graph @inner functional {
      in %0: f32[4] user
      %1: f32[4] = aten.neg(%0)
      out %1 user
    }, [%2])
    out %3 user
    out %2 user
  }, [%1, %0])
  %4: f32[4] = aten.add.Tensor(%2, %3)
  out %4 user
})");
  EXPECT_EQ(print(graph), R"(graph @g functional {
  in %0: f32[4] user
  %1: f32[4] = aten.exp(%0)
  %2: f32[4] = aten.mul.Tensor(%1, %0)
  %3: f32[4] = aten.neg(%2)
  %4: f32[4] = aten.add.Tensor(%3, %2)
  out %4 user
}
)");
}

// The first result is a view of the second one, which the caller takes for a value on the memory of the
// first.
TEST(Calls, ResultsOnOneMemoryStayThere) {
  const auto graph = inlined(R"(graph @g functional {
  in %0: f32[2,3] user
  %1: f32[3,2]{1,3}, %2: f32[2,3] &%1 = antegrad.call(graph @body forward {
    in %0: f32[2,3] user
    %1: f32[2,3] = aten.exp(%0)
    %2: f32[3,2]{1,3} &%1 = aten.t(%1)
    out %2 user
    out %1 saved
  }, [%0])
  %3: f32[2]{3} &%1 = aten.select.int(%1, 0, 0)
  out %3 user
  out %2 user
})");
  EXPECT_EQ(print(graph), R"(graph @g functional {
  in %0: f32[2,3] user
  %1: f32[2,3] = aten.exp(%0)
  %2: f32[3,2]{1,3} &%1 = aten.t(%1)
  %3: f32[2]{3} &%1 = aten.select.int(%2, 0, 0)
  out %3 user
  out %1 user
}
)");
}

TEST(Calls, ViewsOfArgumentsBeginWhereTheseDo) {
  const auto graph = inlined(R"(graph @g functional {
  in %0: f32[4,3] user
  %1: f32[3]+3 &%0 = aten.select.int(%0, 0, 1)
  %2: f32[2] = antegrad.call(graph @body functional {
    in %0: f32[3] user
    %1: f32[2]+1 &%0 = aten.slice.Tensor(%0, 0, 1, 3)
    %2: f32[2] = aten.exp(%1)
    out %2 user
  }, [%1])
  out %2 user
})");
  EXPECT_EQ(print(graph), R"(graph @g functional {
  in %0: f32[4,3] user
  %1: f32[3]+3 &%0 = aten.select.int(%0, 0, 1)
  %2: f32[2]+4 &%0 = aten.slice.Tensor(%1, 0, 1, 3)
  %3: f32[2] = aten.exp(%2)
  out %3 user
}
)");
}

}  // namespace
}  // namespace antegrad::ir
