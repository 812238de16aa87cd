set(exact_tests
    # compare bits of trained weights, of gradients of sums, of casts to bf16, of results in many threads
    autograd_inputs_test autograd_second_run_test autograd_state_test functional_grad_test threads_test
    # thousands of ops, each at least one kernel: they take minutes to compile
    autograd_refusals_test
    # test what happens between processes
    data_parallel_failures_test
    # graphs without kernels
    compiled_autograd_golden_test joint_golden_test
    # compile no function, so another backend changes nothing
    decompose_cases_test decompose_matches_eager_test folding_matches_eager_test gradient_harness_test harness_test
    closeness_test device_updates_test expected_test kept_numbers_test program_errors_test program_fuzz_test script_test ops_def_test samples_test shape_rules_coverage_test shape_rules_images_test shape_rules_test
    small_matmul_matches_eager_test
)
# The first run of cache_replay_<name> compiles what they would compile (CMakeLists.txt).
set(replayed_tests behaviours_inputs behaviours_mutation behaviours_views behaviours_writes behaviours_training_mutation
                   behaviours_training_views random_ops training_programs)
foreach(name IN LISTS replayed_tests)
  list(APPEND exact_tests ${name}_test)
endforeach()
# Of tests with many programs, only these run with LibTorch's kernels …
set(eager_filter_fuzz_test --gtest_filter=-Fuzz.Seeds1000To1499:Fuzz.Seeds1500To1999:Fuzz.Seeds2000To2499)
set(eager_filter_gradient_fuzz_test --gtest_filter=-GradientFuzz.Seeds2000To3999)
# … and these with generated code, since compiling kernels takes most of the time. `make fuzz` runs all families of programs with
# both, with fresh seeds.
set(compiled_filter_fuzz_test --gtest_filter=Fuzz.*:FuzzMetadata.*:FreshFuzz.Programs:FreshFuzz.AwkwardNumbers-Fuzz.Seeds*:Fuzz.AwkwardNumbers:FuzzMetadata.*ze*:FuzzMetadata.Set)
set(compiled_environment_fuzz_test ANTEGRAD_FUZZ_SEED=7000 ANTEGRAD_FUZZ_COUNT=100)
set(compiled_filter_gradient_fuzz_test --gtest_filter=FreshGradientFuzz.Programs)
set(compiled_environment_gradient_fuzz_test ANTEGRAD_FUZZ_SEED=0 ANTEGRAD_FUZZ_COUNT=200)
set(compiled_filter_subset_fuzz_test --gtest_filter=*.FreshSeeds)
set(compiled_environment_subset_fuzz_test ANTEGRAD_FUZZ_SEED=0 ANTEGRAD_FUZZ_COUNT=80)
set(compiled_filter_gradient_sweep_test --gtest_filter=*OfOneCallOfEveryOp)
set(compiled_filter_nn_activations_test --gtest_filter=*/ELU:*/GLU:*/Dropout:*softmax*:*/MultiheadAttention_masks:*/MultiheadAttention)
set(compiled_filter_nn_layers_test --gtest_filter=*/Linear:*/Conv2d:*/BatchNorm2d:*/LayerNorm:*/F_one_hot:*/Embedding:*/Upsample_bilinear)
set(compiled_filter_nn_losses_test --gtest_filter=*/CrossEntropyLoss*:*/KLDivLoss:*/TripletMarginLoss:*/F_huber_loss)
set(compiled_filter_nn_pooling_test --gtest_filter=*/MaxPool2d:*/AvgPool2d:*/LPPool1d)
set(compiled_filter_nn_sequences_test --gtest_filter=*/LSTM:*/GRUCell:*/TransformerDecoderLayer:*/utils_pad_sequence)
# Of tests with several processes, those with two run with generated code and those with four with LibTorch's kernels.
set(compiled_filter_data_parallel_test --gtest_filter=*.TwoProcessesEqualOne:*.BucketsAreCommunicated*:*.TensorsOfAllKinds)
set(eager_filter_data_parallel_test --gtest_filter=-*.TwoProcessesEqualOne)
set(compiled_filter_sharded_state_test --gtest_filter=*.TwoProcessesEqualOne:*.CheckpointsAreComplete)
set(eager_filter_sharded_state_test --gtest_filter=-*.TwoProcessesEqualOne:*.CheckpointsAreComplete)
set(compiled_filter_distributed_test --gtest_filter=*.CollectivesAndTheirDerivativesWithTwo:*.DataParallelTrainingWithTwo)
set(eager_filter_distributed_test --gtest_filter=-*.CollectivesAndTheirDerivativesWithTwo:*.DataParallelTrainingWithTwo)
