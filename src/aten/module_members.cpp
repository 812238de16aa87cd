#include "aten/module_members.h"

#include "aten/private_member.h"

namespace antegrad::aten {

using torch::nn::Module;

ANTEGRAD_PRIVATE_MEMBER(ParametersOfModule, Module::parameters_);
ANTEGRAD_PRIVATE_MEMBER(BuffersOfModule, Module::buffers_);
ANTEGRAD_PRIVATE_MEMBER(ChildrenOfModule, Module::children_);

const ModuleTensors& parameters_of(const Module& module) { return module.*member_of(ParametersOfModule{}); }
const ModuleTensors& buffers_of(const Module& module) { return module.*member_of(BuffersOfModule{}); }
const ModuleChildren& children_of(const Module& module) { return module.*member_of(ChildrenOfModule{}); }

}  // namespace antegrad::aten
