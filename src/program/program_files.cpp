#include <ATen/Functions.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "antegrad/error.h"
#include "antegrad/program.h"
#include "program/program_state.h"
#include "program/tensor_file.h"

namespace antegrad {
namespace program {
namespace {

/// What Python's state_dict() has.
TensorsByName saved_tensors(const ProgramData& data) {
  TensorsByName out;
  for (const auto kind : {InputSpec::Kind::Parameter, InputSpec::Kind::Buffer})
    for (const auto& name : names_of(data, kind, true)) out[name] = data.state.at(name).tensor;
  return out;
}

bool is_safetensors(const std::string& path) {
  const std::string end = ".safetensors";
  return path.size() >= end.size() && path.compare(path.size() - end.size(), end.size(), end) == 0;
}

}  // namespace
}  // namespace program

void Program::load_state(const std::string& path) const {
  const auto source = program::file_source(path);
  const auto given =
      program::is_safetensors(path) ? program::read_safetensors(source) : program::read_state_dict(source);
  const auto own = program::saved_tensors(state_->data);
  for (const auto& [name, tensor] : own) {
    const auto found = given.find(name);
    const auto fail = [&](const std::string& fact, const std::string& way_out) {
      throw Error(ErrorCode::InvalidArgument, "program:load_state", fmt::format("\"{}\" {}", path, fact),
                  way_out);
    };
    if (found == given.end())
      fail(fmt::format("has no tensor \"{}\"", name),
           "Give it the names that save_state() writes, which are those of the exported module's "
           "state_dict()");
    if (found->second.sizes() != tensor.sizes() || found->second.scalar_type() != tensor.scalar_type())
      fail(fmt::format("has \"{}\" as {}[{}], and the program has it as {}[{}]", name,
                       c10::toString(found->second.scalar_type()), fmt::join(found->second.sizes(), ", "),
                       c10::toString(tensor.scalar_type()), fmt::join(tensor.sizes(), ", ")),
           "Convert the tensor in the file, or export the module with such a tensor");
  }
  for (const auto& [name, tensor] : given)
    if (own.count(name) == 0)
      throw Error(ErrorCode::InvalidArgument, "program:load_state",
                  fmt::format("\"{}\" has \"{}\", which the program does not have", path, name),
                  "Remove it from the file, or rename it to the tensor of the program that it is for");
  const at::NoGradGuard no_grad;
  for (const auto& [name, tensor] : own) tensor.copy_(given.at(name));
}

void Program::save_state(const std::string& path) const {
  const auto tensors = program::saved_tensors(state_->data);
  if (program::is_safetensors(path))
    program::write_safetensors(path, tensors);
  else
    program::write_state_dict(path, tensors);
}

}  // namespace antegrad
