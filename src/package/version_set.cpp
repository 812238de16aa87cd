#include <ATen/ops/empty_strided.h>
#include <c10/core/GradMode.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "antegrad/error.h"
#include "capture/assumption.h"
#include "package/refuse.h"
#include "package/state.h"
#include "runtime/calling.h"
#include "runtime/parallel.h"
#include "runtime/rng_state.h"

namespace antegrad::packaging {
namespace {

constexpr int kMostInstances = 1024;

/// Gradients that are differentiable again, from the package.
class StoredGradients final : public runtime::HigherOrder {
 public:
  /// `lifted` are the weights that the function reads, in the order of its inputs after the arguments.
  StoredGradients(std::shared_ptr<VersionSet> versions, std::vector<compiler::Placeholder> arguments,
                  runtime::Ambient ambient, std::shared_ptr<const Weights> weights,
                  const std::vector<LiftedRecord>& lifted)
      : versions_(std::move(versions)),
        arguments_(std::move(arguments)),
        ambient_(ambient),
        weights_(std::move(weights)) {
    for (const auto& record : lifted) lifted_.push_back(record.weight);
  }

  std::vector<at::Tensor> gradients(const std::vector<at::Tensor>& primals,
                                    const std::vector<at::Tensor>& tangents) override {
    check_weights(primals);
    const runtime::AmbientGuard guard(ambient_);
    Leaves leaves;
    compiler::add_gradient_arguments(arguments_, primals, as_packaged(tangents), leaves);
    return versions_->call(leaves).tensors;
  }

  void set_types(const std::vector<runtime::TangentType>& types) {
    for (const auto& type : types) strides_.push_back(type.strides);
  }

 private:
  /// The package has code for tangents with the strides of the results, all with histories or all without.
  std::vector<at::Tensor> as_packaged(std::vector<at::Tensor> tangents) const {
    const bool with_histories = std::ranges::any_of(
        tangents, [](const at::Tensor& tangent) { return tangent.defined() && tangent.requires_grad(); });
    for (size_t k = 0; k < tangents.size(); ++k) {
      auto& tangent = tangents[k];
      if (!tangent.defined()) continue;
      if (tangent.strides() != at::IntArrayRef(strides_[k]))
        tangent = at::empty_strided(tangent.sizes(), strides_[k], tangent.options()).copy_(tangent);
      if (with_histories && !tangent.requires_grad()) tangent = tangent.detach().requires_grad_();
    }
    return tangents;
  }

  /// The gradients read the weights of now, which must be those of the call.
  void check_weights(const std::vector<at::Tensor>& primals) const {
    const std::shared_lock lock(weights_->mutex);
    for (size_t k = 0; k < lifted_.size() && arguments_.size() + k < primals.size(); ++k) {
      const auto& then = primals[arguments_.size() + k];
      const auto weight = static_cast<size_t>(lifted_[k]);
      if (then.defined() && !then.is_same(weights_->tensors[weight]))
        throw Error(
            ErrorCode::NeedsGrad, "package",
            fmt::format("the weight \"{}\" was replaced between a call and its backward(create_graph)",
                        weights_->info[weight].name),
            "Replace weights after backward(), or call backward() without create_graph");
    }
  }

  const std::shared_ptr<VersionSet> versions_;
  const std::vector<compiler::Placeholder> arguments_;
  const runtime::Ambient ambient_;
  const std::shared_ptr<const Weights> weights_;
  std::vector<int32_t> lifted_;
  std::vector<std::vector<int64_t>> strides_;  ///< per tangent
};

/// Stands for derivatives that the function had and the package has not.
class NoGradients final : public runtime::HigherOrder {
 public:
  explicit NoGradients(std::string what) : what_(std::move(what)) {}
  std::vector<at::Tensor> gradients(const std::vector<at::Tensor>&, const std::vector<at::Tensor>&) override {
    throw Error(ErrorCode::NeedsGrad, "package",
                fmt::format("the package has no further derivatives of {}", what_),
                "Call backward() without create_graph, or package the function with derivatives = 2 or more");
  }

 private:
  const std::string what_;
};

std::vector<std::exception_ptr> exceptions_of(const std::vector<std::string>& texts) {
  std::vector<std::exception_ptr> out;
  for (const auto& text : texts)
    out.push_back(text.empty() ? nullptr : std::make_exception_ptr(c10::Error(text, nullptr)));
  return out;
}

compiler::VersionGuards guards_of(const VersionRecord& record, const std::vector<at::Tensor>& weights) {
  compiler::VersionGuards guards;
  guards.key = flatten_arguments(record.structure.arguments).key;
  guards.ambient = record.ambient;
  guards.arguments = record.arguments;
  for (const auto& base : record.bases) guards.bases.push_back({base.shared, base.guard});
  if (record.shapes) guards.shapes.emplace(*record.shapes);
  for (const auto& lifted : record.lifted) {
    const auto& tensor = weights[lifted.weight];
    guards.lifted.push_back(
        {c10::weak_intrusive_ptr<c10::TensorImpl>(tensor.getIntrusivePtr()), lifted.guard});
  }
  return guards;
}

/// Returns the case that computes what is wanted, and of several the one that computes least: a pass for the
/// same tangents that computes all of the wanted gradients serves as well.
std::optional<size_t> case_for(const std::vector<std::vector<bool>>& cases, const std::vector<bool>& which,
                               size_t gradients) {
  std::optional<size_t> best;
  size_t fewest = 0;
  for (size_t c = 0; c < cases.size(); ++c) {
    size_t computed = 0;
    bool serves = true;
    for (size_t i = 0; i < which.size(); ++i) {
      serves = serves && (i < gradients ? cases[c][i] || !which[i] : cases[c][i] == which[i]);
      computed += i < gradients && cases[c][i];
    }
    if (!serves || (best && computed >= fewest)) continue;
    best = c;
    fewest = computed;
  }
  return best;
}

size_t tensors_in(const std::vector<c10::IValue>& values) { return flatten_arguments(values).tensors.size(); }

}  // namespace

struct VersionSet::Loaded {
  VersionRecord record;  ///< without its plan, which the version's template has
  std::shared_ptr<const Structure> structure;
  std::shared_ptr<const compiler::Template> code;
  std::shared_ptr<compiler::Version> version;
  std::shared_ptr<VersionSet> gradients;  ///< null when they are not in the package
  std::string what;                       ///< names it in messages
};

VersionSet::VersionSet(std::shared_ptr<CodeLoader> code, std::shared_ptr<Weights> weights, std::string folder,
                       size_t count, std::string what, bool is_function)
    : code_(std::move(code)),
      weights_(std::move(weights)),
      folder_(std::move(folder)),
      what_(std::move(what)),
      count_(count),
      is_function_(is_function) {}

VersionSet::~VersionSet() {
  const std::unique_lock lock(weights_->mutex);
  std::erase(weights_->users, this);
}

void VersionSet::load() {
  if (is_loaded_.load(std::memory_order_acquire)) return;
  const std::scoped_lock loading(load_mutex_);
  if (is_loaded_.load(std::memory_order_relaxed)) return;
  std::vector<std::unique_ptr<Loaded>> all;
  std::vector<std::vector<compiler::InstancePtr>> instances(count_);
  reading_file([&] {
    for (size_t i = 0; i < count_; ++i) {
      all.push_back(load_version(i));
      for (const auto& record : all[i]->record.instances)
        instances[i].push_back(make_instance(*all[i], record, record.symbols));
    }
  });
  const std::unique_lock lock(weights_->mutex);  // from here on no weight changes unseen
  for (size_t i = 0; i < count_; ++i) {
    auto& loaded = *all[i];
    loaded.version = std::make_shared<compiler::Version>(
        guards_of(loaded.record, weights_->tensors), loaded.code, nullptr, std::map<std::string, uint64_t>());
    for (auto& instance : instances[i]) loaded.version->add(std::move(instance), kMostInstances);
    versions_.push_back(loaded.version);
  }
  all_ = std::move(all);
  weights_->users.push_back(this);
  is_loaded_.store(true, std::memory_order_release);
}

std::unique_ptr<VersionSet::Loaded> VersionSet::load_version(size_t number) const {
  const auto folder = fmt::format("{}{}/", folder_, number);
  const auto& archive = code_->archive();
  auto loaded = std::make_unique<Loaded>();
  auto& record = loaded->record;
  record = read_version(archive.read(folder + "version"), weights_->info.size());
  loaded->what = fmt::format("version {} of {}", number, what_);
  require_in_file(!is_function_ || tensors_in(record.structure.arguments) == record.arguments.size(),
                  "other arguments than its structure has");
  for (const auto& instance : record.instances)
    require_in_file(!is_function_ || tensors_in({record.structure.result}) ==
                                         static_cast<size_t>(instance.signature.user_outputs),
                    "other results than its structure has");
  loaded->structure = std::make_shared<const Structure>(record.structure);
  if (record.gradient_ambient)
    loaded->gradients =
        std::make_shared<VersionSet>(code_, weights_, folder + "gradients/", record.gradient_versions,
                                     "the gradients of " + loaded->what, false);
  compiler::TemplateParts parts{.captured = {},
                                .numbers = {},
                                .facts = record.facts,
                                .plan = std::move(record.plan),
                                .forward = nullptr,
                                .cache = compiler::FunctionCache::none(what_, code_->lowering()),
                                .lowering = code_->lowering(),
                                .traced = {}};
  parts.forward = code_->load_or_compile(folder + "forward.code", loaded->what + ", forward pass",
                                         parts.plan.forward_graph(), parts.plan.has_kernels);
  if (parts.plan.partition && parts.plan.has_kernels)
    parts.ready_backward = [code = code_, folder, cases = record.backward_cases,
                            gradients = record.facts.reached_by.size(),
                            what = loaded->what + ", backward pass"](const std::vector<bool>& which) {
      if (const auto found = case_for(cases, which, gradients))
        return code->load(fmt::format("{}backward_{}.code", folder, *found), what);
      code->allow_compiling(what, "no pass in the file computes these gradients of these results");
      return std::shared_ptr<const compiler::Lowered>();
    };
  loaded->code = std::make_shared<const compiler::Template>(std::move(parts), false);
  return loaded;
}

compiler::InstancePtr VersionSet::make_instance(const Loaded& loaded, const InstanceRecord& record,
                                                const std::vector<int64_t>& sizes) const {
  auto instance = std::make_shared<compiler::Instance>();
  instance->symbols.assign(sizes.begin(), sizes.end());
  instance->values = sizes;
  instance->values.insert(instance->values.end(), record.numbers.begin(), record.numbers.end());
  instance->pattern = loaded.structure;
  instance->grad_mode_after = record.grad_mode_after;
  instance->offsets = record.offsets;
  instance->check_aliasing = compiler::relies_on_aliasing(record.signature);
  instance->has_assumptions = record.has_assumptions;
  instance->reach = record.reach;
  runtime::BackwardFacts facts;
  std::shared_ptr<StoredGradients> gradients;
  if (record.backward) {
    facts = record.backward->facts;
    facts.reached_by = loaded.record.facts.reached_by;
    facts.errors = exceptions_of(record.backward->errors);
    auto arguments = record.gradient_arguments;
    if (loaded.record.shapes && loaded.gradients) {
      const auto shapes = loaded.record.shapes->at(sizes);
      for (size_t i = 0; i < arguments.size(); ++i)
        if (shapes[i].defined) arguments[i].sizes = shapes[i].sizes, arguments[i].strides = shapes[i].strides;
    }
    if (loaded.gradients)
      facts.higher_order = gradients =
          std::make_shared<StoredGradients>(loaded.gradients, std::move(arguments),
                                            *loaded.record.gradient_ambient, weights_, loaded.record.lifted);
    else if (record.backward->differentiable_twice)
      facts.higher_order = std::make_shared<NoGradients>(loaded.what);
  }
  instance->caller = loaded.code->instantiate(instance->values, record.signature, std::move(facts));
  if (gradients) gradients->set_types(instance->caller->backward()->tangent_types());
  return instance;
}

std::optional<compiler::Match> VersionSet::find(const compiler::Call& call) const {
  const std::shared_lock lock(weights_->mutex);
  return compiler::match(versions_, call);
}

std::optional<compiler::Match> VersionSet::find_at_new_sizes(const compiler::Call& call) {
  const std::scoped_lock making(load_mutex_);
  if (auto match = find(call)) return match;
  for (const auto& loaded : all_) {
    if (!loaded->record.any_size) continue;
    const auto symbols = loaded->version->guards().hold(call);
    if (!symbols) continue;
    auto instance =
        make_instance(*loaded, loaded->record.instances.front(), {symbols->begin(), symbols->end()});
    const std::unique_lock lock(weights_->mutex);
    loaded->version->add(std::move(instance), kMostInstances);
  }
  return find(call);
}

VersionSet::Result VersionSet::call(const Leaves& leaves, runtime::EarlyResults* early) {
  load();
  runtime::use_one_thread_after_fork();
  const detail::RunOnTensors run;
  const detail::KeepRun keep;
  const compiler::Call call{leaves, run, keep};
  auto match = find(call);
  if (!match) match = find_at_new_sizes(call);
  if (!match) refuse(call);
  const auto& instance = *match->instance;
  Result result;
  result.structure = std::static_pointer_cast<const Structure>(instance.pattern);
  if (!instance.has_assumptions) {
    result.tensors = instance.caller->call(match->inputs, early);
  } else {
    const auto generator = runtime::generator_state();
    try {
      result.tensors = instance.caller->call(match->inputs);
    } catch (const c10::Error& error) {
      if (!capture::is_broken_assumption(error)) throw;
      runtime::set_generator_state(generator);
      throw Error(ErrorCode::InvalidArgument, "package",
                  fmt::format("{} was compiled for other data: {}", what_, error.what_without_backtrace()),
                  "Package the function after calls with such data");
    }
  }
  if (c10::GradMode::is_enabled() != instance.grad_mode_after)
    c10::GradMode::set_enabled(instance.grad_mode_after);
  return result;
}

std::string VersionSet::missing_weight(const Loaded& loaded) const {
  const std::shared_lock lock(weights_->mutex);
  for (const auto& lifted : loaded.record.lifted) {
    const auto& tensor = weights_->tensors[lifted.weight];
    const auto& name = weights_->info[lifted.weight].name;
    if (!tensor.defined()) return fmt::format("the weight \"{}\" is not in the file and was not given", name);
    if (!lifted.guard.holds(tensor))
      return fmt::format("the weight \"{}\" {}", name, lifted.guard.failure(tensor));
  }
  return {};
}

void VersionSet::refuse(const compiler::Call& call) const {
  std::vector<std::string> fewest;
  for (const auto& loaded : all_) {
    auto found = loaded->version->guards().mismatches(call);
    if (auto weight = found.empty() ? missing_weight(*loaded) : ""; !weight.empty()) found.push_back(weight);
    if (found.empty()) found = loaded->version->mismatches(call);
    if (fewest.empty() || found.size() < fewest.size()) fewest = std::move(found);
  }
  throw Error(ErrorCode::InvalidArgument, "package",
              fmt::format("none of the {} versions of {} serves this call: {}", all_.size(), what_,
                          fmt::join(fewest, "; ")),
              "Call it as it was called before it was packaged, or package it after such a call");
}

void VersionSet::set_weight(int32_t weight, const at::Tensor& tensor) {
  for (const auto& loaded : all_)
    for (size_t k = 0; k < loaded->record.lifted.size(); ++k)
      if (loaded->record.lifted[k].weight == weight) loaded->version->set_lifted(k, tensor);
}

void VersionSet::load_everything() {
  load();
  for (const auto& loaded : all_) {
    for (const auto& which : loaded->record.backward_cases)
      if (loaded->code->parts().ready_backward) loaded->code->parts().ready_backward(which);
    if (loaded->gradients) loaded->gradients->load_everything();
  }
}

const std::vector<c10::IValue>& VersionSet::arguments() {
  load();
  if (all_.empty()) refuse_file(fmt::format("{} has no version", what_));
  return all_.front()->record.structure.arguments;
}

std::vector<at::Tensor> VersionSet::example() {
  load();
  std::vector<at::Tensor> out;
  for (const auto& guard : all_.at(0)->record.arguments) {
    out.emplace_back();
    if (!guard.is_plain()) continue;
    out.back() = at::empty_strided(guard.sizes(), guard.strides(), at::TensorOptions(guard.dtype())).zero_();
    if (guard.requires_grad()) out.back().set_requires_grad(true);
  }
  return out;
}

Function::Function(FunctionInfo function_info, const std::shared_ptr<CodeLoader>& code,
                   const std::shared_ptr<Weights>& weights)
    : info(std::move(function_info)),
      versions(code, weights, folder_of(info.name), info.versions.size(), fmt::format("'{}'", info.name),
               true) {}

}  // namespace antegrad::packaging
