/*
 * Tuning of the reduction kernels: every number that was found by measuring. doc/tuning.md says how
 * to measure it again, and what the other values gave. Only the kernels include this.
 *
 * All figures are bandwidths on an H200 as parts of cub::DeviceReduce::Sum's on as many bytes of
 * binary32 (of binary64 for f64) in the same run. Runs differ by 0.01, or 0.03 at 128 MiB.
 */
#ifndef GPUREDUCE_CUDA_TUNING_H
#define GPUREDUCE_CUDA_TUNING_H

/* Threads of a block. 128, with twice the blocks: the same at 4 GiB, up to 0.05 less for any
   exponents at 128 MiB, where there are more ends of blocks. 512: the exponent bins do not fit. */
static const int THREADS = 256;

/*
 * A row for each element type.
 *
 * UNROLL      loads of 16 bytes that a thread has in flight BLOCKS      blocks a multiprocessor.
 * The product matters, the bytes in flight, until registers go to memory, which costs up to a half
 * CONTIGUOUS  whether a block's tiles lie side by side, or as far apart as there are blocks
 */
template <int unroll, int blocks, bool contiguous> struct tuned {
    static const int BLOCK = THREADS; /* threads of a block */
    static const int UNROLL = unroll;
    static const int BLOCKS = blocks;
    static const bool CONTIGUOUS = contiguous;
};

struct f32;
struct f64;
struct f16;
struct bf16;
template <typename Type> struct tuning;

/* clang-format off */
/*                                                   normal data        any exponents
                                                     1 GiB   4 GiB      1 GiB   4 GiB  */
template <> struct tuning<f32>  : tuned<8, 3, true>  { /* 1.00  1.00   0.98  0.99 */ };
template <> struct tuning<f64>  : tuned<8, 3, false> { /* 0.98  0.98   0.72  0.85 */ };
template <> struct tuning<f16>  : tuned<4, 5, false> { /* 1.00  1.00      -     - */ };
template <> struct tuning<bf16> : tuned<4, 4, false> { /* 0.98  0.98   0.89  0.91 */ };
/* clang-format on */

/* Integers of all sizes: loads of 16 bytes in flight, and blocks a multiprocessor. Not measured. */
struct integer_tuning {
    static const int UNROLL = 4, BLOCKS = 4;
};

/* Floats of one byte, which are made halves when they have been loaded. For sums alone they are not, and
   the loads in flight are those of f16: 3706 GB/s of e4m3 and 3361 of e5m2 on an H200, 2^30 elements. The
   others are not measured. */
struct f8e4m3;
struct f8e5m2;
template <> struct tuning<f8e4m3> : tuned<2, 4, false> {
};
template <> struct tuning<f8e5m2> : tuned<2, 4, false> {
};

/* Those of f32 that find moments, where there are two (moments_left.cuh): as f32. */
struct f32_first;
struct f32_left;
template <> struct tuning<f32_first> : tuned<8, 3, false> {
};
template <> struct tuning<f32_left> : tuned<4, 2, false> {
    static const int BLOCK = 2 * THREADS;
};

/* Blocks a multiprocessor of the kernels that also find moments (moments.cuh), and of f64 the loads
   in flight. */
template <int blocks, bool integers, bool bins> struct moments_tuned {
    static const int BLOCKS = blocks;
    static const bool INTEGERS =
        integers;                  /* added up as such, where they fit; in binary64 if not */
    static const bool BINS = bins; /* exponent bins, of 96 KiB a block; for f32 alone */
};
template <typename Type> struct moments_tuning;
template <> struct moments_tuning<f32> : moments_tuned<2, false, true> {
};
template <> struct moments_tuning<f32_first> : moments_tuned<2, false, false> {
};
template <> struct moments_tuning<f64> : moments_tuned<2, false, false> {
    static const int UNROLL = 8;
};
template <> struct moments_tuning<f16> : moments_tuned<4, true, false> {
};
template <> struct moments_tuning<bf16> : moments_tuned<4, false, false> {
};
template <> struct moments_tuning<f8e4m3> : moments_tuned<4, true, false> {
};
template <> struct moments_tuning<f8e5m2> : moments_tuned<4, true, false> {
};

/* The most threads that a multiprocessor holds: more blocks than that cannot be asked for. */
#if defined __CUDA_ARCH__ && __CUDA_ARCH__ == 750
static const int RESIDENT_THREADS = 1024;
#else
static const int RESIDENT_THREADS = 1536;
#endif

static constexpr int resident(int blocks)
{
    return blocks * THREADS <= RESIDENT_THREADS ? blocks : RESIDENT_THREADS / THREADS;
}

/* After a group that did not add up, this many tiles of a warp go to the exponent bins, and of a
   thread to the superaccumulator, without another try. For data that never add up, failed tries
   cost a part of the rest of the time, about one in so many. */
static const int TILES_BINNED = 15;
static const int TILES_ACCUMULATED = 63;

/* In the second kernel for moments of f32: of 32 groups of a warp that are to be looked at again,
   with more than so many this is done at once in so many rounds of 32. */
static const int LOOKS_MAX = 8, ROUNDS_CAREFUL = 7;

/* From so many tiles of a block on, a warp leaves binary64 elements whose exponents lie too far
   apart to the second kernel. The second runs at 0.92, but the change to it takes 80 us: for any
   data of 512 MiB, 1, 2 and 4 GiB the two kernels reach 0.62, 0.72, 0.80 and 0.85, the first alone
   0.69, 0.69, 0.69 and 0.67. Launching the second for nothing takes 3 us. */
static const int TILES_TO_LEAVE = 64;

/* The number of tiles from which a warp leaves binary32 with moments to the second kernel. With 128
   MiB, whose tiles are 15 a block, two kernels reach 0.87 (normal), 0.77 (exponents over 2^60) and
   0.75 (any), one 0.69, 0.50 and 0.38. */
static const int TILES_TO_LEAVE_MOMENTS = 8;

/*
 * GPUs on which binary64 runs at 1/32 or 1/64 of the rate of binary32 (by compute capability: all
 * but these few) would be bound by two binary64 additions and a conversion an element. There, parts
 * of narrow elements are extracted in binary32, eight additions an element, and binary64 elements
 * all go to the superaccumulator: integer additions. NVCCFLAGS='-O3 -DGPUREDUCE_SLOW_BINARY64' has
 * these paths tried on any GPU. On the H200 they run at 0.99 (f32), 0.58 (f64, normal), 0.74 (f64,
 * any exponents), 0.70 (f16) and 0.83 (bf16).
 */
#if defined __CUDA_ARCH__ && !defined GPUREDUCE_SLOW_BINARY64 &&             \
    (__CUDA_ARCH__ == 700 || __CUDA_ARCH__ == 800 || __CUDA_ARCH__ == 900 || \
     __CUDA_ARCH__ == 1000)
static const bool SLOW_BINARY64 = false;
#else
static const bool SLOW_BINARY64 = true;
#endif

#endif
