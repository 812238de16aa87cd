#include "program/inputs.h"

#include <ATen/Functions.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "antegrad/error.h"

namespace antegrad::program {
namespace {

[[noreturn]] void refuse_input(const ProgramData& data, const std::string& fact,
                               const std::string& way_out =
                                   "Export the program with such inputs, or with "
                                   "dynamic_shapes") {
  throw Error(ErrorCode::InvalidArgument, "program:" + data.model, fact, way_out);
}

bool same_constant(const c10::IValue& given, const c10::IValue& baked) {
  if (given.isScalar() && baked.isScalar() && !given.isBool() && !baked.isBool())
    return given.toScalar().toComplexDouble() == baked.toScalar().toComplexDouble();
  return given.tagKind() == baked.tagKind() && (given.isNone() || given == baked);
}

std::vector<c10::IValue> without_constants(const ProgramData& data, const std::vector<c10::IValue>& leaves) {
  std::vector<c10::IValue> out;
  for (size_t i = 0; i < leaves.size(); ++i) {
    const auto& leaf = data.leaves[i];
    if (!leaf.baked) {
      out.push_back(leaves[i]);
    } else if (!same_constant(leaves[i], data.inputs[leaf.input].constant)) {
      refuse_input(
          data, fmt::format("`{}` was a constant when the program was exported, and is given another value",
                            leaf.name));
    }
  }
  return out;
}

/// The constants of an argument that the call leaves out; nothing if it is more than constants.
bool append_baked(const ProgramData& data, const TreeSpec& spec, std::vector<c10::IValue>& leaves) {
  const auto count = spec.leaves();
  for (size_t i = 0; i < count; ++i) {
    const auto& leaf = data.leaves[leaves.size()];
    if (!leaf.baked) return false;
    leaves.push_back(data.inputs[leaf.input].constant);
  }
  return true;
}

/// Values of symbols, from sizes of inputs.
class Symbols {
 public:
  Symbols(const ProgramData& data, const std::vector<c10::IValue>& leaves) : data_(data) {
    for (int round = 0; round < 2; ++round) {  // sizes that are a symbol, then those computed from one
      size_t next = 0;
      for (const auto& leaf : data.leaves) {
        if (leaf.baked) continue;
        const auto& value = leaves[next++];
        if (leaf.tensor)
          bind_tensor(leaf, value.toTensor(), round);
        else if (const auto number = data.numbers.find(leaf.input);
                 number != data.numbers.end() && value.isInt())
          bind(number->second, value.toInt(), leaf.name, round);
      }
    }
    for (const auto& [symbol, value] : values_) check_range(symbol, value);
  }

 private:
  NameValues lookup() const {
    return [this](const std::string& name) {
      const auto found = values_.find(name);
      return found == values_.end() ? std::nullopt : std::optional(found->second);
    };
  }

  void bind_tensor(const Leaf& leaf, const at::Tensor& tensor, int round) {
    const auto& sizes = data_.tensors.at(leaf.input).sizes;
    for (size_t dim = 0; dim < sizes.size(); ++dim)
      if (sizes[dim].expression)
        bind(*sizes[dim].expression, tensor.size(static_cast<int64_t>(dim)),
             fmt::format("size {} of `{}`", dim, leaf.name), round);
  }

  void bind(const Expression& expression, int64_t value, const std::string& what, int round) {
    const bool plain = expression.op == Expression::Op::Name;
    if (round == 0) {
      if (plain) values_.emplace(expression.name, value);
      return;
    }
    if (!plain && expression.op != Expression::Op::Number) solve(expression, value);
    const auto expected = evaluate(expression, lookup());
    if (expected && *expected != value)
      refuse_input(data_, fmt::format("{} is {}, and the program was exported for {}", what, value,
                                      expression.op == Expression::Op::Number
                                          ? std::to_string(*expected)
                                          : fmt::format("{} with these other sizes", *expected)));
  }

  /// Finds the one unknown symbol of a linear expression.
  void solve(const Expression& expression, int64_t value) {
    std::string unknown;
    for (const auto& name : names_in(expression))
      if (values_.count(name) == 0) {
        if (!unknown.empty()) return;
        unknown = name;
      }
    if (unknown.empty()) return;
    const auto with = [&](int64_t x) {
      return evaluate(expression, [&](const std::string& name) {
        return name == unknown ? std::optional(x) : lookup()(name);
      });
    };
    const auto zero = with(0), one = with(1);
    if (!zero || !one || *one == *zero || (value - *zero) % (*one - *zero) != 0) return;
    const auto x = (value - *zero) / (*one - *zero);
    if (with(x) == value) values_[unknown] = x;
  }

  void check_range(const std::string& symbol, int64_t value) const {
    const auto range = data_.symbols.find(symbol);
    if (range == data_.symbols.end() || (value >= range->second.min && value <= range->second.max)) return;
    refuse_input(data_,
                 fmt::format("the size {} is {}, and the program was exported for {} to {}", symbol, value,
                             range->second.min,
                             range->second.max == INT64_MAX ? "any" : std::to_string(range->second.max)));
  }

  const ProgramData& data_;
  std::map<std::string, int64_t> values_;
};

void check_tensors(const ProgramData& data, const std::vector<c10::IValue>& leaves) {
  size_t next = 0;
  for (const auto& leaf : data.leaves) {
    if (leaf.baked) continue;
    const auto& value = leaves[next++];
    if (value.isTensor() != leaf.tensor || (leaf.tensor && !value.toTensor().defined()))
      refuse_input(data, fmt::format("`{}` should be a {}", leaf.name, leaf.tensor ? "tensor" : "number"),
                   "Pass what the program was exported with");
    if (!leaf.tensor) {
      if (!value.isScalar())
        refuse_input(data, fmt::format("`{}` should be a number", leaf.name),
                     "Pass what the program was exported with");
      continue;
    }
    const auto& wanted = data.tensors.at(leaf.input);
    const auto& tensor = value.toTensor();
    if (tensor.scalar_type() != wanted.dtype)
      refuse_input(data,
                   fmt::format("`{}` is of {}, and the program was exported for {}", leaf.name,
                               c10::toString(tensor.scalar_type()), c10::toString(wanted.dtype)),
                   "Convert it with to()");
    if (tensor.dim() != static_cast<int64_t>(wanted.sizes.size()))
      refuse_input(data, fmt::format("`{}` has {} dimensions, and the program was exported for {}", leaf.name,
                                     tensor.dim(), wanted.sizes.size()));
  }
}

/// The value of "['x'].size()[0]", or of the number "['n']".
std::optional<int64_t> value_of_path(const ProgramData& data, const std::vector<c10::IValue>& leaves,
                                     const std::string& name) {
  const auto dot = name.rfind('.');
  const auto* leaf = leaf_of_path(data, name.substr(0, dot));
  if (leaf == nullptr) return {};
  if (leaf->baked) {
    const auto& constant = data.inputs[leaf->input].constant;
    return constant.isInt() ? std::optional(constant.toInt()) : std::nullopt;
  }
  size_t place = 0;
  for (const auto& other : data.leaves) {
    if (&other == leaf) break;
    place += !other.baked;
  }
  const auto& value = leaves[place];
  if (dot == name.npos) return value.isInt() ? std::optional(value.toInt()) : std::nullopt;
  if (!value.isTensor()) return {};
  const auto dim = std::stoll(name.substr(name.rfind('[') + 1));
  if (dim < 0 || dim >= value.toTensor().dim()) return {};
  return name.compare(dot, 5, ".size") == 0 ? value.toTensor().size(dim) : value.toTensor().stride(dim);
}

}  // namespace

std::vector<c10::IValue> leaves_of_call(const ProgramData& data, const std::vector<c10::IValue>& arguments,
                                        const Keywords& keywords) {
  const auto free =
      std::count_if(data.leaves.begin(), data.leaves.end(), [](const Leaf& leaf) { return !leaf.baked; });
  const auto structured = [&] {
    std::vector<c10::IValue> leaves;
    if (arguments.size() > data.positional.children.size()) return std::optional<std::vector<c10::IValue>>();
    size_t named = 0;
    for (size_t i = 0; i < data.argument_names.size(); ++i) {
      const bool positional = i < data.positional.children.size();
      const auto& spec = positional ? data.positional.children[i]
                                    : data.keywords.children[i - data.positional.children.size()];
      const auto& name = data.argument_names[i];
      const auto keyword = keywords.find(name);
      if (positional && i < arguments.size()) {
        flatten_into(spec, arguments[i], name, leaves);
      } else if (keyword != keywords.end()) {
        ++named;
        flatten_into(spec, keyword->second, name, leaves);
      } else if (!append_baked(data, spec, leaves)) {
        return std::optional<std::vector<c10::IValue>>();
      }
    }
    if (named != keywords.size()) return std::optional<std::vector<c10::IValue>>();
    return std::optional(std::move(leaves));
  };
  const bool all_leaves = std::none_of(arguments.begin(), arguments.end(), [](const c10::IValue& value) {
    return value.isTuple() || value.isList() || value.isGenericDict();
  });
  if (keywords.empty() && static_cast<int64_t>(arguments.size()) == free &&
      (all_leaves && arguments.size() != data.positional.children.size()))
    return arguments;
  if (const auto leaves = structured()) return without_constants(data, *leaves);
  if (keywords.empty() && static_cast<int64_t>(arguments.size()) == free) return arguments;
  refuse_input(data,
               fmt::format("{} arguments and {} keywords were given, which do not fit", arguments.size(),
                           keywords.size()),
               fmt::format("Pass {}, or the {} tensors and numbers in them one by one",
                           fmt::join(data.argument_names, ", "), free));
}

void check_inputs(const ProgramData& data, const std::vector<c10::IValue>& leaves) {
  check_tensors(data, leaves);
  const Symbols symbols(data, leaves);
  for (const auto& guard : data.guards) {
    const auto holds = evaluate(guard.expression,
                                [&](const std::string& name) { return value_of_path(data, leaves, name); });
    if (!holds || *holds == 0)
      refuse_input(
          data, fmt::format("the program was exported under a condition that does not hold: {}", guard.text));
  }
}

std::vector<c10::IValue> example_of(const ProgramData& data) {
  std::vector<c10::IValue> out;
  for (const auto& leaf : data.leaves) {
    if (leaf.baked) continue;
    if (!leaf.tensor) {
      const auto found = data.number_hints.find(leaf.input);
      out.emplace_back(found == data.number_hints.end() ? 1 : found->second);
      continue;
    }
    const auto& tensor = data.tensors.at(leaf.input);
    std::vector<int64_t> sizes;
    for (const auto& size : tensor.sizes) sizes.push_back(size.hint);
    out.emplace_back(at::zeros(sizes, at::TensorOptions(tensor.dtype).device(tensor.device)));
  }
  return out;
}

std::vector<DynamicSize> dynamic_sizes_of(const ProgramData& data) {
  std::vector<DynamicSize> out;
  int tensor = 0;
  for (const auto& leaf : data.leaves) {
    if (!leaf.tensor) continue;
    const auto& sizes = data.tensors.at(leaf.input).sizes;
    for (size_t dim = 0; dim < sizes.size(); ++dim) {
      const auto& expression = sizes[dim].expression;
      if (expression && expression->op == Expression::Op::Number) continue;
      auto size = dynamic(tensor, static_cast<int>(dim), 0);
      if (expression && expression->op == Expression::Op::Name) {
        size.name = expression->name;
        if (const auto range = data.symbols.find(expression->name); range != data.symbols.end()) {
          size.min = std::max<int64_t>(range->second.min, 0);
          size.max = std::max(range->second.max, size.min);
        }
      }
      out.push_back(std::move(size));
    }
    ++tensor;
  }
  return out;
}

}  // namespace antegrad::program
