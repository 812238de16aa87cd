#include "symbolic/binary.h"

#include <gtest/gtest.h>

#include "antegrad/error.h"
#include "graph/stored_bytes.h"

namespace antegrad::symbolic {
namespace {

Shapes example() {
  const auto s0 = ir::Dim::symbol(0), s1 = ir::Dim::symbol(1);
  Shapes shapes;
  shapes.symbols = {{{1, 64}, 7}, {{2, std::numeric_limits<int64_t>::max()}, 300}};
  shapes.tensors = {
      {true, {s0, s1 * 2 + 1, 8}, {s1 * 16 + 8, 8, 1}}, {false, {}, {}}, {true, {s0, 4}, {0, 1}}};
  return shapes;
}

TEST(ShapesBinary, ComeBack) {
  const auto shapes = example();
  const auto bytes = bytes_of(shapes);
  ByteReader in(bytes);
  const auto back = read_shapes(in);
  EXPECT_TRUE(in.at_end());
  EXPECT_EQ(back.symbols, shapes.symbols);
  ASSERT_EQ(back.tensors.size(), shapes.tensors.size());
  for (size_t i = 0; i < shapes.tensors.size(); ++i) {
    EXPECT_EQ(back.tensors[i].defined, shapes.tensors[i].defined);
    EXPECT_EQ(back.tensors[i].sizes, shapes.tensors[i].sizes);
    EXPECT_EQ(back.tensors[i].strides, shapes.tensors[i].strides);
  }
  EXPECT_EQ(bytes_of(back), bytes);
}

TEST(ShapesBinary, DimsNameSymbolsOfTheShapes) {
  auto shapes = example();
  shapes.symbols.pop_back();
  const auto bytes = bytes_of(shapes);
  ByteReader in(bytes);
  EXPECT_THROW(read_shapes(in), Error);
}

TEST(ShapesBinary, AnyBytesAreShapesOrAnError) {
  ByteMutator mutator(5, {bytes_of(example()), bytes_of(Shapes())});
  size_t read = 0;
  for (int i = 0; i < 20000; ++i) {
    const auto bytes = mutator.next();
    ByteReader in(bytes);
    try {
      const auto again = bytes_of(read_shapes(in));
      ByteReader twice(again);
      EXPECT_EQ(bytes_of(read_shapes(twice)), again);
      ++read;
    } catch (const Error& error) {
      ASSERT_EQ(error.code(), ErrorCode::Io) << error.what();
    }
  }
  EXPECT_GT(read, 1000U);
}

}  // namespace
}  // namespace antegrad::symbolic
