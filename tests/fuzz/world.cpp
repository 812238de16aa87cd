#include <ATen/ATen.h>

#include <map>
#include <stdexcept>

#include "fuzz/program.h"
#include "fuzz/rng.h"
#include "support/device.h"

namespace antegrad::fuzz {
namespace {

/// Makes values as doubles first, so that every dtype gets the same numbers.
at::Tensor make_values(const TensorSpec& spec, uint64_t salt) {
  Rng rng(spec.value_seed + salt * 7919);
  at::Tensor values = at::empty({spec.storage_numel}, at::kDouble);
  auto* data = values.data_ptr<double>();
  const bool fractions = !spec.whole_numbers && c10::isFloatingType(spec.dtype);
  for (int64_t i = 0; i < spec.storage_numel; ++i)
    data[i] = fractions ? static_cast<double>(rng.range(-4096, 4096)) / 1000.0
                        : static_cast<double>(rng.range(-4, 4));
  for (int64_t i = 0; spec.awkward && i < spec.storage_numel; ++i)
    if (rng.percent(40)) data[i] = rng.pick(awkward_numbers());
  return (spec.dtype == at::kByte ? values.abs() : values).to(spec.dtype).to(test::device());
}

bool is_dense(const TensorSpec& spec) {
  return spec.offset == 0 && c10::multiply_integers(spec.sizes) == spec.storage_numel;
}

at::Tensor dense(const TensorSpec& spec, const at::Tensor& values) {
  at::Tensor tensor = at::empty_strided(spec.sizes, spec.strides, values.options());
  tensor.copy_(values.view(spec.sizes));
  tensor.unsafeGetTensorImpl()->set_version_counter(c10::VariableVersion(0));
  return tensor;
}

/// Makes a leaf with a geometry of its own that is not a view.
at::Tensor leaf_over(const TensorSpec& spec, const at::Tensor& buffer) {
  at::Tensor leaf = at::empty({0}, buffer.options());
  leaf.set_(buffer.storage(), spec.offset, spec.sizes, spec.strides);
  leaf.unsafeGetTensorImpl()->set_version_counter(c10::VariableVersion(0));
  return leaf.requires_grad_(true);
}

at::Tensor make_fresh(const TensorSpec& spec, uint64_t salt) {
  const at::Tensor buffer = make_values(spec, salt);
  if (is_dense(spec)) return dense(spec, buffer).requires_grad_(spec.requires_grad);
  return spec.requires_grad ? leaf_over(spec, buffer)
                            : buffer.as_strided(spec.sizes, spec.strides, spec.offset);
}

/// A product keeps the strides of a dense tensor; any other geometry is a view of one.
at::Tensor make_non_leaf(const TensorSpec& spec, uint64_t salt, Tensors& leaves) {
  at::Tensor leaf = make_values(spec, salt);
  if (is_dense(spec)) leaf = dense(spec, leaf);
  leaves.push_back(leaf.requires_grad_(true));
  const at::Tensor product = leaf.mul(1);
  return is_dense(spec) ? product : product.as_strided(spec.sizes, spec.strides, spec.offset);
}

at::Tensor make_tensor(const TensorSpec& spec, const at::Tensor& base, uint64_t salt, Tensors& leaves) {
  if (spec.link == Link::Fresh)
    return spec.non_leaf ? make_non_leaf(spec, salt, leaves) : make_fresh(spec, salt);
  if (!base.defined()) throw std::out_of_range("the base of a tensor is missing");
  if (spec.link == Link::Same) return base;
  // A view of their common base: eager loses the gradient of a view that reaches beyond the elements of its
  // parent.
  const at::Tensor whole = base.requires_grad() && base.is_view() ? at::Tensor(base._base()) : base;
  const at::Tensor view = whole.as_strided(spec.sizes, spec.strides, spec.offset);
  if (spec.link == Link::View) return view;
  return spec.link == Link::Detach ? view.detach() : view.variable_data();
}

}  // namespace

int64_t extent_of(const TensorSpec& spec) {
  int64_t last = spec.offset;
  for (size_t d = 0; d < spec.sizes.size(); ++d) {
    if (spec.sizes[d] == 0) return spec.offset;
    last += (spec.sizes[d] - 1) * spec.strides[d];
  }
  return last + 1;
}

Program with_separate_inputs(const Program& program) {
  Program separate = program;
  for (TensorSpec& spec : separate.tensors) {
    if (spec.captured || spec.link == Link::Fresh) continue;
    spec.link = Link::Fresh;
    spec.base = kUndefined;
    spec.storage_numel = extent_of(spec);
  }
  return separate;
}

World make_world(const Program& program) {
  std::map<int, at::Tensor> made;
  World world;
  for (const TensorSpec& spec : program.tensors) {
    if (!spec.captured) continue;
    world.captured.push_back(made[spec.var] = make_tensor(spec, made[spec.base], 0, world.leaves));
  }
  world.inputs = make_inputs(program, world.captured, 0, &world.leaves);
  return world;
}

Tensors make_inputs(const Program& program, const Tensors& captured, uint64_t salt, Tensors* leaves) {
  std::map<int, at::Tensor> made;
  Tensors inputs, unwanted;
  size_t next_captured = 0;
  for (const TensorSpec& spec : program.tensors) {
    if (spec.captured)
      made[spec.var] = captured.at(next_captured++);
    else
      inputs.push_back(made[spec.var] =
                           make_tensor(spec, made[spec.base], salt, leaves ? *leaves : unwanted));
  }
  return inputs;
}

}  // namespace antegrad::fuzz
