#pragma once
// Runs whole programs, kernel by kernel.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "codegen/text/expression.h"
#include "ir/substitute.h"
#include "ir/text.h"
#include "kernels/interpreter.h"
#include "schedule/program.h"

namespace antegrad::schedule {

inline Settings all_settings() {
  Settings settings;
  settings.supports = codegen::expression_supported;
  return settings;
}

inline int64_t elements_of(const ir::TensorType& type) {
  int64_t last = 0;
  for (size_t d = 0; d < type.sizes.size(); ++d) {
    if (type.sizes[d].is(0)) return 0;
    last += (type.sizes[d].constant() - 1) * type.strides[d].constant();
  }
  return last + 1;
}

/// Returns random contents for the inputs of a graph without symbols. For an input of indices, the name gives
/// the number of valid indices.
inline std::vector<Memory> random_inputs(const ir::Graph& graph, const std::vector<ir::Input>& named,
                                         const std::vector<int64_t>& values, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<Memory> out;
  for (size_t i = 0; i < graph.inputs.size(); ++i) {
    const auto& type = graph.tensor_type(graph.inputs[i].value);
    out.push_back(random_memory(type.dtype, elements_of(type), random));
    if (named[i].name.empty()) continue;
    const auto positions =
        ir::parse_dim(named[i].name).evaluate([&](int32_t s) { return values[static_cast<size_t>(s)]; });
    for (auto& number : out.back())
      number.i = static_cast<int64_t>(random() % static_cast<uint64_t>(positions));
  }
  return out;
}

/// Runs a program without symbols, kernel by kernel. `run_one` gets the kernel's index in the program, the
/// memory of its buffers except scratch, and the number of units.
class ProgramRun {
 public:
  using RunOne = std::function<void(size_t kernel, const std::vector<Memory*>& memory, int64_t units)>;

  ProgramRun(const Program& program, RunOne run_one)
      : program_(program), run_one_(std::move(run_one)), memory_(program.graph.values.size()) {}

  std::vector<Memory> run(const std::vector<Memory>& inputs) {
    const auto& graph = program_.graph;
    for (const auto v : graph.values.ids())
      if (const auto* type = graph.type_of(v).tensor())
        memory_[v].assign(static_cast<size_t>(elements_of(*type)), Number{NAN, 0x5a5a5a});
    for (size_t i = 0; i < inputs.size(); ++i) of(graph.inputs[i].value) = inputs[i];
    for (const auto& step : program_.steps) {
      if (const auto* run = std::get_if<RunKernel>(&step)) {
        std::vector<Memory*> memory;
        for (auto id : run->buffers) memory.push_back(&of(id));
        run_one_(static_cast<size_t>(run->kernel), memory, run->units.constant());
      } else {
        run_node(program_.node_of(std::get<RunNode>(step)));
      }
    }
    std::vector<Memory> out;
    for (const auto& output : graph.outputs) out.push_back(contents(output.value));
    return out;
  }

 private:
  Memory& of(ir::ValueId id) { return memory_[id]; }

  /// Returns the positions of the elements in their storage, in row-major order.
  std::vector<size_t> places(ir::ValueId id) const {
    const auto& type = program_.graph.tensor_type(id);
    const auto& base = program_.graph.tensor_type(program_.graph.storage_of(id));
    const auto count = type.numel().constant();
    std::vector<size_t> out;
    for (int64_t i = 0; i < count; ++i) {
      int64_t rest = i, at = type.offset.constant() - base.offset.constant();
      for (size_t d = type.sizes.size(); d-- > 0;) {
        at += rest % type.sizes[d].constant() * type.strides[d].constant();
        rest /= type.sizes[d].constant();
      }
      out.push_back(static_cast<size_t>(at));
    }
    return out;
  }
  Memory contents(ir::ValueId id) {
    Memory out;
    for (auto at : places(id)) out.push_back(of(program_.graph.storage_of(id)).at(at));
    return out;
  }

  /// Views need no work. Other nodes are left to LibTorch only because an operand is, or may be, empty.
  void run_node(const ir::Node& node) {
    const auto result = node.outputs[0];
    if (program_.graph.storage_of(result) != result || program_.graph.tensor_type(result).numel().is(0))
      return;
    Memory made;
    if (node.op == "aten.cat") {
      made = concatenated(node);
    } else if (node.op == "aten.constant_pad_nd") {
      made.assign(places(result).size(), {*node.args[2].as<double>(), 0});
    } else if (node.op.starts_with("aten.sum") || node.op.starts_with("aten.amax") ||
               node.op.starts_with("aten.amin") || node.op.starts_with("aten.any") ||
               node.op.starts_with("aten.prod")) {
      made = reduced(node);
    } else {
      ADD_FAILURE() << "LibTorch runs " << ir::print(program_.graph, node);
      return;
    }
    const auto to = places(result);
    ASSERT_EQ(made.size(), to.size());
    for (size_t i = 0; i < to.size(); ++i) of(result).at(to[i]) = made[i];
  }

  Memory reduced(const ir::Node& node) {
    const auto& sizes = program_.graph.tensor_type(*node.args[0].as<ir::ValueId>()).sizes;
    std::vector<bool> reduces(sizes.size(), node.args.size() == 1);
    ir::Arg::List dims;
    if (node.args.size() > 1)
      dims =
          node.args[1].as<ir::Arg::List>() ? *node.args[1].as<ir::Arg::List>() : ir::Arg::List{node.args[1]};
    for (const auto& dim : dims) {
      const auto d = dim.as<ir::Dim>()->constant();
      reduces[static_cast<size_t>(d < 0 ? d + static_cast<int64_t>(sizes.size()) : d)] = true;
    }
    const auto from = contents(*node.args[0].as<ir::ValueId>());
    const bool is_sum = node.op.starts_with("aten.sum"), is_max = node.op.starts_with("aten.amax");
    Memory out(places(node.outputs[0]).size(), is_sum ? Number{0, 0} : Number{NAN, 0});
    for (size_t i = 0; i < from.size(); ++i) {
      size_t rest = i, to = 0, stride = 1;
      for (size_t d = sizes.size(); d-- > 0;) {
        const auto size = static_cast<size_t>(sizes[d].constant());
        if (!reduces[d]) to += rest % size * stride;
        if (!reduces[d]) stride *= size;
        rest /= size;
      }
      auto& into = out.at(to);
      const auto more = from[i];
      if (is_sum)
        into = {into.f + more.f, into.i + more.i};
      else if (std::isnan(into.f) || (is_max ? more.f > into.f : more.f < into.f))
        into = more;  // any and prod occur with one element only
    }
    return out;
  }

  Memory concatenated(const ir::Node& node) {
    const auto dim = node.args.size() > 1 ? static_cast<size_t>(node.args[1].as<ir::Dim>()->constant()) : 0;
    const auto& sizes = program_.graph.tensor_type(node.outputs[0]).sizes;
    int64_t outer = 1;
    for (size_t d = 0; d < dim; ++d) outer *= sizes[d].constant();
    Memory out;
    for (int64_t i = 0; i < outer; ++i)
      for (const auto& part : *node.args[0].as<ir::Arg::List>()) {
        const auto more = contents(*part.as<ir::ValueId>());
        const auto length = static_cast<int64_t>(more.size()) / outer;
        out.insert(out.end(), more.begin() + i * length, more.begin() + (i + 1) * length);
      }
    return out;
  }

  const Program& program_;
  RunOne run_one_;
  ir::PerValue<Memory> memory_;
};

inline std::vector<Memory> interpret(const Program& program, const std::vector<Memory>& inputs) {
  return ProgramRun(program,
                    [&](size_t index, const std::vector<Memory*>& memory, int64_t) {
                      const auto& kernel = program.kernels[index];
                      std::vector<Memory> all;
                      size_t passed = 0;
                      for (const auto& buffer : kernel.buffers) {
                        const bool scratch = buffer.kind == Buffer::Kind::Scratch;
                        all.push_back(scratch ? Memory(static_cast<size_t>(buffer.elements.constant()))
                                              : *memory[passed++]);
                      }
                      EXPECT_TRUE(Interpreter(kernel, Meanings(), all, {}).run());
                      passed = 0;
                      for (size_t b = 0; b < kernel.buffers.size(); ++b)
                        if (kernel.buffers[b].kind != Buffer::Kind::Scratch) *memory[passed++] = all[b];
                    })
      .run(inputs);
}

}  // namespace antegrad::schedule
