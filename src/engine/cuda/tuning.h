/*
 * Tuning of the reduction kernels: every number that was found by measuring, and what was measured.
 * Only reduce.cu includes this.
 *
 * All figures are bandwidths on an H200 as parts of cub::DeviceReduce::Sum's on as many bytes of
 * binary32 (of binary64 for f64) in the same run; runs differ by 0.01, or 0.03 at 128 MiB.
 */
#ifndef GPUREDUCE_CUDA_TUNING_H
#define GPUREDUCE_CUDA_TUNING_H

/* Threads of a block. 128, and twice the blocks: the same at 4 GiB, to 0.05 less for wide data at
   128 MiB, where there are more ends of blocks. With 512 the bins do not fit. */
static const int THREADS = 256;

/*
 * By element type: loads of 16 bytes that a thread has in flight, and blocks a multiprocessor. What
 * counts is their product, the bytes in flight, until registers go to memory, which costs up to a
 * half. CONTIGUOUS: whether a block's tiles lie side by side, or as far apart as there are blocks.
 * The figures: 128 MiB, 1 GiB, 4 GiB.
 *
 *        UNROLL x BLOCKS    ordinary data        any data
 * f32    8 x 3, contiguous  1.02  1.00  1.00     0.94  0.98  0.99
 *        4 x 4, contiguous  1.04  1.00  1.00     0.95  0.97  0.97
 *        8 x 3, apart                  -0.003                     by comparison
 *        4 x 5, 12 x 2, apart          -0.01              -0.03
 * f64    8 x 3                    0.98  0.98          0.72  0.85
 *        all in one kernel                            0.69  0.67
 *        4 x 4                    0.98  0.98          0.63  0.63     in one kernel
 *        4 x 5                    0.62  0.60     (registers in memory)
 * f16    4 x 5                    1.00  1.00
 *        8 x 3                    1.00  0.99
 * bf16   4 x 4                    0.98  0.98          0.89  0.91
 *        6 x 4                    0.99  0.98          0.93  0.94    0.05 less at 128 MiB
 *        8 x 3                    0.97  0.97          0.89  0.90
 *
 * Blocks that take equal shares to the row instead of to the tile are no better balanced for it:
 * the rest of a tile costs as much as a tile.
 *
 * Prefetching tiles into the L2 cache took 0.1 of all of them. Loads that leave the caches alone
 * (__ldcs) and plain ones are the same; ld.global.nc with L2::256B is 0.08 slower.
 */
struct f32;
struct f64;
struct f16;
struct bf16;

template <typename Type> struct tuning;
template <> struct tuning<f32> {
    static const int UNROLL = 8;
    static const int BLOCKS = 3;
    static const bool CONTIGUOUS = true;
};
template <> struct tuning<f64> {
    static const int UNROLL = 8;
    static const int BLOCKS = 3;
    static const bool CONTIGUOUS = false;
};
template <> struct tuning<f16> {
    static const int UNROLL = 4;
    static const int BLOCKS = 5;
    static const bool CONTIGUOUS = false;
};
template <> struct tuning<bf16> {
    static const int UNROLL = 4;
    static const int BLOCKS = 4;
    static const bool CONTIGUOUS = false;
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

/* After a group that could not be added up as groups are, this many tiles of a warp go to the bins,
   and of a thread to the spill, without another try. For data that never fit, tries that fail cost
   a part of the time that is left, about one in so many. */
static const int TILES_BINNED = 15;
static const int TILES_SPILLED = 63;

/* A warp leaves binary64 elements that do not fit its grids to a second kernel where a block has so
   many tiles. The second one runs at 0.92, but it takes 80 us to change to it: for any data of 512
   MiB, 1, 2 and 4 GiB the two have 0.62, 0.72, 0.80 and 0.85; one kernel alone has 0.69, 0.69, 0.69
   and 0.67. To launch it for nothing takes 3 us.
   Of its loop: 64 threads fewer take 0.15 of it, 64 more add 0.01 for 4 GiB and take 0.02 for 1;
   one element at a time instead of two takes 0.05, loads that do not run ahead 0.17. Twice the
   bytes in flight take 0.01. */
static const int TILES_TO_LEAVE = 64;

/*
 * GPUs on which binary64 runs at 1/32 or 1/64 of the rate of binary32 (by compute capability: all
 * but these few) would be bound by two binary64 additions and a conversion an element. There,
 * groups of narrow elements are added up in slices of binary32, eight additions an element, and
 * binary64 elements all go to the spill: integer additions.
 * NVCCFLAGS='-O3 -DGPUREDUCE_SLOW_BINARY64' has these paths tried on any GPU; on the H200 they run
 * at 0.99 (f32), 0.58 (f64, normal), 0.74 (f64, any exponent), 0.70 (f16) and 0.83 (bf16).
 */
#if defined __CUDA_ARCH__ && !defined GPUREDUCE_SLOW_BINARY64 &&             \
    (__CUDA_ARCH__ == 700 || __CUDA_ARCH__ == 800 || __CUDA_ARCH__ == 900 || \
     __CUDA_ARCH__ == 1000)
static const bool SLOW_BINARY64 = false;
#else
static const bool SLOW_BINARY64 = true;
#endif

#endif
