/*
 * The kernels with vectors of 64 bytes and AVX-512 (F, BW, DQ, VL).
 */
#include "config.h"

#if defined __x86_64__
#    include <stdbool.h>

#    include "sys/processor.h"

#    define SIMD_NAME avx512
#    define SIMD_TARGET __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,f16c,popcnt")))
#    define V_BYTES 64
#    define SIMD_X86 6

static bool simd_usable(void)
{
    return processor_has_avx512();
}

#    include "cpu/simd_vector.h"

#    include "cpu/kernel_template.h"
#else
typedef int cpu_kernels_avx512_unavailable;
#endif
