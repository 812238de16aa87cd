#include "runtime/plan/result_times.h"

#include <gtest/gtest.h>

#include "codegen/text/expression.h"
#include "ir/text.h"

namespace antegrad::runtime {
namespace {

ResultTimes times(const std::string& text) {
  schedule::Settings settings;
  settings.fuse = false;
  settings.supports = codegen::expression_supported;
  return result_times(schedule::schedule(ir::parse(text), settings), {});
}

TEST(ResultTimes, AnInputIsReadUntilItsLastViewIs) {
  const auto made = times(R"(graph @f functional {
  in %0: f32[8,8] user
  in %1: f32[8,8] user
  %2: f32[8,8] = aten.mm(%0, %1)
  %3: f32[8,8]{1,8} &%0 = aten.t(%0)
  %4: f32[8,8] = aten.mm(%2, %3)
  %5: f32[8,8] = aten.mm(%4, %1)
  out %4 user
  out %5 user
})");
  ASSERT_EQ(made.last_reads.size(), 2U);
  EXPECT_LT(made.last_reads[0], made.last_reads[1]);
  ASSERT_EQ(made.outputs.size(), 2U);
  EXPECT_TRUE(made.outputs[0].own);
  EXPECT_EQ(made.outputs[0].first, made.last_reads[0]);
  EXPECT_EQ(made.outputs[0].last, made.last_reads[1]) << "a later product reads it";
  EXPECT_EQ(made.outputs[1].first, made.outputs[1].last);
  EXPECT_EQ(made.outputs[1].sizes, (std::vector<int64_t>{8, 8}));
  EXPECT_EQ(made.last_failure, -1);
}

TEST(ResultTimes, OutputsOnSharedMemoryAreNotTheirOwn) {
  const auto made = times(R"(graph @f functional {
  in %0: f32[8,8] user
  %1: f32[8,8] = aten.mm(%0, %0)
  %2: f32[8,8]{1,8} &%1 = aten.t(%1)
  out %0 user
  out %1 user
  out %2 user
})");
  for (const auto& output : made.outputs) EXPECT_FALSE(output.own);
}

constexpr const char* kLookUp = R"(graph @f functional {
  in %0: f32[10,4] user
  in %1: i64[6] user
  in %2: f32[6,4] user
  %3: f32[6,4] = aten.embedding(%0, %1)
  %4: f32[6,4] = aten.sin(%2)
  %5: f32[{},4] = aten.embedding_dense_backward(%2, %1, {}, -1, false)
  out %3 user
  out %4 user
  out %5 user
})";

ResultTimes times_with_rows(const std::string& rows) {
  std::string text = kLookUp;
  for (auto at = text.find("{}"); at != std::string::npos; at = text.find("{}")) text.replace(at, 2, rows);
  return times(text);
}

TEST(ResultTimes, IndicesThatWereCheckedDoNotFailAgain) {
  const auto same = times_with_rows("10"), fewer = times_with_rows("9");
  EXPECT_EQ(same.last_failure, same.outputs[0].last) << "looking up fails, scattering to the same rows not";
  EXPECT_EQ(fewer.last_failure, fewer.outputs[2].last) << "fewer rows than were looked up in";
}

TEST(ResultTimes, RegionsMayFailAndReadWhatTheyHaveKept) {
  const auto made = times(R"(graph @f functional {
  in %0: f32[8,8] user
  in %1: u8[8] user
  %2: f32[8,8] = aten.mm(%0, %0)
  %3: f32[8,8] = antegrad.region.backward(%1, [%0])
  %4: f32[8,8] = aten.mm(%2, %3)
  out %2 user
  out %3 user
  out %4 user
})");
  EXPECT_EQ(made.last_failure, made.outputs[1].first);
}

}  // namespace
}  // namespace antegrad::runtime
