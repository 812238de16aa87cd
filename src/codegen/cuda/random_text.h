#pragma once
// Random numbers in CUDA text: the same as the CPU's for the same elements of a stream.
#include <string>

#include "codegen/text/names.h"
#include "codegen/text/writer.h"

namespace antegrad::codegen::cuda {

/// Returns for how many elements one call of the generator has words.
int32_t words_per_call(const schedule::Op& op);

/// Prints an array of the words for a vector of elements, the first of which is at a multiple of the vector,
/// or of words_per_call() if that is less.
void print_vector_words(Writer& out, Names& names, const schedule::Op& op, int32_t vector,
                        const std::string& first);
/// Returns the number for element v of that vector.
std::string number_of_vector(Names& names, const schedule::Op& op);
/// Prints a call for one element and returns its number.
std::string single_number(Writer& out, Names& names, const schedule::Op& op, const std::string& element);

}  // namespace antegrad::codegen::cuda
