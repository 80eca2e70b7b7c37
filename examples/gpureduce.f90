! libgpureduce for Fortran: some functions of gpureduce.h, as ISO_C_BINDING has them. All comments of the
! header hold. Handles are of type(c_ptr); texts that go in end with c_null_char.
module gpureduce
  use, intrinsic :: iso_c_binding
  implicit none
  public

  integer(c_int), parameter :: GPR_OK = 0
  integer(c_int), parameter :: GPR_ORDER_NATIVE = 0

  interface
    function gpr_context_new(context) bind(c) result(status)
      import :: c_ptr, c_int
      type(c_ptr), intent(out) :: context
      integer(c_int) :: status
    end function

    subroutine gpr_context_free(context) bind(c)
      import :: c_ptr
      type(c_ptr), value :: context
    end subroutine

    function gpr_error_text(context) bind(c) result(text)
      import :: c_ptr
      type(c_ptr), value :: context
      type(c_ptr) :: text
    end function

    function gpr_view_new(context, view) bind(c) result(status)
      import :: c_ptr, c_int
      type(c_ptr), value :: context
      type(c_ptr), intent(out) :: view
      integer(c_int) :: status
    end function

    subroutine gpr_view_free(view) bind(c)
      import :: c_ptr
      type(c_ptr), value :: view
    end subroutine

    ! shape: the sizes; strides: c_null_ptr, or the address of int64 bytes from an element to the next
    function gpr_view_set_data(view, data, dtype, order, rank, shape, strides) bind(c) result(status)
      import :: c_ptr, c_int, c_char, c_int64_t
      type(c_ptr), value :: view, data
      character(kind=c_char), intent(in) :: dtype(*)
      integer(c_int), value :: order, rank
      integer(c_int64_t), intent(in) :: shape(*)
      type(c_ptr), value :: strides
      integer(c_int) :: status
    end function

    function gpr_open_view(context, view, input) bind(c) result(status)
      import :: c_ptr, c_int
      type(c_ptr), value :: context, view
      type(c_ptr), intent(out) :: input
      integer(c_int) :: status
    end function

    subroutine gpr_close(input) bind(c)
      import :: c_ptr
      type(c_ptr), value :: input
    end subroutine

    function gpr_request_new(context, request) bind(c) result(status)
      import :: c_ptr, c_int
      type(c_ptr), value :: context
      type(c_ptr), intent(out) :: request
      integer(c_int) :: status
    end function

    subroutine gpr_request_free(request) bind(c)
      import :: c_ptr
      type(c_ptr), value :: request
    end subroutine

    function gpr_request_op(request, op) bind(c) result(status)
      import :: c_ptr, c_int, c_char
      type(c_ptr), value :: request
      character(kind=c_char), intent(in) :: op(*)
      integer(c_int) :: status
    end function

    ! array: from 0
    function gpr_reduce(input, array, request, res) bind(c) result(status)
      import :: c_ptr, c_int, c_size_t
      type(c_ptr), value :: input, request
      integer(c_size_t), value :: array
      type(c_ptr), intent(out) :: res
      integer(c_int) :: status
    end function

    subroutine gpr_result_free(res) bind(c)
      import :: c_ptr
      type(c_ptr), value :: res
    end subroutine

    function gpr_result_double(res, op, number) bind(c) result(status)
      import :: c_ptr, c_int, c_char, c_double
      type(c_ptr), value :: res
      character(kind=c_char), intent(in) :: op(*)
      real(c_double), intent(out) :: number
      integer(c_int) :: status
    end function
  end interface
end module
