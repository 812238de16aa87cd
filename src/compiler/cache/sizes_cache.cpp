#include "compiler/cache/sizes_cache.h"

#include "antegrad/error.h"
#include "cache/format/label.h"
#include "compiler/cache/function_cache.h"
#include "compiler/cache/function_key.h"
#include "ir/binary.h"
#include "ir/substitute.h"
#include "symbolic/binary.h"
#include "symbolic/shape_guard.h"

namespace antegrad::compiler {
namespace {

/// Throws Error(Io) for an invalid entry.
Generalized read(const cache::Entry& entry) {
  const auto* shapes = entry.find("shapes");
  const auto* graph = entry.find("graph");
  if (shapes == nullptr || graph == nullptr)
    throw Error(ErrorCode::Io, "cache", "an entry of sizes lacks a part");
  ByteReader shapes_in(*shapes);
  ByteReader graph_in(*graph);
  Generalized out;
  out.shapes = symbolic::read_shapes(shapes_in);
  out.graph = ir::read_graph(graph_in);
  if (!shapes_in.at_end() || !graph_in.at_end() || out.shapes.symbols != out.graph.symbols)
    throw Error(ErrorCode::Io, "cache", "the shapes and the graph of an entry do not fit");
  return out;
}

/// Whether the symbols cover a call with these shapes and this graph.
bool serves(const Generalized& known, const ir::Graph& graph, const symbolic::CallShapes& call) {
  const auto& tensors = known.shapes.tensors;
  if (tensors.size() != call.size()) return false;
  for (size_t i = 0; i < call.size(); ++i)
    if (tensors[i].defined != call[i].defined) return false;
  const symbolic::ShapeGuard guard(known.shapes);
  std::vector<int64_t> symbols(guard.symbols());
  const auto view = [&](size_t i) {
    return symbolic::ShapeView{call[i].sizes.data(), call[i].strides.data(), call[i].sizes.size()};
  };
  return guard.holds(view, symbols.data()) && ir::substitute(known.graph, symbols) == graph;
}

}  // namespace

KnownSizes find_sizes(const PlanSettings& settings, const ir::Graph& graph, const symbolic::CallShapes& call,
                      const KeyFacts& facts) {
  KnownSizes out;
  const auto caches = usable_caches(settings.options);
  if (caches == nullptr) return out;
  const auto key = sizes_key(settings.options, graph, facts).digest();
  caches->store()->search(key, [&](const cache::Address&, const cache::Loaded& loaded) {
    if (loaded.outcome != cache::Outcome::Hit) {
      if (!loaded.reason.empty()) settings.lowering->cache_log().note(loaded.reason);
      return false;
    }
    out.others = true;
    try {
      auto known = read(loaded.entry);
      if (!serves(known, graph, call)) return false;
      out.found = std::move(known);
      return true;
    } catch (const Error& error) {  // an invalid entry, or a division by a size that is 0 here
      settings.lowering->cache_log().note(error.what());
      return false;
    }
  });
  return out;
}

void store_sizes(const PlanSettings& settings, const Generalized& found, const KeyFacts& facts) {
  const auto caches = usable_caches(settings.options);
  if (caches == nullptr) return;
  const auto key = sizes_key(settings.options, found.graph, facts);
  ByteWriter shapes;
  ByteWriter graph;
  symbolic::write(shapes, found.shapes);
  ir::write(graph, found.graph);
  auto entry = cache::labelled({"sizes", settings.options.name, key, {}});
  const auto variant = cache::variant_of(cache::sha256(shapes.bytes() + graph.bytes()));
  entry.sections.push_back({"shapes", shapes.take()});
  entry.sections.push_back({"graph", graph.take()});
  const auto saved = caches->store()->put({key.digest(), variant}, entry);
  if (!saved) settings.lowering->cache_log().note(saved.reason);
}

}  // namespace antegrad::compiler
