#include "runtime/plan/result_times.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include "ir/ops.h"
#include "runtime/plan/overwrite.h"
#include "runtime/plan/placement.h"

namespace antegrad::runtime {
namespace {

using schedule::Buffer;
using schedule::Kernel;
using schedule::OpCode;
using schedule::Program;
using schedule::RunKernel;

int64_t elements_of(const ir::TensorType& type) {
  int64_t elements = 1;
  for (const auto& size : type.sizes) elements *= size.constant();
  return elements;
}

/// Indices that a kernel compares with bounds: all elements of a tensor.
struct CheckedIndices {
  ir::ValueId indices;
  int64_t size = 0;
  bool wraps = false;
  /// Whether it follows from the other check that this one does not fail.
  bool follows_from(const CheckedIndices& other) const {
    return indices == other.indices && size == other.size && (wraps || !other.wraps);
  }
};

/// The checks of indices in the kernels of a program, in order: one that repeats earlier ones does not fail.
class IndexCheckList {
 public:
  IndexCheckList(const Program& program, const std::vector<int64_t>& symbols)
      : program_(program), symbols_(symbols) {}

  /// Adds the checks of a step. Returns whether one of them may fail.
  bool add(const RunKernel& call) {
    const auto& kernel = program_.kernel_of(call);
    if (!may_fail(kernel)) return false;
    bool fails = false;
    std::vector<CheckedIndices> found;
    for (const auto& section : kernel.sections)
      for (const auto& op : section.ops)
        for (const auto& part : op.indirect) {
          const auto check = check_of(kernel, call, part);
          fails = fails || !check || std::ranges::none_of(list_, [&](const CheckedIndices& earlier) {
                    return check->follows_from(earlier);
                  });
          if (check) found.push_back(*check);
        }
    list_.insert(list_.end(), found.begin(), found.end());
    return fails;
  }

 private:
  int64_t value(const ir::Dim& dim) const {
    return dim.evaluate([&](int32_t s) { return symbols_[s]; });
  }

  /// Returns what a part of an address checks; nothing unless it checks all elements of a tensor.
  std::optional<CheckedIndices> check_of(const Kernel& kernel, const RunKernel& call,
                                         const schedule::Indirect& part) const {
    const auto passed = passed_buffers(kernel);
    for (const auto& section : kernel.sections)
      for (const auto& op : section.ops) {
        if (op.result != part.index || op.code != OpCode::Load || !op.indirect.empty()) continue;
        const auto place = std::find(passed.begin(), passed.end(), op.buffer);
        if (place == passed.end() || kernel.buffers[op.buffer].kind != Buffer::Kind::Input) continue;
        const auto indices = call.buffers[place - passed.begin()];
        if (!reads_all(kernel, section, op, program_.graph.tensor_type(indices))) continue;
        return CheckedIndices{indices, value(part.size), part.wraps};
      }
    return std::nullopt;
  }

  bool reads_all(const Kernel& kernel, const schedule::Section& section, const schedule::Op& load,
                 const ir::TensorType& type) const {
    std::vector<std::pair<int64_t, int64_t>> dims;
    const auto add = [&](int32_t loop) {
      const auto extent = value(kernel.loops[loop]);
      const auto stride = value(load.address.coefficient(loop));
      if (extent != 1 && stride != 0) dims.emplace_back(stride, extent);
    };
    for (auto loop : kernel.outer) add(loop);
    for (auto loop : section.loops) add(loop);
    std::sort(dims.begin(), dims.end());
    int64_t expected = 1;
    for (const auto& [stride, extent] : dims) {
      if (stride != expected) return false;
      expected *= extent;
    }
    return value(load.address.offset) == 0 && expected == elements_of(type);
  }

  const Program& program_;
  const std::vector<int64_t>& symbols_;
  std::vector<CheckedIndices> list_;
};

/// Whether LibTorch's kernel may throw because of what it reads. Regions and ops of other libraries may do
/// anything. The backward pass of a region also reads what the region has kept, parameters for instance.
bool may_throw(const ir::Node& node) {
  const bool is_own = node.op.starts_with("antegrad.") && !node.op.starts_with("antegrad.region.");
  return !(is_own || node.op.starts_with("aten.")) || node.effects.ordered || node.functional ||
         ir::raises(node.op) != ir::Raises::Never || node.op.find("linalg") != std::string::npos ||
         node.op.find("cholesky") != std::string::npos;
}

class Reader {
 public:
  Reader(const Program& program, const std::vector<int64_t>& symbols)
      : program_(program), graph_(program.graph), checks_(program, symbols), uses_(graph_.values.size()) {}

  ResultTimes run() {
    for (size_t s = 0; s < program_.steps.size(); ++s) read(static_cast<int32_t>(s));
    for (const auto& input : graph_.inputs)
      out_.last_reads.push_back(uses_[graph_.storage_of(input.value)].last);
    for (const auto& output : graph_.outputs) out_.outputs.push_back(times_of(output.value));
    return std::move(out_);
  }

 private:
  struct Use {
    int32_t first_write = -1, last = -1;
  };

  void use(ir::ValueId v, int32_t s, bool writes) {
    auto& use = uses_[graph_.storage_of(v)];
    if (writes && use.first_write < 0) use.first_write = s;
    use.last = s;
  }

  void read(int32_t s) {
    bool fails = false;
    if (const auto* call = std::get_if<RunKernel>(&program_.steps[s])) {
      const auto& kernel = program_.kernel_of(*call);
      const auto passed = passed_buffers(kernel);
      for (size_t b = 0; b < passed.size(); ++b)
        use(call->buffers[b], s, kernel.buffers[passed[b]].kind == Buffer::Kind::Output);
      fails = checks_.add(*call) || kernel.device != ir::Device::Kind::Cpu;
    } else {
      const auto& node = program_.node_of(std::get<schedule::RunNode>(program_.steps[s]));
      ir::for_each_input(node, [&](ir::ValueId v) { use(v, s, false); });
      for (auto v : node.effects.writes) use(v, s, true);
      for (auto v : node.outputs) use(v, s, true);
      fails = may_throw(node);
    }
    if (fails) out_.last_failure = s;
  }

  ResultTimes::Output times_of(ir::ValueId v) const {
    if (!v.valid()) return {};
    const auto& use = uses_[v];
    const bool shared =
        graph_.storage_of(v) != v || std::ranges::count_if(graph_.outputs, [&](const ir::Output& output) {
                                       return output.value.valid() && graph_.storage_of(output.value) == v;
                                     }) != 1;
    const bool given =
        std::ranges::any_of(graph_.inputs, [&](const auto& input) { return input.value == v; });
    ResultTimes::Output output{!shared && !given, use.first_write, use.last, {}, {}, {}};
    const auto* type = graph_.type_of(v).tensor();
    if (type == nullptr) return {};
    output.dtype = type->dtype;
    for (const auto& size : type->sizes) output.sizes.push_back(size.constant());
    for (const auto& stride : type->strides) output.strides.push_back(stride.constant());
    return output;
  }

  const Program& program_;
  const ir::Graph& graph_;
  IndexCheckList checks_;
  ir::PerValue<Use> uses_;
  ResultTimes out_;
};

}  // namespace

ResultTimes result_times(const Program& program, const std::vector<int64_t>& symbols) {
  return Reader(program, symbols).run();
}

}  // namespace antegrad::runtime
