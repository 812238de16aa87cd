// Reads of tensor data while a function is captured. ERR-16 (in the forward pass).
#include <sstream>

#include "error/expect_error.h"

namespace antegrad::test {
namespace {

using at::Tensor;

template <class F>
void expect_data_read(const std::string& where, const F& read) {
  auto x = torch::randn({3});
  auto compiled = compile([&](const Tensor& a) {
    a.mul_(2);
    read(a);
    return a + 1;
  });
  expect_error(ErrorCode::DataRead, where, "the function reads the", {x}, [&] { compiled(x); });
  expect_error(ErrorCode::DataRead, where, "Options::unsupported", {x}, [&] { compiled(x); });  // each time
  EXPECT_EQ(compiled.report().captures, 0U);
}

TEST(DataRead, Item) {
  expect_data_read("capture:aten._local_scalar_dense", [](const Tensor& a) { a.sum().item<float>(); });
  expect_data_read("capture:aten._local_scalar_dense",
                   [](const Tensor& a) { return a[0].item().toDouble() > 0; });
  expect_data_read("capture:aten._local_scalar_dense",
                   [](const Tensor& a) { return at::max(a).item().to<bool>(); });
}

TEST(DataRead, TruthValue) {
  expect_data_read("capture:aten._local_scalar_dense",
                   [](const Tensor& a) { return (a.sum() > 0).is_nonzero(); });
  expect_data_read("capture:aten.allclose", [](const Tensor& a) { return at::allclose(a, a); });
}

TEST(DataRead, Equal) {
  expect_data_read("capture:aten.equal", [](const Tensor& a) { return at::equal(a, a.to(at::kDouble)); });
}

TEST(DataRead, Pointers) {
  expect_data_read("capture:data_ptr", [](const Tensor& a) { return a.data_ptr(); });
  expect_data_read("capture:data_ptr", [](const Tensor& a) { return a.data_ptr<float>()[0]; });
  expect_data_read("capture:data_ptr", [](const Tensor& a) { return a.const_data_ptr<float>()[0]; });
  expect_data_read("capture:data_ptr", [](const Tensor& a) { return a.mutable_data_ptr(); });
  expect_data_read("capture:data_ptr", [](const Tensor& a) { return (a + 1).storage().data(); });
}

TEST(DataRead, Accessors) {
  expect_data_read("capture:data_ptr", [](const Tensor& a) { return a.accessor<float, 1>()[1]; });
  expect_data_read("capture:data_ptr", [](const Tensor& a) { return a.packed_accessor32<float, 1>()[1]; });
}

TEST(DataRead, ACapturedTensorThatTheFunctionHasChanged) {
  auto state = torch::zeros({});
  auto compiled = compile([&](const Tensor& a) {
    state.add_(a.sum());
    return a * state.item<float>();
  });
  auto x = torch::randn({3});
  expect_error(ErrorCode::DataRead, "capture:aten._local_scalar_dense", "the function reads the", {x, state},
               [&] { compiled(x); });
}

TEST(DataRead, Printing) {
  auto x = torch::randn({3});
  auto compiled = compile([](const Tensor& a) {
    std::ostringstream text;
    text << a;
    return a + 1;
  });
  expect_error(ErrorCode::DataRead, "capture:data_ptr", "the function reads the", {x}, [&] { compiled(x); });
}

TEST(DataRead, NumbersTheHostWroteMayBeRead) {
  auto compiled = compile([](const Tensor& a) {
    auto number = torch::empty({});
    *number.data_ptr<float>() = 2.5F;
    return a * number.item<float>();
  });
  auto x = torch::randn({3});
  EXPECT_TRUE(at::equal(compiled(x), x * 2.5F));
}

}  // namespace
}  // namespace antegrad::test
