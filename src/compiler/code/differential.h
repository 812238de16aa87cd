#pragma once
#include <functional>
#include <string>
#include <vector>

#include "compiler/code/captured.h"
#include "symbolic/shapes.h"

namespace antegrad::compiler {

/// So many combinations of sizes a function is captured at, at most.
constexpr size_t kMostSamples = 7;

/// Captures the function at other sizes.
using CaptureAt = std::function<Captured(const symbolic::CallShapes&)>;

/// A size that stays what it is in this call.
struct Pinned {
  std::string what;    ///< "tensor 0 size 1"
  std::string reason;  ///< what went wrong with another one
};

/// The sizes that the options mark. Throws Error(InvalidArgument) for marks that make no sense.
std::vector<symbolic::Mark> marks_of(const Options& options);
/// Whether sizes are part of the program whatever they are: tensors that share memory, or are read
/// conjugated or negated.
bool must_keep_sizes(const Captured& captured);
/// The arguments of a call in other shapes, without memory.
std::vector<at::Tensor> stand_ins(const Leaves& leaves, const symbolic::CallShapes& shapes);

/// A program over those symbols that it was found to work for.
struct Generalized {
  symbolic::Shapes shapes;
  ir::Graph graph;  ///< functional or joint, before any pass
  std::vector<Pinned> pinned;
};

/// Differential tracing: user code computes with plain integers, so symbols cannot go through it. The
/// function is captured at several sizes, and what differs between the graphs is solved as expressions of the
/// symbols. Symbols that this does not work for are given up: first for a relation to others that holds in
/// all `calls` (the newest last, which `now` is the capture of), then for multiples, then for constants.
Generalized generalize(const Captured& now, const symbolic::Shapes& wanted,
                       const std::vector<symbolic::CallShapes>& calls, const CaptureAt& capture_at);

}  // namespace antegrad::compiler
