#include "package/step.h"

#include <fmt/format.h>

#include <algorithm>

#include "antegrad/error.h"
#include "cache/format/hash.h"
#include "ir/text.h"
#include "optim/updates.h"
#include "package/refuse.h"

namespace antegrad::packaging {
namespace {

/// What the function of a step returns: its gradients first.
struct ResultOfStep {
  std::vector<c10::IValue> gradients;
  c10::IValue result;  ///< the user's; with the new values of arguments that the function assigns to, a tuple
};

ResultOfStep split(const c10::IValue& value) {
  const auto pair_in = [](const c10::IValue& candidate) {
    return candidate.isTuple() && candidate.toTupleRef().elements().size() == 2 &&
           candidate.toTupleRef().elements()[0].isList();
  };
  if (pair_in(value)) {
    const auto& pair = value.toTupleRef().elements();
    return {pair[0].toListRef().vec(), pair[1]};
  }
  require_in_file(
      value.isTuple() && !value.toTupleRef().elements().empty() && pair_in(value.toTupleRef().elements()[0]),
      "a training step without gradients");
  auto all = value.toTupleRef().elements().vec();
  const auto pair = all[0].toTupleRef().elements().vec();
  all[0] = pair[1];
  return {pair[0].toListRef().vec(), c10::ivalue::Tuple::create(std::move(all))};
}

/// The inputs and outputs of a graph over flat tensors, which callers rely on.
void check_interface(const ir::Graph& graph, const std::string& graph_text) {
  const auto wanted = ir::parse(graph_text);
  const auto same_type = [&](ir::ValueId a, ir::ValueId b) {
    return a.valid() && graph.values[a].type == wanted.values[b].type;
  };
  const auto same_input = [&](const ir::Input& a, const ir::Input& b) { return same_type(a.value, b.value); };
  const auto same_output = [&](const ir::Output& a, const ir::Output& b) {
    return a.role == b.role && a.target == b.target && same_type(a.value, b.value);
  };
  require_in_file(std::ranges::equal(graph.inputs, wanted.inputs, same_input) &&
                      std::ranges::equal(graph.outputs, wanted.outputs, same_output),
                  "the step of another optimizer");
}

StepOptions step_options(const StepRecord& record, const std::vector<at::Tensor>& weights,
                         const Options& options) {
  StepOptions out;
  FieldReader from(record.options, weights);
  visit_step_options(out, from);
  out.options = options;
  out.options.backend = record.is_eager ? Backend::Eager : Backend::Default;
  if (record.scaler) {
    out.scaler = std::make_shared<GradScaler>();
    FieldReader scaler(*record.scaler, weights);
    visit_scaler(*out.scaler, scaler);
  }
  if (record.average) {
    out.average = std::make_shared<WeightAverage>();
    FieldReader average(*record.average, weights);
    visit_average(*out.average, average);
    for (const auto number : record.averages)
      out.average->averages.push_back(number < 0 ? at::Tensor() : weights[number]);
  }
  return out;
}

/// All weights that a record names.
std::vector<int32_t> weights_of(const StepRecord& record) {
  std::vector<int32_t> out = record.trained;
  const auto add = [&](const std::vector<int32_t>& list) { out.insert(out.end(), list.begin(), list.end()); };
  const auto add_fields = [&](const Fields& fields) {
    for (const auto& [name, field] : fields)
      if (const auto* weight = std::get_if<WeightNumber>(&field)) out.push_back(weight->number);
  };
  for (const auto& group : record.groups) add(group.parameters);
  for (const auto& state : record.states) {
    out.push_back(state.parameter);
    add_fields(state.fields);
  }
  if (record.scaler) add_fields(*record.scaler);
  add(record.averages);
  add(record.accumulated);
  return out;
}

/// Replaces tensors of a state by those with the same numbers.
class StateFollower final : public optim::FieldVisitor {
 public:
  StateFollower(const Fields& fields, const std::function<void(int32_t, at::Tensor&)>& follow)
      : fields_(fields), follow_(follow) {}
  void visit(const std::string&, double&) override {}
  void visit(const std::string&, std::optional<double>&) override {}
  void visit(const std::string&, bool&) override {}
  void visit(const std::string&, int64_t&) override {}
  void visit(const std::string& name, at::Tensor& field) override {
    const auto found = fields_.find(name);
    if (found == fields_.end()) return;
    if (const auto* weight = std::get_if<WeightNumber>(&found->second)) follow_(weight->number, field);
  }

 private:
  const Fields& fields_;
  const std::function<void(int32_t, at::Tensor&)>& follow_;
};

}  // namespace

StoredUpdateCode::StoredUpdateCode(std::shared_ptr<CodeLoader> code, std::shared_ptr<Weights> weights,
                                   std::string folder, std::map<std::string, size_t> functions,
                                   std::string what, const Options& options)
    : code_(std::move(code)),
      weights_(std::move(weights)),
      folder_(std::move(folder)),
      what_("the optimizer of " + what),
      counts_(std::move(functions)),
      compiled_(options) {}

std::shared_ptr<const compiler::Lowered> StoredUpdateCode::flat(const std::string& graph_text) {
  const auto record = update_record(graph_text);
  if (!code_->archive().has(record)) {
    code_->allow_compiling(what_, "the file has no code for this step of the optimizer");
    return compiled_.flat(graph_text);
  }
  const auto code = code_->load(record, what_);
  if (!code) return compiled_.flat(graph_text);
  require_in_file(!code->is_eager(), "an optimizer without kernels");
  check_interface(code->program().graph, graph_text);
  return code;
}

VersionSet* StoredUpdateCode::function_for(const std::vector<optim::Formula>& formulas) {
  const auto folder = optim::folder_name(formulas);
  const auto count = counts_.find(folder);
  if (count == counts_.end()) return nullptr;
  auto& function = functions_[folder];
  if (!function)
    function = std::make_unique<VersionSet>(code_, weights_, fmt::format("{}{}/", folder_, folder),
                                            count->second, what_, true);
  return function.get();
}

void StoredUpdateCode::run(const std::vector<optim::Update>& updates) {
  auto* function = function_for(optim::formulas_of(updates));
  if (function == nullptr) {
    code_->allow_compiling(what_, "the file has no code for this step of the optimizer");
    return compiled_.run(updates);
  }
  const optim::CompiledUpdates::Arguments given(updates);
  function->call(flatten_arguments({given.parameters, given.gradients, given.states, given.numbers}));
}

void StoredUpdateCode::load_everything() {
  for (const auto& [record, digest] : code_->archive().manifest().records)
    if (record.starts_with(kUpdatesFolder)) code_->load(record, what_);
  for (const auto& [folder, count] : counts_) {
    VersionSet(code_, weights_, fmt::format("{}{}/", folder_, folder), count, what_, true).load_everything();
  }
}

Step::Step(StepInfo step_info, std::shared_ptr<CodeLoader> code, std::shared_ptr<Weights> weights)
    : info(std::move(step_info)),
      code_(std::move(code)),
      weights_(std::move(weights)),
      versions_(code_, weights_, step_folder(info.name), info.versions.size(), fmt::format("'{}'", info.name),
                true) {}

std::vector<at::Tensor> Step::tensors_of(const std::vector<int32_t>& weights) const {
  std::vector<at::Tensor> out;
  for (const auto number : weights) {
    out.push_back(number < 0 ? at::Tensor() : weights_->tensors[number]);
    if (number >= 0 && !out.back().defined())
      throw Error(
          ErrorCode::InvalidArgument, "package:" + info.name,
          fmt::format("the weight \"{}\" is not in the file and was not given", weights_->info[number].name),
          "Call Package::replace() before");
  }
  return out;
}

void Step::make() {
  const std::shared_lock lock(weights_->mutex);
  reading_file([&] {
    record_ = read_step(std::string(code_->archive().read(step_record(info.name))), weights_->info.size());
  });
  tensors_of(weights_of(record_));
  const auto& tensors = weights_->tensors;
  reading_file([&] {
    auto optimizer = optim::make_optimizer(record_.method);
    FieldReader defaults(record_.defaults, tensors);
    optim::visit_options(record_.method, optimizer->defaults(), defaults);
    for (const auto& group : record_.groups) {
      auto options = optimizer->defaults().clone();
      FieldReader from(group.options, tensors);
      optim::visit_options(record_.method, *options, from);
      optim::check_options(record_.method, *options);
      optimizer->add_param_group({tensors_of(group.parameters), std::move(options)});
    }
    for (const auto& stored : record_.states) {
      auto state = optim::make_state(record_.method);
      FieldReader from(stored.fields, tensors);
      optim::visit_state(record_.method, *state, from);
      optimizer->state()[tensors[stored.parameter].unsafeGetTensorImpl()] = std::move(state);
    }
    auto options = step_options(record_, tensors, code_->options().options);
    auto code = std::make_shared<StoredUpdateCode>(code_, weights_, step_folder(info.name), record_.functions,
                                                   fmt::format("'{}'", info.name), options.options);
    auto core = std::make_unique<detail::TrainingCore>(*optimizer, std::move(options), code);
    core->prepare();
    require_in_file(std::ranges::equal(core->impl().parameters, tensors_of(record_.trained),
                                       [](const auto& a, const auto& b) { return a.is_same(b); }),
                    "a training step of other parameters");
    core->impl().accumulated = tensors_of(record_.accumulated);
    require_in_file(record_.calls >= 0 && record_.calls < core->impl().options().accumulate,
                    "a number of accumulated calls that cannot be");
    core->impl().calls = record_.calls;
    optimizer_ = std::move(optimizer);
    core_ = std::move(core);
  });
  bound_ = tensors;
  generation_ = weights_->generation;
  if (const auto& scaler = core_->impl().options().scaler) scale_ = scaler->scale;
}

void Step::follow_weights() {
  if (!core_) return make();
  const std::shared_lock lock(weights_->mutex);
  if (generation_ == weights_->generation) return;
  const auto& now = weights_->tensors;
  const auto has_changed = [&](int32_t number) { return !now[number].is_same(bound_[number]); };
  auto& state = optimizer_->state();
  std::vector<std::pair<void*, std::unique_ptr<torch::optim::OptimizerParamState>>> moved;
  for (size_t g = 0; g < record_.groups.size() && g < optimizer_->param_groups().size(); ++g) {
    auto& parameters = optimizer_->param_groups()[g].params();
    for (size_t i = 0; i < record_.groups[g].parameters.size() && i < parameters.size(); ++i) {
      const auto number = record_.groups[g].parameters[i];
      if (!has_changed(number)) continue;
      if (const auto found = state.find(parameters[i].unsafeGetTensorImpl()); found != state.end()) {
        moved.emplace_back(now[number].unsafeGetTensorImpl(), std::move(found->second));
        state.erase(found);
      }
      parameters[i] = now[number];
    }
  }
  for (auto& [key, value] : moved) state[key] = std::move(value);
  const std::function<void(int32_t, at::Tensor&)> follow = [&](int32_t number, at::Tensor& tensor) {
    if (number >= 0 && has_changed(number)) tensor = now[number];
  };
  for (const auto& stored : record_.states)
    if (const auto found = state.find(now[stored.parameter].unsafeGetTensorImpl()); found != state.end()) {
      StateFollower follower(stored.fields, follow);
      optim::visit_state(record_.method, *found->second, follower);
    }
  auto& impl = core_->impl();
  if (const auto& scaler = impl.options().scaler) {
    StateFollower follower(*record_.scaler, follow);
    visit_scaler(*scaler, follower);
    scale_ = scaler->scale;
  }
  if (const auto& average = impl.options().average)
    for (size_t i = 0; i < record_.averages.size() && i < average->averages.size(); ++i)
      follow(record_.averages[i], average->averages[i]);
  for (size_t i = 0; i < impl.accumulated.size(); ++i) {
    follow(record_.trained[i], impl.parameters[i]);
    if (i < record_.accumulated.size()) follow(record_.accumulated[i], impl.accumulated[i]);
  }
  bound_ = now;
  generation_ = weights_->generation;
}

void Step::show_sums() {
  const auto& sums = core_->impl().accumulated;
  const std::unique_lock lock(weights_->mutex);
  for (size_t i = 0; i < sums.size() && i < record_.accumulated.size(); ++i)
    if (const auto number = record_.accumulated[i]; number >= 0)
      bound_[number] = weights_->tensors[number] = sums[i];
}

torch::optim::Optimizer& Step::optimizer() {
  follow_weights();
  return *optimizer_;
}

detail::TrainingCore& Step::core() {
  follow_weights();
  return *core_;
}

void Step::set(const std::string& name, double value) {
  auto& all = optimizer();
  if (!optim::set_hyperparameter(record_.method, all, name, value))
    throw Error(ErrorCode::InvalidArgument, "package:" + info.name,
                fmt::format("{} has no number \"{}\"", optim::class_name(record_.method), name),
                "docs/packages.md lists them");
}

c10::IValue Step::call(const std::vector<c10::IValue>& arguments) {
  if (detail::inside_function())
    throw Error(ErrorCode::UnsupportedOp, "package:" + info.name,
                "a training step of a package is called inside a compiled function",
                "Call it outside of compiled functions");
  follow_weights();
  const auto leaves = flatten_arguments(arguments);
  core_->prepare();
  const auto trained = tensors_of(record_.trained);
  if (!std::ranges::equal(core_->impl().parameters, trained,
                          [](const auto& a, const auto& b) { return a.is_same(b); }))
    throw Error(ErrorCode::InvalidArgument, "package:" + info.name,
                "its optimizer has other parameters that require gradients than when it was packaged",
                "Leave the groups of parameters as they are, or package the step again");
  if (const auto& scaler = core_->impl().options().scaler; scaler && !scaler->scale.is_same(scale_))
    throw Error(ErrorCode::InvalidArgument, "package:" + info.name,
                "GradScaler::scale is another tensor than before",
                "Write to the tensor (copy_), or replace the weight: Package::replace()");
  for (const auto& tensor : leaves.tensors) core_->check_argument(tensor);
  VersionSet::Result result;
  try {
    const c10::AutoGradMode no_grad(false);
    result = versions_.call(leaves, core_->early().get());
  } catch (...) {
    core_->fail();
    throw;
  }
  const auto parts = split(result.structure->result);
  require_in_file(parts.gradients.size() == trained.size() && parts.gradients.size() <= result.tensors.size(),
                  "other gradients than parameters");
  const auto border = result.tensors.begin() + static_cast<int64_t>(trained.size());
  core_->finish({result.tensors.begin(), border});
  show_sums();
  return with_tensors(parts.result, {border, result.tensors.end()});
}

std::string Step::record(NamedTensors& weights) const {
  const auto number_of = [&](const at::Tensor& tensor, const std::string& name) {
    auto found = std::ranges::find_if(weights, [&](const auto& w) { return w.second.is_same(tensor); });
    if (found == weights.end())  // sums and state that is new since the package was loaded
      found = std::ranges::find_if(weights, [&](const auto& weight) { return weight.first == name; });
    if (found == weights.end()) found = weights.emplace(found, name, tensor);
    found->second = tensor;
    return static_cast<int32_t>(found - weights.begin());
  };
  const auto name_of = [&](int32_t number) { return weights[number].first; };
  auto record = record_of(core_->impl(), info.name, number_of, name_of);
  record.functions = record_.functions;
  return write_step(record);
}

void Step::load_everything() {
  versions_.load_everything();
  const auto record =
      read_step(std::string(code_->archive().read(step_record(info.name))), weights_->info.size());
  StoredUpdateCode(code_, weights_, step_folder(info.name), record.functions, fmt::format("'{}'", info.name),
                   code_->options().options)
      .load_everything();
}

}  // namespace antegrad::packaging
