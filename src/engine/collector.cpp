#include "engine/collector.h"

#include <fmt/format.h>

#include <vector>

#include "antegrad/error.h"
#include "util/thread_object.h"

namespace antegrad::engine {

namespace tda = torch::dynamo::autograd;

namespace {

constexpr size_t kMostSpare = 4;  ///< per thread; a pass of several segments needs several at once

std::vector<std::unique_ptr<Collector>>& spare() {
  return thread_object<std::vector<std::unique_ptr<Collector>>, Collector>();
}

}  // namespace

/// LibTorch makes new ones for each pass and node, so it has no way to empty them. An explicit instantiation
/// may name private members.
std::string_view collected(const tda::CompiledNodeArgs& arguments);
void forget(tda::CompiledNodeArgs& arguments);
void forget(tda::TensorArgs& arguments);
template <auto kBytes, auto kSize>
struct Bytes {
  friend std::string_view collected(const tda::CompiledNodeArgs& arguments) {
    return {reinterpret_cast<const char*>(arguments.*kBytes), arguments.*kSize};
  }
  friend void forget(tda::CompiledNodeArgs& arguments) { arguments.*kSize = 0; }
};
template struct Bytes<&tda::CompiledNodeArgs::_specialization_key,
                      &tda::CompiledNodeArgs::_specialization_key_size>;
template <auto kTensors, auto kSaved, auto kNext>
struct Tensors {
  friend void forget(tda::TensorArgs& arguments) {
    arguments.inputs.clear();
    (arguments.*kTensors).clear();
    (arguments.*kSaved).clear();
    arguments.*kNext = 1;
  }
};
template struct Tensors<&tda::TensorArgs::_args, &tda::TensorArgs::_saved_variables,
                        &tda::TensorArgs::_next_id>;

Collector::Collector() : compiler_(tda::SizeInput::STATIC), call_(0, nullptr), arguments_(compiler_, call_) {}

Collector::Ptr Collector::take() {
  if (spare().empty()) return Ptr(new Collector());
  Ptr collector(spare().back().release());
  spare().pop_back();
  return collector;
}

void Collector::GiveBack::operator()(Collector* collector) const {
  std::unique_ptr<Collector> owned(collector);
  owned->clear();
  if (spare().size() < kMostSpare) spare().push_back(std::move(owned));
}

void Collector::clear() {
  call_.node.reset();
  forget(arguments_);
  forget(compiler_.tensor_args);
  compiler_.all_size_inputs.clear();
  compiler_.lifted_ivalue_args.args.clear();
  compiler_.lifted_ivalue_args.next = 0;
  compiler_.hooks.clear();  // these are Python's, and always empty
  compiler_.packed_inputs.clear();
  compiler_.sv_to_hooks.clear();
}

std::string_view Collector::bytes() const { return collected(arguments_); }

void Collector::collect(std::shared_ptr<torch::autograd::Node>& node) {
  call_.node.swap(node);
  call_.node->compiled_args(arguments_);
  call_.node.swap(node);
}

void Collector::collect(const torch::autograd::Edge& edge) {
  const auto& metadata = edge.function->input_metadata(edge.input_nr);
  if (metadata.is_nested_tensor())
    throw Error(ErrorCode::UnsupportedTensor, "compiled autograd",
                fmt::format("{} takes a nested gradient", edge.function->name()));
  const auto shape = metadata.shape_as_dim_vector();
  const auto dtype = metadata.was_default_constructed() ? std::nullopt : metadata.grad_dtype();
  arguments_.collect(static_cast<uint64_t>(metadata.options().dtype().toScalarType()) |
                     static_cast<uint64_t>(dtype ? static_cast<int>(*dtype) : 0xff) << 8 |
                     static_cast<uint64_t>(metadata.device().type()) << 16 |
                     static_cast<uint64_t>(metadata.is_tensor_subclass()) << 24 |
                     static_cast<uint64_t>(shape.size()) << 32);
  for (const auto& size : shape) compiler_.add_size_input(size);
}

}  // namespace antegrad::engine
