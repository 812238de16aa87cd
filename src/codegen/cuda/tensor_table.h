#pragma once
// Kernels that run over many tensors in one launch. Their first parameter is a table, passed by value: per
// row the pointers to some flat tensors of the same number of elements, and the numbers of the row. Blocks
// are divided among the rows.
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "codegen/cuda/mapping.h"

namespace antegrad::codegen::cuda {

constexpr size_t kTableWords = 500;  ///< of a table: every driver takes parameters of 4 KiB
constexpr int32_t kTableThreads = 256;
constexpr size_t kMostTableTensors = 8;

/// Numbers of a step that are known on the device only, as kernels see them.
struct TableControl {
  double norm = 0;         ///< of all gradients together
  double scale = 1;        ///< what gradients are multiplied by
  float narrow_scale = 1;  ///< the same
  float skip = 0;          ///< 1 where nothing is to be updated
};

/// What the text of a kernel takes for granted about its table.
struct TableShape {
  int32_t tensors = 0;       ///< of a row
  int32_t number_words = 0;  ///< 64-bit words of the numbers of a row; rows with equal numbers share them
  int64_t tile = 0;          ///< elements that a block runs at a time
  bool operator==(const TableShape&) const = default;
};

struct TableText {
  std::string text;  ///< as portable_source()
  TableShape shape;
};

/// A kernel over the elements of the tensors of a row: of Form::Flat, with one symbol, their number.
struct TablePart {
  schedule::Kernel kernel;
  Mapping mapping;  ///< of map_part()
  /// Per buffer that is passed: which tensor of the row, or one of these. kScale is TableControl::scale in
  /// the type of the buffer.
  std::vector<int32_t> operands;
  static constexpr int32_t kNumbers = -1, kScale = -2;
};

/// Determines how a kernel becomes a part. With `vectors`, tensors must begin at multiples of 16 bytes.
/// Throws Error(Internal) for kernels of another form.
Mapping map_part(const schedule::Kernel& kernel, const schedule::DeviceFacts& facts, bool vectors);

/// Returns a kernel that runs the parts one after the other for every tile:
///   AG_KERNEL(kTableThreads) name(AgTable table, int rows, int tiles, const AgControl* control)
/// Each block runs `tiles` tiles. `control` may be null where no part reads it: then nothing is skipped.
TableText table_source(const std::string& name, const std::vector<TablePart>& parts, int32_t tensors,
                       int32_t number_words);
/// Returns the declarations of AgTable and AgControl, and a function that finds the row of a block:
///   AG_INLINE int ag_row(const AgTable& table, int rows, int words)
std::string table_declarations();

/// A row of a table.
struct TableRow {
  std::array<const void*, kMostTableTensors> tensors{};
  int64_t elements = 0;
  const void* numbers = nullptr;  ///< TableShape::number_words of them
};

/// A table ready to be passed, and the launch that it is for.
struct TableImage {
  std::array<uint64_t, kTableWords> words{};
  int32_t rows = 0;
  int32_t tiles = 1;
  int64_t blocks = 0;
};
/// Divides rows among launches, in their order. Rows without elements are left out.
std::vector<TableImage> table_images(const TableShape& shape, const std::vector<TableRow>& rows,
                                     int32_t multiprocessors);

}  // namespace antegrad::codegen::cuda
