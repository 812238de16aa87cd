# Runs the tests that call backward() or grad() with compiled autograd for every backward pass
# (ANTEGRAD_TEST_COMPILED_AUTOGRAD=1, support/compiled_autograd_switch.cpp). Left out:
#   compiled_autograd_*               enable and disable it themselves
#   fuzz_test, dynamic_fuzz_test      gradient_fuzz_test covers gradients of random programs
#   c_api_errors cache_keys decompose_cases determinism export_errors unsupported_op
#                                     they run no backward pass in their own process, but only capture
#   cache_functions                   counts cache entries for the backward passes of compiled functions, which are parts of
#                                     larger graphs here
#   gradient_sweep                    thousands of graphs, which take minutes
#   backend_options                   compilers, instruction sets and explain(): a compiled pass has process-wide options
#   export export_programs export_writes
#                                     they export graphs, and run backward passes of eager functions only
set(under_compiled_autograd
    autograd_backward autograd_functions autograd_higher_order autograd_hooks autograd_inputs autograd_memory
    autograd_refusals autograd_saved_hooks autograd_saved autograd_second_run autograd_state autograd_threads
    backend_functions background_compile behaviours_capture behaviours_training_mutation behaviours_training_views c_api
    cache_programs checkpoint cond dynamic_behaviours dynamic_shapes eager_fallback effects functional_grad gradient_errors gradcheck gradient_fuzz
    lifting loops modules region_fuzz shared_inputs_gradient training_memory training_nets training_programs traps_state traps workloads)
# Left out for the same reason as cache_functions. (The filter also names the suite, since several tests are one program.)
set(switched_filter_cache_programs --gtest_filter=CachePrograms.*-*.ForwardAndBackwardMayReadDifferentSizes)
set(switched_filter_gradient_fuzz --gtest_filter=*Seeds0To399)

foreach(name IN LISTS under_compiled_autograd)
  antegrad_add_run(${name}_under_compiled_autograd ${name}_test cpu ${switched_filter_${name}})
  set(environment ANTEGRAD_TEST_COMPILED_AUTOGRAD=1 ANTEGRAD_WRITABLE_INPUTS=1)
  if(NOT name MATCHES "^(backend_|background_|cache_)")  # these test generated code
    list(APPEND environment ANTEGRAD_BACKEND=eager)
  endif()
  set_tests_properties(${name}_under_compiled_autograd PROPERTIES ENVIRONMENT "${environment}")
endforeach()
