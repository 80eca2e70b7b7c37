/*
 * The kernel of digests. A thread has four words of each tile, which are always the same numbers r,
 * so that their factors A_r need not be at hand until the end: it sums up w B_t for each of them,
 * where B_t is cut in three parts of 22 bits, whose products with a word are below 2^54. So there are
 * three multiplications a word.
 *
 * A lane works out the factor of one of 32 tiles, and hands it to the others.
 */
#ifndef GPUREDUCE_CUDA_DIGEST_KERNEL_CUH
#define GPUREDUCE_CUDA_DIGEST_KERNEL_CUH

#include "core/digest.h"
#include "cuda/kernels.h"
#include "cuda/tuning.h"
#include "cuda/warp.cuh"

static const int DIGEST_WORDS = 4, DIGEST_PARTS = 3, DIGEST_PART_BITS = 22;
static_assert(THREADS * DIGEST_WORDS == DIGEST_TILE, "threads have the words of a tile");

/* Tiles of a run, which a block takes one after the other, at most: as many as there are lanes. */
static const unsigned DIGEST_RUN = 32;

/* Tiles whose products a sum of 64 bits holds. */
static const unsigned DIGEST_SUM_TILES = 1024;

/* Loads of 16 bytes that a thread has in flight. 4 with 3 blocks: registers go to memory. */
static const int DIGEST_UNROLL = 8;

/* How elements are changed to words of a little-endian array. */
enum digest_form { DIGEST_PLAIN, DIGEST_TRUTH, DIGEST_SWAP2, DIGEST_SWAP4, DIGEST_SWAP8 };

/* All positions are bytes from the beginning of the array. */
struct digest_job {
    const unsigned char *data; /* the byte at `begin` */
    uint64_t begin, end;       /* of the elements */
    uint64_t first, tiles;     /* the number of the first tile, and how many they touch */
    unsigned run;              /* tiles of a run */
    unsigned size;             /* bytes of an element */
    bool truth, swap, counts;

    /* The magnitudes of floats: an element with more than `finite` is an infinity if it has
       `infinity`, or else a NaN. Added to those in even and odd words, `add` sets the bits of `sign`
       that stand in the place of the sign of such elements. Integers have no bits in `sign`. */
    uint64_t finite, infinity;
    uint32_t magnitude[2], add[2], sign[2];

    uint64_t count; /* elements */
    struct partial *partial;
    struct cuda_digest_scratch *scratch;
};

/* Counts of a block, in shared memory: as those of struct cuda_digest_scratch. */
struct digest_counts {
    unsigned nan, positive_infinity, negative_infinity;
    unsigned long long before_nan;
};

/* The byte at a position, as it is digested; 0 where there is no element. */
__device__ static inline uint32_t digest_byte(const struct digest_job &job, uint64_t at)
{
    uint32_t byte;

    if (at < job.begin || at >= job.end)
        return 0;
    if (job.swap) /* to the place in the element that is as far from its other end */
        at ^= job.size - 1;
    byte = job.data[at - job.begin];
    return job.truth ? byte != 0 : byte;
}

/* Words at a position, some of which may have no elements; all are zeros if they are not wanted. */
__device__ static void digest_words_of_bytes(const struct digest_job &job, uint64_t at, bool wanted,
                                             uint32_t words[DIGEST_WORDS])
{
    for (unsigned i = 0; i < DIGEST_WORDS; i++) {
        words[i] = 0;
        for (unsigned k = 0; k < 4 && wanted; k++)
            words[i] |= digest_byte(job, at + 4 * i + k) << 8 * k;
    }
}

__device__ static __forceinline__ uint32_t swap_halves(uint32_t x)
{
    return (x & 0x00ff00ffu) << 8 | (x >> 8 & 0x00ff00ffu);
}

__device__ static __forceinline__ uint32_t swap_word(uint32_t x)
{
    x = swap_halves(x);
    return x << 16 | x >> 16;
}

template <int FORM> __device__ static __forceinline__ void put_in_form(uint32_t w[DIGEST_WORDS])
{
    for (int i = 0; i < DIGEST_WORDS; i++) {
        if (FORM == DIGEST_TRUTH)
            w[i] = (((w[i] & 0x7f7f7f7fu) + 0x7f7f7f7fu) | w[i]) >> 7 & 0x01010101u;
        else if (FORM == DIGEST_SWAP2)
            w[i] = swap_halves(w[i]);
        else if (FORM == DIGEST_SWAP4)
            w[i] = swap_word(w[i]);
    }
    if (FORM == DIGEST_SWAP8)
        for (int i = 0; i < DIGEST_WORDS; i += 2) {
            const uint32_t first = w[i];

            w[i] = swap_word(w[i + 1]);
            w[i + 1] = swap_word(first);
        }
}

/* Words that all have elements, as has the word before them and the one after. */
template <int FORM>
__device__ static __forceinline__ void digest_words(const struct digest_job &job, uint64_t at,
                                                    bool aligned, uint32_t w[DIGEST_WORDS])
{
    const unsigned char *from = job.data + (at - job.begin);

    if (aligned) {
        const uint4 v = __ldcs((const uint4 *)from);

        w[0] = v.x;
        w[1] = v.y;
        w[2] = v.z;
        w[3] = v.w;
    } else {
        const unsigned off = (unsigned)((uintptr_t)from % 4), shift = 8 * off;
        const uint32_t *words = (const uint32_t *)(from - off);

        for (int i = 0; i < DIGEST_WORDS; i++)
            w[i] = off ? words[i] >> shift | words[i + 1] << (32 - shift) : words[i];
    }
    put_in_form<FORM>(w);
}

/* Counts the elements of two words that are not finite, of which there are few as a rule. */
__device__ static __noinline__ void count_nonfinite(const struct digest_job &job, uint64_t at,
                                                    uint64_t words, struct digest_counts *counts)
{
    const unsigned size = job.size, bits = 8 * size;
    const uint64_t sign = (uint64_t)1 << (bits - 1);

    for (unsigned i = 0; i < 8 / size; i++) {
        const uint64_t x = words >> bits * i, magnitude = x & (sign - 1);

        if (magnitude <= job.finite)
            continue;
        if (magnitude != job.infinity) {
            const unsigned long long before = ~(unsigned long long)(at / size + i);

            atomicAdd(&counts->nan, 1u);
            if (before > *(volatile unsigned long long *)&counts->before_nan)
                atomicMax(&counts->before_nan, before);
        } else {
            atomicAdd(x & sign ? &counts->negative_infinity : &counts->positive_infinity, 1u);
        }
    }
}

__device__ static __forceinline__ void take_words(const struct digest_job &job, uint64_t at,
                                                  const uint32_t w[DIGEST_WORDS], uint64_t factor,
                                                  unsigned long long sums[][DIGEST_PARTS],
                                                  struct digest_counts *counts)
{
    const uint32_t mask = ((uint32_t)1 << DIGEST_PART_BITS) - 1;
    const uint32_t parts[DIGEST_PARTS] = {(uint32_t)factor & mask,
                                          (uint32_t)(factor >> DIGEST_PART_BITS) & mask,
                                          (uint32_t)(factor >> 2 * DIGEST_PART_BITS)};
    uint32_t over = 0;

    for (int i = 0; i < DIGEST_WORDS; i++) {
        for (int k = 0; k < DIGEST_PARTS; k++)
            sums[i][k] += (unsigned long long)w[i] * parts[k];
        over |= ((w[i] & job.magnitude[i % 2]) + job.add[i % 2]) & job.sign[i % 2];
    }
    if (over)
        for (int i = 0; i < DIGEST_WORDS; i += 2)
            count_nonfinite(job, at + 4 * i, (uint64_t)w[i + 1] << 32 | w[i], counts);
}

/* The sum of what the sums have come to, times the factors of the words. */
__device__ static struct digest digest_of(const unsigned long long sums[][DIGEST_PARTS])
{
    struct digest all = {0, 0};

    for (int i = 0; i < DIGEST_WORDS; i++) {
        struct digest sum = {0, 0};

        for (int k = DIGEST_PARTS - 1; k >= 0; k--) {
            const struct digest part = {sums[i][k], 0};

            sum = digest_plus(digest_times(sum, (uint64_t)1 << DIGEST_PART_BITS), part);
        }
        sum = digest_times(sum, digest_word_factor(DIGEST_WORDS * threadIdx.x + i));
        all = digest_plus(all, sum);
    }
    return all;
}

/* The sum of a warp's, in lane 0. */
__device__ static struct digest add_digests(struct digest sum)
{
    for (int distance = 16; distance > 0; distance /= 2) {
        struct digest other;

        other.low = __shfl_down_sync(ALL_LANES, sum.low, distance);
        other.high = __shfl_down_sync(ALL_LANES, sum.high, distance);
        sum = digest_plus(sum, other);
    }
    return sum;
}

/* Adds what a block has found, and after the last block puts it into the partial result. */
__device__ static void hand_in(const struct digest_job &job, const struct digest &found,
                               const struct digest_counts *counts)
{
    struct cuda_digest_scratch *const s = job.scratch;
    struct digest sum = {0, 0};

    atomicAdd(&s->digits[0], (unsigned long long)(uint32_t)found.low);
    atomicAdd(&s->digits[1], (unsigned long long)(found.low >> 32));
    atomicAdd(&s->digits[2], (unsigned long long)(uint32_t)found.high);
    atomicAdd(&s->digits[3], (unsigned long long)(found.high >> 32));
    if (counts->nan + counts->positive_infinity + counts->negative_infinity > 0) {
        atomicAdd(&s->nan, (unsigned long long)counts->nan);
        atomicAdd(&s->positive_infinity, (unsigned long long)counts->positive_infinity);
        atomicAdd(&s->negative_infinity, (unsigned long long)counts->negative_infinity);
        atomicMax(&s->before_nan, counts->before_nan);
    }
    __threadfence();
    if (atomicInc(&s->ticket, gridDim.x - 1) != gridDim.x - 1)
        return;
    for (int i = 3; i >= 0; i--) {
        const struct digest digit = {atomicExch(&s->digits[i], 0ull), 0};

        sum = digest_plus(digest_times(sum, (uint64_t)1 << 32), digit);
    }
    job.partial->digest = digest_plus(job.partial->digest, sum);
    if (job.counts) {
        const uint64_t first_nan = ~(uint64_t)atomicExch(&s->before_nan, 0ull);

        job.partial->count += job.count;
        job.partial->nan += atomicExch(&s->nan, 0ull);
        job.partial->positive_infinity += atomicExch(&s->positive_infinity, 0ull);
        job.partial->negative_infinity += atomicExch(&s->negative_infinity, 0ull);
        if (first_nan < job.partial->first_nan)
            job.partial->first_nan = first_nan;
    }
}

template <int FORM>
__global__ void __launch_bounds__(THREADS, 2) digest(const __grid_constant__ struct digest_job job)
{
    __shared__ struct digest warps[WARPS];
    __shared__ struct digest_counts counts;
    const unsigned lane = threadIdx.x % 32;
    const uint64_t step = (uint64_t)gridDim.x * job.run;
    const bool aligned = (uintptr_t)(job.data - job.begin) % 16 == 0;
    unsigned long long sums[DIGEST_WORDS][DIGEST_PARTS] = {};
    struct digest found = {0, 0};
    unsigned added = 0;

    if (threadIdx.x == 0)
        counts = digest_counts();
    __syncthreads();
    for (uint64_t t = (uint64_t)blockIdx.x * job.run; t < job.tiles; t += step) {
        const unsigned tiles =
            (unsigned)(job.tiles - t < job.run ? job.tiles - t : (uint64_t)job.run);
        const uint64_t factor = digest_tile_factor(job.first + t + lane);

        if (added + tiles > DIGEST_SUM_TILES) {
            found = digest_plus(found, digest_of(sums));
            for (int k = 0; k < DIGEST_WORDS * DIGEST_PARTS; k++)
                sums[k / DIGEST_PARTS][k % DIGEST_PARTS] = 0;
            added = 0;
        }
        added += tiles;
        for (unsigned i = 0; i < tiles; i += DIGEST_UNROLL) {
            const uint64_t begin = (job.first + t + i) * DIGEST_TILE_BYTES;
            const uint64_t end = begin + DIGEST_UNROLL * DIGEST_TILE_BYTES;
            uint32_t words[DIGEST_UNROLL][DIGEST_WORDS];

            if (i + DIGEST_UNROLL <= tiles && begin >= job.begin + 4 && end + 4 <= job.end) {
#pragma unroll
                for (int k = 0; k < DIGEST_UNROLL; k++)
                    digest_words<FORM>(
                        job, begin + k * DIGEST_TILE_BYTES + 4 * DIGEST_WORDS * threadIdx.x,
                        aligned, words[k]);
            } else {
#pragma unroll
                for (int k = 0; k < DIGEST_UNROLL; k++)
                    digest_words_of_bytes(
                        job, begin + k * DIGEST_TILE_BYTES + 4 * DIGEST_WORDS * threadIdx.x,
                        i + k < tiles, words[k]);
            }
#pragma unroll
            for (int k = 0; k < DIGEST_UNROLL; k++)
                take_words(job, begin + k * DIGEST_TILE_BYTES + 4 * DIGEST_WORDS * threadIdx.x,
                           words[k], __shfl_sync(ALL_LANES, factor, (i + k) % 32), sums, &counts);
        }
    }
    found = add_digests(digest_plus(found, digest_of(sums)));
    if (lane == 0)
        warps[threadIdx.x / 32] = found;
    __syncthreads();
    if (threadIdx.x >= 32)
        return;
    found.low = lane < WARPS ? warps[lane].low : 0;
    found.high = lane < WARPS ? warps[lane].high : 0;
    found = add_digests(found);
    if (lane == 0)
        hand_in(job, found, &counts);
}

/* A launch: the kernel, and what it is given. */
struct digest_choice {
    void (*kernel)(struct digest_job job);
    struct digest_job job;
};

/* Fills in how elements that are not finite are found. */
static void find_nonfinite(struct digest_job *job, enum element_type type)
{
    const unsigned size = job->size, bits = 8 * size;
    const uint64_t sign = (uint64_t)1 << (bits - 1);
    const unsigned fraction = (unsigned)element_formats[type].significant_bits - 1;
    /* All ones in the exponent; there, types without infinities have numbers, and one NaN. */
    const uint64_t infinity = (sign - 1) >> fraction << fraction;
    const bool has_infinity = element_formats[type].kind != ELEMENT_FINITE;
    const uint64_t least = has_infinity ? infinity : sign - 1;

    job->finite = least - 1;
    job->infinity = has_infinity ? infinity : 0;
    for (unsigned i = 0; i < 2; i++)
        for (unsigned at = 0; at < 32; at += bits < 32 ? bits : 32) {
            const unsigned shift = bits == 64 ? 32 : 0;

            if (bits == 64 && i == 0)
                continue;
            job->sign[i] |= (uint32_t)(sign >> shift) << at;
            job->magnitude[i] |= (uint32_t)((sign - 1) >> shift) << at;
            job->add[i] |= (uint32_t)((sign - least) >> shift) << at;
        }
}

/* Runs are shorter if there would be fewer than blocks. */
static struct digest_choice digest_choose(const struct cuda_launch *l, unsigned blocks)
{
    const enum element_kind kind = element_formats[l->type].kind;
    const size_t size = element_formats[l->type].size;
    struct digest_choice c = {};
    struct digest_job *job = &c.job;
    uint64_t each;

    job->data = (const unsigned char *)l->rows.data;
    job->begin = l->index * size;
    job->end = job->begin + l->count * size;
    job->first = job->begin / DIGEST_TILE_BYTES;
    job->tiles = (job->end - 1) / DIGEST_TILE_BYTES + 1 - job->first;
    each = (job->tiles + blocks - 1) / blocks;
    job->run = each < DIGEST_RUN ? (unsigned)each : DIGEST_RUN;
    job->size = (unsigned)size;
    job->truth = kind == ELEMENT_TRUTH;
    job->swap = l->swap && size > 1;
    job->counts = l->wants == PARTIAL_DIGEST;
    if (job->counts && !element_is_integer(l->type))
        find_nonfinite(job, l->type);
    job->count = l->count;
    job->partial = l->partial;
    job->scratch = &l->scratch->digest;
    c.kernel = job->truth   ? digest<DIGEST_TRUTH>
               : !job->swap ? digest<DIGEST_PLAIN>
               : size == 2  ? digest<DIGEST_SWAP2>
               : size == 4  ? digest<DIGEST_SWAP4>
                            : digest<DIGEST_SWAP8>;
    return c;
}

#endif
