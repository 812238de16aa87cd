#include "capture/capture.h"

#include <fmt/format.h>
#include <torch/csrc/autograd/variable.h>

#include "antegrad/error.h"
#include "aten/generators.h"
#include "capture/backward.h"
#include "capture/engine_passes.h"
#include "capture/gradients.h"
#include "capture/inner_leaves.h"
#include "capture/kept.h"
#include "capture/recorder.h"
#include "capture/recording.h"
#include "capture/shared_flags.h"
#include "ir/restride.h"

namespace antegrad::capture {
namespace {

OutputEnd end_of_output(const at::Tensor& output, const std::vector<at::Tensor>& fakes, Recorder& recorder) {
  OutputEnd end;
  if (!output.defined()) return end;
  end.retains_grad = as_fake(output) != nullptr && output.retains_grad();
  end.value = recorder.value_of(output);
  for (size_t i = 0; i < fakes.size(); ++i)
    if (end.same_as_input < 0 && fakes[i].defined() && fakes[i].is_same(output))
      end.same_as_input = static_cast<int>(i);
  const auto& counter = output.unsafeGetTensorImpl()->version_counter();
  if (counter.enabled()) end.version = counter.current_version();
  // What was set on the tensor itself: a view that is made anew follows its base, as this one does.
  const auto* meta = torch::autograd::impl::get_autograd_meta(output);
  end.requires_grad = meta != nullptr && meta->requires_grad_;
  return end;
}

InputEnd end_of_input(const at::Tensor& real, const at::Tensor& fake, const torch::autograd::Edge& edge,
                      ir::ValueId original) {
  InputEnd end;
  end.value = original;
  if (!fake.defined()) return end;
  end.value = as_fake(fake)->value();
  const auto& counter = fake.unsafeGetTensorImpl()->version_counter();
  if (counter.enabled()) end.version_bumps = counter.current_version();
  end.required_grad = edge.is_valid();  // the real tensor may have changed: it may be captured, too
  end.requires_grad = fake.requires_grad();
  end.history_changed = history_changed(fake, edge);
  end.detached = edge.is_valid() && !real.is_leaf() && !end.requires_grad;
  end.retains_grad = fake.retains_grad();
  if (end.retains_grad && end.history_changed)
    throw Error(ErrorCode::UnsupportedOp, "capture:retain_grad",
                "the function calls retain_grad() on an argument that it writes to",
                "Call it outside, on a clone() of the argument, or set Options::unsupported to Break");
  return end;
}

/// Adds a constant to `nodes`. Its data are stored row-major; a tensor of other strides is made from that.
void add_constant(const Outsider& outsider, ir::Graph& graph, std::vector<ir::Node>& nodes) {
  auto& type = *graph.values[outsider.value].type.tensor();
  type.offset = 0;
  auto stored = outsider.value;
  const bool row_major = type.is_contiguous();
  if (!row_major) stored = graph.add_value(ir::contiguous_tensor(type.dtype, type.sizes, type.device));
  ir::Node node;
  node.op = "antegrad.constant";
  node.attrs.push_back({"data", outsider.snapshot ? outsider.snapshot : contents_of(outsider.tensor)});
  if (outsider.wrapped_number) node.attrs.push_back({"wrapped", true});
  node.outputs = {stored};
  nodes.push_back(std::move(node));
  if (row_major) return;
  auto restride = ir::restride_node(stored, graph.tensor_type(outsider.value));
  restride.outputs = {outsider.value};
  nodes.push_back(std::move(restride));
}

/// Returns whether the tensor was made during the capture and dies with it: nobody else holds it. Where the
/// function has stored tensors, it may also be one that was replaced, so it is not a constant.
bool is_constant(const Outsider& outsider, bool keeps) {
  if (outsider.wrapped_number) return true;
  if ((keeps || outsider.requires_grad) && !is_borrowed(outsider.tensor)) return false;
  return outsider.tensor.use_count() == 1;
}

void check_constant(const Outsider& outsider) {
  if (outsider.wrapped_number) return;
  if (is_borrowed(outsider.tensor) && (outsider.written || !outsider.snapshot))
    throw Error(ErrorCode::UnsupportedOp, "capture:from_blob",
                outsider.written
                    ? "the function writes to memory of the host through from_blob()"
                    : fmt::format("from_blob() over {} bytes inside the function", outsider.tensor.nbytes()),
                "Make the tensor outside the function and pass it as an argument, or clone() it first");
}

int32_t lazy_bits(const at::Tensor& tensor) { return (tensor.is_conj() ? 1 : 0) + (tensor.is_neg() ? 2 : 0); }

/// Numbers storages in order of appearance.
class StorageNumbers {
 public:
  int32_t of(const c10::Storage& storage) {
    return numbers_.try_emplace(storage.unsafeGetStorageImpl(), static_cast<int32_t>(numbers_.size()))
        .first->second;
  }

 private:
  std::unordered_map<const c10::StorageImpl*, int32_t> numbers_;
};

InputMemory memory_of(const c10::Storage& storage, int32_t bits, StorageNumbers& storages) {
  return {storages.of(storage), static_cast<int64_t>(storage.nbytes()), bits};
}

/// Returns how often each outsider has been written so far.
std::vector<uint32_t> count_writes(const Recorder& recorder) {
  std::vector<uint32_t> writes;
  for (const auto& outsider : recorder.outside().all()) {
    const auto& counter = outsider->tensor.unsafeGetTensorImpl()->version_counter();
    writes.push_back(counter.enabled() ? counter.current_version() - outsider->version : 0);
  }
  return writes;
}

/// Makes each outsider a graph input or a constant, and completes the graph. `writes`: those of the forward
/// pass. Returns the graph input that each outsider has become, or -1.
std::vector<int32_t> add_outsiders(Recorder& recorder, const CaptureOptions& options,
                                   const std::vector<uint32_t>& writes, StorageNumbers& storages,
                                   Trace& trace) {
  recorder.generators().let_go();
  std::vector<ir::Node> constants;
  std::vector<int32_t> input_of_outsider;
  for (const auto& outsider : recorder.outside().all()) {
    input_of_outsider.push_back(-1);
    if (is_constant(*outsider, trace.kept > 0)) {
      check_constant(*outsider);
      add_constant(*outsider, trace.graph, constants);
      continue;
    }
    auto name = options.name_of_lifted ? options.name_of_lifted(outsider->tensor) : std::string();
    if (name.empty()) name = fmt::format("lifted{}", trace.lifted.size());
    input_of_outsider.back() = static_cast<int32_t>(trace.graph.inputs.size());
    const auto role = outsider->requires_grad ? ir::InputRole::Param : ir::InputRole::Buffer;
    trace.graph.inputs.push_back({outsider->value, role, std::move(name)});
    trace.lifted.push_back({outsider->tensor, outsider->late, aten::generator_of(outsider->tensor),
                            recorder.generators().state_of(outsider->tensor)});
    InputEnd end;
    end.value = outsider->value;
    const auto number = input_of_outsider.size() - 1;
    end.version_bumps = std::min(outsider->version_bumps, number < writes.size() ? writes[number] : 0);
    end.required_grad = outsider->requires_grad;
    end.requires_grad = outsider->ends_requiring_grad;
    end.history_changed = outsider->gained_grad_fn;
    trace.inputs.push_back(
        {memory_of(outsider->saved->storage(), lazy_bits(outsider->tensor), storages), end});
  }
  auto& nodes = trace.graph.nodes;
  nodes.insert(nodes.begin(), std::make_move_iterator(constants.begin()),
               std::make_move_iterator(constants.end()));
  return input_of_outsider;
}

void check_gradients_untouched(const std::vector<at::Tensor>& inputs, const std::vector<at::Tensor>& fakes) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!fakes[i].defined()) continue;
    const auto* meta = torch::autograd::impl::get_autograd_meta(fakes[i]);
    const auto* real = torch::autograd::impl::get_autograd_meta(inputs[i]);
    const at::Tensor none;
    const auto& now = meta != nullptr ? meta->grad_ : none;
    const auto& before = real != nullptr && inputs[i].is_leaf() ? real->grad_ : none;
    if (!now.is_same(before))
      throw Error(ErrorCode::UnsupportedOp, "capture",
                  fmt::format("the function sets the .grad of argument {}", i),
                  "Return gradients, as torch::autograd::grad() gives them");
  }
}

[[noreturn]] void throw_keeps_tensors(size_t count, bool filled) {
  throw Error(
      ErrorCode::UnsupportedOp, "capture",
      fmt::format("the function keeps {} of its tensors beyond the call, in a member, a cache or a static "
                  "variable{}",
                  count, filled ? "" : "; their contents are not known, and using them is an error"),
      filled ? "Return them, or call the function once uncompiled so that what it caches is there"
             : "Return them, or call the function uncompiled first so that what it caches is there");
}

void restore_outside(Recorder& recorder) {
  const auto changed = recorder.outside().restore();
  if (changed.empty()) return;
  const auto& outsider = *changed.front();
  throw Error(ErrorCode::UnsupportedOp, "capture",
              c10::str("the function replaces the data or the .grad of a tensor of shape ",
                       at::IntArrayRef(outsider.sizes), " that was made outside it"),
              "Use copy_() instead of set_data(), and torch::autograd::grad() instead of backward()");
}

int32_t earlier_same(const std::vector<at::Tensor>& inputs, size_t i) {
  for (size_t j = 0; inputs[i].defined() && j < i; ++j)
    if (inputs[j].is_same(inputs[i])) return static_cast<int32_t>(j);
  return -1;
}

Arguments make_arguments(const std::vector<at::Tensor>& inputs, const CaptureOptions& options,
                         Recorder& recorder, StorageNumbers& storages, Trace& trace) {
  Arguments arguments;
  for (size_t i = 0; i < inputs.size(); ++i) {
    auto name = i < options.input_names.size() ? options.input_names[i] : fmt::format("arg{}", i);
    const auto same = earlier_same(inputs, i);
    trace.duplicate_of.push_back(same);
    const bool is_view = std::any_of(options.views.begin(), options.views.end(), [&](const ViewInput& view) {
      return view.input == static_cast<int32_t>(i);
    });
    if (!inputs[i].defined() || same >= 0 || is_view) {
      recorder.graph().add_input(ir::ScalarKind::None, ir::InputRole::UserInput, name);
      trace.inputs.emplace_back();
      arguments.fakes.push_back(same >= 0 ? arguments.fakes[same] : at::Tensor());
      arguments.own.emplace_back();
    } else {
      arguments.fakes.push_back(recorder.add_input(inputs[i], std::move(name)));
      arguments.own.push_back(arguments.fakes.back());
      trace.inputs.push_back({memory_of(inputs[i].storage(), lazy_bits(inputs[i]), storages), {}});
    }
    arguments.edges.push_back(edge_of_input(arguments.own.back()));
  }
  return arguments;
}

/// Makes the fakes of inputs that are views of others. To be called while recording.
void make_views(const std::vector<at::Tensor>& inputs, Arguments& arguments, Trace& trace) {
  const c10::AutoGradMode grad_mode(true);
  for (auto& view : trace.views) {
    const auto& real = inputs[view.input];
    auto& fake = arguments.fakes[view.input];
    fake = arguments.fakes[view.base].as_strided(real.sizes(), real.strides(), real.storage_offset());
    view.value = as_fake(fake)->value();
  }
  for (size_t i = 0; i < inputs.size(); ++i)
    if (const auto same = trace.duplicate_of[i]; same >= 0) arguments.fakes[i] = arguments.fakes[same];
}

void check_views(const Arguments& arguments, const Trace& trace) {
  for (const auto& view : trace.views)
    if (as_fake(arguments.fakes[view.input])->value() != view.value)
      throw Error(ErrorCode::NeedsGrad, "capture",
                  fmt::format("argument {} is changed in shape while autograd records, and shares memory "
                              "with another argument that is written",
                              view.input),
                  "Pass a clone() of one of them");
}

int32_t input_index(int32_t input, int32_t outsider, const std::vector<int32_t>& input_of_outsider) {
  return outsider >= 0 ? input_of_outsider[outsider] : input;
}

/// Adds the gradients, and the tangents as the last graph inputs.
void add_backward(const Backward& backward, const std::vector<int32_t>& input_of_outsider,
                  StorageNumbers& storages, Trace& trace) {
  trace.differentiable = !backward.roots.empty();
  trace.fingerprint = backward.fingerprint;
  if (!trace.forward) {
    trace.histories = backward.histories;
    trace.forward_values = backward.forward_values;
  }
  for (size_t t = 0; t < backward.gradients.size(); ++t) {
    const auto& target = backward.targets[t];
    const auto input = input_index(target.input, target.outsider, input_of_outsider);
    const auto& fails = backward.fails_for[t];
    const bool throws = std::find(fails.begin(), fails.end(), true) != fails.end();
    const bool wanted = backward.gradients[t].valid() || throws;
    if (wanted && input >= 0)
      trace.gradients.push_back({input, backward.gradients[t], backward.reached_by[t], fails});
  }
  for (size_t k = 0; k < backward.roots.size(); ++k) {
    const auto& root = backward.roots[k];
    const auto& tangent = *as_fake(backward.tangents[k]);
    const auto input = input_index(root.input, root.outsider, input_of_outsider);
    if (root.outsider >= 0 && input < 0)
      throw Error(ErrorCode::UnsupportedOp, "capture",
                  "the function writes values with gradients to a tensor made from host memory",
                  "clone() the tensor before writing to it");
    trace.tangents.push_back({tangent.value(), root.value, input, root.has_own_history, backward.errors[k]});
    trace.graph.inputs.push_back({tangent.value(), ir::InputRole::Tangent, fmt::format("tangent{}", k)});
    InputEnd end;
    end.value = tangent.value();
    trace.inputs.push_back({memory_of(tangent.storage(), 0, storages), end});
  }
}

/// The state of a capture in progress.
struct Parts {
  Recorder recorder;
  StorageNumbers storages;
  Arguments arguments;
  std::vector<at::Tensor> outputs;
  Backward backward;
  InputHistories histories;                    ///< of the arguments
  std::vector<const c10::TensorImpl*> leaves;  ///< made inside, that gradients reach
  std::vector<uint32_t> writes;                ///< per outsider, of the forward pass
};

/// For a capture of the forward pass alone.
void find_histories(const CaptureOptions& options, Parts& parts, Trace& trace) {
  auto found = find_backward(parts.arguments, parts.outputs, options.effects, parts.recorder);
  parts.leaves = inner_leaves(parts.recorder, parts.arguments, found.roots);
  trace.histories = std::move(found.histories);
  trace.forward_values = found.forward_values;
  if (const auto& follower = parts.recorder.follower()) {
    if (follower->is_complete() && follower->has_values(parts.recorder.graph())) {
      trace.forward = [follower] { return follower->recorded(); };
      return;
    }
    parts.recorder.unfollow();
  }
  trace.forward = [graph = std::make_shared<const ir::Graph>(parts.recorder.graph())] { return *graph; };
}

void run(const TensorFunction& function, const std::vector<at::Tensor>& inputs, const CaptureOptions& options,
         Parts& parts, Trace& trace) {
  auto& [recorder, storages, arguments, outputs, backward, histories, leaves, writes] = parts;
  {
    Recording recording(recorder);
    make_views(inputs, arguments, trace);
    recording.run([&] { outputs = function(arguments.fakes); });
    // The function may have caught a refusal, and gone another way than it would have without.
    if (recorder.last_error) std::rethrow_exception(recorder.last_error);
    recorder.generators().check_unchanged();
    check_views(arguments, trace);
    writes = count_writes(recorder);
    for (const auto& output : outputs)
      trace.output_ends.push_back(end_of_output(output, arguments.fakes, recorder));
    for (size_t i = 0; i < inputs.size(); ++i)
      trace.inputs[i].end =
          end_of_input(inputs[i], arguments.own[i], arguments.edges[i], recorder.graph().inputs[i].value);
    if (options.gradients)
      recording.run([&] {
        backward = record_backward(arguments, outputs, options.effects, recorder);
        leaves = inner_leaves(recorder, arguments, backward.roots);
      });
    else if (options.histories)
      recording.run([&] { find_histories(options, parts, trace); });
  }
  restore_outside(recorder);
  check_gradients_untouched(inputs, arguments.fakes);
}

void let_go(Parts& parts) {
  parts.outputs.clear();
  for (auto& root : parts.backward.roots) root.tensor = at::Tensor();
  for (auto& target : parts.backward.targets) target.edge = {};
  parts.arguments = {};
}

/// Moves the graph to the trace and adds constants and lifted tensors. Returns the graph input of each
/// outsider, or -1.
std::vector<int32_t> take_graph(Parts& parts, const CaptureOptions& options, Trace& trace) {
  if (trace.kept > 0 || !parts.recorder.host_memory().empty()) parts.recorder.unfollow();
  trace.as_expected = parts.recorder.follower() != nullptr;
  parts.recorder.host_memory().make_constants(parts.recorder.graph());
  trace.graph = std::move(parts.recorder.graph());
  trace.has_assumptions = parts.recorder.has_assumptions;
  return add_outsiders(parts.recorder, options, parts.writes, parts.storages, trace);
}

/// Makes tensors real that the function had stored before the capture threw.
void fill_after_error(const std::vector<at::Tensor>& inputs, const CaptureOptions& options, Parts& parts,
                      Trace& trace) {
  try {
    parts.recorder.outside().restore();
    let_go(parts);
    parts.backward = {};
    for (const auto& outsider : parts.recorder.outside().all())
      if (options.met != nullptr && !outsider->wrapped_number && outsider->tensor.use_count() > 1)
        options.met->push_back(outsider->tensor);
    parts.recorder.unfollow();
    const auto kept = find_kept(parts.recorder, inputs, parts.histories, {});
    if (options.kept != nullptr) *options.kept += kept.count;
    if (kept.memory.empty()) return;
    trace.kept = kept.count;
    for (auto& input : trace.inputs) input.end = {};
    trace.tangents.clear();
    take_graph(parts, options, trace);
    fill_kept(kept, trace, inputs, options);
  } catch (const std::exception&) {
    // Using the tensors is an error then. The exception in flight says more.
  }
}

void note_kept_outputs(const KeptTensors& kept, const std::vector<ir::ValueId>& values, Trace& trace) {
  const auto& graph = trace.graph;
  for (size_t i = 0; i < trace.output_ends.size(); ++i) {
    const auto value = trace.output_ends[i].value;
    if (!value.valid() || trace.output_ends[i].same_as_input >= 0)
      continue;  // an argument is returned as such
    for (size_t k = 0; k < kept.fakes.size(); ++k)
      if (graph.storage_of(values[k]) == graph.storage_of(value))
        trace.kept_outputs.push_back({static_cast<int32_t>(i), kept.fakes[k], values[k] == value,
                                      graph.tensor_type(value).offset.constant()});
  }
}

void finish(const std::vector<at::Tensor>& inputs, const CaptureOptions& options, Parts& parts,
            Trace& trace) {
  let_go(parts);
  const auto kept = find_kept(parts.recorder, inputs, parts.histories, parts.backward.tangents);
  std::vector<ir::ValueId> values;
  for (const auto& fake : kept.fakes)
    values.push_back(static_cast<const FakeTensor*>(fake.unsafeGetTensorImpl())->value());
  if (options.kept != nullptr) *options.kept += kept.count;
  trace.kept = kept.count;
  const auto input_of_outsider = take_graph(parts, options, trace);
  for (auto& end : trace.output_ends) {
    trace.graph.outputs.push_back({end.value, ir::OutputRole::UserOutput, {}, -1});
    for (size_t i = trace.user_inputs; i < trace.graph.inputs.size(); ++i)
      if (end.value.valid() && trace.graph.inputs[i].value == end.value)
        end.same_as_input = static_cast<int>(i);
  }
  add_backward(parts.backward, input_of_outsider, parts.storages, trace);
  for (const auto& gradient : trace.gradients)
    trace.graph.outputs.push_back({gradient.value, ir::OutputRole::Grad, {}, gradient.input});
  trace.counts = parts.recorder.counts();
  check_shared_flags(trace, inputs);
  if (kept.count == 0) return;
  const bool filled = fill_kept(kept, trace, inputs, options);
  check_stored_leaves(kept, parts.leaves);
  if (!filled || !options.may_keep) throw_keeps_tensors(kept.count, filled);
  note_kept_outputs(kept, values, trace);
}

}  // namespace

bool shares_storage(const Trace& trace, size_t input) {
  const auto storage_of = [](const TracedInput& one) { return one.memory.storage; };
  return std::ranges::count(trace.inputs, storage_of(trace.inputs[input]), storage_of) > 1;
}

Trace capture(const TensorFunction& function, const std::vector<at::Tensor>& inputs,
              const CaptureOptions& options) {
  open_engine();
  Parts parts;
  Trace trace;
  trace.user_inputs = inputs.size();
  trace.effects = options.effects;
  trace.views = options.views;
  parts.recorder.graph().name = options.name;
  parts.recorder.follow(options.follower);
  parts.arguments = make_arguments(inputs, options, parts.recorder, parts.storages, trace);
  for (const auto& edge : parts.arguments.edges) parts.histories.push_back(edge.function.get());
  try {
    run(function, inputs, options, parts, trace);
  } catch (...) {
    fill_after_error(inputs, options, parts, trace);
    throw;
  }
  finish(inputs, options, parts, trace);
  return trace;
}

}  // namespace antegrad::capture
