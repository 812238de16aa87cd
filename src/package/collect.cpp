#include "package/collect.h"

#include <c10/util/Exception.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "antegrad/error.h"
#include "aten/generators.h"
#include "compiler/cache/system_key.h"
#include "runtime/calling.h"

namespace antegrad::packaging {
namespace {

using compiler::InstancePtr;
using compiler::Version;

/// Whether what the version captured is still there and as it was.
bool is_current(const Version& version) {
  const auto& guards = version.guards();
  return !version.dead() && (guards.modules == nullptr || guards.modules->difference_of_contents().empty());
}

void check_guards(const Version& version, const std::string& what) {
  const auto& guards = version.guards();
  const auto check = [&](const runtime::TensorGuard& guard) {
    if (guard.names_grad())
      refuse_function(what, "it reads the .grad of a tensor", "Pass the gradient as an argument");
    if (!guard.is_on_cpu())
      refuse_function(what, "it has tensors on another device than the CPU", "Package functions on the CPU");
  };
  if (guards.frozen() > 0)
    refuse_function(what, "what it captures are constants of its code (Options::freeze)",
                    "Compile it without Options::freeze: the weights of a package can be replaced");
  for (const auto& guard : guards.arguments) check(guard);
  for (const auto& lifted : guards.lifted) check(lifted.guard);
  for (const auto& base : guards.bases) check(base.guard);
}

/// Bodies of regions are compiled by functions of their own, which packages do not hold.
void check_regions(const Version& version, const std::string& what) {
  if (version.is_eager()) return;
  for (const auto& node : version.compiled().captured().nodes)
    if (node.op.starts_with("antegrad.region."))
      refuse_function(
          what, fmt::format("it contains a region ({})", node.op),
          "Package functions without cond(), while_loop(), scan(), map(), region() and checkpoint()");
}

/// Instances that differ in nothing but sizes, by the numbers that they were called with.
std::map<std::vector<int64_t>, std::vector<InstancePtr>> by_numbers(const Version& version) {
  std::map<std::vector<int64_t>, std::vector<InstancePtr>> groups;
  const auto sizes = static_cast<int64_t>(version.guards().size_symbols());
  for (const auto& instance : version.all_instances())
    groups[{instance->symbols.begin() + sizes, instance->symbols.end()}].push_back(instance);
  return groups;
}

bool has_sizes(const aot::Signature& signature) {
  return !signature.shared.empty() || !signature.apart.empty() ||
         std::any_of(signature.steps.begin(), signature.steps.end(),
                     [](const aot::Step& step) { return std::holds_alternative<aot::MakeView>(step); });
}

/// Whether the calling convention is the same at all sizes. Numbers in it may be sizes; they are not if they
/// stay the same while every symbol changes.
bool is_same_at_all_sizes(const std::vector<InstancePtr>& instances) {
  const auto& first = *instances.front();
  for (const auto& step : first.caller->signature().steps)
    if (std::holds_alternative<aot::MakeBase>(step) || std::holds_alternative<aot::ResizeInput>(step))
      return false;
  if (!first.caller->signature().fixed_offsets.empty()) return false;
  if (std::ranges::any_of(instances, [](const auto& instance) { return !instance->reach.empty(); }))
    return false;
  for (const auto& instance : instances)
    if (!(instance->caller->signature() == first.caller->signature())) return false;
  if (!has_sizes(first.caller->signature())) return true;
  for (size_t s = 0; s < first.symbols.size(); ++s)
    if (std::all_of(instances.begin(), instances.end(),
                    [&](const InstancePtr& instance) { return instance->symbols[s] == first.symbols[s]; }))
      return false;
  return true;
}

std::string text_of(const std::exception_ptr& error) {
  if (!error) return {};
  try {
    std::rethrow_exception(error);
  } catch (const c10::Error& thrown) {
    return thrown.what_without_backtrace();
  } catch (const std::exception& thrown) {
    return thrown.what();
  } catch (...) {
    return "an exception of another type";
  }
}

InstanceRecord record_of(const compiler::Instance& instance, size_t sizes) {
  InstanceRecord out;
  out.symbols.assign(instance.values.begin(), instance.values.begin() + static_cast<int64_t>(sizes));
  out.numbers.assign(instance.values.begin() + static_cast<int64_t>(sizes), instance.values.end());
  out.offsets = instance.offsets;
  out.signature = instance.caller->signature();
  out.grad_mode_after = instance.grad_mode_after;
  out.has_assumptions = instance.has_assumptions;
  out.reach = instance.reach;
  if (const auto& backward = instance.caller->backward()) {
    auto& record = out.backward.emplace();
    record.facts = backward->facts();
    record.differentiable_twice = record.facts.higher_order != nullptr;
    for (const auto& error : record.facts.errors) record.errors.push_back(text_of(error));
    record.facts.errors.clear();
    record.facts.higher_order = nullptr;
  }
  return out;
}

Structure structure_of(const compiler::Instance& instance, const FunctionToPackage& function,
                       const std::string& what) {
  if (instance.structure == nullptr || !instance.structure->problem.empty())
    refuse_function(what, instance.structure ? instance.structure->problem : "its arguments are not known",
                    "Use tensors, numbers, texts, and structs, lists and maps of these");
  Structure out;
  for (const auto& argument : instance.structure->arguments)
    if (argument) out.arguments.push_back(*argument);
  if (function.list_of_arguments && out.arguments.size() == 1 && out.arguments[0].isList())
    out.arguments = out.arguments[0].toListRef().vec();
  out.result = instance.structure->result;
  return out;
}

/// The name of a captured tensor in the graph; "" for one that is not there.
std::string name_in_graph(const Version& version, size_t lifted) {
  const auto& signature = version.newest_instance()->caller->signature();
  const auto slot = signature.inputs - static_cast<int32_t>(version.guards().lifted.size() - lifted);
  const auto& inputs = version.compiled().plan().forward_graph().inputs;
  for (size_t i = 0; i < inputs.size() && i < signature.graph_inputs.size(); ++i)
    if (signature.graph_inputs[i] == slot) return inputs[i].name;
  return {};
}

/// The guards of a version, for people.
std::vector<std::string> guards_text(const VersionRecord& record) {
  std::vector<std::string> out;
  for (size_t i = 0; i < record.arguments.size(); ++i) {
    const auto& guard = record.arguments[i];
    if (!guard.is_plain()) continue;
    std::string sizes = fmt::format("{}", fmt::join(guard.sizes(), ", "));
    if (record.shapes && i < record.shapes->tensors.size()) {
      sizes.clear();
      for (const auto& size : record.shapes->tensors[i].sizes)
        sizes += (sizes.empty() ? "" : ", ") + size.to_string();
    }
    out.push_back(fmt::format("tensor {} is {}[{}]{}", i, c10::toString(guard.dtype()), sizes,
                              guard.requires_grad() ? ", requires a gradient" : ""));
  }
  if (record.shapes)
    for (size_t s = 0; s < record.shapes->symbols.size(); ++s) {
      const auto& range = record.shapes->symbols[s].range;
      out.push_back(fmt::format("s{} is in [{}, {}]", s, range.lower, range.upper));
    }
  if (record.shapes && !record.any_size) {
    std::vector<std::string> sizes;
    for (const auto& instance : record.instances)
      sizes.push_back(fmt::format("({})", fmt::join(instance.symbols, ", ")));
    out.push_back(fmt::format("sizes are one of {}", fmt::join(sizes, ", ")));
  }
  out.push_back(record.ambient.grad_mode ? "grad mode is on" : "grad mode is off");
  return out;
}

/// The cases of the backward pass that are compiled for a package in any event: all tangents, and the tangent
/// of each of the results in `single` alone.
std::vector<runtime::BackwardCase> likely_cases(const runtime::Caller& caller,
                                                const std::vector<int32_t>& single) {
  if (!caller.backward()) return {};
  const auto gradients = caller.backward()->gradients().size();
  const auto tangents = caller.backward()->tangent_types().size();
  std::vector<runtime::BackwardCase> cases{runtime::BackwardCase(gradients + tangents, true)};
  std::map<int32_t, int32_t> tangent_of;  // by result
  int32_t output = 0;
  for (const auto& step : caller.signature().steps) {
    if (const auto* attach = std::get_if<aot::Attach>(&step))
      if (attach->source.kind == aot::Source::Kind::Result)
        tangent_of[attach->source.index] = attach->tangent;
    const auto* made = std::get_if<aot::MakeOutput>(&step);
    if (made == nullptr) continue;
    const bool wanted = std::find(single.begin(), single.end(), output++) != single.end();
    const auto tangent =
        tangent_of.find(made->source.kind == aot::Source::Kind::Result ? made->source.index : -1);
    if (!wanted || tangent == tangent_of.end() || tangents == 1) continue;
    auto& which = cases.emplace_back(gradients + tangents, false);
    std::fill(which.begin(), which.begin() + static_cast<int64_t>(gradients), true);
    which[gradients + static_cast<size_t>(tangent->second)] = true;
  }
  return cases;
}

/// What tells versions apart at a call.
std::string call_key(const VersionRecord& record) {
  VersionRecord key;
  key.structure.arguments = record.structure.arguments;
  key.ambient = record.ambient;
  key.arguments = record.arguments;
  key.bases = record.bases;
  key.shapes = record.shapes;
  return write_version(key);
}

/// Whether two versions are the same function of the same tensors: a training step that keeps gradients, for
/// instance, is captured once without and once with `.grad`.
bool is_same_function(const Version& a, const Version& b) {
  const auto same_tensor = [](const auto& x, const auto& y) {
    return x.tensor._unsafe_get_target() == y.tensor._unsafe_get_target();
  };
  if (a.is_eager() || b.is_eager() || !std::ranges::equal(a.guards().lifted, b.guards().lifted, same_tensor))
    return false;
  const auto &one = *a.newest_instance()->caller, &other = *b.newest_instance()->caller;
  return a.compiled().captured() == b.compiled().captured() && one.signature() == other.signature();
}

}  // namespace

void refuse_function(const std::string& what, const std::string& fact, const std::string& way_out) {
  throw Error(ErrorCode::InvalidArgument, "package", fmt::format("{} cannot be packaged: {}", what, fact),
              way_out);
}

void check_name(const std::string& name) {
  const auto fits = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '-' || c == '.';
  };
  if (name.empty() || !std::all_of(name.begin(), name.end(), fits) || name[0] == '.')
    throw Error(ErrorCode::InvalidArgument, "package", fmt::format("\"{}\" is no name for a function", name),
                "Use letters, digits, '_', '-' and '.'");
}

Versions current_versions(const detail::Function& function, const std::string& what) {
  Versions current;
  for (const auto& version : function.versions())
    if (is_current(*version)) current.push_back(version);
  if (current.empty())
    refuse_function(what, "it has no compiled version whose captured tensors and modules are as they were",
                    "Call it before, or explain() it");
  return current;
}

FunctionInfo Collector::add(const FunctionToPackage& function) {
  check_name(function.name);
  const auto what = fmt::format("'{}'", function.name);
  if (function.derivatives < 1)
    throw Error(ErrorCode::InvalidArgument, "package",
                fmt::format("{} is to have {} derivatives", what, function.derivatives),
                "Ask for one or more");
  const auto current = current_versions(*function.function, what);
  auto added =
      add_versions(current, folder_of(function.name), what, function.derivatives, &function, function);
  return {function.name, print(added.structure.arguments), print(added.structure.result),
          function.derivatives, std::move(added.guards)};
}

Collector::Added Collector::add_versions(const Versions& versions, const std::string& folder,
                                         const std::string& what, int derivatives,
                                         const FunctionToPackage* origin, const FunctionToPackage& root,
                                         const std::vector<int32_t>& single) {
  Added added;
  std::map<std::string, const Version*> keys;
  for (const auto& version : versions) {
    check_guards(*version, what);
    check_regions(*version, what);
    for (const auto& [numbers, instances] : by_numbers(*version)) {
      VersionRecord record;
      if (origin != nullptr) record.structure = structure_of(*instances.front(), *origin, what);
      record.ambient = version->guards().ambient;
      record.arguments = version->guards().arguments;
      for (const auto& base : version->guards().bases) record.bases.push_back({base.shared, base.guard});
      if (version->guards().shapes) record.shapes = version->guards().shapes->shapes();
      const auto [known, is_new] = keys.emplace(call_key(record), version.get());
      if (!is_new && is_same_function(*known->second, *version)) continue;
      if (!is_new)
        refuse_function(what,
                        "two of its versions differ only in arguments that are neither tensors nor values",
                        "Compile and package it separately for each of these arguments");
      if (added.guards.empty()) added.structure = record.structure;
      record.any_size = record.shapes && is_same_at_all_sizes(instances);
      added.guards.push_back(guards_text(record));
      add_version(*version, instances, std::move(record),
                  fmt::format("{}{}/", folder, added.guards.size() - 1), what, derivatives, root, single);
    }
  }
  return added;
}

void Collector::add_version(const Version& version, const std::vector<InstancePtr>& instances,
                            VersionRecord record, const std::string& folder, const std::string& what,
                            int derivatives, const FunctionToPackage& root,
                            const std::vector<int32_t>& single) {
  const auto& guards = version.guards();
  for (size_t k = 0; k < guards.lifted.size(); ++k) {
    const at::Tensor tensor(guards.lifted[k].tensor.lock());
    if (!tensor.defined()) refuse_function(what, "a tensor that it captured is gone", "Keep it alive");
    if (aten::generator_of(tensor).defined())
      refuse_function(what, "it draws from a generator of the caller's",
                      "Draw from the default generator, or pass the numbers");
    auto name = name_in_graph(version, k);
    if (name.empty()) name = fmt::format("lifted{}", weights_.weights().size());
    record.lifted.push_back({weights_.add(tensor, root.names, name), guards.lifted[k].guard});
  }
  const auto& code = version.compiled();
  record.facts = code.parts().facts;
  record.plan = code.plan();
  for (const auto& instance : instances)
    record.instances.push_back(record_of(*instance, record.shapes ? record.shapes->symbols.size() : 0));
  for (const auto& which : likely_cases(*instances.front()->caller, single)) code.backward(which);
  const auto& lowering = *code.parts().lowering;
  add_code(*code.parts().forward, lowering, folder + "forward.code");
  for (const auto& [which, lowered] : code.backward_code()) {
    add_code(*lowered, lowering, fmt::format("{}backward_{}.code", folder, record.backward_cases.size()));
    record.backward_cases.push_back(which);
  }
  if (derivatives > 1) add_gradients(version, instances, record, folder, what, derivatives - 1, root);
  records_[folder + "version"].bytes = write_version(record);
}

void Collector::add_gradients(const Version& version, const std::vector<InstancePtr>& instances,
                              VersionRecord& record, const std::string& folder, const std::string& what,
                              int derivatives, const FunctionToPackage& root) {
  if (version.gradients() == nullptr || !instances.front()->caller->backward()) return;
  const compiler::GradientFunction* first = nullptr;
  for (size_t i = 0; i < instances.size(); ++i) {
    const auto& backward = *instances[i]->caller->backward();
    const auto* gradients =
        dynamic_cast<const compiler::GradientFunction*>(backward.facts().higher_order.get());
    if (gradients == nullptr) return;
    for (const bool with_histories : {false, true})
      gradients->prepare(backward.tangent_types(), with_histories);
    record.instances[i].gradient_arguments = gradients->arguments();
    if (i == 0) first = gradients;
  }
  record.gradient_ambient = first->ambient();
  const auto of = "the gradients of " + what;
  Versions current;
  for (const auto& candidate : version.gradients()->versions()) {
    if (!is_current(*candidate)) continue;
    if (!candidate->guards().free.empty())
      refuse_function(of, "they depend on numbers that are arguments and change",
                      "Pass these numbers as tensors");
    const auto& key = candidate->guards().key;
    const auto& wanted = first->numbers().key;
    if (std::equal(key.begin(), key.end(), wanted.begin(), wanted.end())) current.push_back(candidate);
  }
  // Forces are gradients by arguments, and trained on without those by weights.
  std::vector<int32_t> single;
  const auto& by = instances.front()->caller->signature().gradients;
  for (size_t k = 0; k < by.size(); ++k)
    if (by[k] < static_cast<int32_t>(record.arguments.size())) single.push_back(static_cast<int32_t>(k));
  record.gradient_versions =
      add_versions(current, folder + "gradients/", of, derivatives, nullptr, root, single).guards.size();
}

void Collector::add_code(const compiler::Lowered& code, const compiler::Lowering& lowering,
                         const std::string& record) {
  if (!code.kernels().empty() && toolchain_.empty()) toolchain_ = lowering.toolchain_name();
  records_[record].bytes =
      write_code(code.is_eager(), kernels_.add(code, lowering.isa_name()), code.program());
}

}  // namespace antegrad::packaging
