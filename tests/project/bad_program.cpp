// What users get wrong, one case at a time: messages_test.sh compiles it and reads what the compiler says.
#include <antegrad/antegrad.h>
#include <torch/nn.h>

#include <set>

struct NetImpl : torch::nn::Module {
  at::Tensor forward(const at::Tensor& x) { return x; }
};
TORCH_MODULE(Net);
struct Opaque {
  at::Tensor value;
};

void all(const at::Tensor& x) {
  auto two = antegrad::compile([](const at::Tensor& a, const at::Tensor& b) { return a + b; });
  at::Tensor y = x;
  NetImpl bare;
#if CASE == 0  // none of these is wrong
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
#elif CASE == 1
  two(x);
#elif CASE == 2
  two(y, torch::ones({3}), x);
#elif CASE == 3
  two(x, std::string("text"));
#elif CASE == 4
  antegrad::compile([](const at::Tensor& a, const Opaque& b) { return a + b.value; })(x, Opaque{y});
#elif CASE == 5
  antegrad::compile([](const at::Tensor& a, float* b) { return a + b[0]; })(x, y.data_ptr<float>());
#elif CASE == 6
  antegrad::compile([](const at::Tensor& a, const std::string&) { return a; })(x, "text");
#elif CASE == 7
  antegrad::compile([](const at::Tensor& a, Net net) { return net->forward(a); })(x, Net());
#elif CASE == 8
  antegrad::compile(bare);
#elif CASE == 9
  antegrad::Options options;
  options.watch = {bare};
#elif CASE == 10
  antegrad::compile([](const at::Tensor&) { return std::set<int>{1}; })(x);
#endif
}
