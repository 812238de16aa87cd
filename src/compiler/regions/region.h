#pragma once
#include <string>
#include <vector>

#include "antegrad/options.h"
#include "ir/graph.h"

namespace antegrad::compiler {

enum class RegionKind : uint8_t { Cond, WhileLoop, Scan, Map, Call, Checkpoint };

/// A derivative of a region: a region that takes one tangent for each of these results after its operands,
/// and returns the gradients of these operands.
struct RegionDerivative {
  std::vector<int64_t> results, operands;
};

/// A node of a graph whose arguments are graphs, "antegrad.region.cond" and so on.
struct Region {
  RegionKind kind = RegionKind::Call;
  std::string name;
  std::vector<ir::GraphPtr> bodies;
  std::vector<std::vector<int64_t>> plain;  ///< per body: nodes that ran without gradient mode
  int64_t carried = 0;                      ///< the first operands: those that a loop replaces in each turn
  int64_t sliced = 0;                       ///< the next ones: those that it takes apart
  /// Per result of the region itself: the operands that it has a gradient for.
  std::vector<std::vector<int64_t>> reached;
  std::vector<RegionDerivative> derivatives;  ///< each of the one before
  bool random = false;
  bool ordered = false;
  std::vector<int64_t> settings;  ///< of the options of the function that it is part of
  std::string cache_tag;

  /// Derivatives of random regions have the state of the generator as an operand before the others.
  bool takes_state() const { return random && !derivatives.empty(); }
};

constexpr std::string_view kRegionOp = "antegrad.region.";
constexpr std::string_view kRegionBackwardOp = "antegrad.region.backward";

/// The region's node, without outputs.
ir::Node to_node(const Region& region, const std::vector<ir::ValueId>& operands);
/// Throws Error(InvalidArgument) for a node that is none.
Region region_of(const ir::Node& node);
std::vector<ir::ValueId> operands_of(const ir::Node& node);

/// The region without what it does to the outside, such as printing and checking.
Region without_effects(Region region);
/// The same for a node that may be a region.
ir::Node without_effects(ir::Node node);

/// The graph of a step back through a region of which a session was kept: takes the session and tangents for
/// `results`, returns gradients of `operands`.
ir::Node backward_node(ir::ValueId session, const std::vector<ir::ValueId>& tangents,
                       const RegionDerivative& derivative);
RegionDerivative derivative_of(const ir::Node& backward);

/// The part of the options that a region keeps for its bodies.
std::vector<int64_t> settings_of(const Options& options);
Options options_of(const Region& region);

/// While it lives, regions that this thread captures are nodes of the graph, for these options.
class CapturesRegions {
 public:
  explicit CapturesRegions(const Options& options);
  ~CapturesRegions();
  CapturesRegions(const CapturesRegions&) = delete;
  CapturesRegions& operator=(const CapturesRegions&) = delete;
  static const Options* options();     ///< null where there is none
  static void note(std::string what);  ///< for Report::regions: what became of a branch or a loop
  std::vector<std::string> take_notes();

 private:
  const Options& options_;
  CapturesRegions* outer_;
  std::vector<std::string> notes_;
};
/// Whether this thread captures a function of which regions become nodes.
bool captures_regions();

/// Whether the graph, or a body in it, has a checkpoint.
bool has_checkpoint(const ir::Graph& graph);

/// Attributes of a node whose results are kept for a backward pass.
inline constexpr const char* kSession = "session";  ///< operands that get gradients
inline constexpr const char* kState = "state";      ///< it returns the generator's state

std::vector<int64_t> integers_of(const ir::Arg& arg);
ir::Arg to_arg(const std::vector<int64_t>& integers);
const ir::Arg* find_attr(const ir::Node& node, std::string_view name);

}  // namespace antegrad::compiler
