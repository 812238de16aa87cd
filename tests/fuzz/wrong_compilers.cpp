#include "fuzz/wrong_compilers.h"

#include <ATen/ATen.h>

#include <cmath>
#include <cstring>
#include <memory>

#include "fuzz/program.h"

namespace antegrad::fuzz {
namespace {

using at::Tensor;

bool same_storage(const Tensor& a, const Tensor& b) { return a.storage().is_alias_of(b.storage()); }

bool aliases_any(const Tensor& tensor, const Tensors& others) {
  for (const Tensor& other : others)
    if (other.defined() && same_storage(tensor, other)) return true;
  return false;
}

/// Returns a tensor with the same geometry on a copy of the storage.
Tensor on_own_storage(const Tensor& tensor) {
  const auto numel = static_cast<int64_t>(tensor.storage().nbytes() / tensor.itemsize());
  const Tensor all = at::empty({0}, tensor.options()).set_(tensor.storage(), 0, {numel}, {1}).clone();
  return tensor.is_view()
             ? all.as_strided(tensor.sizes(), tensor.strides(), tensor.storage_offset())
             : at::empty({0}, tensor.options())
                   .set_(all.storage(), tensor.storage_offset(), tensor.sizes(), tensor.strides());
}

/// Makes a compiler that runs the function and then changes its results.
CompileWithCaptured spoil(
    std::function<void(Tensors& outputs, const Tensors& inputs, const Tensors& captured)> how) {
  return [how](const Fn& function, const Tensors& captured) -> Fn {
    return [=](const Tensors& inputs) {
      Tensors outputs = function(inputs);
      how(outputs, inputs, captured);
      return outputs;
    };
  };
}

CompileWithCaptured spoil_each(std::function<Tensor(const Tensor&)> how) {
  return spoil([how](Tensors& outputs, const Tensors&, const Tensors&) {
    for (Tensor& output : outputs)
      if (output.defined()) output = how(output);
  });
}

std::vector<char> bytes_of(const Tensor& tensor) {
  const auto* begin = static_cast<const char*>(tensor.storage().data());
  return begin ? std::vector<char>(begin, begin + tensor.storage().nbytes()) : std::vector<char>();
}

/// Restores old bytes without bumping the version counter.
Fn restoring(const Fn& function, std::function<Tensors(const Tensors&)> which) {
  return [=](const Tensors& inputs) {
    const Tensors kept = which(inputs);
    std::vector<std::vector<char>> bytes;
    for (const Tensor& tensor : kept) bytes.push_back(bytes_of(tensor));
    Tensors outputs = function(inputs);
    for (size_t i = 0; i < kept.size(); ++i)
      if (!bytes[i].empty() && bytes[i].size() <= kept[i].storage().nbytes())
        std::memcpy(kept[i].storage().mutable_data(), bytes[i].data(), bytes[i].size());
    return outputs;
  };
}

/// Functionalizes without regard to inputs that share a storage: each gets a copy, which is written back if
/// it was changed.
Tensors run_on_copies(const Fn& function, const Tensors& inputs) {
  Tensors copies;
  for (const Tensor& input : inputs) copies.push_back(on_own_storage(input));
  std::vector<uint32_t> versions;
  for (const Tensor& copy : copies) versions.push_back(copy._version());
  Tensors outputs = function(copies);
  for (size_t i = 0; i < inputs.size(); ++i) {
    for (Tensor& output : outputs) {
      if (!output.defined() || !same_storage(output, copies[i])) continue;
      output = output.is_same(copies[i])
                   ? inputs[i]
                   : inputs[i].as_strided(output.sizes(), output.strides(), output.storage_offset());
    }
    const uint32_t writes = copies[i]._version() - versions[i];
    if (writes == 0) continue;
    if (!overlaps_itself(inputs[i])) inputs[i].variable_data().copy_(copies[i]);
    for (uint32_t n = 0; n < writes; ++n) inputs[i].unsafeGetTensorImpl()->bump_version();
  }
  return outputs;
}

bool share_storage(const Tensors& tensors) {
  for (size_t i = 0; i < tensors.size(); ++i)
    for (size_t j = 0; j < i; ++j)
      if (same_storage(tensors[i], tensors[j])) return true;
  return false;
}

/// Assumes in all calls the aliasing of the first one.
Fn without_alias_guard(const Fn& function) {
  auto aliased = std::make_shared<std::optional<bool>>();
  return [=](const Tensors& inputs) {
    if (!aliased->has_value()) *aliased = share_storage(inputs);
    return **aliased || !share_storage(inputs) ? function(inputs) : run_on_copies(function, inputs);
  };
}

/// Reuses memory in the next call while the caller still has the outputs of the last one.
Fn with_reused_memory(const Fn& function) {
  auto last = std::make_shared<Tensors>();
  return [=](const Tensors& inputs) {
    Tensors outputs = function(inputs);
    for (size_t i = 0; i < outputs.size() && i < last->size(); ++i) {
      const Tensor& old = (*last)[i];
      if (!outputs[i].defined() || !old.defined() || !old.sizes().equals(outputs[i].sizes())) continue;
      if (aliases_any(old, inputs) || aliases_any(outputs[i], inputs) || overlaps_itself(old)) continue;
      old.variable_data().copy_(outputs[i]);
    }
    *last = outputs;
    return outputs;
  };
}

/// Returns in all calls what the first one computed.
Fn with_baked_values(const Fn& function) {
  auto first = std::make_shared<Tensors>();
  return [=](const Tensors& inputs) {
    Tensors outputs = function(inputs);
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (first->size() <= i) first->push_back(outputs[i].defined() ? outputs[i].clone() : Tensor());
      if (!outputs[i].defined() || aliases_any(outputs[i], inputs) || overlaps_itself(outputs[i])) continue;
      if ((*first)[i].sizes().equals(outputs[i].sizes())) outputs[i].variable_data().copy_((*first)[i]);
    }
    return outputs;
  };
}

void part_two_outputs(Tensors& outputs, const Tensors& inputs, const Tensors& captured) {
  for (size_t i = 0; i < outputs.size(); ++i)
    for (size_t j = 0; j < i; ++j) {
      if (!outputs[i].defined() || !outputs[j].defined() || outputs[i].is_same(outputs[j])) continue;
      if (!same_storage(outputs[i], outputs[j]) || aliases_any(outputs[i], inputs)) continue;
      if (aliases_any(outputs[i], captured)) continue;
      outputs[i] = on_own_storage(outputs[i]);
      return;
    }
}

void nudge(Tensors& outputs, const Tensors&, const Tensors&) {
  for (const Tensor& output : outputs) {
    if (!output.defined() || output.scalar_type() != at::kFloat || output.numel() == 0) continue;
    auto* value = output.variable_data().data_ptr<float>();
    *value = std::nextafter(*value, 1000.0F);
    return;
  }
}

std::vector<WrongCompiler> wrong_outputs() {
  return {
      {"clones outputs", "shares storage", spoil_each([](const Tensor& t) { return on_own_storage(t); })},
      {"returns contiguous copies", "strides",
       spoil_each([](const Tensor& t) { return t.is_contiguous() ? t : t.contiguous(); })},
      {"returns aliases of inputs", "identical", spoil_each([](const Tensor& t) {
         return t.is_view() ? t : at::empty({0}, t.options()).set_(t).requires_grad_(t.requires_grad());
       })},
      {"forgets bases", "is_view()",
       spoil_each([](const Tensor& t) { return t.is_view() ? t.detach() : t; })},
      {"forgets offsets", "storage_offset", spoil_each([](const Tensor& t) {
         return t.storage_offset() == 0 ? t : t.as_strided(t.sizes(), t.strides(), 0);
       })},
      {"promotes", "dtype", spoil_each([](const Tensor& t) { return t.to(at::kDouble); })},
      {"asks for gradients", "requires_grad",
       spoil_each([](const Tensor& t) { return t.is_floating_point() ? t.detach().requires_grad_() : t; })},
      {"reorders outputs", "output", spoil([](Tensors& outputs, const Tensors&, const Tensors&) {
         if (!outputs.empty()) std::swap(outputs.front(), outputs.back());
       })},
      {"loses an output", "outputs in eager", spoil([](Tensors& outputs, const Tensors&, const Tensors&) {
         if (!outputs.empty()) outputs.pop_back();
       })},
      {"defines the undefined", "defined()", spoil([](Tensors& outputs, const Tensors&, const Tensors&) {
         for (Tensor& output : outputs)
           if (!output.defined()) output = at::zeros({1});
       })},
      {"parts two outputs", "shares storage", spoil(part_two_outputs)},
      {"rounds differently", "element", spoil(nudge)},
      {"uses memory again", "of call 1: element",
       [](const Fn& function, const Tensors&) { return with_reused_memory(function); }},
      {"bakes values in", "call 3, after the call",
       [](const Fn& function, const Tensors&) { return with_baked_values(function); }},
  };
}

std::vector<WrongCompiler> wrong_effects() {
  return {
      {"drops input mutations", "input",
       [](const Fn& function, const Tensors&) {
         return restoring(function, [](const Tensors& in) { return in; });
       }},
      {"drops mutations of captured tensors", "captured",
       [](const Fn& function, const Tensors& captured) {
         return restoring(function, [captured](const Tensors&) { return captured; });
       }},
      {"bumps versions", "_version()", spoil([](Tensors&, const Tensors& inputs, const Tensors&) {
         if (!inputs.empty()) inputs[0].unsafeGetTensorImpl()->bump_version();
       })},
      {"bumps versions of captured tensors", "captured 0: _version()",
       spoil([](Tensors&, const Tensors&, const Tensors& captured) {
         if (!captured.empty()) captured[0].unsafeGetTensorImpl()->bump_version();
       })},
      {"writes beside a view", "in the storage", spoil([](Tensors&, const Tensors& inputs, const Tensors&) {
         for (const Tensor& input : inputs)
           if (input.storage_offset() > 0) *static_cast<char*>(input.storage().mutable_data()) ^= 3;
       })},
      {"ignores overlap of inputs", ": element",
       [](const Fn& function, const Tensors&) -> Fn {
         return [=](const Tensors& in) {
           return share_storage(in) ? run_on_copies(function, in) : function(in);
         };
       }},
      {"has no alias guard", "call 3, after the call",
       [](const Fn& function, const Tensors&) { return without_alias_guard(function); }},
      {"throws", "threw",
       [](const Fn& function, const Tensors&) -> Fn {
         return [=](const Tensors& inputs) {
           if (inputs.size() > 1) throw std::runtime_error("no");
           return function(inputs);
         };
       }},
  };
}

}  // namespace

std::vector<WrongCompiler> wrong_compilers() {
  std::vector<WrongCompiler> all = wrong_outputs();
  for (WrongCompiler& compiler : wrong_effects()) all.push_back(std::move(compiler));
  return all;
}

}  // namespace antegrad::fuzz
