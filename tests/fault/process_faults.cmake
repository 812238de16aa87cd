# Process exit, fork() and memory limits: programs that pass if their processes end well. Each runs twice here, and
# 200 times in `make nightly`.
set(fault_program_sources process_faults.cpp process_faults_exit.cpp process_faults_fork.cpp process_faults_memory.cpp)
list(TRANSFORM fault_program_sources PREPEND ${CMAKE_CURRENT_LIST_DIR}/)
antegrad_join(${CMAKE_CURRENT_BINARY_DIR}/process_faults.cpp ${fault_program_sources})
add_executable(process_faults ${CMAKE_CURRENT_BINARY_DIR}/process_faults.cpp)
target_include_directories(process_faults PRIVATE ${CMAKE_CURRENT_LIST_DIR})
target_link_libraries(process_faults PRIVATE antegrad::antegrad Threads::Threads)
target_precompile_headers(process_faults REUSE_FROM antegrad_test_support)
set_target_properties(process_faults PROPERTIES POSITION_INDEPENDENT_CODE OFF)
target_compile_definitions(process_faults PRIVATE FMT_HEADER_ONLY=1 GTEST_HAS_PTHREAD=1)
target_compile_options(process_faults PRIVATE -fPIC ${quick_to_compile})
foreach(kind exit fork memory)
  if(ANTEGRAD_SANITIZE AND kind MATCHES "^(fork|memory)$")
    # Sanitizers reserve terabytes of address space. AddressSanitizer's allocator does not release its locks in children of
    # fork(), which then wait forever if another thread was allocating.
    continue()
  endif()
  add_test(NAME process_${kind}_test COMMAND bash ${CMAKE_CURRENT_LIST_DIR}/process_faults.sh $<TARGET_FILE:process_faults> ${kind} 2)
  set_tests_properties(process_${kind}_test PROPERTIES LABELS fault TIMEOUT 600)
endforeach()
