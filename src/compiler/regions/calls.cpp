// Regions as steps of a program.
#include <ATen/ops/empty_strided.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <optional>
#include <unordered_set>

#include "antegrad/error.h"
#include "aten/convert.h"
#include "compiler/regions/above_kernels.h"
#include "compiler/regions/checkpoint.h"
#include "compiler/regions/code.h"
#include "runtime/regions.h"

namespace antegrad::compiler {
namespace {

using runtime::Instruction;
using runtime::RegisterMap;
using runtime::Registers;

/// What a region keeps for its backward pass: its operands and its results, with what autograd has saved
/// between them. It belongs to the memory of a small tensor, which the graph saves like any other.
struct Session {
  Tensors operands, results;

  static void destroy(void* session) { delete static_cast<Session*>(session); }
  static at::Tensor keep(std::unique_ptr<Session> session) {
    auto* raw = session.release();
    c10::Storage storage(c10::Storage::use_byte_size_t(), 8, c10::DataPtr(raw, raw, &destroy, c10::kCPU),
                         nullptr, false);
    auto tensor = at::detail::make_tensor<c10::TensorImpl>(
        std::move(storage), c10::DispatchKeySet(c10::DispatchKey::CPU), caffe2::TypeMeta::Make<uint8_t>());
    tensor.unsafeGetTensorImpl()->set_sizes_contiguous({8});
    return tensor;
  }
  static const Session& of(const at::Tensor& tensor) {
    const auto& data = tensor.storage().data_ptr();
    if (data.get_deleter() != &destroy)
      throw Error(ErrorCode::UnsupportedTensor, "run:antegrad.region.backward",
                  "what a region has kept for its backward pass was replaced by a copy",
                  "Leave tensors of this kind where they are in hooks for saved tensors");
    return *static_cast<const Session*>(data.get_context());
  }
};

at::Tensor copied(const at::Tensor& tensor) {
  const c10::AutoGradMode grad_mode(false);
  return runtime::clone_with_strides(tensor);
}

/// Returns a tensor that may be kept beyond the run: the arena is used for other values later.
at::Tensor outside_of_arena(const at::Tensor& tensor, const Registers& registers) {
  const auto* arena = registers.arena_storage.unsafeGetStorageImpl();
  if (arena == nullptr || tensor.storage().unsafeGetStorageImpl() != arena) return tensor;
  return copied(tensor);
}

/// Which operands a region must copy to keep them, since they may be written later without a check by
/// autograd noticing that: views of inputs, which do not know the version of the input, and what the call
/// makes and returns, whose version is set when the call ends.
std::vector<bool> operands_to_copy(const ir::Node& node, const ir::Graph& graph) {
  std::vector<bool> out;
  for (auto value : operands_of(node)) {
    const auto root = graph.storage_of(value);
    const auto input = std::ranges::find(graph.inputs, root, &ir::Input::value);
    const bool returned = std::ranges::any_of(graph.outputs, [&](const ir::Output& output) {
      return output.value.valid() && graph.storage_of(output.value) == root;
    });
    // Arguments that share memory are views of an input that is none of them.
    const bool is_base = input != graph.inputs.end() && input->name.starts_with("base");
    out.push_back(input == graph.inputs.end() ? returned : is_base || root != value);
  }
  return out;
}

/// Gives results the types of the graph, and memory of their own.
class Results {
 public:
  explicit Results(const Tensors& operands) {
    for (const auto& operand : operands) taken_.insert(operand.storage().unsafeGetStorageImpl());
  }

  at::Tensor fit(const at::Tensor& result, const ir::TensorType& type) {
    const auto strides = aten::constants(type.strides);
    if (!result.defined())
      return at::empty_strided(aten::constants(type.sizes), strides, aten::options_of(type)).zero_();
    auto own = result.detach();
    const bool fits =
        own.strides() == at::IntArrayRef(strides) && !own.is_conj() && !own.is_neg() && !own._is_zerotensor();
    if (fits && taken_.insert(own.storage().unsafeGetStorageImpl()).second) return own;
    return at::empty_strided(own.sizes(), strides, own.options()).copy_(own);
  }

 private:
  std::unordered_set<const c10::StorageImpl*> taken_;
};

struct Slots {
  std::vector<int32_t> in, out;
  std::vector<ir::TensorType> types;

  Slots(const ir::Node& node, const ir::Graph& graph, const RegisterMap& register_of) {
    for (auto value : operands_of(node)) in.push_back(register_of[value]);
    for (auto value : node.outputs) {
      out.push_back(register_of[value]);
      types.push_back(graph.tensor_type(value));
    }
  }
  Tensors read(const Registers& registers) const {
    Tensors tensors;
    for (auto slot : in) tensors.push_back(registers[slot]);
    return tensors;
  }
};

class RegionCall final : public Instruction {
 public:
  RegionCall(const ir::Node& node, const ir::Graph& graph, const RegisterMap& register_of)
      : region_(region_of(node)),
        slots_(node, graph, register_of),
        to_copy_(operands_to_copy(node, graph)),
        bodies_(code_of(region_)) {
    gives_state_ = find_attr(node, kState) != nullptr;
    if (const auto* targets = find_attr(node, kSession)) targets_ = integers_of(*targets);
    results_ = node.outputs.size() - (gives_state_ ? 1 : 0) - (targets_ ? 1 : 0);
  }

  void run(Registers& registers) const override {
    const AboveKernels above;
    auto operands = slots_.read(registers);
    Results own(operands);
    const auto session_slot = targets_ ? slots_.out[results_] : -1;
    if (gives_state_ && slots_.out.back() >= 0) registers[slots_.out.back()] = generator_state();
    Tensors results;
    if (session_slot < 0) {
      const c10::AutoGradMode grad_mode(false);
      if (region_.ordered)  // callbacks and ops of libraries may keep their arguments
        for (auto& operand : operands) operand = outside_of_arena(operand, registers);
      results = run_derivatives(region_, bodies_, std::move(operands));
    } else {
      const c10::AutoGradMode grad_mode(true);
      auto session = std::make_unique<Session>();
      for (size_t i = 0; i < operands.size(); ++i)
        operands[i] = to_copy_[i] ? copied(operands[i]) : outside_of_arena(operands[i], registers);
      for (auto i : *targets_) {
        auto& operand = operands[i];
        operand = operand.detach().requires_grad_();
        session->operands.push_back(operand);
      }
      targets_in_order(session->operands, operands.size());
      results = run_derivatives(region_, bodies_, std::move(operands));
      session->results = results;
      registers[session_slot] = Session::keep(std::move(session));
    }
    const c10::AutoGradMode grad_mode(false);
    for (size_t k = 0; k < results_; ++k)
      if (slots_.out[k] >= 0) registers[slots_.out[k]] = own.fit(results[k], slots_.types[k]);
  }

 private:
  /// Makes the list one entry per operand, undefined for those without a gradient.
  void targets_in_order(Tensors& operands, size_t count) const {
    Tensors all(count);
    for (size_t n = 0; n < targets_->size(); ++n) all[(*targets_)[n]] = operands[n];
    operands = std::move(all);
  }

  Region region_;
  Slots slots_;
  std::vector<bool> to_copy_;
  std::vector<RegionBody> bodies_;
  std::optional<std::vector<int64_t>> targets_;
  bool gives_state_ = false;
  size_t results_ = 0;
};

class RegionBackwardCall final : public Instruction {
 public:
  RegionBackwardCall(const ir::Node& node, const ir::Graph& graph, const RegisterMap& register_of)
      : derivative_(derivative_of(node)), slots_(node, graph, register_of) {}

  void run(Registers& registers) const override {
    const AboveKernels above;
    auto tangents = slots_.read(registers);
    Results own(tangents);
    const auto& session = Session::of(tangents.front());
    tangents.erase(tangents.begin());
    Tensors from, to;
    for (auto k : derivative_.results) from.push_back(session.results[k]);
    for (auto i : derivative_.operands) to.push_back(session.operands[i]);
    const auto gradients = gradients_of(from, to, tangents, false);
    const c10::AutoGradMode grad_mode(false);
    for (size_t n = 0; n < gradients.size(); ++n)
      if (slots_.out[n] >= 0) registers[slots_.out[n]] = own.fit(gradients[n], slots_.types[n]);
  }

 private:
  RegionDerivative derivative_;
  Slots slots_;
};

std::unique_ptr<Instruction> make_call(const ir::Node& node, const ir::Graph& graph,
                                       const RegisterMap& register_of) {
  if (node.op == kRegionBackwardOp) return std::make_unique<RegionBackwardCall>(node, graph, register_of);
  return std::make_unique<RegionCall>(node, graph, register_of);
}

[[maybe_unused]] const bool kRegistered = runtime::set_region_calls(make_call);

}  // namespace
}  // namespace antegrad::compiler
