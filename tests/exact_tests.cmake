set(exact_tests
    # bits of trained weights, of gradients of sums, of casts to bf16
    autograd_inputs_test autograd_second_run_test autograd_state_test functional_grad_test
    # hundreds of ops: too long to compile for what it shows
    autograd_refusals_test
)
