/*
 * The kernels with vectors of 16 bytes and SSE4.2 and POPCNT.
 */
#include "config.h"

#if defined __x86_64__
#    include <stdbool.h>

#    include "sys/processor.h"

#    define SIMD_NAME sse4
#    define SIMD_TARGET __attribute__((target("sse4.2,popcnt")))
#    define V_BYTES 16
#    define SIMD_X86 4

static bool simd_usable(void)
{
    return processor_has_sse4();
}

#    include "cpu/simd_vector.h"

#    include "cpu/kernel_template.h"
#else
typedef int cpu_kernels_sse4_unavailable;
#endif
