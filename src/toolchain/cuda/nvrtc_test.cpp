#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "antegrad/error.h"
#include "toolchain/cuda/cubin.h"
#include "toolchain/cuda/driver.h"
#include "toolchain/cuda/module.h"
#include "toolchain/cuda/nvrtc.h"

namespace {

using namespace antegrad;
using namespace antegrad::toolchain;

constexpr const char* kAdd = R"(
extern "C" __global__ void __launch_bounds__(256) add(const float* a, const float* b, float* out, long long n,
                                                      unsigned int* error) {
  const long long i = (long long)blockIdx.x * 256 + threadIdx.x;
  if (i < n) out[i] = a[i] + b[i];
}
)";

#define NEED_NVRTC() \
  if (!cuda::nvrtc().problem.empty()) GTEST_SKIP() << "missing: libnvrtc (" << cuda::nvrtc().problem << ")"

Object add_for(int32_t capability) { return cuda::nvrtc_toolchain()->compile(kAdd, CudaArch{capability}); }

TEST(Nvrtc, CompilesToCubinsOfSeveralArchitectures) {
  NEED_NVRTC();
  for (const auto capability : {80, 90}) {
    const auto object = add_for(capability);
    EXPECT_TRUE(cuda::is_cubin(object.bytes)) << capability;
    EXPECT_EQ(object.symbols, std::vector<std::string>{"add"}) << capability;
  }
}

TEST(Nvrtc, GivesEqualCubinsForEqualSources) {
  NEED_NVRTC();
  EXPECT_EQ(add_for(90).bytes, add_for(90).bytes);
}

TEST(Nvrtc, ContractsNothing) {
  NEED_NVRTC();
  // With contraction, a * b + c is one instruction and its result differs; the text of a cubin does not show
  // that, but its size and bytes do not depend on the explicit intrinsics.
  const auto source = [](const char* expression) {
    return std::string(
               "extern \"C\" __global__ void f(float* p) { const float a = p[0], b = p[1], c = p[2]; "
               "p[3] = ") +
           expression + "; }";
  };
  const auto toolchain = cuda::nvrtc_toolchain();
  const auto plain = toolchain->compile(source("a * b + c"), CudaArch{90}).bytes;
  EXPECT_EQ(plain, toolchain->compile(source("__fadd_rn(__fmul_rn(a, b), c)"), CudaArch{90}).bytes);
  EXPECT_NE(plain, toolchain->compile(source("__fmaf_rn(a, b, c)"), CudaArch{90}).bytes);
}

TEST(Nvrtc, SaysWhatIsWrongWithASource) {
  NEED_NVRTC();
  try {
    cuda::nvrtc_toolchain()->compile("extern \"C\" __global__ void f() {\n  nothing();\n}\n", CudaArch{90});
    FAIL();
  } catch (const Error& error) {
    const std::string text = error.what();
    EXPECT_EQ(error.code(), ErrorCode::Compile);
    EXPECT_NE(text.find("nothing"), std::string::npos) << text;
    EXPECT_NE(text.find("-arch=sm_90"), std::string::npos) << text;
  }
}

TEST(Nvrtc, CompilesInParallel) {
  NEED_NVRTC();
  std::vector<std::string> sources;
  for (int i = 0; i < 8; ++i)
    sources.push_back("extern \"C\" __global__ void f(int* p) { *p = " + std::to_string(i / 2) + "; }");
  const auto objects = compile_all(*cuda::nvrtc_toolchain(), sources, CudaArch{90});
  for (size_t i = 0; i < objects.size(); i += 2) EXPECT_EQ(objects[i].bytes, objects[i + 1].bytes);
}

TEST(Nvrtc, IsIdentifiedWithoutBeingOpened) {
  NEED_NVRTC();
  const auto name = cuda::nvrtc_name();
  EXPECT_EQ(name.rfind("nvrtc-", 0), 0U);
  EXPECT_GT(name.size(), std::string("nvrtc-").size());
}

TEST(Cubin, AnyChangeOfHeadersIsRefusedOrHarmless) {
  NEED_NVRTC();
  const auto good = add_for(90).bytes;
  EXPECT_THROW(cuda::functions_of_cubin({}), Error);
  for (size_t size = 0; size < good.size(); size += 61) {
    const std::vector<uint8_t> cut(good.begin(), good.begin() + static_cast<int64_t>(size));
    EXPECT_THROW(cuda::functions_of_cubin(cut), Error) << size;
  }
  for (size_t at = 0; at < good.size(); ++at) {
    auto changed = good;
    changed[at] ^= 0xff;
    try {
      cuda::functions_of_cubin(changed);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::Compile);
    }
  }
}

TEST(Cubin, ObjectsOfOtherMachinesAreNone) {
  const auto object = system_toolchain()->compile("int f(void) { return 1; }", toolchain::Isa::Baseline);
  EXPECT_FALSE(cuda::is_cubin(object.bytes));
  EXPECT_THROW(cuda::functions_of_cubin(object.bytes), Error);
}

TEST(CudaModule, NeedsTheKernelThatIsAskedFor) {
  NEED_NVRTC();
  EXPECT_THROW(cuda::Module::load(add_for(90), "subtract"), Error);
  if (cuda::device_count() == 0) {
    EXPECT_THROW(cuda::Module::load(add_for(90), "add"), Error);
  }
}

}  // namespace
