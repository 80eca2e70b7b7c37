#include "config.h"

#include "bench/limits/limits_read.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "sys/align.h"
#include "sys/inline.h"

/* All reads are folded into this word, so that the compiler cannot leave one out. */
static atomic_uint_fast64_t folded;

#define CACHE_LINE 64

/* Sums side by side, so that one need not wait for the one before it. */
#define SUMS 4

/* How cache lines are prefetched. */
enum prefetched { KEPT, ONCE };

/* The ways: name, streams, distance between streams, prefetched ahead, and into the level-2 cache,
   and how. Streams in pages of their own are the fastest from memory, for the processor itself
   prefetches within a page; data in a cache are not to be prefetched. doc/tuning.md has the
   figures. */
#define WAYS(WAY)                                                  \
    WAY(one, 1, 8 * KIB, 0, 0, KEPT)                               \
    WAY(one_ahead, 1, 8 * KIB, 2 * KIB, 0, KEPT)                   \
    WAY(one_once, 1, 8 * KIB, 2 * KIB, 0, ONCE)                    \
    WAY(two, 2, 4 * KIB, 0, 0, KEPT)                               \
    WAY(two_ahead, 2, 4 * KIB, 12 * KIB, 0, KEPT)                  \
    WAY(four, 4, 2 * KIB, 0, 0, KEPT)                              \
    WAY(four_ahead, 4, 2 * KIB, 10 * KIB, 0, KEPT)                 \
    WAY(four_farther, 4, 2 * KIB, 10 * KIB, 18 * KIB, KEPT)        \
    WAY(four_once, 4, 2 * KIB, 10 * KIB, 0, ONCE)                  \
    WAY(four_pages, 4, 8 * KIB, 0, 0, KEPT)                        \
    WAY(four_pages_ahead, 4, 4 * KIB, 20 * KIB, 0, KEPT)           \
    WAY(eight, 8, 1 * KIB, 0, 0, KEPT)                             \
    WAY(eight_ahead, 8, 1 * KIB, 9 * KIB, 0, KEPT)                 \
    WAY(eight_pages, 8, 8 * KIB, 0, 0, KEPT)                       \
    WAY(eight_pages_ahead, 8, 4 * KIB, 36 * KIB, 0, KEPT)          \
    WAY(eight_pages_farther, 8, 4 * KIB, 36 * KIB, 68 * KIB, KEPT) \
    WAY(eight_pages_once, 8, 4 * KIB, 36 * KIB, 0, ONCE)           \
    WAY(eight_apart, 8, 128 * KIB, 0, 0, KEPT)                     \
    WAY(eight_apart_ahead, 8, 128 * KIB, 4 * KIB, 0, KEPT)

/* Asks for the cache line `ahead` bytes after p. It does no harm beyond the end of the data. */
#define ASK(p, ahead, level) __builtin_prefetch((const void *)((uintptr_t)(p) + (ahead)), 0, level)

/* Defines read_SET, for vectors of so many bytes, and an instance of it for each way. All of a
   way's numbers are constants where it is inlined. The rest after the last whole block is read as
   one stream. NOLINTBEGIN(bugprone-macro-parentheses): attributes and names have none. */
#define DEFINE_READ(set, target, bytes)                                                         \
    typedef uint64_t set##_vector                                                               \
        __attribute__((vector_size(bytes), aligned(sizeof(uint64_t)), may_alias));              \
    target static ALWAYS_INLINE uint64_t read_##set(const unsigned char *data, size_t size,     \
                                                    size_t streams, size_t apart, size_t ahead, \
                                                    size_t farther, enum prefetched how)        \
    {                                                                                           \
        const size_t block = streams * apart, vectors = CACHE_LINE / (bytes);                   \
        const unsigned char *end = data + size;                                                 \
        set##_vector sum[SUMS] = {{0}};                                                         \
        uint64_t all = 0;                                                                       \
                                                                                                \
        for (; (size_t)(end - data) >= block; data += block) {                                  \
            for (size_t i = 0; i < apart; i += CACHE_LINE) {                                    \
                UNROLL_INLINED(8) for (size_t s = 0; s < streams; s++)                          \
                {                                                                               \
                    const unsigned char *p = data + s * apart + i;                              \
                                                                                                \
                    if (ahead && how == KEPT)                                                   \
                        ASK(p, ahead, 3);                                                       \
                    if (ahead && how == ONCE)                                                   \
                        ASK(p, ahead, 0);                                                       \
                    if (farther)                                                                \
                        ASK(p, farther, 2);                                                     \
                    UNROLL_INLINED(4) for (size_t v = 0; v < vectors; v++)                      \
                    {                                                                           \
                        sum[(s + v) % SUMS] ^= ((const set##_vector *)p)[v];                    \
                    }                                                                           \
                }                                                                               \
            }                                                                                   \
        }                                                                                       \
        for (; (size_t)(end - data) >= CACHE_LINE; data += CACHE_LINE)                          \
            for (size_t v = 0; v < vectors; v++)                                                \
                sum[v] ^= ((const set##_vector *)data)[v];                                      \
        sum[0] ^= sum[1] ^ sum[2] ^ sum[3];                                                     \
        for (size_t i = 0; i < (bytes) / sizeof(uint64_t); i++)                                 \
            all ^= sum[0][i];                                                                   \
        atomic_fetch_xor_explicit(&folded, all, memory_order_relaxed);                          \
        return all;                                                                             \
    }
#define DEFINE_WAY(set, target, name, streams, apart, ahead, farther, how)      \
    target static uint64_t set##_##name(const unsigned char *data, size_t size) \
    {                                                                           \
        return read_##set(data, size, streams, apart, ahead, farther, how);     \
    }
/* NOLINTEND(bugprone-macro-parentheses) */
#define ROW(set, bytes, name, streams, apart, ahead, farther, how) \
    {set##_##name, bytes, streams, apart, ahead, farther, (how) == ONCE},

DEFINE_READ(portable, , 16)
#define DEFINE_PORTABLE(...) DEFINE_WAY(portable, , __VA_ARGS__)
#define PORTABLE_ROW(...) ROW(portable, 16, __VA_ARGS__)
WAYS(DEFINE_PORTABLE)
#if defined __x86_64__
#    define AVX2 __attribute__((target("avx2")))
#    define AVX512 __attribute__((target("avx512f")))
DEFINE_READ(avx2, AVX2, 32)
#    define DEFINE_AVX2(...) DEFINE_WAY(avx2, AVX2, __VA_ARGS__)
#    define AVX2_ROW(...) ROW(avx2, 32, __VA_ARGS__)
WAYS(DEFINE_AVX2)
DEFINE_READ(avx512, AVX512, 64)
#    define DEFINE_AVX512(...) DEFINE_WAY(avx512, AVX512, __VA_ARGS__)
#    define AVX512_ROW(...) ROW(avx512, 64, __VA_ARGS__)
WAYS(DEFINE_AVX512)
#endif

/* All ways, the narrower vectors first. */
static const struct limits_way ways[] = {WAYS(PORTABLE_ROW)
#if defined __x86_64__
                                             WAYS(AVX2_ROW) WAYS(AVX512_ROW)
#endif
};

#define WAYS_COUNT (sizeof ways / sizeof *ways)

/* The widest vectors that the instruction set has. */
static unsigned widest(const struct cpu_kernels *kernels)
{
    return (unsigned)(kernels->lanes * sizeof(uint32_t));
}

/* A way, and the highest rate at which it has read. Other work on the machine only lowers rates, so
   the highest one tells the most. */
struct candidate {
    const struct limits_way *way;
    double rate;
};

/* Tries each candidate. False if a trial failed. */
static bool try_all(struct candidate *candidates, size_t count, limits_read_trial *trial,
                    void *argument, uint64_t bytes)
{
    for (size_t i = 0; i < count; i++) {
        double rate = trial(argument, candidates[i].way->read, bytes);

        if (rate < 0)
            return false;
        candidates[i].rate = rate > candidates[i].rate ? rate : candidates[i].rate;
    }
    return true;
}

/* Puts the fastest first. Equal ones keep their order. */
static void sort(struct candidate *candidates, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        struct candidate moved = candidates[i];
        size_t j = i;

        for (; j > 0 && candidates[j - 1].rate < moved.rate; j--)
            candidates[j] = candidates[j - 1];
        candidates[j] = moved;
    }
}

const struct limits_way *limits_read_fastest(const struct cpu_kernels *kernels,
                                             limits_read_trial *trial, void *argument,
                                             uint64_t bytes)
{
    struct candidate candidates[WAYS_COUNT];
    size_t count = 0;

    for (size_t i = 0; i < WAYS_COUNT; i++)
        if (ways[i].vector <= widest(kernels))
            candidates[count++] = (struct candidate){&ways[i], 0};
    for (; count > 1; count = (count + 1) / 2, bytes *= 2) {
        if (!try_all(candidates, count, trial, argument, bytes))
            return NULL;
        sort(candidates, count);
    }
    return candidates[0].way;
}

void limits_read_describe(char text[LIMITS_WAY_MAX], const struct limits_way *way)
{
    char streams[64] = "1 stream", ahead[64] = "", farther[64] = "";

    if (way->streams > 1)
        snprintf(streams, sizeof streams, "%u streams %zu KiB apart", way->streams,
                 way->apart / KIB);
    if (way->ahead)
        snprintf(ahead, sizeof ahead, ", prefetched %s%zu KiB", way->once ? "for once " : "",
                 way->ahead / KIB);
    if (way->farther)
        snprintf(farther, sizeof farther, " and %zu KiB", way->farther / KIB);
    snprintf(text, LIMITS_WAY_MAX, "%s%s%s%s, loads of %u bytes", streams, ahead, farther,
             way->ahead ? " ahead" : "", way->vector);
}
