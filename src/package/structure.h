#pragma once
#include <string>
#include <vector>

#include "antegrad/tree.h"
#include "antegrad/value.h"
#include "util/byte_stream.h"

// What a call takes and returns: IValues in which tensors are undefined.
namespace antegrad::packaging {

/// The arguments of a version and its result.
struct Structure {
  std::vector<c10::IValue> arguments;
  c10::IValue result;
};

void write(ByteWriter& out, const Structure& structure);
Structure read_structure(ByteReader& in);  ///< throws Error(Io) for invalid bytes

/// "(tensor, [int 3, tensor])"
std::string print(const c10::IValue& value);
std::string print(const std::vector<c10::IValue>& values);

/// Flattens arguments. The same values have the same key in every process.
Leaves flatten_arguments(const std::vector<c10::IValue>& arguments);
/// Returns the value with these tensors.
c10::IValue with_tensors(const c10::IValue& value, const std::vector<at::Tensor>& tensors);

}  // namespace antegrad::packaging
