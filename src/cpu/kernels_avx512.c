#if defined __x86_64__
#    include "simd_avx512.h"

#    include "kernel_template.h"

const struct cpu_kernels cpu_kernels_avx512 = KERNELS;
#else
typedef int cpu_kernels_avx512_unavailable;
#endif
