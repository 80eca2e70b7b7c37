#include "config.h"

#if defined __x86_64__
#    include "engine/cpu/simd_avx512.h"

#    include "engine/cpu/kernel_template.h"

const struct cpu_kernels cpu_kernels_avx512 = KERNELS;
#else
typedef int cpu_kernels_avx512_unavailable;
#endif
