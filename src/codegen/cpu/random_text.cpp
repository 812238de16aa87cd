#include "codegen/cpu/random_text.h"

namespace antegrad::codegen::cpu {
namespace {

using schedule::Op;
using schedule::RandomKind;

bool is_normal(const Op& op) {
  return op.random == RandomKind::Normal32 || op.random == RandomKind::Normal64;
}
bool is_64(const Op& op) { return op.random == RandomKind::Bits64 || op.random == RandomKind::Normal64; }
std::string_view word(const Op& op) { return is_64(op) ? "uint64_t" : "uint32_t"; }

std::string row_call(LaneNames& names, const Op& op, const std::string& into, const std::string& first,
                     const std::string& count) {
  const auto row = names.function(is_64(op) ? "ag_philox_row_64" : "ag_philox_row");
  const auto stream = names.buffer(op.buffer);
  return fmt::format("{}({}, (uint64_t){}[0], (uint64_t){}[1] + {}, {}, {});", row, into, stream, stream,
                     names.number(ir::DType::I64, op.number), first, count);
}

/// Returns a normally distributed number; elements at even and odd places form pairs that share their random
/// words.
std::string normal_call(LaneNames& names, const Op& op, const std::string& place) {
  const auto function = names.function(is_64(op) ? "ag_normal_f64" : "ag_normal_f32");
  return fmt::format("{0}(r{1}[({2}) & ~1ll], r{1}[({2}) | 1], ({2}) & 1)", function, op.result, place);
}

}  // namespace

void print_random_tile(Writer& writer, LaneNames& names, const Op& op, const Tile& tile) {
  const auto first = names.affine(op.address, {{tile.loop, tile.first}});
  if (!is_normal(op)) {
    writer.line("{} r{}[{}];", word(op), op.result, tile.capacity);
    writer.line("{}", row_call(names, op, fmt::format("r{}", op.result), first, tile.count));
    return;
  }
  // Pairs of elements share their words, so the row starts and ends with a whole pair.
  writer.line("const int64_t o{} = ({}) & 1;", op.result, first);
  writer.line("{} r{}[{}];", word(op), op.result, tile.capacity + 2);
  writer.line("{}", row_call(names, op, fmt::format("r{}", op.result), fmt::format("({}) & ~1ll", first),
                             tile.count + " + 2"));
}

std::string random_from_tile(LaneNames& names, const Op& op, const std::string& iteration) {
  if (!is_normal(op)) return fmt::format("r{}[{}]", op.result, iteration);
  return normal_call(names, op, fmt::format("{} + o{}", iteration, op.result));
}

std::string random_element(Writer& writer, LaneNames& names, const Op& op) {
  const auto element = names.affine(op.address);
  const auto words = fmt::format("r{}", op.result);
  writer.line("{} {}[2];", word(op), words);
  if (!is_normal(op)) {
    writer.line("{}", row_call(names, op, words, element, "1"));
    return words + "[0]";
  }
  writer.line("{}", row_call(names, op, words, fmt::format("({}) & ~1ll", element), "2"));
  const auto function = names.function(is_64(op) ? "ag_normal_f64" : "ag_normal_f32");
  return fmt::format("{0}({1}[0], {1}[1], ({2}) & 1)", function, words, element);
}

}  // namespace antegrad::codegen::cpu
