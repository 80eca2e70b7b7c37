/*
 * zstd/index.h: positions that are written out, and random batches beside a plain list of
 * where every element is.
 */
#include "config.h"

#include "zstd/index.h"

#include <inttypes.h>
#include <stdlib.h>

#include "lib/data_gen.h"
#include "lib/tap.h"
#include "zstd/file.h"

#define UNKNOWN ZSTD_UNKNOWN

/* Adds a batch of unstated length that can hold `most` bytes and holds `length`. */
static uint64_t add_unstated(struct zstd_index *x, uint64_t most, uint64_t length)
{
    uint64_t base = x->next;
    size_t number;

    if (!zstd_index_begin(x, UNKNOWN, &number) || number == ZSTD_INDEX_STATED)
        abort();
    zstd_index_advance(x, UNKNOWN, most);
    zstd_index_set_length(x, number, length);
    return base;
}

static uint64_t add_stated(struct zstd_index *x, uint64_t content)
{
    uint64_t base = x->next;
    size_t number;

    if (!zstd_index_begin(x, content, &number) || number != ZSTD_INDEX_STATED)
        abort();
    zstd_index_advance(x, content, content);
    zstd_index_set_length(x, number, 12345); /* ignored */
    return base;
}

static void check_stated(void)
{
    struct zstd_index x;

    zstd_index_init(&x, 10, 4);
    tap_ok(add_stated(&x, 7) == 0 && add_stated(&x, 15) == 7 && add_stated(&x, 3) == 22,
           "batches that state their length stand one behind the other");
    tap_ok(zstd_index_resolve(&x, UNKNOWN) && zstd_index_total(&x) == 25, "and may tear elements");
    tap_ok(zstd_index_true(&x, 0) == 0 && zstd_index_true(&x, 3) == 3, "their positions are true");
    zstd_index_free(&x);
}

static void check_boundaries(void)
{
    struct tap_family family = {0};
    struct zstd_index x;

    zstd_index_init(&x, 10, 4);
    for (uint64_t i = 0; i < 40; i++)
        tap_case(&family, zstd_index_is_boundary(&x, i) == (i <= 10 || (i - 10) % 4 == 0),
                 "byte %" PRIu64, i);
    tap_family_end(&family, "where elements begin");
}

static void check_unstated(void)
{
    struct zstd_index x;
    uint64_t base[4];

    zstd_index_init(&x, 0, 4);
    base[0] = add_unstated(&x, 100, 40);
    base[1] = add_unstated(&x, 103, 0);
    base[2] = add_stated(&x, 20);
    base[3] = add_unstated(&x, 16, 16);
    /* Each gets at least one byte more than it can hold: an empty one has a place, too. */
    tap_ok(base[0] == 0 && base[1] == 104 && base[2] == 208 && base[3] == 228 && x.next == 248,
           "batches of unstated length are given what they can hold, in whole elements");
    tap_ok(zstd_index_resolve(&x, UNKNOWN) && zstd_index_total(&x) == 76, "40, 0, 20 and 16 bytes");
    tap_ok(zstd_index_true(&x, 0) == 0 && zstd_index_true(&x, 9) == 9, "the first batch");
    tap_ok(zstd_index_true(&x, 52) == 10 && zstd_index_true(&x, 56) == 14, "the third");
    tap_ok(zstd_index_true(&x, 57) == 15 && zstd_index_true(&x, 60) == 18, "the last");
    zstd_index_free(&x);
}

static void check_torn(void)
{
    struct zstd_index x;

    zstd_index_init(&x, 0, 4);
    add_unstated(&x, 100, 42);
    add_unstated(&x, 100, 50);
    tap_ok(!zstd_index_resolve(&x, UNKNOWN), "an element that is torn between two batches");
    tap_ok(zstd_index_resolve(&x, 40), "does not matter behind what is wanted");
    zstd_index_free(&x);

    zstd_index_init(&x, 0, 4);
    add_unstated(&x, 100, 40);
    add_unstated(&x, 100, 42);
    tap_ok(zstd_index_resolve(&x, UNKNOWN) && zstd_index_total(&x) == 82,
           "one that is torn at the end is for others to see");
    add_stated(&x, 0);
    tap_ok(zstd_index_resolve(&x, UNKNOWN) && zstd_index_total(&x) == 82,
           "an empty batch behind it");
    add_stated(&x, 4);
    tap_ok(!zstd_index_resolve(&x, UNKNOWN), "another batch behind it");
    zstd_index_free(&x);

    zstd_index_init(&x, 80, 8);
    add_unstated(&x, 40, 40);
    tap_ok(x.next == 88, "the first batch is given the header");
    add_unstated(&x, 100, 80);
    tap_ok(!zstd_index_resolve(&x, UNKNOWN), "but has to hold it");
    zstd_index_free(&x);
}

/* An element and its place. */
struct element {
    uint64_t provisional, truth;
};

/* Random batches of whole elements: every one of them is found again. */
static void check_random(void)
{
    static struct element list[200 * 50];
    struct tap_family family = {0};
    struct rng rng;

    rng_seed(&rng, 5);
    for (int run = 0; run < 1000; run++) {
        const size_t size = (size_t)2 << rng_below(&rng, 3);
        const uint64_t offset = rng_below(&rng, 2) ? 0 : rng_below(&rng, 200);
        unsigned batches = 1 + (unsigned)rng_below(&rng, 200), count = 0;
        struct zstd_index x;

        zstd_index_init(&x, offset, size);
        for (unsigned i = 0; i < batches; i++) {
            uint64_t elements = rng_below(&rng, 50), before = i == 0 ? offset : 0;
            uint64_t length = before + elements * size;
            uint64_t base = rng_below(&rng, 3)
                                ? add_unstated(&x, length + rng_below(&rng, 5000), length)
                                : add_stated(&x, length);

            for (uint64_t e = 0; e < elements; e++, count++)
                list[count] = (struct element){(base + before - offset) / size + e, count};
        }
        tap_case(&family,
                 zstd_index_resolve(&x, UNKNOWN) && zstd_index_total(&x) == offset + count * size,
                 "run %d: a total of %" PRIu64, run, zstd_index_total(&x));
        for (unsigned i = 0; i < count; i++)
            tap_case(&family, zstd_index_true(&x, list[i].provisional) == list[i].truth,
                     "run %d: element %u, at %" PRIu64 ", is taken for %" PRIu64, run, i,
                     list[i].provisional, zstd_index_true(&x, list[i].provisional));
        zstd_index_free(&x);
    }
    tap_family_end(&family, "random batches");
}

int main(void)
{
    check_stated();
    check_boundaries();
    check_unstated();
    check_torn();
    check_random();
    return tap_done();
}
