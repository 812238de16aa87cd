! A language model of Python, trained from Fortran.
!
!     fortran_program model.pt2 trained.pt2
!
! torch.export.save() writes the first file: a program of token numbers and targets, of 8 tokens in each of 4 rows,
! that returns a loss and has a parameter head.weight. Python's torch.export.load() reads the second one.
program fortran_program
  use antegrad
  implicit none
  integer, parameter :: tokens = 8, rows = 4, width = 16, words = 32
  integer(c_int64_t), target :: ids(tokens, rows), targets(tokens, rows)
  real(c_float), target :: head(width, words), gradient(width, words), loss
  character(kind=c_char, len=12), target :: name = 'head.weight'//c_null_char
  type(antegrad_tensor) :: inputs(2), value, gradients(1)
  type(c_ptr) :: model, state_name
  integer(c_size_t) :: count, i
  integer :: step, row, token
  real(c_float) :: first, slope, above
  character(len=1024) :: path, trained

  call get_command_argument(1, path)
  call get_command_argument(2, trained)
  call check(antegrad_load_program(trim(path)//c_null_char, c_null_ptr, model))

  call check(antegrad_state_count(model, count))
  do i = 0, count - 1
    call check(antegrad_state_name(model, i, state_name))
    print '(a, a)', 'state ', text_at(state_name)
  end do

  do row = 1, rows
    do token = 1, tokens
      ids(token, row) = mod(7 * token + 3 * row, words)
      targets(token, row) = mod(7 * (token + 1) + 3 * row, words)
    end do
  end do
  inputs(1) = antegrad_tensor(data=c_loc(ids), bytes=c_sizeof(ids), dtype=antegrad_int64, dims=2, &
                              sizes=sizes_of(shape(ids)))
  inputs(2) = antegrad_tensor(data=c_loc(targets), bytes=c_sizeof(targets), dtype=antegrad_int64, dims=2, &
                              sizes=sizes_of(shape(targets)))

  ! Gradient descent on one parameter.
  do step = 1, 5
    call evaluate()
    if (step == 1) first = loss
    print '(a, f10.6)', 'loss ', loss
    call read_head()
    head = head - 0.5 * gradient
    call write_head()
  end do

  ! The derivative along the gradient, from the losses on both sides.
  call evaluate()
  call read_head()
  slope = norm2(gradient)
  gradient = gradient / slope
  head = head + 1.0e-1 * gradient
  call write_head()
  above = loss_now()
  head = head - 2.0e-1 * gradient
  call write_head()
  above = (above - loss_now()) / 2.0e-1
  print '(a, 2f10.6)', 'slope and finite difference ', slope, above
  call check(antegrad_save_program(model, trim(trained)//c_null_char))
  call antegrad_function_free(model)
  if (abs(slope - above) > 2.0e-2 * slope) stop 1
  if (.not. loss < first) stop 1

contains

  ! The loss, and its gradient with respect to head.weight.
  subroutine evaluate()
    value = antegrad_tensor(data=c_loc(loss), bytes=c_sizeof(loss), dtype=antegrad_float32)
    gradients(1) = antegrad_tensor(data=c_loc(gradient), bytes=c_sizeof(gradient), dtype=antegrad_float32)
    call check(antegrad_value_and_state_gradients(model, inputs, 2_c_size_t, [c_loc(name)], 1_c_size_t, value, &
                                                  gradients))
  end subroutine

  real(c_float) function loss_now()
    type(antegrad_tensor) :: outputs(1)
    outputs(1) = antegrad_tensor(data=c_loc(loss), bytes=c_sizeof(loss), dtype=antegrad_float32)
    call check(antegrad_call(model, inputs, 2_c_size_t, outputs, 1_c_size_t))
    loss_now = loss
  end function

  subroutine read_head()
    type(antegrad_tensor) :: tensor
    tensor = antegrad_tensor(data=c_loc(head), bytes=c_sizeof(head), dtype=antegrad_float32)
    call check(antegrad_state_get(model, name, tensor))
  end subroutine

  subroutine write_head()
    call check(antegrad_state_set(model, name, &
                                  antegrad_tensor(data=c_loc(head), bytes=c_sizeof(head), dtype=antegrad_float32, &
                                                  dims=2, sizes=sizes_of(shape(head)))))
  end subroutine
end program
