/*
 * Integers, truth values and floats of one byte: the CPU engine with every instruction set that
 * runs here, against sums by schoolbook arithmetic and values from the definitions of the types.
 * Data of all kinds, in chunks of any size, by any number of workers, in either byte order.
 *
 * From the environment: STRESS_RUNS is how many random reductions (1000), STRESS_SEED the seed,
 * which is printed (CHECK_SEED, or 1). CHECK_SHARE: see lib/share.h.
 */
#include "config.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/common/difference.h"
#include "core/moments.h"
#include "core/number.h"
#include "cpu/kernel.h"
#include "engine/engine.h"
#include "lib/allocate.h"
#include "lib/draw.h"
#include "lib/engine_workers.h"
#include "lib/environment.h"
#include "lib/reference.h"
#include "lib/reference_element.h"
#include "lib/share.h"
#include "lib/tap.h"

#define RUNS 1000
#define LENGTH_LOG2 18
#define WORKERS_MAX 3

/* Whether an integer is there where it should be: the same as x. */
static bool is_integer(const struct integer *integer, bool should, double x)
{
    if (!should || isnan(x))
        return !integer->known;
    return integer->known && !integer->negative && integer->high == 0 && (double)integer->low == x;
}

/*
 * Random reductions.
 */

enum kind { RANDOM, CONSTANT, LEAST, GREATEST, FEW, SMALL, ALTERNATING, FINITE, KINDS };

static const char *const kind_names[KINDS] = {"random",    "constant", "least",       "greatest",
                                              "few kinds", "small",    "alternating", "finite"};

/* The bits of the least and of the greatest integer, or of a float of the largest magnitude. */
static uint64_t extreme_bits(enum element_type type, bool greatest)
{
    const uint64_t sign = UINT64_C(1) << (8 * element_size(type) - 1);

    if (type == ELEMENT_F8E4M3)
        return greatest ? 0x7e : 0xfe;
    if (type == ELEMENT_F8E5M2)
        return greatest ? 0x7b : 0xfb;
    if (element_formats[type].kind == ELEMENT_SIGNED)
        return greatest ? sign - 1 : sign;
    return greatest ? sign | (sign - 1) : 0;
}

static void put(enum element_type type, void *data, size_t i, uint64_t bits)
{
    unsigned char *at = (unsigned char *)data + i * element_size(type);
    uint8_t one = (uint8_t)bits;
    uint16_t two = (uint16_t)bits;
    uint32_t four = (uint32_t)bits;

    switch (element_size(type)) {
    case 1:
        memcpy(at, &one, 1);
        break;
    case 2:
        memcpy(at, &two, 2);
        break;
    case 4:
        memcpy(at, &four, 4);
        break;
    default:
        memcpy(at, &bits, 8);
    }
}

static void fill(enum kind kind, enum element_type type, void *data, size_t n)
{
    const uint64_t constant = rng_next(&rng);
    uint64_t few[3];

    for (size_t i = 0; i < 3; i++)
        few[i] = rng_next(&rng);
    for (size_t i = 0; i < n; i++) {
        uint64_t bits = rng_next(&rng);

        switch (kind) {
        case RANDOM:
        case KINDS:
            break;
        case CONSTANT:
            bits = constant;
            break;
        case LEAST:
        case GREATEST:
            bits = extreme_bits(type, kind == GREATEST);
            break;
        case FEW:
            bits = few[bits % 3];
            break;
        case SMALL:
            bits = bits % 7 - 3;
            break;
        case ALTERNATING:
            bits = extreme_bits(type, i % 2);
            break;
        case FINITE:
            bits &= 0x3b;
        }
        put(type, data, i, bits);
    }
}

/* The CPU engine, with an instruction set. */
static struct engine_state *engine_with(const struct cpu_kernels *kernels)
{
    char reason[ENGINE_REASON_MAX] = "";
    struct engine_state *state;

    state = engine_cpu.open(&(struct engine_needs){.kernels = kernels->name}, reason);
    if (!state || strcmp(engine_cpu.describe(state), kernels->name) != 0)
        abort();
    return state;
}

/* Has workers reduce data in chunks of up to `most` elements. */
static bool reduce(struct engine_state *state, enum element_type type, bool swap, unsigned wants,
                   const unsigned char *data, size_t n, uint64_t index, size_t most,
                   unsigned workers, struct partial *total)
{
    const struct engine_setup setup = {.type = type, .swap = swap, .wants = wants};
    struct engine_worker *worker[WORKERS_MAX] = {NULL};
    char reason[ENGINE_REASON_MAX];
    bool good = true;

    partial_clear(total);
    for (unsigned w = 0; w < workers; w++)
        if (!(worker[w] = engine_cpu.worker_open(state, &setup, w, reason)))
            abort();
    for (size_t i = 0; i < n;) {
        size_t count = 1 + (size_t)below(most);
        struct chunk chunk = {.data = data + i * element_size(type), .index = index + i};

        chunk.count = count < n - i ? count : n - i;
        good = engine_cpu.reduce(worker[below(workers)], &chunk) == ENGINE_TAKEN && good;
        i += chunk.count;
    }
    return engine_workers_end(&engine_cpu, worker, workers, total) && good;
}

static void check(struct tap_family *family, enum element_type type, enum kind kind,
                  const unsigned char *data, const unsigned char *stored, bool swap, size_t n)
{
    static const unsigned all_wants[] = {PARTIAL_SUM | PARTIAL_EXTREMES | PARTIAL_WHERE,
                                         PARTIAL_ALL,
                                         PARTIAL_EXTREMES | PARTIAL_WHERE,
                                         PARTIAL_SUM | PARTIAL_EXTREMES,
                                         PARTIAL_SUM | PARTIAL_SQUARES,
                                         PARTIAL_SMALL | PARTIAL_NEGATIVE | PARTIAL_EXTREMES,
                                         PARTIAL_SUM,
                                         PARTIAL_EXTREMES};
    const uint64_t ddof = below(3);
    const struct moments_terms terms = {.ddof = ddof, .type = type};
    /* The oracle takes its time. */
    const bool moments = reference_moments_is_known(type) && once_in(4);
    const unsigned wants =
        all_wants[once_in(2) ? below(sizeof all_wants / sizeof *all_wants) : below(2)];
    const uint64_t index = once_in(2) ? 0 : below(UINT64_C(1) << 40);
    const size_t most = once_in(3) ? n + 1 : 1 + (size_t)(rng_next(&rng) >> (46 + below(18)));
    const unsigned workers = 1 + (unsigned)below(WORKERS_MAX);
    struct reference e;

    reference_reduce(&e, type, data, n, index);
    if (moments)
        reference_moments(&e, type, data, n, ddof);
    for (size_t k = 0; k < cpu_kernels_count; k++) {
        struct engine_state *state;
        struct partial total;
        bool good;

        if (!cpu_kernels_all[k]->usable())
            continue;
        state = engine_with(cpu_kernels_all[k]);
        good = reduce(state, type, swap, wants, stored, n, index, most, workers, &total);
        engine_cpu.close(state);
        for (int skip = 0; skip < 2; skip++) {
            struct result got;
            const char *differs;

            partial_finish_type(&total, type, skip, &got);
            differs = result_difference(&got, &e.policy[skip], wants);
            if (moments && !differs) {
                struct moments_terms now = terms;

                now.skip_nan = skip;
                moments_finish(&total, &now, &got);
                differs = moments_difference(&got, &e.policy[skip], wants);
                if (!differs && (wants & PARTIAL_SMALL) &&
                    (!is_integer(&got.absmax_integer, element_is_integer(type), got.absmax) ||
                     !is_integer(&got.absmin_integer, element_is_integer(type), got.absmin) ||
                     !is_integer(&got.range_integer, element_is_integer(type), got.range)))
                    differs = "an integer";
            }
            tap_case(family, good && !differs,
                     "%s, %s, %s, %zu elements, chunks up to %zu, %u workers, wants %u, swap %d, "
                     "skip_nan %d: %s\n%s\nexpected\n%s",
                     cpu_kernels_all[k]->name, element_name(type), kind_names[kind], n, most,
                     workers, wants, swap, skip, differs, reference_show(&got),
                     reference_show(&e.policy[skip]));
        }
    }
}

/* Elements that begin `offset` bytes into a block and end with it: a sanitizer sees a step
   outside. */
static void check_data(struct tap_family *family, enum element_type type, enum kind kind, size_t n)
{
    const size_t size = element_size(type), offset = (size_t)below(9);
    const bool swap = once_in(2);
    unsigned char *data, *stored;

    if (!share_takes_next())
        return;
    data = allocate_exactly(n * size + offset);
    stored = allocate_exactly(n * size + offset);
    fill(kind, type, data + offset, n);
    memcpy(stored + offset, data + offset, n * size);
    if (swap)
        element_swap(stored + offset, stored + offset, n, size);
    check(family, type, kind, data + offset, stored + offset, swap, n);
    free(data);
    free(stored);
}

/* Every length around those of vectors, and around those of groups. */
static void check_lengths(void)
{
    struct tap_family family = {0};

    for (int t = ELEMENT_FLOATS; t < ELEMENT_TYPES; t++) {
        const enum element_type type = (enum element_type)t;
        const size_t group = ((size_t)64 << 10) / element_size(type);

        for (size_t n = 0; n <= 300; n++)
            check_data(&family, type, (enum kind)(n % KINDS), n);
        for (size_t n = group - 2; n <= group + 2; n++)
            check_data(&family, type, (enum kind)(n % KINDS), n);
        tap_family_end(&family, "%s: all lengths", element_name(type));
    }
}

/* Each byte alone, in a vector of zeros, at every place. */
static void check_every_byte(void)
{
    struct tap_family family = {0};
    unsigned char data[192];

    for (int t = ELEMENT_FLOATS; t < ELEMENT_TYPES; t++) {
        const enum element_type type = (enum element_type)t;

        if (element_size(type) != 1)
            continue;
        for (int byte = 0; byte < 256; byte++) {
            memset(data, byte, sizeof data);
            check(&family, type, CONSTANT, data, data, false, sizeof data);
            memset(data, 0, sizeof data);
            data[below(sizeof data)] = (unsigned char)byte;
            check(&family, type, CONSTANT, data, data, false, sizeof data);
        }
        tap_family_end(&family, "%s: every byte", element_name(type));
    }
}

/* Floats of one byte: NaNs and infinities come and go, at the borders of parts and of groups, among
   numbers of both signs and of one, which change from part to part. State that is kept from one
   part to the next must not matter. */
static void check_specials(void)
{
    enum { PART = 8192, PARTS = 11 };
    static const uint8_t special[][8] = {{0x7f, 0xff},
                                         {0x7c, 0xfc, 0x7d, 0xfd, 0x7e, 0xfe, 0x7f, 0xff}};
    static const uint8_t specials[] = {2, 8};

    for (int t = 0; t < 2; t++) {
        const enum element_type type = t ? ELEMENT_F8E5M2 : ELEMENT_F8E4M3;
        const uint8_t finite = t ? 0x7b : 0x7e;
        struct tap_family family = {0};

        for (int round = 0; round < 250; round++) {
            const size_t n = (size_t)below(PARTS) * PART + (size_t)below(once_in(2) ? 70 : PART);
            const int way = round / 5 % 5;
            const uint8_t one = special[t][below(specials[t])];
            const size_t part = (size_t)below(PARTS) * PART;
            unsigned char *data = allocate_exactly(n);

            for (size_t i = 0; i < n; i++) {
                /* Signs: both, one, those in turns, or one number. */
                const int signs = round % 5 == 3 ? (int)(i / PART) * 7 % 3 : round % 5;
                uint8_t bits = (uint8_t)below(finite + 1);
                bool is_special = way == 0   ? i == part + (part / PART * 977) % PART
                                  : way == 1 ? i / PART == part / PART
                                  : way == 2 ? i / PART % 3 == 1 && below(100) == 0
                                  : way == 3 ? i % PART == 0 || i % PART == PART - 1
                                             : round % 2 && below(64) == 0;

                if (signs == 4)
                    bits = round % 2 ? finite : finite | 0x80;
                else if (signs == 1 || (signs == 0 && once_in(2)))
                    bits |= 0x80;
                data[i] = bits;
                if (is_special)
                    data[i] = way < 2 ? one : special[t][below(specials[t])];
            }
            if (share_takes_next())
                check(&family, type, FINITE, data, data, false, n);
            free(data);
        }
        /* As large as numbers are, and as many. */
        check_data(&family, type, LEAST, (size_t)1 << 20);
        check_data(&family, type, GREATEST, (size_t)1 << 20);
        tap_family_end(&family, "%s: NaNs and infinities in parts of the data", element_name(type));
    }
}

static void check_random(uint64_t runs, uint64_t seed)
{
    struct tap_family family = {0};

    for (uint64_t i = 0; i < runs; i++) {
        const enum element_type type =
            (enum element_type)(ELEMENT_FLOATS + below(ELEMENT_TYPES - ELEMENT_FLOATS));

        check_data(&family, type, (enum kind)below(KINDS),
                   (size_t)(rng_next(&rng) >> (64 - 1 - below(LENGTH_LOG2))));
    }
    tap_family_end(&family, "%" PRIu64 " random reductions, seed %" PRIu64, runs, seed);
}

/*
 * Keys and full integers.
 */

/* Values of two types, compared by their keys. */
static void check_compare(void)
{
    static const double floats[] = {-INFINITY,  -0x1p63, -0x1.fffffffffffffp62,
                                    -1.5,       -1,      -0.25,
                                    -0.0,       0,       0.25,
                                    1,          1.5,     0x1p53,
                                    0x1p53 + 2, 0x1p63,  0x1p64,
                                    0x1.8p64,   INFINITY};
    static const uint64_t patterns[] = {0,
                                        1,
                                        2,
                                        UINT64_C(1) << 53,
                                        (UINT64_C(1) << 53) + 1,
                                        INT64_MAX,
                                        UINT64_C(1) << 63,
                                        (UINT64_C(1) << 63) + 1,
                                        UINT64_MAX};
    enum { FLOATS = sizeof floats / sizeof *floats, INTS = sizeof patterns / sizeof *patterns };
    struct tap_family family = {0};

    for (int i = 0; i < INTS; i++) {
        for (int s = 0; s < 2; s++) {
            const enum element_type type = s ? ELEMENT_I64 : ELEMENT_U64;
            const struct reference_value v = reference_value(type, patterns, (size_t)i);
            const int64_t key = element_key(type, &patterns[i]);

            for (int j = 0; j < FLOATS; j++) {
                /* long double has all bits of both on x86; elsewhere the parts are compared. */
                const double upper = (v.negative ? -1.0 : 1.0) * (double)(v.magnitude >> 11) * 2048;
                const double lower = (v.negative ? -1.0 : 1.0) * (double)(v.magnitude & 2047);
                const double apart = isinf(floats[j]) ? -floats[j] : upper - floats[j];
                const double difference = apart + lower;
                int expected = difference > 0 ? 1 : difference < 0 ? -1 : 0;

                if (expected == 0 && floats[j] == 0 && signbit(floats[j]))
                    expected = 1; /* -0 comes first */
                tap_case(&family,
                         number_compare_keys(type, key, ELEMENT_F64, exact_key(floats[j])) ==
                                 expected &&
                             number_compare_keys(ELEMENT_F32, exact_key(floats[j]), type, key) ==
                                 -expected,
                         "%s %#" PRIx64 " and %a: not %d", element_name(type), patterns[i],
                         floats[j], expected);
            }
            for (int j = 0; j < INTS; j++) {
                const struct reference_value w = reference_value(ELEMENT_I64, patterns, (size_t)j);
                const int expected = reference_compare(&v, &w);

                tap_case(&family,
                         number_compare_keys(type, key, ELEMENT_I64,
                                             element_key(ELEMENT_I64, &patterns[j])) == expected,
                         "%s %#" PRIx64 " and i64 %#" PRIx64, element_name(type), patterns[i],
                         patterns[j]);
            }
        }
    }
    tap_family_end(&family, "numbers of different types are compared exactly");
}

static void check_exact_integer(void)
{
    struct exact e;
    struct integer x;

    exact_clear(&e);
    x = exact_integer(&e);
    tap_ok(x.known && !x.negative && x.high == 0 && x.low == 0, "zero is an integer");
    for (int i = 0; i < 64; i++) /* 2^63 (1 + 2 + 4 + ..) */
        exact_add_integer(&e, UINT64_C(1) << 63, EXACT_ONE_BIT + (unsigned)i, false);
    x = exact_integer(&e);
    tap_ok(x.known && !x.negative && x.high == UINT64_MAX >> 1 && x.low == UINT64_C(1) << 63,
           "64 powers of two");
    exact_add_integer(&e, UINT64_MAX, EXACT_ONE_BIT + 63, true);
    exact_add_integer(&e, 1, EXACT_ONE_BIT, true);
    x = exact_integer(&e);
    tap_ok(x.known && x.negative && x.high == 0 && x.low == 1, "less them and one: -1");
    exact_add(&e, 0.5);
    tap_ok(!exact_integer(&e).known, "-1/2 is none");
    exact_add(&e, 0.5);
    tap_ok(exact_integer(&e).known, "0 is one again");
    exact_add(&e, -0x1p128);
    tap_ok(!exact_integer(&e).known, "2^128 is too large");
    exact_add(&e, 1);
    x = exact_integer(&e);
    tap_ok(x.known && x.negative && x.high == UINT64_MAX && x.low == UINT64_MAX, "1 - 2^128");
    exact_clear(&e);
    exact_add(&e, 0x1p-1074);
    tap_ok(!exact_integer(&e).known, "the least number is none");
}

static void check_format(void)
{
    static const struct {
        struct integer x;
        const char *text;
    } cases[] = {
        {{0, 0, false, true}, "0"},
        {{0, 7, true, true}, "-7"},
        {{0, UINT64_MAX, false, true}, "18446744073709551615"},
        {{1, 0, false, true}, "18446744073709551616"},
        {{0, UINT64_C(1) << 63, true, true}, "-9223372036854775808"},
        {{UINT64_MAX, UINT64_MAX, true, true}, "-340282366920938463463374607431768211455"},
        {{UINT64_C(5421010862427522170), UINT64_C(687399551400673280), false, true},
         "100000000000000000000000000000000000000"},
    };
    char text[NUMBER_MAX];

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        number_format_integer(text, &cases[i].x);
        tap_ok(strcmp(text, cases[i].text) == 0, "%s is written so", cases[i].text);
    }
}

int main(void)
{
    const uint64_t seed = from_environment("STRESS_SEED", from_environment("CHECK_SEED", 1));

    rng_seed(&rng, seed);
    check_exact_integer();
    check_format();
    check_compare();
    check_every_byte();
    check_specials();
    check_lengths();
    check_random(from_environment("STRESS_RUNS", RUNS), seed);
    return tap_done();
}
