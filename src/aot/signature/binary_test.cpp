#include "aot/signature/binary.h"

#include <gtest/gtest.h>

#include "antegrad/error.h"
#include "graph/stored_bytes.h"
#include "ir/text.h"

namespace antegrad::aot {
namespace {

/// A signature with every kind of step.
Signature rich() {
  Signature out;
  out.user_inputs = 2;
  out.inputs = 3;
  out.slots = 5;
  out.user_outputs = 1;
  out.graph_inputs = {0, 3, 4};
  const Source result{Source::Kind::Result, 0}, input{Source::Kind::Input, 1}, view{Source::Kind::View, 0};
  ir::Node node;
  node.op = "aten.t";
  node.args = {ir::ValueId{0}};
  out.steps = {TakeRngState{4},
               TakeGenerators{{2}},
               MakeBase{3, {0, 1}, 2, 40, true},
               RunGraph{},
               SaveForBackward{},
               Attach{result, 0},
               SetVersion{0, 7},
               ResizeInput{1, {2, 3}},
               WriteBack{3, 1, {0, 1}, true},
               SetGenerator{2, 1},
               MakeView{input, node, 0, true},
               MakeOutput{view, true},
               SetTensor{input, view},
               BumpVersion{1, 3},
               RequireGrad{0, true, true},
               RetainGrad{result}};
  out.shared = {{{0, 1}, {0, 4}}};
  out.written = {0, 1};
  out.apart = {{0, 2, -16}};
  out.same = {{0, 1}};
  out.changed = {1};
  out.views = {1};
  out.gradients = {0};
  out.backward_writes = {{1, 2}};
  out.fixed_offsets = {0};
  return out;
}

TEST(SignatureBinary, EveryStepComesBack) {
  const auto signature = rich();
  EXPECT_EQ(signature.steps.size(), std::variant_size_v<Step>) << "a new step belongs here";
  const auto bytes = bytes_of(signature);
  ByteReader in(bytes);
  const auto back = read_signature(in);
  EXPECT_TRUE(in.at_end());
  EXPECT_EQ(print(back), print(signature));
  EXPECT_EQ(back.same, signature.same);
  EXPECT_EQ(back.apart, signature.apart);
  EXPECT_EQ(back.backward_writes, signature.backward_writes);
  EXPECT_EQ(bytes_of(back), bytes);
  ByteReader again(bytes);
  EXPECT_EQ(read_signature(again), back);
}

TEST(SignatureBinary, DamagedBytesAreRefusedOrAnotherSignature) {
  const auto bytes = bytes_of(rich());
  size_t refused = 0;
  for (size_t length = 0; length < bytes.size(); ++length) {
    ByteReader in(std::string_view(bytes).substr(0, length));
    try {
      read_signature(in);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::Io);
      ++refused;
    }
  }
  EXPECT_EQ(refused, bytes.size()) << "a part of a signature is none";
  for (size_t at = 0; at < bytes.size(); ++at) {
    auto damaged = bytes;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x55);
    ByteReader in(damaged);
    try {
      const auto back = read_signature(in);
      for (const auto slot : back.graph_inputs) EXPECT_TRUE(slot >= 0 && slot < back.slots);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::Io);
    }
  }
}

}  // namespace
}  // namespace antegrad::aot
