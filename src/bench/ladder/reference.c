#include "config.h"

#include "bench/ladder/reference.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/common/reducers.h"
#include "bench/common/team.h"
#include "cli/message.h"
#include "sys/group.h"

/* Elements are taken in pieces that stay in the cache while they are read twice. */
#define PIECE ((uint64_t)1 << 14)

/* The value of a binary16 or bfloat16 without its sign. The bits go where a binary32 has its own.
   The exponent of a binary16 is then too small by the difference of the biases, 112; this holds for
   subnormals, too. */
static double magnitude16(enum element_type type, uint16_t bits)
{
    uint32_t wide = (uint32_t)(bits & 0x7fff) << (type == ELEMENT_F16 ? 13 : 16);
    float x;

    memcpy(&x, &wide, sizeof x);
    return (double)x * (type == ELEMENT_F16 ? 0x1p112 : 1);
}

/* The sum of magnitudes, with rounding errors. */
static double magnitude_of(enum element_type type, const void *data, size_t count)
{
    double sums[4] = {0};

    switch (type) {
    case ELEMENT_F64:
        for (size_t i = 0; i < count; i++)
            sums[i % 4] += fabs(((const double *)data)[i]);
        break;
    case ELEMENT_F32:
        for (size_t i = 0; i < count; i++)
            sums[i % 4] += (double)fabsf(((const float *)data)[i]);
        break;
    case ELEMENT_F16:
    case ELEMENT_BF16:
        for (size_t i = 0; i < count; i++)
            sums[i % 4] += magnitude16(type, ((const uint16_t *)data)[i]);
        break;
        ELEMENT_CASES_BEHIND_FLOATS
        break; /* the ladder has none */
    }
    return sums[0] + sums[1] + sums[2] + sums[3];
}

struct cpu_reducer *reference_reducers(enum element_type type, unsigned wants, unsigned threads)
{
    return reducers_new(cpu_kernels_choose(getenv("GPUREDUCE_CPU")), type, wants, threads);
}

struct reference reference_of(struct cpu_reducer *reducer, const void *data, size_t count,
                              uint64_t index)
{
    struct reference r;

    partial_clear(&reducer->partial);
    reducer->kernel(reducer, data, count, index);
    r.partial = reducer->partial;
    /* Each addition of magnitudes loses at most 2^-53 of the sum. */
    r.magnitude = magnitude_of(reducer->type, data, count) * (1 + (double)count * 0x1p-52);
    return r;
}

/* Adds the reference of the elements behind those of r. */
static void merge(struct reference *r, const struct reference *other)
{
    partial_merge(&r->partial, &other->partial);
    r->magnitude += other->magnitude;
}

struct job {
    enum element_type type;
    const unsigned char *data;
    struct cpu_reducer *reducers; /* one per thread */
    struct reference *parts;      /* one per thread */
};

static void refer(void *argument, unsigned number, uint64_t begin, uint64_t end)
{
    const struct job *job = argument;
    struct reference part = job->parts[number];

    for (uint64_t i = begin; i < end; i += PIECE) {
        struct reference piece =
            reference_of(&job->reducers[number], job->data + i * element_size(job->type),
                         (size_t)(end - i < PIECE ? end - i : PIECE), i);
        merge(&part, &piece);
    }
    job->parts[number] = part;
}

bool reference_find(struct reference *r, enum element_type type, const void *data, uint64_t count)
{
    unsigned threads = cores_available();
    struct job job = {.type = type,
                      .data = data,
                      .reducers = reference_reducers(type, PARTIAL_ALL, threads),
                      .parts = calloc(threads, sizeof *job.parts)};
    bool good = job.reducers && job.parts;

    if (job.reducers && !job.parts)
        message_error(EXIT_FAILED, "out of memory");
    for (unsigned i = 0; good && i < threads; i++)
        partial_clear(&job.parts[i].partial);
    good = good && team_share(threads, count, PIECE, refer, &job);
    partial_clear(&r->partial);
    r->magnitude = 0;
    for (unsigned i = 0; good && i < threads; i++)
        merge(r, &job.parts[i]);
    /* So does each addition of pieces. */
    r->magnitude *= 1 + ((double)count / (double)PIECE + threads) * 0x1p-52;
    reducers_free(job.reducers, threads);
    free(job.parts);
    return good;
}
