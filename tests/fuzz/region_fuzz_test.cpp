// Random programs of nested regions, compiled, against the same programs with branches and loops of the host,
// uncompiled: results, generator, callbacks, and gradients of up to third order of subsets of results by
// subsets of leaves. ANTEGRAD_FUZZ_SEED and ANTEGRAD_FUZZ_COUNT search other seeds.
#include <antegrad/antegrad.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <map>
#include <optional>

#include "fuzz/driver.h"
#include "fuzz/region_program.h"
#include "fuzz/rng.h"
#include "support/closeness.h"
#include "support/seeds.h"

namespace antegrad::fuzz {
namespace {

using at::Tensor;
using Tensors = std::vector<Tensor>;

Options options_for(uint64_t seed) {
  Options options;
  options.rng = antegrad::Rng::Eager;
  options.verify = true;
  if (seed % 4 == 1) options.policy = SaveAll{};
  if (seed % 4 == 2) options.policy = RecomputeAll{};
  options.backward_ahead = seed % 5 == 0;
  if (seed % 7 == 0) options.unsupported = Unsupported::Break;
  return options;
}

/// What one way of running a program gives.
struct Outcome {
  Tensors results;                 ///< detached
  std::vector<Tensors> gradients;  ///< per order
  std::vector<double> log;         ///< of the forward pass
  size_t logged = 0;               ///< by forward and backward passes
  Tensor drawn;                    ///< the next random number
  std::optional<std::string> error;
};

/// The same for all ways of running a program.
struct Call {
  int64_t rows = 2;
  double number = 1;
  uint64_t seed = 0;
  bool needs_x = true, needs_w = true, needs_u = true, grad_mode = true;
  std::vector<size_t> used;  ///< results whose gradients are taken
  std::vector<bool> wanted;  ///< per leaf
  int order = 2;
};

Call call_of(uint64_t seed, int index) {
  Rng rng(seed * 7 + static_cast<uint64_t>(index));
  Call call;
  call.rows = index == 0 ? 2 : 4;
  call.number = 0.75 + 0.4 * index;
  call.seed = seed + static_cast<uint64_t>(index);
  call.needs_x = rng.percent(80);
  call.needs_w = rng.percent(80);
  call.needs_u = rng.percent(70);
  call.grad_mode = rng.percent(93);
  for (size_t k = 0; k < 3; ++k)
    if (rng.percent(70)) call.used.push_back(k);
  for (int i = 0; i < 5; ++i) call.wanted.push_back(rng.percent(75));
  call.order = rng.percent(15) ? 3 : rng.percent(70) ? 2 : 1;
  return call;
}

/// The parameters of a program, which stay the same in all its calls.
struct Parameters {
  Tensor w, b, u;
  explicit Parameters(uint64_t seed) {
    test::manual_seed(seed);
    w = torch::randn({3, 3}, torch::kF64) * 0.7;
    b = torch::randn({3}, torch::kF64);
    u = torch::randn({1, 3}, torch::kF64);
  }
  void require(const Call& call) {
    w.requires_grad_(call.needs_w);
    b.requires_grad_(call.needs_w);
    u.requires_grad_(call.needs_u);
  }
};

using Function = std::function<Tensors(const Tensor&, const Tensor&, double)>;

Outcome outcome_of(const Function& function, const Call& call, const Parameters& p,
                   std::vector<double>& log) {
  Outcome out;
  log.clear();
  test::manual_seed(call.seed);
  auto x = torch::randn({call.rows, 3}, torch::kF64);
  const auto z = call.seed % 2 == 0 ? torch::randn({call.rows, 3}, torch::kF64)
                                    : torch::randn({3, call.rows}, torch::kF64).t();
  x.requires_grad_(call.needs_x);
  try {
    Tensors results;
    {
      const at::AutoGradMode mode(call.grad_mode);
      results = function(x, z, call.number);
    }
    out.drawn = torch::rand({2});
    out.log = log;
    for (const auto& result : results) {
      out.results.push_back(result.detach().clone());
    }
    Tensors leaves, sources;
    const Tensors all{x, z, p.w, p.b, p.u};
    for (size_t i = 0; i < all.size(); ++i)
      if (call.wanted[i] && all[i].requires_grad()) leaves.push_back(all[i]);
    for (auto k : call.used)
      if (k < results.size()) sources.push_back(results[k]);
    for (int order = 1; order <= call.order && !leaves.empty(); ++order) {
      Tensors from, tangents;
      for (const auto& source : sources) {
        if (!source.defined() || !source.requires_grad()) continue;
        from.push_back(source);
        tangents.push_back(torch::linspace(0.5, 1.25, source.numel(), torch::kF64).view_as(source));
      }
      if (from.empty()) break;
      const bool more = order < call.order;
      sources = torch::autograd::grad(from, leaves, tangents, more, more, true);
      Tensors kept;
      for (const auto& source : sources)
        kept.push_back(source.defined() ? source.detach().clone() : Tensor());
      out.gradients.push_back(kept);
    }
    out.logged = log.size();
  } catch (const std::exception& error) {
    const std::string text = error.what();
    out.error = text.substr(0, text.find('\n'));
  }
  return out;
}

std::optional<std::string> differs(const Tensor& a, const Tensor& b) {
  if (!a.defined() && !b.defined()) return std::nullopt;
  const auto x = a.defined() ? a : torch::zeros_like(b), y = b.defined() ? b : torch::zeros_like(a);
  if (x.sizes() != y.sizes() || x.scalar_type() != y.scalar_type())
    return c10::str(x.sizes(), " ", y.sizes());
  const double most = x.numel() == 0 ? 0 : x.abs().max().item<double>();
  if (at::allclose(x, y, 1e-8, 1e-9 * std::max(most, 1.), true)) return std::nullopt;
  return c10::str("\n", x, "\n", y);
}

/// Returns how the outcomes differ. A gradient that is zero because of what data decides is undefined in one
/// of them.
std::optional<std::string> difference(const Outcome& eager, const Outcome& compiled, bool repeats_effects) {
  if (compiled.error) return "compiled threw " + *compiled.error;
  if (eager.results.size() != compiled.results.size()) return "another number of results";
  for (size_t k = 0; k < eager.results.size(); ++k) {
    if (auto text = differs(eager.results[k], compiled.results[k])) return c10::str("result ", k, *text);
  }
  if (!at::equal(eager.drawn, compiled.drawn)) return "the generator goes on at another place";
  if (eager.log.size() != compiled.log.size())
    return c10::str("log of ", eager.log.size(), " and ", compiled.log.size());
  for (size_t i = 0; i < eager.log.size(); ++i)
    if (std::abs(eager.log[i] - compiled.log[i]) > 1e-8) return c10::str("log entry ", i);
  if (!repeats_effects && compiled.logged != compiled.log.size())
    return c10::str("backward passes log ", compiled.logged - compiled.log.size());
  for (size_t order = 0; order < std::max(eager.gradients.size(), compiled.gradients.size()); ++order) {
    const auto& a = order < eager.gradients.size() ? eager.gradients[order] : Tensors();
    const auto& b = order < compiled.gradients.size() ? compiled.gradients[order] : Tensors();
    for (size_t i = 0; i < std::max(a.size(), b.size()); ++i)
      if (auto text = differs(i < a.size() ? a[i] : Tensor(), i < b.size() ? b[i] : Tensor()))
        return c10::str("order ", order + 1, " gradient ", i, *text);
  }
  return std::nullopt;
}

/// With numbers of its own, a call has the same gradients whether or not they can be derived again.
std::optional<std::string> fused_difference(const Function& function, Options options, const Call& call,
                                            const Parameters& p, std::vector<double>& log) {
  options.rng = antegrad::Rng::Fused;
  options.unsupported = Unsupported::Error;  // with Break, the first call draws eager's numbers
  const auto compiled = compile(function, options);
  auto once = call;
  once.order = 1;
  const auto usual = outcome_of(compiled, once, p, log);
  const auto derivable = outcome_of(compiled, call, p, log);
  if (usual.error || derivable.error || usual.gradients.empty()) return std::nullopt;
  if (auto text = differs(usual.results[0], derivable.results[0])) return "fused, result 0" + *text;
  for (size_t i = 0; i < usual.gradients[0].size(); ++i)
    if (auto text = differs(usual.gradients[0][i], derivable.gradients[0][i]))
      return c10::str("fused, gradient ", i, *text);
  return std::nullopt;
}

struct Tally {
  uint64_t programs = 0, calls = 0, second = 0;
  std::map<std::string, int> refused;
};

constexpr int kCalls = 5;

/// Writes to what regions have returned, or to what they read: derivatives compute regions again, from all
/// operands; all gradients are computed, and not only those that are asked for.
bool is_known_gap(const RegionProgram& program, const Outcome& outcome) {
  return outcome.error && outcome.error->find("modified by an inplace operation") != std::string::npos &&
         has_kind(program, RegionStepKind::Write);
}

/// Refusals, and what eager refuses, end a check.
std::optional<std::string> check(const RegionProgram& program, Tally* tally = nullptr) {
  Parameters p(program.seed);
  static auto& log = *new std::vector<double>;
  const auto in_way = [&](bool unrolled) {
    return [&, unrolled](const Tensor& x, const Tensor& z, double number) {
      return run_regions(program, {x, z, p.w, p.b, p.u, number}, unrolled, log);
    };
  };
  const auto compiled = compile(in_way(false), options_for(program.seed));
  const bool repeats = has_kind(program, RegionStepKind::Checkpoint);
  for (int index = 0; index < kCalls; ++index) {
    const auto call = call_of(program.seed, index);
    p.require(call);
    const auto eager = outcome_of(in_way(true), call, p, log);
    if (eager.error) return std::nullopt;
    const auto plain = outcome_of(in_way(false), call, p, log);
    if (is_known_gap(program, plain)) continue;
    if (auto text = difference(eager, plain, repeats))
      return c10::str("call ", index, " uncompiled: ", *text);
    const auto actual = outcome_of(compiled, call, p, log);
    if (actual.error && actual.error->starts_with("[capture:")) {
      if (tally != nullptr) ++tally->refused[actual.error->substr(0, 160)];
      return std::nullopt;
    }
    if (is_known_gap(program, actual)) continue;
    if (auto text = difference(eager, actual, repeats)) return c10::str("call ", index, ": ", *text);
    if (index == 0)
      if (auto text = fused_difference(in_way(false), options_for(program.seed), call, p, log)) return text;
    if (tally == nullptr) continue;
    ++tally->calls;
    tally->second += eager.gradients.size() > 1;
  }
  return std::nullopt;
}

/// Removes steps as long as there is a difference of the same kind.
RegionProgram shrink(RegionProgram program, const std::string& text) {
  const auto kind = text.substr(0, std::min<size_t>(text.find('\n'), 60));
  for (bool changed = true; changed;) {
    changed = false;
    for (auto& next : smaller(program)) {
      const auto now = check(next);
      if (!now || now->substr(0, std::min<size_t>(now->find('\n'), 60)) != kind) continue;
      program = std::move(next);
      changed = true;
      break;
    }
  }
  return program;
}

void fuzz(uint64_t first, uint64_t count) {
  const auto most_failures = from_environment("ANTEGRAD_FUZZ_FAILURES", 3);
  uint64_t failures = 0, checked = 0;
  Tally tally;
  for (uint64_t seed = first; seed < first + count && failures < most_failures; ++seed, ++checked) {
    const auto program = generate_regions(seed);
    const auto text = check(program, &tally);
    if (!text) continue;
    ++failures;
    const auto small = shrink(program, *text);
    ADD_FAILURE() << "seed " << seed << ", " << *text
                  << "\nshrunk: " << check(small).value_or("no difference any more") << "\n"
                  << to_string(small);
  }
  std::string refusals;
  for (const auto& [text, times] : tally.refused) refusals += c10::str(times, " x ", text, "\n");
  if (checked >= 40 && failures == 0) {
    EXPECT_GE(tally.calls, checked) << refusals;
    EXPECT_GE(tally.second, checked / 3) << refusals;
  }
  if (std::getenv("ANTEGRAD_FUZZ_SAY")) std::cout << refusals << tally.calls << " " << tally.second << "\n";
  say_checked("region", checked, failures);
}

TEST(RegionFuzz, Programs) { fuzz(0, test::runs_libtorch_kernels() ? 60 : 4); }

TEST(FreshRegionFuzz, Programs) {
  const auto seeds = fresh_seeds();
  if (!seeds) GTEST_SKIP() << "ANTEGRAD_FUZZ_COUNT=n searches among n";
  RecordProperty("first_seed", std::to_string(seeds->first));
  fuzz(seeds->first, seeds->count);
}

}  // namespace
}  // namespace antegrad::fuzz
