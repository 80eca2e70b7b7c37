/*
 * The kernels with AVX-512 (F, BW, DQ, VL), and with its tables of bytes and its sums of products:
 * of bytes for floats of one byte (VBMI, VNNI), of 52 bits for squares (IFMA).
 */
#include "config.h"

#if defined __x86_64__
#    include <stdbool.h>

#    include "sys/processor.h"

#    define SIMD_NAME avx512vbmi
#    define SIMD_TARGET        \
        __attribute__((target( \
            "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vnni,avx512ifma,f16c,popcnt")))
#    define SIMD_LOOKUP 2
#    define SIMD_IFMA 1

static bool simd_usable(void)
{
    return processor_has_avx512() && processor_has_vbmi();
}

#    include "engine/cpu/simd_avx512.h"

#    include "engine/cpu/kernel_template.h"
#else
typedef int cpu_kernels_avx512vbmi_unavailable;
#endif
