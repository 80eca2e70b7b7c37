! A sum that does not depend on the order of the numbers, which the intrinsic one does.
!
!     gfortran gpureduce.f90 fortran.f90 $(pkg-config --libs gpureduce) -o fortran
program fortran
  use gpureduce
  implicit none
  integer, parameter :: rows = 1000, columns = 300
  real(c_double), target :: field(rows, columns)
  type(c_ptr) :: context, view, input, request, res
  real(c_double) :: total, deviation
  integer :: i, j

  do j = 1, columns
    do i = 1, rows
      field(i, j) = (-1d0)**(i + j) * 2d0**(mod(i * j, 101) - 50)
    end do
  end do

  if (gpr_context_new(context) /= GPR_OK) stop 1
  call check(gpr_view_new(context, view))
  ! Sums and deviations do not depend on the order of the dimensions; along an axis Fortran's are reversed.
  call check(gpr_view_set_data(view, c_loc(field), 'f64' // c_null_char, GPR_ORDER_NATIVE, 2, &
    [int(columns, c_int64_t), int(rows, c_int64_t)], c_null_ptr))
  call check(gpr_open_view(context, view, input))
  call check(gpr_request_new(context, request))
  call check(gpr_request_op(request, 'sum' // c_null_char))
  call check(gpr_request_op(request, 'std' // c_null_char))
  call check(gpr_reduce(input, 0_c_size_t, request, res))
  call check(gpr_result_double(res, 'sum' // c_null_char, total))
  call check(gpr_result_double(res, 'std' // c_null_char, deviation))
  print '(a, es24.16e3)', 'sum               ', total
  print '(a, es24.16e3)', 'standard deviation', deviation
  call gpr_result_free(res)
  call gpr_request_free(request)
  call gpr_close(input)
  call gpr_view_free(view)
  call gpr_context_free(context)

contains

  ! Ends the program if a call has failed, with the reason.
  subroutine check(status)
    integer(c_int), intent(in) :: status
    character(kind=c_char), pointer :: text(:)
    integer :: length

    if (status == GPR_OK) return
    call c_f_pointer(gpr_error_text(context), text, [10000])
    length = 1
    do while (text(length) /= c_null_char)
      length = length + 1
    end do
    print *, text(1:length - 1)
    stop 1
  end subroutine
end program
