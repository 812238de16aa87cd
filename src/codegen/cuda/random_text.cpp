#include "codegen/cuda/random_text.h"

namespace antegrad::codegen::cuda {
namespace {

using schedule::Op;
using schedule::RandomKind;

bool is_normal(const Op& op) {
  return op.random == RandomKind::Normal32 || op.random == RandomKind::Normal64;
}
bool is_64(const Op& op) { return op.random == RandomKind::Bits64 || op.random == RandomKind::Normal64; }
std::string_view word(const Op& op) { return is_64(op) ? "uint64_t" : "uint32_t"; }

/// Prints a call that fills the four words `into`, for the elements around `element`.
void print_call(Writer& out, Names& names, const Op& op, const std::string& into,
                const std::string& element) {
  const auto stream = names.buffer(op.buffer);
  out.line("{}({}, (uint64_t){}[0], (uint64_t){}[1] + {} + (uint64_t)({}) / {});",
           names.function("ag_philox_words"), into, stream, stream, names.number(ir::DType::I64, op.number),
           element, words_per_call(op));
}

/// Returns element `at` (a constant) of the words of a call.
std::string word_text(const Op& op, const std::string& words, int32_t at) {
  if (!is_64(op)) return fmt::format("{}[{}]", words, at);
  return fmt::format("({0}[{1}] | (uint64_t){0}[{2}] << 32)", words, 2 * at, 2 * at + 1);
}

std::string normal(Names& names, const Op& op) {
  return names.function(is_64(op) ? "ag_normal_f64" : "ag_normal_f32");
}

}  // namespace

int32_t words_per_call(const Op& op) { return is_64(op) ? 2 : 4; }

void print_vector_words(Writer& out, Names& names, const Op& op, int32_t vector, const std::string& first) {
  const auto per_call = words_per_call(op);
  out.line("{} w{}[{}];", word(op), op.result, vector);
  out.open("{{");
  out.line("uint32_t words[4];");
  for (int32_t call = 0; call * per_call < vector; ++call) {
    print_call(out, names, op, "words", call == 0 ? first : fmt::format("{} + {}", first, call * per_call));
    for (int32_t i = 0; i < per_call && i < vector; ++i) {
      const auto low = word_text(op, "words", i);
      // Half a call: which half depends on where the vector begins.
      if (vector < per_call)
        out.line("w{}[{}] = ({}) & {} ? {} : {};", op.result, i, first, vector,
                 word_text(op, "words", i + vector), low);
      else
        out.line("w{}[{}] = {};", op.result, call * per_call + i, low);
    }
  }
  out.close();
}

std::string number_of_vector(Names& names, const Op& op) {
  if (!is_normal(op)) return fmt::format("w{}[v]", op.result);
  return fmt::format("{0}(w{1}[v & ~1], w{1}[v | 1], v & 1)", normal(names, op), op.result);
}

std::string single_number(Writer& out, Names& names, const Op& op, const std::string& element) {
  const auto words = fmt::format("w{}", op.result), at = fmt::format("at{}", op.result);
  out.line("const int64_t {} = {};", at, element);
  out.line("uint32_t {}[4];", words);
  print_call(out, names, op, words, at);
  const auto of = [&](int32_t i) { return word_text(op, words, i); };
  if (is_64(op))
    return is_normal(op) ? fmt::format("{}({}, {}, (int){} & 1)", normal(names, op), of(0), of(1), at)
                         : fmt::format("{} & 1 ? {} : {}", at, of(1), of(0));
  if (!is_normal(op))
    return fmt::format("{0} & 2 ? ({0} & 1 ? {1} : {2}) : ({0} & 1 ? {3} : {4})", at, of(3), of(2), of(1),
                       of(0));
  return fmt::format("{0}({1} & 2 ? {2} : {3}, {1} & 2 ? {4} : {5}, (int){1} & 1)", normal(names, op), at,
                     of(2), of(0), of(3), of(1));
}

}  // namespace antegrad::codegen::cuda
