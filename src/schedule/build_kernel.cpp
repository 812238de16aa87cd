#include "schedule/build_kernel.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/text.h"
#include "schedule/kernel_writer.h"
#include "schedule/stages.h"

namespace antegrad::schedule {
namespace {

ir::DType type_of(RandomKind kind) {
  switch (kind) {
    case RandomKind::Bits32:
      return ir::DType::U32;
    case RandomKind::Bits64:
      return ir::DType::U64;
    case RandomKind::Normal32:
      return ir::DType::F32;
    case RandomKind::Normal64:
      return ir::DType::F64;
  }
  return ir::DType::U32;
}

/// Writes the ops of a group: its roots (stores, reductions, sinks), each after the ops it is computed from.
class KernelBuilder {
 public:
  KernelBuilder(const Fusion& fusion, GroupId group, const ir::PerValue<bool>& stored)
      : fusion_(fusion),
        group_(fusion.group(group)),
        stored_(stored),
        plan_(plan_loops(fusion, group_, stored)),
        stages_(fusion, group_, plan_, stored),
        out_(fusion, plan_, group_.device) {}

  BuiltKernel run() {
    // Sections may only use what earlier sections define, so items are emitted by stage.
    auto items = group_.items;
    std::ranges::stable_sort(items, {}, [&](ItemId index) { return stages_.stage(index); });
    for (auto index : items) emit_roots(index);
    BuiltKernel built{out_.finish(), out_.owners()};
    auto& kernel = built.kernel;
    kernel.device = group_.device.kind;
    kernel.loops = plan_.extents;
    kernel.outer = plan_.outer;
    kernel.lane = plan_.lane;
    if (!group_.sinks.empty()) kernel.chunks = group_.chunks;
    kernel.owner = owner_;
    kernel.clear = clear_;
    kernel.symbols = static_cast<int32_t>(graph().symbols.size());
    return built;
  }

 private:
  const ir::Graph& graph() const { return fusion_.graph(); }
  const Item& item(ItemId index) const { return fusion_.item(index); }
  const std::vector<Atoms>& placement(ItemId index) const { return group_.placement.at(index); }
  bool is_sink(ItemId index) const { return std::ranges::find(group_.sinks, index) != group_.sinks.end(); }
  bool is_stored(ItemId index) const { return stored_[item(index).output]; }

  // --- roots: stores, reductions, sinks, scatters

  void emit_roots(ItemId index) {
    out_.comment = describe(index);
    const Where where{stages_.stage(index), stages_.space(index)};
    if (item(index).form == Form::Scatter) return emit_scatter(index, where);
    if (item(index).form == Form::Reduction) return emit_reduction(index, where);
    if (is_stored(index)) store(index, emit_item(index, where), where);
    if (stages_.needs_scratch(index)) keep_for_later(index, where);
  }

  void store(ItemId index, int32_t id, Where where) {
    out_.store(id, out_.buffer(item(index).output, Buffer::Kind::Output), output_address(index), where);
  }

  void keep_for_later(ItemId index, Where where) {
    const auto id = emit_item(index, where);
    ir::Dim rows = 1;
    for (auto loop : plan_.outer) rows = rows * plan_.extents[loop];
    const auto buffer = out_.scratch(out_.type_of(id), stages_.elements_of_space(where.space), rows);
    out_.store(id, buffer, scratch_address(where.space), where);
    scratch_[index] = buffer;
  }

  void emit_reduction(ItemId index, Where where) {
    const auto& source = item(index);
    auto id = emit_operand(index, 0, where);
    Where after{where.stage + 1, -1};
    const bool columns = is_sink(index) && keeps_some(index);
    if (columns || where.space < 0) {
      after = where;
    } else {
      Op op;
      op.code = OpCode::Reduce;
      op.combine = source.combine;
      const bool logic = source.combine == Combine::Any || source.combine == Combine::All;
      op.dtype = logic ? ir::DType::Bool : out_.type_of(id);
      op.args = {id};
      op.result = id = out_.new_scalar(op.dtype);
      out_.add(where, std::move(op));
    }
    if (is_sink(index)) {
      Op op;
      op.code = OpCode::Accumulate;
      op.combine = source.combine;
      op.dtype = graph().tensor_type(source.output).dtype;
      op.args = {out_.cast(id, op.dtype, after)};
      op.buffer = out_.buffer(source.output, Buffer::Kind::Output);
      if (columns) op.address = column_address(index);
      out_.add(after, std::move(op));
      return;
    }
    rows_[index] = finish_value(source, id, after);
    if (is_stored(index)) store(index, rows_[index], after);
  }

  void emit_scatter(ItemId index, Where where) {
    const auto& source = item(index);
    Op op;
    op.code = OpCode::Scatter;
    op.combine = source.combine;
    op.dtype = graph().tensor_type(source.output).dtype;
    fill_gather(index, source.output, where, op);
    op.args = {emit_operand(index, source.operands.size() - 1, where)};
    op.buffer = out_.buffer(source.output, Buffer::Kind::Output);
    const auto& type = graph().tensor_type(source.output);
    owner_ = fusion_.target_of(group_).scatter == Target::Scatter::Owner;
    if (!source.source.valid() || fusion_.is_zero(source.source)) {
      ir::Dim per_position = 1;
      for (size_t d = 1; d < type.sizes.size(); ++d) per_position = per_position * type.sizes[d];
      clear_.emplace_back(op.buffer, per_position);
    }
    out_.add(where, std::move(op));
  }

  // --- the ops that roots are computed from

  /// Returns the scalar of an item, computed in the section of `where` or, if it is computed once per row,
  /// before it.
  int32_t emit_item(ItemId index, Where where) {
    const Where at{where.stage, stages_.space(index) < 0 ? -1 : where.space};
    if (stages_.space(index) < 0 || item(index).form == Form::Reduction) {
      if (const auto found = rows_.find(index); found != rows_.end()) return found->second;
    } else if (const auto found = values_.find({index, at}); found != values_.end()) {
      return found->second;
    }
    const auto saved_comment = out_.comment;
    out_.comment = describe(index);
    const bool later = stages_.space(index) >= 0 && where.stage > stages_.stage(index);
    const auto id = later && (stages_.can_reload(index) || scratch_.contains(index))
                        ? reload(index, at)
                        : finish_value(item(index), emit_fresh(index, at), at);
    out_.comment = saved_comment;
    if (at.space < 0)
      rows_[index] = id;
    else
      values_[{index, at}] = id;
    return id;
  }

  int32_t emit_fresh(ItemId index, Where at) {
    const auto& source = item(index);
    std::vector<int32_t> args;
    if (source.is_free()) return emit_free(source, own_address(index), at);
    if (source.form == Form::Gather) return emit_gather(index, at);
    if (source.form == Form::Random) args.push_back(emit_random(index, at));
    for (size_t k = 0; k < source.operands.size(); ++k) args.push_back(emit_operand(index, k, at));
    return compute(source, std::move(args), at);
  }

  int32_t emit_operand(ItemId reader, size_t k, Where where) {
    const auto& operand = item(reader).operands[k];
    if (!operand.value.valid()) return as_operand(operand, 0, where);
    if (const auto from = stages_.maker(operand); from.valid())
      return as_operand(operand, emit_item(from, where), where);
    const auto address = operand_address(reader, k);
    const auto* free = fusion_.free_item(operand.value);
    return as_operand(
        operand,
        free != nullptr ? emit_free(*free, address, where) : out_.load(operand.value, address, where), where);
  }

  /// Converts a scalar to the type the expression takes. `id` is ignored for numbers.
  int32_t as_operand(const Operand& operand, int32_t id, Where where) {
    if (!operand.value.valid()) id = out_.number(operand.number, operand.type, where);
    if (operand.rounds) id = out_.round(id, *operand.rounds, where);
    return out_.cast(id, operand.type, where);
  }

  int32_t emit_free(const Item& free, const Affine& address, Where where) {
    const auto dtype = graph().tensor_type(free.output).dtype;
    const auto type = compute_type(dtype);
    if (free.form == Form::Constant) {
      const auto id = out_.number(free.number, type, where);
      return type != dtype && is_made_of_sizes(free.number) ? out_.round(id, dtype, where) : id;
    }
    if (free.form == Form::Iota) {
      Op op;
      op.code = OpCode::Index;
      op.dtype = ir::DType::I64;
      const auto step = *as_dim(free.step);
      op.address.offset = address.offset * step + *as_dim(free.number);
      for (const auto& [loop, c] : address.terms) op.address.terms.emplace_back(loop, c * step);
      return out_.cast(out_.define(where, std::move(op), ir::DType::I64), type, where);
    }
    std::vector<int32_t> args;
    for (const auto& operand : free.operands) {
      if (!operand.value.valid()) {
        args.push_back(as_operand(operand, 0, where));
        continue;
      }
      Affine at;
      at.offset = fusion_.places().of(operand.value).offset;
      const auto* inner = fusion_.free_item(operand.value);
      const auto id = inner != nullptr ? emit_free(*inner, {}, where) : out_.load(operand.value, at, where);
      args.push_back(as_operand(operand, id, where));
    }
    return finish_value(free, compute(free, std::move(args), where), where);
  }

  int32_t compute(const Item& source, std::vector<int32_t> args, Where where) {
    if (source.expression == "a") return args[0];
    Op op;
    op.code = OpCode::Compute;
    op.text = source.expression;
    op.operand = source.computes;
    op.dtype = source.result;
    op.args = std::move(args);
    return out_.define(where, std::move(op), source.result);
  }

  /// Converts to the type of the item's output. Explicit casts to a half type round; other ops continue in
  /// f32.
  int32_t finish_value(const Item& source, int32_t id, Where where) {
    const auto dtype = graph().tensor_type(source.output).dtype;
    const auto& node = graph().node(source.node);
    id = out_.cast(id, compute_type(dtype), where);
    const bool converts =
        node.op == "aten._to_copy" || (source.expression == "a" && reads_another_type(source));
    const bool rounds = compute_type(dtype) != dtype && converts;
    return rounds ? out_.round(id, dtype, where) : id;
  }

  bool reads_another_type(const Item& copy) const {
    const auto& from = copy.operands[0].value;
    return from.valid() && graph().tensor_type(from).dtype != graph().tensor_type(copy.output).dtype;
  }

  int32_t emit_gather(ItemId index, Where at) {
    const auto& source = item(index);
    Op op;
    op.code = OpCode::Load;
    op.dtype = graph().tensor_type(source.source).dtype;
    fill_gather(index, source.source, at, op);
    op.buffer = out_.buffer(source.source, Buffer::Kind::Input);
    const auto type = compute_type(op.dtype);
    return out_.define(at, std::move(op), type);
  }

  /// Sets the address of the element of `tensor` that the indices select.
  void fill_gather(ItemId index, ir::ValueId tensor, Where at, Op& op) {
    const auto& source = item(index);
    const auto& place = fusion_.places().of(tensor);
    const auto& sizes = graph().tensor_type(tensor).sizes;
    AtomAddress address;
    address.offset = place.offset;
    for (size_t d = 0; d < source.gather.size(); ++d) {
      const auto& dim = source.gather[d];
      if (dim.operand >= 0) {
        const auto id = emit_operand(index, dim.operand, at);
        op.indirect.push_back({id, place.strides[d], sizes[d], source.wraps});
        continue;
      }
      const auto part = address_of(group_, {source.sizes[dim.iteration]}, {place.strides[d]}, 0,
                                   placement(index), dim.iteration);
      address.terms.insert(address.terms.end(), part.terms.begin(), part.terms.end());
    }
    op.address = plan_.affine(address);
  }

  int32_t emit_random(ItemId index, Where at) {
    const auto& source = item(index);
    Op op;
    op.code = OpCode::Random;
    op.random = source.random;
    op.number = source.number;
    op.buffer = out_.buffer(source.source, Buffer::Kind::Input);
    op.address = own_address(index);
    op.dtype = type_of(source.random);
    return out_.define(at, std::move(op), type_of(source.random));
  }

  int32_t reload(ItemId index, Where at) {
    if (const auto found = scratch_.find(index); found != scratch_.end())
      return out_.load(found->second, scratch_address(stages_.space(index)), at);
    return out_.load(out_.buffer(item(index).output, Buffer::Kind::Output), output_address(index), at);
  }

  // --- addresses

  Affine operand_address(ItemId reader, size_t k) const {
    const auto value = item(reader).operands[k].value;
    const auto& place = fusion_.places().of(value);
    return plan_.affine(address_of(group_, graph().tensor_type(value).sizes, place.strides, place.offset,
                                   placement(reader), fusion_.first_dim(item(reader), k)));
  }

  /// Row-major, independent of the strides of the output.
  Affine own_address(ItemId index) const {
    const auto& sizes = item(index).sizes;
    return plan_.affine(address_of(group_, sizes, ir::contiguous_strides(sizes), 0, placement(index), 0));
  }

  Affine output_address(ItemId index) const {
    const auto output = item(index).output;
    const auto& place = fusion_.places().of(output);
    const auto found = group_.values.find(output);
    const auto& dims = found == group_.values.end() ? placement(index) : found->second;
    return plan_.affine(
        address_of(group_, graph().tensor_type(output).sizes, place.strides, place.offset, dims, 0));
  }

  Affine scratch_address(int32_t space) const {
    Affine address;
    ir::Dim stride = 1;
    const auto& loops = plan_.spaces[space];
    for (auto loop = loops.rbegin(); loop != loops.rend(); ++loop) {
      address.terms.emplace_back(*loop, stride);
      stride = stride * plan_.extents[*loop];
    }
    std::ranges::sort(address.terms, {}, &std::pair<int32_t, ir::Dim>::first);
    return address;
  }

  bool keeps_some(ItemId index) const {
    for (size_t d = 0; d < placement(index).size(); ++d)
      if (!item(index).reduced[d] && !placement(index)[d].empty()) return true;
    return false;
  }

  /// Within the accumulators of a chunk, in the order of the output's dims.
  Affine column_address(ItemId index) const {
    std::vector<ir::Dim> sizes;
    std::vector<Atoms> dims;
    for (size_t d = 0; d < placement(index).size(); ++d)
      if (!item(index).reduced[d]) {
        sizes.push_back(item(index).sizes[d]);
        dims.push_back(placement(index)[d]);
      }
    return plan_.affine(address_of(group_, sizes, ir::contiguous_strides(sizes), 0, dims, 0));
  }

  std::string describe(ItemId index) const {
    const auto& source = item(index);
    return fmt::format("{} -> {}", graph().node(source.node).op, ir::print(graph().type_of(source.output)));
  }

  const Fusion& fusion_;
  const Group& group_;
  const ir::PerValue<bool>& stored_;
  LoopPlan plan_;
  Stages stages_;
  KernelWriter out_;
  bool owner_ = false;
  std::vector<std::pair<int32_t, ir::Dim>> clear_;
  std::map<ItemId, int32_t> rows_;     ///< scalars of items computed once per row
  std::map<ItemId, int32_t> scratch_;  ///< buffers of items kept for later stages
  std::map<std::pair<ItemId, Where>, int32_t> values_;
};

}  // namespace

BuiltKernel build_kernel(const Fusion& fusion, GroupId group, const ir::PerValue<bool>& stored) {
  return KernelBuilder(fusion, group, stored).run();
}

}  // namespace antegrad::schedule
