#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/core/GradMode.h>
#include <fmt/format.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/nn/module.h>

#include "antegrad/error.h"
#include "distributed/groups.h"
#include "util/ids.h"

namespace antegrad::distributed {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::Variable;
using torch::autograd::variable_list;

template <class... Args>
at::Tensor call(const char* op, Args... args) {
  const auto found = c10::Dispatcher::singleton().findSchema({op, ""});
  if (!found)
    throw Error(ErrorCode::UnsupportedOp, "distributed", fmt::format("this LibTorch has no op {}", op),
                "Use a LibTorch that was built with USE_DISTRIBUTED");
  return found->template typed<at::Tensor(Args...)>().call(args...);
}
template <class... Args>
at::Tensor communicate(const char* op, Args... args) {
  return call<const at::Tensor&>("_c10d_functional::wait_tensor", call<Args...>(op, args...));
}

at::Tensor reduced(const at::Tensor& tensor, const std::string& how, const std::string& group) {
  return communicate<const at::Tensor&, std::string, std::string>("_c10d_functional::all_reduce", tensor, how,
                                                                  group);
}

const char* name_of(Reduce how) {
  constexpr std::array kNames = {"sum", "sum", "min", "max", "product"};
  return kNames.at(ordinal(how));
}

bool needs_gradient(const at::Tensor& tensor) {
  return c10::GradMode::is_enabled() && tensor.requires_grad();
}

Group group_of(AutogradContext* context) { return Group(context->saved_data["group"].toStringRef()); }

struct Sum : torch::autograd::Function<Sum> {
  static Variable forward(AutogradContext* context, const Variable& tensor, const std::string& group) {
    context->saved_data["group"] = group;
    return reduced(tensor, "sum", group);
  }
  static variable_list backward(AutogradContext* context, variable_list gradients) {
    return {all_reduce(gradients[0], group_of(context)), Variable()};
  }
};

struct Gather : torch::autograd::Function<Gather> {
  static Variable forward(AutogradContext* context, const Variable& tensor, const std::string& group,
                          int64_t size) {
    context->saved_data["group"] = group;
    return communicate<const at::Tensor&, int64_t, std::string>("_c10d_functional::all_gather_into_tensor",
                                                                tensor.contiguous(), size, group);
  }
  static variable_list backward(AutogradContext* context, variable_list gradients) {
    return {reduce_scatter(gradients[0], group_of(context)), Variable(), Variable()};
  }
};

struct Scatter : torch::autograd::Function<Scatter> {
  static Variable forward(AutogradContext* context, const Variable& tensor, const std::string& group,
                          int64_t size) {
    context->saved_data["group"] = group;
    return communicate<const at::Tensor&, std::string, int64_t, std::string>(
        "_c10d_functional::reduce_scatter_tensor", tensor.contiguous(), "sum", size, group);
  }
  static variable_list backward(AutogradContext* context, variable_list gradients) {
    return {all_gather(gradients[0], group_of(context)), Variable(), Variable()};
  }
};

c10::SymIntArrayRef symbolic(const std::vector<int64_t>& rows) { return c10::fromIntArrayRefSlow(rows); }

struct Exchange : torch::autograd::Function<Exchange> {
  static Variable forward(AutogradContext* context, const Variable& tensor, const std::string& group,
                          const std::vector<int64_t>& output_rows, const std::vector<int64_t>& input_rows) {
    context->saved_data["group"] = group;
    context->saved_data["output_rows"] = output_rows;
    context->saved_data["input_rows"] = input_rows;
    return communicate<const at::Tensor&, c10::SymIntArrayRef, c10::SymIntArrayRef, std::string>(
        "_c10d_functional::all_to_all_single", tensor.contiguous(), symbolic(output_rows),
        symbolic(input_rows), group);
  }
  static variable_list backward(AutogradContext* context, variable_list gradients) {
    return {all_to_all(gradients[0], group_of(context), context->saved_data["input_rows"].toIntVector(),
                       context->saved_data["output_rows"].toIntVector()),
            Variable(), Variable(), Variable()};
  }
};

/// The tensor in one process, zeros in the others.
struct OnlyOn : torch::autograd::Function<OnlyOn> {
  static Variable forward(AutogradContext* context, const Variable& tensor, int64_t rank,
                          const std::string& group) {
    context->saved_data["group"] = group;
    context->saved_data["rank"] = rank;
    return call<const at::Tensor&, int64_t, c10::string_view>("antegrad_distributed::only_on", tensor, rank,
                                                              group);
  }
  static variable_list backward(AutogradContext* context, variable_list gradients) {
    return {OnlyOn::apply(gradients[0], context->saved_data["rank"].toInt(),
                          std::string(context->saved_data["group"].toStringRef())),
            Variable(), Variable()};
  }
};

struct Broadcast : torch::autograd::Function<Broadcast> {
  static Variable forward(AutogradContext* context, const Variable& tensor, int64_t source,
                          const std::string& group) {
    context->saved_data["group"] = group;
    context->saved_data["source"] = source;
    return communicate<const at::Tensor&, int64_t, std::string>("_c10d_functional::broadcast",
                                                                tensor.contiguous(), source, group);
  }
  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const auto group = group_of(context);
    return {
        OnlyOn::apply(all_reduce(gradients[0], group), context->saved_data["source"].toInt(), group.name()),
        Variable(), Variable()};
  }
};

}  // namespace

Group::Group(std::string name) : name_(std::move(name)) {
  const auto place = place_in(name_);
  rank_ = place.rank;
  size_ = place.size;
}

at::Tensor all_reduce(const at::Tensor& tensor, const Group& group, Reduce how) {
  if (how == Reduce::Sum) return Sum::apply(tensor, group.name());
  if (how == Reduce::Average) return Sum::apply(tensor, group.name()) / group.size();
  if (needs_gradient(tensor))
    throw Error(ErrorCode::NeedsGrad, "distributed:all_reduce",
                fmt::format("the {} over processes has no gradient", name_of(how)),
                "Pass tensor.detach(), or use Reduce::Sum or Reduce::Average");
  return reduced(tensor, name_of(how), group.name());
}

at::Tensor all_gather(const at::Tensor& tensor, const Group& group) {
  return Gather::apply(tensor, group.name(), group.size());
}

at::Tensor reduce_scatter(const at::Tensor& tensor, const Group& group, Reduce how) {
  if (how != Reduce::Sum && how != Reduce::Average)
    throw Error(ErrorCode::InvalidArgument, "distributed:reduce_scatter",
                fmt::format("the {} over processes cannot be scattered", name_of(how)),
                "Use Reduce::Sum or Reduce::Average");
  const auto part = Scatter::apply(tensor, group.name(), group.size());
  return how == Reduce::Average ? part / group.size() : part;
}

at::Tensor all_to_all(const at::Tensor& tensor, const Group& group, std::vector<int64_t> output_rows,
                      std::vector<int64_t> input_rows) {
  const size_t size = group.size();
  const auto fill = [&](std::vector<int64_t>& rows) {
    if (rows.empty()) rows.assign(size, tensor.size(0) / group.size());
    if (rows.size() != size)
      throw Error(ErrorCode::InvalidArgument, "distributed:all_to_all",
                  fmt::format("{} numbers of rows were given for {} processes", rows.size(), size),
                  "Give one for each process, or none");
  };
  fill(output_rows);
  fill(input_rows);
  return Exchange::apply(tensor, group.name(), output_rows, input_rows);
}

at::Tensor broadcast(const at::Tensor& tensor, int64_t source, const Group& group) {
  return Broadcast::apply(tensor, source, group.name());
}

void broadcast_parameters(torch::nn::Module& module, const Group& group, int64_t source) {
  const c10::NoGradGuard no_grad;
  for (auto& parameter : module.parameters()) parameter.copy_(broadcast(parameter, source, group));
  for (auto& buffer : module.buffers()) buffer.copy_(broadcast(buffer, source, group));
}

}  // namespace antegrad::distributed
