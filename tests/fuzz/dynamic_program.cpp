#include "fuzz/dynamic_program.h"

#include <ATen/ATen.h>
#include <c10/util/StringUtil.h>

#include <algorithm>

#include "fuzz/dynamic_op.h"
#include "support/device.h"

namespace antegrad::fuzz {
namespace {

using at::Tensor;

/// Calls `make` for memory in which a tensor of `sizes` has the input's layout, and returns that tensor.
template <typename Make>
Tensor laid_out(const DynamicInput& input, Ints sizes, const Make& make) {
  const auto dim = static_cast<size_t>(input.dim);
  const auto last = sizes.size() - 1;
  switch (sizes.empty() ? DynamicLayout::Contiguous : input.layout) {
    case DynamicLayout::Transposed:
      std::swap(sizes[dim], sizes[last]);
      return make(sizes).transpose(input.dim, static_cast<int64_t>(last));
    case DynamicLayout::Narrowed: {
      const auto size = sizes[dim];
      sizes[dim] += 3;
      return make(sizes).narrow(input.dim, 1, size);
    }
    case DynamicLayout::Strided:
      sizes[dim] *= 2;
      return make(sizes).slice(input.dim, 0, std::nullopt, 2);
    case DynamicLayout::Expanded: {
      auto small = sizes;
      small[dim] = std::min<int64_t>(small[dim], 1);
      return make(small).expand(sizes);
    }
    case DynamicLayout::ChannelsLast:
      if (sizes.size() == 4) return make(sizes).contiguous(at::MemoryFormat::ChannelsLast);
      return make(sizes);
    default:
      return make(sizes);
  }
}

const char* name(DynamicLayout layout) {
  switch (layout) {
    case DynamicLayout::Transposed:
      return "transposed";
    case DynamicLayout::Narrowed:
      return "narrowed";
    case DynamicLayout::Strided:
      return "strided";
    case DynamicLayout::Expanded:
      return "expanded";
    case DynamicLayout::ChannelsLast:
      return "channels_last";
    default:
      return "contiguous";
  }
}

std::string to_string(const SizeForm& form) {
  if (form.symbol < 0) return std::to_string(form.offset);
  const std::string symbol(1, "nmp"[form.symbol]);
  return (form.factor == 1 ? symbol : c10::str(form.factor, symbol)) +
         (form.offset == 0 ? "" : c10::str("+", form.offset));
}

std::string to_string(const DynamicInput& input) {
  std::string text = input.bound > 0 ? c10::str("whole numbers below ", input.bound, " [") : "input [";
  for (size_t d = 0; d < input.sizes.size(); ++d) text += (d > 0 ? ", " : "") + to_string(input.sizes[d]);
  text += c10::str("] ", name(input.layout));
  if (input.layout != DynamicLayout::Contiguous) text += c10::str(" at dim ", input.dim);
  if (input.gradient && input.bound == 0) text += input.leaf ? ", gradient" : ", gradient, a copy";
  return text;
}

/// Steps that an output needs for its sizes alone count unless `data_only`.
std::vector<bool> needed_steps(const DynamicProgram& program, bool data_only) {
  std::vector<bool> needed(program.steps.size(), false);
  for (const int output : program.outputs) needed[static_cast<size_t>(output)] = true;
  for (size_t i = program.steps.size(); i-- > 0;) {
    const auto& step = program.steps[i];
    if (step.op != nullptr && step.op->writes) needed[i] = true;
    if (needed[i] && !(data_only && step.op != nullptr && step.op->counts))
      for (const int arg : step.args) needed[static_cast<size_t>(arg)] = true;
  }
  return needed;
}

}  // namespace

int64_t SizeForm::at(const Assignment& values) const {
  return symbol < 0 ? offset : factor * values[static_cast<size_t>(symbol)] + offset;
}

Tensor make_input(const DynamicInput& input, at::ScalarType dtype, const Assignment& sizes, uint64_t seed) {
  Ints concrete;
  for (const auto& form : input.sizes) concrete.push_back(form.at(sizes));
  auto generator = at::detail::createCPUGenerator(seed);
  return laid_out(input, concrete, [&](const Ints& all) {
    if (input.bound == 0) return at::randn(all, generator, at::kDouble).to(dtype).to(test::device());
    return at::randint(0, input.bound, all, generator, at::kLong).to(test::device());
  });
}

DynamicInputs make_inputs(const DynamicProgram& program, const Assignment& sizes, uint64_t salt) {
  DynamicInputs out;
  for (const auto& step : program.steps) {
    if (step.op != nullptr) continue;
    const auto seed = program.seed * 1000 + salt * 10 + out.inputs.size();
    auto input = make_input(step.input, program.dtype, sizes, seed);
    if (step.input.gradient && step.input.bound == 0) {
      input.set_requires_grad(true);
      out.leaves.push_back(input);
      if (!step.input.leaf) input = input.clone();
    }
    out.inputs.push_back(std::move(input));
  }
  return out;
}

Tensors run_all(const DynamicProgram& program, const Tensors& inputs, size_t* reached) {
  Tensors variables;
  size_t next = 0;
  for (const auto& step : program.steps) {
    if (reached != nullptr) *reached = variables.size();
    Tensors args;
    for (const int arg : step.args) args.push_back(variables[static_cast<size_t>(arg)]);
    variables.push_back(step.op == nullptr ? inputs[next++] : step.op->apply(args, step.ints));
  }
  return variables;
}

Tensors run(const DynamicProgram& program, const Tensors& inputs) {
  const auto variables = run_all(program, inputs);
  Tensors outputs;
  for (const int output : program.outputs) outputs.push_back(variables[static_cast<size_t>(output)]);
  return outputs;
}

std::vector<bool> live_steps(const DynamicProgram& program) { return needed_steps(program, true); }

DynamicProgram without_dead_steps(const DynamicProgram& program) {
  const auto needed = needed_steps(program, false);
  auto out = program;
  out.steps.clear();
  out.outputs.clear();
  std::vector<int> renamed(program.steps.size(), -1);
  for (size_t i = 0; i < program.steps.size(); ++i) {
    if (!needed[i]) continue;
    renamed[i] = static_cast<int>(out.steps.size());
    auto step = program.steps[i];
    for (int& arg : step.args) arg = renamed[static_cast<size_t>(arg)];
    out.steps.push_back(std::move(step));
  }
  for (const int output : program.outputs) out.outputs.push_back(renamed[static_cast<size_t>(output)]);
  return out;
}

std::string sizes_text(const Assignment& sizes) {
  std::string text;
  for (size_t s = 0; s < sizes.size(); ++s) text += c10::str(s > 0 ? ", " : "", "nmp"[s], " = ", sizes[s]);
  return text;
}

std::string to_string(const DynamicProgram& program) {
  std::string text = c10::str("seed ", program.seed, ", ", c10::toString(program.dtype),
                              program.second_order ? ", second order\n" : "\n");
  for (size_t i = 0; i < program.steps.size(); ++i) {
    const auto& step = program.steps[i];
    text += c10::str("  v", i, " = ", step.op != nullptr ? step.op->name : to_string(step.input));
    if (step.op != nullptr) text += "(";
    for (size_t a = 0; a < step.args.size(); ++a) text += c10::str(a > 0 ? ", v" : "v", step.args[a]);
    for (size_t k = 0; k < step.ints.size(); ++k) text += c10::str(k > 0 ? ", " : "; ", step.ints[k]);
    text += step.op != nullptr ? ")\n" : "\n";
  }
  text += "  return";
  for (const int output : program.outputs) text += c10::str(" v", output);
  text += "\n  called with";
  for (const auto& call : program.calls) text += " (" + sizes_text(call) + ")";
  return text + "\n";
}

}  // namespace antegrad::fuzz
