#include <fmt/format.h>
#include <torch/csrc/jit/serialization/import.h>

#include <cerrno>
#include <cstring>
#include <fstream>

#include "antegrad/error.h"
#include "antegrad/grad.h"
#include "antegrad/jit.h"
#include "c/callable.h"

namespace antegrad::c {
namespace {

using Tensors = std::vector<at::Tensor>;
using torch::jit::Module;

/// Returns all tensors in the result of forward().
Tensors forward(const Module& module, const Tensors& inputs) {
  const std::vector<c10::IValue> arguments(inputs.begin(), inputs.end());
  Leaves leaves;
  flatten(detail::ScriptForward()(module, arguments), leaves);
  return Tensors(leaves.tensors.begin(), leaves.tensors.end());
}

/// Returns the value, then the gradients.
Tensors differentiate(const Module& module, Tensors inputs, const std::vector<int64_t>& wanted) {
  Leaves leaves;
  for (const auto place : wanted) leaves.tensors.push_back(inputs[place]);
  const detail::Variables variables(leaves);
  for (size_t i = 0; i < wanted.size(); ++i) inputs[wanted[i]] = variables.tensors()[i];
  const auto results = forward(module, inputs);
  if (results.size() != 1)
    throw Error(ErrorCode::InvalidArgument, "c:gradients",
                fmt::format("forward() returns {} tensors", results.size()),
                "Only a function that returns one tensor of one element has a gradient here");
  auto out = variables.gradients_of(results[0]);
  out.insert(out.begin(), variables.result(results[0]));
  return out;
}

class ScriptFunction : public antegrad_function {
 public:
  ScriptFunction(Module module, const Options& options)
      : module_(std::move(module)), forward_(forward, options), differentiate_(differentiate, options) {
    const auto& schema = module_.get_method("forward").function().getSchema();
    most_inputs_ = schema.arguments().size() - 1;  // the first one is the module
    for (const auto& argument : schema.arguments()) fewest_inputs_ += !argument.default_value().has_value();
    --fewest_inputs_;
  }

  Tensors call(Tensors inputs) const override {
    check_count(inputs);
    return forward_(module_, inputs);
  }

  ValueAndGradients value_and_gradients(Tensors inputs, const std::vector<int64_t>& wanted) const override {
    check_count(inputs);
    auto results = differentiate_(module_, inputs, wanted);
    ValueAndGradients out{std::move(results[0]), {}};
    out.gradients.assign(std::make_move_iterator(results.begin() + 1),
                         std::make_move_iterator(results.end()));
    return out;
  }

 private:
  void check_count(const Tensors& inputs) const {
    if (inputs.size() >= fewest_inputs_ && inputs.size() <= most_inputs_) return;
    throw Error(ErrorCode::InvalidArgument, "c:call",
                fmt::format("{} inputs were given where forward() takes {}", inputs.size(), most_inputs_),
                "Pass one tensor per argument");
  }

  Module module_;
  size_t fewest_inputs_ = 0, most_inputs_ = 0;
  detail::WithoutHistory<decltype(&forward)> forward_;
  detail::WithoutHistory<decltype(&differentiate)> differentiate_;
};

/// Returns the first line without its full stop.
std::string first_line(const std::string& text) {
  const auto line = text.substr(0, text.find('\n'));
  return line.substr(0, line.find_last_not_of(". ") + 1);
}

}  // namespace

std::unique_ptr<antegrad_function> load_script(const std::string& path, const Options& options) {
  std::ifstream file(path, std::ios::binary);
  if (!file || file.peek() == std::ifstream::traits_type::eof())
    throw Error(
        ErrorCode::Io, "c:load",
        fmt::format("cannot read \"{}\": {}", path, file.is_open() ? "it is empty" : std::strerror(errno)),
        "Name a file that torch::jit::Module::save() or torch.jit.save() has written");
  Module module;
  try {
    module = torch::jit::load(file);
  } catch (const std::exception& error) {
    throw Error(ErrorCode::Parse, "c:load",
                fmt::format("\"{}\" is no TorchScript file: {}", path, first_line(error.what())),
                "Name a file that torch::jit::Module::save() or torch.jit.save() has written");
  }
  if (!module.find_method("forward"))
    throw Error(ErrorCode::Parse, "c:load", fmt::format("the module in \"{}\" has no forward()", path),
                "Give it one");
  module.eval();
  for (const auto& parameter : module.parameters()) parameter.set_requires_grad(false);
  return std::make_unique<ScriptFunction>(std::move(module), options);
}

}  // namespace antegrad::c
