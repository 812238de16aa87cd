#pragma once
#include <torch/nn/module.h>

#include <memory>
#include <string>

namespace antegrad::aten {

using ModuleTensors = torch::OrderedDict<std::string, at::Tensor>;
using ModuleChildren = torch::OrderedDict<std::string, std::shared_ptr<torch::nn::Module>>;

/// A module's own containers. Its public accessors copy them, including strings, which is too expensive for a
/// check in every call.
const ModuleTensors& parameters_of(const torch::nn::Module& module);
const ModuleTensors& buffers_of(const torch::nn::Module& module);
const ModuleChildren& children_of(const torch::nn::Module& module);

}  // namespace antegrad::aten
