#pragma once
// Typical kernels as the scheduler would make them, built by hand.
#include "kernels/kernel_builder.h"

namespace antegrad::schedule::samples {

using ir::DType;

/// y = exp(x) * 2 + x, flat.
inline Kernel pointwise(ir::Dim n, DType dtype = DType::F32) {
  KernelBuilder b("pointwise");
  b.kernel.text = "%1 = exp(%0)\n%2 = add(mul(%1, 2), %0)";
  const auto x = b.input(dtype, n), y = b.output(dtype, n);
  const auto i = b.loop(n);
  b.section({i});
  b.comment = "%1 = exp(%0)";
  const auto value = b.load(x, affine({{i, 1}}));
  const auto exp = b.compute("exp(a)", {value}, compute_type(dtype));
  b.comment = "%2 = add(mul(%1, 2), %0)";
  const auto two = b.constant(compute_type(dtype), int64_t{2});
  b.store(y, affine({{i, 1}}), b.compute("a * b + c", {exp, two, value}, compute_type(dtype)));
  return b.kernel;
}

/// y = 3 * x, flat: limited by memory bandwidth.
inline Kernel scale(ir::Dim n) {
  KernelBuilder b("scale");
  const auto x = b.input(DType::F32, n), y = b.output(DType::F32, n);
  const auto i = b.loop(n);
  b.section({i});
  b.store(y, affine({{i, 1}}), b.compute("3 * a", {b.load(x, affine({{i, 1}}))}));
  return b.kernel;
}

inline Kernel row_reduce(ir::Dim rows, ir::Dim n, Combine combine, DType dtype = DType::F32) {
  KernelBuilder b("row_" + std::string(name(combine)));
  const auto x = b.input(dtype, rows * n), y = b.output(dtype, rows);
  const auto r = b.outer(rows), i = b.loop(n);
  b.section({i});
  const auto total = b.reduce(combine, b.load(x, affine({{r, n}, {i, 1}})), dtype);
  b.section();
  b.store(y, affine({{r, 1}}), total);
  return b.kernel;
}

inline Kernel softmax(ir::Dim rows, ir::Dim n) {
  KernelBuilder b("softmax");
  const auto x = b.input(DType::F32, rows * n), y = b.output(DType::F32, rows * n),
             e = b.scratch(DType::F32, n);
  const auto r = b.outer(rows), i = b.loop(n), j = b.loop(n), k = b.loop(n);
  b.section({i});
  b.comment = "%1 = amax(%0, [1])";
  const auto largest = b.reduce(Combine::Max, b.load(x, affine({{r, n}, {i, 1}})));
  b.section({j});
  b.comment = "%2 = exp(sub(%0, %1))";
  const auto exp = b.compute("exp(a - b)", {b.load(x, affine({{r, n}, {j, 1}})), largest});
  b.store(e, affine({{j, 1}}), exp);
  b.comment = "%3 = sum(%2, [1])";
  const auto sum = b.reduce(Combine::Sum, exp);
  b.section({k});
  b.comment = "%4 = div(%2, %3)";
  b.store(y, affine({{r, n}, {k, 1}}), b.compute("a / b", {b.load(e, affine({{k, 1}})), sum}));
  return b.kernel;
}

/// y = z + x / max(x): z is needed only after the reduction.
inline Kernel scaled_residual(ir::Dim rows, ir::Dim n, DType dtype = DType::F32) {
  KernelBuilder b("scaled_residual");
  const auto z = b.input(dtype, rows * n), x = b.input(dtype, rows * n), y = b.output(dtype, rows * n);
  const auto r = b.outer(rows), i = b.loop(n), j = b.loop(n);
  b.section({i});
  const auto largest = b.reduce(Combine::Max, b.load(x, affine({{r, n}, {i, 1}})));
  b.section({j});
  const auto share = b.compute("a / b", {b.load(x, affine({{r, n}, {j, 1}})), largest});
  b.store(y, affine({{r, n}, {j, 1}}), b.compute("a + b", {b.load(z, affine({{r, n}, {j, 1}})), share}));
  return b.kernel;
}

inline Kernel layer_norm(ir::Dim rows, ir::Dim n, double count) {
  KernelBuilder b("layer_norm");
  const auto x = b.input(DType::F32, rows * n), w = b.input(DType::F32, n), c = b.input(DType::F32, n);
  const auto y = b.output(DType::F32, rows * n), mean_out = b.output(DType::F32, rows);
  const auto rstd_out = b.output(DType::F32, rows);
  const auto r = b.outer(rows), i = b.loop(n), j = b.loop(n), k = b.loop(n);
  b.section({i});
  b.comment = "%mean = mean(%x, [1])";
  const auto sum = b.reduce(Combine::Sum, b.load(x, affine({{r, n}, {i, 1}})));
  b.section();
  const auto number = b.constant(DType::F32, count);
  const auto mean = b.compute("a / b", {sum, number});
  b.store(mean_out, affine({{r, 1}}), mean);
  b.section({j});
  b.comment = "%var = var(%x, [1])";
  const auto centred = b.compute("a - b", {b.load(x, affine({{r, n}, {j, 1}})), mean});
  const auto squares = b.reduce(Combine::Sum, b.compute("a * a", {centred}));
  b.section();
  b.comment = "%rstd = rsqrt(%var + eps)";
  const auto rstd = b.compute("1 / sqrt(a / b + 0.00001)", {squares, number});
  b.store(rstd_out, affine({{r, 1}}), rstd);
  b.section({k});
  b.comment = "%y = (%x - %mean) * %rstd * %w + %b";
  const auto again = b.load(x, affine({{r, n}, {k, 1}}));
  const auto weight = b.load(w, affine({{k, 1}})), bias = b.load(c, affine({{k, 1}}));
  b.store(y, affine({{r, n}, {k, 1}}), b.compute("(a - b) * c * d + e", {again, mean, rstd, weight, bias}));
  return b.kernel;
}

/// The gradient of layer_norm: for x by rows, for the weight and bias by columns, in chunks.
inline Kernel layer_norm_backward(ir::Dim rows, ir::Dim n, double count, int32_t chunks,
                                  DType sums = DType::F32) {
  KernelBuilder b("layer_norm_backward");
  const auto x = b.input(DType::F32, rows * n), g = b.input(DType::F32, rows * n), w = b.input(DType::F32, n);
  const auto means = b.input(DType::F32, rows), rstds = b.input(DType::F32, rows);
  const auto dx = b.output(DType::F32, rows * n);
  const auto dw = b.output(sums, n * chunks), db = b.output(sums, n * chunks);
  b.kernel.chunks = chunks;
  const auto r = b.outer(rows), i = b.loop(n), j = b.loop(n);
  b.section();
  const auto mean = b.load(means, affine({{r, 1}})), rstd = b.load(rstds, affine({{r, 1}}));
  b.section({i});
  const auto grad = b.load(g, affine({{r, n}, {i, 1}}));
  const auto normal = b.compute("(a - b) * c", {b.load(x, affine({{r, n}, {i, 1}})), mean, rstd});
  const auto weighted = b.compute("a * b", {grad, b.load(w, affine({{i, 1}}))});
  const auto sum = b.reduce(Combine::Sum, weighted);
  const auto product = b.compute("a * b", {weighted, normal});
  const auto dot = b.reduce(Combine::Sum, product);
  const auto by_normal = b.compute("a * b", {grad, normal});
  b.accumulate(Combine::Sum, dw, affine({{i, 1}}), by_normal);
  b.accumulate(Combine::Sum, db, affine({{i, 1}}), grad);
  b.section();
  const auto number = b.constant(DType::F32, count);
  const auto mean_sum = b.compute("a / b", {sum, number}), mean_dot = b.compute("a / b", {dot, number});
  b.section({j});
  const auto grad2 = b.load(g, affine({{r, n}, {j, 1}}));
  const auto normal2 = b.compute("(a - b) * c", {b.load(x, affine({{r, n}, {j, 1}})), mean, rstd});
  const auto weight2 = b.load(w, affine({{j, 1}}));
  b.store(dx, affine({{r, n}, {j, 1}}),
          b.compute("(a * b - c - d * e) * f", {grad2, weight2, mean_sum, normal2, mean_dot, rstd}));
  return b.kernel;
}

inline Kernel column_sums(ir::Dim rows, ir::Dim n, int32_t chunks, DType sums = DType::F32) {
  KernelBuilder b("column_sums");
  const auto x = b.input(DType::F32, rows * n), y = b.output(sums, n * chunks);
  b.kernel.chunks = chunks;
  const auto r = b.outer(rows), i = b.loop(n);
  b.section({i});
  b.accumulate(Combine::Sum, y, affine({{i, 1}}), b.load(x, affine({{r, n}, {i, 1}})));
  return b.kernel;
}

/// Whether all, or any, numbers of each column are true, which threads keep as wider integers than memory
/// does.
inline Kernel column_truths(ir::Dim rows, ir::Dim n, int32_t chunks, Combine combine) {
  KernelBuilder b("column_" + std::string(name(combine)));
  const auto x = b.input(DType::Bool, rows * n), y = b.output(DType::Bool, n * chunks);
  b.kernel.chunks = chunks;
  const auto r = b.outer(rows), i = b.loop(n);
  b.section({i});
  b.accumulate(combine, y, affine({{i, 1}}), b.load(x, affine({{r, n}, {i, 1}})));
  return b.kernel;
}

inline Kernel full_sum(ir::Dim n, int32_t chunks, Combine combine = Combine::Sum) {
  KernelBuilder b("full_" + std::string(name(combine)));
  const auto x = b.input(DType::F32, n), y = b.output(DType::F32, chunks);
  b.kernel.chunks = chunks;
  const auto i = b.loop(n);
  b.section({i});
  b.accumulate(combine, y, affine({}), b.load(x, affine({{i, 1}})));
  return b.kernel;
}

/// The same as the scheduler makes it: each chunk reduces its part and accumulates the result.
inline Kernel chunked_sum(ir::Dim n, int32_t chunks, Combine combine = Combine::Sum) {
  KernelBuilder b("chunked_" + std::string(name(combine)));
  const auto x = b.input(DType::F32, n), y = b.output(DType::F64, chunks);
  b.kernel.chunks = chunks;
  const auto i = b.loop(n);
  b.section({i});
  const auto part = b.reduce(combine, b.load(x, affine({{i, 1}})));
  b.section();
  b.accumulate(combine, y, affine({}), b.cast(DType::F64, part));
  return b.kernel;
}

/// softmax over the middle of [batch, n, columns], in strips of columns.
inline Kernel middle_softmax(ir::Dim batch, ir::Dim n, ir::Dim columns) {
  KernelBuilder b("middle_softmax");
  const auto x = b.input(DType::F32, batch * n * columns), y = b.output(DType::F32, batch * n * columns);
  const auto o = b.outer(batch), c = b.outer(columns), i = b.loop(n), j = b.loop(n), k = b.loop(n);
  b.kernel.lane = c;
  const auto at = [&](int32_t loop) { return affine({{o, n * columns}, {c, 1}, {loop, columns}}); };
  b.section({i});
  const auto largest = b.reduce(Combine::Max, b.load(x, at(i)));
  b.section({j});
  const auto sum = b.reduce(Combine::Sum, b.compute("exp(a - b)", {b.load(x, at(j)), largest}));
  b.section();
  const auto inverse = b.compute("1 / a", {sum});
  b.section({k});
  b.store(y, at(k), b.compute("exp(a - b) * c", {b.load(x, at(k)), largest, inverse}));
  return b.kernel;
}

/// y[i, j] = x[index[i], j]
inline Kernel gather_rows(ir::Dim rows, ir::Dim places, ir::Dim n, bool wraps = true) {
  KernelBuilder b("gather_rows");
  const auto x = b.input(DType::F32, places * n), at = b.input(DType::I64, rows),
             y = b.output(DType::F32, rows * n);
  const auto r = b.outer(rows), i = b.loop(n);
  b.section({i});
  const auto index = b.load(at, affine({{r, 1}}));
  b.store(y, affine({{r, n}, {i, 1}}), b.load(x, affine({{i, 1}}), {{index, n, places, wraps}}));
  return b.kernel;
}

/// y[index[i], j] += x[i, j]
inline Kernel scatter_rows(ir::Dim rows, ir::Dim places, ir::Dim n, Combine combine = Combine::Sum) {
  KernelBuilder b("scatter_rows");
  const auto x = b.input(DType::F32, rows * n), at = b.input(DType::I64, rows),
             y = b.output(DType::F32, places * n);
  b.kernel.owner = true;
  b.kernel.clear = {{y, n}};
  const auto r = b.outer(rows), i = b.loop(n);
  b.section({i});
  const auto index = b.load(at, affine({{r, 1}}));
  b.scatter(combine, y, affine({{i, 1}}), {{index, n, places, true}}, b.load(x, affine({{r, n}, {i, 1}})));
  return b.kernel;
}

/// y = x where a random number is below p, times 1 / (1 - p).
inline Kernel dropout(ir::Dim n) {
  KernelBuilder b("dropout");
  const auto x = b.input(DType::F32, n), stream = b.input(DType::I64, 2), y = b.output(DType::F32, n);
  const auto i = b.loop(n);
  b.section({i});
  const auto bits = b.random(RandomKind::Bits32, stream, affine({{i, 1}}), 3);
  const auto keep = b.compute("unit(a, 24) < 0.75", {bits}, DType::F32, DType::Bool);
  b.store(y, affine({{i, 1}}), b.compute("a ? b / 0.75 : 0", {keep, b.load(x, affine({{i, 1}}))}));
  return b.kernel;
}

}  // namespace antegrad::schedule::samples
