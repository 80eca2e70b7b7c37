#include "config.h"

#include "bench/limits/limits_read.h"

#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

/* All reads are folded into this word, so that the compiler cannot leave one out. */
static atomic_uint_fast64_t folded;

/* Memory is prefetched so many bytes ahead, as in the kernels, and read so many bytes a round: two
   cache lines. On one core of a Sapphire Rapids server, memory gives 18.1 GB/s like this, 15.9
   without prefetching, and 15.2 with rounds of four lines. Data in a cache are not prefetched,
   which would cost: 187 GB/s for 203. */
#define AHEAD 2048
#define ROUND 128

/* Defines a function for one width of a vector, for memory or caches. `fold` takes a round.
   NOLINTBEGIN(bugprone-macro-parentheses): attributes and statements have none. */
#define DEFINE_READ(name, target, bytes, ahead, fold)                                            \
    typedef uint64_t name##_vector                                                               \
        __attribute__((vector_size(bytes), aligned(sizeof(uint64_t)), may_alias));               \
    target static void name(const unsigned char *data, size_t size)                              \
    {                                                                                            \
        name##_vector a = {0}, b = {0}, c = {0}, d = {0};                                        \
        uint64_t all = 0;                                                                        \
                                                                                                 \
        for (size_t i = 0; i < size / ROUND; i++, data += ROUND) {                               \
            const name##_vector *v = (const name##_vector *)data;                                \
                                                                                                 \
            if (ahead) {                                                                         \
                __builtin_prefetch((const void *)((uintptr_t)data + (ahead)), 0, 3);             \
                __builtin_prefetch((const void *)((uintptr_t)data + (ahead) + ROUND / 2), 0, 3); \
            }                                                                                    \
            fold;                                                                                \
        }                                                                                        \
        a ^= b ^ c ^ d;                                                                          \
        for (size_t i = 0; i < (bytes) / sizeof(uint64_t); i++)                                  \
            all ^= a[i];                                                                         \
        atomic_fetch_xor_explicit(&folded, all, memory_order_relaxed);                           \
    }
/* NOLINTEND(bugprone-macro-parentheses) */

#define FOLD_16 a ^= v[0] ^ v[4], b ^= v[1] ^ v[5], c ^= v[2] ^ v[6], d ^= v[3] ^ v[7]
#define FOLD_32 a ^= v[0], b ^= v[1], c ^= v[2], d ^= v[3]
#define FOLD_64 a ^= v[0], b ^= v[1]

DEFINE_READ(read_portable, , 16, AHEAD, FOLD_16)
DEFINE_READ(read_cached_portable, , 16, 0, FOLD_16)
#if defined __x86_64__
#    define AVX2 __attribute__((target("avx2")))
#    define AVX512 __attribute__((target("avx512f")))
DEFINE_READ(read_avx2, AVX2, 32, AHEAD, FOLD_32)
DEFINE_READ(read_cached_avx2, AVX2, 32, 0, FOLD_32)
DEFINE_READ(read_avx512, AVX512, 64, AHEAD, FOLD_64)
DEFINE_READ(read_cached_avx512, AVX512, 64, 0, FOLD_64)
#endif

limits_read_function *limits_choose_read(const struct cpu_kernels *kernels, bool cached)
{
#if defined __x86_64__
    if (strcmp(kernels->name, "avx512") == 0)
        return cached ? read_cached_avx512 : read_avx512;
    if (strcmp(kernels->name, "avx2") == 0)
        return cached ? read_cached_avx2 : read_avx2;
#endif
    (void)kernels;
    return cached ? read_cached_portable : read_portable;
}
