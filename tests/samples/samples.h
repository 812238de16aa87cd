#pragma once
#include <ATen/core/boxing/BoxedKernel.h>
#include <ATen/core/ivalue.h>

#include <cstdint>
#include <string>
#include <vector>

namespace antegrad::samples {

/// A valid call of one ATen overload.
struct Sample {
  std::string op;                 ///< "aten::add.Tensor", "aten::relu"
  std::vector<c10::IValue> args;  ///< the whole boxed stack, defaults included
};

/// Returns samples for every overload in the table, the same for the same seed, with tensors on the CPU. Each
/// call makes new tensors, since in-place samples write to their arguments.
std::vector<Sample> make(uint64_t seed);

/// Calls of overloads that decompose above autograd, so that a capture records the ops that they decompose
/// into.
std::vector<Sample> make_composites(uint64_t seed);

/// Returns a deep copy of the arguments, with the same strides and offsets, and the same storages and tensors
/// shared within the sample.
c10::Stack clone_args(const Sample& sample);

/// Calls the overload boxed, without gradients, and returns its results. `args` must outlive the call:
/// LibTorch's boxed wrapper of an overload with several out= results reads them after it has popped them off
/// the stack.
c10::Stack call(const std::string& op, const c10::Stack& args);

/// Whether the overload draws random numbers, so that only the metadata of its results can be compared.
bool is_random(const std::string& op);

/// Whether the values of the results are unspecified (`empty`, `new_empty`, `resize_`, ...).
bool is_uninitialized(const std::string& op);

}  // namespace antegrad::samples
