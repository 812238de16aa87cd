#include "capture/engine_passes.h"

#include <ATen/DeviceAccelerator.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <torch/csrc/autograd/engine.h>
#include <torch/csrc/autograd/function.h>

#include "aten/below_recording.h"
#include "util/process_end.h"

namespace antegrad::capture {
namespace {

using torch::autograd::Engine;
using torch::autograd::Node;
using torch::autograd::variable_list;

/// A node that the engine runs after all others.
struct LastNode final : Node {
  LastNode() : Node(uint64_t{0}) {}
  variable_list apply(variable_list&&) override { return {}; }
};

/// Runs a backward pass of one node that does nothing with this gradient.
void run_empty_pass(const at::Tensor& gradient) {
  auto last = std::shared_ptr<Node>(new LastNode, torch::autograd::deleteNode);
  last->add_input_metadata(gradient);
  Engine::get_default_engine().execute({{last, 0}}, {gradient}, false, false, true);
}

}  // namespace

void run_first_pass() {
  [[maybe_unused]] static const bool ran = [] {
    clear_engine();
    process_end::outlive_statics();
    return true;
  }();
}

void open_engine() {
  [[maybe_unused]] static const bool opened = [] {
    // The engine asks for the accelerator in every pass. Objects are registered with exit() as they are made;
    // each of these calls protects what exists by then, so that little time is left between the two.
    process_end::outlive_statics();
    const bool has_accelerator = at::getAccelerator().has_value();
    process_end::outlive_statics();
    Engine::get_default_engine();
    process_end::outlive_statics();
    if (!has_accelerator) run_first_pass();
    return true;
  }();
}

void clear_engine() {
  const aten::BelowRecording below;
  static float number = 0;  // allocates nothing: memory may be what has run out
  run_empty_pass(at::from_blob(&number, {}, at::kFloat));
}

void wait_for_engine(c10::Device device) {
  const aten::BelowRecording below;
  run_empty_pass(at::empty({0}, at::TensorOptions(at::kFloat).device(device)));  // allocates nothing
}

}  // namespace antegrad::capture
