#include "compiler/version_maker.h"

#include <fmt/format.h>

#include <optional>

#include "compiler/sizes_cache.h"
#include "trace/trace.h"

namespace antegrad::compiler {
namespace {

std::vector<int64_t> key_of(const Leaves& leaves) { return {leaves.key.begin(), leaves.key.end()}; }

/// Captures at all sizes that a search may ask for, so that caches are large enough for the next one.
void let_grow(const symbolic::Shapes& wanted, const CaptureAt& capture_at) {
  for (const auto& sample : symbolic::assignments(wanted, kMostSamples)) {
    try {
      capture_at(wanted.at(sample));
    } catch (const std::exception&) {
      // The function need not work there; the search will say so.
    }
  }
}

}  // namespace

VersionMaker::VersionMaker(const CaptureSettings& settings)
    : settings_{settings.options, settings.effects, settings.lowering}, marks_(marks_of(settings.options)) {}

/// Going by this call and those before it; `calls` gets their shapes, the newest last.
symbolic::Shapes VersionMaker::wanted_shapes(const NewCall& call, std::vector<symbolic::Call>& calls) const {
  for (auto version = call.versions.rbegin(); version != call.versions.rend(); ++version)
    if (auto shapes = (*version)->shapes_if_like(call.leaves, call.ambient))
      calls.push_back(std::move(*shapes));
  calls.push_back(call_of(call.leaves.tensors));
  const auto wanted = symbolic::generalize(calls, marks_, settings_.options.dynamic == Dynamic::All);
  const auto key = key_of(call.leaves);
  std::vector<ir::Dim> replacements;
  for (int32_t s = 0; s < static_cast<int32_t>(wanted.symbols.size()); ++s)
    replacements.push_back(pinned_.count({key, wanted.name_of(s)}) != 0
                               ? ir::Dim(wanted.symbols[static_cast<size_t>(s)].hint)
                               : ir::Dim::symbol(s));
  return wanted.with(replacements);
}

Generalized VersionMaker::generalize(const NewCall& call, const symbolic::Shapes& wanted,
                                     const std::vector<symbolic::Call>& calls,
                                     std::vector<std::string>& fixed_sizes) {
  const trace::Span span("find symbols");
  const ModuleState modules(settings_.options.watch);
  auto settings = settings_;
  size_t kept = 0;
  settings.kept = &kept;
  const auto capture_at = [&](const symbolic::Call& shapes) {
    return capture_call(settings, stand_ins(call.leaves, shapes), &modules, call.run);
  };
  auto found = compiler::generalize(call.captured, wanted, calls, capture_at);
  has_kept_ = kept > 0;
  if (has_kept_ && grown_.insert(key_of(call.leaves)).second) {
    let_grow(wanted, capture_at);
    return found;
  }
  for (int32_t s = 0; has_kept_ && s < static_cast<int32_t>(wanted.symbols.size()); ++s)
    pinned_.insert({key_of(call.leaves), wanted.name_of(s)});
  for (const auto& [what, why] : found.pinned) {
    pinned_.insert({key_of(call.leaves), what});
    fixed_sizes.push_back(fmt::format("{} is fixed: {}", what, why));
  }
  if (found.shapes.dynamic()) store_sizes(settings_, found);
  return found;
}

Generalized VersionMaker::as_it_is(const NewCall& call) const {
  return {symbolic::generalize({call_of(call.leaves.tensors)}, {}, false),
          without_input_offsets(call.captured),
          {}};
}

FunctionCache VersionMaker::cache_of(const NewCall& call, const ir::Graph& graph) const {
  return {settings_, graph, facts_of(call.captured.trace)};
}

std::shared_ptr<Version> VersionMaker::make(const Captured& captured, const Leaves& leaves,
                                            NewVersion planned) const {
  return std::make_shared<Version>(settings_, leaves, captured, planned.found.shapes,
                                   std::move(planned.found.graph), std::move(planned.cache));
}

NewVersion VersionMaker::plan(const NewCall& call, std::vector<std::string>& fixed_sizes) {
  auto found = as_it_is(call);
  has_kept_ = false;
  if (settings_.options.dynamic == Dynamic::None || must_keep_sizes(call.captured)) {
    auto cache = cache_of(call, found.graph);
    return {std::move(found), std::move(cache)};
  }
  std::vector<symbolic::Call> calls;
  const auto wanted = wanted_shapes(call, calls);
  std::optional<FunctionCache> cache;
  if (!wanted.dynamic()) {
    cache.emplace(cache_of(call, found.graph));
    if (cache->prefetch()) return {std::move(found), std::move(*cache)};
  }
  auto known = find_sizes(settings_, call.captured, calls.back());
  if (known.found) {
    auto cache_of_known = cache_of(call, known.found->graph);
    return {std::move(*known.found), std::move(cache_of_known)};
  }
  if (!cache) {
    found = generalize(call, wanted, calls, fixed_sizes);
    cache.emplace(cache_of(call, found.graph));
  }
  if (known.others) cache->set_known_at_other_sizes();
  return {std::move(found), std::move(*cache)};
}

}  // namespace antegrad::compiler
