# Tests of ten seconds or more, in the order in which ctest -j starts them, before all others: a long one at the end would
# run alone.
set(long_tests
    consumer_test fusion_fuzz_test fuzz_test_compiled cache_processes_test process_fork_test awkward_numbers_test_compiled
    gradient_fuzz_test_compiled process_exit_test gradient_fuzz_test sweep_test_compiled kernel_source_test process_memory_test
    packages_test harness_test package_step_test package_sources_test package_fuzz_test cuda_emulation_test dynamic_fuzz_test_compiled cache_poisoned_test gradient_sweep_test_compiled cache_remote_test
    messages_test run_cli_test gradcheck_test_compiled symbolic_programs_test fuzz_test kernel_fuzz_test gradient_sweep_test
    dynamic_fuzz_test subset_fuzz_test_compiled doctor_test workloads_test prelude_accuracy_test training_policies_test_compiled
    symbolic_fuzz_test report_browser_test sharded_state_test data_parallel_test data_parallel_failures_test)
list(LENGTH long_tests cost)
foreach(test IN LISTS long_tests)
  if(TEST ${test})
    set_tests_properties(${test} PROPERTIES COST ${cost}000)
  endif()
  math(EXPR cost "${cost} - 1")
endforeach()
