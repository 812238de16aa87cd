#pragma once
// The functions that generated C calls: mathematics, conversions, random numbers. Pure C without any header,
// scalar and mostly free of branches, so that compilers inline them and vectorise the loops around them.
//
// Names are ag_<function>_<type>, types being f32 f64 i64 i32 i16 i8 u8. prelude/*.h hold the texts: each
// file is one raw string literal, cut into blocks by lines
//   //@ <names> [for <types>]
// A block defines these names and follows the blocks whose names it uses. With types it is a pattern,
// repeated for each of them with $t standing for the type's name, $T for its C type, $U and $I for the
// unsigned and signed integer of its size, $E for the distance from 1 to the next number, and $B for the
// ending of C's builtins (__builtin_fabs$B).
#include <string>
#include <string_view>
#include <vector>

namespace antegrad::codegen::cpu {

/// One block: the names it defines, its text and the indices of the blocks it uses, directly or not, in
/// order.
struct PreludeBlock {
  std::vector<std::string> names;
  std::string text;
  std::vector<int> uses;
};

/// All blocks, each after those it uses.
const std::vector<PreludeBlock>& prelude_blocks();

bool prelude_has(std::string_view name);

/// The integer types of <stdint.h> and the text of exactly the named functions and what they use, in the
/// order of prelude_blocks(). Throws Error(Internal) for a name that does not exist.
std::string prelude_for(const std::vector<std::string>& functions);

}  // namespace antegrad::codegen::cpu
