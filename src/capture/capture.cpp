#include "capture/capture.h"

#include <ATen/autocast_mode.h>
#include <fmt/format.h>
#include <torch/csrc/autograd/variable.h>
#include <torch/csrc/jit/runtime/graph_executor.h>
#include <torch/csrc/jit/runtime/profiling_graph_executor_impl.h>

#include <mutex>

#include "antegrad/error.h"
#include "capture/mode.h"
#include "capture/recorder.h"

namespace antegrad::capture {
namespace {

/// autocast would keep casts of real weights that are fakes in its cache.
class AutocastCacheOff {
 public:
  AutocastCacheOff() : was_(at::autocast::is_autocast_cache_enabled()) {
    at::autocast::set_autocast_cache_enabled(false);
  }
  ~AutocastCacheOff() { at::autocast::set_autocast_cache_enabled(was_); }
  AutocastCacheOff(const AutocastCacheOff&) = delete;
  AutocastCacheOff& operator=(const AutocastCacheOff&) = delete;

 private:
  bool was_;
};

/// TorchScript's profiling executor would specialise on fakes. A process-wide switch, so captures share it.
class JitProfilingOff {
 public:
  JitProfilingOff() {
    std::scoped_lock lock(mutex());
    if (depth()++ == 0) {
      saved().first = torch::jit::getProfilingMode().exchange(false);
      saved().second = torch::jit::getExecutorMode().exchange(false);
    }
  }
  ~JitProfilingOff() {
    std::scoped_lock lock(mutex());
    if (--depth() == 0) {
      torch::jit::getProfilingMode() = saved().first;
      torch::jit::getExecutorMode() = saved().second;
    }
  }
  JitProfilingOff(const JitProfilingOff&) = delete;
  JitProfilingOff& operator=(const JitProfilingOff&) = delete;

 private:
  static std::mutex& mutex() {
    static std::mutex m;
    return m;
  }
  static int& depth() {
    static int d = 0;
    return d;
  }
  static std::pair<bool, bool>& saved() {
    static std::pair<bool, bool> s;
    return s;
  }
};

/// TorchScript's interpreter throws errors of ours on as a type of its own, with our text inside.
void rethrow_if_wrapped(const Recorder& recorder, const std::exception& outer) {
  if (!recorder.last_error) return;
  try {
    std::rethrow_exception(recorder.last_error);
  } catch (const Error& inner) {
    if (std::string_view(outer.what()).find(inner.what()) != std::string_view::npos) throw;
  }
}

std::vector<at::Tensor> run_recorded(const TensorFunction& function, const std::vector<at::Tensor>& fakes,
                                     Recorder& recorder) {
  JitProfilingOff profiling;
  AutocastCacheOff cache;
  RecordingMode mode(recorder);
  torch::jit::GraphOptimizerEnabledGuard optimizer(
      false);  // it would fold fakes into TorchScript's own graphs
  try {
    return function(fakes);
  } catch (const Error&) {
    throw;
  } catch (const c10::Error& error) {
    // Access to a fake's pointer is found out deep inside LibTorch, which can only throw its own type.
    if (std::string_view(error.what_without_backtrace()).find(kDataAccessPrefix) == std::string_view::npos)
      throw;
    throw Error(
        ErrorCode::DataRead, "capture:data_ptr", "the function reads the memory of a tensor on the host",
        "Compute with tensor ops, pass the tensor's contents as an argument, or set Options::unsupported to "
        "Eager");
  } catch (const std::exception& error) {
    rethrow_if_wrapped(recorder, error);
    throw;
  }
}

/// Tensor::grad_fn() would bring views up to date, which throws for some that were made under no_grad.
bool has_grad_fn(const at::Tensor& tensor) {
  const auto* meta = torch::autograd::impl::get_autograd_meta(tensor);
  if (meta != nullptr && meta->grad_fn_) return true;
  const auto* view = torch::autograd::impl::get_view_autograd_meta(tensor);
  if (view == nullptr || !view->has_bw_view()) return false;
  const auto* base = torch::autograd::impl::get_autograd_meta(view->get_backward_view().base_);
  return base != nullptr && base->grad_fn_;
}

OutputEnd end_of_output(const at::Tensor& output, const std::vector<at::Tensor>& fakes, Recorder& recorder) {
  OutputEnd end;
  if (!output.defined()) return end;
  end.value = recorder.value_of(output);
  for (size_t i = 0; i < fakes.size(); ++i)
    if (end.same_as_input < 0 && fakes[i].defined() && fakes[i].is_same(output))
      end.same_as_input = static_cast<int>(i);
  const auto& counter = output.unsafeGetTensorImpl()->version_counter();
  if (counter.enabled()) end.version = counter.current_version();
  // What was set on the tensor itself; a view made anew follows its base as this one does.
  const auto* meta = torch::autograd::impl::get_autograd_meta(output);
  end.requires_grad = meta != nullptr && meta->requires_grad_;
  end.has_grad_fn = has_grad_fn(output);
  return end;
}

InputEnd end_of_input(const at::Tensor& real, const at::Tensor& fake, ir::ValueId original) {
  InputEnd end;
  end.value = original;
  if (!fake.defined()) return end;
  end.value = as_fake(fake)->value();
  const auto& counter = fake.unsafeGetTensorImpl()->version_counter();
  if (counter.enabled()) end.version_bumps = counter.current_version();
  end.required_grad = real.requires_grad();
  end.requires_grad = fake.requires_grad();
  end.has_grad_fn = has_grad_fn(fake);
  return end;
}

/// Constants are stored row-major; a tensor of other strides is made from that.
void add_constant(const Outsider& outsider, ir::Graph& graph, std::vector<ir::Node>& nodes) {
  auto& type = *graph.values[static_cast<size_t>(outsider.value.index)].type.tensor();
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
  const auto& wanted = graph.tensor_type(outsider.value);
  ir::Node restride;
  restride.op = "antegrad.restride";
  restride.args = {stored, ir::Arg(ir::Arg::List(wanted.strides.begin(), wanted.strides.end()))};
  restride.outputs = {outsider.value};
  nodes.push_back(std::move(restride));
}

/// Born during the capture and gone with it: nobody but us holds it.
bool is_constant(const Outsider& outsider) {
  return outsider.wrapped_number || outsider.tensor.use_count() == 1;
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

/// Decides for each outsider whether it is an input or a constant, and completes the graph.
void add_outsiders(Recorder& recorder, const CaptureOptions& options, StorageNumbers& storages,
                   Trace& trace) {
  std::vector<ir::Node> constants;
  for (const auto& outsider : recorder.outside().all()) {
    if (is_constant(*outsider)) {
      check_constant(*outsider);
      add_constant(*outsider, trace.graph, constants);
      continue;
    }
    auto name = options.name_of_lifted ? options.name_of_lifted(outsider->tensor) : std::string();
    if (name.empty()) name = fmt::format("lifted{}", trace.lifted.size());
    const auto role = outsider->requires_grad ? ir::InputRole::Param : ir::InputRole::Buffer;
    trace.graph.inputs.push_back({outsider->value, role, std::move(name)});
    trace.lifted.push_back({outsider->tensor});
    InputEnd end;
    end.value = outsider->value;
    end.version_bumps = outsider->version_bumps;
    end.required_grad = outsider->requires_grad;
    end.requires_grad = outsider->ends_requiring_grad;
    end.has_grad_fn = outsider->gained_grad_fn;
    trace.input_ends.push_back(end);
    trace.input_storage.push_back(storages.of(outsider->saved->storage()));
    trace.input_bytes.push_back(static_cast<int64_t>(outsider->saved->storage().nbytes()));
    trace.input_bits.push_back(lazy_bits(outsider->tensor));
  }
  auto& nodes = trace.graph.nodes;
  nodes.insert(nodes.begin(), std::make_move_iterator(constants.begin()),
               std::make_move_iterator(constants.end()));
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

/// A tensor of the capture that outlives it has no data, and would not be renewed by later calls.
void check_nothing_kept(const Recorder& recorder) {
  if (recorder.fakes_alive() == 0) return;
  throw Error(
      ErrorCode::UnsupportedOp, "capture",
      fmt::format(
          "the function keeps {} of its tensors beyond the call, in a member, a cache or a static variable",
          recorder.fakes_alive()),
      "Return them, or call the function once uncompiled so that what it caches is there, and clear what it "
      "kept now");
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

}  // namespace

namespace {

int32_t earlier_same(const std::vector<at::Tensor>& inputs, size_t i) {
  for (size_t j = 0; inputs[i].defined() && j < i; ++j)
    if (inputs[j].is_same(inputs[i])) return static_cast<int32_t>(j);
  return -1;
}

}  // namespace

Trace capture(const TensorFunction& function, const std::vector<at::Tensor>& inputs,
              const CaptureOptions& options) {
  Recorder recorder;
  Trace trace;
  trace.user_inputs = inputs.size();
  recorder.graph().name = options.name;
  std::vector<at::Tensor> fakes;
  StorageNumbers storages;
  for (size_t i = 0; i < inputs.size(); ++i) {
    auto name = i < options.input_names.size() ? options.input_names[i] : fmt::format("arg{}", i);
    const auto same = earlier_same(inputs, i);
    trace.duplicate_of.push_back(same);
    if (!inputs[i].defined() || same >= 0) {
      recorder.graph().add_input(ir::ScalarKind::None, ir::InputRole::UserInput, name);
      trace.input_storage.push_back(-1);
      trace.input_bytes.push_back(0);
      trace.input_bits.push_back(0);
      fakes.push_back(same >= 0 ? fakes[static_cast<size_t>(same)] : at::Tensor());
      continue;
    }
    fakes.push_back(recorder.add_input(inputs[i], std::move(name)));
    trace.input_storage.push_back(storages.of(inputs[i].storage()));
    trace.input_bytes.push_back(static_cast<int64_t>(inputs[i].storage().nbytes()));
    trace.input_bits.push_back(lazy_bits(inputs[i]));
  }
  auto outputs = run_recorded(function, fakes, recorder);
  for (const auto& output : outputs) trace.output_ends.push_back(end_of_output(output, fakes, recorder));
  for (size_t i = 0; i < fakes.size(); ++i) {
    const bool has_own = trace.duplicate_of[i] < 0;
    trace.input_ends.push_back(
        end_of_input(inputs[i], has_own ? fakes[i] : at::Tensor(), recorder.graph().inputs[i].value));
  }
  restore_outside(recorder);
  check_gradients_untouched(inputs, fakes);
  outputs.clear();
  fakes.clear();
  check_nothing_kept(recorder);
  recorder.host_memory().make_constants(recorder.graph());
  trace.graph = std::move(recorder.graph());
  add_outsiders(recorder, options, storages, trace);
  for (auto& end : trace.output_ends) {
    trace.graph.outputs.push_back({end.value, ir::OutputRole::UserOutput, {}, -1});
    for (size_t i = trace.user_inputs; i < trace.graph.inputs.size(); ++i)
      if (end.value.valid() && trace.graph.inputs[i].value == end.value)
        end.same_as_input = static_cast<int>(i);
  }
  trace.counts = recorder.counts();
  return trace;
}

}  // namespace antegrad::capture
