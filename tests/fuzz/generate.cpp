#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <numeric>
#include <stdexcept>

#include "fuzz/op.h"

namespace antegrad::fuzz {
namespace {

constexpr int64_t kMaxNumel = 200;
constexpr int64_t kMaxDims = 5;

at::ScalarType random_dtype(Rng& rng) {
  static const std::vector<at::ScalarType> rare = {at::kDouble, at::kInt,      at::kBool,
                                                   at::kByte,   at::kBFloat16, at::kComplexFloat};
  if (rng.percent(60)) return at::kFloat;
  return rng.percent(50) ? at::kLong : rng.pick(rare);
}

Sizes contiguous_strides(const Sizes& sizes) {
  Sizes strides(sizes.size());
  int64_t stride = 1;
  for (size_t d = sizes.size(); d-- > 0;) {
    strides[d] = stride;
    stride *= std::max<int64_t>(1, sizes[d]);
  }
  return strides;
}

/// One program in the making: statements are executed as they are proposed, and those that fail are
/// forgotten.
class Generator {
 public:
  Generator(uint64_t seed, uint64_t attempt, const GeneratorConfig& config)
      : config_(config), rng_(seed * 64 + attempt) {
    program_.seed = seed;
    extents_ = {rng_.range(2, 3), rng_.range(2, 4), 1};
  }

  Program generate() {
    make_tensors();
    const int64_t wanted = rng_.range(config_.min_statements, config_.max_statements);
    for (int64_t tries = 0; tries < wanted * 10 && std::ssize(program_.statements) < wanted; ++tries)
      add_statement();
    choose_outputs();
    return program_;
  }

 private:
  Sizes random_sizes() {
    Sizes sizes(static_cast<size_t>(rng_.pick(std::vector<int64_t>{0, 1, 1, 2, 2, 2, 3})));
    for (int64_t& size : sizes) size = rng_.percent(2) ? 0 : rng_.pick(extents_);
    return sizes;
  }

  void make_geometry(TensorSpec& spec) {
    spec.sizes = random_sizes();
    spec.strides = contiguous_strides(spec.sizes);
    const int64_t way = rng_.below(10);
    if (way == 0 || way == 1) {  // transposed
      std::reverse(spec.sizes.begin(), spec.sizes.end());
      std::reverse(spec.strides.begin(), spec.strides.end());
    } else if (way == 2 || way == 3) {  // every other element of a part
      for (int64_t& stride : spec.strides) stride *= 2;
      spec.offset = rng_.range(0, 3);
    } else if (way == 4 && !spec.sizes.empty()) {  // expanded
      spec.strides[0] = 0;
    }
    spec.storage_numel = extent_of(spec) + (way == 2 ? rng_.range(0, 2) : 0);
  }

  /// An alias of an earlier tensor; the geometry is random and may or may not overlap with that of others.
  void make_alias(TensorSpec& spec, const at::Tensor& base) {
    static const std::vector<Link> links = {Link::Same, Link::View,   Link::View,
                                            Link::View, Link::Detach, Link::Data};
    spec.link = rng_.pick(links);
    if (spec.link == Link::Data && !config_.separate_versions) spec.link = Link::View;
    spec.dtype = base.scalar_type();
    spec.requires_grad = false;
    make_geometry(spec);
    const auto room = static_cast<int64_t>(base.storage().nbytes() / base.itemsize());
    spec.offset = 0;
    const int64_t reach = extent_of(spec);
    if (spec.link == Link::Same || rng_.percent(30) || reach > room) {  // exactly the base
      spec.sizes = base.sizes().vec();
      spec.strides = base.strides().vec();
      spec.offset = base.storage_offset();
    } else {
      spec.offset = rng_.range(0, room - reach);
    }
    spec.storage_numel = 0;
  }

  void make_tensors() {
    const int64_t captured = rng_.percent(50) ? 0 : rng_.range(1, 2);
    const int64_t total = captured + rng_.range(1, 4);
    for (int64_t i = 0; i < total; ++i) {
      TensorSpec spec;
      spec.var = next_var_++;
      spec.captured = i < captured;
      spec.dtype = random_dtype(rng_);
      spec.whole_numbers = rng_.percent(60);
      spec.value_seed = rng_.bits() >> 8;
      spec.requires_grad = config_.requires_grad && c10::isFloatingType(spec.dtype) && rng_.percent(10);
      if (i > 0 && rng_.percent(30)) {
        const Var& base = rng_.pick(scope_.vars());
        spec.base = base.id;
        make_alias(spec, base.tensor);
      } else {
        make_geometry(spec);
      }
      program_.tensors.push_back(spec);
      const World world = make_world(program_);
      scope_.add(spec.var, spec.captured ? world.captured.back() : world.inputs.back(), spec.captured);
    }
    const World world = make_world(program_);
    Scope scope;
    size_t next_input = 0, next_captured = 0;
    for (const TensorSpec& spec : program_.tensors)
      scope.add(spec.var, spec.captured ? world.captured[next_captured++] : world.inputs[next_input++],
                spec.captured);
    scope_ = scope;
  }

  const Op* choose_op() {
    const int64_t ticket = rng_.below(100);
    const OpGroup group = ticket < 38   ? OpGroup::Pure
                          : ticket < 64 ? OpGroup::View
                          : ticket < 86 ? OpGroup::InPlace
                          : ticket < 91 ? OpGroup::Out
                                        : OpGroup::Metadata;
    std::vector<const Op*> fitting;
    for (const Op& op : all_ops())
      if (op.group == group && (!op.enabled || config_.*op.enabled)) fitting.push_back(&op);
    return fitting.empty() ? nullptr : rng_.pick(fitting);
  }

  at::Tensor value_of(int var) const {
    for (const Var& known : scope_.vars())
      if (known.id == var) return known.tensor;
    throw std::out_of_range("unknown variable");
  }

  void add_statement() {
    Statement s;
    s.op = choose_op();
    if (!s.op || !s.op->propose(rng_, scope_, s)) return;
    Tensors args, results;
    for (const int var : s.args) args.push_back(value_of(var));
    try {
      results = apply(s, args, RunMode::Checked);
    } catch (const std::exception&) {
      return;
    }
    for (const at::Tensor& result : results)
      if (result.numel() > kMaxNumel || result.dim() > kMaxDims) return;
    for (const at::Tensor& result : results) {
      s.results.push_back(next_var_);
      scope_.add(next_var_++, result);
    }
    program_.statements.push_back(s);
  }

  /// A variable that shares storage with an output, if one can be found.
  int alias_of_output() {
    const int output = program_.outputs.empty() ? kUndefined : rng_.pick(program_.outputs);
    if (output == kUndefined) return scope_.pick(rng_)->id;
    const at::Tensor tensor = value_of(output);
    return scope_.pick(rng_, [&](const at::Tensor& t) { return t.storage().is_alias_of(tensor.storage()); })
        ->id;
  }

  void choose_outputs() {
    const auto& vars = scope_.vars();
    for (int64_t count = rng_.range(1, 5); count > 0; --count) {
      if (rng_.percent(4))
        program_.outputs.push_back(kUndefined);
      else if (!program_.outputs.empty() && rng_.percent(8))
        program_.outputs.push_back(rng_.pick(program_.outputs));
      else
        program_.outputs.push_back(rng_.percent(25) ? alias_of_output() : rng_.pick(vars).id);
    }
  }

  const GeneratorConfig& config_;
  Rng rng_;
  Program program_;
  Scope scope_;
  Sizes extents_;
  int next_var_ = 0;
};

bool runs(const Program& program) {
  try {
    const World world = make_world(program);
    run(program, world.inputs, world.captured, RunMode::Checked);
    return true;
  } catch (const std::exception&) {
    return false;
  }
}

}  // namespace

Program generate(uint64_t seed, const GeneratorConfig& config) {
  const at::NoGradGuard no_grad;
  for (uint64_t attempt = 0; attempt < 64; ++attempt) {
    Program program = Generator(seed, attempt, config).generate();
    if (std::ssize(program.statements) >= config.min_statements && runs(program)) return program;
  }
  throw std::logic_error("no program for this seed");
}

}  // namespace antegrad::fuzz
