#pragma once
// What must hold for every error: its code, a text of the form "[stage:op] fact. Way out.", and that nothing
// has changed.
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/autocast_mode.h>
#include <antegrad/antegrad.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <c10/core/impl/TorchDispatchModeTLS.h>
#include <gtest/gtest.h>
#include <torch/csrc/jit/runtime/graph_executor.h>
#include <torch/torch.h>

#include <regex>
#include <string>
#include <vector>

namespace antegrad::test {

/// A snapshot of what a capture must not change: the thread's settings, the default generator and some
/// tensors.
class Surroundings {
 public:
  explicit Surroundings(std::vector<at::Tensor> tensors) : tensors_(std::move(tensors)), before_(now()) {
    at::NoGradGuard no_grad;
    for (const auto& tensor : tensors_) {
      contents_.push_back(tensor.is_sparse() || tensor.is_quantized() ? at::Tensor()
                                                                      : tensor.detach().clone());
      states_.push_back(state_of(tensor));
    }
  }

  void expect_unchanged() const {
    const auto after = now();
    EXPECT_TRUE(at::equal(before_.generator, after.generator)) << "the default generator has moved";
    EXPECT_EQ(before_.flags, after.flags)
        << "grad mode, inference mode, autocast, its cache, profiling, modes";
    EXPECT_EQ(before_.keys, after.keys) << "thread-local dispatch keys";
    EXPECT_FALSE(detail::capturing());
    for (size_t i = 0; i < tensors_.size(); ++i) {
      const auto state = state_of(tensors_[i]);
      EXPECT_EQ(states_[i].numbers, state.numbers)
          << "tensor " << i << ": version, requires_grad, sizes, strides, offset";
      EXPECT_EQ(states_[i].pointers, state.pointers) << "tensor " << i << ": storage, .grad, grad_fn";
      if (!contents_[i].defined()) continue;
      EXPECT_TRUE(at::equal(contents_[i], tensors_[i].detach())) << "tensor " << i;
    }
  }

 private:
  struct Thread {
    at::Tensor generator;
    std::vector<int64_t> flags;
    std::pair<uint64_t, uint64_t> keys;
  };
  struct State {
    std::vector<int64_t> numbers;
    std::vector<const void*> pointers;
  };

  static Thread now() {
    Thread thread;
    thread.generator = at::detail::getDefaultCPUGenerator().get_state();
    thread.flags = {at::GradMode::is_enabled(),
                    c10::InferenceMode::is_enabled(),
                    at::autocast::is_autocast_enabled(at::kCPU),
                    at::autocast::is_autocast_cache_enabled(),
                    torch::jit::getProfilingMode(),
                    torch::jit::getExecutorMode(),
                    c10::impl::TorchDispatchModeTLS::stack_len()};
    const auto keys = c10::impl::tls_local_dispatch_key_set();
    thread.keys = {keys.included_.raw_repr(), keys.excluded_.raw_repr()};
    return thread;
  }

  static State state_of(const at::Tensor& tensor) {
    State state;
    state.numbers = {static_cast<int64_t>(tensor._version()), tensor.requires_grad()};
    for (auto size : tensor.sizes()) state.numbers.push_back(size);
    state.pointers = {tensor.is_leaf() ? tensor.grad().unsafeGetTensorImpl() : nullptr,
                      tensor.grad_fn().get()};
    if (tensor.layout() != at::kStrided) return state;
    for (auto stride : tensor.strides()) state.numbers.push_back(stride);
    state.numbers.push_back(tensor.storage_offset());
    state.pointers.push_back(tensor.storage().unsafeGetStorageImpl());
    return state;
  }

  std::vector<at::Tensor> tensors_;
  Thread before_;
  std::vector<at::Tensor> contents_;
  std::vector<State> states_;
};

/// "[stage:op] fact. Way out." The fact may contain a diff of several lines.
inline bool has_the_form(const std::string& text) {
  static const std::regex form(
      R"(\[[a-z_]+(:[A-Za-z0-9_.]+)?\] [^\s][\s\S]*[^.\s]\s*\. [A-Z][^\n]*[^.\s]\.)");
  return std::regex_match(text, form);
}

/// Expects that `call` throws an error of that code whose text begins with "[where] " and contains `fact`,
/// and that it changes neither the tensors nor the thread's state.
template <class Call>
void expect_error(ErrorCode code, const std::string& where, const std::string& fact,
                  const std::vector<at::Tensor>& tensors, const Call& call) {
  const Surroundings surroundings(tensors);
  try {
    call();
    ADD_FAILURE() << "no error, expected " << error_code_name(code) << " at " << where;
  } catch (const Error& error) {
    const std::string text = error.what();
    EXPECT_EQ(error_code_name(error.code()), error_code_name(code)) << text;
    EXPECT_EQ(text.rfind("[" + where + "] ", 0), 0U) << text;
    EXPECT_NE(text.find(fact), std::string::npos) << text << "\nlacks: " << fact;
    EXPECT_TRUE(has_the_form(text)) << text;
  } catch (const std::exception& error) {
    ADD_FAILURE() << "expected " << error_code_name(code) << ", got: " << error.what();
  }
  surroundings.expect_unchanged();
}

}  // namespace antegrad::test
