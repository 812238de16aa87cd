// Makes scripted.pt, the TorchScript module that tests/cpu/calls/jit_test.cpp runs.
//
// Written in C++ because importing torch in Python loads the CUDA libraries, which this project does without;
// the classes below are what torch.jit.script makes of the same modules. Not part of the build: compile it
// against LibTorch (with the flags of any test) and run `make_scripted tests/data/scripted.pt`. The seed is
// fixed, so the weights stay the same.
#include <torch/script.h>
#include <torch/torch.h>

#include <cstdio>

namespace {

torch::jit::Module new_module(const char* name, const std::shared_ptr<torch::jit::CompilationUnit>& unit) {
  torch::jit::Module module(name, unit);
  module.register_attribute("training", c10::BoolType::get(), true);
  return module;
}

/// Control flow on a size: wide inputs are halved until they are narrow.
torch::jit::Module block(const std::shared_ptr<torch::jit::CompilationUnit>& unit) {
  auto module = new_module("__torch__.Block", unit);
  module.register_parameter("weight", torch::randn({4, 4}), false);
  module.register_parameter("bias", torch::randn({4}), false);
  module.define(R"(
    def forward(self, x):
        while x.size(1) > 4:
            half = x.size(1) // 2
            x = x[:, :half] + x[:, half:2 * half]
        return torch.relu(torch.linear(x, self.weight, self.bias))
  )");
  return module;
}

/// Control flow on the training flag, a number as an argument, a tuple with a dictionary as the result.
torch::jit::Module net() {
  auto unit = std::make_shared<torch::jit::CompilationUnit>();
  auto module = new_module("__torch__.Net", unit);
  module.register_module("block", block(unit));
  module.register_parameter("norm_weight", torch::rand({4}) + 0.5, false);
  module.register_parameter("norm_bias", torch::randn({4}), false);
  module.register_buffer("running_mean", torch::zeros({4}));
  module.register_buffer("running_var", torch::ones({4}));
  module.register_buffer("batches", torch::zeros({}, torch::kLong));
  module.register_attribute("gain", c10::FloatType::get(), 2.0);
  module.define(R"(
    def forward(self, x, scale: float = 1.0) -> Tuple[Tensor, Dict[str, Tensor]]:
        h = self.block.forward(x)
        if self.training:
            self.batches.add_(1)
        h = torch.batch_norm(h, self.norm_weight, self.norm_bias, self.running_mean, self.running_var, self.training, 0.1, 1e-05, False)
        h = torch.dropout(h, 0.5, self.training)
        if not self.training:
            h = h * self.gain
        if x.size(0) > 2:
            h = h - h.mean(0)
        return h * scale, {"hidden": h, "rows": torch.full([], x.size(0))}
  )");
  return module;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return std::fprintf(stderr, "usage: make_scripted <file>\n"), 1;
  torch::manual_seed(20);
  net().save(argv[1]);
  return 0;
}
