#include <fmt/format.h>

#include <algorithm>

#include "antegrad/error.h"
#include "antegrad/grad.h"
#include "antegrad/program.h"
#include "c/callable.h"
#include "c/trainer.h"

namespace antegrad::c {
namespace {

std::vector<at::Tensor> leaves_of(const c10::IValue& result) {
  Leaves leaves;
  flatten(result, leaves);
  return {leaves.tensors.begin(), leaves.tensors.end()};
}

/// Returns all tensors in the result of a program.
std::vector<at::Tensor> run_leaves(const Program& program, const std::vector<at::Tensor>& inputs) {
  return leaves_of(program({inputs.begin(), inputs.end()}));
}

/// Returns the value, then the gradients with respect to the variables.
std::vector<at::Tensor> value_then_gradients(const detail::Variables& variables,
                                             const std::vector<at::Tensor>& results) {
  if (results.size() != 1)
    throw Error(ErrorCode::InvalidArgument, "c:gradients",
                fmt::format("the program returns {} tensors", results.size()),
                "Only a program that returns one tensor of one element has a gradient here");
  auto out = variables.gradients_of(results[0]);
  out.insert(out.begin(), variables.result(results[0]));
  return out;
}

/// Returns the value, then the gradients.
std::vector<at::Tensor> differentiate_program(const Program& program, std::vector<at::Tensor> inputs,
                                              const std::vector<int64_t>& wanted) {
  Leaves leaves;
  for (const auto place : wanted) leaves.tensors.push_back(inputs[place]);
  const detail::Variables variables(leaves);
  for (size_t i = 0; i < wanted.size(); ++i) inputs[wanted[i]] = variables.tensors()[i];
  return value_then_gradients(variables, run_leaves(program, inputs));
}

/// The same with respect to parameters, which are passed so that they are variables. Names of one tensor
/// (tied parameters) follow each other in `names`, `counts` says how many do.
std::vector<at::Tensor> differentiate_state(const Program& program, const std::vector<at::Tensor>& inputs,
                                            const std::vector<std::string>& names,
                                            const std::vector<int64_t>& counts,
                                            const std::vector<at::Tensor>& parameters) {
  Leaves leaves;
  for (const auto& parameter : parameters) leaves.tensors.push_back(parameter);
  const detail::Variables variables(leaves);
  std::map<std::string, at::Tensor> replaced;
  for (size_t i = 0, next = 0; i < parameters.size(); ++i)
    for (int64_t k = 0; k < counts[i]; ++k) replaced[names[next++]] = variables.tensors()[i];
  return value_then_gradients(variables, leaves_of(detail::ProgramForward::with_parameters(
                                             program, {inputs.begin(), inputs.end()}, replaced)));
}

State state_of(const Program& program) {
  auto out = program.named_parameters();
  const auto buffers = program.named_buffers();
  out.insert(out.end(), buffers.begin(), buffers.end());
  return out;
}

ValueAndGradients split(std::vector<at::Tensor> results) {
  ValueAndGradients out{std::move(results[0]), {}};
  out.gradients.assign(std::make_move_iterator(results.begin() + 1), std::make_move_iterator(results.end()));
  return out;
}

class ProgramFunction : public antegrad_function {
 public:
  ProgramFunction(Program program, const Options& options)
      : program_(std::move(program)),
        state_(state_of(program_)),
        run_(run_leaves, options),
        differentiate_(differentiate_program, options),
        differentiate_state_(differentiate_state, options) {}

  std::vector<at::Tensor> call(std::vector<at::Tensor> inputs) const override {
    return run_(program_, inputs);
  }

  ValueAndGradients value_and_gradients(std::vector<at::Tensor> inputs,
                                        const std::vector<int64_t>& wanted) const override {
    return split(differentiate_(program_, inputs, wanted));
  }

  const State& state() const override { return state_; }

  ValueAndGradients value_and_state_gradients(std::vector<at::Tensor> inputs,
                                              const std::vector<std::string>& names) const override {
    const auto parameters = program_.named_parameters();
    std::vector<std::string> all_names;
    std::vector<int64_t> counts;
    std::vector<at::Tensor> tensors;
    for (const auto& name : names) {
      const auto found = std::find_if(parameters.begin(), parameters.end(),
                                      [&](const auto& parameter) { return parameter.first == name; });
      if (found == parameters.end())
        throw Error(ErrorCode::InvalidArgument, "c:gradients",
                    fmt::format("the program has no parameter \"{}\"", name),
                    "antegrad_state_name() gives the names");
      tensors.push_back(found->second);
      counts.push_back(0);
      for (const auto& [other, tensor] : parameters)
        if (tensor.is_same(found->second)) {
          all_names.push_back(other);
          ++counts.back();
        }
    }
    return split(differentiate_state_(program_, inputs, all_names, counts, tensors));
  }

  void save(const std::string& path) const override { program_.save(path); }

  std::unique_ptr<antegrad_trainer> trainer(const std::string& optimizer,
                                            const Options& options) const override {
    auto sized = options;
    if (sized.dynamic_sizes.empty()) sized.dynamic_sizes = program_.dynamic_sizes();
    return make_trainer(program_, optimizer, sized);
  }

 private:
  Program program_;
  State state_;
  detail::WithoutHistory<decltype(&run_leaves)> run_;
  detail::WithoutHistory<decltype(&differentiate_program)> differentiate_;
  detail::WithoutHistory<decltype(&differentiate_state)> differentiate_state_;
};

}  // namespace

std::unique_ptr<antegrad_function> load_program_file(const std::string& path, const Options& options) {
  auto program = load_program(path);
  for (const auto& parameter : program.parameters()) parameter.set_requires_grad(false);
  auto sized = options;
  if (sized.dynamic_sizes.empty()) sized.dynamic_sizes = program.dynamic_sizes();
  return std::make_unique<ProgramFunction>(std::move(program), sized);
}

}  // namespace antegrad::c
