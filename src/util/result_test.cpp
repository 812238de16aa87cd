#include "util/result.h"

#include <gtest/gtest.h>

#include <memory>

namespace antegrad {
namespace {

Result<std::unique_ptr<int>> positive(int number) {
  if (number <= 0) return Failure{"it is not positive"};
  return std::make_unique<int>(number);
}

TEST(Result, IsAValue) {
  auto result = positive(3);
  ASSERT_TRUE(result);
  EXPECT_EQ(**result, 3);
  EXPECT_THROW(result.reason(), std::bad_variant_access);
  const std::unique_ptr<int> taken = *std::move(result);
  EXPECT_EQ(*taken, 3);
}

TEST(Result, OrSaysWhyThereIsNone) {
  const auto result = positive(-3);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.reason(), "it is not positive");
  EXPECT_THROW(*result, std::bad_variant_access);
}

}  // namespace
}  // namespace antegrad
