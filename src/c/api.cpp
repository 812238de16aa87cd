#include <ATen/Parallel.h>
#include <c10/util/Exception.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <new>

#include "antegrad/c.h"
#include "antegrad/error.h"
#include "c/callable.h"
#include "c/options.h"
#include "c/tensors.h"
#include "util/thread_object.h"

namespace antegrad::c {
namespace {

std::string& last_error() { return thread_object<std::string, struct LastError>(); }

antegrad_status status_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::InvalidArgument:
    case ErrorCode::UnknownPass:
      return ANTEGRAD_ERROR_INVALID_ARGUMENT;
    case ErrorCode::Io:
      return ANTEGRAD_ERROR_IO;
    case ErrorCode::Parse:
    case ErrorCode::Verify:
      return ANTEGRAD_ERROR_FORMAT;
    case ErrorCode::Compile:
      return ANTEGRAD_ERROR_COMPILE;
    case ErrorCode::CacheMiss:
      return ANTEGRAD_ERROR_CACHE_MISS;
    case ErrorCode::Internal:
      return ANTEGRAD_ERROR_INTERNAL;
    default:
      return ANTEGRAD_ERROR_UNSUPPORTED;
  }
}

antegrad_status failed(antegrad_status status, const char* text) noexcept {
  try {
    last_error() = text;
  } catch (...) {
    last_error().clear();  // no memory for the text
  }
  return status;
}

/// Runs the body of an API function and turns any exception into a status and a text.
template <class Work>
antegrad_status guarded(const Work& work) noexcept {
  try {
    work();
    return ANTEGRAD_OK;
  } catch (const Error& error) {
    return failed(status_of(error.code()), error.what());
  } catch (const BufferTooSmall& error) {
    return failed(ANTEGRAD_ERROR_BUFFER_TOO_SMALL, error.text.c_str());
  } catch (const c10::Error& error) {
    return failed(ANTEGRAD_ERROR_LIBTORCH, error.what_without_backtrace());
  } catch (const std::bad_alloc&) {
    return failed(ANTEGRAD_ERROR_MEMORY, "[c] there is not enough memory. Use smaller inputs.");
  } catch (const std::exception& error) {  // including TorchScript's own exceptions
    return failed(ANTEGRAD_ERROR_LIBTORCH, error.what());
  } catch (...) {
    return failed(ANTEGRAD_ERROR_INTERNAL,
                  "[c] an exception was thrown that is not a std::exception. Report it.");
  }
}

template <class T>
T* not_null(T* pointer, const char* name) {
  if (pointer == nullptr)
    throw Error(ErrorCode::InvalidArgument, "c", fmt::format("`{}` is null", name), "See antegrad/c.h");
  return pointer;
}

using Load = std::unique_ptr<antegrad_function> (*)(const std::string&, const Options&);

antegrad_status load(Load loader, const char* from, const char* name, const antegrad_options* options,
                     antegrad_function** function) {
  return guarded([&] {
    *not_null(function, "function") = nullptr;
    *function = loader(not_null(from, name), options == nullptr ? Options() : options->options).release();
  });
}

/// Returns `count` consecutive outputs.
std::vector<Output> list_of(antegrad_tensor* outputs, size_t count, const char* name, const char* of_each) {
  std::vector<Output> list;
  if (count > 0) not_null(outputs, name);
  for (size_t i = 0; i < count; ++i) list.push_back({outputs + i, fmt::format("{} {}", of_each, i)});
  return list;
}

/// Writes gradients, and the value unless its place is null.
void give_gradients(ValueAndGradients results, antegrad_tensor* value, antegrad_tensor* gradients,
                    size_t count) {
  auto places = list_of(gradients, count, "gradients", "gradient");
  auto all = std::move(results.gradients);
  if (value != nullptr) {
    all.push_back(std::move(results.value));
    places.push_back({value, "the value"});
  }
  give(std::move(all), places);
}

const at::Tensor& state_named(const antegrad_function& function, const std::string& name) {
  for (const auto& [own, tensor] : function.state())
    if (own == name) return tensor;
  throw Error(ErrorCode::InvalidArgument, "c:state",
              fmt::format("the function has no parameter or buffer \"{}\"", name),
              "antegrad_state_name() gives the names of a program");
}

}  // namespace

void refuse_no_program() {
  throw Error(ErrorCode::InvalidArgument, "c:state", "the function is not a program of torch.export",
              "Load it with antegrad_load_program()");
}

}  // namespace antegrad::c

using namespace antegrad::c;

const char* antegrad_last_error(void) { return last_error().c_str(); }

antegrad_status antegrad_set_threads(int32_t threads) {
  return guarded([&] {
    if (threads < 1)
      throw antegrad::Error(antegrad::ErrorCode::InvalidArgument, "c",
                            fmt::format("{} threads are asked for", threads), "Ask for one or more");
    at::set_num_threads(threads);
  });
}

antegrad_status antegrad_options_create(antegrad_options** options) {
  return guarded([&] { *not_null(options, "options") = new antegrad_options; });
}

antegrad_status antegrad_options_set(antegrad_options* options, const char* name, const char* value) {
  return guarded([&] {
    set_option(not_null(options, "options")->options, not_null(name, "name"), not_null(value, "value"));
  });
}

void antegrad_options_free(antegrad_options* options) { delete options; }

antegrad_status antegrad_load_script(const char* path, const antegrad_options* options,
                                     antegrad_function** function) {
  return load(load_script, path, "path", options, function);
}

antegrad_status antegrad_load_program(const char* path, const antegrad_options* options,
                                      antegrad_function** function) {
  return load(load_program_file, path, "path", options, function);
}

antegrad_status antegrad_load_package(const char* path, const char* name, const antegrad_options* options,
                                      antegrad_function** function) {
  return guarded([&] {
    *not_null(function, "function") = nullptr;
    *function = load_package_function(not_null(path, "path"), name == nullptr ? "" : name,
                                      options == nullptr ? antegrad::Options() : options->options)
                    .release();
  });
}

antegrad_status antegrad_load_graph(const char* text, const antegrad_options* options,
                                    antegrad_function** function) {
  return load(load_graph, text, "text", options, function);
}

void antegrad_function_free(antegrad_function* function) { delete function; }

antegrad_status antegrad_call(antegrad_function* function, const antegrad_tensor* inputs, size_t input_count,
                              antegrad_tensor* outputs, size_t output_count) {
  return guarded([&] {
    not_null(function, "function");
    const auto places = list_of(outputs, output_count, "outputs", "result");
    const auto borrowed = borrow(inputs, input_count);  // must live until the results are written
    give(function->call(borrowed), places);
  });
}

antegrad_status antegrad_value_and_gradients(antegrad_function* function, const antegrad_tensor* inputs,
                                             size_t input_count, const size_t* wanted, size_t wanted_count,
                                             antegrad_tensor* value, antegrad_tensor* gradients) {
  return guarded([&] {
    not_null(function, "function");
    const auto borrowed = borrow(inputs, input_count);
    give_gradients(function->value_and_gradients(borrowed, check_wanted(borrowed, wanted, wanted_count)),
                   value, gradients, wanted_count);
  });
}

antegrad_status antegrad_state_count(const antegrad_function* function, size_t* count) {
  return guarded([&] { *not_null(count, "count") = not_null(function, "function")->state().size(); });
}

antegrad_status antegrad_state_name(const antegrad_function* function, size_t index, const char** name) {
  return guarded([&] {
    const auto& state = not_null(function, "function")->state();
    if (index >= state.size())
      throw antegrad::Error(antegrad::ErrorCode::InvalidArgument, "c:state",
                            fmt::format("there is no name {}: the function has {}", index, state.size()),
                            "antegrad_state_count() gives their number");
    *not_null(name, "name") = state[index].first.c_str();
  });
}

antegrad_status antegrad_state_get(const antegrad_function* function, const char* name,
                                   antegrad_tensor* tensor) {
  return guarded([&] {
    not_null(tensor, "tensor");
    const auto& found = state_named(*not_null(function, "function"), not_null(name, "name"));
    const at::NoGradGuard no_grad;
    give({found.detach().clone()}, {{tensor, fmt::format("\"{}\"", name)}});
  });
}

antegrad_status antegrad_state_set(antegrad_function* function, const char* name,
                                   const antegrad_tensor* tensor) {
  return guarded([&] {
    const auto& found = state_named(*not_null(function, "function"), not_null(name, "name"));
    const auto given = borrow(not_null(tensor, "tensor"), 1).at(0);
    if (given.scalar_type() != found.scalar_type() || given.sizes() != found.sizes())
      throw antegrad::Error(antegrad::ErrorCode::InvalidArgument, "c:state",
                            fmt::format("\"{}\" is {}[{}] in the program, and {}[{}] was given", name,
                                        c10::toString(found.scalar_type()), fmt::join(found.sizes(), ", "),
                                        c10::toString(given.scalar_type()), fmt::join(given.sizes(), ", ")),
                            "Give a tensor of the same dtype and sizes");
    const at::NoGradGuard no_grad;
    found.detach().copy_(given);
  });
}

antegrad_status antegrad_value_and_state_gradients(antegrad_function* function, const antegrad_tensor* inputs,
                                                   size_t input_count, const char* const* names,
                                                   size_t name_count, antegrad_tensor* value,
                                                   antegrad_tensor* gradients) {
  return guarded([&] {
    not_null(function, "function");
    std::vector<std::string> wanted;
    for (size_t i = 0; i < name_count; ++i)
      wanted.emplace_back(not_null(not_null(names, "names")[i], "names"));
    const auto borrowed = borrow(inputs, input_count);
    give_gradients(function->value_and_state_gradients(borrowed, wanted), value, gradients, name_count);
  });
}

antegrad_status antegrad_save_program(const antegrad_function* function, const char* path) {
  return guarded([&] { not_null(function, "function")->save(not_null(path, "path")); });
}

antegrad_status antegrad_trainer_create(const antegrad_function* program, const char* optimizer,
                                        const antegrad_options* options, antegrad_trainer** trainer) {
  return guarded([&] {
    *not_null(trainer, "trainer") = nullptr;
    *trainer = not_null(program, "program")
                   ->trainer(not_null(optimizer, "optimizer"),
                             options == nullptr ? antegrad::Options() : options->options)
                   .release();
  });
}

antegrad_status antegrad_load_package_step(const char* path, const char* name,
                                           const antegrad_options* options, antegrad_trainer** trainer) {
  return guarded([&] {
    *not_null(trainer, "trainer") = nullptr;
    *trainer = load_package_step(not_null(path, "path"), name == nullptr ? "" : name,
                                 options == nullptr ? antegrad::Options() : options->options)
                   .release();
  });
}

antegrad_status antegrad_trainer_set(antegrad_trainer* trainer, const char* name, double value) {
  return guarded([&] { not_null(trainer, "trainer")->set(not_null(name, "name"), value); });
}

antegrad_status antegrad_train(antegrad_trainer* trainer, const antegrad_tensor* inputs, size_t input_count,
                               antegrad_tensor* outputs, size_t output_count) {
  return guarded([&] {
    not_null(trainer, "trainer");
    const auto places = list_of(outputs, output_count, "outputs", "result");
    const auto borrowed = borrow(inputs, input_count);
    give(trainer->train(borrowed), places);
  });
}

antegrad_status antegrad_trainer_save(const antegrad_trainer* trainer, const char* path) {
  return guarded([&] { not_null(trainer, "trainer")->save(not_null(path, "path")); });
}

antegrad_status antegrad_trainer_load(antegrad_trainer* trainer, const char* path) {
  return guarded([&] { not_null(trainer, "trainer")->load(not_null(path, "path")); });
}

void antegrad_trainer_free(antegrad_trainer* trainer) { delete trainer; }

void antegrad_tensor_free(antegrad_tensor* tensor) {
  if (tensor == nullptr || tensor->owner == nullptr) return;
  delete static_cast<at::Tensor*>(tensor->owner);
  tensor->owner = nullptr;
  tensor->data = nullptr;
  tensor->bytes = 0;
}
