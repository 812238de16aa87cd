#include "optim/table.h"

#include <fmt/format.h>

#include <algorithm>

#include "antegrad/error.h"
#include "runtime/parallel.h"

namespace antegrad::optim {
namespace {

constexpr int64_t kPiece = 4096;       ///< elements
constexpr int64_t kPiecesPerTask = 8;  ///< the fewest for which another thread is worth it

/// Memory that an update uses.
struct Span {
  const char *begin, *end;
  size_t row;
  bool written;
};

}  // namespace

bool shares_memory(const std::vector<Update>& updates) {
  std::vector<Span> spans;
  spans.reserve(updates.size() * 4);
  for (size_t i = 0; i < updates.size(); ++i) {
    const auto add = [&](const at::Tensor& tensor, bool written) {
      if (!tensor.defined() || tensor.numel() == 0) return;
      const auto* begin = static_cast<const char*>(tensor.const_data_ptr());
      spans.push_back({begin, begin + tensor.nbytes(), i, written});
    };
    add(updates[i].parameter, true);
    add(updates[i].gradient, false);
    for (const auto& state : updates[i].state) add(state, true);
  }
  std::sort(spans.begin(), spans.end(), [](const Span& a, const Span& b) { return a.begin < b.begin; });
  bool shared = false;
  const Span *last = nullptr, *last_written = nullptr;  // those that reach farthest
  const auto meet = [&](const Span* other, const Span& span) {
    if (other == nullptr || other->end <= span.begin || !(other->written || span.written)) return;
    if (other->row == span.row)
      throw Error(ErrorCode::UnsupportedTensor, "optimizer",
                  fmt::format("the parameter of sizes {} shares memory with its own gradient or state",
                              c10::str(updates[span.row].parameter.sizes())),
                  "Give it a gradient of its own, or set Options::unsupported to Eager");
    shared = true;
  };
  for (const auto& span : spans) {
    meet(last, span);
    meet(last_written, span);
    if (last == nullptr || span.end > last->end) last = &span;
    if (span.written && (last_written == nullptr || span.end > last_written->end)) last_written = &span;
  }
  return shared;
}

Table::Table(std::vector<Update>& updates, c10::function_ref<const FlatKernel&(const Formula&)> kernel_of) {
  rows_.reserve(updates.size());
  for (auto& update : updates) {
    Row row{&kernel_of(update.formula), {}, update.parameter.numel()};
    size_t next = 0;
    row.pointers[next++] = update.parameter.mutable_data_ptr();
    row.pointers[next++] =
        update.gradient.defined() ? const_cast<void*>(update.gradient.const_data_ptr()) : nullptr;
    for (auto& state : update.state) row.pointers[next++] = state.mutable_data_ptr();
    row.pointers[next++] = update.numbers.data();
    rows_.push_back(row);
  }
  first_piece_.resize(rows_.size());
  chosen_.resize(rows_.size());
  if (shares_memory(updates))
    for (size_t i = 0; i < rows_.size(); ++i) add_pieces(i, i + 1);  // in LibTorch's order
  else
    add_pieces(0, rows_.size());
}

void Table::add_pieces(size_t begin, size_t end) {
  int64_t pieces = 0;
  for (size_t i = begin; i < end; ++i) {
    first_piece_[i] = pieces;
    pieces += (rows_[i].elements + kPiece - 1) / kPiece;
  }
  batches_.push_back({begin, end, pieces});
}

void Table::run() const {
  for (const auto& batch : batches_)
    runtime::parallel_for(batch.pieces, kPiecesPerTask, [&](int64_t begin, int64_t end) {
      const auto first = first_piece_.begin() + static_cast<int64_t>(batch.begin);
      const auto last = first_piece_.begin() + static_cast<int64_t>(batch.end);
      auto row = static_cast<size_t>(std::upper_bound(first, last, begin) - first_piece_.begin()) - 1;
      for (; row < batch.end && first_piece_[row] < end; ++row)
        run_pieces(rows_[row], first_piece_[row], begin, end);
    });
}

void Table::run_pieces(const Row& row, int64_t first_piece, int64_t begin, int64_t end) const {
  const auto from = std::max<int64_t>(begin - first_piece, 0) * kPiece;
  const auto to = std::min((end - first_piece) * kPiece, row.elements);
  if (from < to) row.kernel->run(row.pointers.data(), &row.elements, from, to);
}

void Table::run(c10::ArrayRef<int32_t> rows) {
  int64_t pieces = 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    chosen_[i] = pieces;
    pieces += (rows_[rows[i]].elements + kPiece - 1) / kPiece;
  }
  runtime::parallel_for(pieces, kPiecesPerTask, [&](int64_t begin, int64_t end) {
    const auto last = chosen_.begin() + static_cast<int64_t>(rows.size());
    auto i = static_cast<size_t>(std::upper_bound(chosen_.begin(), last, begin) - chosen_.begin()) - 1;
    for (; i < rows.size() && chosen_[i] < end; ++i) run_pieces(rows_[rows[i]], chosen_[i], begin, end);
  });
}

}  // namespace antegrad::optim
