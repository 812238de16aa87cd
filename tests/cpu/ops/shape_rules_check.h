#pragma once
#include <ATen/ATen.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/dispatch/Dispatcher.h>

#include <functional>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "capture/rules/rules.h"

namespace antegrad::capture::check {

using at::Tensor;
using c10::IValue;
using torch::jit::Stack;

inline c10::OperatorName op_name(const std::string& text) {
  auto dot = text.find('.');
  return dot == std::string::npos ? c10::OperatorName(text, "")
                                  : c10::OperatorName(text.substr(0, dot), text.substr(dot + 1));
}

/// Replaces every tensor of an argument, also inside lists.
inline IValue map_tensors(const IValue& value, const std::function<Tensor(const Tensor&)>& change) {
  if (value.isTensor()) return value.toTensor().defined() ? change(value.toTensor()) : value;
  if (value.isTensorList()) {
    c10::List<Tensor> list;
    for (const Tensor& each : value.toTensorVector()) list.push_back(change(each));
    return list;
  }
  if (value.isOptionalTensorList()) {
    c10::List<std::optional<Tensor>> list;
    for (const auto& each : value.toOptionalTensorVector()) list.push_back(each ? change(*each) : each);
    return list;
  }
  return value;
}

inline Stack map_stack(const Stack& stack, const std::function<Tensor(const Tensor&)>& change) {
  Stack result;
  for (const auto& value : stack) result.push_back(map_tensors(value, change));
  return result;
}

inline Tensor to_meta(const Tensor& x) {
  auto result = at::empty_strided(x.sizes(), x.strides(), x.options().device(at::kMeta));
  if (x.unsafeGetTensorImpl()->is_wrapped_number()) result.unsafeGetTensorImpl()->set_wrapped_number(true);
  return result;
}

inline Tensor copy_with_strides(const Tensor& x) {
  if (!x.is_non_overlapping_and_dense()) return x.detach();
  return at::empty_strided(x.sizes(), x.strides(), x.options()).copy_(x);
}

inline std::string describe(const Tensor& x) {
  std::ostringstream out;
  if (!x.defined()) return "undefined";
  out << x.scalar_type() << x.sizes() << "/" << x.strides();
  return out.str();
}

/// Describes the results as text: dtype, sizes and strides of tensors, and which argument a result is.
inline std::string describe(const Stack& results, const Stack& args) {
  std::ostringstream out;
  auto one = [&](const Tensor& x) {
    out << describe(x);
    for (size_t i = 0; i < args.size(); ++i) {
      if (x.defined() && args[i].isTensor() && args[i].toTensor().is_same(x)) out << " is argument " << i;
    }
    out << "; ";
  };
  for (const auto& result : results) {
    if (result.isTensor()) one(result.toTensor());
    if (result.isNone()) one(Tensor());
    if (result.isTensorList()) {
      for (const Tensor& each : result.toTensorVector()) one(each);
    }
  }
  return out.str();
}

struct Outcome {
  bool ran = false;      ///< the CPU kernel accepts the arguments
  std::string expected;  ///< the results of the CPU kernel
  std::string actual;    ///< the results of the rule
  Stack results;         ///< of the CPU kernel
};

inline Outcome compare(const c10::OperatorHandle& op, const std::function<void(Stack&)>& rule,
                       const Stack& args) {
  Outcome outcome;
  Stack real = map_stack(args, copy_with_strides);
  Stack results = real;
  at::AutoDispatchBelowADInplaceOrView below_autograd;
  try {
    op.callBoxed(&results);
  } catch (const std::exception&) {
    return outcome;
  }
  outcome.ran = true;
  outcome.expected = describe(results, real);
  outcome.results = results;
  Stack meta = map_stack(args, to_meta);
  Stack shapes = meta;
  try {
    rule(shapes);
    outcome.actual = describe(shapes, meta);
  } catch (const std::exception& error) {
    outcome.actual = std::string("threw ") + error.what();
  }
  return outcome;
}

/// Appends the schema's defaults to the given arguments.
inline std::optional<Stack> with_defaults(const c10::FunctionSchema& schema, Stack args) {
  for (size_t i = args.size(); i < schema.arguments().size(); ++i) {
    const auto& argument = schema.arguments()[i];
    if (argument.default_value()) {
      args.push_back(*argument.default_value());
    } else if (argument.type()->kind() == c10::TypeKind::OptionalType) {
      args.emplace_back();
    } else {
      return std::nullopt;
    }
  }
  return args;
}

/// Returns the call with other strides and dtypes: channels last, transposed memory, gaps, double, bfloat16.
inline std::vector<Stack> variants(const Stack& args) {
  auto channels_last = [](const Tensor& x) {
    if (x.dim() == 4) return x.contiguous(at::MemoryFormat::ChannelsLast);
    if (x.dim() == 5) return x.contiguous(at::MemoryFormat::ChannelsLast3d);
    return x;
  };
  auto transposed = [](const Tensor& x) {
    return x.dim() < 2 ? x : x.transpose(0, -1).contiguous().transpose(0, -1);
  };
  auto inner_transposed = [](const Tensor& x) {
    return x.dim() < 2 ? x : x.transpose(-2, -1).contiguous().transpose(-2, -1);
  };
  auto gaps = [](const Tensor& x) { return x.dim() < 1 ? x : at::stack({x, x}, -1).select(-1, 0); };
  auto as_double = [](const Tensor& x) { return x.scalar_type() == at::kFloat ? x.to(at::kDouble) : x; };
  auto as_bfloat16 = [](const Tensor& x) { return x.scalar_type() == at::kFloat ? x.to(at::kBFloat16) : x; };
  auto double_channels_last = [&](const Tensor& x) { return channels_last(as_double(x)); };
  std::vector<std::function<Tensor(const Tensor&)>> layouts = {channels_last, transposed, inner_transposed,
                                                               gaps};
  std::vector<Stack> result = {args, map_stack(args, as_double), map_stack(args, as_bfloat16),
                               map_stack(args, double_channels_last)};
  for (const auto& change : layouts) {
    result.push_back(map_stack(args, change));
    for (size_t i = 0; i < std::min<size_t>(args.size(), 3); ++i) {
      Stack one = args;
      one[i] = map_tensors(one[i], change);
      result.push_back(std::move(one));
    }
  }
  return result;
}

}  // namespace antegrad::capture::check
