#include "schedule/substitute.h"

#include "ir/substitute.h"
#include "schedule/cost.h"

namespace antegrad::schedule {
namespace {

class Substitution {
 public:
  explicit Substitution(const std::vector<int64_t>& values)
      : value_of_([&values](int32_t symbol) { return values[symbol]; }) {}

  int64_t operator()(const ir::Dim& dim) const { return dim.evaluate(value_of_); }
  void apply(ir::Dim& dim) const { dim = (*this)(dim); }

  void apply(Affine& address) const {
    apply(address.offset);
    for (auto& [loop, coefficient] : address.terms) apply(coefficient);
    std::erase_if(address.terms, [](const auto& term) { return term.second.is(0); });
  }
  void apply(Literal& number) const {
    if (const auto* dim = std::get_if<ir::Dim>(&number))
      number = (*this)(*dim);
    else if (const auto* real = std::get_if<SizeReal>(&number))
      number = ir::Real{real->form, real->scale, real->dim}.evaluate(value_of_);
  }
  void apply(Op& op) const {
    apply(op.number);
    apply(op.address);
    for (auto& part : op.indirect) {
      apply(part.stride);
      apply(part.size);
    }
  }

 private:
  ir::Dim::Assignment value_of_;
};

}  // namespace

Kernel substitute(const Kernel& kernel, const std::vector<int64_t>& values) {
  const Substitution substitution(values);
  auto out = kernel;
  for (auto& buffer : out.buffers) substitution.apply(buffer.elements);
  for (auto& extent : out.loops) substitution.apply(extent);
  for (auto& [buffer, elements] : out.clear) substitution.apply(elements);
  substitution.apply(out.chunks);
  for (auto& section : out.sections)
    for (auto& op : section.ops) substitution.apply(op);
  return out;
}

Program substitute(const Program& program, const std::vector<int64_t>& values) {
  const Substitution substitution(values);
  Program out{ir::substitute(program.graph, values), program.kernels, program.steps, program.decisions};
  for (auto& step : out.steps)
    if (auto* run = std::get_if<RunKernel>(&step)) {
      substitution.apply(run->units);
      run->grain = grain_of(program.kernels[run->kernel], substitution);
    }
  return out;
}

}  // namespace antegrad::schedule
