! antegrad/c.h for Fortran. In Fortran the first index varies fastest, in C the last: an array a(3, n) here has the
! sizes {n, 3} there, which sizes_of() gives.
module antegrad
  use, intrinsic :: iso_c_binding
  implicit none
  integer(c_int), parameter :: antegrad_ok = 0
  integer(c_int32_t), parameter :: antegrad_int64 = 6, antegrad_float32 = 9, antegrad_float64 = 10

  type, bind(c) :: antegrad_tensor
    type(c_ptr) :: data = c_null_ptr
    integer(c_size_t) :: bytes = 0
    integer(c_int32_t) :: dtype = antegrad_float64
    integer(c_int32_t) :: dims = 0
    integer(c_int64_t) :: sizes(8) = 0
    type(c_ptr) :: owner = c_null_ptr
  end type

  interface
    integer(c_int) function antegrad_load_script(path, options, function) bind(c)
      import
      character(kind=c_char), intent(in) :: path(*)
      type(c_ptr), value :: options
      type(c_ptr), intent(out) :: function
    end function

    integer(c_int) function antegrad_load_program(path, options, function) bind(c)
      import
      character(kind=c_char), intent(in) :: path(*)
      type(c_ptr), value :: options
      type(c_ptr), intent(out) :: function
    end function

    integer(c_int) function antegrad_save_program(function, path) bind(c)
      import
      type(c_ptr), value :: function
      character(kind=c_char), intent(in) :: path(*)
    end function

    integer(c_int) function antegrad_call(function, inputs, input_count, outputs, output_count) bind(c)
      import
      type(c_ptr), value :: function
      type(antegrad_tensor), intent(in) :: inputs(*)
      integer(c_size_t), value :: input_count, output_count
      type(antegrad_tensor), intent(inout) :: outputs(*)
    end function

    integer(c_int) function antegrad_value_and_gradients(function, inputs, input_count, wanted, wanted_count, &
                                                         value, gradients) bind(c)
      import
      type(c_ptr), value :: function
      type(antegrad_tensor), intent(in) :: inputs(*)
      integer(c_size_t), value :: input_count, wanted_count
      integer(c_size_t), intent(in) :: wanted(*)
      type(antegrad_tensor), intent(inout) :: value, gradients(*)
    end function

    integer(c_int) function antegrad_value_and_state_gradients(function, inputs, input_count, names, name_count, &
                                                               value, gradients) bind(c)
      import
      type(c_ptr), value :: function
      type(antegrad_tensor), intent(in) :: inputs(*)
      integer(c_size_t), value :: input_count, name_count
      type(c_ptr), intent(in) :: names(*)
      type(antegrad_tensor), intent(inout) :: value, gradients(*)
    end function

    integer(c_int) function antegrad_state_count(function, count) bind(c)
      import
      type(c_ptr), value :: function
      integer(c_size_t), intent(out) :: count
    end function

    integer(c_int) function antegrad_state_name(function, index, name) bind(c)
      import
      type(c_ptr), value :: function
      integer(c_size_t), value :: index
      type(c_ptr), intent(out) :: name
    end function

    integer(c_int) function antegrad_state_get(function, name, tensor) bind(c)
      import
      type(c_ptr), value :: function
      character(kind=c_char), intent(in) :: name(*)
      type(antegrad_tensor), intent(inout) :: tensor
    end function

    integer(c_int) function antegrad_state_set(function, name, tensor) bind(c)
      import
      type(c_ptr), value :: function
      character(kind=c_char), intent(in) :: name(*)
      type(antegrad_tensor), intent(in) :: tensor
    end function

    type(c_ptr) function antegrad_last_error() bind(c)
      import
    end function

    subroutine antegrad_function_free(function) bind(c)
      import
      type(c_ptr), value :: function
    end subroutine
  end interface

contains

  ! The text at an address, without the null at its end.
  function text_at(address) result(text)
    type(c_ptr), intent(in) :: address
    character(len=:), allocatable :: text
    character(kind=c_char), pointer :: characters(:)
    integer :: i
    call c_f_pointer(address, characters, [4096])
    text = ''
    do i = 1, 4096
      if (characters(i) == c_null_char) exit
      text = text // characters(i)
    end do
  end function

  ! The sizes of an array in the order of C.
  function sizes_of(shape) result(sizes)
    integer, intent(in) :: shape(:)
    integer(c_int64_t) :: sizes(8)
    integer :: i
    sizes = 0
    do i = 1, size(shape)
      sizes(i) = shape(size(shape) + 1 - i)
    end do
  end function

  subroutine check(status)
    integer(c_int), intent(in) :: status
    if (status == antegrad_ok) return
    print *, text_at(antegrad_last_error())
    stop 1
  end subroutine
end module
