/*
 * timeline.h: the union of stretches of time, against one bit for each nanosecond.
 */
#include "config.h"

#include "sys/timeline.h"

#include "lib/tap.h"

#define LENGTH 200

static void test_random(void)
{
    struct tap_family family = {0};
    uint64_t random = 1;

    for (int round = 0; round < 3000; round++) {
        struct timeline parts[3] = {0}, whole = {0};
        bool busy[LENGTH] = {false};
        uint64_t first = UINT64_MAX, last = 0, count = 0, bytes = 0;
        struct timeline_total total;

        for (int i = 0; i < round % 30; i++) {
            uint64_t begin, end;

            random = random * UINT64_C(6364136223846793005) + 1442695040888963407;
            begin = (random >> 33) % LENGTH;
            end = begin + (random >> 50) % (LENGTH - begin);
            timeline_note(&parts[i % 3], begin, end, begin);
            bytes += begin;
            for (uint64_t j = begin; j < end; j++)
                busy[j] = true;
            first = begin < first ? begin : first;
            last = end > last ? end : last;
        }
        for (int i = 0; i < 3; i++)
            timeline_join(&whole, &parts[i]);
        for (int i = 0; i < LENGTH; i++)
            count += busy[i];
        total = timeline_total(&whole);
        tap_case(&family,
                 total.busy == count && total.bytes == bytes &&
                     total.extent == (first < last ? last - first : 0) && !parts[0].spans,
                 "round %d: %llu busy of %llu, expected %llu", round,
                 (unsigned long long)total.busy, (unsigned long long)total.extent,
                 (unsigned long long)count);
        timeline_free(&whole);
    }
    tap_family_end(&family, "busy, extent and bytes of stretches at random");
}

static void test_many(void)
{
    struct timeline t = {0};
    struct timeline_total total;

    for (uint64_t i = 0; i < TIMELINE_MAX + 1000; i++)
        timeline_note(&t, 10 * i, 10 * i + 4, 1);
    total = timeline_total(&t);
    tap_ok(total.bytes == TIMELINE_MAX && total.busy == UINT64_C(4) * TIMELINE_MAX &&
               total.extent == UINT64_C(10) * TIMELINE_MAX - 6,
           "no more than there may be are noted, and their bytes alone");
    timeline_free(&t);
}

int main(void)
{
    test_random();
    test_many();
    return tap_done();
}
