#include "compiler/code/differential.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "antegrad/error.h"
#include "capture/fake.h"
#include "capture/stand_in.h"
#include "symbolic/merge.h"

namespace antegrad::compiler {
namespace {

using ir::Dim;
using symbolic::Shapes;

bool same_tensors(const capture::Trace& a, const capture::Trace& b) {
  return std::equal(a.lifted.begin(), a.lifted.end(), b.lifted.begin(), b.lifted.end(),
                    [](const auto& x, const auto& y) { return x.tensor.is_same(y.tensor); });
}

std::vector<Dim> all_symbols(const Shapes& shapes) {
  std::vector<Dim> out;
  for (size_t s = 0; s < shapes.symbols.size(); ++s) out.push_back(Dim::symbol(static_cast<int32_t>(s)));
  return out;
}

class Search {
 public:
  Search(const Captured& now, const Shapes& wanted, const std::vector<symbolic::CallShapes>& calls,
         const CaptureAt& capture_at)
      : now_(now), wanted_(wanted), calls_(calls), capture_at_(capture_at) {}

  Generalized run() {
    if (attempt(wanted_)) return std::move(*found_);
    if (auto related = with_relations(); related && attempt(*related)) return std::move(*found_);
    // Each symbol alone, with the other sizes as they are now.
    const auto count = wanted_.symbols.size();
    std::vector<std::optional<Dim>> usable(count);
    std::vector<std::string> reasons(count);
    std::vector<bool> special(count);
    for (size_t s = 0; s < count; ++s) {
      usable[s] = alone(static_cast<int32_t>(s));
      reasons[s] = reason_;
      special[s] = !usable[s] && works_at_other_values(static_cast<int32_t>(s));
    }
    if (count == 1 && usable[0]) return std::move(*found_);
    std::vector<Dim> replacements;
    for (const auto& symbol : wanted_.symbols) replacements.emplace_back(symbol.hint);
    std::optional<Generalized> best;
    std::vector<Pinned> pinned;
    for (size_t s = 0; s < count; ++s) {
      auto further = replacements;
      if (usable[s]) {
        further[s] = *usable[s];
        if (attempt(scaled(further))) {
          replacements = std::move(further);
          best = std::move(found_);
          continue;
        }
        reasons[s] = reason_;
      }
      if (!special[s]) pinned.push_back({wanted_.name_of(static_cast<int32_t>(s)), reasons[s]});
    }
    if (!best) best = Generalized{wanted_.with(replacements), now_.functional.graph, {}};
    best->pinned = std::move(pinned);
    return std::move(*best);
  }

 private:
  /// Tries to find one program over these symbols; sets `found_`, or `reason_` on failure. With `now` false,
  /// the sizes of this call are left out.
  bool attempt(const Shapes& shapes, bool now = true) {
    found_.reset();
    if (!shapes.dynamic()) return false;
    const auto enough = std::min(kMostSamples, shapes.symbols.size() + 3);
    auto samples = symbolic::assignments(shapes, kMostSamples);
    std::rotate(samples.begin() + static_cast<int64_t>(enough) - 1, samples.end() - 1, samples.end());
    std::vector<ir::Graph> captured;
    if (!attempt(shapes, {samples.begin(), samples.begin() + static_cast<int64_t>(enough)}, now, captured))
      return false;
    if (sure_ || enough == samples.size()) return true;
    // With more samples there may be no common form, and the guess may still hold for some sizes.
    auto guessed = std::move(found_);
    if (!attempt(shapes, samples, now, captured)) found_ = std::move(guessed);
    return true;
  }

  /// The same at these samples, the first of which have been captured already.
  bool attempt(const Shapes& shapes, const std::vector<std::vector<int64_t>>& samples, bool now,
               std::vector<ir::Graph>& captured) {
    for (size_t k = captured.size(); k < samples.size(); ++k)
      if (!capture(shapes, samples[k], k == 0, captured)) return false;
    const int64_t first = now ? 0 : 1;
    return merge(shapes, {samples.begin() + first, samples.end()},
                 {captured.begin() + first, captured.end()});
  }

  /// Appends the graph of the function at these sizes; returns false when it cannot be captured there.
  bool capture(const Shapes& shapes, const std::vector<int64_t>& sample, bool is_now,
               std::vector<ir::Graph>& captured) {
    if (is_now) {
      captured.push_back(without_input_offsets(now_));
      return true;
    }
    try {
      const auto other = capture_at_(shapes.at(sample));
      captured.push_back(without_input_offsets(other));
      if (same_tensors(now_.trace, other.trace)) return true;
      reason_ = fmt::format("with {} it reads other tensors", values_text(shapes, sample));
    } catch (const std::exception& error) {
      reason_ = fmt::format("with {} the function throws: {}", values_text(shapes, sample),
                            first_line(capture::text_of(error)));
    }
    return false;
  }

  /// Sets `sure_` when more samples would not change the result.
  bool merge(const Shapes& shapes, const std::vector<std::vector<int64_t>>& samples,
             const std::vector<ir::Graph>& captured) {
    try {
      auto [graph, sure] = symbolic::merge(captured, shapes, samples);
      found_ = Generalized{shapes, std::move(graph), {}};
      sure_ = sure;
    } catch (const symbolic::Mismatch& mismatch) {
      found_.reset();
      reason_ = mismatch.reason;
      return false;
    }
    return true;
  }

  static std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

  static std::string values_text(const Shapes& shapes, const std::vector<int64_t>& values) {
    std::string out;
    for (size_t s = 0; s < values.size(); ++s)
      out += fmt::format("{}{} {}", s ? ", " : "", shapes.name_of(static_cast<int32_t>(s)), values[s]);
    return out;
  }

  std::optional<Shapes> with_relations() const {
    const auto relations = symbolic::relations(wanted_, calls_);
    if (relations.empty()) return std::nullopt;
    auto replacements = all_symbols(wanted_);
    for (const auto& relation : relations) replacements[relation.symbol] = relation.value;
    return wanted_.with(replacements);
  }

  /// Returns the symbol itself, or a multiple of it, that works when all other sizes are constants.
  std::optional<Dim> alone(int32_t symbol) {
    std::vector<Dim> replacements;
    for (const auto& other : wanted_.symbols) replacements.emplace_back(other.hint);
    auto& own = replacements[symbol];
    own = Dim::symbol(symbol);
    if (attempt(scaled(replacements))) return own;
    const auto plain = reason_;
    if (const auto divisor = symbolic::common_divisor(wanted_, calls_, symbol); divisor > 1) {
      own = Dim::symbol(symbol) * Dim(divisor);
      if (attempt(scaled(replacements))) return own;
    }
    reason_ = plain;
    return std::nullopt;
  }

  /// Whether the failure is due to the value in this call, such as 1, and the symbol works for others. It is
  /// then kept for later calls.
  bool works_at_other_values(int32_t symbol) {
    std::vector<Dim> replacements;
    for (const auto& other : wanted_.symbols) replacements.emplace_back(other.hint);
    replacements[symbol] = Dim::symbol(symbol);
    return attempt(scaled(replacements), false);
  }

  /// Returns `wanted_` with these replacements; a symbol that is replaced by a multiple gets another value
  /// and range.
  Shapes scaled(const std::vector<Dim>& replacements) const {
    auto base = wanted_;
    for (size_t s = 0; s < replacements.size(); ++s)
      if (const auto affine = symbolic::as_affine(replacements[s]); affine && affine->factor > 1) {
        auto& [range, hint] = base.symbols[s];
        hint /= affine->factor;
        range.lower = std::max<int64_t>(1, (range.lower + affine->factor - 1) / affine->factor);
        if (range.upper != ir::Range{}.upper) range.upper /= affine->factor;
      }
    return base.with(replacements);
  }

  const Captured& now_;
  const Shapes& wanted_;
  const std::vector<symbolic::CallShapes>& calls_;
  const CaptureAt& capture_at_;
  std::optional<Generalized> found_;
  bool sure_ = false;
  std::string reason_;
};

}  // namespace

std::vector<symbolic::Mark> marks_of(const Options& options) {
  std::vector<symbolic::Mark> marks;
  for (const auto& size : options.dynamic_sizes) {
    if (size.tensor < 0 || size.dim < 0 || size.min < 0 || size.max < size.min || size.multiple < 1)
      throw Error(ErrorCode::InvalidArgument, "options",
                  fmt::format("dynamic({}, {}, {}, {}) with multiples of {} matches no size", size.tensor,
                              size.dim, size.min, size.max, size.multiple),
                  "Count tensors and dims from 0, and give a range that is not empty");
    marks.push_back({size.tensor, size.dim, {size.min, size.max}, size.multiple, size.name});
  }
  return marks;
}

bool must_keep_sizes(const Captured& captured) {
  for (size_t i = 0; i < captured.trace.user_inputs; ++i)
    if (captured.trace.inputs[i].memory.storage >= 0 && capture::shares_storage(captured.trace, i))
      return true;
  return !captured.bases.empty() || has_lazy_bits(captured.trace);
}

std::vector<at::Tensor> stand_ins(const Leaves& leaves, const symbolic::CallShapes& shapes) {
  std::vector<at::Tensor> out;
  for (size_t i = 0; i < leaves.tensors.size(); ++i) {
    const auto& real = leaves.tensors[i];
    const auto first = std::find_if(leaves.tensors.begin(), leaves.tensors.end(),
                                    [&](const at::Tensor& other) { return other.is_same(real); });
    const size_t same = first - leaves.tensors.begin();
    if (same < i) {
      out.push_back(out[same]);
    } else {
      const auto& shape = shapes[i];
      const bool unchanged = !shape.defined || (real.sizes() == at::IntArrayRef(shape.sizes) &&
                                                real.strides() == at::IntArrayRef(shape.strides));
      out.push_back(unchanged ? real : capture::stand_in(real, shape.sizes, shape.strides));
    }
  }
  return out;
}

Generalized generalize(const Captured& now, const Shapes& wanted,
                       const std::vector<symbolic::CallShapes>& calls, const CaptureAt& capture_at) {
  return Search(now, wanted, calls, capture_at).run();
}

}  // namespace antegrad::compiler
