#include "codegen/cuda/tensor_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <set>

#include "antegrad/error.h"
#include "codegen/cuda/kernel_printer.h"
#include "codegen/cuda/kernel_source.h"
#include "codegen/text/c_text.h"
#include "codegen/text/writer.h"

namespace antegrad::codegen::cuda {
namespace {

using schedule::Buffer;

constexpr int32_t kRowWords = 2;  ///< of a row, besides its pointers: elements; first block and numbers

int64_t tile_of(const Mapping& mapping) { return int64_t{mapping.threads} * mapping.vector * mapping.unroll; }

/// Prints the call of a part for the elements from `at` on.
void print_call(Writer& out, const TablePart& part, size_t number, int64_t tile, int32_t number_words) {
  std::string arguments;
  size_t next = 0;
  const auto own = tile_of(part.mapping);
  const auto at = own == tile ? "at" : "at + from";
  for (const auto& buffer : part.kernel.buffers) {
    const auto operand = part.operands[next++];
    const auto type = memory_type(buffer.dtype);
    if (operand == TablePart::kNumbers)
      arguments += fmt::format("(const {}*)&table.words[numbers * {}], ", type, number_words);
    else if (operand == TablePart::kScale)
      arguments += fmt::format("&control->{}, ", buffer.dtype == ir::DType::F64 ? "scale" : "narrow_scale");
    else
      arguments += fmt::format("({}{}*)table.words[entry + {}] + {}, ",
                               buffer.kind == Buffer::Kind::Input ? "const " : "", type, operand, at);
  }
  if (own == tile) return out.line("part_{}({}count, nullptr);", number, arguments);
  out.open("for (int from = 0; from < count; from += {}) {{", own);
  out.line("part_{}({}AG_MIN(count - from, {}), nullptr);", number, arguments, own);
  out.close();
}

}  // namespace

Mapping map_part(const schedule::Kernel& kernel, const schedule::DeviceFacts& facts, bool vectors) {
  auto mapping = map_kernel(kernel, facts, vectors);
  const bool passes_all = std::ranges::none_of(kernel.buffers, [](const Buffer& buffer) {
    return buffer.host || buffer.kind == Buffer::Kind::Scratch;
  });
  if (mapping.form != Mapping::Form::Flat || mapping.threads != kTableThreads || kernel.symbols != 1 ||
      !kernel.clear.empty() || !passes_all)
    throw Error(ErrorCode::Internal, "codegen:" + kernel.name,
                "the kernel does not treat each element alone");
  mapping.wide = false;  // positions in a tile
  return mapping;
}

std::string table_declarations() {
  return fmt::format(R"(
struct AgTable {{
  unsigned long long words[{}];
}};
struct AgControl {{
  double norm, scale;
  float narrow_scale, skip;
}};
// The last row whose first block is not after this one. A row has so many words, the last of which begins with it.
AG_INLINE int ag_row(const AgTable& table, int rows, int words) {{
  int row = 0;
  for (int end = rows; end - row > 1;) {{
    const int middle = (row + end) / 2;
    if ((int)(uint32_t)table.words[middle * words + words - 1] <= AG_BLOCK)
      row = middle;
    else
      end = middle;
  }}
  return row;
}}
)",
                     kTableWords);
}

TableText table_source(const std::string& name, const std::vector<TablePart>& parts, int32_t tensors,
                       int32_t number_words) {
  TableText out;
  out.shape = {tensors, number_words, 0};
  std::set<std::string> functions;
  std::string text = table_declarations();
  for (size_t i = 0; i < parts.size(); ++i) {
    auto kernel = parts[i].kernel;
    kernel.name = fmt::format("part_{}", i);
    const auto printed = print_function(kernel, parts[i].mapping);
    functions.insert(printed.functions.begin(), printed.functions.end());
    text += "\n" + printed.text;
    out.shape.tile = std::max(out.shape.tile, tile_of(parts[i].mapping));
  }
  const auto row = tensors + kRowWords;
  Writer body;
  body.open("AG_KERNEL({}) {}(AG_PARAMETER AgTable table, int rows, int tiles, const AgControl* control) {{",
            kTableThreads, name);
  body.line("if (control != nullptr && control->skip != 0.0f) return;");
  body.line("const int entry = ag_row(table, rows, {0}) * {0};", row);
  body.line("const int64_t elements = (int64_t)table.words[entry + {}];", tensors);
  body.line("const uint64_t last = table.words[entry + {}];", tensors + 1);
  if (number_words > 0) body.line("const int numbers = (int)(last >> 32);");
  body.line("int64_t at = (int64_t)(AG_BLOCK - (int)(uint32_t)last) * tiles * {};", out.shape.tile);
  body.open("for (int tile = 0; tile < tiles && at < elements; ++tile, at += {}) {{", out.shape.tile);
  body.line("const int count = (int)AG_MIN(elements - at, {});", out.shape.tile);
  for (size_t i = 0; i < parts.size(); ++i) print_call(body, parts[i], i, out.shape.tile, number_words);
  body.close();
  body.close();
  out.text = with_prelude(std::move(functions), text + "\n" + body.text());
  return out;
}

namespace {

/// Fills one image after the other. Rows come first, then numbers: they are moved behind the rows at the end.
class Images {
 public:
  Images(const TableShape& shape, int32_t tiles) : shape_(shape), tiles_(tiles) {}

  void add(const TableRow& row) {
    const auto per_block = shape_.tile * tiles_;
    const auto blocks = (row.elements + per_block - 1) / per_block;
    auto group = find_numbers(row);
    const auto words = words_with(group == numbers_.size());
    if (out_.empty() || words > kTableWords || out_.back().blocks + blocks > kMostBlocks) {
      finish();
      out_.emplace_back().tiles = tiles_;
      group = 0;
    }
    auto& image = out_.back();
    if (number_words() > 0 && group == numbers_.size()) numbers_.push_back(row.numbers);
    auto* words_of_row = image.words.data() + static_cast<size_t>(image.rows) * row_words();
    for (int32_t i = 0; i < shape_.tensors; ++i) words_of_row[i] = reinterpret_cast<uint64_t>(row.tensors[i]);
    words_of_row[shape_.tensors] = static_cast<uint64_t>(row.elements);
    words_of_row[shape_.tensors + 1] = static_cast<uint64_t>(image.blocks) | static_cast<uint64_t>(group)
                                                                                 << 32;
    ++image.rows;
    image.blocks += blocks;
  }

  std::vector<TableImage> take() {
    finish();
    return std::move(out_);
  }

 private:
  static constexpr int64_t kMostBlocks = std::numeric_limits<int32_t>::max();

  size_t row_words() const { return static_cast<size_t>(shape_.tensors + kRowWords); }
  size_t number_words() const { return static_cast<size_t>(shape_.number_words); }
  /// Numbers begin at a multiple of their size.
  size_t first_numbers(size_t rows) const {
    return number_words() == 0 ? 0 : (rows * row_words() + number_words() - 1) / number_words();
  }
  /// Returns how many words the image takes with one more row.
  size_t words_with(bool new_numbers) const {
    const auto rows = out_.empty() ? 1 : static_cast<size_t>(out_.back().rows) + 1;
    if (number_words() == 0) return rows * row_words();
    return (first_numbers(rows) + numbers_.size() + (new_numbers ? 1 : 0)) * number_words();
  }
  size_t find_numbers(const TableRow& row) const {
    for (size_t i = numbers_.size(); i-- > 0;)
      if (std::memcmp(numbers_[i], row.numbers, number_words() * sizeof(uint64_t)) == 0) return i;
    return numbers_.size();
  }
  void finish() {
    if (out_.empty()) return;
    auto& image = out_.back();
    const auto first = first_numbers(static_cast<size_t>(image.rows));
    for (int32_t row = 0; row < image.rows; ++row)
      image.words[static_cast<size_t>(row + 1) * row_words() - 1] += static_cast<uint64_t>(first) << 32;
    for (size_t i = 0; i < numbers_.size(); ++i)
      std::memcpy(image.words.data() + (first + i) * number_words(), numbers_[i],
                  number_words() * sizeof(uint64_t));
    numbers_.clear();
  }

  const TableShape shape_;
  const int32_t tiles_;
  std::vector<const void*> numbers_;  ///< of the last image, each once
  std::vector<TableImage> out_;
};

}  // namespace

std::vector<TableImage> table_images(const TableShape& shape, const std::vector<TableRow>& rows,
                                     int32_t multiprocessors) {
  // More than some waves of blocks take time to start; fewer leave multiprocessors idle at the end.
  constexpr int64_t kBlocksPerMultiprocessor = 64, kMostTiles = 16;
  int64_t tiles = 0;
  for (const auto& row : rows) tiles += (row.elements + shape.tile - 1) / shape.tile;
  const auto per_block =
      std::clamp<int64_t>(tiles / (multiprocessors * kBlocksPerMultiprocessor), 1, kMostTiles);
  Images images(shape, static_cast<int32_t>(per_block));
  for (const auto& row : rows)
    if (row.elements > 0) images.add(row);
  return images.take();
}

}  // namespace antegrad::codegen::cuda
