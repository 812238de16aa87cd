#include "fuzz/script.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <map>

#include "fuzz/script_text.h"

namespace antegrad::fuzz {

/// Records the script. A tensor has the name of its newest use: an output that is also an input goes by its
/// name as an output.
struct Script::Writer {
  enum class Part { World, Function, Steps };

  Part part = Part::World;
  std::string world, function, steps;
  std::vector<FunctionText> functions;  ///< one per call

  std::map<const at::TensorImpl*, std::string> names;
  std::map<const at::TensorImpl*, std::string> outer_names;  ///< names outside the current function
  std::map<const at::TensorImpl*, std::string> world_names;  ///< tensors that the function may capture
  std::map<const at::TensorImpl*, bool> leaves;              ///< known leaves, and whether they require grad
  std::vector<at::TensorImpl*> empty;  ///< to be declared with their contents once these are known
  Tensors kept;                        ///< keeps the tensors alive, so that no address is used twice
  int variables = 0, lists = 0, calls = 0;
  int outer_variables = 0, outer_lists = 0;  ///< saved while a function is written, whose names start at 0
  bool grad_mode = at::GradMode::is_enabled();
  bool world_mode = at::GradMode::is_enabled();
  std::map<size_t, std::string> kept_texts;  ///< statements whose results are kept, as they run only once
  size_t keep_from = 0;                      ///< an offset in `function`
  bool is_random = false;  ///< whether the current call is random: its result is written as numbers
  std::string pending;     ///< the current call with its arguments

  std::string& out() { return part == Part::World ? world : part == Part::Function ? function : steps; }
  std::string indent() const { return part == Part::Function ? "    " : "  "; }
  void line(const std::string& text) { out() += indent() + text + "\n"; }

  void follow_grad_mode() {
    if (part == Part::Function || at::GradMode::is_enabled() == grad_mode) return;
    grad_mode = at::GradMode::is_enabled();
    line(c10::str("at::GradMode::set_enabled(", grad_mode ? "true" : "false", ");"));
  }

  void keep(const at::Tensor& tensor, const std::string& name) {
    kept.push_back(tensor);
    names[tensor.unsafeGetTensorImpl()] = name;
    if (tensor.is_leaf()) leaves[tensor.unsafeGetTensorImpl()] = tensor.requires_grad();
  }

  std::string new_name(const at::Tensor& tensor) {
    auto name = c10::str(part == Part::Function ? "u" : "v", variables++);
    keep(tensor, name);
    return name;
  }

  const at::Tensor* known_with_memory_of(const at::Tensor& tensor) const {
    for (const auto& other : kept)
      if (names.contains(other.unsafeGetTensorImpl()) && other.has_storage() && tensor.has_storage() &&
          other.storage().is_alias_of(tensor.storage()))
        return &other;
    return nullptr;
  }

  /// Declares a tensor of unknown origin with its current contents, outside the function, which captures it.
  std::string declare(const at::Tensor& tensor) {
    const auto inside = part;
    if (inside == Part::Function) {
      part = Part::World;
      std::swap(variables, outer_variables);
    }
    const auto* base = known_with_memory_of(tensor);
    auto text = base == nullptr ? tensor_text(tensor)
                                : c10::str(names.at(base->unsafeGetTensorImpl()),
                                           ".variable_data().as_strided(std::vector<int64_t>{",
                                           c10::Join(", ", tensor.sizes()), "}, std::vector<int64_t>{",
                                           c10::Join(", ", tensor.strides()), "}, ", tensor.storage_offset(),
                                           ").variable_data()");
    const auto name = new_name(tensor);
    if (inside == Part::Function) world_names[tensor.unsafeGetTensorImpl()] = name;
    line(c10::str("at::Tensor ", name, " = ", text, ";"));
    if (tensor.unsafeGetTensorImpl()->is_wrapped_number())
      line(name + ".unsafeGetTensorImpl()->set_wrapped_number(true);");
    if (tensor.is_leaf() && tensor.requires_grad()) line(name + ".requires_grad_(true);");
    if (inside == Part::Function) std::swap(variables, outer_variables);
    part = inside;
    return name;
  }

  std::string name_of(const at::Tensor& tensor) {
    if (!tensor.defined()) return "at::Tensor()";
    const auto* impl = tensor.unsafeGetTensorImpl();
    const auto found = names.find(impl);
    return found == names.end() ? declare(tensor) : found->second;
  }

  std::string list_of(const Tensors& tensors) {
    std::string text;
    for (const auto& t : tensors) text += (text.empty() ? "" : ", ") + name_of(t);
    return "Tensors{" + text + "}";
  }

  /// Writes down changes that did not come from an op.
  void bring_up_to_date() {
    for (auto* impl : std::exchange(empty, {})) {
      const auto tensor = std::find_if(kept.begin(), kept.end(),
                                       [&](const at::Tensor& t) { return t.unsafeGetTensorImpl() == impl; });
      line(c10::str("at::Tensor ", names.at(impl), " = ", tensor_text(*tensor), ";"));
    }
    for (const auto& tensor : kept) {
      const auto leaf = leaves.find(tensor.unsafeGetTensorImpl());
      if (leaf == leaves.end() || !tensor.is_leaf() || tensor.requires_grad() == leaf->second) continue;
      leaf->second = tensor.requires_grad();
      if (names.contains(leaf->first))
        line(c10::str(names.at(leaf->first), ".requires_grad_(", leaf->second ? "true" : "false", ");"));
    }
  }

  std::string storage_text(const c10::Storage& storage) const {
    for (const auto& other : kept)
      if (names.contains(other.unsafeGetTensorImpl()) && other.storage().is_alias_of(storage))
        return names.at(other.unsafeGetTensorImpl()) + ".storage()";
    return "at::Storage()";
  }

  void begin(const c10::FunctionSchema& schema, c10::ArrayRef<c10::IValue> inputs) {
    bring_up_to_date();
    follow_grad_mode();
    is_random =
        std::any_of(inputs.begin(), inputs.end(), [](const c10::IValue& v) { return v.isGenerator(); });
    std::string arguments;
    const NameOf naming = [this](const at::Tensor& t) { return name_of(t); };
    for (size_t i = 0; i < inputs.size() && i < schema.arguments().size(); ++i)
      arguments += (i == 0 ? "" : ", ") + (inputs[i].isStorage()
                                               ? storage_text(inputs[i].toStorage())
                                               : argument_text(inputs[i], schema.arguments()[i], naming));
    pending = c10::str(function_text(schema), "(", arguments, ")");
  }

  void end(const c10::FunctionSchema& schema, const std::vector<c10::IValue>& outputs) {
    const bool one = outputs.size() == 1 && outputs[0].isTensor() && outputs[0].toTensor().defined();
    if (one && !schema.is_mutable() && names.contains(outputs[0].toTensor().unsafeGetTensorImpl())) return;
    if (one && (is_random || schema.name().starts_with("aten::empty"))) {
      new_name(outputs[0].toTensor());
      empty.push_back(outputs[0].toTensor().unsafeGetTensorImpl());
      return;
    }
    const bool other_mode = part == Part::Function && at::GradMode::is_enabled() != grad_mode;
    const std::string before = other_mode ? c10::str("{ const at::AutoGradMode mode(",
                                                     at::GradMode::is_enabled() ? "true" : "false", "); ")
                                          : "";
    const std::string after = other_mode ? " }" : "";
    if (one && !names.contains(outputs[0].toTensor().unsafeGetTensorImpl())) {
      const auto name = new_name(outputs[0].toTensor());
      line(other_mode ? c10::str("at::Tensor ", name, "; ", before, name, " = ", pending, ";", after)
                      : c10::str("at::Tensor ", name, " = ", pending, ";"));
      return;
    }
    if (one || outputs.empty() || !has_tensors(outputs)) return line(before + pending + ";" + after);
    several(outputs, other_mode ? c10::str("[&] { const at::AutoGradMode mode(",
                                           at::GradMode::is_enabled() ? "true" : "false", "); return ",
                                           pending, "; }()")
                                : pending);
  }

  static bool has_tensors(const std::vector<c10::IValue>& values) {
    return std::any_of(values.begin(), values.end(),
                       [](const c10::IValue& v) { return v.isTensor() || v.isTensorList(); });
  }

  void several(const std::vector<c10::IValue>& outputs, const std::string& call) {
    const auto list = c10::str(part == Part::Function ? "t" : "r", lists++);
    line(c10::str("auto ", list, " = ", call, ";"));
    for (size_t i = 0; i < outputs.size(); ++i) {
      const auto item = outputs.size() == 1 ? list : c10::str("std::get<", i, ">(", list, ")");
      if (outputs[i].isTensor() && outputs[i].toTensor().defined())
        keep(outputs[i].toTensor(), item);
      else if (outputs[i].isTensorList())
        for (size_t k = 0; k < outputs[i].toTensorVector().size(); ++k)
          keep(outputs[i].toTensorVector()[k], c10::str(item, "[", k, "]"));
    }
  }

  void call(const Tensors& inputs) {
    bring_up_to_date();
    const auto given = list_of(inputs);
    part = Part::Steps;
    follow_grad_mode();
    line(c10::str("Tensors out", ++calls, " = f(", given, ");"));
    part = Part::Function;
    function.clear();
    auto& text = functions.emplace_back();
    for (const auto& t : inputs)
      text.input_sizes.push_back(t.defined() ? t.sizes().vec() : std::vector<int64_t>());
    outer_names = names;
    if (calls == 1) world_names = names;
    for (const auto& [impl, name] : world_names) names[impl] = name;
    outer_variables = std::exchange(variables, 0);
    outer_lists = std::exchange(lists, 0);
    for (size_t i = 0; i < inputs.size(); ++i)
      if (inputs[i].defined()) names[inputs[i].unsafeGetTensorImpl()] = c10::str("x[", i, "]");
  }

  /// Also ends a function that threw.
  void end_function() {
    functions.back().text = function;
    variables = outer_variables;
    lists = outer_lists;
  }

  void results(const Tensors& outputs) {
    if (part == Part::Function) {
      bring_up_to_date();
      line("return " + list_of(outputs) + ";");
      end_function();
      for (auto& [impl, name] : outer_names) names[impl] = name;
      std::erase_if(names, [&](const auto& entry) {
        return !outer_names.contains(entry.first) && !captured(entry.second);
      });
    }
    part = Part::Steps;
    for (size_t i = 0; i < outputs.size(); ++i)
      if (outputs[i].defined()) keep(outputs[i], c10::str("out", calls, "[", i, "]"));
    line(c10::str("look(\"output of call ", calls, ",\", out", calls, ");"));
  }

  void kept_results(size_t number, const Tensors& results) {
    if (part != Part::Function) return;
    auto& text = kept_texts[number];
    if (text.empty())
      text = function.substr(keep_from) + indent() +
             c10::str("(*kept)[", number, "] = ", list_of(results), ";\n");
    function.resize(keep_from);
    line(c10::str("if (!kept->contains(", number, ")) {"));
    function += text;
    line("}");
    for (size_t i = 0; i < results.size(); ++i)
      if (results[i].defined()) keep(results[i], c10::str("kept->at(", number, ")[", i, "]"));
  }

  /// Whether the tensor was declared outside while the function was written.
  bool captured(const std::string& name) const {
    return world.find("at::Tensor " + name + " = ") != std::string::npos;
  }
};

namespace {

thread_local Script::Writer* current = nullptr;

void observe(Script::Writer& writer, const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  const auto& schema = op.schema();
  const auto arguments = schema.arguments().size();
  writer.begin(schema, c10::ArrayRef<c10::IValue>(stack->data() + stack->size() - arguments, arguments));
  try {
    op.callBoxed(stack);
  } catch (...) {
    writer.end(schema, {});
    throw;
  }
  writer.end(schema, {stack->end() - static_cast<int64_t>(schema.returns().size()), stack->end()});
}

}  // namespace

/// Does not record the writer's own calls: they are not intercepted.
class Script::Listener final : public test::Interceptor {
 public:
  void call(const c10::OperatorHandle& op, torch::jit::Stack* stack) override {
    const ScriptPause own_calls;
    observe(writer, op, stack);
  }

  Writer writer;

 private:
  test::Interception here_{this};
};

Script::Script() : listener_(std::make_unique<Listener>()) { current = &listener_->writer; }
Script::~Script() { current = nullptr; }

std::string Script::program(const std::string& headline, const std::string& options) const {
  const auto& writer = listener_->writer;
  const auto mode = c10::str("  const at::AutoGradMode mode(", writer.world_mode ? "true" : "false", ");\n");
  auto functions = writer.functions;
  if (writer.part == Writer::Part::Function && !functions.empty())  // the function threw
    functions.back().text = writer.function + "    return {};\n";
  return script_text(headline, options, mode + writer.world, joined_functions(functions), writer.steps);
}

/// Leaves other interceptors alone when no script is being recorded.
ScriptPause::ScriptPause() : paused_(std::exchange(current, nullptr)) {
  if (paused_ != nullptr) unheard_.emplace(nullptr);
}
ScriptPause::~ScriptPause() { current = paused_; }

void script_call(const Tensors& inputs) {
  auto* writer = current;
  const ScriptPause pause;
  if (writer != nullptr) writer->call(inputs);
}

void script_results(const Tensors& outputs) {
  auto* writer = current;
  const ScriptPause pause;
  if (writer != nullptr) writer->results(outputs);
}

void script_keep() {
  if (current != nullptr) current->keep_from = current->function.size();
}

void script_kept(size_t number, const Tensors& results) {
  auto* writer = current;
  const ScriptPause pause;
  if (writer != nullptr) writer->kept_results(number, results);
}

void script_look(const std::string& name, const Tensors& tensors) {
  auto* writer = current;
  const ScriptPause pause;
  if (writer != nullptr) writer->line(c10::str("look(\"", name, "\", ", writer->list_of(tensors), ");"));
}

Tensors scripted_grad(const Tensors& roots, const Tensors& targets, const Tensors& tangents,
                      bool retain_graph, bool create_graph, bool allow_unused) {
  auto* writer = current;
  const ScriptPause pause;
  const auto flag = [](bool on) { return on ? ", true" : ", false"; };
  std::string name;
  if (writer != nullptr) {
    writer->bring_up_to_date();
    writer->follow_grad_mode();
    name = c10::str("r", writer->lists++);
    writer->line(c10::str("Tensors ", name, " = torch::autograd::grad(", writer->list_of(roots), ", ",
                          writer->list_of(targets), ", ", writer->list_of(tangents), flag(retain_graph),
                          flag(create_graph), flag(allow_unused), ");"));
    writer->line(c10::str("look(\"gradient\", ", name, ");"));
  }
  const auto gradients =
      torch::autograd::grad(roots, targets, tangents, retain_graph, create_graph, allow_unused);
  for (size_t i = 0; writer != nullptr && i < gradients.size(); ++i)
    if (gradients[i].defined()) writer->keep(gradients[i], c10::str(name, "[", i, "]"));
  return gradients;
}

void scripted_backward(const Tensors& roots, const Tensors& tangents, bool retain_graph) {
  auto* writer = current;
  const ScriptPause pause;
  if (writer != nullptr) {
    writer->bring_up_to_date();
    writer->follow_grad_mode();
    writer->line(c10::str("torch::autograd::backward(", writer->list_of(roots), ", ",
                          writer->list_of(tangents), retain_graph ? ", true" : ", false", ");"));
    std::string leaves;
    for (const auto& tensor : writer->kept) {
      const auto name = writer->names.find(tensor.unsafeGetTensorImpl());
      if (name != writer->names.end() && tensor.is_leaf() && tensor.requires_grad())
        leaves += (leaves.empty() ? "" : ", ") + name->second + ".grad()";
    }
    writer->line("look(\"accumulated gradient\", Tensors{" + leaves + "});");
  }
  torch::autograd::backward(roots, tangents, retain_graph);
}

}  // namespace antegrad::fuzz
