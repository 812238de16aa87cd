#include "capture/kept.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/variable.h>

#include <algorithm>
#include <unordered_set>

#include "aten/below_recording.h"
#include "aten/convert.h"
#include "aten/storage_access.h"
#include "capture/engine_passes.h"
#include "capture/gradients.h"
#include "ir/ops.h"

namespace antegrad::capture {

using namespace aten;

namespace {

namespace impl = torch::autograd::impl;
using torch::autograd::Node;

std::vector<KeptMemory> held_by_others(Recorder& recorder, const std::vector<at::Tensor>& tangents) {
  std::vector<KeptMemory> held;
  std::unordered_set<const c10::StorageImpl*> ours;
  for (const auto& tangent : tangents) ours.insert(tangent.storage().unsafeGetStorageImpl());
  for (const auto& outsider : recorder.outside().all())
    ours.insert(outsider->fake_storage.unsafeGetStorageImpl());
  for (const auto& [key, memory] : recorder.memory()) {
    auto storage = memory.storage.lock();
    if (!storage) continue;
    const size_t known = 1 + (ours.count(key) > 0 ? 1 : 0) + (recorder.host_memory().holds(key) ? 1 : 0);
    if (storage.use_count() > known) held.push_back({c10::Storage(std::move(storage)), memory.root});
  }
  std::sort(held.begin(), held.end(), [](const auto& a, const auto& b) { return a.root < b.root; });
  return held;
}

/// Waits until the engine's threads have dropped what backward passes inside the capture computed.
void wait_for_passes(Recorder& recorder) {
  std::vector<ir::Device> waited;
  for (const auto& value : recorder.graph().values) {
    const auto* type = value.type.tensor();
    if (type == nullptr || type->device.kind != ir::Device::Kind::Cuda) continue;
    if (std::find(waited.begin(), waited.end(), type->device) != waited.end()) continue;
    waited.push_back(type->device);
    wait_for_engine(to_torch(type->device));
  }
}

std::vector<at::Tensor> fakes_but(const Recorder& recorder, const std::vector<at::Tensor>& tangents) {
  auto fakes = recorder.fakes().all();
  std::erase_if(fakes, [&](const at::Tensor& fake) {
    return std::any_of(tangents.begin(), tangents.end(),
                       [&](const at::Tensor& tangent) { return tangent.is_same(fake); });
  });
  return fakes;
}

/// Returns the real tensor whose memory `root` stands for. Undefined when there is none.
at::Tensor original_of(Recorder& recorder, ir::ValueId root, const std::vector<at::Tensor>& inputs) {
  for (size_t i = 0; i < inputs.size(); ++i)
    if (recorder.graph().inputs[i].value == root) return inputs[i];
  const auto* outsider = recorder.outside().find(root);
  return outsider != nullptr ? outsider->tensor : at::Tensor();
}

torch::autograd::Edge edge_to(const at::Tensor& real) {
  return real.defined() && real.requires_grad() ? impl::gradient_edge(real) : torch::autograd::Edge();
}

/// In the tensor's history, redirects edges to arguments of the capture to the real arguments.
void redirect_history(const at::Tensor& fake, const std::vector<at::Tensor>& inputs,
                      const InputHistories& histories, std::unordered_set<const Node*>& seen) {
  const auto* meta = impl::get_autograd_meta(fake);
  std::vector<Node*> todo;
  if (meta != nullptr && meta->grad_fn_) todo.push_back(meta->grad_fn_.get());
  while (!todo.empty()) {
    auto* node = todo.back();
    todo.pop_back();
    if (!seen.insert(node).second) continue;
    for (auto& edge : node->next_edges()) {
      const auto place = edge.is_valid() ? std::find(histories.begin(), histories.end(), edge.function.get())
                                         : histories.end();
      if (place != histories.end())
        edge = edge_to(inputs[place - histories.begin()]);
      else if (edge.is_valid())
        todo.push_back(edge.function.get());
    }
  }
}

/// For a stored argument: directs its gradients to the real one.
void lead_argument_outside(const at::Tensor& fake, const at::Tensor& real, const InputHistories& histories) {
  auto* meta = impl::get_autograd_meta(fake);
  if (meta == nullptr || !real.requires_grad()) return;
  const auto* own = meta->grad_fn_ ? meta->grad_fn_.get() : impl::try_get_grad_accumulator(fake).get();
  if (own == nullptr || std::find(histories.begin(), histories.end(), own) == histories.end()) return;
  meta->requires_grad_ = false;
  impl::set_gradient_edge(fake, impl::gradient_edge(real));
}

/// For a stored view of an argument, or of a captured tensor: makes it a view of the real one. Not where it
/// has a history of its own.
void make_view_of(const at::Tensor& real, const at::Tensor& fake) {
  const auto* view = impl::get_view_autograd_meta(fake);
  if (view == nullptr || !view->has_bw_view() || view->grad_fn_ || view->requires_grad_ ||
      fake.is_inference() || real.is_inference() || as_fake(view->get_backward_view().base_) == nullptr)
    return;
  auto* own = fake.unsafeGetTensorImpl();
  const auto made = view->get_creation_meta();
  at::Tensor base = real.is_view() ? at::Tensor(real._base()) : real;
  own->set_autograd_meta(std::make_unique<torch::autograd::DifferentiableViewMeta>(
      own, torch::autograd::ViewInfo(std::move(base), nullptr, nullptr), std::nullopt,
      /*shared_view_info=*/true, made));
}

/// Per value: it depends on inputs without contents, or nothing computes it.
ir::PerValue<bool> unknown_values(const ir::Graph& graph, const std::vector<at::Tensor>& inputs) {
  ir::PerValue<bool> unknown(graph.values.size(), true);
  const auto at = [&](ir::ValueId v) { return unknown[graph.storage_of(v)]; };
  const auto set = [&](ir::ValueId v, bool to) { unknown[graph.storage_of(v)] = to; };
  for (size_t i = 0; i < graph.inputs.size(); ++i)
    set(graph.inputs[i].value,
        i < inputs.size() && inputs[i].defined() && is_fake_storage(inputs[i].storage()));
  for (const auto& node : graph.nodes) {
    const auto* op = ir::find_op(node.op);
    bool from_unknown = false;
    if (op == nullptr || op->kind != ir::OpKind::Factory)
      ir::for_each_input(node, [&](ir::ValueId v) {
        if (graph.type_of(v).tensor() != nullptr) from_unknown |= at(v);
      });
    for (auto v : node.outputs)
      if (graph.storage_of(v) == v) set(v, from_unknown);
    for (auto v : node.effects.writes) set(v, at(v) || from_unknown);
  }
  return unknown;
}

/// Returns the part of the trace that computes these values.
Trace part_of(const Trace& whole, const std::vector<KeptMemory>& memory) {
  auto trace = whole;
  auto& graph = trace.graph;
  const auto first = std::find_if(graph.nodes.begin(), graph.nodes.end(),
                                  [](const ir::Node& node) { return node.provenance.backward; });
  graph.nodes.erase(first, graph.nodes.end());
  const auto inputs = graph.inputs.size() - trace.tangents.size();
  graph.inputs.resize(inputs);
  trace.inputs.resize(inputs);
  for (size_t i = 0; i < inputs; ++i) trace.inputs[i].end = {.value = graph.inputs[i].value};
  trace.tangents.clear();
  trace.gradients.clear();
  trace.differentiable = false;
  trace.effects = false;
  trace.output_ends.clear();
  graph.outputs.clear();
  for (const auto& kept : memory) {
    trace.output_ends.push_back({kept.root, -1, 0, false});
    graph.outputs.push_back({kept.root, ir::OutputRole::UserOutput, {}, -1});
  }
  return trace;
}

}  // namespace

KeptTensors find_kept(Recorder& recorder, const std::vector<at::Tensor>& inputs,
                      const InputHistories& histories, const std::vector<at::Tensor>& tangents) {
  KeptTensors kept;
  // Also so that the counts of users by which constants are recognised do not include the engine.
  if (!tangents.empty()) wait_for_passes(recorder);
  if (held_by_others(recorder, tangents).empty()) return kept;
  clear_engine();             // the function may have caught an error of the engine
  wait_for_passes(recorder);  // before fakes are listed: a thread that drops one must not do so meanwhile
  if (held_by_others(recorder, tangents).empty()) return kept;
  release_histories(recorder);
  if (held_by_others(recorder, tangents).empty()) return kept;
  const BelowRecording below;
  std::unordered_set<const Node*> seen;
  for (const auto& fake : fakes_but(recorder, tangents)) redirect_history(fake, inputs, histories, seen);
  kept.fakes = fakes_but(recorder, tangents);
  for (const auto& fake : kept.fakes) {
    auto* own = as_fake(fake);
    const auto root = recorder.graph().storage_of(own->value());
    const auto original = original_of(recorder, root, inputs);
    if (!original.defined()) continue;
    if (root == own->value()) lead_argument_outside(fake, original, histories);
    own->move_to(original.storage());
    if (!own->is_inference() && !original.is_inference())
      impl::set_version_counter(fake, impl::version_counter(original));
    if (root != own->value()) make_view_of(original, fake);
  }
  kept.memory = held_by_others(recorder, tangents);
  kept.count = kept.fakes.size();
  for (const auto& memory : kept.memory)
    if (std::none_of(kept.fakes.begin(), kept.fakes.end(), [&](const at::Tensor& fake) {
          return fake.storage().unsafeGetStorageImpl() == memory.storage.unsafeGetStorageImpl();
        }))
      ++kept.count;  // another tensor got it by set_data()
  return kept;
}

bool fill_kept(const KeptTensors& kept, const Trace& trace, const std::vector<at::Tensor>& inputs,
               const CaptureOptions& options) {
  auto memory = kept.memory;
  if (memory.empty()) return true;
  if (!options.fill_kept) return false;
  const auto unknown = unknown_values(part_of(trace, {}).graph, inputs);
  std::erase_if(memory, [&](const KeptMemory& m) { return unknown[m.root]; });
  const bool all = memory.size() == kept.memory.size();
  if (memory.empty()) return all;
  Kept known{part_of(trace, memory), std::move(memory)};
  options.fill_kept(known, inputs);
  return all;
}

void fill(const Kept& kept, size_t k, const at::Tensor& contents) {
  const BelowRecording below;
  const c10::AutoGradMode no_grad(false);
  const auto& storage = kept.memory[k].storage;
  auto* memory = storage.unsafeGetStorageImpl();
  const auto& type = kept.trace.graph.tensor_type(kept.memory[k].root);
  auto bytes = at::zeros({static_cast<int64_t>(memory->nbytes())}, contents.options().dtype(at::kByte));
  auto view = at::empty({0}, contents.options());
  view.set_(bytes.storage(), type.offset.constant(), constants(type.sizes), constants(type.strides));
  view.copy_(contents);
  stop_refusing_access(*memory);
  memory->set_allocator(bytes.storage().allocator());
  view = at::Tensor();
  memory->set_data_ptr_noswap(bytes.storage().set_data_ptr(at::DataPtr(nullptr, contents.device())));
}

/// Puts the stored tensor on the memory of the returned one. Returns false where that is not possible.
static bool share_memory(const KeptOutput& which, const at::Tensor& returned) {
  auto* own = dynamic_cast<FakeTensor*>(which.kept.unsafeGetTensorImpl());
  if (own == nullptr || !returned.defined() || returned.storage_offset() != which.offset ||
      returned.storage().nbytes() < which.kept.storage().nbytes())
    return false;
  own->move_to(returned.storage());
  if (!own->is_inference() && !returned.is_inference())
    impl::set_version_counter(which.kept, impl::version_counter(returned));
  return true;
}

/// Replaces outputs that are views of `from` by views of `to`, which is on the same memory.
static void move_views(std::vector<at::Tensor>& outputs, const at::Tensor& from, const at::Tensor& to) {
  for (const auto& view : std::vector<at::Tensor>(outputs)) {
    if (!view.defined() || !view.is_view() || view.requires_grad() || !view._base().is_same(from) ||
        view.scalar_type() != to.scalar_type())
      continue;
    const auto moved = to.as_strided(view.sizes(), view.strides(), view.storage_offset());
    std::replace_if(
        outputs.begin(), outputs.end(), [&](const at::Tensor& output) { return output.is_same(view); },
        moved);
  }
}

/// Whether both are views of one tensor, as far as autograd knows, without a history.
static bool is_same_view(const at::Tensor& a, const at::Tensor& b) {
  return a.is_view() && b.is_view() && a._base().is_same(b._base()) && !a.requires_grad() &&
         !b.requires_grad();
}

void share(const std::vector<KeptOutput>& kept_outputs, std::vector<at::Tensor>& outputs) {
  for (const auto& which : kept_outputs) {
    auto& returned = outputs[which.output];
    if (!share_memory(which, returned) || !which.same) continue;
    if (returned.requires_grad() && returned.grad_fn()) {
      impl::set_gradient_edge(which.kept, impl::gradient_edge(returned));
    } else if (is_same_view(returned, which.kept)) {
      returned = which.kept;
    } else if (!returned.is_view() && !which.kept.is_view() && !which.kept.requires_grad()) {
      const auto replaced = std::exchange(returned, which.kept);
      move_views(outputs, replaced, which.kept);
    }
  }
}

}  // namespace antegrad::capture
