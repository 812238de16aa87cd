#pragma once
#include <memory>
#include <optional>
#include <vector>

#include "aot/signature/signature.h"
#include "capture/expected.h"
#include "compiler/code/captured.h"
#include "compiler/code/numbers.h"
#include "compiler/code/rivals.h"
#include "symbolic/shapes.h"

namespace antegrad::compiler {

/// Decides whether a version serves a call of new sizes or numbers by the forward pass alone, which takes a
/// fraction of the time of a capture. The version has been proven by whole captures at several sizes and
/// numbers before; what is in the backward pass follows from the ops of the forward pass and from autograd's
/// graph, and both are compared with what they must be at the new sizes, number by number. A function with
/// custom functions or hooks, or whose calling convention depends on sizes, is always captured whole.
class ForwardCheck {
 public:
  /// `shapes`: those that the version serves. `captured`: its graph, whose symbols for numbers come after
  /// those of `shapes`.
  ForwardCheck(const symbolic::Shapes& shapes, const ir::Graph& captured);

  /// Adds a whole capture that the version serves. `values`: of all symbols.
  void add(const std::vector<int64_t>& values, const Captured& captured, const aot::Signature& signature);
  /// Whether the forward pass alone can decide about these sizes. Formulas of derivatives may treat sizes of
  /// 0 and 1, and equal sizes, in another way.
  bool decides(std::vector<int64_t> sizes) const;
  /// Returns what compares a capture of the forward pass at these sizes with what is expected, while it goes
  /// on; null where it has to be recorded.
  std::shared_ptr<capture::Follower> follower_at(const std::vector<int64_t>& sizes) const;
  /// Returns the values of all symbols, of which the sizes are given; nothing when the version does not serve
  /// the call, or a whole capture has to decide. `trace`: a capture of the forward pass.
  std::optional<std::vector<int64_t>> values_in(std::vector<int64_t> sizes, capture::Trace trace) const;

 private:
  /// What a capture must have in common with the others besides its graph.
  struct Ends {
    std::vector<capture::TracedInput> inputs;
    std::vector<capture::OutputEnd> outputs;
    std::vector<int32_t> duplicates;
    capture::HistoryShape histories;
    bool operator==(const Ends&) const = default;
  };
  struct Sample {
    std::vector<int64_t> values;  ///< of all symbols
    ir::Graph forward;
  };
  /// What samples have in common.
  struct Form {
    ir::Graph forward;                            ///< over symbols
    std::optional<std::vector<int64_t>> only_at;  ///< nothing for all sizes
    std::vector<int64_t> first;                   ///< the values of all symbols in one of the samples
    /// Per symbol for a number: where it occurs; nothing where all samples have one value.
    std::vector<std::optional<NumberPlace>> places;
    std::shared_ptr<const capture::Expected> expected;  ///< null where captures have to be recorded
    std::vector<Rivals> rivals;
  };
  static Ends ends_of(const capture::Trace& trace);
  void give_up();
  std::vector<int64_t> sizes_in(const std::vector<int64_t>& values) const;
  std::optional<std::vector<int64_t>> values_where_alike(std::vector<int64_t> sizes,
                                                         capture::Trace trace) const;
  static bool has_frame(const Form& form, const capture::Trace& trace);
  const Form* form_for(const std::vector<int64_t>& sizes) const;
  bool has_numbers() const { return !kinds_.empty(); }
  void note_kinds(const std::vector<int64_t>& values);
  bool are_known(const std::vector<int64_t>& values) const;
  void merge();
  std::optional<Form> merge(const std::vector<const Sample*>& samples) const;

  symbolic::Shapes shapes_;
  std::vector<NumberUse> uses_;
  std::vector<ir::Arg> expressions_;  ///< in the version's graph
  std::vector<uint32_t> kinds_;  ///< per symbol for a number: which kinds of numbers whole captures have had
  std::vector<bool> real_;       ///< per symbol for a number
  bool usable_ = true;
  bool differentiable_ = false;
  Ends ends_;
  aot::Signature signature_;
  std::vector<Sample> samples_;
  std::vector<Form> forms_;  ///< one for all sizes or, until there are enough samples, some for one size each
};

}  // namespace antegrad::compiler
