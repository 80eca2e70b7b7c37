/*
 * Stands for the CUDA engine in a build without CUDA, which never opens, and for accumulators in
 * device memory, which nothing can be added to.
 */
#include "config.h"

#include <stdio.h>

#include "cuda/array.h"
#include "cuda/array_masks.h"
#include "cuda/array_pieces.h"
#include "cuda/array_slices.h"
#include "cuda/array_tallies.h"
#include "engine/engine.h"

/* Functions here have parameters only for their callers. NOLINTBEGIN(misc-unused-parameters) */
#pragma GCC diagnostic ignored "-Wunused-parameter"

static const char built_without[] = "this gpureduce was built without CUDA";

/* A function that fails; its last parameter is the error. */
#define REFUSES(name, ...)                                           \
    bool name(__VA_ARGS__, struct error *error)                      \
    {                                                                \
        return error_set(error, ERROR_REQUEST, "%s", built_without); \
    }

/* The two functions that open and close an object, which holds nothing; NULL would be a lack of
   memory. */
#define HOLDS_NOTHING(name, parameters)                  \
    struct cuda_##name *cuda_##name##_open parameters    \
    {                                                    \
        static char none;                                \
                                                         \
        return (struct cuda_##name *)&none;              \
    }                                                    \
                                                         \
    void cuda_##name##_close(struct cuda_##name *object) \
    {                                                    \
    }

static struct engine_state *absent_open(const struct engine_needs *needs,
                                        char reason[ENGINE_REASON_MAX])
{
    snprintf(reason, ENGINE_REASON_MAX, "%s", built_without);
    return NULL;
}

static unsigned absent_workers(unsigned device_count, unsigned cores)
{
    return 1;
}

const struct engine engine_cuda = {.name = "gpu", .open = absent_open, .workers = absent_workers};

REFUSES(cuda_array_add, struct cuda_array **array, const struct cuda_array_elements *elements,
        unsigned wants, uint64_t index)

bool cuda_array_snapshot(struct cuda_array *array, unsigned wants, struct partial *partial,
                         struct error *error)
{
    return true;
}

bool cuda_array_clear(struct cuda_array *array, struct error *error)
{
    return true;
}

void cuda_array_close(struct cuda_array *array)
{
}

const struct cuda_tallier_tuning cuda_tallier_shipped = {.room = 0};

HOLDS_NOTHING(tallier, (const struct cuda_tallier_tuning *tuning))

REFUSES(cuda_array_copy, struct cuda_comparer *comparer, const struct cuda_array_elements *elements,
        const void **data)

REFUSES(cuda_array_tally, struct cuda_tallier *tallier, const struct cuda_array_elements *elements,
        bool again, struct tally_set *set)

bool cuda_array_counts_values(const struct cuda_tallier *tallier,
                              const struct cuda_array_elements *elements, unsigned wants,
                              bool tallied)
{
    return false;
}

REFUSES(cuda_array_count_values, struct cuda_tallier *tallier,
        const struct cuda_array_elements *elements, const struct tally *counted,
        struct partial *partial)

REFUSES(cuda_array_begin_sample, struct cuda_tallier *tallier,
        const struct cuda_array_elements *elements, struct pass_runs runs)

const void *cuda_array_sample(struct cuda_tallier *tallier, struct error *error)
{
    (void)error_set(error, ERROR_REQUEST, "%s", built_without);
    return NULL;
}

void cuda_masker_close(struct cuda_masker *masker)
{
}

REFUSES(cuda_array_keep, struct cuda_masker **masker, const struct cuda_array_elements *elements,
        const struct view *view, uint64_t first, uint64_t count, const unsigned char **row,
        uint64_t *kept)

REFUSES(cuda_array_find, struct cuda_masker **masker, const struct cuda_array_elements *elements,
        const struct view *view, const struct missing_range *ranges, unsigned count,
        uint64_t *numbers)

const struct cuda_comparer_tuning cuda_comparer_shipped = {.room = 0};

HOLDS_NOTHING(comparer, (const struct cuda_comparer_tuning *tuning))

REFUSES(cuda_array_await, const struct cuda_array_elements *elements, int *device)

REFUSES(cuda_array_fetch, struct cuda_comparer *comparer,
        const struct cuda_array_elements *elements, uint64_t first, size_t bytes, void *to)

void cuda_array_begin_pieces(struct cuda_comparer *comparer,
                             const struct cuda_array_elements sides[2], unsigned wants)
{
}

REFUSES(cuda_array_has_pieces, struct cuda_comparer *comparer, bool *any)

REFUSES(cuda_array_next_pieces, struct cuda_comparer *comparer, struct cuda_pieces *pieces,
        size_t *count)

REFUSES(cuda_array_sums, struct cuda_comparer *comparer, struct partial *all,
        struct partial *differing)

void cuda_summer_close(struct cuda_summer *summer)
{
}

REFUSES(cuda_array_reduce_slices, struct cuda_summer **summer,
        const struct cuda_array_elements *elements, const struct cuda_array_axis *axis,
        uint64_t *results)

REFUSES(cuda_array_reduce_listed, struct cuda_summer *summer, uint64_t *results)

REFUSES(cuda_array_find_unknown, struct cuda_summer *summer, const uint64_t *results,
        uint64_t first, uint64_t count)

REFUSES(cuda_array_unknown, struct cuda_summer *summer, const uint64_t **unknown, uint64_t *found)

REFUSES(cuda_array_set, struct cuda_summer *summer, uint64_t *result, uint64_t bits)

/* NOLINTEND(misc-unused-parameters) */
