# Tests of the project rather than of its code: structure, command line, installation. Included last from
# tests/CMakeLists.txt, so that the environment below is set for every test of that folder.
find_package(Python3 REQUIRED COMPONENTS Interpreter)
set(project_dir ${CMAKE_CURRENT_LIST_DIR})

add_test(NAME structure_test COMMAND Python3::Interpreter ${project_dir}/structure.py ${PROJECT_SOURCE_DIR})
foreach(name structure_selftest behaviours_selftest)
  add_test(NAME ${name} COMMAND Python3::Interpreter ${project_dir}/${name}.py)
endforeach()
set(project_tests structure_test structure_selftest behaviours_selftest)
set_tests_properties(${project_tests} PROPERTIES ENVIRONMENT PYTHONDONTWRITEBYTECODE=1)

add_test(NAME cli_test COMMAND bash ${project_dir}/cli_test.sh $<TARGET_FILE:antegrad_cli> ${PROJECT_SOURCE_DIR})
add_test(NAME run_cli_test COMMAND bash ${project_dir}/run_cli_test.sh $<TARGET_FILE:antegrad_cli> ${PROJECT_SOURCE_DIR})
add_test(NAME doctor_test COMMAND bash ${project_dir}/doctor_test.sh $<TARGET_FILE:antegrad_cli> ${PROJECT_SOURCE_DIR})
add_test(NAME man_test COMMAND bash ${project_dir}/man_test.sh $<TARGET_FILE:antegrad_cli>
                                    ${PROJECT_SOURCE_DIR}/docs/man/antegrad.1)
add_test(NAME completion_test COMMAND bash ${project_dir}/completion_test.sh $<TARGET_FILE:antegrad_cli>
                                           ${PROJECT_SOURCE_DIR}/scripts/completion/antegrad.bash)
add_test(NAME package_cli_test COMMAND bash ${project_dir}/package_cli_test.sh $<TARGET_FILE:antegrad_cli> ${PROJECT_SOURCE_DIR})
list(APPEND project_tests cli_test run_cli_test package_cli_test doctor_test man_test completion_test)

add_test(NAME package_header_test COMMAND bash ${project_dir}/package_header_test.sh ${CMAKE_CXX_COMPILER}
                                               ${PROJECT_SOURCE_DIR} ${LibTorch_ROOT_DIR})
list(APPEND project_tests package_header_test)

add_executable(cache_sample ${project_dir}/cache_sample.cpp)
target_link_libraries(cache_sample PRIVATE antegrad_core)
add_test(NAME cache_cli_test
         COMMAND bash ${project_dir}/cache_cli_test.sh $<TARGET_FILE:antegrad_cli> $<TARGET_FILE:cache_sample>)
list(APPEND project_tests cache_cli_test)

add_test(NAME report_cli_test COMMAND bash ${project_dir}/report_cli_test.sh $<TARGET_FILE:antegrad_cli>)
list(APPEND project_tests report_cli_test)
# Skipped with a message if there is no browser.
add_test(NAME report_browser_test
         COMMAND Python3::Interpreter ${project_dir}/report_browser_test.py $<TARGET_FILE:antegrad_cli>)
set_tests_properties(report_browser_test PROPERTIES ENVIRONMENT PYTHONDONTWRITEBYTECODE=1)
list(APPEND project_tests report_browser_test)

# Installs this build to a temporary prefix, builds the small project in consumer/ against it and runs it.
set(consumer_flags ${CMAKE_CXX_FLAGS})
if(ANTEGRAD_SANITIZE)
  string(APPEND consumer_flags " -fsanitize=${ANTEGRAD_SANITIZE}")
endif()
set(consumer_launcher)
if(CCACHE)
  set(consumer_launcher ${CCACHE})
endif()
add_test(NAME consumer_test
         COMMAND ${CMAKE_COMMAND} -DBUILD=${PROJECT_BINARY_DIR} -DWORK=${PROJECT_BINARY_DIR}/consumer_test
                 -DCONSUMER=${project_dir}/consumer -DGENERATOR=${CMAKE_GENERATOR} -DCXX=${CMAKE_CXX_COMPILER}
                 -DFLAGS=${consumer_flags} -DLAUNCHER=${consumer_launcher} -P ${project_dir}/consumer.cmake)
set_tests_properties(consumer_test PROPERTIES FIXTURES_SETUP consumer)
list(APPEND project_tests consumer_test)

# Use what consumer_test compiled and installed: through pkg-config and from packages.
set(consumer_arguments ${PROJECT_BINARY_DIR} ${project_dir}/consumer ${LibTorch_ROOT_DIR} ${CMAKE_CXX_COMPILER} "${consumer_flags}")
foreach(name pkg_config_test packages_test)
  add_test(NAME ${name} COMMAND bash ${project_dir}/${name}.sh ${consumer_arguments})
  set_tests_properties(${name} PROPERTIES FIXTURES_REQUIRED consumer)
endforeach()
# antegrad as a subfolder and as an archive in another project. Only configures: building would compile the library again.
add_test(NAME subproject_test COMMAND bash ${project_dir}/subproject_test.sh ${PROJECT_SOURCE_DIR} ${consumer_arguments})
add_test(NAME abi_test COMMAND bash ${PROJECT_SOURCE_DIR}/scripts/abi_check.sh ${PROJECT_BINARY_DIR})
if(ANTEGRAD_SANITIZE)
  set_tests_properties(abi_test PROPERTIES DISABLED ON)  # sanitizers add symbols
endif()
add_test(NAME messages_test COMMAND bash ${project_dir}/messages_test.sh ${PROJECT_SOURCE_DIR} ${LibTorch_ROOT_DIR} ${CMAKE_CXX_COMPILER})
list(APPEND project_tests messages_test)
# Doxygen warns where the API reference is incomplete.
add_test(NAME docs_test COMMAND bash ${project_dir}/docs_test.sh ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR}/docs_test)
list(APPEND project_tests docs_test pkg_config_test packages_test subproject_test abi_test)
# Exit status 77, for a missing prerequisite, makes a test "skipped" in the summary of ctest.
set_tests_properties(${project_tests} PROPERTIES LABELS project TIMEOUT 600 SKIP_RETURN_CODE 77)

# For all tests, including those of benchmarks. Idle OpenMP threads sleep, since tests run in parallel and a busy wait would
# take time from the others. Temporary files are in the build folder; those that killed tests left there are removed when
# ctest starts, if they are more than an hour old (another ctest may be running).
set(temporaries ${PROJECT_BINARY_DIR}/tmp)
file(MAKE_DIRECTORY ${temporaries})
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/CTestCustom.cmake @ONLY CONTENT [[
set(CTEST_CUSTOM_PRE_TEST "find \"@temporaries@\" -mindepth 1 -maxdepth 1 -mmin +60 -exec rm -rf {} +")
]])
set(for_all_tests OMP_WAIT_POLICY=passive TMPDIR=${temporaries})
set(ANTEGRAD_TEST_ENVIRONMENT ${for_all_tests} PARENT_SCOPE)
get_property(all_tests DIRECTORY PROPERTY TESTS)
set_property(TEST ${all_tests} APPEND PROPERTY ENVIRONMENT ${for_all_tests})

if(ANTEGRAD_SANITIZE MATCHES thread)
  get_property(all_tests DIRECTORY PROPERTY TESTS)
  set_property(TEST ${all_tests} APPEND PROPERTY ENVIRONMENT
               "TSAN_OPTIONS=suppressions=${PROJECT_SOURCE_DIR}/tests/tsan.supp second_deadlock_stack=1 die_after_fork=0 report_mutex_bugs=0")
endif()

# Tests always compile, and do not touch the user's cache. Tests of the cache use directories of their own.
get_property(all_tests DIRECTORY PROPERTY TESTS)
list(FILTER all_tests EXCLUDE REGEX "cache")
set_property(TEST ${all_tests} APPEND PROPERTY ENVIRONMENT "ANTEGRAD_CACHE=off")
