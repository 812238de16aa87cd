#pragma once
// Precompiled for all tests that use LibTorch.
#include <gtest/gtest.h>
#include <torch/torch.h>
