#pragma once
#include "program/program_data.h"

namespace antegrad::program {

/// What copies of a Program share.
struct ProgramState {
  ProgramData data;
  uint64_t generation = 0;  ///< counts replacements of tensors
};

/// Runs the program op by op; leaves are those of leaves_of_call(). Buffers and arguments that the signature
/// names as written get their new contents at the end, so that the backward pass finds the old ones. Tensors
/// of `replaced` are used instead of those of the state.
c10::IValue run_program(const ProgramData& data, const std::vector<c10::IValue>& leaves,
                        const std::map<std::string, at::Tensor>& replaced = {});

/// The program in readable form.
std::string print_program(const ProgramData& data);
/// "f32[s0, 3]", "int", or a constant.
std::string type_of_leaf(const ProgramData& data, const Leaf& leaf);

/// Names of kinds of tensors, in order.
std::vector<std::string> names_of(const ProgramData& data, InputSpec::Kind kind,
                                  bool persistent_only = false);

}  // namespace antegrad::program
