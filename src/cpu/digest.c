#include "config.h"

#include "cpu/digest.h"

#include <stdlib.h>
#include <string.h>

#include "sys/align.h"
#include "sys/bytes.h"

struct cpu_digest {
    struct digest_sum sum;
    size_t size; /* bytes of an element */
    const struct engine_columns *columns;
    uint64_t run; /* consecutive elements that the last run of a chunk with places had */
};

struct cpu_digest *cpu_digest_open(struct cpu_digest *kept, const struct cpu_kernels *kernels,
                                   enum element_type type, const struct engine_columns *columns,
                                   bool alone)
{
    struct cpu_digest *d =
        kept ? kept : aligned_alloc(CACHE_APART, align_up(sizeof *d, CACHE_APART));

    if (!d)
        return NULL;
    if (kept)
        digest_sum_clear(&d->sum, type);
    else
        digest_sum_open(&d->sum, kernels->digest, type);
    if (alone)
        digest_sum_watch(&d->sum, type);
    d->size = element_size(type);
    d->columns = columns;
    d->run = 1;
    return d;
}

void cpu_digest_close(struct cpu_digest *d)
{
    free(d);
}

bool cpu_digest_was_finite(struct cpu_digest *d)
{
    return digest_sum_was_finite(&d->sum);
}

struct digest cpu_digest_find(const struct cpu_digest *d)
{
    return digest_sum_find(&d->sum);
}

/* How many of `count` elements of a chunk, from `index` on, are consecutive in their array, whose
   indices rise. The runs of a chunk have about one length. */
static uint64_t find_run(const struct chunk *chunk, uint64_t index, uint64_t count, uint64_t guess)
{
    const uint64_t at = chunk->place(chunk->places, index);
    uint64_t low = 1, high = count, middle = guess < count ? guess : count;

    /* The first `low` are consecutive, and no more than `high`. */
    while (low < high) {
        if (middle <= low)
            middle = low + 1;
        if (chunk->place(chunk->places, index + middle - 1) - at == middle - 1)
            low = middle;
        else
            high = middle - 1;
        middle = low == guess ? low + 1 : low + (high - low + 1) / 2;
    }
    return low;
}

/* The index in C order of an element of an array in Fortran order. Neighbours are index_in_c(c, 1)
   apart, if there are any. */
static uint64_t index_in_c(const struct engine_columns *c, uint64_t index)
{
    uint64_t at = 0;

    for (unsigned i = 0; i < c->dimensions; i++) {
        at = at * c->sizes[i] + index % c->sizes[i];
        index /= c->sizes[i];
    }
    return at;
}

/* Adds elements of an array in Fortran order, one by one. `step` is 0 for elements that are all the
   same. */
static void take_apart(struct cpu_digest *d, const unsigned char *data, uint64_t count,
                       uint64_t index, size_t step)
{
    const struct engine_columns *c = d->columns;
    const uint64_t apart = index_in_c(c, 1);

    while (count > 0) {
        const uint64_t left = c->sizes[0] - index % c->sizes[0], some = left < count ? left : count;
        const uint64_t at = index_in_c(c, index);

        for (uint64_t i = 0; i < some; i++, data += step)
            digest_sum_take(&d->sum, data, 1, at + i * apart);
        count -= some;
        index += some;
    }
}

/* Planes whose elements are put together: more would not stay in the level-1 cache. */
#define PLANES_MAX 128

/* Adds `planes` planes, the elements that have one last index, of an array in Fortran order: those of
   one place in all planes are neighbours in C order. `plane` elements are one. */
static void take_planes(struct cpu_digest *d, const unsigned char *data, uint64_t index,
                        uint64_t plane, size_t planes)
{
    unsigned char together[PLANES_MAX * sizeof(uint64_t)];
    const struct engine_columns *c = d->columns;
    const size_t step = (size_t)plane * d->size;
    const uint64_t apart = index_in_c(c, 1);

    for (uint64_t k = 0; k < plane; k += c->sizes[0]) {
        const uint64_t at = index_in_c(c, index + k);

        for (uint64_t i = 0; i < c->sizes[0]; i++, data += d->size) {
            bytes_gather(together, data, planes, d->size, (int64_t)step);
            digest_sum_take(&d->sum, together, planes, at + i * apart);
        }
    }
}

/* Adds elements of an array in Fortran order. */
static void take_columns(struct cpu_digest *d, const unsigned char *data, uint64_t count,
                         uint64_t index)
{
    const struct engine_columns *c = d->columns;
    uint64_t plane = 1, before, planes;

    for (unsigned i = 0; i + 1 < c->dimensions; i++)
        plane *= c->sizes[i];
    before = (plane - index % plane) % plane;
    before = before < count ? before : count;
    take_apart(d, data, before, index, d->size);
    data += before * d->size;
    count -= before;
    index += before;
    for (planes = count / plane; planes > 1; planes = count / plane) {
        const size_t some = planes < PLANES_MAX ? (size_t)planes : PLANES_MAX;

        take_planes(d, data, index, plane, some);
        data += some * plane * d->size;
        count -= some * plane;
        index += some * plane;
    }
    take_apart(d, data, count, index, d->size);
}

bool cpu_digest_takes_chunks(const struct cpu_digest *d)
{
    return d->columns;
}

void cpu_digest_take(struct cpu_digest *d, const unsigned char *data, size_t count, uint64_t index,
                     const struct chunk *chunk)
{
    if (d->columns) {
        take_columns(d, data, count, index);
        return;
    }
    if (!chunk->place)
        digest_sum_take(&d->sum, data, count, index);
    while (chunk->place && count > 0) {
        d->run = find_run(chunk, index, count, d->run);
        digest_sum_take(&d->sum, data, (size_t)d->run, chunk->place(chunk->places, index));
        data += (size_t)d->run * d->size;
        count -= (size_t)d->run;
        index += d->run;
    }
}

void cpu_digest_take_same(struct cpu_digest *d, const unsigned char *element,
                          const struct chunk *chunk)
{
    static const unsigned char zeros[sizeof(uint64_t)];
    uint64_t count = chunk->count, index = chunk->index;

    if (memcmp(element, zeros, d->size) ==
        0) /* they add nothing, and may be more than can be counted */
        return;
    if (d->columns)
        take_apart(d, element, count, index, 0);
    else if (!chunk->place)
        digest_sum_take_same(&d->sum, element, count, index);
    while (!d->columns && chunk->place && count > 0) {
        d->run = find_run(chunk, index, count, d->run);
        digest_sum_take_same(&d->sum, element, d->run, chunk->place(chunk->places, index));
        count -= d->run;
        index += d->run;
    }
}
