// Versions that differ in numbers.
#include "antegrad/error.h"
#include "compiler/function/version.h"
#include "ir/substitute.h"

namespace antegrad::compiler {
namespace {

/// Returns the values of the symbols for these shapes; nothing if they are not allowed.
std::optional<std::vector<int64_t>> sizes_at(const symbolic::Shapes& shapes,
                                             const symbolic::CallShapes& call) {
  const symbolic::ShapeGuard guard(shapes);
  std::vector<int64_t> values(guard.symbols());
  const auto view = [&](size_t i) {
    return symbolic::ShapeView{call[i].sizes.data(), call[i].strides.data(), call[i].sizes.size()};
  };
  return guard.holds(view, values.data()) ? std::optional(std::move(values)) : std::nullopt;
}

}  // namespace

Result<NumberedGraph> Version::merge_numbers(const ir::Graph& graph, const symbolic::Shapes& shapes,
                                             const Call& call) const {
  const auto own_shapes = shapes_if_like(call);
  if (!own_shapes) return Failure{"its guards do not hold"};
  auto over_symbols = graph;
  over_symbols.compact();
  auto own_symbolic = template_->captured();
  own_symbolic.compact();
  const auto first_number = template_->first_number();
  // Both graphs at sizes that both allow: those of the other call, else those of this one.
  auto own_symbols = first_symbols_;
  auto sizes = sizes_at(shapes, *own_shapes);
  if (!sizes) {
    const auto here = guards_.shapes_hold(call.leaves);
    sizes = sizes_at(shapes, shapes_of(call.leaves.tensors));
    if (!here || !sizes || !guards_.shapes) return Failure{"there are no sizes that both allow"};
    std::copy_n(here->begin(), guards_.size_symbols(), own_symbols.begin());
  }
  try {
    return generalize_numbers(over_symbols, ir::substitute(over_symbols, *sizes),
                              ir::substitute(own_symbolic, own_symbols), own_symbolic, first_number);
  } catch (const Error& error) {  // e.g. division by a size that is 0 here
    return Failure{error.what()};
  }
}

}  // namespace antegrad::compiler
