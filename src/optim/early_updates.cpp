#include "optim/early_updates.h"

#include <ATen/ops/empty_strided.h>
#include <fmt/format.h>

#include <algorithm>

#include "antegrad/error.h"
#include "aten/convert.h"

namespace antegrad::optim {
namespace {

/// Gradients of this size are used while they are in caches, and not kept for others.
constexpr int64_t kLargeBytes = int64_t{256} << 10;

/// Returns the input of the caller that a slot is, or lies on; -1 for other slots.
int32_t input_of(const aot::Signature& signature, int32_t slot) {
  if (slot < signature.inputs) return slot;
  const auto* base = aot::find_base(signature, slot);
  return base == nullptr ? -1 : base->members.front();
}

/// Whether the memory of an output of the graph is that of a gradient of the parameter, element by element.
bool is_gradient_of(const at::Tensor& parameter, const runtime::ResultTimes::Output& output,
                    const runtime::OutputOrigin& origin, const runtime::Caller& caller) {
  if (output.dtype != aten::to_ir(parameter.scalar_type())) return false;
  const auto meta = parameter.options().device(at::kMeta);
  const auto gradient = caller.make_output(origin, at::empty_strided(output.sizes, output.strides, meta));
  if (gradient.sizes() != parameter.sizes() || gradient.storage_offset() != 0) return false;
  for (int64_t d = 0; d < parameter.dim(); ++d)
    if (parameter.size(d) > 1 && gradient.stride(d) != parameter.stride(d)) return false;
  return true;
}

}  // namespace

void EarlyUpdates::set_parameters(std::vector<at::Tensor> parameters) {
  parameters_ = std::move(parameters);
  executable_.reset();
}

void EarlyUpdates::reset(bool repeats) {
  repeats_ = repeats;
  active_ = false;
  updated_ = 0;
}

bool EarlyUpdates::begin(const runtime::Caller& caller, c10::ArrayRef<at::Tensor> inputs) {
  if (repeats_ || !stepper_.may_be_made_in_parts()) return false;
  if (caller.shared_executable() != executable_) {
    executable_ = caller.shared_executable();
    planned_ = false;
    possible_ = read(caller);
  }
  if (!possible_) return false;
  size_t next = 0;  // parameters come in the order of the gradients
  active_ = stepper_.begin_parts([&](const at::Tensor& parameter) {
    if (next == gradients_.size() || !parameters_[gradients_[next].parameter].is_same(parameter))
      return at::Tensor();
    ++next;
    return parameter;
  });
  if (active_ && (next != gradients_.size() || !plan(caller, inputs))) {
    stepper_.abandon_parts();
    active_ = false;
  }
  return active_;
}

bool EarlyUpdates::read(const runtime::Caller& caller) {
  const auto origins = runtime::output_origins(caller.signature());
  const auto& times = *caller.executable().times();
  if (origins.size() < parameters_.size()) return false;
  gradients_.clear();
  for (size_t i = 0; i < parameters_.size(); ++i) {
    const auto result = origins[i].result;
    if (result == runtime::OutputOrigin::kUndefined) continue;
    if (result < 0) return false;
    const auto& output = times.outputs[result];
    if (!output.own || output.first < 0 || !is_gradient_of(parameters_[i], output, origins[i], caller))
      return false;
    gradients_.push_back({result, i, output.first, 0, static_cast<int64_t>(parameters_[i].nbytes())});
  }
  return gradients_.size() > 1;  // a single one is as large as the largest
}

void EarlyUpdates::add_memory(const at::Tensor& tensor, size_t of, std::vector<Memory>& list) {
  if (tensor.defined() && tensor.has_storage()) list.push_back({storage_span(tensor), of});
}

bool EarlyUpdates::plan(const runtime::Caller& caller, c10::ArrayRef<at::Tensor> inputs) {
  std::vector<Memory> read, written;
  for (size_t i = 0; i < inputs.size(); ++i) add_memory(inputs[i], i, read);
  size_t row = 0;
  stepper_.for_each_part([&](const Update& update) {
    add_memory(update.parameter, row, written);
    for (const auto& state : update.state) add_memory(state, row, written);
    ++row;
  });
  if (planned_ && read == inputs_ && written == written_) return true;
  inputs_ = std::move(read);
  written_ = std::move(written);
  planned_ = find_times(caller);
  if (planned_) plan_stops();
  return planned_;
}

std::vector<int32_t> EarlyUpdates::last_reads_of_written(const runtime::Caller& caller) const {
  const auto& signature = caller.signature();
  const auto& times = *caller.executable().times();
  std::vector<int32_t> of_input(signature.inputs, -1);
  for (size_t i = 0; i < signature.graph_inputs.size(); ++i)
    if (const auto input = input_of(signature, signature.graph_inputs[i]); input >= 0)
      of_input[input] = std::max(of_input[input], times.last_reads[i]);
  const auto by_begin = [](const Memory& a, const Memory& b) { return a.begin < b.begin; };
  auto inputs = inputs_;
  std::sort(inputs.begin(), inputs.end(), by_begin);
  std::vector<const char*> reach;  // how far the inputs up to each one reach
  for (const auto& input : inputs)
    reach.push_back(reach.empty() ? input.end : std::max(reach.back(), input.end));
  std::vector<int32_t> last;
  for (const auto& written : written_) {
    last.push_back(-1);
    const auto after =
        std::lower_bound(inputs.begin(), inputs.end(), Memory{{written.end, nullptr}}, by_begin);
    for (auto i = after - inputs.begin() - 1; i >= 0 && reach[i] > written.begin; --i)
      if (inputs[i].meets(written)) last.back() = std::max(last.back(), of_input[inputs[i].of]);
  }
  return last;
}

bool EarlyUpdates::find_times(const runtime::Caller& caller) {
  const auto& signature = caller.signature();
  const auto& times = *caller.executable().times();
  for (const auto& input : inputs_)
    for (const auto* changed : {&signature.written, &signature.changed})
      if (std::ranges::count(*changed, static_cast<int32_t>(input.of)) > 0 &&
          std::ranges::any_of(written_, [&](const Memory& written) { return written.meets(input); }))
        return false;
  const auto last_reads = last_reads_of_written(caller);
  for (auto& gradient : gradients_)
    gradient.final_from = std::max(times.outputs[gradient.output].last, times.last_failure) + 1;
  for (size_t i = 0; i < written_.size(); ++i) {
    auto& gradient = gradients_[written_[i].of];
    gradient.final_from = std::max(gradient.final_from, last_reads[i] + 1);
  }
  return true;
}

void EarlyUpdates::add_stop(int32_t step, std::vector<int32_t>& rows) {
  if (rows.empty()) return;
  auto& stop = stops_.emplace_back();
  stop.step = step;
  for (auto row : rows) stop.outputs.push_back(gradients_[row].output);
  rows_.push_back(std::move(rows));
  rows.clear();
}

/// Gradients wait for others until they would take more memory than the largest one.
void EarlyUpdates::plan_stops() {
  stops_.clear();
  rows_.clear();
  int64_t most = 0;
  for (const auto& gradient : gradients_) most = std::max(most, gradient.bytes);
  const auto enough = std::min(most, kLargeBytes);
  std::vector<int32_t> waiting;
  const auto bytes_ready = [&](int32_t step) {
    int64_t bytes = 0;
    for (auto row : waiting) bytes += gradients_[row].final_from <= step ? gradients_[row].bytes : 0;
    return bytes;
  };
  const auto take_ready = [&](int32_t step) {
    std::vector<int32_t> ready, rest;
    for (auto row : waiting) (gradients_[row].final_from <= step ? ready : rest).push_back(row);
    waiting = std::move(rest);
    add_stop(step, ready);
  };
  for (int32_t step = 0; step <= executable_->steps(); ++step) {
    int64_t born = 0;
    for (const auto& gradient : gradients_) born += gradient.born == step ? gradient.bytes : 0;
    int64_t alive = 0;
    for (auto row : waiting) alive += gradients_[row].bytes;
    if (bytes_ready(step) >= enough || (born > 0 && alive + born > most) || step == executable_->steps())
      take_ready(step);
    for (size_t row = 0; row < gradients_.size(); ++row)
      if (gradients_[row].born == step) waiting.push_back(static_cast<int32_t>(row));
  }
}

void EarlyUpdates::take(size_t stop, c10::ArrayRef<at::Tensor> tensors) {
  stepper_.update_parts(rows_[stop], tensors);
  updated_ += tensors.size();
}

bool EarlyUpdates::finish() {
  if (!active_) return false;
  active_ = false;
  stepper_.finish_parts();
  return true;
}

void EarlyUpdates::fail(const std::string& what) {
  if (!std::exchange(active_, false)) return;
  stepper_.abandon_parts();
  if (updated_ == 0) return;
  throw Error(ErrorCode::Internal, "training_step",
              fmt::format("the step failed after {} of {} parameters were updated: {}", updated_,
                          gradients_.size(), what),
              "Continue from a checkpoint; with Gradients::Keep nothing is updated before everything is "
              "computed");
}

}  // namespace antegrad::optim
