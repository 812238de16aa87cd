// What exports refuse, each with its own message, and what running and parsing an exported graph refuse.
#include "error/expect_error.h"

namespace antegrad::test {
namespace {

using at::Tensor;

template <class F, class... Args>
void expect_refused(const std::string& fact, const std::vector<Tensor>& tensors, const F& function,
                    const Args&... args) {
  expect_error(ErrorCode::UnsupportedTensor, "export", fact, tensors,
               [&] { export_inference(function, args...); });
}

// ERR-05: metadata
TEST(ExportErrors, MetadataMutation) {
  auto x = torch::randn({2, 3});
  expect_refused(
      "changes the shape or the storage of input 'arg0'", {x}, [](const Tensor& a) { return a.t_(); }, x);
  expect_refused(
      "changes the shape or the storage of input 'arg1'", {x},
      [](const Tensor& a, const Tensor& b) { return a.sum() + b.unsqueeze_(0); }, x, x.clone());
  expect_refused(
      "changes the shape or the storage of input 'arg0'", {x},
      [](const Tensor& a) {
        return a.resize_({4, 4}).zero_();
      },
      x);
  expect_refused(
      "changes requires_grad of input 'arg0'", {x}, [](const Tensor& a) { a.set_requires_grad(true); }, x);
  auto w = torch::randn({2, 3}).requires_grad_();
  expect_error(
      ErrorCode::UnsupportedTensor, "export", "changes the shape or the storage of input 'arg1'", {x, w},
      [&] { export_joint([](const Tensor& a, const Tensor& b) { return (a * b.t_().t()).sum(); }, w, x); });
}

// ERR-05: mutated inputs that share memory
TEST(ExportErrors, MutatedAliases) {
  auto whole = torch::randn({6});
  auto part = whole.slice(0, 0, 3);
  auto function = [](const Tensor& a, const Tensor& b) { return a.mul_(2).sum() + b.sum(); };
  expect_refused("inputs 'arg0' and 'arg1' share memory", {whole}, function, part, whole);
  auto captured = torch::randn({3});
  expect_refused(
      "inputs 'arg0' and 'lifted0' share memory", {captured},
      [&](const Tensor& a) { return a.mul_(2) + captured; }, captured);
  expect_refused(
      "writes to input 'arg0' and reaches memory outside it", {whole},
      [](const Tensor& a) { return a.as_strided({6}, {1}).mul_(2); }, part);
  // Parts of one storage that do not overlap are no aliases, and aliases may be read.
  const auto apart = export_inference(function, part, whole.slice(0, 3, 6));
  EXPECT_TRUE(at::equal(apart.run({part, part})[1], part * 2));
  const auto read =
      export_inference([](const Tensor& a, const Tensor& b) { return a + b.sum(); }, part, whole);
  EXPECT_TRUE(at::equal(read.run({part, whole})[0], part + whole.sum()));
}

// ERR-05: mutated duplicates
TEST(ExportErrors, MutatedDuplicates) {
  auto x = torch::randn({3});
  expect_refused(
      "inputs 'arg0' and 'arg2' are the same tensor", {x},
      [](const Tensor& a, const Tensor& b, const Tensor& c) { return a.mul_(2) + b + c; }, x, x.clone(), x);
}

TEST(ExportErrors, StorageOffsets) {
  auto x = torch::randn({6});
  expect_refused(
      "as_strided() counts from the start of the storage that input 'arg0' is a part of", {x},
      [](const Tensor& a) { return a.as_strided({2}, {1}, 1) + 1; }, x.slice(0, 2, 6));
  const auto whole = export_inference([](const Tensor& a) { return a.as_strided({2}, {1}, 1) + 1; }, x);
  EXPECT_TRUE(at::equal(whole.run({x})[0], x.slice(0, 1, 3) + 1));
}

TEST(ExportErrors, NothingToDifferentiate) {
  auto x = torch::randn({3});
  expect_error(ErrorCode::InvalidArgument, "export", "no result of the function needs a gradient", {x},
               [&] { export_joint([](const Tensor& a) { return a + 1; }, x); });
}

// What eager's backward() throws, the export throws.
TEST(ExportErrors, BackwardThatThrows) {
  auto x = torch::randn({3}).requires_grad_();
  auto function = [](const Tensor& a) {
    auto y = a.exp();
    auto z = y * 2;
    y.add_(1);
    return z + y;
  };
  try {
    export_joint(function, x);
    ADD_FAILURE() << "no error";
  } catch (const std::exception& error) {
    EXPECT_NE(std::string(error.what()).find("modified by an inplace operation"), std::string::npos)
        << error.what();
  }
  EXPECT_NO_THROW(export_inference(function, x));
}

TEST(ExportErrors, InsideACapture) {
  auto x = torch::randn({3});
  const auto exported = export_inference([](const Tensor& a) { return a + 1; }, x);
  auto runs = compile([&](const Tensor& a) { return exported.run({a})[0]; });
  expect_error(ErrorCode::UnsupportedOp, "export:run", "runs inside a captured function", {x},
               [&] { runs(x); });
  auto exports = compile([&](const Tensor& a) {
    export_inference([](const Tensor& b) { return b + 1; }, a);
    return a + 1;
  });
  expect_error(ErrorCode::UnsupportedOp, "export", "exported inside a captured function", {x},
               [&] { exports(x); });
}

TEST(ExportErrors, WrongInputsOfARun) {
  auto x = torch::randn({2, 3});
  const auto exported = export_inference([](const Tensor& a) { return a + 1; }, x);
  auto expect = [&](const std::string& fact, const std::vector<Tensor>& inputs) {
    expect_error(ErrorCode::InvalidArgument, "export:run", fact, {x}, [&] { exported.run(inputs); });
  };
  expect("2 tensors were given where the graph has 1 inputs", {x, x});
  expect("input 'arg0' is f32[3,2] where the graph takes f32[2,3]", {torch::randn({3, 2})});
  expect("input 'arg0' is f64[2,3] where the graph takes f32[2,3]", {x.to(at::kDouble)});
  expect("input 'arg0' is none where the graph takes f32[2,3]", {Tensor()});
  expect_error(ErrorCode::InvalidArgument, "export", "no output of the name 'loss'", {x},
               [&] { exported.signature().output("loss"); });
}

TEST(ExportErrors, TextThatIsNoExportedGraph) {
  auto expect = [](ErrorCode code, const std::string& where, const std::string& fact,
                   const std::string& text) {
    expect_error(code, where, fact, {}, [&] { Exported::parse(text); });
  };
  expect(ErrorCode::Parse, "parse", "line 1", "graf");
  expect(ErrorCode::Verify, "export", "stage traced", "graph @g traced { }");
  expect(ErrorCode::Verify, "export", "symbols", "graph @g functional [s0: 2..9] { }");
  expect(ErrorCode::Verify, "export", "input 0 has no name", "graph @g functional { in %0: f32[2] user }");
  expect(ErrorCode::Verify, "export", "two inputs have the name 'x'",
         "graph @g functional { in %0: f32[2] user \"x\" in %1: f32[2] param \"x\" }");
  expect(ErrorCode::Verify, "export", "input 'x' has the role rng",
         "graph @g functional { in %0: i64[2] rng \"x\" }");
  expect(ErrorCode::Verify, "export", "'tangent:y' is no tangent of an output",
         "graph @g joint { in %0: f32[2] tangent \"tangent:y\" out %0 user \"x\" }");
  auto expect_throws = [](const std::string& text) { EXPECT_THROW(Exported::parse(text), Error) << text; };
  expect_throws("graph @g functional { in %0: f32[2] user \"x\" out %0 mutated 4 \"y\" }");
  expect_throws(
      "graph @g functional { in %0: f32[2] user \"x\" %1: f32[2] = aten.no_such_op(%0) out %1 user \"y\" }");
  expect_throws(
      "graph @g functional { in %0: f32[2] user \"x\" %1: f32[2] = aten.add.Tensor(%0) out %1 user \"y\" }");
}

}  // namespace
}  // namespace antegrad::test
