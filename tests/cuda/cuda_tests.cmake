# Tests on a CUDA device, label `cuda`; make test-cuda runs them. Everywhere else they are skipped. scripts/carry_cuda_tests.sh
# packs them for a machine that has a device and no compiler.
file(GLOB sources CONFIGURE_DEPENDS cuda/*_test.cpp)
foreach(source IN LISTS sources)
  antegrad_test_name(${source} name)
  antegrad_add_run(${name} ${name} cuda)
endforeach()
antegrad_in_batches(antegrad_joined_tests cuda_tests ${sources})

# The workloads of the benchmarks and the random programs of the group fuzz, with tensors on the device.
set(on_cuda "ANTEGRAD_TEST_DEVICE=cuda;ANTEGRAD_CUDA_KERNELS=1;ANTEGRAD_WRITABLE_INPUTS=1")
antegrad_add_run(workloads_test_cuda workloads_test cuda)
set_tests_properties(workloads_test_cuda PROPERTIES ENVIRONMENT "${on_cuda}")
foreach(name fusion_fuzz_test gradient_fuzz_test dynamic_fuzz_test optimizer_fuzz_test)
  antegrad_add_run(${name}_cuda ${name} cuda --gtest_filter=Fresh*)
  set_tests_properties(${name}_cuda PROPERTIES ENVIRONMENT "${on_cuda};ANTEGRAD_FUZZ_SEED=0;ANTEGRAD_FUZZ_COUNT=200")
endforeach()
antegrad_add_run(gradient_fuzz_under_compiled_autograd_cuda gradient_fuzz_test cuda --gtest_filter=Fresh*)
set_tests_properties(gradient_fuzz_under_compiled_autograd_cuda PROPERTIES ENVIRONMENT
                     "${on_cuda};ANTEGRAD_FUZZ_SEED=4000;ANTEGRAD_FUZZ_COUNT=60;ANTEGRAD_TEST_COMPILED_AUTOGRAD=1")
