#pragma once
#include "codegen/cuda/kernel_plan.h"
#include "codegen/text/names.h"
#include "codegen/text/writer.h"

namespace antegrad::codegen::cuda {

/// The iterations of a section that a thread runs: positions start, start + step, … below count, each of them
/// the first of a vector. `batch` vectors are loaded before anything is computed.
struct Span {
  std::string start, step, count;
  std::string more = {};  ///< where the loop goes on after a batch; empty for batch * step
  int32_t batch = 1;
  bool loops = true;    ///< false if there is one batch
  bool guarded = true;  ///< whether positions of a batch may be beyond the last
  std::string active;   ///< a condition for running at all; empty if there is none
};

/// Prints sections of one kernel.
class SectionPrinter {
 public:
  SectionPrinter(Writer& out, Names& names, const KernelPlan& plan, const Mapping& mapping)
      : out_(out), names_(names), plan_(plan), mapping_(mapping) {}

  /// Prints a section with loops. Variables r<result> of its reductions have been declared.
  void print(size_t section, const Span& span);
  /// Prints a section without loops; only threads for which `first` holds have effects.
  void print_once(size_t section, const std::string& first);

 private:
  void print_batch(const Span& span, const std::string& base);
  void print_tail(const Span& span);
  void open_position(const Span& span, const std::string& base);
  void print_early();
  void print_load(const std::string& into, const schedule::Op& op, bool at_once, int32_t last);
  void print_body();
  void print_elements();
  void guarded_once(size_t index);
  void print_op(size_t index);
  std::string load_text(size_t index);
  void print_store(size_t index);
  void print_words(size_t index);
  std::string random_text(size_t index);
  void print_accumulate(size_t index);
  void split(const std::string& position, const std::vector<int32_t>& loops);
  void define(const schedule::Op& op, const std::string& value);
  std::vector<std::string> positions(size_t index);
  std::string outside(size_t index) const;
  std::string nan_if_outside(size_t index, ir::DType memory, std::string value) const;
  std::string index_id(size_t index) const;
  int32_t first_index_number(size_t index) const;
  std::string at() const { return vector_ > 1 ? "v" : "0"; }  ///< the element of a vector
  std::string wide_affine(const schedule::Op& op);
  std::string value_of(const schedule::Op& op);
  std::string sum_text(const std::string& into, const schedule::Op& op, ir::DType type);
  bool is_register_store(size_t index) const;
  bool has_words(size_t index) const;
  int32_t last_loop() const;
  std::string kept(size_t index) const;
  const schedule::Op& op(size_t index) const { return section_->ops[index]; }
  const OpPlan& plan(size_t index) const { return section_->plans[index]; }
  int32_t width(size_t index) const;

  Writer& out_;
  Names& names_;
  const KernelPlan& plan_;
  [[maybe_unused]] const Mapping& mapping_;
  const SectionPlan* section_ = nullptr;
  size_t number_ = 0;
  int32_t vector_ = 1;  ///< of what is being printed; 1 in a tail
  bool in_tail_ = false;
  bool in_elements_ = false;  ///< inside the loop over the elements of a vector
  std::string comment_;
};

/// Returns the type of positions: "int32_t" or "int64_t".
std::string_view index_type(const Mapping& mapping);
/// Returns the C type of the variable of a reduction of a type.
std::string_view reduction_type(ir::DType type);

}  // namespace antegrad::codegen::cuda
