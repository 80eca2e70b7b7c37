/*
 * The kernels of tallies, without their launch. tally_job.cuh has the parts that they share.
 */
#ifndef GPUREDUCE_CUDA_TALLY_KERNELS_CUH
#define GPUREDUCE_CUDA_TALLY_KERNELS_CUH

#include <float.h>

#include "cuda/tally_job.cuh"

/* Loads of 16 bytes that a thread has in flight. Fewer of short elements, which are more: a tile
   has less than 2^15 of those that may go to packed counters. */
template <int SIZE> struct tally_loads {
    static const int LOADS = SIZE <= 2 ? 2 : 4;
};

/*
 * Words, and bins: each element adds to one counter, which Counter finds.
 */

/* The counter of an element, counted from FIRST; or one that may not be its own, and then sets *sure to false. */
template <typename Counter> struct tally_guess {
    static const unsigned FIRST = 0;

    __device__ static __forceinline__ unsigned of(const struct tally_job *job, uint64_t bits,
                                                  bool *)
    {
        return Counter::of(job, bits);
    }
};

/* Counts what load number j of a group has. */
template <typename Counter, typename Counters, typename Group>
__device__ static __forceinline__ void tally_take(const struct tally_job *job, Counters *counters,
                                                  Group *g, int j)
{
    unsigned counter[Group::PER_LOAD];
    bool sure = true;

    if (!counters->spreads() && g->is_uniform(j)) {
        if (tally_lane() == 0)
#pragma unroll
            for (int i = 0; i < Group::PER_LOAD / 2; i++)
                if (!g->is_missing(j, i))
                    counters->add(job, Counter::of(job, Group::bits(g->load[j], i)),
                                  2 * TALLY_LANES);
        return;
    }
    /* A branch for each element would take longer than all else. */
#pragma unroll
    for (int i = 0; i < Group::PER_LOAD; i++)
        counter[i] = tally_guess<Counter>::of(job, Group::bits(g->load[j], i), &sure);
    if (sure && g->is_whole(j)) {
#pragma unroll
        for (int i = 0; i < Group::PER_LOAD; i++)
            counters->template add<tally_guess<Counter>::FIRST>(job, counter[i], 1);
        return;
    }
    g->forget(j);
#pragma unroll
    for (int i = 0; i < Group::PER_LOAD; i++)
        if (g->has(j, i))
            counters->add(job, Counter::of(job, Group::bits(g->load[j], i)), 1);
}

template <typename Counter, typename Counters, bool MISSING>
__global__ void __launch_bounds__(TALLY_THREADS, 1)
    tally_each(const __grid_constant__ struct tally_job job)
{
    typedef tally_group<Counter::SIZE, tally_loads<Counter::SIZE>::LOADS, MISSING> group;
    static_assert(Counter::SIZE == 1 || group::TILE < 0x8000, "what packed counters hold");
    DYNAMIC_SHARED(dynamic);
    const unsigned tiles = (unsigned)((job.count + group::TILE - 1) / group::TILE);
    Counters counters;
    unsigned special[2] = {0, 0};
    group g; /* what has been counted makes room for what is loaded of the next tile */

    counters.begin(&job, dynamic);
    if (blockIdx.x < tiles)
        g.fetch(&job, blockIdx.x);
    for (unsigned tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        const unsigned next = tile + gridDim.x;
        const bool more = tiles - tile > gridDim.x, easy = more && group::is_easy(&job, next);
        const uint4 *const from = (const uint4 *)job.rows.data + group::first_load(next);

        g.prepare(&job);
#pragma unroll
        for (int j = 0; j < group::ALL; j++) {
            tally_take<Counter>(&job, &counters, &g, j);
            Counter::count_special(&job, &g, j, special);
            if (easy)
                g.load[j] = from[j * TALLY_THREADS];
        }
        if (more && !easy)
            g.fetch(&job, next);
        counters.between();
    }
    counters.template end<Counter>(&job);
    if (Counter::SPECIAL)
        for (int i = 0; i < 2; i++) {
            const unsigned n = tally_add_warp(special[i]);

            if (tally_lane() == 0 && n > 0)
                atomicAdd(job.counts + job.size + CUDA_TALLY_SPECIAL + i, (unsigned long long)n);
        }
}

/* Those whose counters are the counts, wherever there is room for them. */
struct tally_direct {
    static const bool WIDE = false;
    static const unsigned UNREAD = 0; /* the last ones, which nobody reads */

    __device__ static __forceinline__ unsigned place(const struct tally_job *, unsigned counter)
    {
        return counter;
    }
};

/* And that count no special elements. */
struct tally_plainly : tally_direct {
    static const bool SPECIAL = false;

    template <typename Group>
    __device__ static __forceinline__ void count_special(const struct tally_job *, const Group *,
                                                         int, unsigned *)
    {
    }
};

/* The float of type Float that has these bits. */
template <typename Float> __device__ static __forceinline__ Float tally_float(uint64_t bits);
template <> __device__ __forceinline__ float tally_float<float>(uint64_t bits)
{
    return __uint_as_float((uint32_t)bits);
}
template <> __device__ __forceinline__ double tally_float<double>(uint64_t bits)
{
    return __longlong_as_double((long long)bits);
}

/* Counts the NaNs of a load, which are floats of type Float: pairs tell whether there are any. */
template <typename Float, typename Group>
__device__ static __forceinline__ void tally_count_nans(const Group *g, int j, unsigned *nans)
{
    bool any = false;

#pragma unroll
    for (int i = 0; i < Group::PER_LOAD; i += 2) {
        const Float x = tally_float<Float>(Group::bits(g->load[j], i));
        const Float y = tally_float<Float>(Group::bits(g->load[j], i + 1));

        any |= x != x || y != y; /* one instruction */
    }
    if (any)
#pragma unroll
        for (int i = 0; i < Group::PER_LOAD; i++)
            if (g->has(j, i)) {
                const Float x = tally_float<Float>(Group::bits(g->load[j], i));

                *nans += x != x;
            }
}

/* Words: the upper bits. */
template <int BYTES> struct tally_word : tally_direct {
    static const int SIZE = BYTES;
    static const bool SPECIAL = true;

    __device__ static __forceinline__ unsigned of(const struct tally_job *job, uint64_t bits)
    {
        return (unsigned)(bits >> job->shift);
    }

    /* +0, and -0. */
    template <typename Group>
    __device__ static __forceinline__ void count_special(const struct tally_job *job,
                                                         const Group *g, int j, unsigned special[2])
    {
        const uint64_t sign = (uint64_t)1 << (8 * SIZE - 1);

        if (job->shift == 0)
            return;
#pragma unroll
        for (int i = 0; i < Group::PER_LOAD; i++) {
            const uint64_t bits = Group::bits(g->load[j], i);

            special[0] += g->has(j, i) && bits == 0;
            special[1] += g->has(j, i) && bits == sign;
        }
    }
};

/* The number of bounds that are at most x, found by halving. A NaN has none. */
__device__ static __forceinline__ unsigned tally_search(const struct tally_job *job, double x)
{
    unsigned low = 0, high = job->bins + 1;

    while (low < high) {
        const unsigned middle = low + (high - low) / 2;

        if (x >= job->bound[middle])
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The bin of a value, counted from 1, that may be `bin`, the next one or the one before it: the
   bounds decide. A NaN reaches none. */
__device__ static __forceinline__ unsigned tally_correct(const struct tally_job *job, double x,
                                                         unsigned bin)
{
    if (bin > 0 && !(x >= job->bound[bin - 1]))
        return bin - 1;
    return bin + (bin <= job->bins && x >= job->bound[bin]);
}

/* Places are computed as on the CPU (cpu/kernel_tally.h), each operation rounded by itself:
   in units of bins, from -1/4 for what lies below them, or is NaN, to 1/4 above. Adding 1/2 and
   rounding gives the number of the bin, unless the place is so near to an integer that it may be on
   its other side. */
__device__ static __forceinline__ unsigned tally_place64(const struct tally_job *job, double x)
{
    const double rounder = 0x1p52, margin = 0x1p-20, last = job->bins + 0.25;
    double place, rounded;
    unsigned bin;

    if (!(job->scale > 0))
        return tally_search(job, x);
    place = __dmul_rn(__dadd_rn(x, -job->low), job->scale);
    place = place >= -0.25 ? place : -0.25; /* NaN, too */
    place = __dadd_rn(place <= last ? place : last, 0.5);
    rounded = __dadd_rn(place, rounder);
    bin = (unsigned)__double2loint(rounded);
    return fabs(__dadd_rn(place, -__dadd_rn(rounded, -rounder))) < 0.5 - margin
               ? bin
               : tally_correct(job, x, bin);
}

/* The number of the bin of x, or of the distance of an integer from the first bound, counted from the bits of
   2^23. Sets *sure to false if the bounds are to decide. A NaN is below all bins. */
static const unsigned TALLY_FIRST32 = 0x4b000000;
__device__ static __forceinline__ unsigned tally_guess32(const struct tally_job *job, float x,
                                                         bool *sure)
{
    const float rounder = 0x1p23F;
    const float place =
        __saturatef(__fmaf_rn(__fadd_rn(x, -job->low32), job->part32, job->half32));
    const float rounded = __fmaf_rn(place, job->bins32, rounder);

    *sure &= fabsf(__fmaf_rn(place, job->bins32, -__fadd_rn(rounded, -rounder))) < job->near32;
    return __float_as_uint(rounded);
}

struct tally_bin_f32 : tally_direct {
    static const int SIZE = 4;
    static const bool SPECIAL = true;

    template <typename Group>
    __device__ static __forceinline__ void count_special(const struct tally_job *, const Group *g,
                                                         int j, unsigned special[2])
    {
        tally_count_nans<float>(g, j, &special[0]);
    }
    __device__ static __forceinline__ unsigned of(const struct tally_job *job, uint64_t bits)
    {
        const float x = __uint_as_float((uint32_t)bits);
        bool sure = true;
        unsigned bin;

        if (!(job->near32 > 0))
            return tally_place64(job, x);
        bin = tally_guess32(job, x, &sure) - TALLY_FIRST32;
        return sure ? bin : tally_correct(job, x, bin);
    }
};
template <> struct tally_guess<tally_bin_f32> {
    static const unsigned FIRST = TALLY_FIRST32;

    __device__ static __forceinline__ unsigned of(const struct tally_job *job, uint64_t bits,
                                                  bool *sure)
    {
        return tally_guess32(job, __uint_as_float((uint32_t)bits), sure);
    }
};

struct tally_bin_f64 : tally_direct {
    static const int SIZE = 8;
    static const bool SPECIAL = true;

    template <typename Group>
    __device__ static __forceinline__ void count_special(const struct tally_job *, const Group *g,
                                                         int j, unsigned special[2])
    {
        tally_count_nans<double>(g, j, &special[0]);
    }
    __device__ static __forceinline__ unsigned of(const struct tally_job *job, uint64_t bits)
    {
        return tally_place64(job, __longlong_as_double((long long)bits));
    }
};

/* Bins of integers. */
template <int BYTES> struct tally_bin_integer : tally_plainly {
    static const int SIZE = BYTES;

    __device__ static __forceinline__ unsigned of(const struct tally_job *job, uint64_t bits)
    {
        const uint64_t key = bits ^ job->flip;
        unsigned bin;

        if (job->reached == 0 || key < job->first_key)
            return 0;
        if (job->holds_none || key > job->last_key)
            return job->bins + 1;
        bin = job->base + (unsigned)__dmul_rn((double)(key - job->first_key), job->scale);
        while (bin + 1 < job->reached && key >= job->bound_key[bin + 1])
            bin++;
        return bin + 1;
    }
};

template <> struct tally_guess<tally_bin_integer<4>> {
    static const unsigned FIRST = TALLY_FIRST32;

    __device__ static __forceinline__ unsigned of(const struct tally_job *job, uint64_t bits,
                                                  bool *sure)
    {
        const uint32_t key = (uint32_t)(bits ^ job->flip), first = (uint32_t)job->first_key;

        if (!(job->near32 > 0))
            return tally_bin_integer<4>::of(job, bits) + FIRST;
        const float distance = (float)(key - first - (key == job->closed_key));

        return tally_guess32(job, key >= first ? distance : -FLT_MAX, sure);
    }
};

/* Bins of integers that are near to one another: each has a counter, between two for all others, and the bin of a
   counter is found at the end. */
static const uint64_t TALLY_NEAR = 1 << 15;
template <int BYTES> struct tally_near : tally_plainly {
    static const int SIZE = BYTES;
    static const bool WIDE = true; /* always */

    __device__ static __forceinline__ unsigned of(const struct tally_job *job, uint64_t bits)
    {
        typedef typename tally_bits<(BYTES > 4)>::type integer;
        const integer key = (integer)(bits ^ job->flip), first = (integer)job->first_key;
        const integer distance = key - first, last = (integer)(job->counters - 2);

        return key < first ? 0 : 1 + (unsigned)(distance < last ? distance : last);
    }

    __device__ static __forceinline__ unsigned place(const struct tally_job *job, unsigned counter)
    {
        const uint64_t key = job->first_key + counter - 1;
        unsigned low = 0, high = job->reached; /* bounds that are not above the key */

        if (counter == 0 || counter == job->counters - 1)
            return counter == 0 ? 0 : job->bins + 1;
        while (low < high) {
            const unsigned middle = low + (high - low) / 2;

            if (key >= job->bound_key[middle])
                low = middle + 1;
            else
                high = middle;
        }
        return low;
    }
};

/* Parts of the cells that are kept. */
template <int BYTES> struct tally_fine : tally_plainly {
    static const int SIZE = BYTES;
    static const unsigned UNREAD = 1; /* of the elements outside */

    __device__ static __forceinline__ unsigned of(const struct tally_job *job, uint64_t bits)
    {
        const uint64_t key =
            bits ^ ((uint64_t)0 - (bits >> (8 * SIZE - 1)) & job->turn) ^ job->flip;
        const struct cuda_tally_cells *const cells = job->cells;
        unsigned cell = 0;
        uint64_t distance;

        for (unsigned i = 1; i < job->kept_cells; i++)
            cell += key >= cells->kept_first[i];
        distance = key - cells->kept_first[cell];
        return distance <= cells->kept_distance[cell]
                   ? (cell << job->fine_bits) + (unsigned)(distance >> cells->kept_shift[cell])
                   : job->size - 1;
    }
};

/*
 * Cells.
 */

/* Shared by all threads of a block. */
template <typename Key> struct tally_edges {
    Key first[TALLY_CELLS_MAX];
    unsigned below[TALLY_CELLS_MAX + 1]; /* elements of the block that lie before each, and before
                                            positive NaNs */
    unsigned char keep[TALLY_CELLS_MAX];
};

/* Elements that a warp gathers before it copies them to global memory: each copy adds to one counter
   that all warps of a launch share. */
static const unsigned TALLY_STAGED = 128;

/* Copies what a warp has gathered. All its lanes call this. */
template <typename Key>
__device__ static __forceinline__ void tally_flush(const struct tally_job *job, const Key *stage,
                                                   unsigned staged)
{
    unsigned long long at = 0;

    if (staged == 0)
        return;
    if (tally_lane() == 0)
        at = atomicAdd(job->counts + job->size + CUDA_TALLY_KEPT, (unsigned long long)staged);
    at = __shfl_sync(TALLY_ALL_LANES, at, 0);
    for (unsigned i = tally_lane(); i < staged; i += TALLY_LANES)
        if (at + i < job->room)
            ((Key *)job->kept)[at + i] = stage[i];
    __syncwarp();
}

/* The sum of x in the lanes before this one. */
__device__ static __forceinline__ unsigned tally_add_before(unsigned x)
{
    unsigned sum = x;

#pragma unroll
    for (unsigned distance = 1; distance < TALLY_LANES; distance *= 2) {
        const unsigned other = __shfl_up_sync(TALLY_ALL_LANES, sum, distance);

        sum += tally_lane() >= distance ? other : 0;
    }
    return sum - x;
}

/* Copies elements of a warp, the bits of `within`, that are too many to be gathered: `total`, of which
   `before` are in the lanes before this one. */
template <typename Key, typename Group>
__device__ static __forceinline__ void tally_keep_many(const struct tally_job *job, const Group *g,
                                                       unsigned within, unsigned before,
                                                       unsigned total)
{
    unsigned long long at = 0;

    if (tally_lane() == 0)
        at = atomicAdd(job->counts + job->size + CUDA_TALLY_KEPT, (unsigned long long)total);
    at = __shfl_sync(TALLY_ALL_LANES, at, 0) + before;
#pragma unroll
    for (int e = 0; e < Group::COUNT; e++) {
        const bool mine = within >> e & 1;

        if (mine && at < job->room)
            ((Key *)job->kept)[at] =
                (Key)Group::bits(g->load[e / Group::PER_LOAD], e % Group::PER_LOAD);
        at += mine;
    }
}

/* Gathers elements of a warp that are to be kept, the bits of `within`. */
template <typename Key, typename Group>
__device__ static __forceinline__ void tally_keep(const struct tally_job *job, const Group *g,
                                                  unsigned within, Key *stage, unsigned *staged)
{
    unsigned at, total;

    if (!__any_sync(TALLY_ALL_LANES, within != 0))
        return;
    at = tally_add_before(__popc(within));
    total = __shfl_sync(TALLY_ALL_LANES, at + __popc(within), TALLY_LANES - 1);
    if (total > TALLY_STAGED) {
        tally_keep_many<Key>(job, g, within, at, total);
        return;
    }
    if (*staged + total > TALLY_STAGED) {
        tally_flush(job, stage, *staged);
        *staged = 0;
    }
    at += *staged;
    *staged += total;
#pragma unroll
    for (int e = 0; e < Group::COUNT; e++)
        if (within >> e & 1)
            stage[at++] = (Key)Group::bits(g->load[e / Group::PER_LOAD], e % Group::PER_LOAD);
    __syncwarp();
}

/* Adds the elements of a warp that lie before edge number c. A lane has the count of its own edge of
   the first TALLY_LANES, and the block those of the others. */
__device__ static __forceinline__ void tally_add_below(unsigned *below, unsigned *own, unsigned c,
                                                       unsigned elements)
{
    const unsigned n = tally_add_warp(__popc(elements));

    if (c < TALLY_LANES)
        *own += tally_lane() == c ? n : 0;
    else if (tally_lane() == 0 && n > 0)
        atomicAdd(&below[c], n);
}

template <typename Key, bool MISSING>
struct tally_cells_group : tally_group<sizeof(Key), 4, MISSING> {
};

template <typename Key, bool MISSING>
__global__ void __launch_bounds__(TALLY_THREADS, 1)
    tally_cells(const __grid_constant__ struct tally_job job)
{
    typedef tally_cells_group<Key, MISSING> group;
    static_assert(group::COUNT <= 32, "a bit each");
    __shared__ struct tally_edges<Key> edges;
    __shared__ Key stages[TALLY_THREADS / TALLY_LANES][TALLY_STAGED];
    Key *const stage = stages[threadIdx.x / TALLY_LANES];
    unsigned staged = 0, below = 0;
    const unsigned tiles = (unsigned)((job.count + group::TILE - 1) / group::TILE);
    const unsigned cells = job.cell_count;
    const Key turn = (Key)job.turn, flip = (Key)job.flip, greatest = (Key)job.greatest;

    for (unsigned i = threadIdx.x; i <= cells; i += TALLY_THREADS) {
        edges.below[i] = 0;
        if (i < cells) {
            edges.first[i] = (Key)job.cells->first[i];
            edges.keep[i] = job.cells->keep[i];
        }
    }
    __syncthreads();
    const Key least = edges.first[0], span = greatest - least;

    for (unsigned tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        unsigned valid, within = 0, reached;
        bool any_odd = false;
        Key key[group::COUNT];
        group g;

        g.fetch(&job, tile);
        g.prepare(&job);
        valid = g.all();
#pragma unroll
        for (int e = 0; e < group::COUNT; e++) {
            const int j = e / group::PER_LOAD, i = e % group::PER_LOAD;
            const Key bits = (Key)group::bits(g.load[j], i);

            key[e] = bits ^ ((Key)0 - (bits >> (8 * sizeof(Key) - 1)) & turn) ^ flip;
            any_odd |= (Key)(key[e] - least) > span;
        }
        /* All elements of the warp lie behind the first edge, and before positive NaNs. */
        const bool numbers = !__any_sync(TALLY_ALL_LANES, any_odd);

        if (numbers) {
            within = edges.keep[0] ? ~0u : 0;
            tally_add_below(edges.below, &below, cells, valid);
        }
        for (unsigned c = numbers; c < cells; c++) {
            const Key first = edges.first[c];

            reached = 0;
#pragma unroll
            for (int e = 0; e < group::COUNT; e++)
                reached |= (unsigned)(key[e] >= first) << e;
            within = edges.keep[c] ? within | reached : within & ~reached;
            tally_add_below(edges.below, &below, c, valid & ~reached);
        }
        reached = 0; /* positive NaNs */
        if (!numbers) {
#pragma unroll
            for (int e = 0; e < group::COUNT; e++)
                reached |= (unsigned)(key[e] > greatest) << e;
            tally_add_below(edges.below, &below, cells, valid & ~reached);
        }
        tally_keep<Key>(&job, &g, within & valid & ~reached, stage, &staged);
    }
    tally_flush(&job, stage, staged);
    if (below > 0)
        atomicAdd(&edges.below[tally_lane()], below);
    __syncthreads();
    for (unsigned i = threadIdx.x; i <= cells; i += TALLY_THREADS)
        if (edges.below[i] > 0)
            atomicAdd(job.counts + i, (unsigned long long)edges.below[i]);
}

/*
 * The launch, as far as the host prepares it.
 */

/* The places of counters. */
struct tally_layout {
    enum { WIDE, PACKED, REMOTE } kind;
    unsigned copies; /* WIDE: of each counter */
    size_t bytes;    /* of shared memory */
};

static inline struct tally_layout tally_layout_of(size_t size, size_t shared)
{
    struct tally_layout layout = {tally_layout::REMOTE, 1, 0};

    if (tally_wide::bytes(size, 1) <= shared) {
        layout.kind = tally_layout::WIDE;
        while (layout.copies < TALLY_LANES && tally_wide::bytes(size, 2 * layout.copies) <= shared)
            layout.copies *= 2;
        layout.bytes = tally_wide::bytes(size, layout.copies);
    } else if (tally_packed::bytes(size) <= shared) {
        layout.kind = tally_layout::PACKED;
        layout.bytes = tally_packed::bytes(size);
    }
    return layout;
}

/* A launch: the kernel, its job, bytes of shared memory, and elements of a tile. */
struct tally_choice {
    void (*kernel)(const struct tally_job);
    struct tally_job job;
    size_t bytes;
    unsigned tile;
};

template <typename Counter, bool MISSING>
static void tally_choose_counters(struct tally_choice *c, size_t shared)
{
    struct tally_layout layout = tally_layout_of(c->job.counters, shared);

    if (Counter::SIZE == 1 && layout.kind == tally_layout::PACKED)
        layout = tally_layout_of(c->job.counters, 0); /* a tile has too many of them */
    c->kernel = tally_each<Counter, tally_wide, MISSING>;
    if constexpr (!Counter::WIDE) {
        if (layout.kind == tally_layout::PACKED)
            c->kernel = tally_each<Counter, tally_packed, MISSING>;
        if (layout.kind == tally_layout::REMOTE) {
            c->kernel = tally_each<Counter, tally_remote, MISSING>;
            c->job.counters -= Counter::UNREAD;
        }
    }
    c->job.copies = layout.copies;
    c->bytes = layout.bytes;
    c->tile = tally_group<Counter::SIZE, tally_loads<Counter::SIZE>::LOADS, MISSING>::TILE;
}

template <typename Counter>
static void tally_choose_each(struct tally_choice *c, const struct cuda_tally_launch *l)
{
    if (l->missing)
        tally_choose_counters<Counter, true>(c, l->shared);
    else
        tally_choose_counters<Counter, false>(c, l->shared);
}

static inline void tally_choose_words(struct tally_choice *c, const struct cuda_tally_launch *l)
{
    c->job.shift = l->plan->shift;
    switch (l->element_size) {
    case 1:
        tally_choose_each<tally_word<1>>(c, l);
        break;
    case 2:
        tally_choose_each<tally_word<2>>(c, l);
        break;
    case 4:
        tally_choose_each<tally_word<4>>(c, l);
        break;
    default:
        tally_choose_each<tally_word<8>>(c, l);
        break;
    }
}

/* How many integers each bin of a plan has, but the last, which has one more; 0 if they have not as many. */
static inline uint64_t tally_width(const struct tally_plan *plan)
{
    const uint64_t first = plan->bound_key[0], width = (plan->last_key - first) / plan->bins;

    if (plan->reached < plan->bins || plan->holds_none ||
        plan->last_key - first != width * plan->bins)
        return 0;
    for (uint64_t i = 0; i < plan->bins; i++)
        if (plan->bound_key[i] - first != width * i)
            return 0;
    return width;
}

/* Finds out whether places of integers of 32 bits can be computed in binary32, more often than the plan does: in the
   middle between an integer and the next one, where all bins have as many, there is no edge. */
static inline void tally_choose_middles(struct tally_job *job, const struct tally_plan *plan)
{
    const uint64_t width = tally_width(plan);

    job->closed_key = (uint32_t)plan->bound_key[0] - 1;
    /* A place is wrong by up to four roundings, and edges are half of an integer away. */
    if (width == 0 || 4 * (double)width * 0x1p-24 * 4.1 * (plan->bins + 2) > 1)
        return;
    job->low32 = -0.5F;
    job->part32 = (float)(1 / ((double)width * job->bins32));
    job->near32 = (float)(0.5 - 0.25 / (double)width);
    job->closed_key = (uint32_t)plan->last_key;
}

/* Whether the integers of a plan have a counter each: with all copies, or where places would have to be searched. */
static inline bool tally_is_near(const struct tally_job *job, const struct cuda_tally_launch *l)
{
    const struct tally_plan *plan = l->plan;
    const bool is_slow = l->element_size > 4 || !(job->near32 > 0);

    return l->integers && plan->reached > 0 && !plan->holds_none &&
           plan->last_key - plan->bound_key[0] < TALLY_NEAR &&
           tally_wide::bytes((size_t)(plan->last_key - plan->bound_key[0]) + 3,
                             is_slow ? 1 : TALLY_LANES) <= l->shared;
}

static inline void tally_choose_bins(struct tally_choice *c, const struct cuda_tally_launch *l)
{
    const struct tally_plan *plan = l->plan;

    c->job.bins = plan->bins;
    c->job.low = plan->low;
    c->job.scale = plan->scale;
    /* Rounded as often as the plan's, so that they are wrong by less than half of its margin. */
    c->job.low32 = plan->low32;
    c->job.bins32 = (float)plan->bins + 1;
    c->job.part32 = plan->scale32 / c->job.bins32;
    c->job.half32 = 0.5F / c->job.bins32;
    if (plan->margin32 > 0 && std::isnormal(c->job.part32))
        c->job.near32 = 0.5F - plan->margin32 / 2;
    c->job.bound = (const double *)l->table;
    c->job.bound_key = (const uint64_t *)l->table;
    c->job.first_key = l->integers ? plan->bound_key[0] : 0;
    c->job.last_key = plan->last_key;
    c->job.reached = plan->reached;
    c->job.base = plan->base;
    c->job.holds_none = plan->holds_none;
    if (l->integers && l->element_size == 4 && plan->reached > 0)
        tally_choose_middles(&c->job, plan);
    if (tally_is_near(&c->job, l)) {
        c->job.counters = (unsigned)(plan->last_key - plan->bound_key[0]) + 3;
        if (l->element_size == 4)
            tally_choose_each<tally_near<4>>(c, l);
        else
            tally_choose_each<tally_near<8>>(c, l);
    } else if (l->element_size == 4 && l->integers) {
        tally_choose_each<tally_bin_integer<4>>(c, l);
    } else if (l->element_size == 4) {
        tally_choose_each<tally_bin_f32>(c, l);
    } else if (l->integers) {
        tally_choose_each<tally_bin_integer<8>>(c, l);
    } else {
        tally_choose_each<tally_bin_f64>(c, l);
    }
}

static inline void tally_choose_cells(struct tally_choice *c, const struct cuda_tally_launch *l)
{
    c->job.cells = (const struct cuda_tally_cells *)l->table;
    c->job.cell_count = l->plan->cells;
    c->job.greatest = l->greatest;
    c->job.kept = l->kept;
    c->job.room = l->room;
    c->job.kept_cells = l->plan->kept_cells;
    c->job.fine_bits = l->plan->fine_bits;
    if (l->fine && l->element_size == 4) {
        tally_choose_each<tally_fine<4>>(c, l);
    } else if (l->fine) {
        tally_choose_each<tally_fine<8>>(c, l);
    } else if (l->element_size == 4) {
        c->kernel = l->missing ? tally_cells<uint32_t, true> : tally_cells<uint32_t, false>;
        c->tile = tally_cells_group<uint32_t, false>::TILE;
    } else {
        c->kernel = l->missing ? tally_cells<uint64_t, true> : tally_cells<uint64_t, false>;
        c->tile = tally_cells_group<uint64_t, false>::TILE;
    }
}

static inline struct tally_choice tally_choose(const struct cuda_tally_launch *l)
{
    struct tally_choice c = {};

    c.job.rows = l->rows;
    c.job.count = l->count;
    c.job.swap = l->swap;
    c.job.size = c.job.counters = l->size;
    c.job.counts = (unsigned long long *)l->counts;
    c.job.flip = l->flip;
    c.job.turn = l->turn;
    if (l->missing)
        c.job.missing = *l->missing;
    switch (l->plan->kind) {
    case TALLY_CELLS:
        tally_choose_cells(&c, l);
        break;
    case TALLY_WORDS:
        tally_choose_words(&c, l);
        break;
    case TALLY_BINS:
        tally_choose_bins(&c, l);
        break;
    case TALLY_KEYS:
        break;
    }
    return c;
}

#endif
