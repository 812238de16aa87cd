#include "samples/samples.h"

#include <ATen/ATen.h>
#include <ATen/core/enum_tag.h>
#include <gtest/gtest.h>

#include <cstring>
#include <set>

#include "samples/rows.h"

namespace antegrad::samples {
namespace {

const std::vector<Sample>& shared() {
  static const std::vector<Sample> samples = make(1);
  return samples;
}

std::vector<at::Tensor> tensors_of(const c10::Stack& stack) {
  std::vector<at::Tensor> tensors;
  for (const auto& value : stack) {
    if (value.isTensor()) tensors.push_back(value.toTensor());
    if (!value.isList()) continue;
    for (const c10::IValue& item : value.toList()) {
      if (item.isTensor()) tensors.push_back(item.toTensor());
    }
  }
  return tensors;
}

/// Compares bits, so that NaN equals itself.
bool same_tensor(const at::Tensor& a, const at::Tensor& b) {
  if (a.scalar_type() != b.scalar_type() || a.sizes() != b.sizes() || a.strides() != b.strides())
    return false;
  if (a.storage_offset() != b.storage_offset() || a.storage().nbytes() != b.storage().nbytes()) return false;
  const auto bytes = a.storage().nbytes();
  return bytes == 0 || std::memcmp(a.storage().data(), b.storage().data(), bytes) == 0;
}

bool same_value(const c10::IValue& a, const c10::IValue& b) {
  if (a.isTensor() && b.isTensor()) return same_tensor(a.toTensor(), b.toTensor());
  if (!a.isList() || !b.isList()) return a == b;
  const auto left = a.toList();
  const auto right = b.toList();
  if (left.size() != right.size()) return false;
  for (size_t i = 0; i < left.size(); ++i) {
    if (!same_value(left.get(i), right.get(i))) return false;
  }
  return true;
}

/// Compares values only: a result may be part of a larger storage.
bool same_elements(const at::Tensor& a, const at::Tensor& b) {
  if (a.scalar_type() != b.scalar_type() || a.sizes() != b.sizes()) return false;
  const at::Tensor left = a.contiguous(), right = b.contiguous();
  return std::memcmp(left.const_data_ptr(), right.const_data_ptr(), left.nbytes()) == 0;
}

void expect_same_args(const std::string& op, const c10::Stack& a, const c10::Stack& b) {
  ASSERT_EQ(a.size(), b.size()) << op;
  for (size_t i = 0; i < a.size(); ++i) EXPECT_TRUE(same_value(a[i], b[i])) << op << " argument " << i;
}

TEST(Samples, EveryOneRunsOnTheCpu) {
  for (size_t i = 0; i < shared().size(); ++i) {
    const Sample& sample = shared()[i];
    const auto op = find_overload(sample.op);
    ASSERT_EQ(sample.args.size(), op.schema().arguments().size()) << sample.op;
    try {
      EXPECT_EQ(call(sample.op, clone_args(sample)).size(), op.schema().returns().size()) << sample.op;
    } catch (const std::exception& error) {
      ADD_FAILURE() << sample.op << " (sample " << i << "): " << std::string(error.what()).substr(0, 400);
    }
  }
}

TEST(Samples, CoverTheOverloadsSeenBelowAutograd) {
  std::set<std::string> names, inplace, out;
  for (const auto& sample : shared()) {
    if (!names.insert(sample.op).second) continue;
    const auto op = find_overload(sample.op);
    using enum c10::DispatchKey;
    EXPECT_TRUE(!op.hasKernelForDispatchKey(CompositeImplicitAutograd) || op.hasKernelForDispatchKey(CPU))
        << sample.op << " decomposes above the autograd key";
    // Their shapes depend on data only for masks and for lengths in tensors, which the table does not
    // contain.
    const bool is_static = sample.op == "aten::index.Tensor" || sample.op == "aten::_ctc_loss";
    EXPECT_TRUE(is_static || !op.hasTag(at::Tag::dynamic_output_shape)) << sample.op;
    EXPECT_FALSE(op.hasTag(at::Tag::data_dependent_output)) << sample.op;
    const auto& schema = op.schema();
    if (sample.op.substr(0, sample.op.find('.')).ends_with('_')) inplace.insert(sample.op);
    if (schema.arguments().size() && schema.arguments().back().is_out()) out.insert(sample.op);
  }
  RecordProperty("overloads", static_cast<int>(names.size()));
  RecordProperty("samples", static_cast<int>(shared().size()));
  EXPECT_GE(names.size(), 1000U);
  EXPECT_GE(inplace.size(), 200U);
  EXPECT_GE(out.size(), 30U);
}

TEST(Samples, DependOnTheSeedOnly) {
  const auto again = make(1);
  const auto other = make(2);
  ASSERT_EQ(shared().size(), again.size());
  size_t different = 0;
  for (size_t i = 0; i < again.size(); ++i) {
    EXPECT_EQ(shared()[i].op, again[i].op);
    expect_same_args(again[i].op, shared()[i].args, again[i].args);
    const auto here = tensors_of(again[i].args), there = tensors_of(other[i].args);
    for (size_t k = 0; k < here.size(); ++k) different += same_tensor(here[k], there[k]) ? 0 : 1;
  }
  EXPECT_GT(different, again.size() / 2);
}

TEST(Samples, ShareNoStorageWithEachOther) {
  std::set<const void*> seen;
  const auto again = make(1);
  for (const auto* samples : {&shared(), &again}) {
    for (const auto& sample : *samples) {
      std::set<const void*> own;
      for (const auto& tensor : tensors_of(sample.args)) own.insert(tensor.storage().unsafeGetStorageImpl());
      for (const void* storage : own) EXPECT_TRUE(seen.insert(storage).second) << sample.op;
    }
  }
}

TEST(Samples, ClonesKeepLayoutAndSharing) {
  bool some_shared = false, some_strided = false, some_offset = false;
  for (const auto& sample : shared()) {
    const c10::Stack copy = clone_args(sample);
    expect_same_args(sample.op, sample.args, copy);
    const auto from = tensors_of(sample.args), to = tensors_of(copy);
    for (size_t i = 0; i < from.size(); ++i) {
      some_strided |= !from[i].is_contiguous();
      some_offset |= from[i].storage_offset() != 0;
      for (size_t k = 0; k < from.size(); ++k) {
        EXPECT_FALSE(from[i].is_alias_of(to[k])) << sample.op;
        EXPECT_EQ(from[i].is_alias_of(from[k]), to[i].is_alias_of(to[k])) << sample.op;
        EXPECT_EQ(from[i].is_same(from[k]), to[i].is_same(to[k])) << sample.op;
        some_shared |= i != k && from[i].is_alias_of(from[k]);
      }
    }
  }
  EXPECT_TRUE(some_shared && some_strided && some_offset);
}

/// Ops that are neither random nor return uninitialized memory give the same bits twice. This also detects
/// samples that read uninitialized memory.
TEST(Samples, AreDeterministicUnlessMarked) {
  for (const auto& sample : shared()) {
    if (is_random(sample.op) || is_uninitialized(sample.op)) continue;
    const c10::Stack first = call(sample.op, clone_args(sample)),
                     second = call(sample.op, clone_args(sample));
    ASSERT_EQ(first.size(), second.size()) << sample.op;
    const auto a = tensors_of(first), b = tensors_of(second);
    for (size_t i = 0; i < a.size(); ++i) {
      if (!a[i].defined()) continue;
      EXPECT_TRUE(same_elements(a[i], b[i])) << sample.op << " result " << i;
    }
  }
}

TEST(Samples, BadRowsAreRefusedWithTheOp) {
  for (const char* row :
       {"no_such_op | f[3]", "relu | f[3] f[3]", "relu | q[3]", "relu | f[3]!", "add.Tensor | f[3]",
        "relu | other=f[3]", "relu | f[2]=(1,2,3)", "sum.dim_IntList | f[3] 0x"}) {
    std::vector<Sample> samples;
    try {
      read_table(row, 1, samples);
      ADD_FAILURE() << row << " was read";
    } catch (const std::invalid_argument& error) {
      const std::string op = std::string(row).substr(0, std::string(row).find(' '));
      EXPECT_NE(std::string(error.what()).find(op), std::string::npos) << error.what();
    }
  }
}

TEST(Samples, MarkRandomAndUninitialized) {
  for (const char* op :
       {"aten::bernoulli", "aten::rand", "aten::uniform_", "aten::native_dropout", "aten::randperm"})
    EXPECT_TRUE(is_random(op)) << op;
  for (const char* op :
       {"aten::add.Tensor", "aten::_scaled_dot_product_flash_attention_for_cpu", "aten::empty_like"})
    EXPECT_FALSE(is_random(op)) << op;
  for (const char* op : {"aten::empty.memory_format", "aten::new_empty", "aten::empty_like", "aten::resize_"})
    EXPECT_TRUE(is_uninitialized(op)) << op;
  EXPECT_FALSE(is_uninitialized("aten::zeros"));
}

}  // namespace
}  // namespace antegrad::samples
