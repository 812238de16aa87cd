#include "compiler/cache/function_cache.h"

#include <fmt/format.h>

#include <charconv>
#include <chrono>

#include "antegrad/error.h"
#include "cache/directory/explain.h"
#include "cache/format/label.h"
#include "ir/binary.h"
#include "ir/text.h"
#include "schedule/binary.h"
#include "trace/trace.h"

namespace antegrad::compiler {
namespace {

constexpr uint64_t kForward = 0;
constexpr std::chrono::milliseconds kSlowKey(50);

uint64_t variant_of(const std::vector<bool>& which) {
  std::string text = "backward ";
  for (auto flag : which) text += flag ? '1' : '0';
  return cache::variant_of(cache::sha256(text));
}

double seconds_of(const cache::Label& label) {
  const auto* text = label.fact("seconds");
  double seconds = 0;
  if (text != nullptr) std::from_chars(text->data(), text->data() + text->size(), seconds);
  return seconds;
}

std::string write_code(const Lowered& code) {
  ByteWriter out;
  out.flag(code.is_eager());
  out.count(code.kernels().size());
  for (const auto& kernel : code.kernels()) {
    out.raw(kernel.reference.key.view());
    out.raw(kernel.reference.object.view());
  }
  schedule::write(out, code.program());
  return out.take();
}

cache::Digest read_digest(ByteReader& in) {
  cache::Digest digest;
  const auto bytes = in.raw(digest.bytes.size());
  std::copy(bytes.begin(), bytes.end(), digest.bytes.begin());
  return digest;
}

/// `key` is "" when nothing was looked up.
void trace_lookup(cache::Outcome outcome, const std::string& reason, const std::string& key, double seconds) {
  if (!trace::on()) return;
  trace::Event("cache")
      .with("outcome", cache::outcome_name(outcome))
      .with("reason", reason)
      .with("key", key)
      .with("saved_s", seconds)
      .send();
}

}  // namespace

/// The result of a lookup.
struct FunctionCache::Part {
  cache::Outcome outcome = cache::Outcome::Miss;
  std::string reason;
  cache::Entry entry;
  double seconds = 0;
  std::shared_ptr<const Lowered> code;  ///< set only for a hit

  void fail(cache::Outcome with, std::string why) {
    outcome = with;
    reason = std::move(why);
    code = nullptr;
  }
};

std::shared_ptr<Caches> usable_caches(const Options& options) {
  if (options.cache == Cache::Off || !why_not_cacheable(options).empty()) return nullptr;
  auto caches = Caches::current();
  return caches->store() != nullptr ? caches : nullptr;
}

FunctionCache FunctionCache::open(const PlanSettings& settings, const ir::Graph& graph,
                                  const CaptureFacts& facts, const KeyFacts& surroundings) {
  FunctionCache cache(settings.options.name, settings.options.cache == Cache::Strict, settings.lowering);
  if (settings.options.cache == Cache::Off) return cache;
  auto& log = cache.lowering_->cache_log();
  cache.caches_ = usable_caches(settings.options);
  if (cache.caches_ == nullptr) {
    auto reason = why_not_cacheable(settings.options);
    if (reason.empty()) reason = Caches::current()->why_no_store();
    log.count(cache::Outcome::Bypass);
    log.note(reason);
    trace_lookup(cache::Outcome::Bypass, reason, "", 0);
    Caches::current()->functions.add(cache::Outcome::Bypass);
    if (cache.strict_)
      throw Error(ErrorCode::CacheMiss, "cache",
                  fmt::format("'{}' cannot be cached: {}", cache.name_, reason),
                  "Change that, or set Options::cache to On");
    return cache;
  }
  const auto start = std::chrono::steady_clock::now();
  cache.key_ = function_key(settings, graph, facts, surroundings);
  cache.digest_ = cache.key_.digest();
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  if (took > kSlowKey)
    log.note(fmt::format(
        "computing the key took {:.0f} ms: the graph has {} MB of constants, which are part of the key",
        took.count() * 1e3, cache.key_.find(cache::kGraphField)->length >> 20));
  return cache;
}

bool FunctionCache::prefetch() {
  if (!caches_) return false;
  const trace::Span span("look up");
  prefetched_ = caches_->store()->get({digest_, kForward});
  return prefetched_->outcome == cache::Outcome::Hit;
}

FunctionCache::Part FunctionCache::decode(cache::Loaded loaded) const {
  const trace::Span span("load");
  Part part;
  part.outcome = loaded.outcome;
  part.reason = std::move(loaded.reason);
  if (part.outcome != cache::Outcome::Hit) return part;
  part.entry = std::move(loaded.entry);
  const auto* bytes = part.entry.find("code");
  const auto label = cache::label_of(part.entry);
  if (bytes == nullptr || !label) {
    part.fail(cache::Outcome::Corrupt, "an entry of a function lacks a part");
    return part;
  }
  part.seconds = seconds_of(*label);
  try {
    ByteReader in(*bytes);
    const bool is_eager = in.flag();
    std::vector<KernelReference> references(in.count(2 * sizeof(cache::Digest)));
    for (auto& reference : references) {
      reference.key = read_digest(in);
      reference.object = read_digest(in);
    }
    auto program = schedule::read_program(in);
    if (!in.at_end() || program.kernels.size() != references.size())
      throw Error(ErrorCode::Io, "cache", "an entry of a function does not end where it should");
    auto found = find_kernels(references, *caches_);
    if (const auto facts = lowering_->cuda_facts(program.graph); found.kernels && facts)
      map_kernels(program.kernels, *facts, *found.kernels);
    if (is_eager)
      part.code = std::make_shared<const Lowered>(program.graph);
    else if (found.kernels)
      part.code = std::make_shared<const Lowered>(std::move(program), std::move(*found.kernels));
    else
      part.fail(found.outcome, std::move(found.reason));
  } catch (const Error& error) {
    part.fail(cache::Outcome::Corrupt, error.what());
  }
  return part;
}

/// Records the outcome of a lookup. Throws on a miss when the cache is strict.
void FunctionCache::finish(const Part& part) const {
  trace_lookup(part.outcome, part.reason, digest_.hex(), part.code ? part.seconds : 0);
  lowering_->cache_log().count(part.outcome);
  caches_->functions.add(part.outcome);
  if (!part.reason.empty()) lowering_->cache_log().note(part.reason);
  if (part.outcome != cache::Outcome::Hit && strict_) throw_miss(part.reason);
}

void FunctionCache::throw_miss(const std::string& reason) const {
  auto fact = fmt::format("'{}' is not in the cache under {}", name_, digest_.hex());
  if (!reason.empty()) fact += ": " + reason;
  if (const auto near = caches_->nearest_difference(key_, "function", name_); !near.empty())
    fact += ". " + near;
  throw Error(ErrorCode::CacheMiss, "cache", fact,
              "Fill the cache with a run that has Options::cache at On, or import a bundle");
}

std::optional<FunctionCache::Stored> FunctionCache::load() {
  if (!caches_) return std::nullopt;
  lowering_->cache_log().add_key(digest_.hex());
  if (!prefetched_) prefetch();
  auto part = decode(std::move(*prefetched_));
  prefetched_.reset();
  if (part.outcome == cache::Outcome::Miss && known_at_other_sizes_)
    part.fail(cache::Outcome::GuardMiss, "the cached entry is for other sizes");
  Stored stored;
  if (part.code) try {
      const auto* bytes = part.entry.find("plan");
      ByteReader in(bytes != nullptr ? std::string_view(*bytes) : std::string_view());
      stored.plan = read_plan(in);
      if (in.flag()) stored.plan.frozen = ir::read_graph(in);
      if (!in.at_end()) throw Error(ErrorCode::Io, "cache", "a plan does not end where it should");
      stored.forward = part.code;
    } catch (const Error& error) {
      part.fail(cache::Outcome::Corrupt, error.what());
    }
  finish(part);
  if (!part.code) return std::nullopt;
  lowering_->cache_log().add_saved(part.seconds, 0);
  return stored;
}

std::shared_ptr<const Lowered> FunctionCache::load_backward(const std::vector<bool>& which) const {
  if (!caches_) return nullptr;
  const auto part = decode(caches_->store()->get({digest_, variant_of(which)}));
  finish(part);
  if (part.code) lowering_->cache_log().add_saved(0, part.seconds);
  return part.code;
}

void FunctionCache::put(const std::string& kind, uint64_t variant, std::vector<cache::Section> sections,
                        const Lowered& code, double seconds) const {
  const trace::Span span("store");
  if (code.is_eager() && lowering_->failures().count != 0) {
    lowering_->cache_log().note(
        "a pass that could not be compiled, and therefore runs eagerly, is not stored");
    return;
  }
  for (const auto& kernel : code.kernels())
    if (!caches_->has_kernel(kernel.reference.key)) {
      lowering_->cache_log().note("a pass is not stored, because some of its kernels could not be");
      return;
    }
  auto entry = cache::labelled({kind,
                                name_,
                                key_,
                                {{"seconds", fmt::format("{:.6f}", seconds)},
                                 {"kernels", fmt::format("{}", code.kernels().size())},
                                 {"nodes", fmt::format("{}", code.program().graph.nodes.size())}}});
  std::move(sections.begin(), sections.end(), std::back_inserter(entry.sections));
  entry.sections.push_back({"code", write_code(code)});
  const auto saved = caches_->store()->put({digest_, variant}, entry);
  if (saved) return;
  lowering_->cache_log().note(saved.reason);
  caches_->note(saved.reason);
}

void FunctionCache::store(const ir::Graph& graph, const Plan& plan, const Lowered& forward,
                          double seconds) const {
  if (!caches_) return;
  ByteWriter out;
  write(out, plan);
  out.flag(plan.frozen.has_value());
  if (plan.frozen) ir::write(out, *plan.frozen);
  put("function", kForward, {{cache::kGraphText, ir::print(graph)}, {"plan", out.take()}}, forward, seconds);
}

void FunctionCache::store_backward(const std::vector<bool>& which, const Lowered& code,
                                   double seconds) const {
  if (caches_) put("code", variant_of(which), {}, code, seconds);
}

}  // namespace antegrad::compiler
