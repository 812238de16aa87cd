#pragma once
// The functions that generated C calls: mathematics, conversions, random numbers. Pure C without any header,
// scalar and mostly branch-free, so that compilers inline them and vectorise the loops around them.
//
// Names are ag_<function>_<type>, types being f32 f64 i64 i32 i16 i8 u8. Each file prelude/*.h is one raw
// string literal, divided into blocks by lines
//   //@ <names> [for <types>]
// A block defines these names and comes after the blocks whose names it uses. With types it is a pattern that
// is instantiated for each of them, with $t replaced by the type's name, $T by its C type, $U and $I by the
// unsigned and signed integer of its size, $E by the distance from 1 to the next number, and $B by the suffix
// of C's builtins (__builtin_fabs$B).
#include <string>
#include <string_view>
#include <vector>

namespace antegrad::codegen {

/// A block: the names it defines, its text and the indices of the blocks it uses directly or transitively, in
/// order.
struct PreludeBlock {
  std::vector<std::string> names;
  std::string text;
  std::vector<int> uses;
};

/// Returns all blocks, each after those it uses.
const std::vector<PreludeBlock>& prelude_blocks();

bool prelude_has(std::string_view name);

/// The prelude with some blocks in another form, for a target whose compiler has better means. `file` is like
/// prelude/*.h; each of its blocks replaces the one with the same first name and uses only blocks before
/// that.
class PreludeForms {
 public:
  explicit PreludeForms(std::string_view file);
  const std::vector<PreludeBlock>& blocks() const { return blocks_; }

 private:
  std::vector<PreludeBlock> blocks_;  ///< as prelude_blocks()
};

/// Returns the integer types of <stdint.h> and the text of the named functions and what they use, in the
/// order of prelude_blocks(). Throws Error(Internal) for an unknown name.
std::string prelude_for(const std::vector<std::string>& functions, const PreludeForms* forms = nullptr);

}  // namespace antegrad::codegen
