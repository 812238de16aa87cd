#pragma once
// Decides how the ops of a section run on threads, before any text is generated.
#include <cstdint>
#include <vector>

#include "codegen/cuda/mapping.h"

namespace antegrad::codegen::cuda {

/// How often an op runs.
enum class Level : uint8_t {
  Section,  ///< once, before the loops
  Vector,   ///< once for all elements of a vector
  Element
};

struct OpPlan {
  Level level = Level::Section;
  bool vector = false;  ///< it accesses all elements of a vector at once
  bool early = false;   ///< loaded before anything is computed
  bool once = false;    ///< it belongs to a section without loops: only the first iteration has its effect
  bool wide = false;    ///< Reduce, Accumulate: floats are added to a double
  int32_t keep = -1;    ///< the register array that it loads from or stores to
  bool fills = false;   ///< the array is filled by this load
};

/// A section on threads. The iterations of the loops `spread` are divided among them, those of `serial` run
/// one after the other on one thread.
struct SectionPlan {
  std::vector<schedule::Op> ops;
  std::vector<int32_t> spread, serial;
  std::vector<int32_t> inner;  ///< the loops of the section itself; Flat spreads outer loops as well
  int32_t vector = 1;          ///< elements of the last loop of `spread`
  bool tail = false;           ///< the last vector may be incomplete
  std::vector<OpPlan> plans;   ///< per op
  int32_t trips = 0;           ///< vectors of a thread if that is a small constant and they are unrolled
  /// What later sections load, and this one does for them, so that they need not wait for memory.
  struct Prefetch {
    int32_t keep = -1;  ///< the register array it is loaded to
    schedule::Op load;
    bool vector = false;          ///< all elements of a vector at once
    std::vector<int32_t> spread;  ///< of the later section: loops like those of this one
  };
  std::vector<Prefetch> prefetches = {};

  bool has_loops() const { return !spread.empty() || !serial.empty(); }
};

/// Returns the number of iterations of loops.
ir::Dim iterations(const schedule::Kernel& kernel, const std::vector<int32_t>& loops);
bool is_multiple(const ir::Dim& dim, int64_t of);
bool has_effect(const schedule::Op& op);

/// Returns an estimate of the instructions for one element of a section.
int64_t instructions(const SectionPlan& section);
/// The most instructions that are unrolled: more take NVRTC seconds and do not fit a multiprocessor's cache.
constexpr int64_t kMostInstructions = 2500;

constexpr int64_t kMostLoaded = 96;  ///< bytes that a thread loads before it computes

/// The sections of a kernel, for vectors of `vector` elements where accesses allow it. In Form::Flat all
/// sections become one.
std::vector<SectionPlan> plan_sections(const schedule::Kernel& kernel, Mapping::Form form, int32_t vector);

}  // namespace antegrad::codegen::cuda
