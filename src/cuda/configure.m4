# GPUREDUCE_GENCODE
# -----------------
# Sets NVCC_GENCODE: machine code for the architectures that were asked for, as far as this nvcc
# knows them, and PTX of the newest of them for what comes later. nvcc takes most of the time that a
# build takes, and as much again for every architecture.
AC_DEFUN([GPUREDUCE_GENCODE], [
  AC_MSG_CHECKING([for GPU architectures])
  # Words such as compute_90, the newest last.
  cuda_known=`"$NVCC" --list-gpu-arch 2>/dev/null | tr '\n' ' '`
  AS_CASE([$with_gpu_architectures],
    dnl One for each major version; those between them, such as 8.6 and 8.9, run the code for 8.0.
    [all], [cuda_wanted="75 80 90 100 120"],
    [native|yes], [
      # The driver is asked, which writes 9.0 a line.
      cuda_wanted=`nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null |
        sed -n 's/^\(@<:@0-9@:>@@<:@0-9@:>@*\)\.\(@<:@0-9@:>@\)$/\1\2/p' | sort -n -u | tr '\n' ' '`
      AS_IF([test "x$cuda_wanted" = x], [cuda_wanted=90])],
    [no|''], [AC_MSG_ERROR([--with-gpu-architectures wants native, all, or a list such as 80,90])],
    [cuda_wanted=`echo "$with_gpu_architectures" | tr ',' '\n' | sort -n -u | tr '\n' ' '`])
  cuda_newest=
  for cuda_arch in $cuda_wanted; do
    AS_CASE([" $cuda_known"],
      [*" compute_$cuda_arch "*], [
        AS_VAR_APPEND([NVCC_GENCODE],
          ["${NVCC_GENCODE:+ }-gencode arch=compute_$cuda_arch,code=sm_$cuda_arch"])
        cuda_newest=$cuda_arch],
      [AS_CASE([$with_gpu_architectures], [native|yes|all], [],
        [AC_MSG_ERROR([$NVCC does not know the GPU architecture $cuda_arch])])])
  done
  # A GPU that is newer than nvcc takes PTX of the newest that nvcc knows.
  AS_IF([test "x$cuda_newest" = x],
    [cuda_newest=`echo "$cuda_known" | sed 's/.*compute_\(@<:@0-9@:>@*\) *$/\1/'`])
  AS_VAR_APPEND([NVCC_GENCODE],
    ["${NVCC_GENCODE:+ }-gencode arch=compute_$cuda_newest,code=compute_$cuda_newest"])
  AC_MSG_RESULT([$NVCC_GENCODE])
])

# GPUREDUCE_CUDA
# --------------
# Looks for the CUDA toolkit. Sets the conditional HAVE_CUDA, and substitutes
# NVCC, NVCC_GENCODE, NVCCFLAGS, CUDA_CPPFLAGS and CUDA_LIBS. The runtime is
# linked statically, so that the program starts on a machine without a driver.
AC_DEFUN([GPUREDUCE_CUDA], [
AC_ARG_VAR([NVCC], [CUDA compiler])
AC_ARG_VAR([NVCC_GENCODE],
  [GPU architectures, as -gencode options of nvcc; goes before --with-gpu-architectures])
AC_ARG_VAR([NVCCFLAGS], [flags for the CUDA compiler])
AC_ARG_WITH([cuda],
  [AS_HELP_STRING([--with-cuda@<:@=DIR@:>@], [use CUDA, installed in DIR @<:@default: when found@:>@])],
  [], [with_cuda=guess])
AC_ARG_WITH([gpu-architectures],
  [AS_HELP_STRING([--with-gpu-architectures=native|all|LIST],
    [GPUs to compile for: native: those of this machine, or compute capability 9.0 where there are
     none; all: every one from 7.5 on, for packages; or a list such as 80,90. All newer ones can use
     the program, too, by way of PTX @<:@default: native@:>@])],
  [], [with_gpu_architectures=native])

cuda_found=no
cuda_why="--without-cuda"
AS_IF([test "x$with_cuda" != xno], [
  cuda_path=$PATH
  AS_CASE([$with_cuda],
    [yes|guess], [cuda_path=$PATH$PATH_SEPARATOR/usr/local/cuda/bin$PATH_SEPARATOR/opt/cuda/bin],
    [cuda_path=$with_cuda/bin])
  AC_PATH_PROG([NVCC], [nvcc], [], [$cuda_path])
  AS_IF([test "x$NVCC" = x], [cuda_why="no nvcc"], [
    # The toolkit is where nvcc really is, whatever links lead there.
    cuda_nvcc=`readlink -f "$NVCC" 2>/dev/null || echo "$NVCC"`
    cuda_bin=`AS_DIRNAME(["$cuda_nvcc"])`
    cuda_root=`AS_DIRNAME(["$cuda_bin"])`
    CUDA_CPPFLAGS=
    CUDA_LIBS=
    for cuda_dir in "$cuda_root/include" "$cuda_root/targets/x86_64-linux/include" /usr/include; do
      AS_IF([test -f "$cuda_dir/cuda_runtime_api.h"],
        [CUDA_CPPFLAGS="-isystem $cuda_dir"; break])
    done
    for cuda_dir in "$cuda_root/lib64" "$cuda_root/targets/x86_64-linux/lib" "$cuda_root/lib" \
                    /usr/lib/x86_64-linux-gnu /usr/lib64; do
      AS_IF([test -f "$cuda_dir/libcudart_static.a"],
        [CUDA_LIBS="$cuda_dir/libcudart_static.a -ldl -lrt"; break])
    done
    AC_MSG_CHECKING([whether the CUDA toolkit works])
    cat > conftest.cu <<'_GPUREDUCE_EOF'
__global__ void kernel(int *x) { *x = 1; }
_GPUREDUCE_EOF
    AS_IF([test "x$CUDA_CPPFLAGS" = x], [cuda_why="no cuda_runtime_api.h beside $NVCC"],
          [test "x$CUDA_LIBS" = x], [cuda_why="no libcudart_static.a beside $NVCC"],
          ["$NVCC" -c conftest.cu -o conftest.$OBJEXT >&AS_MESSAGE_LOG_FD 2>&1], [cuda_found=yes],
          [cuda_why="$NVCC does not compile; config.log says why"])
    rm -f conftest.cu conftest.$OBJEXT
    AC_MSG_RESULT([$cuda_found])
  ])
  AS_IF([test "x$cuda_found" = xno && test "x$with_cuda" != xguess],
    [AC_MSG_ERROR([CUDA was asked for and cannot be used: $cuda_why])])
])

AS_IF([test "x$cuda_found" = xyes], [
  AC_DEFINE([HAVE_CUDA], [1], [Define to 1 if the CUDA engine is built.])
  AS_IF([test "x$NVCC_GENCODE" = x], [GPUREDUCE_GENCODE])
  # Without these three, the kernels' host code would need the C++ library.
  # Tests run kernels on the host: these take words as what they hold, and have an fma where they say so alone.
  NVCC_HOSTFLAGS="-Xcompiler -fno-exceptions,-fno-rtti,-fno-threadsafe-statics,-fno-strict-aliasing,-ffp-contract=off"
  for cuda_flag in $SHARED_CFLAGS; do
    AS_VAR_APPEND([NVCC_HOSTFLAGS], [",$cuda_flag"])
  done
  AS_IF([test "x$NVCCFLAGS" = x], [NVCCFLAGS="-O3"])
  cuda_version=`"$NVCC" --version | sed -n 's/.*release \(@<:@0-9.@:>@*\).*/\1/p'`
  cuda_summary="yes, $cuda_version ($NVCC)"
], [
  CUDA_CPPFLAGS=
  CUDA_LIBS=
  cuda_summary="no ($cuda_why): the program reduces on the CPU only"
])
AC_SUBST([CUDA_CPPFLAGS])
AC_SUBST([CUDA_LIBS])
AC_SUBST([NVCC_HOSTFLAGS])
AM_CONDITIONAL([HAVE_CUDA], [test "x$cuda_found" = xyes])
])
