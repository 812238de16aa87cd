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

at::ScalarType differentiable_dtype(Rng& rng) {
  static const std::vector<at::ScalarType> rare = {at::kFloat, at::kLong, at::kLong, at::kBool};
  return rng.percent(85) ? at::kDouble : rng.pick(rare);
}

/// Errors about gradients, on which eager and compiled must agree, as opposed to errors about shapes or
/// dtypes.
bool is_autograd_error(const std::exception& error) {
  const auto* torch_error = dynamic_cast<const c10::Error*>(&error);
  if (!torch_error) return false;
  const std::string_view text = torch_error->what_without_backtrace();
  return text.find("leaf Variable") != std::string::npos || text.find("no_grad") != std::string::npos ||
         text.find("requires grad") != std::string::npos || text.find("requires_grad") != std::string::npos;
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

/// A program under construction: statements are executed as they are proposed, and those that fail are
/// discarded.
class Generator {
 public:
  Generator(uint64_t seed, uint64_t attempt, const GeneratorConfig& config)
      : config_(config), rng_(seed * 64 + attempt) {
    program_.seed = seed;
    rng_.awkward = config.awkward_numbers;
    extents_ = {rng_.range(2, 3), rng_.range(2, 4), 1};
  }

  Program generate() {
    make_tensors();
    const int64_t wanted = rng_.range(config_.min_statements, config_.max_statements);
    for (int64_t tries = 0; tries < wanted * 10 && std::ssize(program_.statements) < wanted && !throws_;
         ++tries)
      add_statement();
    choose_outputs();
    if (config_.gradients) choose_derivatives();
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

  /// An alias of an earlier tensor; the geometry is random and may overlap with that of others.
  void make_alias(TensorSpec& spec, const at::Tensor& base) {
    static const std::vector<Link> links = {Link::Same, Link::View,   Link::View,
                                            Link::View, Link::Detach, Link::Data};
    spec.link = rng_.pick(links);
    if (spec.link == Link::Data && !config_.separate_versions) spec.link = Link::View;
    spec.dtype = base.scalar_type();
    spec.requires_grad = spec.non_leaf = false;
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
      spec.dtype = config_.gradients ? differentiable_dtype(rng_) : random_dtype(rng_);
      if (config_.awkward_numbers && rng_.percent(40))
        spec.dtype = rng_.percent(50) ? at::kHalf : at::kBFloat16;
      spec.awkward = config_.awkward_numbers && c10::isFloatingType(spec.dtype) && rng_.percent(50);
      spec.whole_numbers = rng_.percent(60);
      spec.value_seed = rng_.bits() >> 8;
      if (config_.requires_grad && c10::isFloatingType(spec.dtype))
        spec.requires_grad = rng_.percent(config_.gradients ? 45 : 10);
      if (config_.gradients && c10::isFloatingType(spec.dtype) && !spec.requires_grad)
        spec.non_leaf = rng_.percent(60);
      if (i > 0 && rng_.percent(config_.gradients ? 18 : 30)) {
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

  /// Limits writes: in programs with gradients too many of them lead to errors.
  OpGroup choose_group() {
    const int64_t ticket = rng_.below(100);
    if (config_.gradients)
      return ticket < 60   ? OpGroup::Pure
             : ticket < 83 ? OpGroup::View
             : ticket < 96 ? OpGroup::InPlace
             : ticket < 97 ? OpGroup::Out
                           : OpGroup::Metadata;
    return ticket < 38   ? OpGroup::Pure
           : ticket < 64 ? OpGroup::View
           : ticket < 86 ? OpGroup::InPlace
           : ticket < 91 ? OpGroup::Out
                         : OpGroup::Metadata;
  }

  const Op* choose_op() {
    const OpGroup group = choose_group();
    const bool computes = group == OpGroup::Pure || group == OpGroup::InPlace;
    const bool smooth = config_.gradients && computes && rng_.percent(70);
    std::vector<const Op*> fitting;
    for (const Op& op : all_ops())
      if (op.group == group && (!op.enabled || config_.*op.enabled) && (!smooth || op.smooth))
        fitting.push_back(&op);
    return fitting.empty() ? nullptr : rng_.pick(fitting);
  }

  at::Tensor value_of(int var) const {
    for (const Var& known : scope_.vars())
      if (known.id == var) return known.tensor;
    throw std::out_of_range("unknown variable");
  }

  bool is_kept(const at::Tensor& tensor) const {
    return std::any_of(program_.statements.begin(), program_.statements.end(), [&](const Statement& s) {
      return s.kept && std::any_of(s.results.begin(), s.results.end(), [&](int var) {
               return value_of(var).storage().is_alias_of(tensor.storage());
             });
    });
  }

  static bool share_memory(const Tensors& some, const Tensors& others) {
    for (const at::Tensor& a : some)
      for (const at::Tensor& b : others)
        if (a.storage().is_alias_of(b.storage())) return true;
    return false;
  }

  void add_statement() {
    Statement s;
    s.op = choose_op();
    s.grad_mode = next_grad_mode();
    if (!s.op || !s.op->propose(rng_, scope_, s)) return;
    Tensors args, results;
    for (const int var : s.args) args.push_back(value_of(var));
    // Known gap: gradients of writes to no elements.
    for (int i = 0; config_.gradients && i < s.op->writes; ++i)
      if (args[static_cast<size_t>(i)].numel() == 0) return;
    for (int i = 0; i < s.op->writes; ++i)
      if (!config_.writes_kept && is_kept(args[static_cast<size_t>(i)])) return;
    try {
      results = apply(s, args, RunMode::Checked);
    } catch (const std::exception& error) {
      throws_ = config_.gradients && s.op->writes > 0 && is_autograd_error(error) && rng_.percent(8);
      if (throws_) program_.statements.push_back(s);
      return;
    }
    for (const at::Tensor& result : results)
      if (result.numel() > kMaxNumel || result.dim() > kMaxDims) return;
    for (const at::Tensor& result : results) {
      s.results.push_back(next_var_);
      scope_.add(next_var_++, result);
    }
    s.kept = config_.keeps_results && s.op->group == OpGroup::Pure && rng_.percent(25);
    if (!config_.keeps_operands && share_memory(results, args)) s.kept = false;
    program_.statements.push_back(s);
  }

  GradMode next_grad_mode() {
    static const std::vector<GradMode> modes = {GradMode::Off, GradMode::Off, GradMode::OnWithinOff,
                                                GradMode::On};
    if (!config_.gradients) return GradMode::Outer;
    if (region_left_ == 0 && rng_.percent(6)) {
      region_mode_ = rng_.pick(modes);
      region_left_ = rng_.range(1, 3);
    }
    if (region_left_ == 0) return GradMode::Outer;
    --region_left_;
    return region_mode_;
  }

  /// Only the last derivative may free the graph.
  void choose_derivatives() {
    using Kind = Derivative::Kind;
    program_.called_without_grad = rng_.percent(4);
    if (rng_.percent(8)) program_.derivatives.push_back({Kind::Disturb, rng_.bits() >> 8});
    for (const auto& [kind, chance] :
         {std::pair(Kind::Retain, 35), std::pair(Kind::Subset, 40), std::pair(Kind::Second, 80)})
      if (rng_.percent(chance)) program_.derivatives.push_back({kind, rng_.bits() >> 8});
    if (program_.derivatives.size() > 1 && rng_.percent(50))
      std::swap(program_.derivatives[program_.derivatives.size() - 2], program_.derivatives.back());
    if (program_.derivatives.empty() || rng_.percent(50))
      program_.derivatives.push_back({Kind::Backward, rng_.bits() >> 8});
  }

  /// Returns a variable that shares storage with an output, if there is one.
  int alias_of_output() {
    const int output = program_.outputs.empty() ? kUndefined : rng_.pick(program_.outputs);
    if (output == kUndefined) return scope_.pick(rng_)->id;
    const at::Tensor tensor = value_of(output);
    return scope_.pick(rng_, [&](const at::Tensor& t) { return t.storage().is_alias_of(tensor.storage()); })
        ->id;
  }

  int any_output() {
    const Var* with_grad = nullptr;
    if (config_.gradients && rng_.percent(60))
      with_grad = scope_.pick(rng_, [](const at::Tensor& t) { return t.requires_grad() && !t.is_leaf(); });
    return with_grad ? with_grad->id : rng_.pick(scope_.vars()).id;
  }

  void choose_outputs() {
    for (int64_t count = rng_.range(1, 5); count > 0; --count) {
      if (rng_.percent(4))
        program_.outputs.push_back(kUndefined);
      else if (!program_.outputs.empty() && rng_.percent(8))
        program_.outputs.push_back(rng_.pick(program_.outputs));
      else
        program_.outputs.push_back(rng_.percent(25) ? alias_of_output() : any_output());
    }
  }

  const GeneratorConfig& config_;
  Rng rng_;
  Program program_;
  Scope scope_;
  Sizes extents_;
  int next_var_ = 0;
  bool throws_ = false;  ///< the last statement throws in eager
  GradMode region_mode_ = GradMode::Outer;
  int64_t region_left_ = 0;
};

bool runs(const Program& program, bool may_throw) {
  try {
    const World world = make_world(program);
    const at::AutoGradMode mode(at::GradMode::is_enabled() && !program.called_without_grad);
    Kept kept;
    run(program, world.inputs, world.captured, RunMode::Checked, &kept);
    return true;
  } catch (const std::exception& error) {
    return may_throw && is_autograd_error(error);
  }
}

}  // namespace

Program generate(uint64_t seed, const GeneratorConfig& config) {
  const at::AutoGradMode mode(config.gradients);
  for (uint64_t attempt = 0; attempt < 64; ++attempt) {
    Program program = Generator(seed, attempt, config).generate();
    if (std::ssize(program.statements) >= config.min_statements && runs(program, config.gradients))
      return program;
  }
  throw std::logic_error("no program for this seed");
}

}  // namespace antegrad::fuzz
