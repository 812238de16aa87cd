#include "cli/torch/tensors.h"

#include <ATen/Functions.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <torch/csrc/jit/serialization/pickle.h>

#include "antegrad/error.h"
#include "aten/convert.h"
#include "cli/errors.h"
#include "cli/files.h"
#include "cli/text.h"
#include "compiler/api/graph_inputs.h"
#include "ir/substitute.h"
#include "ir/text.h"
#include "runtime/rng_state.h"

namespace antegrad::cli {
namespace {

at::Tensor random_of(const ir::TensorType& type) {
  const auto options = aten::options_of(type);
  const auto length = compiler::reach_of(type);
  const bool real = ir::is_floating(type.dtype) || ir::is_complex(type.dtype);
  const auto drawn = real ? at::randn({length}, ir::is_complex(type.dtype) ? at::kComplexDouble : at::kDouble)
                          : at::randint(0, 2, {length}, at::kLong);
  return compiler::strided(drawn.to(options), type);
}

/// Returns the given tensor with the layout that the graph was captured for.
at::Tensor fit(const std::string& where, const std::string& name, const at::Tensor& given,
               const ir::TensorType& type) {
  if (const auto why = compiler::misfit(given, ir::Type(type)); !why.empty())
    throw UsageError(where, fmt::format("input \"{}\" is {}", name, why), "Give a tensor of that type");
  for (int64_t d = 0; d < given.dim(); ++d)
    if (type.strides[d].is(0) && given.size(d) > 1 && !given.eq(given.narrow(d, 0, 1)).all().item<bool>())
      throw UsageError(
          where,
          fmt::format("input \"{}\" is expanded along dim {} in the graph, and the given values differ there",
                      name, d),
          "Give a tensor whose values repeat along that dim, or none");
  return compiler::in_layout(given, type);
}

/// The inputs given on the command line, before sizes are known.
class Given {
 public:
  Given(const std::string& where, const ir::Graph& graph, const GraphOptions& options)
      : where_(where), graph_(graph), tensors_(graph.inputs.size()) {
    for (const auto& argument : parse_inputs(where, options.inputs)) {
      if (argument.shape)
        shapes_[input_called(where, graph, argument.name)] = *argument.shape;
      else
        read(argument);
    }
    for (size_t i = 0; i < tensors_.size(); ++i)
      if (tensors_[i].defined()) shapes_[i] = tensors_[i].sizes().vec();
  }

  const Shapes& shapes() const { return shapes_; }
  const at::Tensor& tensor(size_t place) const { return tensors_[place]; }

 private:
  void read(const InputArgument& argument) {
    const auto found = load_tensors(where_, argument.file);
    if (!argument.name.empty()) {
      if (found.size() != 1)
        throw UsageError(where_, fmt::format("{} has {} tensors, not one", argument.file, found.size()),
                         fmt::format("Write --input {} for several", argument.file));
      tensors_[input_called(where_, graph_, argument.name)] = found[0].second;
      return;
    }
    if (found.size() > tensors_.size())
      throw UsageError(
          where_,
          fmt::format("{} has {} tensors, the graph {} inputs", argument.file, found.size(), tensors_.size()),
          "Give no more than it takes");
    for (size_t i = 0; i < found.size(); ++i) {
      const auto& [name, tensor] = found[i];
      tensors_[name.empty() ? i : input_called(where_, graph_, name)] = tensor;
    }
  }

  const std::string where_;
  const ir::Graph& graph_;
  std::vector<at::Tensor> tensors_;
  Shapes shapes_;
};

void check_shape(const std::string& where, const std::string& name, const std::vector<int64_t>& shape,
                 const ir::TensorType& type) {
  const auto sizes = aten::constants(type.sizes);
  if (sizes != shape)
    throw UsageError(where,
                     fmt::format("input \"{}\" has the shape [{}] in the graph, not [{}]", name,
                                 fmt::join(sizes, ","), fmt::join(shape, ",")),
                     "Give a shape that fits, or none");
}

}  // namespace

GraphInputs make_inputs(const std::string& where, const ir::Graph& graph, const GraphOptions& options) {
  const Given given(where, graph, options);
  GraphInputs out{symbol_values(where, graph, options.sizes, given.shapes()), {}};
  at::manual_seed(options.seed);
  for (size_t i = 0; i < graph.inputs.size(); ++i) {
    const auto name = name_of_input(graph, i);
    const auto& type = graph.type_of(graph.inputs[i].value);
    if (type == ir::Type(ir::ScalarKind::None)) {
      out.tensors.emplace_back();
      continue;
    }
    if (type.tensor() == nullptr)
      throw Error(ErrorCode::InvalidArgument, where,
                  fmt::format("input \"{}\" is {}, not a tensor", name, ir::print(type)),
                  "Give a graph whose inputs are tensors");
    const auto here = ir::substitute(*type.tensor(), out.symbols);
    if (given.tensor(i).defined()) {
      out.tensors.push_back(fit(where, name, given.tensor(i).to(aten::options_of(here).device()), here));
      continue;
    }
    if (const auto shape = given.shapes().find(i); shape != given.shapes().end())
      check_shape(where, name, shape->second, here);
    const bool state = graph.inputs[i].role == ir::InputRole::RngState;
    out.tensors.push_back(state ? runtime::take_rng_state() : random_of(here));
  }
  return out;
}

NamedTensors load_tensors(const std::string& where, const std::string& file) {
  const auto bytes = read_file(file);
  c10::IValue value;
  try {
    value = torch::jit::pickle_load({bytes.begin(), bytes.end()});
  } catch (const c10::Error& error) {
    throw Error(
        ErrorCode::Io, where,
        fmt::format("{} is not a file of tensors: {}", file, first_sentence(error.what_without_backtrace())),
        "Write it with torch.save, torch::pickle_save or antegrad run --output");
  }
  NamedTensors out;
  const auto add = [&](std::string name, const c10::IValue& element) {
    if (!element.isTensor())
      throw Error(ErrorCode::Io, where, fmt::format("{} holds a {}", file, element.tagKind()),
                  "Save a tensor, a list of tensors, or a dictionary of tensors by name");
    out.emplace_back(std::move(name), element.toTensor());
  };
  if (value.isGenericDict()) {
    for (const auto& entry : value.toGenericDict())
      add(entry.key().isString() ? entry.key().toStringRef() : std::string(), entry.value());
  } else if (value.isList() || value.isTuple()) {
    const auto elements = value.isTuple() ? value.toTupleRef().elements().vec() : value.toListRef().vec();
    for (const auto& element : elements) add({}, element);
  } else {
    add({}, value);
  }
  return out;
}

void save_tensors(const std::string& where, const std::string& file, const NamedTensors& tensors) {
  c10::Dict<std::string, at::Tensor> values;
  for (const auto& [name, tensor] : tensors)
    if (tensor.defined()) values.insert(name, tensor.clone(at::MemoryFormat::Contiguous));
  std::string pickled, archive;
  // Like pickle_save, but without type tags, which torch.load rejects by default.
  torch::jit::Pickler pickler([&](const char* bytes, size_t size) { pickled.append(bytes, size); }, nullptr,
                              nullptr, nullptr, nullptr, /*tag_aggregates=*/false);
  pickler.protocol();
  pickler.pushIValue(values);
  pickler.stop();
  caffe2::serialize::PyTorchStreamWriter writer([&](const void* bytes, size_t size) {
    archive.append(static_cast<const char*>(bytes), size);
    return size;
  });
  writer.writeRecord("data.pkl", pickled.data(), pickled.size());
  size_t next = 0;
  for (const auto& tensor : pickler.tensorData())
    writer.writeRecord(fmt::format("data/{}", next++), tensor.storage().data(), tensor.storage().nbytes());
  writer.writeEndOfFile();
  write_file(where, file, archive);
}

}  // namespace antegrad::cli
