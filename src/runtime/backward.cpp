#include "runtime/backward.h"

#include <ATen/ops/empty_strided.h>

#include <algorithm>

#include "aten/below_recording.h"
#include "aten/convert.h"
#include "cache/format/hash.h"
#include "capture/mode.h"
#include "capture/recorder.h"
#include "ir/binary.h"
#include "ir/calls.h"
#include "ir/substitute.h"
#include "ir/verify.h"
#include "passes/pipelines.h"
#include "runtime/parallel.h"

namespace antegrad::runtime {

TangentType::TangentType(const ir::TensorType& type)
    : options(aten::options_of(type)),
      sizes(aten::constants(type.sizes)),
      strides(aten::constants(type.strides)),
      symbolic_sizes(sizes.begin(), sizes.end()) {}

ir::Graph specialize(const ir::Graph& backward, const std::vector<std::vector<bool>>& reached_by,
                     const BackwardCase& which) {
  const bool whole = std::ranges::all_of(which, [](bool flag) { return flag; });
  auto graph = whole ? backward : ir::inline_calls(backward);  // calls are made for all that they return
  const auto gradients = reached_by.size();
  auto needs = passes::all_of(graph);
  needs.defined.assign(which.begin() + static_cast<int64_t>(gradients), which.end());
  for (size_t i = 0; i < gradients; ++i) {
    needs.wanted[i] = which[i];
    needs.reached[i] = false;
    for (size_t k = 0; k < needs.defined.size(); ++k)
      needs.reached[i] = needs.reached[i] || (needs.defined[k] && reached_by[i][k]);
  }
  passes::run_pipeline(graph, passes::passes_of("backward_case", needs), {});
  ir::verify(graph);
  return graph;
}

Backward::Backward(const partition::Partition& partition, const aot::Signature& signature,
                   BackwardFacts facts, BackwardMaker make)
    : gradients_(signature.gradients),
      writes_(signature.backward_writes),
      facts_(std::move(facts)),
      make_(std::move(make)) {
  for (const auto& saved : partition.saved)
    if (saved.input >= 0) kept_slots_.push_back(signature.graph_inputs[saved.input]);
  saved_slots_ = kept_slots_.size();
  size_t next_slot = 0;
  for (const auto& saved : partition.saved) {
    place_of_input_.push_back(saved.input >= 0 ? next_slot++ : saved_slots_ + saved_results_.size());
    if (saved.output >= 0) saved_results_.push_back(saved.output);
  }
  if (facts_.higher_order)
    for (auto primal : facts_.primals)
      if (std::find(kept_slots_.begin(), kept_slots_.end(), primal) == kept_slots_.end())
        kept_slots_.push_back(primal);
  const auto& graph = make_.graph();
  for (const auto& input : graph.inputs)
    if (input.role == ir::InputRole::Tangent)
      tangent_types_.emplace_back(ir::substitute(graph.tensor_type(input.value), make_.symbols));
}

void Backward::compile() const { executable(BackwardCase(gradients_.size() + tangent_types_.size(), true)); }

const Executable& Backward::executable(const BackwardCase& which) const {
  const auto find = [&]() -> const Executable* {
    std::shared_lock lock(mutex_);
    for (const auto& [known, executable] : executables_)
      if (known == which) return executable.get();
    return nullptr;
  };
  if (const auto* found = find()) return *found;
  std::scoped_lock making(make_mutex_);
  if (const auto* found = find()) return *found;
  auto made = make_.code(which);
  std::unique_lock lock(mutex_);
  return *executables_.emplace_back(which, std::move(made)).second;
}

void Backward::check(c10::ArrayRef<at::Tensor> tangents, Flags wanted) const {
  for (size_t k = 0; k < tangents.size(); ++k) {
    if (!tangents[k].defined() || !facts_.errors[k]) continue;
    for (size_t i = 0; i < wanted.size(); ++i)
      if (wanted[i] && facts_.fails_for[i][k]) std::rethrow_exception(facts_.errors[k]);
  }
}

uint64_t Backward::bits(c10::ArrayRef<at::Tensor> tangents) {
  uint64_t bits = 0;
  for (size_t k = 0; k < tangents.size(); ++k)
    if (tangents[k].defined()) bits |= uint64_t{1} << std::min<size_t>(k, 63);
  return bits;
}

uint64_t Backward::spent_by(uint64_t passed) const {
  uint64_t spent = 0;
  for (const auto leads : facts_.saving_nodes)
    if ((leads & passed) != 0) spent |= leads;
  return spent;
}

const std::vector<std::vector<bool>>& Backward::reads() const {
  std::call_once(reads_once_, [&] {
    const auto graph = ir::inline_calls(make_.graph_at(make_.symbols));
    for (size_t k = 0; k < tangent_types_.size(); ++k) {
      BackwardCase which(gradients_.size() + tangent_types_.size(), false);
      std::fill(which.begin(), which.begin() + static_cast<int64_t>(gradients_.size()), true);
      which[gradients_.size() + k] = true;
      const auto alone = specialize(graph, facts_.reached_by, which);
      ir::PerValue<bool> read(alone.values.size());
      const auto mark = [&](ir::ValueId value) { read[value] = true; };
      for (const auto& node : alone.nodes) ir::for_each_input(node, mark);
      for (const auto& output : alone.outputs)
        if (output.value.valid()) mark(output.value);
      auto& inputs = reads_.emplace_back();
      for (size_t i = 0; i < place_of_input_.size(); ++i) inputs.push_back(read[alone.inputs[i].value]);
    }
  });
  return reads_;
}

/// Brings a gradient to the form the graph expects: the strides it was captured for, no lazy bits.
static at::Tensor fit(at::Tensor tangent, const TangentType& type) {
  if (!tangent.defined()) return tangent;
  const bool lazy = tangent.is_conj() || tangent.is_neg();
  auto plain = lazy ? tangent.resolve_conj().resolve_neg() : std::move(tangent);
  if (plain.strides() == at::IntArrayRef(type.strides)) return plain;
  return at::empty_strided(type.sizes, type.strides, plain.options()).copy_(plain);
}

std::vector<at::Tensor> Backward::run(std::vector<at::Tensor> saved, std::vector<at::Tensor> tangents,
                                      Flags wanted) const {
  use_one_thread_after_fork();
  BackwardCase which(wanted.begin(), wanted.end());
  for (const auto& tangent : tangents) which.push_back(tangent.defined());
  const auto& code = executable(which);
  auto inputs = std::move(saved);
  {
    aten::BelowRecording below;
    for (size_t k = 0; k < tangents.size(); ++k)
      inputs.push_back(fit(std::move(tangents[k]), tangent_types_[k]));
  }
  tangents.clear();
  std::vector<at::Tensor> gradients;
  code.run(std::move(inputs), gradients);
  for (size_t i = 0; i < wanted.size(); ++i)  // code from elsewhere may compute more than is wanted
    if (!wanted[i]) gradients[i] = at::Tensor();
  return gradients;
}

const std::string& Backward::identity() const {
  std::call_once(identity_once_, [&] {
    if (facts_.communicates) return;
    const bool throws =
        std::any_of(facts_.errors.begin(), facts_.errors.end(), [](const auto& e) { return e != nullptr; });
    if (throws || !writes_.empty()) return;
    const auto& graph = make_.graph();
    const bool pure = std::all_of(graph.nodes.begin(), graph.nodes.end(), [](const ir::Node& node) {
      return node.effects.none() && !node.functional;
    });
    if (!pure) return;
    ByteWriter bytes;
    ir::write(bytes, graph, ir::GraphParts::Key);
    identity_ = cache::sha256(bytes.bytes()).view();
  });
  return identity_;
}

std::vector<at::Tensor> Backward::record(std::vector<at::Tensor> saved,
                                         const std::vector<at::Tensor>& tangents, Flags wanted,
                                         const std::vector<int64_t>& symbols) const {
  BackwardCase which(wanted.begin(), wanted.end());
  for (const auto& tangent : tangents) which.push_back(tangent.defined());
  const auto graph = ir::inline_calls(make_.graph_at(symbols));
  auto inputs = std::move(saved);
  for (const auto& tangent : tangents) {
    const TangentType type(graph.tensor_type(graph.inputs[inputs.size()].value));
    inputs.push_back(fit(tangent, type));
  }
  return capture::active_recorder()->paste(specialize(graph, facts_.reached_by, which), inputs);
}

}  // namespace antegrad::runtime
