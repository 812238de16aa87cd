# Runs the examples with few steps. Their exit status says whether training improved the model and whether the results agree
# with eager.
function(antegrad_example_test name)
  add_test(NAME example_${name} COMMAND ${PROJECT_BINARY_DIR}/examples/${name} ${ARGN})
  set_tests_properties(example_${name} PROPERTIES LABELS project TIMEOUT 600 ENVIRONMENT OMP_NUM_THREADS=1)
endfunction()

antegrad_example_test(train_gpt --steps 20)
antegrad_example_test(conv_net --steps 20)
antegrad_example_test(molecular_dynamics --steps 30)
antegrad_example_test(physics_informed --steps 60)
antegrad_example_test(dcgan --steps 40)
antegrad_example_test(policy_gradient --steps 20)

# The C and Fortran programs run the model that torchscript_train saves.
set(potential ${CMAKE_CURRENT_BINARY_DIR}/potential.pt)
antegrad_example_test(torchscript_train ${potential} --steps 60)
set_tests_properties(example_torchscript_train PROPERTIES FIXTURES_SETUP potential)
antegrad_example_test(c_potential ${potential} 200)
set(users_of_potential example_c_potential)
if(TARGET fortran_potential)
  antegrad_example_test(fortran_potential ${potential})
  list(APPEND users_of_potential example_fortran_potential)
else()
  add_test(NAME example_fortran_potential COMMAND ${CMAKE_COMMAND} -E echo "skipped: no Fortran compiler was found")
  set_tests_properties(example_fortran_potential PROPERTIES LABELS project SKIP_REGULAR_EXPRESSION "skipped: ")
endif()
set_tests_properties(${users_of_potential} PROPERTIES FIXTURES_REQUIRED potential)
