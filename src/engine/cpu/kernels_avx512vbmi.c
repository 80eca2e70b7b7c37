/*
 * The kernels with AVX-512 (F, BW, DQ, VL), and with its tables of bytes and its sums of products:
 * of bytes for sums of floats of one byte (VBMI, VNNI), of 52 bits for squares (IFMA). All others
 * are those of avx512: compiled for these instructions, they would not be other ones, or no faster.
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

#    include "engine/cpu/kernel_chunks.h"

#    define SUM_INSTANCE(C, name, ...) INSTANCE(sum_##name, chunk_float8, ELEMENT_##C, FINDS_SUM)
#    define FLOAT32_TABLE(ROW) ROW(F32, f32) ROW(F16, f16) ROW(BF16, bf16)
#    define SQUARES_INSTANCES(C, name)                                       \
        INSTANCE(squares_##name, chunk_spread32, ELEMENT_##C, FINDS_SQUARES) \
        INSTANCE(all_##name, chunk_spread32, ELEMENT_##C, FINDS_ALL)
ELEMENT_FLOAT8_TABLE(SUM_INSTANCE)
FLOAT32_TABLE(SQUARES_INSTANCES)

extern const struct cpu_kernels cpu_kernels_avx512;
extern const struct cpu_tally_kernels cpu_tally_avx512;
extern const struct cpu_slice_tables cpu_slices_avx512;

const struct cpu_kernels NAMED(cpu_kernels_, SIMD_NAME) = {
    .name = QUOTED(SIMD_NAME),
    .usable = simd_usable,
    .rest = &cpu_kernels_avx512,
    .rows = {{.finds = FINDS_EXTREMES},
             {FINDS_SUM, {ELEMENT_FLOAT8_TABLE(SUM_ENTRY)}},
             {.finds = FINDS_COUNTS},
             {FINDS_SQUARES, {FLOAT32_TABLE(SQUARES_ENTRY)}},
             {FINDS_ALL, {FLOAT32_TABLE(ALL_ENTRY)}}},
    .lanes = V_LANES,
    .tally = &cpu_tally_avx512,
    .slices = &cpu_slices_avx512,
};
#else
typedef int cpu_kernels_avx512vbmi_unavailable;
#endif
