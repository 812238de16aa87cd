#pragma once
// Random numbers in C: a whole row is generated before a loop that uses consecutive elements; other elements
// are generated one by one.
#include <string>

#include "codegen/cpu/names.h"
#include "codegen/text/writer.h"

namespace antegrad::codegen::cpu {

/// `count` iterations of the innermost loop starting at `first`; `count` is at most `capacity`.
struct Tile {
  int32_t loop = -1;
  std::string first, count;
  int64_t capacity = 0;
};

/// Prints an array of numbers for the loop that follows.
void print_random_tile(Writer& writer, LaneNames& names, const schedule::Op& op, const Tile& tile);
/// Returns the number for an iteration, counted from the first of the tile.
std::string random_from_tile(LaneNames& names, const schedule::Op& op, const std::string& iteration);
/// Returns the number for the current iteration; prints the statements it needs.
std::string random_element(Writer& writer, LaneNames& names, const schedule::Op& op);

}  // namespace antegrad::codegen::cpu
