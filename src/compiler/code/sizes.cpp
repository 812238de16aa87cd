#include "compiler/code/sizes.h"

#include <fmt/format.h>

#include <optional>

#include "compiler/cache/sizes_cache.h"
#include "compiler/code/key_facts.h"
#include "trace/trace.h"

namespace antegrad::compiler {
namespace {

/// Returns the key without its numbers: what is found out about sizes does not depend on them.
std::vector<int64_t> key_of(const Leaves& leaves) {
  std::vector<int64_t> key(leaves.key.begin(), leaves.key.end());
  for (const auto& number : leaves.numbers) key[number.place] = 0;
  return key;
}

/// Captures at all sizes that a search may ask for, so that the function's own caches are large enough for
/// the next search.
void capture_at_all_samples(const symbolic::Shapes& wanted, const CaptureAt& capture_at) {
  for (const auto& sample : symbolic::assignments(wanted, kMostSamples)) {
    try {
      capture_at(wanted.at(sample));
    } catch (const std::exception&) {
      // The function need not work at these sizes; the search reports it.
    }
  }
}

/// Returns the program for the sizes of the call only.
Generalized at_call_sizes(const Call& call, const Captured& captured) {
  return {
      symbolic::generalize({shapes_of(call.leaves.tensors)}, {}, false), without_input_offsets(captured), {}};
}

}  // namespace

SizeChoice::SizeChoice(const CaptureSettings& settings, std::vector<symbolic::Mark> marks)
    : settings_{settings.options, settings.effects, settings.lowering}, marks_(std::move(marks)) {}

/// Chooses symbols based on this call and earlier ones.
SizeChoice::Wanted SizeChoice::choose(const Call& call, const Versions& versions) const {
  Wanted out;
  for (auto version = versions.rbegin(); version != versions.rend(); ++version)
    if (auto shapes = (*version)->shapes_if_like(call)) out.calls.push_back(std::move(*shapes));
  out.calls.push_back(shapes_of(call.leaves.tensors));
  const auto shapes = symbolic::generalize(out.calls, marks_, settings_.options.dynamic == Dynamic::All);
  const auto key = key_of(call.leaves);
  std::vector<ir::Dim> replacements;
  for (int32_t s = 0; s < static_cast<int32_t>(shapes.symbols.size()); ++s)
    replacements.push_back(pinned_.count({key, shapes.name_of(s)}) != 0 ? ir::Dim(shapes.symbols[s].hint)
                                                                        : ir::Dim::symbol(s));
  out.shapes = shapes.with(replacements);
  return out;
}

GeneralProgram SizeChoice::with_cache(const Call& call, const Captured& captured, Generalized found) const {
  auto cache = FunctionCache::open(settings_, found.graph, facts_of(captured.trace),
                                   key_facts(found.graph, call.ambient));
  return {std::move(found), std::move(cache), {}, {}, false};
}

GeneralProgram SizeChoice::search(const Call& call, const Captured& captured, const Wanted& wanted) {
  const trace::Span span("find symbols");
  const ModuleState modules(settings_.options.watch);
  auto settings = settings_;
  size_t kept = 0;
  settings.kept = &kept;
  const auto capture_at = [&](const symbolic::CallShapes& shapes) {
    return capture_call(settings, stand_ins(call.leaves, shapes), &modules, call.run);
  };
  auto found = compiler::generalize(captured, wanted.shapes, wanted.calls, capture_at);
  std::vector<std::string> fixed_sizes;
  if (kept > 0 && grown_.insert(key_of(call.leaves)).second) {
    capture_at_all_samples(wanted.shapes, capture_at);
  } else {
    for (int32_t s = 0; kept > 0 && s < static_cast<int32_t>(wanted.shapes.symbols.size()); ++s)
      pinned_.insert({key_of(call.leaves), wanted.shapes.name_of(s)});
    for (const auto& [what, why] : found.pinned) {
      pinned_.insert({key_of(call.leaves), what});
      fixed_sizes.push_back(fmt::format("{} is fixed: {}", what, why));
    }
    if (found.shapes.dynamic()) store_sizes(settings_, found, key_facts(found.graph, call.ambient));
  }
  auto program = with_cache(call, captured, std::move(found));
  program.fixed_sizes = std::move(fixed_sizes);
  program.kept_tensors = kept > 0;
  return program;
}

GeneralProgram SizeChoice::generalize(const Call& call, const Captured& captured, const Versions& versions) {
  if (settings_.options.dynamic == Dynamic::None || must_keep_sizes(captured))
    return with_cache(call, captured, at_call_sizes(call, captured));
  const auto wanted = choose(call, versions);
  std::optional<GeneralProgram> program;
  if (!wanted.shapes.dynamic()) {
    program = with_cache(call, captured, at_call_sizes(call, captured));
    if (program->cache.prefetch()) return std::move(*program);
  }
  const auto graph = without_input_offsets(captured);
  auto known = find_sizes(settings_, graph, wanted.calls.back(), key_facts(graph, call.ambient));
  if (known.found) return with_cache(call, captured, std::move(*known.found));
  if (!program) program = search(call, captured, wanted);
  if (known.others) program->cache.set_known_at_other_sizes();
  return std::move(*program);
}

}  // namespace antegrad::compiler
