/*
 * run/shard.h: every unit is one shard's, and no two shards differ by more than one. And elements
 * before a byte of a file, by which parts are cut.
 */
#include "config.h"

#include "run/shard.h"

#include <inttypes.h>

#include "lib/data_gen.h"
#include "lib/tap.h"
#include "source/source_impl.h"

static void check_ranges(void)
{
    struct tap_family family = {0};
    struct rng rng;

    rng_seed(&rng, 3);
    for (int i = 0; i < 2000; i++) {
        const uint64_t of = 1 + rng_below(&rng, 40), units = rng_below(&rng, 100);
        uint64_t at = 0;

        for (uint64_t number = 1; number <= of; number++) {
            uint64_t end;
            const uint64_t begin = shard_range(&(struct shard){number, of}, units, &end);

            tap_case(&family,
                     begin == at && end - begin >= units / of && end - begin <= units / of + 1,
                     "%" PRIu64 "/%" PRIu64 " of %" PRIu64 ": %" PRIu64 " to %" PRIu64, number, of,
                     units, begin, end);
            at = end;
        }
        tap_case(&family, at == units, "the last of %" PRIu64, units);
    }
    tap_family_end(&family, "shards are what is there, and alike");
}

static void check_large(void)
{
    const uint64_t units = UINT64_C(1) << 60;
    uint64_t end;

    tap_ok(shard_range(&(struct shard){SHARDS_MAX, SHARDS_MAX}, units, &end) ==
                   units - units / SHARDS_MAX &&
               end == units,
           "the last of many units");
    tap_ok(shard_units(0) == 1 && shard_units(1) == 1 && shard_units(SHARD_UNIT) == 1 &&
               shard_units(SHARD_UNIT + 1) == 2,
           "units of a file");
}

/* Against counting them. */
static void check_elements_before(void)
{
    struct tap_family family = {0};

    for (size_t size = 1; size <= 8; size *= 2) {
        for (uint64_t begin = 0; begin < 20; begin++) {
            for (uint64_t offset = 0; offset < 60; offset++) {
                const struct container_array array = {.offset = begin};
                uint64_t count = 0;

                while (count < 4 && begin + count * size < offset)
                    count++;
                tap_case(&family, container_elements_before(&array, offset, size, 4) == count,
                         "%" PRIu64 " of %zu bytes from %" PRIu64, offset, size, begin);
            }
        }
    }
    tap_family_end(&family, "elements whose first byte lies before another");
    tap_ok(container_elements_before(&(struct container_array){.offset = 128}, UINT64_MAX, 8,
                                     1000) == 1000,
           "the end of everything");
}

int main(void)
{
    check_ranges();
    check_large();
    check_elements_before();
    return tap_done();
}
