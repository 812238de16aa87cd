#pragma once
// Precompiled for every test that knows LibTorch.
#include <gtest/gtest.h>
#include <torch/torch.h>
