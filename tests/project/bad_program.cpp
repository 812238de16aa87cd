// Correct and wrong uses of the library: messages_test.sh compiles this file and checks the compiler's
// messages.
#include <antegrad/antegrad.h>
#include <torch/nn/module.h>
#include <torch/nn/pimpl.h>

#include <set>
#include <span>

struct NetImpl : torch::nn::Module {
  at::Tensor forward(const at::Tensor& x) { return x; }
};
TORCH_MODULE(Net);
struct Opaque {
  at::Tensor value;
};

void right(const at::Tensor& x) {
  auto two = antegrad::compile([](const at::Tensor& a, const at::Tensor& b) { return a + b; });
  at::Tensor y = x;
  Net net;
  auto pointer = std::make_shared<NetImpl>();
  const std::vector<std::shared_ptr<torch::nn::Module>> modules{pointer};
  antegrad::Options options{.watch = {net}};
  options.watch = {net, pointer};
  options.watch = {pointer, net.ptr()};
  options.watch = modules;
  options.watch = net;
  options = antegrad::Options{.watch = modules};
  two(x, y);
  two(y, torch::ones({3}));
  antegrad::compile(net, options)(x);
  antegrad::compile(pointer)(y);
  antegrad::compile([](const at::Tensor& a, Net net) { return net->forward(a); })(x, net);
  antegrad::compile([](const at::Tensor& a, at::IntArrayRef sizes) { return a.view(sizes); })(x, x.sizes());
}

// Each line that ends with "wrong" has one error; messages_test.sh has their messages in the same
// order.
void wrong(const at::Tensor& x, at::Tensor y, NetImpl& bare, antegrad::Options& options) {
  auto two = antegrad::compile([](const at::Tensor& a, const at::Tensor& b) { return a + b; });
  two(x);                                                                                             // wrong
  two(y, torch::ones({3}), x);                                                                        // wrong
  two(x, std::string("text"));                                                                        // wrong
  antegrad::compile([](const at::Tensor& a, const Opaque& b) { return a; })(x, Opaque{y});            // wrong
  antegrad::compile([](const at::Tensor& a, float* b) { return a; })(x, y.data_ptr<float>());         // wrong
  antegrad::compile([](const at::Tensor& a, const std::string&) { return a; })(x, "text");            // wrong
  antegrad::compile([](const at::Tensor& a, std::span<float>) { return a; })(x, std::span<float>());  // wrong
  antegrad::compile([](const at::Tensor& a, NetImpl* net) { return net->forward(a); })(x, &bare);     // wrong
  antegrad::compile(bare);                                                                            // wrong
  options.watch = {bare};                                                                             // wrong
  antegrad::compile([](const at::Tensor&) { return std::set<int>{1}; })(x);                           // wrong
}
