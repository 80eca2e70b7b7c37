/*
 * The kernels with vectors of 32 bytes and AVX2, F16C and FMA.
 */
#include "config.h"

#if defined __x86_64__
#    include <stdbool.h>

#    include "sys/processor.h"

#    define SIMD_NAME avx2
#    define SIMD_TARGET __attribute__((target("avx2,f16c,fma,popcnt")))
#    define V_BYTES 32
#    define SIMD_X86 5

static bool simd_usable(void)
{
    return processor_has_avx2();
}

#    include "cpu/simd_vector.h"

#    include "cpu/kernel_template.h"
#else
typedef int cpu_kernels_avx2_unavailable;
#endif
