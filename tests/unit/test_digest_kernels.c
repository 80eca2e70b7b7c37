/*
 * The GPU's kernel for digests by itself: every element type, both byte orders, any alignment, any
 * place in an array, in several launches. Their sum must be that of the kernel without vectors
 * (core/digest.h), and counts those of going through the elements one by one.
 *
 * Built twice: run on the host, a thread at a time (lib/digest_emulated.cu), where nvcc is; and with
 * TEST_CUDA on a GPU, with more data; that skips where there is none.
 *
 * With `time [MIB]` as arguments the latter measures instead: the digest of data on the device,
 * alone, beside the kernel that finds sum and extremes.
 *
 * From the environment: KERNELS_RUNS is how many random arrays of a type, CHECK_SEED the seed.
 */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/order.h"
#include "cuda/kernels.h"
#include "lib/draw.h"
#include "lib/environment.h"
#include "lib/kernel_memory.h"
#include "lib/tap.h"

#ifdef TEST_CUDA
#    include "lib/cuda_timing.h"
#    define BYTES_MAX ((size_t)32 << 20)
#    define RUNS 100
#else
#    include "lib/digest_emulated.h"
#    define BYTES_MAX ((size_t)400 << 10)
#    define RUNS 12
#endif

static unsigned char *data, *device; /* of the host, and the kernel's */
static struct partial *partial;      /* the kernel's, as is this */
static struct cuda_scratch *scratch;
static struct digest_sum sum;

static bool digest(const struct cuda_launch *launch)
{
#ifdef TEST_CUDA
    return kernel_ran(cuda_digest(launch, NULL));
#else
    emulated_digest(launch, 1 + (unsigned)rng_below(&rng, 5));
    return true;
#endif
}

/* Fills bytes with any bits, or mostly with those of small numbers. */
static void fill(enum element_type type, size_t bytes)
{
    const size_t size = element_size(type);
    const uint64_t kind = rng_below(&rng, 3);

    for (size_t i = 0; i < bytes; i++)
        data[i] = (unsigned char)rng_next(&rng);
    for (size_t i = size - 1; i < bytes && kind > 0; i += size)
        if (kind == 1 || rng_below(&rng, 5000))
            data[i] &= 0x3f; /* no float is an infinity or NaN then */
}

/* Digests elements from number `first` of those at `at`, which are those from `index` on of their
   array, by several launches. */
static bool run_kernels(enum element_type type, bool swap, bool counts, size_t at, size_t count,
                        uint64_t index)
{
    const size_t size = element_size(type);

    for (size_t i = 0, n; i < count; i += n) {
        const struct cuda_launch launch = {
            .type = type,
            .swap = swap,
            .wants = counts ? PARTIAL_DIGEST : PARTIAL_DIGEST | PARTIAL_SUM,
            .rows.data = device + at + i * size,
            .count = n = rng_below(&rng, 3) ? count - i : 1 + rng_below(&rng, count - i),
            .index = index + i,
            .partial = partial,
            .scratch = scratch,
            .multiprocessors = 1 + (int)rng_below(&rng, 150)};

        if (!digest(&launch))
            return false;
    }
    return true;
}

static void check_run(struct tap_family *family, enum element_type type)
{
    const size_t size = element_size(type), room = BYTES_MAX / size - 16;
    const size_t count = rng_below(&rng, 4) ? 1 + rng_below(&rng, rng_below(&rng, 3) ? 9000 : room)
                                            : 1 + rng_below(&rng, 40);
    /* Elements are aligned as often as not. */
    const size_t at = rng_below(&rng, 2) ? 16 * rng_below(&rng, 2) : rng_below(&rng, 32);
    const uint64_t index = rng_below(&rng, 2)   ? 0
                           : rng_below(&rng, 2) ? rng_below(&rng, 5000)
                                                : rng_next(&rng) >> 16;
    const bool swap = rng_below(&rng, 2), counts = rng_below(&rng, 4) > 0;
    struct partial expected, found;
    bool good;

    fill(type, at + count * size);
    partial_clear(&expected);
    good = copy_in(device, data, at + count * size) &&
           copy_in(partial, &expected, sizeof expected) &&
           run_kernels(type, swap, counts, at, count, index) &&
           copy_out(&found, partial, sizeof found);
    digest_sum_clear(&sum, type);
    for (size_t i = 0; i < count; i++) {
        unsigned char element[8];

        if (swap)
            element_swap(element, data + at + i * size, 1, size);
        else
            memcpy(element, data + at + i * size, size);
        digest_sum_take(&sum, element, 1, index + i);
        if (counts)
            partial_take_element(&expected, type, element, index + i);
    }
    expected.digest = digest_sum_find(&sum);
    good = good && found.digest.low == expected.digest.low &&
           found.digest.high == expected.digest.high && found.count == expected.count &&
           found.nan == expected.nan && found.first_nan == expected.first_nan &&
           found.positive_infinity == expected.positive_infinity &&
           found.negative_infinity == expected.negative_infinity;
    tap_case(family, good, "%zu elements of %s at %zu, index %" PRIu64 "%s", count,
             element_name(type), at, index, swap ? ", swapped" : "");
}

#ifdef TEST_CUDA
static cudaError_t timed(const void *launch, cudaStream_t stream)
{
    return cuda_digest(launch, stream);
}

/* Prints a line for types of all sizes. */
static int measure(size_t bytes)
{
    static const enum element_type types[] = {ELEMENT_F32, ELEMENT_F64, ELEMENT_BF16, ELEMENT_I8};
    struct cuda_timing timing;
    struct cuda_scratch *room;
    unsigned char *memory;
    int multiprocessors;

    if (cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, 0) ||
        cudaMalloc((void **)&memory, bytes) || cudaMalloc((void **)&room, sizeof *room) ||
        cudaMemset(room, 0, sizeof *room) || !cuda_timing_open(&timing)) {
        fprintf(stderr, "%s\n", cudaGetErrorString(cudaGetLastError()));
        return EXIT_FAILURE;
    }
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        const size_t count = bytes / element_size(types[i]);
        const struct cuda_launch l = {.type = types[i],
                                      .wants = PARTIAL_DIGEST,
                                      .rows.data = memory,
                                      .count = count,
                                      .partial = partial,
                                      .scratch = scratch,
                                      .multiprocessors = multiprocessors};
        const struct cuda_launch reduce = {.type = types[i],
                                           .wants = PARTIAL_SUM | PARTIAL_EXTREMES,
                                           .rows.data = memory,
                                           .count = count,
                                           .partial = partial,
                                           .scratch = room,
                                           .multiprocessors = multiprocessors};
        double time, all;

        fill(types[i], BYTES_MAX);
        for (size_t at = 0; at < bytes; at += BYTES_MAX)
            if (!copy_in(memory + at, data, BYTES_MAX < bytes - at ? BYTES_MAX : bytes - at))
                return EXIT_FAILURE;
        time = cuda_timing_median(&timing, timed, &l);
        all = cuda_timing_median(&timing, cuda_timed_reduce, &reduce);
        printf("%-5s digest %8.3f ms, %7.1f GB/s; sum and extremes %8.3f ms, %7.1f GB/s\n",
               element_name(types[i]), time, (double)bytes / 1e6 / time, all,
               (double)bytes / 1e6 / all);
    }
    return EXIT_SUCCESS;
}
#endif

int main(int argc, char *argv[])
{
    const unsigned runs = (unsigned)from_environment("KERNELS_RUNS", RUNS);
    const uint64_t seed = from_environment("CHECK_SEED", 1);
    char reason[ENGINE_REASON_MAX] = "";

    if (!kernel_open(reason))
        return tap_skip_all(reason);
    device = kernel_allocate(BYTES_MAX, reason);
    partial = kernel_allocate(sizeof *partial, reason);
    scratch = kernel_allocate(sizeof *scratch, reason);
    if (!device || !partial || !scratch || !kernel_clear(scratch, sizeof *scratch))
        return tap_skip_all(reason);
    rng_seed(&rng, seed);
    data = allocate(BYTES_MAX);
    digest_sum_open(&sum, digest_add_pairs, ELEMENT_F32);
#ifdef TEST_CUDA
    if (argc > 1 && strcmp(argv[1], "time") == 0)
        return measure((argc > 2 ? (size_t)strtoull(argv[2], NULL, 10) : 2048) << 20);
#else
    (void)argc;
    (void)argv;
#endif
    tap_note("seed %" PRIu64, seed);
    for (int t = 0; t < ELEMENT_TYPES; t++) {
        struct tap_family family = {0};

        for (unsigned run = 0; run < runs; run++)
            check_run(&family, (enum element_type)t);
        tap_family_end(&family, "digests of %s", element_name((enum element_type)t));
    }
    free(data);
    return tap_done();
}
