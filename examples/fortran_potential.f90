! Energy and forces of a learned potential, from Fortran.
!
!     fortran_potential potential.pt
!
! torchscript_train writes the file. In Fortran the first index varies fastest, in C the last: an array
! positions(3, atoms) here has the sizes {atoms, 3} there. antegrad.f90 declares the functions.
program fortran_potential
  use antegrad
  implicit none
  integer, parameter :: atoms = 8
  real(c_double), target :: positions(3, atoms), gradient(3, atoms), energy
  real(c_double) :: above, below
  type(c_ptr) :: potential
  character(len=1024) :: path
  integer :: atom, k

  call get_command_argument(1, path)
  call check(antegrad_load_script(trim(path)//c_null_char, c_null_ptr, potential))
  do atom = 1, atoms
    do k = 1, 3
      positions(k, atom) = 1.15d0 * ibits(atom - 1, k - 1, 1) + 0.05d0 * sin(5.0d0 * atom + k)
    end do
  end do

  call evaluate()
  print '(a, f12.6)', 'energy ', energy
  do atom = 1, atoms
    print '(a, i2, 3f12.6)', 'force on atom', atom, -gradient(:, atom)
  end do

  ! The derivative along one coordinate, from the energies on both sides of it.
  k = 2
  associate (g => gradient(k, 3), x => positions(k, 3))
    above = g
    x = x + 1.0d-4
    call evaluate()
    below = energy
    x = x - 2.0d-4
    call evaluate()
    below = (below - energy) / 2.0d-4
  end associate
  print '(a, es9.1)', 'difference of a gradient from finite differences: ', abs(above - below)
  call antegrad_function_free(potential)
  if (abs(above - below) > 1.0d-4 * max(1.0d0, abs(above))) stop 1

contains

  subroutine evaluate()
    type(antegrad_tensor) :: inputs(1), value, gradients(1)
    inputs(1) = antegrad_tensor(data=c_loc(positions), bytes=c_sizeof(positions), dims=2, &
                                sizes=[int(atoms, c_int64_t), 3_c_int64_t, 0_c_int64_t, 0_c_int64_t, &
                                       0_c_int64_t, 0_c_int64_t, 0_c_int64_t, 0_c_int64_t])
    value = antegrad_tensor(data=c_loc(energy), bytes=c_sizeof(energy))
    gradients(1) = antegrad_tensor(data=c_loc(gradient), bytes=c_sizeof(gradient))
    call check(antegrad_value_and_gradients(potential, inputs, 1_c_size_t, [0_c_size_t], 1_c_size_t, value, &
                                            gradients))
  end subroutine
end program
