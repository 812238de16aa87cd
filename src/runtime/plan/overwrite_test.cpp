#include "runtime/plan/overwrite.h"

#include <gtest/gtest.h>

#include "kernels/flat_kernel.h"

namespace antegrad::runtime {
namespace {

using test::access;
using test::flat_kernel;

TEST(Overwrite, OnlyTheSameElementInTheSameIteration) {
  const auto plain = flat_kernel("k", 1, 10);
  EXPECT_TRUE(may_overwrite(plain, 0, 1));
  auto shifted = plain;
  shifted.sections[0].ops[0].address.offset = 1;
  EXPECT_FALSE(may_overwrite(shifted, 0, 1));
  auto late = plain;
  std::swap(late.sections[0].ops[0], late.sections[0].ops[1]);
  EXPECT_FALSE(may_overwrite(late, 0, 1));
  auto again = plain;  // a later section reads what the first has overwritten
  again.sections.push_back({{0}, {access(schedule::OpCode::Load, 0)}});
  EXPECT_FALSE(may_overwrite(again, 0, 1));
  auto broadcast = plain;  // the outer loop visits the same elements again
  broadcast.loops.push_back(5);
  broadcast.outer = {1};
  EXPECT_FALSE(may_overwrite(broadcast, 0, 1));
  auto wide = plain;
  wide.buffers[1].dtype = ir::DType::F64;
  EXPECT_FALSE(may_overwrite(wide, 0, 1));
  auto indirect = plain;
  indirect.sections[0].ops[0].indirect.push_back({0, 1, 10, true});
  EXPECT_FALSE(may_overwrite(indirect, 0, 1));
  EXPECT_TRUE(may_fail(indirect));
  EXPECT_FALSE(may_fail(plain));
}

/// Rows of 8: sections that read a row of buffer 0 and write it to buffer 1.
schedule::Kernel row_kernel() {
  auto kernel = flat_kernel("rows", 1, 8);
  kernel.loops = {8, 5, 8};
  kernel.outer = {1};
  const schedule::Affine row{0, {{0, 1}, {1, 8}}}, row_again{0, {{1, 8}, {2, 1}}};
  kernel.sections = {
      {{2}, {access(schedule::OpCode::Load, 0, row_again)}},
      {{0}, {access(schedule::OpCode::Load, 0, row), access(schedule::OpCode::Store, 1, row)}}};
  return kernel;
}

TEST(Overwrite, RowsThatAreReadFirstAndThenWritten) {
  EXPECT_TRUE(may_overwrite(row_kernel(), 0, 1));
  auto first_only = row_kernel();  // one element of each row is read ahead, the others are not read
  first_only.sections[0] = {{}, {access(schedule::OpCode::Load, 0, {0, {{1, 8}}})}};
  first_only.sections[1].ops.erase(first_only.sections[1].ops.begin());
  EXPECT_TRUE(may_overwrite(first_only, 0, 1));
  auto late = row_kernel();
  std::swap(late.sections[0], late.sections[1]);
  EXPECT_FALSE(may_overwrite(late, 0, 1));
  auto other_row = row_kernel();  // the row of the next unit
  other_row.sections[0].ops[0].address.offset = 8;
  EXPECT_FALSE(may_overwrite(other_row, 0, 1));
  auto column = row_kernel();
  column.sections[0].ops[0].address = {0, {{1, 1}, {2, 8}}};
  EXPECT_FALSE(may_overwrite(column, 0, 1));
  auto all = row_kernel();  // every unit reads the first row
  all.sections[0].ops[0].address = {0, {{2, 1}}};
  EXPECT_FALSE(may_overwrite(all, 0, 1));
  auto longer = row_kernel();  // reads into the next row
  longer.loops[2] = 9;
  EXPECT_FALSE(may_overwrite(longer, 0, 1));
  auto no_units = row_kernel();  // threads share one section while each runs all of the other
  no_units.outer.clear();
  EXPECT_FALSE(may_overwrite(no_units, 0, 1));
}

}  // namespace
}  // namespace antegrad::runtime
