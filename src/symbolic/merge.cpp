#include "symbolic/merge.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <optional>

#include "ir/text.h"

namespace antegrad::symbolic {
namespace {

using ir::Arg;
using ir::Dim;

/// The corresponding parts of all graphs.
template <class T>
using Same = std::vector<const T*>;

template <class T, class F>
auto project(const Same<T>& all, const F& f) {
  Same<std::remove_cvref_t<decltype(f(*all[0]))>> out;
  for (const auto* one : all) out.push_back(&f(*one));
  return out;
}

template <class T>
bool all_equal(const Same<T>& all) {
  return std::all_of(all.begin(), all.end(), [&](const T* one) { return *one == *all[0]; });
}

class Merger {
 public:
  explicit Merger(Solver& solver, std::vector<ir::Symbol> symbols = {})
      : solver_(solver), symbols_(std::move(symbols)) {}

  ir::Graph graph(const Same<ir::Graph>& graphs) {
    auto out = *graphs[0];
    for (const auto* other : graphs)
      if (other->inputs != out.inputs || other->outputs != out.outputs ||
          other->values.size() != out.values.size() || other->nodes.size() != out.nodes.size())
        throw Mismatch{difference(out, *other)};
    const auto value = [&](ir::ValueId id) {
      const auto same = project(graphs, [&](const ir::Graph& g) -> const ir::Value& { return g.values[id]; });
      if (!all_equal(project(same, [](const ir::Value& x) -> const ir::ValueId& { return x.base; })))
        throw Mismatch{
            fmt::format("value %{} shares memory with another value at some sizes only", id.index)};
      out.values[id].type = type(project(same, [](const ir::Value& x) -> const ir::Type& { return x.type; }));
    };
    for (const auto& input : out.inputs) {
      where_ = fmt::format("input '{}'", input.name);
      value(input.value);
    }
    for (size_t n = 0; n < out.nodes.size(); ++n) {
      where_ = fmt::format("node {} ({})", n, out.nodes[n].op);
      const auto same = project(graphs, [&](const ir::Graph& g) -> const ir::Node& { return g.nodes[n]; });
      for (size_t k = 1; k < same.size(); ++k)
        if (!same_structure(*same[k], *same[0])) throw Mismatch{difference(*graphs[0], *graphs[k])};
      // Arguments come first: sizes, strides and offsets are often expressions of them.
      if (out.nodes[n].op != "antegrad.constant")
        out.nodes[n] = node(same);
      else if (auto number = constant(same, out.tensor_type(out.nodes[n].outputs[0]).dtype))
        out.nodes[n].attrs[0] = std::move(*number);
      for (auto v : out.nodes[n].outputs) value(v);
    }
    return out;
  }

  ir::Node node(const Same<ir::Node>& nodes) {
    auto out = *nodes[0];
    for (const auto* other : nodes)
      if (!same_structure(*other, out))
        throw Mismatch{fmt::format("{} is {} at other sizes", out.op, other->op)};
    for (size_t a = 0; a < out.args.size(); ++a)
      out.args[a] = arg(project(nodes, [&](const ir::Node& n) -> const Arg& { return n.args[a]; }));
    for (size_t a = 0; a < out.attrs.size(); ++a)
      out.attrs[a].value =
          arg(project(nodes, [&](const ir::Node& n) -> const Arg& { return n.attrs[a].value; }));
    return out;
  }

 private:
  static bool same_structure(const ir::Node& a, const ir::Node& b) {
    return a.op == b.op && a.args.size() == b.args.size() && a.attrs.size() == b.attrs.size() &&
           a.outputs == b.outputs && a.returns == b.returns && a.effects == b.effects &&
           a.functional == b.functional && a.provenance == b.provenance &&
           std::equal(a.attrs.begin(), a.attrs.end(), b.attrs.begin(),
                      [](const auto& x, const auto& y) { return x.name == y.name; });
  }

  /// Describes the first node that differs.
  static std::string difference(const ir::Graph& a, const ir::Graph& b) {
    const auto count = std::min(a.nodes.size(), b.nodes.size());
    for (size_t n = 0; n < count; ++n)
      if (!same_structure(a.nodes[n], b.nodes[n]))
        return fmt::format("node {} is {} at one size and {} at another", n, ir::print(a, a.nodes[n]),
                           ir::print(b, b.nodes[n]));
    return fmt::format("it has {} ops and {} inputs at one size and {} and {} at another", a.nodes.size(),
                       a.inputs.size(), b.nodes.size(), b.inputs.size());
  }

  [[noreturn]] void unsolved(const std::string& what) const {
    throw Mismatch{fmt::format("{}: {} is not a known expression of the sizes", where_, what)};
  }

  Dim dim(const Same<Dim>& dims) {
    Samples values;
    for (const auto* one : dims) values.push_back(one->constant());
    if (const auto solved = solver_.solve(values)) return *solved;
    unsolved(fmt::format("the integer that is {}", fmt::join(values, ", ")));
  }

  ir::Type type(const Same<ir::Type>& types) {
    Same<ir::TensorType> tensors;
    for (const auto* one : types) tensors.push_back(one->tensor());
    if (tensors[0] == nullptr) {
      if (!all_equal(types)) unsolved("a type");
      return *types[0];
    }
    auto out = *tensors[0];
    for (const auto* one : tensors)
      if (one == nullptr || one->dtype != out.dtype || one->device != out.device ||
          one->sizes.size() != out.sizes.size())
        unsolved("a type");
    for (size_t d = 0; d < out.sizes.size(); ++d)
      out.sizes[d] = dim(project(tensors, [&](const ir::TensorType& t) -> const Dim& { return t.sizes[d]; }));
    strides(tensors, out);
    out.offset = dim(project(tensors, [](const ir::TensorType& t) -> const Dim& { return t.offset; }));
    return out;
  }

  /// Solves for the strides: row-major ones get the canonical row-major form. Others are solved from the
  /// smallest on, as the product of an inner stride and size where the tensor is dense.
  void strides(const Same<ir::TensorType>& tensors, ir::TensorType& out) {
    const auto rank = out.sizes.size();
    std::vector<Samples> values(rank);
    for (size_t d = 0; d < rank; ++d)
      for (const auto* one : tensors) values[d].push_back(one->strides[d].constant());
    const auto row_major = ir::contiguous_strides(out.sizes);
    bool is_row_major = true;
    for (size_t d = 0; d < rank; ++d) is_row_major &= solver_.values_of(row_major[d]) == values[d];
    if (is_row_major) {
      out.strides = row_major;
      for (const auto& stride : row_major) solver_.learn(stride);
      return;
    }
    std::vector<size_t> order(rank);
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return values[a] < values[b]; });
    for (auto d : order) {
      for (auto inner : order) {
        if (inner == d) break;
        solver_.learn(out.strides[inner] * out.sizes[inner]);
      }
      const auto solved = solver_.solve(values[d]);
      if (!solved) unsolved(fmt::format("the stride that is {}", fmt::join(values[d], ", ")));
      out.strides[d] = *solved;
    }
  }

  Arg arg(const Same<Arg>& args) {
    const auto& first = *args[0];
    for (const auto* one : args)
      if (one->v.index() != first.v.index()) unsolved("the kind of an argument");
    if (const auto* one = first.as<Dim>(); one != nullptr && !one->is_constant() && all_equal(args))
      return first;
    if (first.as<Dim>() != nullptr)
      return dim(project(args, [](const Arg& a) -> const Dim& { return *a.as<Dim>(); }));
    if (const auto* list = first.as<Arg::List>()) {
      Arg::List out;
      for (const auto* one : args)
        if (one->as<Arg::List>()->size() != list->size()) unsolved("the length of a list");
      for (size_t i = 0; i < list->size(); ++i)
        out.push_back(
            arg(project(args, [&](const Arg& a) -> const Arg& { return (*a.as<Arg::List>())[i]; })));
      return out;
    }
    if (all_equal(args)) return first;
    if (first.as<ir::GraphPtr>() != nullptr) {
      const auto where = where_;
      auto merged =
          graph(project(args, [](const Arg& a) -> const ir::Graph& { return **a.as<ir::GraphPtr>(); }));
      where_ = where;
      if (merged.symbols.size() < symbols_.size()) merged.symbols = symbols_;  // it may have others
      return std::make_shared<const ir::Graph>(std::move(merged));
    }
    if (first.as<double>() != nullptr) {
      std::vector<double> values;
      for (const auto* one : args) values.push_back(*one->as<double>());
      return real(values);
    }
    unsolved("an argument that differs");
  }

  ir::Real real(const std::vector<double>& values) {
    if (auto solved = solver_.solve(values)) return *solved;
    unsolved(fmt::format("the number that is {}", fmt::join(values, ", ")));
  }

  /// A number of the host that became a tensor, such as the n of x / n: returns an attribute `value` in place
  /// of `data`. Returns nothing if the contents are the same in all graphs.
  std::optional<ir::NamedArg> constant(const Same<ir::Node>& nodes, ir::DType dtype) {
    const auto data = project(nodes, [](const ir::Node& n) -> const ir::NamedArg& { return n.attrs.at(0); });
    if (all_equal(data)) return std::nullopt;
    Samples integers;
    std::vector<double> numbers;
    for (const auto* one : data) {
      const auto* bytes = one->value.as<ir::Bytes>();
      if (bytes == nullptr || (*bytes)->size() != sizeof(int64_t)) unsolved("a tensor made from host memory");
      std::memcpy(&integers.emplace_back(), (*bytes)->data(), sizeof(int64_t));
      std::memcpy(&numbers.emplace_back(), (*bytes)->data(), sizeof(double));
    }
    if (dtype == ir::DType::F64) return ir::NamedArg{"value", real(numbers)};
    if (dtype != ir::DType::I64) unsolved("a tensor made from host memory");
    if (const auto solved = solver_.solve(integers)) return ir::NamedArg{"value", *solved};
    unsolved(fmt::format("the integer that is {}", fmt::join(integers, ", ")));
  }

  Solver& solver_;
  const std::vector<ir::Symbol> symbols_;  ///< for graphs that are arguments
  std::string where_ = "the calling convention";
};

}  // namespace

ir::Graph merge(const std::vector<const ir::Graph*>& graphs, Solver& solver) {
  return Merger(solver).graph(graphs);
}

Merged merge(const std::vector<ir::Graph>& graphs, const Shapes& shapes,
             const std::vector<std::vector<int64_t>>& samples) {
  Solver solver(samples);
  for (const auto& tensor : shapes.tensors) {
    for (const auto& size : tensor.sizes) solver.learn(size);
    for (const auto& stride : tensor.strides) solver.learn(stride);
  }
  Same<ir::Graph> same;
  for (const auto& graph : graphs) same.push_back(&graph);
  Merged merged{Merger(solver, shapes.symbols).graph(same)};
  merged.graph.symbols = shapes.symbols;
  merged.sure = !solver.guesses();
  return merged;
}

ir::Node merge(const std::vector<const ir::Node*>& nodes, Solver& solver) {
  return Merger(solver).node(nodes);
}

}  // namespace antegrad::symbolic
