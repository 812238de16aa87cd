#pragma once
#include <map>

#include "schedule/loop_plan.h"

namespace antegrad::schedule {

/// Where ops go: into the section without loops that precedes the loops of a stage, or into the loops of one
/// space of the stage.
struct Where {
  int32_t stage = 0;
  int32_t space = -1;  ///< -1 for the section without loops, which runs once per row
  auto operator<=>(const Where&) const = default;
};

/// Collects the ops, scalars and buffers of a kernel.
class KernelWriter {
 public:
  KernelWriter(const Fusion& fusion, const LoopPlan& plan, const ir::Device& device)
      : fusion_(fusion), plan_(plan), device_(device) {}

  std::string comment;  ///< the comment of the ops that are added next

  /// Adds an op that defines a scalar of this type and returns the scalar; reuses an equal load, constant,
  /// cast or index of the section.
  int32_t define(Where where, Op op, ir::DType type);
  void add(Where where, Op op);  ///< an op that defines no scalar, or one from new_scalar()
  int32_t new_scalar(ir::DType type);
  ir::DType type_of(int32_t id) const { return types_[id]; }

  int32_t cast(int32_t id, ir::DType to, Where where);   ///< converts to a compute type
  int32_t round(int32_t id, ir::DType to, Where where);  ///< rounds to values that a dtype can represent
  int32_t number(const Number& number, ir::DType type, Where where);
  int32_t load(ir::ValueId value, const Affine& address, Where where);
  int32_t load(int32_t buffer, const Affine& address, Where where);
  void store(int32_t id, int32_t buffer, const Affine& address, Where where);

  int32_t buffer(ir::ValueId value, Buffer::Kind kind);  ///< the buffer of the memory that the value is in
  int32_t scratch(ir::DType dtype, const ir::Dim& elements, const ir::Dim& rows);

  /// Returns a kernel with the sections in order and the buffers; the caller fills in loops and the rest.
  Kernel finish();
  const std::vector<ir::ValueId>& owners() const { return owners_; }  ///< as BuiltKernel::buffers

 private:
  Section& section(Where where);
  bool is_row_address(const Affine& address, Where where) const;

  const Fusion& fusion_;
  const LoopPlan& plan_;
  const ir::Device& device_;
  std::map<Where, Section> sections_;
  std::vector<Buffer> buffers_;
  std::vector<ir::ValueId> owners_;
  std::vector<int32_t> buffer_of_owner_;
  std::vector<ir::DType> types_;
  std::map<int32_t, ir::DType> held_;  ///< per scalar: a dtype that represents its value exactly
};

}  // namespace antegrad::schedule
