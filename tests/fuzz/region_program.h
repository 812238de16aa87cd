#pragma once
// Random programs of regions (branches, loops, scans, checkpoints …) inside of each other.
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

namespace antegrad::fuzz {

enum class RegionStepKind { Op, Write, Log, Cond, While, Scan, Map, Associative, Checkpoint, Call };

struct RegionStep;

/// Tensors are chosen by numbers: kLastTensor is the last one, numbers a little smaller are those before it,
/// and small numbers count from the first.
constexpr size_t kLastTensor = 1'000'001;

/// A list of steps; each appends what it computes to the tensors that later ones choose from. Numbers are
/// taken modulo how many there are, so that any step can be removed.
struct RegionSteps {
  std::vector<RegionStep> steps;
  std::vector<size_t> results;
};

struct RegionStep {
  RegionStepKind kind = RegionStepKind::Op;
  int op = 0;
  size_t a = 0, b = 0, c = 0;
  double limit = 0;
  int64_t turns = 1;
  std::vector<size_t> arguments;  ///< what regions are called with, or carry
  std::vector<RegionSteps> bodies;
};

struct RegionProgram {
  uint64_t seed = 0;
  RegionSteps main;
};

RegionProgram generate_regions(uint64_t seed);
std::string to_string(const RegionProgram& program);

/// What programs compute with. Only tensors that a check chooses require gradients.
struct RegionTensors {
  at::Tensor x, z;     ///< arguments, of shape [rows, 3]
  at::Tensor w, b, u;  ///< captured: [3, 3], [3], [1, 3]
  double number = 1;   ///< an argument
};

/// `unrolled`: by branches and loops of the host, not by regions. Callbacks append to `log`, which must
/// outlive compiled functions.
std::vector<at::Tensor> run_regions(const RegionProgram& program, const RegionTensors& tensors, bool unrolled,
                                    std::vector<double>& log);

/// Whether the program has a step of this kind, inside of others too.
bool has_kind(const RegionProgram& program, RegionStepKind kind);

/// Programs without one of the steps of this one, or with a body instead of its region.
std::vector<RegionProgram> smaller(const RegionProgram& program);

}  // namespace antegrad::fuzz
