#include "runtime/executable.h"

#include <optional>

#include "antegrad/error.h"
#include "aten/below_recording.h"
#include "aten/convert.h"
#include "ir/calls.h"
#include "ir/ops.h"
#include "ir/substitute.h"
#include "runtime/comparison.h"
#include "runtime/cuda/device.h"
#include "runtime/cuda/error_words.h"
#include "runtime/cuda/launch.h"
#include "runtime/instructions.h"
#include "runtime/kernel_call.h"
#include "runtime/memory_pool.h"
#include "runtime/plan/overwrite.h"
#include "runtime/plan/placement.h"
#include "runtime/step_timer.h"
#include "runtime/tensor_memory.h"

namespace antegrad::runtime {

namespace {

/// Arenas of at most this size are on the stack.
constexpr int64_t kSmallArena = 8192;

/// Returns whether a pointwise node reads its first argument for the last time and gives a result of the same
/// type.
bool may_reuse(const ir::Graph& graph, const ir::Node& node, size_t step, const Placement& placement) {
  const auto* first = node.args.empty() ? nullptr : node.args[0].as<ir::ValueId>();
  const auto* info = ir::find_op(node.op);
  if (first == nullptr || info == nullptr || info->kind != ir::OpKind::Pointwise || node.outputs.size() != 1)
    return false;
  int reads = 0;
  ir::for_each_input(node, [&](ir::ValueId v) { reads += v == *first ? 1 : 0; });
  auto type = graph.type_of(*first);
  // In-place ops on complex tensors handle conjugation differently, with other rounding.
  // A tensor without dims may be a wrapped number, which its result is not.
  if (const auto* tensor = type.tensor();
      tensor == nullptr || ir::is_complex(tensor->dtype) || tensor->sizes.empty())
    return false;
  if (auto* tensor = std::get_if<ir::TensorType>(&type.v)) tensor->offset = 0;
  return reads == 1 && std::cmp_equal(placement.values[*first].last_use, step) &&
         type == graph.type_of(node.outputs[0]);
}

schedule::Program as_program(const ir::Graph& graph) {
  schedule::Program program;
  program.graph = ir::inline_calls(graph);
  for (const auto node : program.graph.node_ids()) program.steps.emplace_back(schedule::RunNode{node});
  return program;
}

/// A tensor to be created before a step.
struct PreparedBirth {
  int32_t slot;
  int32_t donor;
  int64_t arena_offset;
  TensorShape shape;

  void run(Registers& registers) const {
    auto& tensor = registers[slot];
    if (arena_offset >= 0) {
      tensor = tensor_on(registers.arena_storage, shape, arena_offset);
    } else if (donor >= 0 && is_owned(registers[donor])) {
      tensor = tensor_on(registers[donor].storage(), shape, 0);
    } else {
      tensor = empty_tensor(shape);
    }
  }
};

}  // namespace

struct Executable::Entry {
  std::vector<PreparedBirth> births;
  std::unique_ptr<Instruction> instruction;
  std::vector<int32_t> fresh;  ///< registers that LibTorch fills, perhaps with an argument in the arena
  /// LibTorch's results that kernels read, with the layout that kernels expect.
  std::vector<std::pair<int32_t, TensorShape>> read_by_kernels;
  std::vector<int32_t> dying;  ///< registers that no later instruction reads
  int64_t begins_arena = 0;    ///< size of the arena that begins here; 0: none does
  bool ends_arena = false;
  std::shared_ptr<const Comparison> comparison;  ///< of the whole program; null when nothing is compared

  void let_go(Registers& registers) const {
    for (auto slot : dying) registers[slot] = at::Tensor();
    if (ends_arena) registers.end_arena();
  }
};

namespace {

/// Kernels address memory by the strides that the graph was captured with: copies a tensor that has others.
void bring_to(const TensorShape& shape, at::Tensor& tensor) {
  if (tensor.strides() == at::IntArrayRef(shape.strides) || tensor.numel() == 0) return;
  TORCH_CHECK(tensor.sizes() == at::IntArrayRef(shape.sizes), "antegrad: an op gave a result of sizes ",
              tensor.sizes(), " where ", at::IntArrayRef(shape.sizes), " were captured");
  auto copy = empty_tensor(shape);
  copy.copy_(tensor);
  tensor = std::move(copy);
}

/// Kernels read memory: copies a tensor whose memory does not hold its contents (zero tensors, lazy bits).
void fill_memory(at::Tensor& tensor) {
  if (!tensor.defined()) return;
  constexpr c10::DispatchKeySet kLazy(
      {c10::DispatchKey::ZeroTensor, c10::DispatchKey::Conjugate, c10::DispatchKey::Negative});
  if (!tensor.unsafeGetTensorImpl()->key_set().has_any(kLazy)) return;
  const aten::BelowRecording below;
  auto copy = at::empty_strided(tensor.sizes(), tensor.strides(), tensor.options());
  tensor._is_zerotensor() ? copy.zero_() : copy.copy_(tensor);
  tensor = std::move(copy);
}

}  // namespace

/// LibTorch's calls that raise index errors, made when they are first needed.
struct Executable::Fallback {
  IndexChecksPtr checks;
  std::once_flag once;
  ir::Graph graph;  ///< of the checks, at these sizes
  std::unique_ptr<Executable> eager;
};

Executable::Executable(const ir::Graph& graph) { assemble(as_program(graph), {}, false, nullptr, {}); }

Executable::Executable(const schedule::Program& program, const std::vector<KernelCode>& kernels,
                       std::vector<int64_t> symbols, bool compare, IndexChecksPtr checks,
                       const InputWrites& writes)
    : symbols_(std::make_shared<const std::vector<int64_t>>(std::move(symbols))) {
  assemble(program, kernels, compare, std::move(checks), writes);
}

Executable::~Executable() = default;

int32_t Executable::steps() const { return static_cast<int32_t>(entries_.size()); }

std::unique_ptr<Instruction> Executable::make_step(const schedule::Program& program, size_t step,
                                                   const std::vector<KernelCode>& kernels,
                                                   const Placement& placement) const {
  if (const auto* call = std::get_if<schedule::RunKernel>(&program.steps[step])) {
    std::vector<Operand> operands;
    for (auto value : call->buffers) {
      const auto offset = placement.values[value].arena_offset;
      operands.push_back(offset >= 0 ? Operand{-1, offset} : Operand{placement.register_of[value], 0});
    }
    const auto& code = kernels[call->kernel];
    if (code.cuda != nullptr)
      return cuda::make_launch(program.kernel_of(*call), code, device_, std::move(operands), symbols_);
    return make_kernel_call(code, std::move(operands), symbols_, call->units.constant(), call->grain);
  }
  const auto& node = program.node_of(std::get<schedule::RunNode>(program.steps[step]));
  // For sizes that change, oneDNN would make code each time, which takes a millisecond or more.
  const bool fixed_sizes = symbols_ != nullptr && symbols_->empty();
  if (placement.steps[step].writes_out)
    return make_out_call(node, program.graph, placement.register_of, /*as_eager=*/!fixed_sizes);
  return make_instruction(node, program.graph, placement.register_of,
                          may_reuse(program.graph, node, step, placement));
}

void Executable::assemble(const schedule::Program& given, const std::vector<KernelCode>& kernels,
                          bool compare, IndexChecksPtr checks, const InputWrites& writes) {
  PlacementOptions options{symbols_ ? *symbols_ : std::vector<int64_t>(), std::move(checks)};
  std::optional<schedule::Program> reordered;
  if (!compare && !writes.list.empty()) {
    reordered = given;
    options.in_place = plan_in_place(writes, options.symbols, *reordered);
  }
  const auto& program = reordered ? *reordered : given;
  const auto& graph = program.graph;
  runs_kernels_ = !program.kernels.empty();
  auto placement = place(program, options);
  writes_ = std::move(options.in_place.writes);
  if (compare)
    for (const auto& write : writes.list)
      writes_.push_back({write.output, write.input, "Options::debug_compare is set"});
  adoptions_ = std::move(placement.adoptions);
  is_deferred_ = options.in_place.deferred;
  deferred_from_ =
      options.in_place.deferred ? static_cast<size_t>(options.in_place.first) : program.steps.size();
  register_count_ = placement.registers;
  device_ = aten::to_torch(placement.device);
  std::optional<cuda::DeviceScope> scope;  // launches are prepared in the device's context
  if (device_.is_cuda()) scope.emplace(device_);
  arena_bytes_ = placement.arena_bytes;
  if (placement.checks) {
    fallback_ = std::make_unique<Fallback>();
    fallback_->checks = placement.checks;
  }
  auto register_of = [&](ir::ValueId v) { return v.valid() ? placement.register_of[v] : -1; };
  for (const auto& input : graph.inputs) inputs_.push_back(register_of(input.value));
  for (const auto& output : graph.outputs) outputs_.push_back(register_of(output.value));
  const auto comparison = compare ? std::make_shared<const Comparison>(program, placement) : nullptr;
  ir::PerValue<bool> kernels_read(graph.values.size());
  for (const auto& step : program.steps)
    if (const auto* run = std::get_if<schedule::RunKernel>(&step))
      for (auto value : run->buffers) kernels_read[value] = true;
  entries_.reserve(program.steps.size());
  for (size_t s = 0; s < program.steps.size(); ++s) {
    Entry entry;
    for (const auto& birth : placement.steps[s].births) {
      entry.births.push_back(
          {birth.slot, birth.donor, birth.arena_offset, TensorShape(graph.tensor_type(birth.value))});
      arena_tensors_ = arena_tensors_ || birth.arena_offset >= 0;
    }
    entry.instruction = make_step(program, s, kernels, placement);
    if (const auto* run = std::get_if<schedule::RunNode>(&program.steps[s]);
        run && !placement.steps[s].writes_out)
      for (auto v : program.node_of(*run).outputs) {
        if (arena_tensors_ && graph.storage_of(v) == v) entry.fresh.push_back(register_of(v));
        if (kernels_read[v])
          entry.read_by_kernels.emplace_back(register_of(v), TensorShape(graph.tensor_type(v)));
      }
    entry.dying = std::move(placement.steps[s].dying);
    entry.begins_arena = placement.steps[s].arena_begin;
    entry.ends_arena = placement.steps[s].arena_end;
    entry.comparison = comparison;
    entries_.push_back(std::move(entry));
  }
  timer_ = StepTimer::make(program);
  if (!compare && !is_deferred_) times_ = result_times(program, options.symbols);
}

void Executable::run(c10::ArrayRef<at::Tensor> inputs, std::vector<at::Tensor>& outputs,
                     EarlyTaker* early) const {
  Registers registers(register_count_);
  for (size_t i = 0; i < inputs_.size(); ++i)
    if (inputs_[i] >= 0) registers[inputs_[i]] = inputs[i];
  run(registers, entries_.size(), outputs, early);
}

Registers Executable::start(c10::ArrayRef<at::Tensor> inputs, std::vector<at::Tensor>& outputs) const {
  Registers registers(register_count_);
  for (size_t i = 0; i < inputs_.size(); ++i)
    if (inputs_[i] >= 0) registers[inputs_[i]] = inputs[i];
  run(registers, deferred_from_, outputs);
  return registers;
}

void Executable::finish(Registers& registers) const {
  run_entries(registers, deferred_from_, entries_.size());
}

void Executable::run(std::vector<at::Tensor>&& inputs, std::vector<at::Tensor>& outputs,
                     EarlyTaker* early) const {
  c10::SmallVector<const c10::TensorImpl*, 32> given;
  {
    Registers registers(register_count_);
    for (size_t i = 0; i < inputs_.size(); ++i)
      if (inputs_[i] >= 0) {
        given.push_back(inputs[i].unsafeGetTensorImpl());
        registers[inputs_[i]] = std::move(inputs[i]);
      }
    inputs.clear();
    run(registers, entries_.size(), outputs, early);
  }
  // Results may take over the memory of inputs, but not the object: users may still refer to it weakly.
  for (auto& output : outputs)
    if (output.defined() && output.use_count() == 1 &&
        std::find(given.begin(), given.end(), output.unsafeGetTensorImpl()) != given.end())
      output = as_new_tensor(output);
}

/// Runs all steps, and hands over outputs between them.
void Executable::run_early(Registers& registers, EarlyTaker& early) const {
  size_t done = 0;
  const auto& stops = early.stops();
  for (size_t i = 0; i < stops.size(); ++i) {
    const auto step = static_cast<size_t>(stops[i].step);
    run_entries(registers, done, step);
    done = step;
    c10::SmallVector<at::Tensor, 8> tensors;
    for (auto output : stops[i].outputs) tensors.push_back(std::move(registers[outputs_[output]]));
    early.take(i, tensors);
  }
  run_entries(registers, done, entries_.size());
}

void Executable::run(Registers& registers, size_t end, std::vector<at::Tensor>& outputs,
                     EarlyTaker* early) const {
  alignas(64) std::byte small[kSmallArena];
  if (has_small_arena()) registers.arena = small;
  std::optional<cuda::DeviceScope> scope;
  if (device_.is_cuda()) {
    cuda::throw_found_errors();
    scope.emplace(device_);
    registers.stream = scope->stream();
  }
  if (runs_kernels_)
    for (auto slot : inputs_)
      if (slot >= 0) fill_memory(registers[slot]);
  for (const auto& [result, input] : adoptions_) {
    registers[input].mutable_data_ptr();  // memory that is copied when it is first written to is copied now
    registers[result] = registers[input];
  }
  try {
    early != nullptr ? run_early(registers, *early) : run_entries(registers, 0, end);
  } catch (const IndexOutOfRange&) {
    fail_as_eager(registers);
  }
  outputs.reserve(outputs_.size());
  for (auto slot : outputs_) outputs.push_back(slot < 0 ? at::Tensor() : registers[slot]);
}

inline bool Executable::has_small_arena() const {
  return arena_bytes_ <= kSmallArena && !arena_tensors_ && !device_.is_cuda();
}

void Executable::begin_arena(int64_t bytes, Registers& registers) const {
  if (has_small_arena()) return;
  auto memory = device_.is_cuda() ? cuda::allocate(bytes) : memory_pool::allocate(bytes);
  registers.arena = static_cast<std::byte*>(memory.get());
  if (arena_tensors_)
    registers.arena_storage = c10::make_intrusive<c10::StorageImpl>(c10::StorageImpl::use_byte_size_t(),
                                                                    bytes, std::move(memory), nullptr, false);
  else
    registers.arena_memory = std::move(memory);
}

[[gnu::always_inline]] inline void Executable::run_entry(const Entry& entry, Registers& registers) const {
  if (entry.begins_arena > 0) begin_arena(entry.begins_arena, registers);
  for (const auto& birth : entry.births) birth.run(registers);
  entry.instruction->run(registers);
  for (auto slot : entry.fresh) {
    auto& tensor = registers[slot];
    if (tensor.defined() && tensor.has_storage() &&
        tensor.storage().unsafeGetStorageImpl() == registers.arena_storage.unsafeGetStorageImpl())
      tensor = clone_with_strides(tensor);
  }
  for (const auto& [slot, shape] : entry.read_by_kernels) {
    fill_memory(registers[slot]);
    bring_to(shape, registers[slot]);
  }
}

void Executable::run_entries(Registers& registers, size_t begin, size_t end) const {
  const aten::BelowRecording below;
  if (!entries_.empty() && entries_.front().comparison) {
    const auto& comparison = *entries_.front().comparison;
    auto copies = comparison.begin(registers);
    for (size_t s = 0; s < entries_.size(); ++s) {
      comparison.before(s, registers, copies);
      run_entry(entries_[s], registers);
      comparison.after(s, registers, copies);
      entries_[s].let_go(registers);
    }
    return comparison.end(registers, copies);
  }
  if (timer_ && (begin == 0 ? timer_->wants() : !registers.times.empty()))
    return run_timed(registers, begin, end);
  for (size_t s = begin; s < end; ++s) {
    run_entry(entries_[s], registers);
    entries_[s].let_go(registers);
  }
}

void Executable::run_timed(Registers& registers, size_t begin, size_t end) const {
  auto& times = registers.times;
  times.reserve(entries_.size());
  auto before = StepTimer::Clock::now();
  for (size_t s = begin; s < end; ++s) {
    run_entry(entries_[s], registers);
    entries_[s].let_go(registers);
    if (device_.is_cuda()) cuda::synchronize(registers.stream, "timing the steps of a run");
    const auto after = StepTimer::Clock::now();
    times.push_back(std::chrono::duration<float>(after - before).count());
    before = after;
  }
  if (end == entries_.size()) timer_->add(times);
}

void Executable::fail_as_eager(const Registers& registers) const {
  const auto& checks = *fallback_->checks;
  auto& graph = fallback_->graph;
  std::call_once(fallback_->once, [&] {
    graph = symbols_ ? ir::substitute(checks.graph, *symbols_) : checks.graph;
    fallback_->eager = std::make_unique<Executable>(graph);
  });
  std::vector<at::Tensor> inputs;
  for (size_t i = 0; i < checks.inputs.size(); ++i) {
    const auto input = checks.inputs[i];
    inputs.push_back(input < 0 ? empty_tensor(TensorShape(graph.tensor_type(graph.inputs[i].value)))
                               : registers[inputs_[input]]);
  }
  std::vector<at::Tensor> outputs;
  fallback_->eager->run(inputs, outputs);
  throw Error(ErrorCode::Internal, "run",
              "a kernel found an index that is out of range, and LibTorch's kernels found none",
              "Use Backend::Eager, and report it");
}

}  // namespace antegrad::runtime
