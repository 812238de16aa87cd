#include "schedule/one_block.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

namespace antegrad::schedule {
namespace {

/// Ops of single elements in one part: a block takes about a microsecond for as many, which is less than the
/// host needs to launch a kernel and the device to start it.
constexpr int64_t kMostWork = 100'000;
// Of one kernel. More take NVRTC long, and have more parameters than a launch passes quickly.
constexpr size_t kMostParts = 48, kMostBuffers = 160, kMostOps = 2500;

bool is_small_constant(const ir::Dim& dim) {
  return dim.is_constant() && dim.constant() > 0 && dim.constant() <= kMostWork;
}

/// Returns how often the body of loops runs; nothing if that is not known, or not at all, or too often.
std::optional<int64_t> iterations_of(const Kernel& kernel, const std::vector<int32_t>& loops) {
  int64_t count = 1;
  for (const auto loop : loops) {
    if (!is_small_constant(kernel.loops[loop])) return std::nullopt;
    count *= kernel.loops[loop].constant();
    if (count > kMostWork) return std::nullopt;
  }
  return count;
}

bool may_be_part(const Kernel& kernel) {
  if (kernel.device != ir::Device::Kind::Cuda || kernel.symbols > 0 || !kernel.clear.empty() ||
      !kernel.parts.empty() || !(kernel.chunks.is(0) || is_small_constant(kernel.chunks)))
    return false;
  const bool known_memory = std::ranges::all_of(
      kernel.buffers, [](const Buffer& buffer) { return is_small_constant(buffer.elements); });
  const auto units = iterations_of(kernel, kernel.outer);
  if (!known_memory || !units) return false;
  int64_t work = 0;
  for (const auto& section : kernel.sections) {
    const auto inner = iterations_of(kernel, section.loops);
    if (!inner || std::ranges::any_of(section.ops, [](const Op& op) { return !op.indirect.empty(); }))
      return false;
    work += *units * *inner * std::ssize(section.ops);
  }
  return work <= kMostWork;
}

size_t ops_of(const Kernel& kernel) {
  size_t ops = 0;
  for (const auto& section : kernel.sections) ops += section.ops.size();
  return ops;
}

/// Steps that become one.
class JoinedSteps {
 public:
  explicit JoinedSteps(const Program& program) : program_(program) {}

  size_t count() const { return whole_.parts.size(); }

  /// Adds a step. Returns false if it cannot be a part, or no more fit.
  bool add(const RunKernel& step) {
    const auto& kernel = program_.kernel_of(step);
    const auto new_buffers =
        std::ranges::count_if(step.buffers, [&](ir::ValueId id) { return !places_.contains(id.index); });
    if (!may_be_part(kernel) || !is_here(step) || count() == kMostParts || ops_ + ops_of(kernel) > kMostOps ||
        whole_.buffers.size() + static_cast<size_t>(new_buffers) > kMostBuffers)
      return false;
    KernelPart part{kernel, {}};
    size_t passed = 0;
    for (const auto& buffer : kernel.buffers)
      if (buffer.kind != Buffer::Kind::Scratch) part.buffers.push_back(place(buffer, step.buffers[passed++]));
    ops_ += ops_of(kernel);
    whole_.parts.push_back(std::move(part));
    return true;
  }

  Kernel kernel() && {
    whole_.device = ir::Device::Kind::Cuda;
    return std::move(whole_);
  }
  const std::vector<ir::ValueId>& values() const { return values_; }

 private:
  /// Whether the step runs on the device of the others.
  bool is_here(const RunKernel& step) {
    size_t passed = 0;
    for (const auto& buffer : program_.kernel_of(step).buffers) {
      if (buffer.kind == Buffer::Kind::Scratch) continue;
      const auto value = step.buffers[passed++];
      if (buffer.kind == Buffer::Kind::Output)
        return program_.graph.tensor_type(value).device ==
               program_.graph.tensor_type(device_of_.valid() ? device_of_ : device_of_ = value).device;
    }
    return false;
  }

  /// Returns the buffer of the whole for a value. It is an output if any part writes to it.
  int32_t place(const Buffer& buffer, ir::ValueId value) {
    const auto [at, added] = places_.emplace(value.index, static_cast<int32_t>(whole_.buffers.size()));
    if (added) {
      whole_.buffers.push_back(buffer);
      values_.push_back(value);
      return at->second;
    }
    auto& known = whole_.buffers[at->second];
    if (buffer.kind == Buffer::Kind::Output) known.kind = Buffer::Kind::Output;
    if (buffer.elements.constant() > known.elements.constant()) known.elements = buffer.elements;
    return at->second;
  }

  const Program& program_;
  Kernel whole_;
  std::vector<ir::ValueId> values_;    ///< per buffer
  std::map<int32_t, int32_t> places_;  ///< from values to buffers
  ir::ValueId device_of_;              ///< a value on the device of all steps
  size_t ops_ = 0;
};

class Joiner {
 public:
  explicit Joiner(Program& program) : program_(program) {}

  void run() {
    find_decisions();
    std::vector<Step> steps;
    for (size_t s = 0; s < program_.steps.size();) {
      JoinedSteps joined(program_);
      auto end = s;
      while (end < program_.steps.size()) {
        const auto* step = std::get_if<RunKernel>(&program_.steps[end]);
        if (step == nullptr || !joined.add(*step)) break;
        ++end;
      }
      if (joined.count() < 2) {
        steps.push_back(std::move(program_.steps[s++]));
        continue;
      }
      auto values = joined.values();
      const auto kernel = keep(std::move(joined).kernel());
      for (; s < end; ++s) decision_of_[s]->what += ", a part of " + program_.kernels[kernel].name;
      steps.emplace_back(RunKernel{kernel, std::move(values), 1, 1});
    }
    program_.steps = std::move(steps);
    drop_unused();
  }

 private:
  /// Each step that runs a kernel has a decision, in the same order.
  void find_decisions() {
    auto next = program_.decisions.begin();
    for (const auto& step : program_.steps) {
      decision_of_.push_back(nullptr);
      if (!std::holds_alternative<RunKernel>(step)) continue;
      next = std::find_if(next, program_.decisions.end(),
                          [](const Decision& decision) { return decision.why.empty(); });
      decision_of_.back() = &*next++;
    }
  }

  int32_t keep(Kernel kernel) {
    for (size_t k = 0; k < program_.kernels.size(); ++k) {
      kernel.name = program_.kernels[k].name;
      if (kernel == program_.kernels[k]) return static_cast<int32_t>(k);
    }
    kernel.name = fmt::format("k{}_{}_kernels", program_.kernels.size(), kernel.parts.size());
    program_.kernels.push_back(std::move(kernel));
    return static_cast<int32_t>(program_.kernels.size()) - 1;
  }

  /// Removes kernels that only parts use.
  void drop_unused() {
    std::vector<int32_t> now(program_.kernels.size(), -1);
    std::vector<Kernel> used;
    for (auto& step : program_.steps) {
      auto* run = std::get_if<RunKernel>(&step);
      if (run == nullptr) continue;
      auto& index = now[run->kernel];
      if (index < 0) {
        index = static_cast<int32_t>(used.size());
        used.push_back(std::move(program_.kernels[run->kernel]));
      }
      run->kernel = index;
    }
    program_.kernels = std::move(used);
  }

  Program& program_;
  std::vector<Decision*> decision_of_;  ///< per step; null for LibTorch's
};

}  // namespace

void join_small_kernels(Program& program) { Joiner(program).run(); }

}  // namespace antegrad::schedule
