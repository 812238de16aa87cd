#include "package/record.h"

#include <fmt/format.h>

#include <limits>
#include <utility>

#include "antegrad/error.h"
#include "aot/signature/binary.h"
#include "ir/verify.h"
#include "package/check_types.h"
#include "package/refuse.h"
#include "schedule/binary.h"
#include "symbolic/binary.h"

namespace antegrad::packaging {
namespace {

constexpr size_t kMost = 1 << 20;

/// Writes values that consist of numbers, flags and lists.
struct Writer {
  ByteWriter& out;
  void operator()(bool value) { out.flag(value); }
  void operator()(int32_t value) { out.signed_varint(value); }
  void operator()(int64_t value) { out.signed_varint(value); }
  void operator()(uint64_t value) { out.varint(value); }
  void operator()(const std::string& value) { out.string(value); }
  void operator()(const runtime::TensorGuard& guard) { guard.write(out); }
  void operator()(const runtime::Ambient& ambient) { ambient.write(out); }
  void operator()(const std::vector<bool>& list) {
    out.count(list.size());
    for (const bool value : list) out.flag(value);
  }
  template <class T>
  void operator()(const std::vector<T>& list) {
    out.count(list.size());
    for (const auto& value : list) (*this)(value);
  }
  void operator()(const BackwardRecord& backward) {
    const auto& facts = backward.facts;
    (*this)(facts.primals);
    (*this)(facts.fails_for);
    (*this)(facts.saving_nodes);
    (*this)(facts.late);
    (*this)(facts.runs_once);
    (*this)(facts.rng_slot);
    (*this)(facts.draws_eagerly);
    (*this)(backward.errors);
    (*this)(backward.differentiable_twice);
  }
  void operator()(const compiler::Placeholder& argument) {
    (*this)(argument.defined);
    (*this)(argument.same_as);
    (*this)(argument.sizes);
    (*this)(argument.strides);
    (*this)(argument.offset);
    out.u8(static_cast<uint8_t>(argument.defined ? c10::typeMetaToScalarType(argument.options.dtype())
                                                 : c10::kFloat));
    (*this)(argument.requires_grad);
    (*this)(argument.is_leaf);
  }
  void operator()(const LiftedRecord& lifted) {
    (*this)(lifted.weight);
    (*this)(lifted.guard);
  }
  void operator()(const BaseRecord& base) {
    (*this)(base.shared.views);
    (*this)(base.shared.base);
    (*this)(base.guard);
  }
  void operator()(const compiler::Reach& reach) {
    (*this)(reach.input);
    (*this)(reach.bytes);
  }
  void operator()(const InstanceRecord& instance) {
    (*this)(instance.symbols);
    (*this)(instance.numbers);
    (*this)(instance.offsets);
    aot::write(out, instance.signature);
    (*this)(instance.backward.has_value());
    if (instance.backward) (*this)(*instance.backward);
    (*this)(instance.grad_mode_after);
    (*this)(instance.has_assumptions);
    (*this)(instance.gradient_arguments);
  }
};

struct Reader {
  ByteReader& in;
  size_t weights;

  bool flag() { return in.flag(); }
  int32_t int32() {
    const auto value = in.signed_varint();
    if (value < -1 || value > static_cast<int64_t>(kMost)) refuse_file(fmt::format("the number {}", value));
    return static_cast<int32_t>(value);
  }
  /// Elements take at least one byte each, so memory is bounded by a multiple of the bytes left.
  template <class Read>
  auto list(Read&& read) {
    std::vector<std::decay_t<decltype(read())>> out;
    const auto count = in.count(1);
    for (size_t i = 0; i < count && !in.failed(); ++i) out.push_back(read());
    require_in_file(!in.failed(), "it is cut off");
    return out;
  }
  std::vector<bool> flags() {
    return list([&] { return in.flag(); });
  }
  std::vector<int64_t> numbers() {
    return list([&] { return in.signed_varint(); });
  }
  std::vector<int32_t> small_numbers() {
    return list([&] { return int32(); });
  }
  BackwardRecord backward() {
    BackwardRecord out;
    out.facts.primals = small_numbers();
    out.facts.fails_for = list([&] { return flags(); });
    out.facts.saving_nodes = list([&] { return in.varint(); });
    out.facts.late = small_numbers();
    out.facts.runs_once = in.string();
    out.facts.rng_slot = int32();
    out.facts.draws_eagerly = flag();
    out.errors = list([&] { return std::string(in.string()); });
    out.differentiable_twice = flag();
    return out;
  }
  compiler::Placeholder placeholder(size_t before) {
    compiler::Placeholder out;
    out.defined = flag();
    out.same_as = int32();
    out.sizes = numbers();
    out.strides = numbers();
    out.offset = in.signed_varint();
    const auto dtype = in.u8();
    require_in_file(dtype < static_cast<uint8_t>(c10::ScalarType::NumOptions), "an unknown dtype");
    out.options = at::TensorOptions(static_cast<c10::ScalarType>(dtype));
    out.requires_grad = flag();
    out.is_leaf = flag();
    require_in_file(out.same_as < static_cast<int32_t>(before),
                    "an argument that is the same as a later one");
    require_in_file(out.sizes.size() == out.strides.size() && out.offset >= 0, "an argument without a shape");
    return out;
  }
  LiftedRecord lifted() {
    const auto weight = int32();
    require_in_file(weight >= 0 && std::cmp_less(weight, weights), "a weight that does not exist");
    return {weight, runtime::TensorGuard::read(in)};
  }
  BaseRecord base() {
    compiler::SharedBase shared;
    shared.views = small_numbers();
    shared.base = int32();
    return {std::move(shared), runtime::TensorGuard::read(in)};
  }
  compiler::Reach reach() {
    compiler::Reach out;
    out.input = int32();
    out.bytes = in.signed_varint();
    return out;
  }
  InstanceRecord instance() {
    InstanceRecord out;
    out.symbols = numbers();
    out.numbers = numbers();
    out.offsets = numbers();
    out.signature = aot::read_signature(in);
    if (flag()) out.backward = backward();
    out.grad_mode_after = flag();
    out.has_assumptions = flag();
    const auto count = in.count(1);
    for (size_t i = 0; i < count && !in.failed(); ++i) out.gradient_arguments.push_back(placeholder(i));
    require_in_file(!in.failed(), "it is cut off");
    return out;
  }
};

size_t tangents_of(const ir::Graph& backward) {
  return static_cast<size_t>(
      std::count_if(backward.inputs.begin(), backward.inputs.end(),
                    [](const auto& input) { return input.role == ir::InputRole::Tangent; }));
}

void check_backward(const VersionRecord& version, const InstanceRecord& instance) {
  const auto& partition = version.plan.partition;
  require_in_file(instance.backward.has_value() == partition.has_value(),
                  "gradients without a backward pass");
  if (!partition) return;
  const auto tangents = tangents_of(partition->backward);
  const auto gradients = instance.signature.gradients.size();
  const auto is_table = [&](const std::vector<std::vector<bool>>& table) {
    return table.size() == gradients &&
           std::all_of(table.begin(), table.end(), [&](const auto& row) { return row.size() == tangents; });
  };
  const auto& facts = instance.backward->facts;
  require_in_file(is_table(version.facts.reached_by) && is_table(facts.fails_for),
                  "gradients that do not exist");
  require_in_file(instance.backward->errors.size() == tangents, "other tangents than the graph has");
  require_in_file(partition->backward.outputs.size() == gradients + instance.signature.backward_writes.size(),
                  "other gradients than the graph has");
  require_in_file(partition->saved.size() + tangents == partition->backward.inputs.size(),
                  "other inputs of the backward pass than are saved");
  for (const auto& saved : partition->saved)
    require_in_file(saved.input < static_cast<int32_t>(instance.signature.graph_inputs.size()),
                    "an input is saved that does not exist");
  const auto in_range = [&](int32_t slot) { return slot >= 0 && slot < instance.signature.inputs; };
  require_in_file(std::all_of(facts.primals.begin(), facts.primals.end(), in_range) &&
                      std::all_of(facts.late.begin(), facts.late.end(), in_range) &&
                      facts.rng_slot < instance.signature.slots,
                  "an input that does not exist");
  for (const auto& which : version.backward_cases)
    require_in_file(which.size() == gradients + tangents, "a case of the backward pass that does not exist");
}

void check_instance(const VersionRecord& version, const InstanceRecord& instance) {
  const auto& signature = instance.signature;
  require_in_file(std::cmp_equal(signature.user_inputs, version.arguments.size()) &&
                      std::cmp_equal(signature.inputs, version.arguments.size() + extra_bases(version) +
                                                           version.lifted.size()) &&
                      std::cmp_equal(signature.inputs, instance.offsets.size()),
                  "other arguments than the signature has");
  const auto& forward = version.plan.forward_graph();
  aot::check_signature(signature, forward,
                       version.plan.partition ? tangents_of(version.plan.partition->backward) : 0);
  require_in_file(instance.symbols.size() == (version.shapes ? version.shapes->symbols.size() : 0) &&
                      instance.symbols.size() + instance.numbers.size() == forward.symbols.size(),
                  "other symbols than the graph has");
  check_backward(version, instance);
  for (const auto& reach : instance.reach)
    require_in_file(reach.input >= 0 && reach.input < signature.inputs && reach.bytes >= 0 &&
                        reach.bytes <= std::numeric_limits<int64_t>::max() / 2 &&
                        input_guard(version, static_cast<size_t>(reach.input)).is_plain(),
                    "a reach of an input that does not exist");
  require_in_file(instance.gradient_arguments.empty() == !version.gradient_ambient.has_value() &&
                      (instance.gradient_arguments.empty() ||
                       instance.gradient_arguments.size() == version.arguments.size()),
                  "other arguments of the gradients than the function has");
}

void check_version(const VersionRecord& version) {
  require_in_file(!version.instances.empty(), "it has no instance");
  require_in_file(!version.shapes || version.shapes->tensors.size() == version.arguments.size(),
                  "other shapes than arguments");
  auto inputs = static_cast<int32_t>(version.arguments.size());
  for (const auto& [shared, guard] : version.bases) {
    require_in_file(shared.base >= 0 && shared.base <= inputs, "views of a tensor that does not exist");
    inputs += shared.base == inputs;
    for (const auto view : shared.views)
      require_in_file(
          view >= 0 && std::cmp_less(view, version.arguments.size()) && version.arguments[view].is_plain(),
          "a view that does not exist");
    require_in_file(!shared.views.empty(), "a base without views");
  }
  require_in_file(version.backward_cases.empty() || version.plan.partition,
                  "gradients without a backward pass");
  ir::verify(version.plan.forward_graph());
  if (version.plan.partition) ir::verify(version.plan.partition->backward);
  for (const auto& instance : version.instances) check_instance(version, instance);
}

/// Most versions end before bases and reaches, as all of format 1 do.
bool has_tail(const VersionRecord& version) {
  return !version.bases.empty() ||
         std::ranges::any_of(version.instances, [](const auto& instance) { return !instance.reach.empty(); });
}

}  // namespace

size_t extra_bases(const VersionRecord& version) {
  size_t inputs = version.arguments.size();
  for (const auto& base : version.bases) inputs += std::cmp_equal(base.shared.base, inputs);
  return inputs - version.arguments.size();
}

const runtime::TensorGuard& input_guard(const VersionRecord& version, size_t input) {
  if (input < version.arguments.size()) return version.arguments[input];
  for (const auto& base : version.bases)
    if (std::cmp_equal(base.shared.base, input)) return base.guard;
  return version.lifted.at(input - version.arguments.size() - extra_bases(version)).guard;
}

std::string write_version(const VersionRecord& version) {
  ByteWriter out;
  Writer to{out};
  write(out, version.structure);
  to(version.ambient);
  to(version.arguments);
  to(version.lifted);
  to(version.shapes.has_value());
  if (version.shapes) symbolic::write(out, *version.shapes);
  to(version.any_size);
  to(version.facts.differentiable);
  to(version.facts.lazy_bits);
  to(version.facts.reached_by);
  compiler::write(out, version.plan);
  to(version.instances);
  to(version.backward_cases);
  to(version.gradient_ambient.has_value());
  if (version.gradient_ambient) to(*version.gradient_ambient);
  to(static_cast<uint64_t>(version.gradient_versions));
  if (has_tail(version)) {
    to(version.bases);
    for (const auto& instance : version.instances) to(instance.reach);
  }
  return out.take();
}

VersionRecord read_version(std::string_view bytes, size_t weights) {
  ByteReader in(bytes);
  Reader from{in, weights};
  VersionRecord out;
  out.structure = read_structure(in);
  out.ambient = runtime::Ambient::read(in);
  out.arguments = from.list([&] { return runtime::TensorGuard::read(in); });
  out.lifted = from.list([&] { return from.lifted(); });
  if (from.flag()) out.shapes = symbolic::read_shapes(in);
  out.any_size = from.flag();
  out.facts.differentiable = from.flag();
  out.facts.lazy_bits = from.flag();
  out.facts.reached_by = from.list([&] { return from.flags(); });
  out.plan = compiler::read_plan(in);
  out.instances = from.list([&] { return from.instance(); });
  out.backward_cases = from.list([&] { return from.flags(); });
  if (from.flag()) out.gradient_ambient = runtime::Ambient::read(in);
  out.gradient_versions = in.varint();
  if (!in.at_end()) {
    out.bases = from.list([&] { return from.base(); });
    for (auto& instance : out.instances) instance.reach = from.list([&] { return from.reach(); });
  }
  require_in_file(in.at_end() && out.gradient_versions <= kMost, "it does not end where it should");
  try {
    check_version(out);
    check_types(out);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::Verify) throw;
    refuse_file(error.what());
  }
  return out;
}

std::string write_code(bool eager, const std::vector<cache::Digest>& kernels,
                       const schedule::Program& program) {
  ByteWriter out;
  out.flag(eager);
  out.count(kernels.size());
  for (const auto& kernel : kernels) out.raw(kernel.view());
  schedule::write(out, program);
  return out.take();
}

CodeRecord read_code(std::string_view bytes) {
  ByteReader in(bytes);
  CodeRecord out;
  out.eager = in.flag();
  out.kernels.resize(in.count(sizeof(cache::Digest)));
  for (auto& kernel : out.kernels) {
    const auto digest = in.raw(kernel.bytes.size());
    std::copy(digest.begin(), digest.end(), kernel.bytes.begin());
  }
  out.program = schedule::read_program(in);
  require_in_file(in.at_end() && out.kernels.size() == out.program.kernels.size(), "code that is cut off");
  return out;
}

}  // namespace antegrad::packaging
