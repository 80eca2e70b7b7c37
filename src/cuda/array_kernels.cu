#include "config.h"

#include "cuda/array_launch.h"
#include "cuda/tuning.h"

static_assert(sizeof(struct partial) % sizeof(uint64_t) == 0, "a partial is no whole words");

static const unsigned PARTIAL_WORDS = sizeof(struct partial) / sizeof(uint64_t);

__global__ void __launch_bounds__(THREADS) publish(const __grid_constant__ struct cuda_publish job)
{
    const uint64_t *from = (const uint64_t *)job.from, *cleared = (const uint64_t *)job.cleared;
    uint64_t *to = (uint64_t *)&job.to->partial, *clear = (uint64_t *)job.clear;

    for (unsigned i = threadIdx.x; i < job.words; i += THREADS)
        to[i] = from[i];
    if (clear)
        for (unsigned i = threadIdx.x; i < PARTIAL_WORDS; i += THREADS)
            clear[i] = cleared[i];
    __threadfence_system();
    __syncthreads();
    if (threadIdx.x == 0)
        *(volatile uint64_t *)&job.to->number = job.number;
}

/* An element, which may not be aligned to its size. */
template <typename Element>
__device__ static __forceinline__ Element load_element(const unsigned char *from)
{
    Element x;

    if ((uintptr_t)from % sizeof(Element) == 0)
        return *(const Element *)from;
    for (unsigned i = 0; i < sizeof(Element); i++)
        ((unsigned char *)&x)[i] = from[i];
    return x;
}

/* Whether all elements are aligned to their size. */
template <typename Element>
__device__ static __forceinline__ bool is_aligned(const struct view_layout &layout)
{
    uint64_t bits = (uintptr_t)layout.data;

    for (unsigned d = 0; d < layout.rank; d++)
        bits |= (uint64_t)layout.strides[d];
    return bits % sizeof(Element) == 0;
}

/* The bits of those of COUNT elements, each `step` further, that there are. */
template <int COUNT>
__device__ static __forceinline__ unsigned elements_there(const struct cuda_gather &job, uint64_t i,
                                                          uint64_t step)
{
    unsigned there = 0;

#pragma unroll
    for (int k = 0; k < COUNT; k++)
        there |= (unsigned)(i + k * step < job.count) << k;
    return there;
}

/* The bits of those that a mask leaves. */
template <int COUNT>
__device__ static __forceinline__ unsigned kept_of(const struct cuda_keep &job, uint64_t i,
                                                   uint64_t step, unsigned there)
{
    unsigned char entry[COUNT];
    unsigned kept = 0;

    if (job.form == VIEW_MASK_NONE)
        return there;
#pragma unroll
    for (int k = 0; k < COUNT; k++)
        entry[k] = there >> k & 1 ? *cuda_keep_at(&job, i + k * step) : 0;
#pragma unroll
    for (int k = 0; k < COUNT; k++)
        kept |= (unsigned)cuda_keep_tells(&job, i + k * step, entry[k]) << k;
    return kept & there;
}

/* Loads COUNT elements, each `step` further, of which those with bits are wanted: one after the other
   without waiting, if they are `aligned`. */
template <typename Element, int COUNT>
__device__ static __forceinline__ void load_elements(const struct cuda_gather &job, uint64_t i,
                                                     uint64_t step, bool aligned, unsigned wanted,
                                                     Element (&x)[COUNT])
{
    if (aligned) {
#pragma unroll
        for (int k = 0; k < COUNT; k++)
            if (wanted >> k & 1)
                x[k] = *(const Element *)cuda_gather_from(&job, i + k * step);
    } else {
#pragma unroll
        for (int k = 0; k < COUNT; k++)
            if (wanted >> k & 1)
                x[k] = load_element<Element>(cuda_gather_from(&job, i + k * step));
    }
}

/* Launches a kernel for elements of `size` bytes, 1, 2, 4 and so on, with as many blocks as there is room for
   at a time. */
template <typename Job, int SIZES>
static cudaError_t launch_by_size(void (*const (&kernels)[SIZES])(Job), unsigned size,
                                  const Job *job, int multiprocessors, cudaStream_t stream)
{
    const unsigned blocks = (unsigned)multiprocessors * (RESIDENT_THREADS / THREADS);

    kernels[__builtin_ctz(size)]<<<blocks, THREADS, 0, stream>>>(*job);
    return cudaGetLastError();
}
#define LAUNCH_BY_SIZE(kernel, size, job, multiprocessors, stream)                                \
    launch_by_size({kernel<uint8_t>, kernel<uint16_t>, kernel<uint32_t>, kernel<uint64_t>}, size, \
                   job, multiprocessors, stream)

/* Elements that a thread loads before it stores them. */
static const int GATHER_UNROLL = 4;

template <typename Element>
__global__ void __launch_bounds__(THREADS) gather(const __grid_constant__ struct cuda_gather job)
{
    const uint64_t step = (uint64_t)gridDim.x * THREADS;
    const bool aligned = is_aligned<Element>(job.from);

    for (uint64_t i = (uint64_t)blockIdx.x * THREADS + threadIdx.x; i < job.count;
         i += step * GATHER_UNROLL) {
        const unsigned there = elements_there<GATHER_UNROLL>(job, i, step);
        Element x[GATHER_UNROLL];

        load_elements(job, i, step, aligned, there, x);
#pragma unroll
        for (int k = 0; k < GATHER_UNROLL; k++)
            if (there >> k & 1)
                ((Element *)job.to)[i + k * step] = x[k];
    }
}

/* Whether pairs of neighbours lie side by side, and are aligned. */
static bool has_pairs(const struct cuda_gather *job)
{
    const struct view_layout *from = &job->from;
    const unsigned last = from->rank - 1;
    const int64_t pair = 2 * (int64_t)job->size;
    bool pairs = from->strides[last] == (int64_t)job->size && (job->first | job->count) % 2 == 0 &&
                 (last == 0 || from->sizes[last] % 2 == 0) &&
                 ((uintptr_t)from->data | (uintptr_t)job->to) % (uintptr_t)pair == 0;

    for (unsigned d = 0; d < last; d++)
        pairs = pairs && from->strides[d] % pair == 0;
    return pairs;
}

cudaError_t cuda_gather(const struct cuda_gather *gathered, int multiprocessors,
                        cudaStream_t stream)
{
    struct cuda_gather job = *gathered;
    const unsigned last = job.from.rank - 1;

    /* As elements of up to 16 bytes. */
    while (job.size < sizeof(uint4) && has_pairs(&job)) {
        job.size *= 2;
        job.first /= 2;
        job.count /= 2;
        job.from.sizes[last] /= 2;
        job.from.strides[last] *= 2;
    }
    return launch_by_size(
        {gather<uint8_t>, gather<uint16_t>, gather<uint32_t>, gather<uint64_t>, gather<uint4>},
        job.size, &job, multiprocessors, stream);
}

/* Finds places in an array for what the lanes of a block have: bits[k] has those of a warp's lanes that
   have something in round k of N. Rounds and warps are in order. All threads of the block together;
   `used` is a counter of all blocks. */
template <int N>
__device__ static __forceinline__ void
find_places(const unsigned (&bits)[N], unsigned long long *used, unsigned long long (&places)[N])
{
    const int warps = THREADS / 32;
    const unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    __shared__ unsigned counts[N * warps];
    __shared__ unsigned long long first;

    __syncthreads(); /* all have read what was there */
#pragma unroll
    for (int k = 0; k < N; k++)
        if (lane == 0)
            counts[k * warps + warp] = __popc(bits[k]);
    __syncthreads();
    if (warp == 0) {
        const unsigned each = N * warps / 32, mine = lane * each;
        unsigned sum = 0, up_to;

        static_assert(N * warps % 32 == 0, "each lane adds up as many");
        for (unsigned i = mine; i < mine + each; i++)
            sum += counts[i];
        up_to = sum;
#pragma unroll
        for (unsigned distance = 1; distance < 32; distance *= 2) {
            const unsigned other = __shfl_up_sync(0xffffffffu, up_to, distance);

            up_to += lane >= distance ? other : 0;
        }
        sum = up_to - sum;
        for (unsigned i = mine; i < mine + each; i++) {
            const unsigned count = counts[i];

            counts[i] = sum;
            sum += count;
        }
        if (lane == 31)
            first = atomicAdd(used, (unsigned long long)up_to);
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < N; k++)
        places[k] =
            first + counts[k * warps + warp] + (unsigned)__popc(bits[k] & ((1u << lane) - 1));
}

/* Elements that a thread looks at in a row of rounds. */
static const int KEEP_UNROLL = 8;
static const uint64_t KEEP_TILE = (uint64_t)THREADS * KEEP_UNROLL;

template <typename Element>
__global__ void __launch_bounds__(THREADS) keep(const __grid_constant__ struct cuda_keep job)
{
    const uint64_t tiles = (job.gather.count + KEEP_TILE - 1) / KEEP_TILE;
    const bool aligned = is_aligned<Element>(job.gather.from);

    for (uint64_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        const uint64_t from = tile * KEEP_TILE + threadIdx.x;
        const unsigned kept = kept_of<KEEP_UNROLL>(
            job, from, THREADS, elements_there<KEEP_UNROLL>(job.gather, from, THREADS));
        unsigned bits[KEEP_UNROLL];
        unsigned long long places[KEEP_UNROLL];
        Element x[KEEP_UNROLL];

#pragma unroll
        for (int k = 0; k < KEEP_UNROLL; k++)
            bits[k] = __ballot_sync(0xffffffffu, kept >> k & 1);
        load_elements(job.gather, from, THREADS, aligned, kept, x);
        find_places(bits, (unsigned long long *)job.kept, places);
#pragma unroll
        for (int k = 0; k < KEEP_UNROLL; k++)
            if (kept >> k & 1)
                ((Element *)job.gather.to)[places[k]] = x[k];
    }
}

cudaError_t cuda_keep(const struct cuda_keep *job, int multiprocessors, cudaStream_t stream)
{
    return LAUNCH_BY_SIZE(keep, job->gather.size, job, multiprocessors, stream);
}

template <typename Element>
__global__ void __launch_bounds__(THREADS) mask(const __grid_constant__ struct cuda_mask job)
{
    const struct cuda_gather &elements = job.of.gather;
    const uint64_t step = (uint64_t)gridDim.x * THREADS;
    const bool aligned = is_aligned<Element>(elements.from);

    for (uint64_t i = (uint64_t)blockIdx.x * THREADS + threadIdx.x; i < elements.count;
         i += step * GATHER_UNROLL) {
        const unsigned there = elements_there<GATHER_UNROLL>(elements, i, step);
        const unsigned kept = kept_of<GATHER_UNROLL>(job.of, i, step, there);
        Element x[GATHER_UNROLL];

        load_elements(elements, i, step, aligned, there, x);
#pragma unroll
        for (int k = 0; k < GATHER_UNROLL; k++)
            if (there >> k & 1)
                ((Element *)elements.to)[i + k * step] =
                    (Element)cuda_mask_bits(&job, kept >> k & 1, x[k]);
    }
}

cudaError_t cuda_mask(const struct cuda_mask *job, int multiprocessors, cudaStream_t stream)
{
    return LAUNCH_BY_SIZE(mask, job->of.gather.size, job, multiprocessors, stream);
}

/* A thread looks at its elements from the first on, until it has one in each range. */
template <typename Element>
__global__ void __launch_bounds__(THREADS) find(const __grid_constant__ struct cuda_find job)
{
    const struct cuda_gather &elements = job.of.gather;
    const uint64_t step = (uint64_t)gridDim.x * THREADS;
    const bool aligned = is_aligned<Element>(elements.from);
    unsigned left = (1u << job.count) - 1;

    for (uint64_t i = (uint64_t)blockIdx.x * THREADS + threadIdx.x; i < elements.count && left != 0;
         i += step * GATHER_UNROLL) {
        const unsigned kept = kept_of<GATHER_UNROLL>(
            job.of, i, step, elements_there<GATHER_UNROLL>(elements, i, step));
        Element x[GATHER_UNROLL];

        load_elements(elements, i, step, aligned, kept, x);
#pragma unroll
        for (int k = 0; k < GATHER_UNROLL; k++) {
            unsigned in = kept >> k & 1 ? cuda_find_ranges(&job, x[k]) & left : 0;

            left ^= in;
            for (unsigned t = 0; in != 0; t++, in >>= 1)
                if (in & 1)
                    atomicMin((unsigned long long *)&job.found[t],
                              (unsigned long long)(i + k * step));
        }
    }
}

cudaError_t cuda_find(const struct cuda_find *job, int multiprocessors, cudaStream_t stream)
{
    return LAUNCH_BY_SIZE(find, job->of.gather.size, job, multiprocessors, stream);
}

/* Loads of 16 bytes of each side that a thread has in flight, and the bytes of a block's. */
static const int PIECE_UNROLL = 4;
static const uint64_t PIECE_TILE = (uint64_t)THREADS * PIECE_UNROLL * sizeof(uint4);

/* Threads that have a piece. */
static const unsigned PIECE_LANES = CUDA_PIECE_BYTES / sizeof(uint4);

__device__ static __forceinline__ bool is_same(uint4 a, uint4 b)
{
    return ((a.x ^ b.x) | (a.y ^ b.y) | (a.z ^ b.z) | (a.w ^ b.w)) == 0;
}

/* The 16 bytes at `at` of a row of `bytes` bytes; those beyond its end are zero. */
__device__ static uint4 load_end(const unsigned char *row, uint64_t at, uint64_t bytes)
{
    unsigned words[4] = {0, 0, 0, 0};

    for (unsigned i = 0; i < sizeof(uint4) && at + i < bytes; i++)
        words[i / 4] |= (unsigned)row[at + i] << 8 * (i % 4);
    return make_uint4(words[0], words[1], words[2], words[3]);
}

/* Which of the pieces of a warp differ, a bit for the first lane of each, of its lanes' bits. */
__device__ static unsigned differing_pieces(unsigned lanes)
{
    lanes |= lanes >> 4;
    lanes |= lanes >> 2;
    lanes |= lanes >> 1;
    return lanes & 0x01010101u;
}

static_assert(CUDA_PIECE_BYTES / sizeof(uint4) == 8, "a piece is that of eight lanes");

/* A block takes tiles. The pieces of one that differ get places in the list together, in their order. */
__global__ void __launch_bounds__(THREADS)
    find_pieces(const __grid_constant__ struct cuda_find_pieces job)
{
    const unsigned lane = threadIdx.x % 32;
    const uint64_t tiles = (job.bytes + PIECE_TILE - 1) / PIECE_TILE;

    for (uint64_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        const uint64_t from = tile * PIECE_TILE + threadIdx.x * sizeof(uint4);
        uint4 a[PIECE_UNROLL], b[PIECE_UNROLL];
        unsigned pieces[PIECE_UNROLL];
        unsigned long long places[PIECE_UNROLL];
        bool differs = false;

#pragma unroll
        for (int k = 0; k < PIECE_UNROLL; k++) {
            const uint64_t at = from + (uint64_t)k * THREADS * sizeof(uint4);

            if (at + sizeof(uint4) <= job.bytes) {
                a[k] = *(const uint4 *)(job.sides[0] + at);
                b[k] = *(const uint4 *)(job.sides[1] + at);
            } else {
                a[k] = load_end(job.sides[0], at, job.bytes);
                b[k] = load_end(job.sides[1], at, job.bytes);
            }
        }
#pragma unroll
        for (int k = 0; k < PIECE_UNROLL; k++)
            differs = differs || !is_same(a[k], b[k]);
        if (!__syncthreads_or(differs))
            continue;
#pragma unroll
        for (int k = 0; k < PIECE_UNROLL; k++)
            pieces[k] = differing_pieces(__ballot_sync(0xffffffffu, !is_same(a[k], b[k])));
        find_places(pieces, (unsigned long long *)job.pieces.found, places);
#pragma unroll
        for (int k = 0; k < PIECE_UNROLL; k++) {
            const unsigned first = lane / PIECE_LANES * PIECE_LANES;
            const uint64_t to = __shfl_sync(0xffffffffu, places[k], first);
            const uint64_t at = from + (uint64_t)k * THREADS * sizeof(uint4);

            if (!(pieces[k] >> first & 1) || to >= job.pieces.room)
                continue;
            if (lane == first)
                job.pieces.found[1 + to] = job.first + at / CUDA_PIECE_BYTES;
            ((uint4 *)(job.copies[0] + to * CUDA_PIECE_BYTES))[lane - first] = a[k];
            ((uint4 *)(job.copies[1] + to * CUDA_PIECE_BYTES))[lane - first] = b[k];
        }
    }
}

cudaError_t cuda_find_pieces(const struct cuda_find_pieces *job, int multiprocessors,
                             cudaStream_t stream)
{
    find_pieces<<<(unsigned)multiprocessors *(RESIDENT_THREADS / THREADS), THREADS, 0, stream>>>(
        *job);
    return cudaGetLastError();
}

cudaError_t cuda_publish(const struct cuda_publish *job, cudaStream_t stream)
{
    publish<<<1, THREADS, 0, stream>>>(*job);
    return cudaGetLastError();
}

/* Sets *other to what the lane that is `distance` away knows of a slice, of what is wanted. All lanes
   of the warp together. */
__device__ static void exchange(const struct cuda_slice_parts *wanted, unsigned distance,
                                const struct cuda_slice_state *s, struct cuda_slice_state *other)
{
    const unsigned all = 0xffffffffu;

    cuda_slice_clear(other);
    other->sum.high = __shfl_xor_sync(all, s->sum.high, distance);
    other->sum.low = __shfl_xor_sync(all, s->sum.low, distance);
    other->sum.left = __shfl_xor_sync(all, (int)s->sum.left, distance) != 0;
    if (wanted->squares[0])
#pragma unroll
        for (int k = 0; k < SLICE_SQUARES_MAX; k++)
            other->squares[k] = __shfl_xor_sync(all, s->squares[k], distance);
    if (wanted->bound)
        other->bound = __shfl_xor_sync(all, s->bound, distance);
    if (wanted->min) {
        other->min = __shfl_xor_sync(all, s->min, distance);
        other->max = __shfl_xor_sync(all, s->max, distance);
    }
    if (wanted->missing)
        other->missing = __shfl_xor_sync(all, s->missing, distance);
}

/* Lanes that take a group of the parts of a slice together, a power of two: a few parts each, unless there
   are fewer groups than threads. */
__device__ static __forceinline__ unsigned merge_lanes(const struct cuda_merge &job)
{
    const uint64_t parts = job.parts / job.groups, threads = (uint64_t)gridDim.x * THREADS;
    unsigned lanes = 1;

    while (lanes < 32 && 4 * lanes < parts &&
           (job.slices * job.groups * lanes < threads || 32 * lanes < parts))
        lanes *= 2;
    return lanes;
}

__global__ void __launch_bounds__(THREADS) merge(const __grid_constant__ struct cuda_merge job)
{
    const unsigned lanes = merge_lanes(job), lane = threadIdx.x % lanes;
    const uint64_t all = job.slices * job.groups, across = THREADS / lanes;

    /* Warps remain whole. */
    for (uint64_t first = blockIdx.x * across; first < all; first += gridDim.x * across) {
        const uint64_t i = first + threadIdx.x / lanes;
        struct cuda_slice_state state, other;

        cuda_slice_clear(&state);
        if (i < all) {
            const uint64_t slice = i / job.groups, end = cuda_merge_first(&job, i % job.groups + 1);

            for (uint64_t part = cuda_merge_first(&job, i % job.groups) + lane; part < end;
                 part += lanes)
                cuda_parts_take(&job.from, cuda_merge_at(&job, slice, part), &state);
        }
        for (unsigned distance = lanes / 2; distance > 0; distance /= 2) {
            exchange(&job.from, distance, &state, &other);
            cuda_slice_merge(&state, &other);
        }
        if (i < all && lane == 0 && !cuda_merge_put(&job, i, &state))
            cuda_list_append(&job.unknown, job.first + i);
    }
}

__global__ void __launch_bounds__(THREADS)
    find_unknown(const __grid_constant__ struct cuda_find_unknown job)
{
    const uint64_t step = (uint64_t)gridDim.x * THREADS;

    for (uint64_t i = (uint64_t)blockIdx.x * THREADS + threadIdx.x; i < job.count; i += step)
        if (job.results[job.first + i] == CUDA_SLICE_UNKNOWN)
            cuda_list_append(&job.unknown, job.first + i);
}

cudaError_t cuda_merge(const struct cuda_merge *job, int multiprocessors, cudaStream_t stream)
{
    merge<<<(unsigned)multiprocessors *(RESIDENT_THREADS / THREADS), THREADS, 0, stream>>>(*job);
    return cudaGetLastError();
}

cudaError_t cuda_find_unknown(const struct cuda_find_unknown *job, int multiprocessors,
                              cudaStream_t stream)
{
    find_unknown<<<(unsigned)multiprocessors *(RESIDENT_THREADS / THREADS), THREADS, 0, stream>>>(
        *job);
    return cudaGetLastError();
}
