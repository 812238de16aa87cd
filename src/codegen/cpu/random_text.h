#pragma once
// Random numbers in C: rows of them made before a loop where the elements follow each other, else one by one.
#include <string>

#include "codegen/cpu/names.h"
#include "codegen/cpu/writer.h"

namespace antegrad::codegen::cpu {

/// `count` iterations of the innermost loop from `first` on, at most `capacity`.
struct Tile {
  int32_t loop = -1;
  std::string first, count;
  int64_t capacity = 0;
};

/// An array that the loop after it takes its numbers from.
void print_random_tile(Writer& writer, Names& names, const schedule::Op& op, const Tile& tile);
/// The number for an iteration, counted from the tile's first.
std::string random_from_tile(Names& names, const schedule::Op& op, const std::string& iteration);
/// The number for this iteration; prints what it needs.
std::string random_element(Writer& writer, Names& names, const schedule::Op& op);

}  // namespace antegrad::codegen::cpu
