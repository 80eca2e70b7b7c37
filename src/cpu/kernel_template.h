/*
 * The CPU kernels, over the operations of one instruction set: a kernels_NAME.c includes this after
 * it has defined them as simd.h says.
 *
 * The exact sum of a block, from the cheapest way to the dearest:
 *
 * 1. Elements of up to 32 bits whose exponents lie close together: plain binary64 additions, none
 * of which rounds. The extremes, which are wanted anyway, and the least non-zero magnitude tell
 * whether that holds (exact_group_fits). 2. Elements below the bound that the last blocks suggest:
 * two parts of each are extracted at fixed bits, and the parts add up without rounding. It counts
 * if nothing is left below the second part. Elements of 64 bits begin here. 3. As many parts as it
 * takes, up to LEVELS32 or LEVELS64, each at the bits that the block itself calls for (sum_levels).
 * 4. For all else: binary32 values go to exponent bins, one binary64 for sixteen exponents, which
 * do not round either; binary64 values go to a superaccumulator, an integer for every exponent, to
 * which the mantissas are added (cpu_add_to_cells).
 *
 * Extraction is one addition and one subtraction of a large constant, as in S. M. Rump, T. Ogita
 * and S. Oishi, "Accurate floating-point summation" (2008), and J. Demmel and H. D. Nguyen,
 * "Parallel reproducible summation" (2015). doc/numerics.md has the bounds, doc/tuning.md what the
 * constants were measured with.
 *
 * kernel_block32.h and kernel_block64.h have the blocks, kernel_common.h what they share;
 * kernel_moments32.h and kernel_moments64.h those that also find squares, magnitudes and counts.
 * kernel_float8.h, kernel_products8.h and kernel_integer.h have the other types, of which
 * reducer_moments.c finds those results; kernel_tally.h has what is counted beside, kernel_rows.h,
 * kernel_columns.h, kernel_integer_slices.h and kernel_wide_slices.h the many short sums of slices,
 * kernel_squares.h the squares among their elements, kernel_sort.h their order; kernel_missing.h leaves missing elements out;
 * kernel_digest.h adds up digests. Here are the chunks and the instances: a row for each set of results
 * that there are kernels for.
 */
#include "cpu/kernel_block32.h"
#include "cpu/kernel_block64.h"
#include "cpu/kernel_columns.h"
#include "cpu/kernel_digest.h"
#include "cpu/kernel_finish.h"
#include "cpu/kernel_float8.h"
#include "cpu/kernel_integer.h"
#include "cpu/kernel_integer_slices.h"
#include "cpu/kernel_missing.h"
#include "cpu/kernel_moments32.h"
#include "cpu/kernel_moments64.h"
#include "cpu/kernel_rows.h"
#include "cpu/kernel_search.h"
#include "cpu/kernel_sort.h"
#include "cpu/kernel_squares.h"
#include "cpu/kernel_tally.h"
#include "cpu/kernel_wide_slices.h"

/* Elements of a chunk, from which on it has a head. */
#define HEAD_COUNT ((size_t)4096)

/* Elements of `size` bytes at the beginning of a chunk that are taken one by one, so that no vector of
   the others lies across two cache lines. They are few of the chunk. */
static inline size_t chunk_head(const void *data, size_t size, size_t count)
{
    const size_t over = (uintptr_t)data % V_BYTES;

    return over == 0 || over % size != 0 || size < sizeof(float) || count < HEAD_COUNT
               ? 0
               : (V_BYTES - over) / size;
}

/* Takes a chunk of elements of `size` bytes in blocks of `block` elements, a multiple of `lanes`, by the
   statement `take`: n elements at p, of which the first has the index `first`. A macro, since a function
   would have every kind of block put into it before it is seen which one is meant. */
#define TAKE_CHUNK(size, lanes, block, take)                                      \
    do {                                                                          \
        const size_t head = chunk_head(data, (size), count), rest = count - head; \
        const size_t whole = rest - rest % (lanes);                               \
        const unsigned char *x = (const unsigned char *)data + head * (size);     \
                                                                                  \
        cpu_take_tail(r, data, head, index);                                      \
        cpu_begin_chunk(r);                                                       \
        for (size_t i = 0; i < whole; i += (block)) {                             \
            const size_t n = whole - i < (block) ? whole - i : (block);           \
            const unsigned char *p = x + i * (size);                              \
            const uint64_t first = index + head + i;                              \
                                                                                  \
            take;                                                                 \
        }                                                                         \
        cpu_end_chunk(r);                                                         \
        r->partial.count += whole;                                                \
        cpu_take_tail(r, x + whole * (size), rest - whole, index + head + whole); \
    } while (0)

/* The arguments of a kernel, and of what it is made of. */
#define CHUNK struct cpu_reducer *r, const void *data, size_t count, uint64_t index

/* A function that takes chunks in one way. */
#define CHUNK_TAKER(name, size, lanes, block, take)                        \
    INLINE_TARGET void name(CHUNK, enum element_type type, unsigned finds) \
    {                                                                      \
        (void)type;                                                        \
        (void)finds;                                                       \
        TAKE_CHUNK(size, lanes, block, take);                              \
    }
CHUNK_TAKER(chunk32, element_formats[type].size, V_LANES, (size_t)1 << CPU_BLOCK32_LOG2,
            block32(r, p, n, first, type, finds &PARTIAL_SUM))
CHUNK_TAKER(chunk_moments32, element_formats[type].size, V_LANES, (size_t)1 << CPU_BLOCK32_LOG2,
            block_moments32(r, p, n, first, type, finds))
CHUNK_TAKER(chunk64, sizeof(double), W_LANES, (size_t)1 << CPU_BLOCK64_LOG2,
            block64(r, p, n, first, finds &PARTIAL_SUM))
CHUNK_TAKER(chunk_sum64, sizeof(double), W_LANES, (size_t)1 << CPU_BLOCK64_LOG2,
            block_sum64(r, p, n, first))
CHUNK_TAKER(chunk_moments64, sizeof(double), W_LANES, (size_t)1 << CPU_BLOCK64_LOG2,
            block_moments64(r, p, n, first, finds))
CHUNK_TAKER(chunk_float8, 1, V_BYTES, GROUP_BYTES,
            float8_group(r, p, n, first, type, finds &PARTIAL_SUM))

/* The sets of results that there are kernels for, a row each. */
#define FINDS_EXTREMES PARTIAL_EXTREMES
#define FINDS_SUM (PARTIAL_EXTREMES | PARTIAL_SUM)
#define FINDS_COUNTS (PARTIAL_EXTREMES | PARTIAL_SMALL | PARTIAL_NEGATIVE)
#define FINDS_SQUARES (PARTIAL_EXTREMES | PARTIAL_SUM | PARTIAL_SQUARES | PARTIAL_SMALL)
#define FINDS_ALL (FINDS_SUM | MOMENTS_WANTS)
_Static_assert((FINDS_ALL | PARTIAL_WHERE) == PARTIAL_ALL, "the last row finds everything");

#define INSTANCE(name, take, type, finds)         \
    static SIMD_TARGET void name(CHUNK)           \
    {                                             \
        take(r, data, count, index, type, finds); \
    }

/* The instruction set's name as part of a name, and as a string. */
#define JOIN(a, b) a##b
#define NAMED(prefix, name) JOIN(prefix, name)
#define QUOTE(name) #name
#define QUOTED(name) QUOTE(name)

/* The entries of the table. */
#define SUM_ENTRY(CONSTANT, name, ...) [ELEMENT_##CONSTANT] = sum_##name,
#define SQUARES_ENTRY(CONSTANT, name, ...) [ELEMENT_##CONSTANT] = squares_##name,
#define ALL_ENTRY(CONSTANT, name, ...) [ELEMENT_##CONSTANT] = all_##name,

INLINE_TARGET void chunk_integer(CHUNK, enum element_type type, unsigned finds)
{
    const size_t size = element_formats[type].size;
    const bool far = finds != PARTIAL_SUM || count > NEAR_BYTES / size;

    TAKE_CHUNK(size, V_BYTES / size, GROUP_BYTES / size,
               integer_group(r, p, n, first, type, finds, far));
}

INLINE_TARGET void chunk_squares(CHUNK, enum element_type type, unsigned finds)
{
    const size_t size = element_formats[type].size;

    TAKE_CHUNK(size, V_BYTES / size, SQUARES_BYTES / size, {
        integer_group(r, p, n, first, type, finds & FINDS_SUM, true);
        integer_squares(r, p, n, type);
    });
}

/* For all types that are not floats of 16 bits and more. */
static void moments_others(CHUNK)
{
    const size_t size = element_size(r->type);

    TAKE_CHUNK(size, 1, GROUP_BYTES / size, cpu_take_moments(r, p, n, first));
}

/* By the size of floats, in bytes. */
#define CHUNK_OF_2 chunk32
#define CHUNK_OF_4 chunk32
#define CHUNK_OF_8 chunk64
#define CHUNK_MOMENTS_OF_2 chunk_moments32
#define CHUNK_MOMENTS_OF_4 chunk_moments32
#define CHUNK_MOMENTS_OF_8 chunk_moments64

/* Keeps loads and prefetches in the order of the source, which spreads them over the loop. gcc puts
   them together otherwise, and memory waits while squares are added. */
#ifdef __clang__
#    define IN_ORDER
#else
#    define IN_ORDER __attribute__((optimize("no-schedule-insns2")))
#endif

#define FLOAT_INSTANCES(C, name, size, ...)                                                \
    INSTANCE(extremes_##name, CHUNK_OF_##size, ELEMENT_##C, FINDS_EXTREMES)                \
    INSTANCE(sum_##name, CHUNK_OF_##size, ELEMENT_##C, FINDS_SUM)                          \
    IN_ORDER INSTANCE(counts_##name, CHUNK_MOMENTS_OF_##size, ELEMENT_##C, FINDS_COUNTS)   \
    IN_ORDER INSTANCE(squares_##name, CHUNK_MOMENTS_OF_##size, ELEMENT_##C, FINDS_SQUARES) \
    IN_ORDER INSTANCE(all_##name, CHUNK_MOMENTS_OF_##size, ELEMENT_##C, FINDS_ALL)
#define FLOAT8_INSTANCES(C, name, ...)                                   \
    INSTANCE(extremes_##name, chunk_float8, ELEMENT_##C, FINDS_EXTREMES) \
    INSTANCE(sum_##name, chunk_float8, ELEMENT_##C, FINDS_SUM)
#define INTEGER_INSTANCES(C, name, ...)                                   \
    INSTANCE(extremes_##name, chunk_integer, ELEMENT_##C, FINDS_EXTREMES) \
    INSTANCE(sum_##name, chunk_integer, ELEMENT_##C, FINDS_SUM)           \
    INSTANCE(missing_##name, chunk_integer, ELEMENT_##C, FINDS_SUM | PARTIAL_MISSING)
#define SLICE_INSTANCE(name, rows_of, columns_of, type, extremes)                              \
    static SIMD_TARGET void rows_##name(const void *x, size_t rows, size_t length,             \
                                        const struct cpu_slice_results *to, bool *bad)         \
    {                                                                                          \
        rows_of(x, rows, length, to, bad, type, extremes);                                     \
    }                                                                                          \
    static SIMD_TARGET void columns_##name(const void *x, size_t stride, size_t rows,          \
                                           size_t columns, const struct cpu_slice_results *to, \
                                           const struct cpu_slice_calls *calls)                \
    {                                                                                          \
        columns_of(x, stride, rows, columns, to, calls, type, extremes);                       \
    }
#define SLICE_INSTANCES(C, name, rows_of, columns_of)                                             \
    SLICE_INSTANCE(sums_##name, rows_of, columns_of, ELEMENT_##C, 0)                              \
    SLICE_INSTANCE(extremes_##name, rows_of, columns_of, ELEMENT_##C, 1)                          \
    static SIMD_TARGET bool squares_of_##name(double *high, double *low, const void *x, size_t n) \
    {                                                                                             \
        return squares_kernel(high, low, x, n, ELEMENT_##C);                                      \
    }
#define FLOAT_SLICES(C, name, ...) SLICE_INSTANCES(C, name, rows_kernel, columns_kernel)
ELEMENT_FLOAT_TABLE(FLOAT_INSTANCES)
ELEMENT_FLOAT_TABLE(FLOAT_SLICES)
SLICE_INSTANCES(I64, i64, wide_rows_kernel, wide_columns_kernel)
SLICE_INSTANCES(U64, u64, wide_rows_kernel, wide_columns_kernel)
ELEMENT_FLOAT8_TABLE(FLOAT8_INSTANCES)
ELEMENT_INTEGER_TABLE(INTEGER_INSTANCES)
/* Extremes of 64 bits take longer than the sum of integers, and a fifth of that of floats. */
INSTANCE(alone_i64, chunk_integer, ELEMENT_I64, PARTIAL_SUM)
INSTANCE(alone_u64, chunk_integer, ELEMENT_U64, PARTIAL_SUM)
INSTANCE(alone_f64, chunk_sum64, ELEMENT_F64, PARTIAL_SUM)
/* Means and deviations. */
INSTANCE(squares_i16, chunk_squares, ELEMENT_I16, FINDS_SUM | PARTIAL_SQUARES)
INSTANCE(squares_u16, chunk_squares, ELEMENT_U16, FINDS_SUM | PARTIAL_SQUARES)
INSTANCE(squares_i32, chunk_squares, ELEMENT_I32, FINDS_SUM | PARTIAL_SQUARES)
INSTANCE(squares_u32, chunk_squares, ELEMENT_U32, FINDS_SUM | PARTIAL_SQUARES)

#define WIDEN_INSTANCE(name, C)                                                               \
    static SIMD_TARGET void widen_##name(void *to, const void *from, size_t n)                \
    {                                                                                         \
        for (size_t i = 0; i < n; i += V_LANES)                                               \
            v_store((uint32_t *)to + i,                                                       \
                    load32((const unsigned char *)from + i * sizeof(uint16_t), ELEMENT_##C)); \
    }                                                                                         \
    static SIMD_TARGET bool same_##name(const void *narrow, const void *wide)                 \
    {                                                                                         \
        wvec apart = {0};                                                                     \
                                                                                              \
        UNROLL_INLINED(8)                                                                     \
        for (size_t i = 0; i < CPU_SAME; i += V_LANES) {                                      \
            const vec x = load32((const unsigned char *)narrow + 2 * i, ELEMENT_##C);         \
                                                                                              \
            apart = w_or(apart, v_wide(v_xor(x, v_load_f32((const uint32_t *)wide + i))));    \
        }                                                                                     \
        return !w_any(apart);                                                                 \
    }
WIDEN_INSTANCE(f16, F16)
WIDEN_INSTANCE(bf16, BF16)
/* By way of f16: those of the bits HALF, which a byte x has, of values that FACTOR makes those of the bytes.
   Compilers make vectors of loops of known length. */
#define WIDEN8_INSTANCE(name, HALF, FACTOR)                                         \
    static SIMD_TARGET void halves_##name(uint16_t *to, const unsigned char *bytes) \
    {                                                                               \
        for (size_t i = 0; i < CPU_WIDENED; i++) {                                  \
            const uint16_t x = bytes[i];                                            \
                                                                                    \
            to[i] = (uint16_t)(HALF);                                               \
        }                                                                           \
    }                                                                               \
    static SIMD_TARGET void scale_##name(float *x)                                  \
    {                                                                               \
        for (size_t i = 0; i < CPU_WIDENED; i++)                                    \
            x[i] *= FACTOR;                                                         \
    }                                                                               \
    static SIMD_TARGET void widen_##name(void *to, const void *from, size_t n)      \
    {                                                                               \
        const unsigned char *const bytes = from;                                    \
        float *const values = to;                                                   \
        uint16_t halves[8 * CPU_WIDENED];                                           \
                                                                                    \
        for (size_t i = 0, some; i < n; i += some) {                                \
            some = n - i < 8 * CPU_WIDENED ? n - i : 8 * CPU_WIDENED;               \
            for (size_t j = 0; j < some; j += CPU_WIDENED)                          \
                halves_##name(halves + j, bytes + i + j);                           \
            widen_f16(values + i, halves, some);                                    \
            for (size_t j = i; FACTOR != 1 && j < i + some; j += CPU_WIDENED)       \
                scale_##name(values + j);                                           \
        }                                                                           \
    }
/* A byte of f8e5m2 is the upper one of an f16. */
WIDEN8_INSTANCE(f8e5m2, x << 8, 1)
/* The magnitude of f8e4m3, behind a zero, is that of an f16 of 2^-8 times its value, but 0x7f, a NaN. */
WIDEN8_INSTANCE(f8e4m3, (x & 0x80) << 8 | (x & 0x7f) << 7 | (((x & 0x7f) + 1) >> 7) * 0x7c00, 256)

#define EXTREMES_ENTRY(CONSTANT, name, ...) [ELEMENT_##CONSTANT] = extremes_##name,
#define COUNTS_ENTRY(CONSTANT, name, ...) [ELEMENT_##CONSTANT] = counts_##name,
#define MISSING_ENTRY(CONSTANT, name, ...) [ELEMENT_##CONSTANT] = missing_##name,
#define OTHERS_ENTRY(CONSTANT, name, ...) [ELEMENT_##CONSTANT] = moments_others,
#define SLICE_SUMS_ENTRY(CONSTANT, name, ...) \
    [ELEMENT_##CONSTANT] = {rows_sums_##name, columns_sums_##name},
#define SLICE_EXTREMES_ENTRY(CONSTANT, name, ...) \
    [ELEMENT_##CONSTANT] = {rows_extremes_##name, columns_extremes_##name},
#define SLICE_SQUARES_ENTRY(CONSTANT, name, ...) [ELEMENT_##CONSTANT] = squares_of_##name,
#define SLICE_TYPES(ENTRY) ELEMENT_FLOAT_TABLE(ENTRY) ENTRY(I64, i64) ENTRY(U64, u64)
#define OTHERS ELEMENT_FLOAT8_TABLE(OTHERS_ENTRY) ELEMENT_INTEGER_TABLE(OTHERS_ENTRY)
static const struct cpu_tally_kernels tally_kernels = {tally_cells32, tally_cells64, tally_bins32,
                                                       tally_bins64, tally_count32};
static const struct cpu_slice_tables slice_tables = {
    .sums = {SLICE_TYPES(SLICE_SUMS_ENTRY)},
    .extremes = {SLICE_TYPES(SLICE_EXTREMES_ENTRY)},
    .squares = {SLICE_TYPES(SLICE_SQUARES_ENTRY)},
    .integers = {[ELEMENT_I8] = {integer_rows_i8, integer_columns_i8},
                 [ELEMENT_U8] = {integer_rows_u8, integer_columns_u8},
                 [ELEMENT_BOOL] = {integer_rows_bool, integer_columns_bool},
                 [ELEMENT_I16] = {integer_rows_i16, integer_columns_i16},
                 [ELEMENT_U16] = {integer_rows_u16, integer_columns_u16},
                 [ELEMENT_I32] = {integer_rows_i32, integer_columns_i32},
                 [ELEMENT_U32] = {integer_rows_u32, integer_columns_u32}},
};
const struct cpu_kernels NAMED(cpu_kernels_, SIMD_NAME) = {
    .name = QUOTED(SIMD_NAME),
    .usable = simd_usable,
    .rows = {{PARTIAL_SUM,
              {[ELEMENT_I64] = alone_i64, [ELEMENT_U64] = alone_u64, [ELEMENT_F64] = alone_f64}},
             {FINDS_EXTREMES, {ELEMENT_TABLE(EXTREMES_ENTRY)}},
             {FINDS_SUM, {ELEMENT_TABLE(SUM_ENTRY)}},
             {FINDS_SUM | PARTIAL_SQUARES,
              {[ELEMENT_I16] = squares_i16,
               [ELEMENT_U16] = squares_u16,
               [ELEMENT_I32] = squares_i32,
               [ELEMENT_U32] = squares_u32}},
             {FINDS_COUNTS, {ELEMENT_FLOAT_TABLE(COUNTS_ENTRY) OTHERS}},
             {FINDS_SQUARES, {ELEMENT_FLOAT_TABLE(SQUARES_ENTRY) OTHERS}},
             {FINDS_ALL, {ELEMENT_FLOAT_TABLE(ALL_ENTRY) OTHERS}}},
    .missing = {FINDS_SUM | PARTIAL_MISSING, {ELEMENT_INTEGER_TABLE(MISSING_ENTRY)}},
    .take_lacking32 = take_lacking32,
    .lanes = V_LANES,
    .tally = &tally_kernels,
    .slices = &slice_tables,
    .digest = digest_pairs,
    .widen = {[ELEMENT_F16] = widen_f16,
              [ELEMENT_BF16] = widen_bf16,
              [ELEMENT_F8E4M3] = widen_f8e4m3,
              [ELEMENT_F8E5M2] = widen_f8e5m2},
    .same_widened = {[ELEMENT_F16] = same_f16, [ELEMENT_BF16] = same_bf16},
    .leave_out = {leave_out8, leave_out16, leave_out32, leave_out64},
    .stand_in = {NULL, stand_in16, stand_in32, stand_in64},
    .sort_columns = {sort_columns8, sort_columns16, sort_columns32, sort_columns64},
    .search = {search8, search16, search32, search64},
    .search_columns = {search_columns8, search_columns16, search_columns32, search_columns64},
    .finish_means = finish_means,
    .finish_spreads = finish_spreads,
};
