#pragma once
// Helpers for the program that tests/docs/join.py makes of the code in the docs.
#include <antegrad/antegrad.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <filesystem>
#include <functional>
#include <iostream>
#include <thread>

inline void expect_error(antegrad::ErrorCode code, const std::function<void()>& run) {
  try {
    run();
    ADD_FAILURE() << "no error, expected " << antegrad::error_code_name(code);
  } catch (const antegrad::Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
  }
}

inline bool close(const at::Tensor& a, const at::Tensor& b) { return torch::allclose(a, b, 1e-4, 1e-5); }
