// Ops of other libraries about which too little is known, and what register_shape refuses.
#include <torch/library.h>

#include "error/expect_error.h"

namespace antegrad::test {
namespace {

using at::Tensor;

int runs = 0;

Tensor counted(const Tensor& x) {
  ++runs;
  return x.clone();
}
int64_t number(const Tensor& x) {
  ++runs;
  return x.size(0);
}
std::tuple<Tensor, int64_t> mixed(const Tensor& x) {
  ++runs;
  return {x.clone(), 1};
}

TORCH_LIBRARY(antegrad_strange, library) {
  library.def("opaque(Tensor x) -> Tensor");
  library.def("everywhere(Tensor x) -> Tensor");
  library.def("number(Tensor x) -> int");
  library.def("mixed(Tensor x) -> (Tensor, int)");
  library.def("sizes(Tensor x) -> Tensor", {at::Tag::dynamic_output_shape});
  library.def("two(Tensor x) -> Tensor");
  library.def("list(Tensor x) -> Tensor");
  library.def("picky(Tensor x) -> Tensor");
  library.def("views(Tensor(a) x) -> (Tensor(a), Tensor(a))");
}
TORCH_LIBRARY_IMPL(antegrad_strange, CPU, library) {
  for (const char* name : {"opaque", "sizes", "two", "list", "picky"}) library.impl(name, counted);
  library.impl("number", number);
  library.impl("mixed", mixed);
  library.impl("views", [](const Tensor& x) {
    ++runs;
    return std::make_tuple(x.select(0, 0), x.select(0, 1));
  });
}
TORCH_LIBRARY_IMPL(antegrad_strange, CompositeExplicitAutograd, library) {
  library.impl("everywhere", counted);
}
TORCH_LIBRARY_IMPL(antegrad_strange, Meta, library) {
  library.impl("views", [](const Tensor& x) { return std::make_tuple(x.select(0, 0), x.select(0, 1)); });
}

template <class Result = Tensor>
Result call(const std::string& name, const Tensor& x) {
  return c10::Dispatcher::singleton()
      .findSchemaOrThrow(("antegrad_strange::" + name).c_str(), "")
      .template typed<Result(const Tensor&)>()
      .call(x);
}

/// Checks that the capture fails with this error, that no kernel has run, and that eager calls work.
template <class F>
void expect_capture_error(ErrorCode code, const std::string& op, const std::string& fact, const F& function) {
  runs = 0;
  const auto x = torch::randn({3, 4});
  auto compiled = compile(function);
  expect_error(code, op, fact, {x}, [&] { compiled(x); });
  EXPECT_EQ(runs, 0) << op;
  Options options;
  options.unsupported = Unsupported::Eager;
  if (code == ErrorCode::InvalidArgument) return;
  auto eager = compile(function, options);
  EXPECT_TRUE(at::equal(eager(x), function(x)));
  EXPECT_EQ(runs, 2) << op;
}

TEST(ForeignOpErrors, NothingSaysWhatTheResultsAreLike) {
  for (const std::string name : {"opaque", "everywhere"})
    expect_capture_error(ErrorCode::UnsupportedOp, "capture:antegrad_strange." + name,
                         "the shapes of its results are unknown: it is an op of another library and has no "
                         "Meta kernel. Describe them with antegrad::register_shape(\"antegrad_strange::" +
                             name + "\", f), or register a kernel for the dispatch key Meta.",
                         [name](const Tensor& x) { return call(name, x) + 1; });
}

TEST(ForeignOpErrors, OnlyTensorsCanBeRecorded) {
  expect_capture_error(ErrorCode::UnsupportedOp, "capture:antegrad_strange.number",
                       "it returns a value of type int, and only tensors can be recorded",
                       [](const Tensor& x) { return x * call<int64_t>("number", x); });
  expect_capture_error(
      ErrorCode::UnsupportedOp, "capture:antegrad_strange.mixed", "it returns a value of type int",
      [](const Tensor& x) { return std::get<0>(call<std::tuple<Tensor, int64_t>>("mixed", x)) + 1; });
}

TEST(ForeignOpErrors, SizesThatDependOnData) {
  expect_capture_error(ErrorCode::DataDependentShape, "capture:antegrad_strange.sizes", "depends on the data",
                       [](const Tensor& x) { return call("sizes", x) + 1; });
}

TEST(ForeignOpErrors, SeveralViews) {
  expect_capture_error(
      ErrorCode::UnsupportedOp, "functionalize:antegrad_strange.views",
      "it returns views, but not just one view of its first argument in the same dtype",
      [](const Tensor& x) { return std::get<0>(call<std::tuple<Tensor, Tensor>>("views", x)) + 1; });
}

TEST(ForeignOpErrors, ShapesThatDoNotFitTheSchema) {
  const auto like = [](const std::vector<c10::IValue>& arguments) {
    return at::empty_like(arguments[0].toTensor());
  };
  register_shape("antegrad_strange::two", [&](const std::vector<c10::IValue>& arguments) {
    return std::vector<c10::IValue>{like(arguments), like(arguments)};
  });
  register_shape("antegrad_strange::list", [&](const std::vector<c10::IValue>& arguments) {
    return std::vector<c10::IValue>{std::vector<Tensor>{like(arguments)}};
  });
  expect_capture_error(ErrorCode::InvalidArgument, "capture:antegrad_strange.two",
                       "2 results were given where the schema has 1. Correct the function given to "
                       "register_shape(\"antegrad_strange::two\").",
                       [](const Tensor& x) { return call("two", x) + 1; });
  expect_capture_error(ErrorCode::InvalidArgument, "capture:antegrad_strange.list",
                       "result 0 is a GenericList where the schema has a tensor",
                       [](const Tensor& x) { return call("list", x) + 1; });
}

TEST(ForeignOpErrors, WhatAShapeFunctionThrowsComesOut) {
  register_shape("antegrad_strange::picky", [](const std::vector<c10::IValue>&) -> std::vector<c10::IValue> {
    throw std::out_of_range("mine");
  });
  auto compiled = compile([](const Tensor& x) { return call("picky", x) + 1; });
  EXPECT_ANY_THROW(compiled(torch::randn({3})));
}

TEST(ForeignOpErrors, NamesThatRegisterShapeRefuses) {
  const auto shape = [](const std::vector<c10::IValue>&) { return std::vector<c10::IValue>{}; };
  const auto expect = [&](const std::string& op, const std::string& fact) {
    expect_error(ErrorCode::InvalidArgument, "register_shape", fact, {}, [&] { register_shape(op, shape); });
  };
  for (const char* op :
       {"", "op", "::op", "lib::", "lib::op.", "lib:op", "lib::o p", "lib::op.a.b", "lib.op"})
    expect(op, std::string("\"") + op +
                   "\" is not the name of an op. Write library::op, or library::op.overload.");
  expect("aten::add.Tensor", "aten::add.Tensor is an op of LibTorch, not of a library of yours");
  expect("_c10d_functional::all_reduce", "is an op of LibTorch");
  expect_error(ErrorCode::InvalidArgument, "register_shape", "the function for lib::op is empty", {},
               [] { register_shape("lib::op", ShapeFunction()); });
}

TEST(ForeignOpErrors, CollectivesInPlaceAreNotCaptured) {
  const auto reduce = c10::Dispatcher::singleton().findSchema({"_c10d_functional::all_reduce_", ""});
  ASSERT_TRUE(reduce.has_value());
  const auto op = reduce->typed<Tensor&(Tensor&, std::string, std::string)>();
  auto compiled = compile([&](const Tensor& x) {
    auto y = x * 2;
    return op.call(y, "sum", "no such group") + 1;
  });
  const auto x = torch::randn({3});
  expect_error(
      ErrorCode::UnsupportedOp, "capture:_c10d_functional.all_reduce_",
      "it communicates in place, and only collectives that return their results can be captured. Call "
      "antegrad::distributed::all_reduce and the like, or communicate between compiled functions.",
      {x}, [&] { compiled(x); });
}

}  // namespace
}  // namespace antegrad::test
