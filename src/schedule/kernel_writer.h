#pragma once
#include <map>

#include "schedule/loop_plan.h"

namespace antegrad::schedule {

/// Where ops go: the section without loops before the loops of a stage, or the loops of a space in it.
struct Where {
  int32_t stage = 0;
  int32_t space = -1;  ///< -1: a row
  auto operator<=>(const Where&) const = default;
};

/// Collects the ops, scalars and buffers of a kernel.
class KernelWriter {
 public:
  KernelWriter(const Fusion& fusion, const LoopPlan& plan) : fusion_(fusion), plan_(plan) {}

  std::string comment;  ///< of the ops to come

  /// Adds an op that defines a scalar of this type, unless there is an equal one in the section already.
  int32_t define(Where where, Op op, ir::DType type);
  void add(Where where, Op op);  ///< one that defines none, or one of new_scalar()
  int32_t new_scalar(ir::DType type);
  ir::DType type_of(int32_t id) const { return types_[id]; }

  int32_t cast(int32_t id, ir::DType to, Where where);   ///< to a type that is computed in
  int32_t round(int32_t id, ir::DType to, Where where);  ///< to what a short float can hold
  int32_t number(const Number& number, ir::DType type, Where where);
  int32_t load(ir::ValueId value, const Affine& address, Where where);
  int32_t load(int32_t buffer, const Affine& address, Where where);
  void store(int32_t id, int32_t buffer, const Affine& address, Where where);

  int32_t buffer(ir::ValueId value, Buffer::Kind kind);  ///< of the memory that the value is in
  int32_t scratch(ir::DType dtype, const ir::Dim& elements, const ir::Dim& rows);

  /// The sections in order, and the buffers; loops and the rest are the caller's.
  Kernel finish();
  const std::vector<ir::ValueId>& owners() const { return owners_; }  ///< as BuiltKernel::buffers

 private:
  Section& section(Where where);
  bool is_row_address(const Affine& address, Where where) const;

  const Fusion& fusion_;
  const LoopPlan& plan_;
  std::map<Where, Section> sections_;
  std::vector<Buffer> buffers_;
  std::vector<ir::ValueId> owners_;
  std::vector<int32_t> buffer_of_owner_;
  std::vector<ir::DType> types_;
  std::map<int32_t, ir::DType> held_;  ///< by scalar: a type that holds it without rounding
};

}  // namespace antegrad::schedule
