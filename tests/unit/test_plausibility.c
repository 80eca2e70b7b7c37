/*
 * plausibility.h: data of other types are told, and data of their own type never are.
 */
#include "config.h"

#include "source/format/plausibility.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cli/failure.h"
#include "lib/data_gen.h"
#include "lib/tap.h"

#define SIZE 4096

static union {
    unsigned char bytes[SIZE];
    double aligned;
} data;

static void set_order(enum element_type type, bool big)
{
    if (big != element_host_is_big())
        element_swap(&data, &data, SIZE / element_size(type), element_size(type));
}

/* Fills the data with numbers x(i) of a type, in a byte order. */
static void fill(enum element_type type, bool big, double (*x)(size_t i, struct rng *))
{
    struct rng rng;

    rng_seed(&rng, 5);
    for (size_t i = 0; i < SIZE / element_size(type); i++)
        data_put(type, &data, i, x(i, &rng));
    set_order(type, big);
}

static double normal(size_t i, struct rng *rng)
{
    (void)i;
    return sqrt(-2 * log(1 - rng_unit(rng))) * cos(6.283185307179586 * rng_unit(rng));
}

static double counted(size_t i, struct rng *rng)
{
    (void)rng;
    return (double)i;
}

static double single(size_t i, struct rng *rng)
{
    return (double)(float)normal(i, rng);
}

static double tiny(size_t i, struct rng *rng)
{
    return ldexp(normal(i, rng), -80);
}

static double byte(size_t i, struct rng *rng)
{
    (void)i;
    return (double)rng_below(rng, 256);
}

static double zero(size_t i, struct rng *rng)
{
    (void)i;
    (void)rng;
    return 0;
}

/* Real numbers and no imaginary ones, or the other way round. */
static double first_only(size_t i, struct rng *rng)
{
    return i % 2 ? 0 : normal(i, rng);
}

static double second_only(size_t i, struct rng *rng)
{
    return i % 2 ? normal(i, rng) : 0;
}

/* Coordinates: of two that take turns, one is far away. */
static double two_scales(size_t i, struct rng *rng)
{
    return i % 2 ? 1 + rng_unit(rng) : ldexp(normal(i, rng), -90);
}

static double small_steps(size_t i, struct rng *rng)
{
    (void)i;
    return i % 2 ? 2 + 0.25 * (double)rng_below(rng, 24) : 0;
}

/* The advice as options, without "; try "; NULL for none. Two texts are good at a time. */
static const char *better(const void *bytes, size_t size, enum element_type type, bool big_endian)
{
    static char texts[2][FAILURE_TEXT_MAX];
    static unsigned next;
    struct error error = {.text = ""};
    const size_t words = strlen("; try ");

    if (!plausibility_better(bytes, size, type, big_endian, &error.advice))
        return NULL;
    next = !next;
    return failure_text(texts[next], &error, NULL) + words;
}

static const char *say(const char *found)
{
    return found ? found : "nothing";
}

static void check_implausible(void)
{
#define L false
#define B true
    static const struct {
        enum element_type is;
        bool is_big;
        double (*x)(size_t i, struct rng *);
        enum element_type taken;
        bool taken_big;
        const char *expected;
    } cases[] = {
        {ELEMENT_F64, L, normal, ELEMENT_F32, L, "-t f64"},
        {ELEMENT_F64, L, single, ELEMENT_F32, L, "-t f64"},
        {ELEMENT_F64, L, counted, ELEMENT_F32, L, "-t f64"},
        {ELEMENT_F64, L, byte, ELEMENT_F32, L, "-t f64"},
        {ELEMENT_F64, L, tiny, ELEMENT_F32, L, "-t f64"},
        {ELEMENT_F64, B, normal, ELEMENT_F32, L, "-t f64 --endian=big"},
        {ELEMENT_F64, B, normal, ELEMENT_F32, B, "-t f64"},
        {ELEMENT_F64, L, normal, ELEMENT_F32, B, "-t f64 --endian=little"},
        {ELEMENT_F32, B, normal, ELEMENT_F32, L, "--endian=big"},
        {ELEMENT_F32, B, counted, ELEMENT_F32, L, "--endian=big"},
        {ELEMENT_F32, B, byte, ELEMENT_F32, L, "--endian=big"},
        {ELEMENT_F32, B, tiny, ELEMENT_F32, L, "--endian=big"},
        {ELEMENT_F32, L, normal, ELEMENT_F32, B, "--endian=little"},
        {ELEMENT_F64, B, normal, ELEMENT_F64, L, "--endian=big"},
        {ELEMENT_F64, L, normal, ELEMENT_F64, B, "--endian=little"},
        {ELEMENT_F64, B, counted, ELEMENT_F64, L, "--endian=big"},
        {ELEMENT_F16, B, normal, ELEMENT_F16, L, "--endian=big"},
        {ELEMENT_BF16, B, normal, ELEMENT_BF16, L, "--endian=big"},
    };
    struct tap_family family = {0};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *found;

        fill(cases[i].is, cases[i].is_big, cases[i].x);
        found = better(&data, SIZE, cases[i].taken, cases[i].taken_big);
        tap_case(&family, found && strcmp(found, cases[i].expected) == 0, "case %zu: %s and not %s",
                 i, say(found), cases[i].expected);
        /* A kilobyte tells as much. */
        found = better(&data, SIZE / 4, cases[i].taken, cases[i].taken_big);
        tap_case(&family, found && strcmp(found, cases[i].expected) == 0,
                 "case %zu, 1 KiB: %s and not %s", i, say(found), cases[i].expected);
        found = better(&data, 64, cases[i].taken, cases[i].taken_big);
        tap_case(&family, !found, "case %zu, 64 bytes: %s", i, say(found));
    }
    tap_family_end(&family, "what is of another type, or in the other byte order");
}

static void check_good(void)
{
    static double (*const shapes[])(size_t i, struct rng *) = {
        normal, counted, single, tiny, byte, zero, first_only, second_only, two_scales, small_steps,
    };
    struct tap_family family = {0};
    const char *found;

    for (int i = 0; i < ELEMENT_FLOATS; i++) {
        enum element_type type = (enum element_type)i;

        for (int big = 0; big < 2; big++) {
            for (size_t k = 0; k < sizeof shapes / sizeof *shapes; k++) {
                fill(type, big, shapes[k]);
                found = better(&data, SIZE, type, big);
                tap_case(&family, !found, "%s, shape %zu: %s", element_name(type), k, say(found));
            }
            for (int kind = 0; kind < DATA_KINDS; kind++) {
                for (uint64_t seed = 0; seed < 50; seed++) {
                    data_fill((enum data_kind)kind, type, &data, SIZE / element_size(type), seed);
                    set_order(type, big);
                    found = better(&data, SIZE, type, big);
                    tap_case(&family, !found, "%s, %s, seed %d: %s", element_name(type),
                             data_kind_name((enum data_kind)kind), (int)seed, say(found));
                }
            }
            /* Every plausible scale, and some that are not. */
            for (int power = -120; power <= 120; power++) {
                struct rng rng;

                rng_seed(&rng, 7);
                for (size_t k = 0; k < SIZE / element_size(type); k++)
                    data_put(type, &data, k, ldexp(normal(k, &rng), power));
                set_order(type, big);
                found = better(&data, SIZE, type, big);
                tap_case(&family, !found, "%s of 2^%d: %s", element_name(type), power, say(found));
            }
        }
    }
    tap_family_end(&family, "nothing of its own type");
}

/* An element that is a NaN with this fraction. */
static void put_nan(enum element_type type, size_t k, uint64_t fraction, uint64_t sign)
{
    const struct element_format *format = &element_formats[type];
    uint64_t exponent = 2 * (uint64_t)format->exponent_max + 1;
    uint64_t bits =
        sign << (8 * format->size - 1) | exponent << (format->significant_bits - 1) | fraction;
    uint32_t word = (uint32_t)bits;
    uint16_t half = (uint16_t)bits;

    memcpy(data.bytes + k * format->size,
           format->size == 8   ? (const void *)&bits
           : format->size == 4 ? (const void *)&word
                               : &half,
           format->size);
}

/* Bits of chance have many different NaNs; data have none, or a few that are alike. */
static void check_nans(void)
{
    struct tap_family family = {0};
    struct rng rng;

    rng_seed(&rng, 8);
    for (int i = 0; i < ELEMENT_FLOATS; i++) {
        enum element_type type = (enum element_type)i;
        size_t count = SIZE / element_size(type);

        for (int big = 0; big < 2; big++) {
            for (int part = 0; part < 3; part++) { /* none, two, a third are NaNs, of two kinds */
                for (size_t k = 0; k < count; k++) {
                    data_put(type, &data, k, normal(k, &rng));
                    if (part == 1 ? k < 2 : part == 2 && k % 3 == 0)
                        put_nan(type, k, 1 + k / 3 % 2, k % 2);
                }
                set_order(type, big);
                tap_case(&family, !plausibility_nans(&data, SIZE, type, big), "%s, big %d, part %d",
                         element_name(type), big, part);
            }
            for (size_t k = 0; k < count; k++) {
                data_put(type, &data, k, normal(k, &rng));
                if (k % 64 == 0)
                    put_nan(type, k, 2 + k / 64, k / 64 % 2);
            }
            set_order(type, big);
            tap_case(&family, plausibility_nans(&data, SIZE, type, big), "%s, big %d, chance",
                     element_name(type), big);
        }
    }
    tap_family_end(&family, "many different NaNs");
}

/* Fills the data with integers of so many bits in `size` bytes, each third of them negative if that is
   asked for. */
static void fill_integers(struct rng *rng, unsigned bits, unsigned size, bool big, bool negative)
{
    for (size_t i = 0; i < SIZE; i += size) {
        uint64_t x = rng_next(rng) >> (64 - bits);

        if (negative && i % 3 == 0)
            x = -x;
        for (unsigned k = 0; k < size; k++)
            data.bytes[i + (big ? size - 1 - k : k)] = (unsigned char)(x >> 8 * k);
    }
}

/* Integers make no sense as any float, and there is no warning; those of up to 4 bytes may be integers
   of any type. */
static void check_integers(void)
{
    struct tap_family family = {0};
    struct rng rng;

    for (unsigned size = 1; size <= 8; size *= 2) {
        for (unsigned bits = 1; bits <= 8 * size; bits++) {
            rng_seed(&rng, bits);
            fill_integers(&rng, bits, size, false, false);
            for (int i = 0; i < (size == 8 ? ELEMENT_FLOATS : ELEMENT_TYPES); i++) {
                const enum element_type type = (enum element_type)i;
                const char *found = better(&data, SIZE, type, false);

                tap_case(&family,
                         i < ELEMENT_FLOATS
                             ? !found || (type != ELEMENT_F32 && bits > 8)
                             : !found && !plausibility_nans(&data, SIZE, type, false),
                         "integers of %u bits in %u bytes as %s: %s", bits, size,
                         element_name(type), say(found));
            }
        }
    }
    tap_family_end(&family, "integers are no floats, and any integers");
}

/* NumPy's i8 and u8 have 8 bytes: such integers, of so many bits, with signs or without. */
static void check_bytes(void)
{
    struct tap_family family = {0};
    struct rng rng;

    rng_seed(&rng, 9);
    for (unsigned bits = 5; bits <= 64; bits++) {
        for (int big = 0; big < 2; big++) {
            for (int negative = 0; negative < 2; negative++) {
                const bool wide = bits <= 32;
                const char *as_signed, *as_unsigned;

                fill_integers(&rng, bits, 8, big, negative);
                as_signed = better(&data, SIZE, ELEMENT_I8, false);
                as_unsigned = better(&data, SIZE, ELEMENT_U8, false);
                tap_case(&family,
                         strcmp(say(as_signed), !wide ? "nothing"
                                                : big ? "-t '>i8'"
                                                      : "-t i64") == 0 &&
                             strcmp(say(as_unsigned), !wide || negative ? "nothing"
                                                      : big             ? "-t '>u8'"
                                                                        : "-t u64") == 0,
                         "integers of %u bits, big %d, negative %d: %s, %s", bits, big, negative,
                         say(as_signed), say(as_unsigned));
            }
        }
    }
    tap_family_end(&family, "integers of 8 bytes, taken for bytes");
}

int main(void)
{
    check_implausible();
    check_good();
    check_nans();
    check_integers();
    check_bytes();
    return tap_done();
}
