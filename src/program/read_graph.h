#pragma once
#include <ATen/core/Tensor.h>

#include "program/graph.h"
#include "program/json.h"

namespace antegrad::program {

/// Reads a graph, resolves its ops against those that are registered in this process, and checks that every
/// value is defined before it is used. Throws Error(Parse), Error(UnsupportedOp) or nlohmann's exceptions.
/// `depth` counts graphs around this one.
Graph read_graph(const Json& json, int depth = 0);

at::ScalarType dtype_of(const Json& json);
int dtype_number(at::ScalarType dtype);  ///< the inverse of dtype_of()
c10::Device device_of(const Json& json);
/// A constant of a union of numbers, texts and None.
c10::IValue constant_of(const Json& json);

/// "node add_1 (line of Python)"
std::string describe(const Node& node);

}  // namespace antegrad::program
