# Tests of ten seconds and more, in the order in which ctest -j starts them, before all others: a long one at the end
# would run alone.
set(long_tests
    fusion_fuzz_test awkward_numbers_test_compiled cache_processes_test fuzz_test_compiled gradient_fuzz_test_compiled consumer_test
    dynamic_fuzz_test_compiled cache_poisoned_test sweep_test_compiled gradient_sweep_test packages_test cache_remote_test
    kernel_source_test gradcheck_test_compiled gradient_fuzz_test dynamic_fuzz_test fuzz_test harness_test run_cli_test
    symbolic_programs_test kernel_fuzz_test prelude_accuracy_test report_browser_test messages_test doctor_test)
list(LENGTH long_tests cost)
foreach(test IN LISTS long_tests)
  if(TEST ${test})
    set_tests_properties(${test} PROPERTIES COST ${cost}000)
  endif()
  math(EXPR cost "${cost} - 1")
endforeach()
