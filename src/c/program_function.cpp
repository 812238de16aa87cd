#include <fmt/format.h>

#include "antegrad/error.h"
#include "antegrad/grad.h"
#include "antegrad/program.h"
#include "c/callable.h"

namespace antegrad::c {
namespace {

/// Returns all tensors in the result of a program.
std::vector<at::Tensor> run_leaves(const Program& program, const std::vector<at::Tensor>& inputs) {
  Leaves leaves;
  flatten(program(std::vector<c10::IValue>(inputs.begin(), inputs.end())), leaves);
  return {leaves.tensors.begin(), leaves.tensors.end()};
}

/// Returns the value, then the gradients.
std::vector<at::Tensor> differentiate_program(const Program& program, std::vector<at::Tensor> inputs,
                                              const std::vector<int64_t>& wanted) {
  Leaves leaves;
  for (const auto place : wanted) leaves.tensors.push_back(inputs[static_cast<size_t>(place)]);
  const detail::Variables variables(leaves);
  for (size_t i = 0; i < wanted.size(); ++i) inputs[static_cast<size_t>(wanted[i])] = variables.tensors()[i];
  const auto results = run_leaves(program, inputs);
  if (results.size() != 1)
    throw Error(ErrorCode::InvalidArgument, "c:gradients",
                fmt::format("the program returns {} tensors", results.size()),
                "Only a program that returns one tensor of one element has a gradient here");
  auto out = variables.gradients_of(results[0]);
  out.insert(out.begin(), variables.result(results[0]));
  return out;
}

class ProgramFunction : public antegrad_function {
 public:
  ProgramFunction(Program program, const Options& options)
      : program_(std::move(program)),
        run_(run_leaves, options),
        differentiate_(differentiate_program, options) {}

  std::vector<at::Tensor> call(std::vector<at::Tensor> inputs) const override {
    return run_(program_, inputs);
  }

  ValueAndGradients value_and_gradients(std::vector<at::Tensor> inputs,
                                        const std::vector<int64_t>& wanted) const override {
    auto results = differentiate_(program_, inputs, wanted);
    ValueAndGradients out{std::move(results[0]), {}};
    out.gradients.assign(std::make_move_iterator(results.begin() + 1),
                         std::make_move_iterator(results.end()));
    return out;
  }

 private:
  Program program_;
  detail::WithoutHistory<decltype(&run_leaves)> run_;
  detail::WithoutHistory<decltype(&differentiate_program)> differentiate_;
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
