#pragma once
#include <array>
#include <vector>

#include "optim/update_kernel.h"
#include "optim/updates.h"

namespace antegrad::optim {

/// The memory of one update, ready for its kernel.
struct Row {
  const FlatKernel* kernel = nullptr;
  std::array<void*, 7> pointers{};  ///< parameter, gradient, state, numbers
  int64_t elements = 0;
};

/// All updates of a step, ready to be made. They must outlive the table. Gradients may be undefined, and
/// given later in memory of their own.
class UpdateTable {
 public:
  virtual ~UpdateTable() = default;
  virtual void run() const = 0;

  /// Whether all rows may be updated at the same time, and so in any order.
  virtual bool is_one_batch() const = 0;
  virtual void set_gradient(size_t row, const void* gradient) = 0;
  /// Runs some rows of the only batch.
  virtual void run(c10::ArrayRef<int32_t> rows) = 0;
};

/// Returns whether some update reads or writes memory that another one writes. Throws
/// Error(UnsupportedTensor) when a parameter shares memory with its own gradient or state.
bool shares_memory(const std::vector<Update>& updates);

/// A table through which a few calls of kernels go in pieces of equal size: many small parameters cost as
/// much as one large one. Whatever can fail, fails in the constructor.
class Table final : public UpdateTable {
 public:
  /// `kernel_of`: per update. Throws as shares_memory().
  Table(std::vector<Update>& updates, c10::function_ref<const FlatKernel&(const Formula&)> kernel_of);
  void run() const override;

  bool is_one_batch() const override { return batches_.size() == 1; }
  void set_gradient(size_t row, const void* gradient) override {
    rows_[row].pointers[1] = const_cast<void*>(gradient);
  }
  void run(c10::ArrayRef<int32_t> rows) override;

 private:
  void add_pieces(size_t begin, size_t end);
  void run_pieces(const Row& row, int64_t first_piece, int64_t begin, int64_t end) const;

  std::vector<Row> rows_;
  /// Rows from begin to end may be updated at the same time; batches run one after the other.
  struct Batch {
    size_t begin, end;
    int64_t pieces;
  };
  std::vector<Batch> batches_;
  std::vector<int64_t> first_piece_;  ///< per row, within its batch
  std::vector<int64_t> chosen_;       ///< the same for the rows of a call
};

}  // namespace antegrad::optim
