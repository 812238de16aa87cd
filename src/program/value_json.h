#pragma once
#include <ATen/core/Tensor.h>

#include <complex>
#include <nlohmann/json.hpp>

#include "ir/graph.h"
#include "program/json.h"

// Values as torch.export's files have them.
namespace antegrad::program {

constexpr int kStridedLayout = 7;

Json real_json(double value);  ///< a text for infinities and NaN
Json complex_json(std::complex<double> value);
Json device_json(const c10::Device& device);
int memory_format_number(ir::MemoryFormat format);

/// {"dtype": 7, "sizes": …}: a tensor of the graph, or one with contents.
Json tensor_meta(const ir::TensorType& type, const std::vector<ir::Symbol>& symbols);
Json tensor_meta(const at::Tensor& tensor);

}  // namespace antegrad::program
