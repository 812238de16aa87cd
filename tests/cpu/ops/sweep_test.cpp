// Every sampled overload, captured and run, against eager: types, results and argument state.
#include <ATen/core/dispatch/Dispatcher.h>
#include <antegrad/antegrad.h>

#include <map>
#include <set>

#include "aten/op_schema.h"
#include "capture/capture.h"
#include "samples/samples.h"
#include "support/closeness.h"
#include "support/seeds.h"

namespace antegrad {
namespace {

using samples::Sample;

/// Returns the tensors of a boxed stack in order, undefined ones included.
std::vector<at::Tensor> tensors_of(const std::vector<c10::IValue>& stack) {
  std::vector<at::Tensor> out;
  for (const auto& value : stack) {
    if (value.isTensor()) out.push_back(value.toTensor());
    if (value.isTensorList())
      for (const at::Tensor& t : value.toTensorVector()) out.push_back(t);
    if (value.isOptionalTensorList())
      for (const auto& t : value.toOptionalTensorVector()) out.push_back(t.value_or(at::Tensor()));
  }
  return out;
}

std::vector<c10::IValue> with_tensors(const std::vector<c10::IValue>& stack,
                                      const std::vector<at::Tensor>& tensors) {
  size_t next = 0;
  std::vector<c10::IValue> out;
  for (const auto& value : stack) {
    if (value.isTensor()) {
      out.emplace_back(tensors[next++]);
    } else if (value.isTensorList()) {
      c10::List<at::Tensor> list;
      for (size_t i = 0; i < value.toTensorVector().size(); ++i) list.push_back(tensors[next++]);
      out.emplace_back(list);
    } else if (value.isOptionalTensorList()) {
      c10::List<std::optional<at::Tensor>> list;
      for (const auto& t : value.toOptionalTensorVector()) {
        auto tensor = tensors[next++];
        list.push_back(t ? std::optional(tensor) : std::nullopt);
      }
      out.emplace_back(list);
    } else {
      out.push_back(value);
    }
  }
  return out;
}

std::vector<at::Tensor> call(const Sample& sample, const std::vector<at::Tensor>& tensors) {
  auto stack = with_tensors(sample.args, tensors);
  const auto keep = stack;  // LibTorch reads out= results after it has popped them off the stack
  const auto dot = sample.op.find('.');
  auto op = c10::Dispatcher::singleton().findSchemaOrThrow(
      sample.op.substr(0, dot).c_str(), dot == std::string::npos ? "" : sample.op.substr(dot + 1).c_str());
  op.callBoxed(stack);
  return tensors_of(stack);
}

std::string difference(const at::Tensor& eager, const at::Tensor& compiled) {
  if (eager.defined() != compiled.defined()) return "definedness";
  if (!eager.defined()) return "";
  if (eager.scalar_type() != compiled.scalar_type())
    return c10::str("dtype ", eager.scalar_type(), " / ", compiled.scalar_type());
  if (eager.sizes() != compiled.sizes()) return c10::str("sizes ", eager.sizes(), " / ", compiled.sizes());
  if (eager.numel() > 0 && eager.strides() != compiled.strides())
    return c10::str("strides ", eager.strides(), " / ", compiled.strides());
  return "";
}

/// Returns the results of a call, and its arguments after it.
std::vector<at::Tensor> results_of(const Sample& sample) {
  const auto arguments = tensors_of(samples::clone_args(sample));
  test::manual_seed(1);
  auto results = call(sample, arguments);
  results.insert(results.end(), arguments.begin(), arguments.end());
  for (auto& t : results)
    if (t.defined()) t = t.resolve_conj().resolve_neg();
  return results;
}

/// Compares compiled results with results_of(sample), in the same order.
std::string value_difference(const Sample& sample, std::vector<at::Tensor> compiled) {
  test::Reference reference([&] { return results_of(sample); });
  for (size_t i = 0; i < compiled.size(); ++i) {
    if (!compiled[i].defined()) continue;
    const auto mine = compiled[i].resolve_conj().resolve_neg();
    if (test::runs_libtorch_kernels()) {
      if (!test::same_bits(reference.values()[i], mine)) return c10::str("values of tensor ", i);
    } else if (auto difference = reference.difference(i, mine)) {
      return c10::str("values of tensor ", i, ": ", *difference);
    }
  }
  return "";
}

/// Returns what is wrong with one sample; "" when nothing is.
std::string check(const Sample& sample, bool values) {
  const auto for_eager = tensors_of(samples::clone_args(sample));
  const auto for_compiled = tensors_of(samples::clone_args(sample));
  test::manual_seed(1);
  const auto eager = call(sample, for_eager);
  Options options;
  options.verify = true;
  options.rng = Rng::Eager;
  auto compiled =
      compile([&](const std::vector<at::Tensor>& tensors) { return call(sample, tensors); }, options);
  test::manual_seed(1);
  const auto outputs = compiled(for_compiled);
  if (outputs.size() != eager.size()) return "number of outputs";
  for (size_t i = 0; i < eager.size(); ++i)
    if (auto what = difference(eager[i], outputs[i]); !what.empty())
      return c10::str("output ", i, ": ", what);
  for (size_t i = 0; i < for_eager.size(); ++i) {
    if (auto what = difference(for_eager[i], for_compiled[i]); !what.empty())
      return c10::str("argument ", i, " afterwards: ", what);
    if (for_eager[i].defined() && for_eager[i]._version() != for_compiled[i]._version())
      return c10::str("argument ", i, ": version ", for_eager[i]._version(), " / ",
                      for_compiled[i]._version());
  }
  if (!values) return "";
  auto all = outputs;
  all.insert(all.end(), for_compiled.begin(), for_compiled.end());
  return value_difference(sample, std::move(all));
}

/// Checks that the types in the captured graph are those of eager's results.
std::string check_types(const Sample& sample) {
  const auto inputs = tensors_of(samples::clone_args(sample));
  auto trace =
      capture::capture([&](const std::vector<at::Tensor>& tensors) { return call(sample, tensors); }, inputs);
  const auto eager = call(sample, inputs);
  for (size_t i = 0; i < eager.size(); ++i) {
    const auto value = trace.output_ends.at(i).value;
    if (!value.valid() || !eager[i].defined()) {
      if (value.valid() != eager[i].defined()) return c10::str("type of output ", i, ": definedness");
      continue;
    }
    const auto& type = trace.graph.tensor_type(value);
    std::vector<int64_t> sizes;
    std::vector<int64_t> strides;
    for (const auto& dim : type.sizes) sizes.push_back(dim.constant());
    for (const auto& dim : type.strides) strides.push_back(dim.constant());
    if (eager[i].sizes() != sizes)
      return c10::str("type of output ", i, ": sizes ", eager[i].sizes(), " / ", sizes);
    if (eager[i].numel() > 0 && eager[i].strides() != strides)
      return c10::str("type of output ", i, ": strides ", eager[i].strides(), " / ", strides);
  }
  return "";
}

TEST(Sweep, CapturedTypesAndResultsEqualEager) {
  at::NoGradGuard no_grad;
  std::set<std::string> ops;
  std::map<std::string, std::string> wrong;
  size_t count = 0;
  for (const auto& sample : samples::make(7)) {
    const bool values = !samples::is_uninitialized(sample.op);
    std::string what;
    try {
      what = check(sample, values);
      if (what.empty()) what = check_types(sample);
    } catch (const std::exception& error) {
      what = std::string("threw ") + std::string(error.what()).substr(0, 300);
    }
    ops.insert(sample.op);
    ++count;
    if (!what.empty()) wrong.emplace(sample.op, what);
  }
  for (const auto& [op, what] : wrong) ADD_FAILURE() << op << ": " << what;
  RecordProperty("samples", static_cast<int>(count));
  EXPECT_GE(ops.size(), 400u) << "distinct overloads";
}

}  // namespace
}  // namespace antegrad
