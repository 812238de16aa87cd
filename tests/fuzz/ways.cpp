#include "fuzz/ways.h"

#include <ATen/ATen.h>
#include <antegrad/antegrad.h>

#include <chrono>
#include <thread>

namespace antegrad::fuzz {
namespace {

/// Waits before every other call, so that its code is usually ready.
Fn in_background(Fn function, const Options& options) {
  auto compiled = std::make_shared<Compiled<Fn>>(std::move(function), options);
  return [compiled, calls = 0](Tensors inputs) mutable {
    if (++calls % 2 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(20));
    return (*compiled)(std::move(inputs));
  };
}

/// Reads data at the end: what was captured before that must have left no traces.
Fn with_data_read(Fn function) {
  return [function](const Tensors& inputs) {
    Tensors outputs = function(inputs);
    for (const at::Tensor& output : outputs)
      if (output.defined() && output.numel() > 0) {
        (void)at::any(output.detach()).item<bool>();
        break;
      }
    return outputs;
  };
}

Fn with_breaks(Fn function) {
  return [function](const Tensors& inputs) {
    const ReadsBetween reads;
    return function(inputs);
  };
}

}  // namespace

Fn compile_in(Way way, Fn function, Options options) {
  switch (way) {
    case Way::Background:
      options.compile = antegrad::Compile::Background;
      return in_background(std::move(function), options);
    case Way::Fallback:
      options.unsupported = Unsupported::Eager;
      return compile(with_data_read(std::move(function)), options);
    case Way::Break:
      options.unsupported = Unsupported::Break;
      return compile(with_breaks(std::move(function)), options);
    case Way::Plain:
      break;
  }
  return compile(std::move(function), options);
}

std::string options_text(Way way) {
  switch (way) {
    case Way::Background:
      return "options.compile = antegrad::Compile::Background;  // with 20 ms before every other call\n";
    case Way::Fallback:
      return "options.unsupported = antegrad::Unsupported::Eager;  // and an output.any().item() in the "
             "function\n";
    case Way::Break:
      return "options.unsupported = antegrad::Unsupported::Break;  // and an item() after most statements\n";
    case Way::Plain:
      break;
  }
  return "";
}

}  // namespace antegrad::fuzz
