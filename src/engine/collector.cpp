#include "engine/collector.h"

#include <fmt/format.h>

#include <vector>

#include "antegrad/error.h"
#include "aten/autograd_members.h"
#include "util/thread_object.h"

namespace antegrad::engine {

namespace tda = torch::dynamo::autograd;

namespace {

constexpr size_t kMostSpare = 4;  ///< per thread; a pass of several segments needs several at once

std::vector<std::unique_ptr<Collector>>& spare() {
  return thread_object<std::vector<std::unique_ptr<Collector>>, Collector>();
}

}  // namespace

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
  aten::forget(arguments_);
  aten::forget(compiler_.tensor_args);
  compiler_.all_size_inputs.clear();
  compiler_.lifted_ivalue_args.args.clear();
  compiler_.lifted_ivalue_args.next = 0;
  compiler_.hooks.clear();  // these are Python's, and always empty
  compiler_.packed_inputs.clear();
  compiler_.sv_to_hooks.clear();
}

std::string_view Collector::bytes() const { return aten::collected(arguments_); }

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
