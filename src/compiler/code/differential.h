#pragma once
#include <functional>
#include <string>
#include <vector>

#include "compiler/code/captured.h"
#include "compiler/plan/generalized.h"
#include "symbolic/shapes.h"

namespace antegrad::compiler {

/// The most combinations of sizes at which a function is captured.
constexpr size_t kMostSamples = 7;

/// Captures the function at other sizes.
using CaptureAt = std::function<Captured(const symbolic::CallShapes&)>;

/// Returns the sizes that the options mark as dynamic. Throws Error(InvalidArgument) for invalid marks.
std::vector<symbolic::Mark> marks_of(const Options& options);
/// Whether the program is only valid for its sizes: some tensors share memory or are lazily conjugated or
/// negated.
bool must_keep_sizes(const Captured& captured);
/// Returns the arguments of a call with other shapes and without memory.
std::vector<at::Tensor> stand_ins(const Leaves& leaves, const symbolic::CallShapes& shapes);

/// Differential tracing. User code computes with plain integers, so symbols cannot be passed through it;
/// instead the function is captured at several sizes, and numbers that differ between the graphs are solved
/// for as expressions over the symbols. A symbol for which this fails is replaced: by a relation to other
/// symbols that holds in all `calls` (newest last; `now` is its capture), then by a multiple of a symbol,
/// then by a constant.
Generalized generalize(const Captured& now, const symbolic::Shapes& wanted,
                       const std::vector<symbolic::CallShapes>& calls, const CaptureAt& capture_at);

}  // namespace antegrad::compiler
