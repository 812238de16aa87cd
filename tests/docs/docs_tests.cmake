# Tests of the docs: C++ blocks, joined into one program; shell blocks; pictures. Included from tests/CMakeLists.txt.
find_package(Python3 REQUIRED COMPONENTS Interpreter)
set(docs_dir ${CMAKE_CURRENT_LIST_DIR})
set(docs_code ${CMAKE_CURRENT_BINARY_DIR}/docs_code_test.cpp)
file(GLOB docs_pages CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/docs/*.md ${docs_dir}/*.inc)
set(docs_excerpts src/ir/ops_pointwise.def src/passes/decompositions/decompositions_activations.cpp src/capture/rules/pooling.cpp
                  tests/samples/activations.cpp)
list(TRANSFORM docs_excerpts PREPEND ${PROJECT_SOURCE_DIR}/)
add_custom_command(
  OUTPUT ${docs_code}
  COMMAND Python3::Interpreter ${docs_dir}/join.py ${PROJECT_SOURCE_DIR} ${docs_code}
  DEPENDS ${docs_dir}/join.py ${docs_pages} ${docs_excerpts} ${PROJECT_SOURCE_DIR}/README.md
  COMMENT "Joining the code of the docs")
antegrad_torch_test_program(docs_code_test ${docs_code})
antegrad_add_run(docs_code_test docs_code_test project)
set_tests_properties(docs_code_test PROPERTIES WORKING_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR})

add_test(NAME docs_shell_test COMMAND bash ${docs_dir}/shell.sh $<TARGET_FILE:antegrad_cli> $<TARGET_FILE:cache_sample>
                                      ${PROJECT_SOURCE_DIR})
add_test(NAME docs_links_test COMMAND Python3::Interpreter ${docs_dir}/links.py ${PROJECT_SOURCE_DIR})
add_test(NAME docs_pictures_test COMMAND Python3::Interpreter ${PROJECT_SOURCE_DIR}/scripts/pictures.py --check)
set_tests_properties(docs_shell_test docs_links_test docs_pictures_test PROPERTIES LABELS project TIMEOUT 600)
