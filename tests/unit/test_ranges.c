/*
 * core/ranges.h against a flag for each index: pieces of random arrays that come in random order, of
 * which some are refused since they overlap.
 */
/* Tags: ports */
#include "config.h"

#include "core/ranges.h"

#include <inttypes.h>
#include <stdlib.h>

#include "lib/allocate.h"
#include "lib/data_gen.h"
#include "lib/sanitized.h"
#include "lib/tap.h"
#include "sys/clock.h"

#define INDICES 300

/* Whether the set has the ranges that the flags say, and no others. */
static bool same(const struct ranges *r, const bool flags[INDICES + 1])
{
    struct partial_range found = {0, 0};
    size_t count = 0;
    uint64_t i = 0;

    while (i < INDICES) {
        uint64_t end = i;

        while (end < INDICES && flags[end])
            end++;
        if (end == i) {
            i++;
            continue;
        }
        if (!ranges_find(r, found.end, &found) || found.begin != i || found.end != end)
            return false;
        count++;
        i = end;
    }
    return !ranges_find(r, found.end, &found) && r->count == count;
}

static void test_random(void)
{
    struct tap_family overlaps = {0}, sets = {0};
    struct ranges r = {0};
    struct rng rng;

    rng_seed(&rng, 39);
    for (int turn = 0; turn < (SANITIZED ? 200 : 2000); turn++) {
        bool flags[INDICES + 1] = {false};
        const uint64_t most = 1 + rng_below(&rng, 12);

        for (int i = 0; i < 400; i++) {
            const uint64_t begin = rng_below(&rng, INDICES - 12);
            const struct partial_range range = {begin, begin + 1 + rng_below(&rng, most)};
            bool overlap = false;

            for (uint64_t k = range.begin; k < range.end; k++)
                overlap = overlap || flags[k];
            tap_case(&overlaps, ranges_overlap(&r, range) == overlap,
                     "turn %d, %" PRIu64 " to %" PRIu64, turn, range.begin, range.end);
            if (overlap)
                continue;
            if (!ranges_reserve(&r, 1))
                bail("room");
            ranges_add(&r, range);
            for (uint64_t k = range.begin; k < range.end; k++)
                flags[k] = true;
            tap_case(&sets, same(&r, flags), "turn %d, step %d", turn, i);
        }
        ranges_clear(&r);
    }
    ranges_close(&r);
    tap_family_end(&overlaps, "overlaps are seen, and no others");
    tap_family_end(&sets, "the ranges are those of the flags");
}

/* Many pieces in random order, with gaps before the last come. */
static void test_many(void)
{
    const size_t count = SANITIZED ? 20000 : 1000000;
    uint32_t *order = allocate(count * sizeof *order);
    struct partial_range found;
    struct ranges r = {0};
    size_t most = 0;
    uint64_t begun;
    struct rng rng;
    bool good = true;

    rng_seed(&rng, 40);
    for (size_t i = 0; i < count; i++)
        order[i] = (uint32_t)i;
    rng_shuffle(&rng, order, count, sizeof *order);
    begun = clock_now();
    for (size_t i = 0; i < count && good; i++) {
        const struct partial_range range = {(uint64_t)order[i] * 7, (uint64_t)order[i] * 7 + 7};

        good = !ranges_overlap(&r, range) && ranges_reserve(&r, 1);
        ranges_add(&r, range);
        most = r.count > most ? r.count : most;
    }
    tap_note("%zu pieces, %zu ranges at most, %.3f s", count, most,
             (double)clock_between(begun, clock_now()) / CLOCK_SECOND);
    tap_ok(good && r.count == 1 && ranges_find(&r, 0, &found) && found.begin == 0 &&
               found.end == (uint64_t)count * 7 && !ranges_find(&r, found.end, &found),
           "pieces in random order become one range");
    tap_ok(most > count / 5, "after having been many");
    tap_ok(!ranges_reserve(&r, SIZE_MAX / 12), "there is no room for more than there is memory");
    ranges_close(&r);
    free(order);
}

int main(void)
{
    test_random();
    test_many();
    return tap_done();
}
