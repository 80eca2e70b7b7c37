/*
 * element.h: names of types, values of bits, rounding to a type, byte order.
 */
/* Tags: ports emulator */
#include "config.h"

#include "core/element_round.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "lib/data_gen.h"
#include "lib/oracle.h"
#include "lib/tap.h"

static void check_names(void)
{
    static const struct {
        const char *name;
        enum element_type type;
    } good[] = {
        {"f32", ELEMENT_F32},     {"f4", ELEMENT_F32},        {"float32", ELEMENT_F32},
        {"single", ELEMENT_F32},  {"f64", ELEMENT_F64},       {"f8", ELEMENT_F64},
        {"float64", ELEMENT_F64}, {"double", ELEMENT_F64},    {"f16", ELEMENT_F16},
        {"f2", ELEMENT_F16},      {"float16", ELEMENT_F16},   {"half", ELEMENT_F16},
        {"bf16", ELEMENT_BF16},   {"bfloat16", ELEMENT_BF16},
    };
    static const char *const bad[] = {
        "",        "<",    ">",    "=",        "f",          "f3",      "f1",          "f128",
        "F33",     "f32 ", " f32", "f4x",      "<<f4",       "<>f4",    "float",       "i3",
        "u5",      "c8",   "|f4",  "!f4",      "float 32",   "doubl",   "bfloat",      "f44",
        "float3",  "b16",  "f-4",  "float128", "longdouble", "f32,f64", "\n",          "g",
        "<f16",    ">f16", "=f16", "<<f64",    "|f32",       "d8",      "half2",       "<",
        "bf",      "16",   "4",    "<BF16",    "I1",         "|i2",     "|u64",        "|u8",
        "<bool_t", "f8e4", "int",  "uint",     "F8",         "i08",     "float8_e4m3", "|F32",
        "<I64",    "U1",   "Bool", "f8_e4m3fn"};
    static const char *const orders[] = {"", "<", ">", "="};
    struct tap_family family = {0};

    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        for (int o = 0; o < 4; o++) {
            enum element_order expected = o == 0                  ? ELEMENT_ORDER_UNSAID
                                          : o == 1                ? ELEMENT_ORDER_LITTLE
                                          : o == 2                ? ELEMENT_ORDER_BIG
                                          : element_host_is_big() ? ELEMENT_ORDER_BIG
                                                                  : ELEMENT_ORDER_LITTLE;
            enum element_type type = ELEMENT_TYPES;
            enum element_order order = (enum element_order)77;
            char name[32];

            /* NumPy's f16 has 16 bytes, its i8 and u8 have 8. */
            if (o > 0 && (strcmp(good[i].name, "f16") == 0 || strcmp(good[i].name, "i8") == 0 ||
                          strcmp(good[i].name, "u8") == 0))
                continue;
            snprintf(name, sizeof name, "%s%s", orders[o], good[i].name);
            tap_case(&family,
                     element_parse(name, &type, &order) && type == good[i].type &&
                         order == expected,
                     "'%s' is type %d, order %d", name, (int)type, (int)order);
        }
    }
    tap_family_end(&family, "parse: every spelling, in every order");

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        enum element_type type = ELEMENT_BF16;
        enum element_order order = ELEMENT_ORDER_BIG;

        tap_case(&family,
                 !element_parse(bad[i], &type, &order) && type == ELEMENT_BF16 &&
                     order == ELEMENT_ORDER_BIG,
                 "'%s' is taken, or changes something", bad[i]);
    }
    tap_family_end(&family, "parse: other names are refused, and nothing changes");

    for (int t = 0; t < ELEMENT_TYPES; t++) {
        static const char *const names[] = {"f32",    "f64", "f16", "bf16", "f8e4m3",
                                            "f8e5m2", "i8",  "i16", "i32",  "i64",
                                            "u8",     "u16", "u32", "u64",  "bool"};
        static const size_t sizes[] = {4, 8, 2, 2, 1, 1, 1, 2, 4, 8, 1, 2, 4, 8, 1};
        enum element_type type = (enum element_type)t, again = ELEMENT_TYPES;
        enum element_order order;

        tap_case(&family,
                 strcmp(element_name(type), names[t]) == 0 && element_size(type) == sizes[t] &&
                     element_parse(element_name(type), &again, &order) && again == type,
                 "type %d is %s of %zu bytes", t, element_name(type), element_size(type));
    }
    tap_family_end(&family, "names and sizes");
}

/* Names that mean two things, and names of one place alone. */
static void check_passes(void)
{
    static const struct {
        const char *name;
        enum element_type type, numpy; /* ELEMENT_TYPES: none */
        enum element_order order;
    } cases[] = {
        /* Without a byte order, numbers count bits; to NumPy they count bytes. */
        {"i8", ELEMENT_I8, ELEMENT_I64, ELEMENT_ORDER_UNSAID},
        {"u8", ELEMENT_U8, ELEMENT_U64, ELEMENT_ORDER_UNSAID},
        {"f8", ELEMENT_F64, ELEMENT_F64, ELEMENT_ORDER_UNSAID},
        {"<i8", ELEMENT_I64, ELEMENT_I64, ELEMENT_ORDER_LITTLE},
        {">i8", ELEMENT_I64, ELEMENT_I64, ELEMENT_ORDER_BIG},
        {"<u8", ELEMENT_U64, ELEMENT_U64, ELEMENT_ORDER_LITTLE},
        {">u8", ELEMENT_U64, ELEMENT_U64, ELEMENT_ORDER_BIG},
        {">i16", ELEMENT_I16, ELEMENT_TYPES, ELEMENT_ORDER_BIG},
        {"<u64", ELEMENT_U64, ELEMENT_TYPES, ELEMENT_ORDER_LITTLE},
        {"|i1", ELEMENT_I8, ELEMENT_I8, ELEMENT_ORDER_UNSAID},
        {"|u1", ELEMENT_U8, ELEMENT_U8, ELEMENT_ORDER_UNSAID},
        {"|b1", ELEMENT_BOOL, ELEMENT_BOOL, ELEMENT_ORDER_UNSAID},
        {"|?", ELEMENT_BOOL, ELEMENT_BOOL, ELEMENT_ORDER_UNSAID},
        {"bool_", ELEMENT_BOOL, ELEMENT_BOOL, ELEMENT_ORDER_UNSAID},
        {"F64", ELEMENT_F64, ELEMENT_TYPES, ELEMENT_ORDER_UNSAID},
        {"F32", ELEMENT_F32, ELEMENT_TYPES, ELEMENT_ORDER_UNSAID},
        {"F16", ELEMENT_F16, ELEMENT_TYPES, ELEMENT_ORDER_UNSAID},
        {"BF16", ELEMENT_BF16, ELEMENT_TYPES, ELEMENT_ORDER_UNSAID},
        {"F8_E4M3", ELEMENT_F8E4M3, ELEMENT_TYPES, ELEMENT_ORDER_UNSAID},
        {"F8_E5M2", ELEMENT_F8E5M2, ELEMENT_TYPES, ELEMENT_ORDER_UNSAID},
        {"I8", ELEMENT_I8, ELEMENT_TYPES, ELEMENT_ORDER_UNSAID},
        {"I64", ELEMENT_I64, ELEMENT_TYPES, ELEMENT_ORDER_UNSAID},
        {"U8", ELEMENT_U8, ELEMENT_TYPES, ELEMENT_ORDER_UNSAID},
        {"U16", ELEMENT_U16, ELEMENT_TYPES, ELEMENT_ORDER_UNSAID},
        {"BOOL", ELEMENT_BOOL, ELEMENT_TYPES, ELEMENT_ORDER_UNSAID},
    };
    static const struct {
        const char *name, *read_as;
    } foreign[] = {{"complex64", "f32"},
                   {"<c8", "f32"},
                   {">c16", "f64"},
                   {"C64", "f32"},
                   {"M8[ns]", "i64"},
                   {"datetime64", "i64"},
                   {"<m8", "i64"},
                   {"<f16", NULL},
                   {"|O", NULL},
                   {"U12", NULL},
                   {"S", NULL},
                   {"|V16", NULL},
                   {"float8_e4m3fnuz", NULL},
                   {"F8_E8M0", NULL},
                   {"g", NULL},
                   {"longdouble", NULL}};
    static const char *const unknown[] = {"f32", "i4", "c9", "M9", "Ux", "gg", "", "<", "complex6"};
    struct tap_family family = {0};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        enum element_type type = ELEMENT_TYPES, numpy = ELEMENT_TYPES;
        enum element_order order = (enum element_order)77, other;

        (void)element_parse_numpy(cases[i].name, &numpy, &other);
        tap_case(&family,
                 element_parse(cases[i].name, &type, &order) && type == cases[i].type &&
                     order == cases[i].order && numpy == cases[i].numpy,
                 "'%s' is type %d, order %d, and %d to NumPy", cases[i].name, (int)type, (int)order,
                 (int)numpy);
    }
    tap_family_end(&family, "parse: what counts bits, and what counts bytes");
    for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++) {
        const struct element_foreign *found = element_find_foreign(foreign[i].name);

        tap_case(&family,
                 found && (found->read_as && foreign[i].read_as
                               ? strcmp(found->read_as, foreign[i].read_as) == 0
                               : !found->read_as && !foreign[i].read_as),
                 "%s", foreign[i].name);
    }
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++)
        tap_case(&family, !element_find_foreign(unknown[i]), "'%s'", unknown[i]);
    tap_family_end(&family, "types that are not read, and what they can be read as");
}

/* Compares element_load with the value of a pattern, at an odd address. */
static void check_pattern(struct tap_family *family, enum element_type type, uint64_t pattern)
{
    unsigned char bytes[9];
    double expected, got;

    data_put_pattern(type, bytes + 1, 0, pattern);
    expected = data_value(type, bytes + 1, 0);
    got = element_load(type, bytes + 1);
    tap_case(family, oracle_same(got, expected), "%s %#llx is %a, not %a", element_name(type),
             (unsigned long long)pattern, got, expected);
}

static void check_load(void)
{
    struct tap_family family = {0};
    struct rng r;
    unsigned char bytes[8];

    for (uint32_t pattern = 0; pattern < 0x10000; pattern++)
        check_pattern(&family, ELEMENT_F16, pattern);
    tap_family_end(&family, "load: every f16");
    for (uint32_t pattern = 0; pattern < 0x10000; pattern++)
        check_pattern(&family, ELEMENT_BF16, pattern);
    tap_family_end(&family, "load: every bf16");

    rng_seed(&r, 31);
    for (int type = ELEMENT_F32; type <= ELEMENT_F64; type++) {
        unsigned fraction_bits = data_fraction_bits((enum element_type)type);
        uint64_t ones = ((uint64_t)1 << fraction_bits) - 1;

        for (unsigned field = 0; field < 2u << data_exponent_bits((enum element_type)type);
             field++) {
            uint64_t high = (uint64_t)field << fraction_bits;

            check_pattern(&family, (enum element_type)type, high);
            check_pattern(&family, (enum element_type)type, high | 1);
            check_pattern(&family, (enum element_type)type, high | ones);
            for (int i = 0; i < 30; i++)
                check_pattern(&family, (enum element_type)type, high | (rng_next(&r) & ones));
        }
        tap_family_end(&family, "load: %s of every sign and exponent",
                       element_name((enum element_type)type));
    }

    data_put_pattern(ELEMENT_F16, bytes, 0, 0x3555);
    tap_case(&family, element_load(ELEMENT_F16, bytes) == 0x1.554p-2, "f16 0x3555");
    data_put_pattern(ELEMENT_F16, bytes, 0, 0x7bff);
    tap_case(&family, element_load(ELEMENT_F16, bytes) == 65504, "f16 0x7bff");
    data_put_pattern(ELEMENT_F16, bytes, 0, 0x8001);
    tap_case(&family, element_load(ELEMENT_F16, bytes) == -0x1p-24, "f16 0x8001");
    data_put_pattern(ELEMENT_BF16, bytes, 0, 0xc049);
    tap_case(&family, element_load(ELEMENT_BF16, bytes) == -3.140625, "bf16 0xc049");
    data_put_pattern(ELEMENT_F32, bytes, 0, 0x3dcccccd);
    tap_case(&family, element_load(ELEMENT_F32, bytes) == (double)0.1f, "f32 0x3dcccccd");
    data_put_pattern(ELEMENT_F64, bytes, 0, 0x3fb999999999999a);
    tap_case(&family, element_load(ELEMENT_F64, bytes) == 0.1, "f64 0x3fb999999999999a");
    tap_family_end(&family, "load: a few that are known");
}

static void expect_round(struct tap_family *family, enum element_type type, double x,
                         double expected)
{
    for (int sign = 0; sign < 2; sign++) {
        double got = element_round(type, x);

        tap_case(family, oracle_same(got, expected), "%a as %s is %a, not %a", x,
                 element_name(type), got, expected);
        x = -x;
        expected = -expected;
    }
}

/* Rounding between the value of `pattern`, positive and finite, and the next larger one, whose bits
   are the next integer: the midpoint goes to the even of the two, anything else to the nearer. */
static void check_between(struct tap_family *family, enum element_type type, uint64_t pattern)
{
    unsigned char bytes[16];
    double low, high, middle;

    data_put_pattern(type, bytes, 0, pattern);
    data_put_pattern(type, bytes, 1, pattern + 1);
    low = data_value(type, bytes, 0);
    high = data_value(type, bytes, 1);
    if (isinf(high)) { /* what would follow, were there another binade */
        data_put_pattern(type, bytes, 0, pattern - 1);
        middle = low + (low - data_value(type, bytes, 0)) / 2;
    } else {
        middle = low + (high - low) / 2;
    }
    expect_round(family, type, low, low);
    expect_round(family, type, middle, pattern % 2 ? high : low);
    expect_round(family, type, nextafter(middle, 0), low);
    expect_round(family, type, nextafter(middle, INFINITY), high);
    if (low > 0)
        expect_round(family, type, nextafter(low, INFINITY), low);
    if (isfinite(high))
        expect_round(family, type, nextafter(high, 0), high);
    expect_round(family, type, low + (middle - low) / 2, low);
}

static void check_round(void)
{
    static const double edges[] = {0.0,     INFINITY, DBL_MAX, DBL_MIN,  0x1p-1074,
                                   0x1p128, 0x1p1000, 1e39,    0x1p-200, 0x1p-160};
    struct tap_family family = {0};
    struct rng r;

    for (uint64_t pattern = 0; pattern < 0x7c00; pattern++)
        check_between(&family, ELEMENT_F16, pattern);
    tap_family_end(&family, "round: between all neighbours of f16");
    for (uint64_t pattern = 0; pattern < 0x7f80; pattern++)
        check_between(&family, ELEMENT_BF16, pattern);
    tap_family_end(&family, "round: between all neighbours of bf16");
    rng_seed(&r, 32);
    for (uint64_t field = 0; field < 255; field++) {
        check_between(&family, ELEMENT_F32, field << 23);
        check_between(&family, ELEMENT_F32, field << 23 | 1);
        check_between(&family, ELEMENT_F32, field << 23 | 0x7fffff);
        for (int i = 0; i < 200; i++)
            check_between(&family, ELEMENT_F32, field << 23 | rng_next(&r) >> 41);
    }
    tap_family_end(&family, "round: between neighbours of f32");

    for (int t = 0; t < ELEMENT_FLOATS; t++) {
        enum element_type type = (enum element_type)t;

        for (size_t i = 0; i < sizeof edges / sizeof *edges; i++) {
            double x = edges[i];

            expect_round(&family, type, x,
                         type == ELEMENT_F64 || x == 0 ? x
                         : x >= 0x1p128                ? (double)INFINITY
                                                       : 0);
        }
        tap_case(&family, isnan(element_round(type, NAN)), "NaN as %s", element_name(type));
    }
    expect_round(&family, ELEMENT_F16, 65519.999, 65504);
    expect_round(&family, ELEMENT_F16, 65520, INFINITY);
    expect_round(&family, ELEMENT_F64, 0.1, 0.1);
    tap_family_end(&family, "round: zeros, infinities, and beyond the range");
}

/* The bits of `pattern`, as many as elements of the type have, are those of its key. */
static void expect_key_bits(struct tap_family *family, enum element_type type, uint64_t pattern)
{
    const uint8_t byte = (uint8_t)pattern;
    const uint16_t half = (uint16_t)pattern;
    const uint32_t word = (uint32_t)pattern;
    const size_t size = element_size(type);
    const void *element = size == 1   ? (const void *)&byte
                          : size == 2 ? (const void *)&half
                          : size == 4 ? (const void *)&word
                                      : (const void *)&pattern;
    uint64_t bits;

    if (element_is_nan(type, element))
        return;
    bits = element_key_bits(type, element_key(type, element));
    tap_case(family, bits == pattern, "%s, 0x%" PRIx64 " becomes 0x%" PRIx64, element_name(type),
             pattern, bits);
}

static void check_key_bits(void)
{
    struct tap_family family = {0};
    struct rng r;

    rng_seed(&r, 34);
    for (enum element_type type = 0; type < ELEMENT_TYPES; type++) {
        const unsigned width = 8 * (unsigned)element_size(type);

        if (type == ELEMENT_BOOL)
            continue;
        for (uint64_t i = 0; i < UINT64_C(1) << (width < 16 ? width : 16); i++)
            expect_key_bits(&family, type, i << (width > 16 ? width - 16 : 0));
        for (uint64_t i = 0; i < 20000 && width > 16; i++) {
            expect_key_bits(&family, type, rng_next(&r) >> (64 - width));
            expect_key_bits(&family, type, i);
        }
    }
    tap_case(&family, element_key_bits(ELEMENT_BOOL, 1) == 1, "of true, 1");
    tap_family_end(&family, "the bits of a key");
}

static void check_swap(void)
{
    static const size_t sizes[] = {1, 2, 4, 8};
    struct tap_family family = {0};
    struct rng r;

    rng_seed(&r, 33);
    for (size_t s = 0; s < 4; s++) {
        size_t size = sizes[s];

        for (size_t count = 0; count < 70; count++) {
            for (size_t offset = 0; offset < 4; offset++) {
                /* Blocks of just the right size, so that a step outside is seen. */
                unsigned char *from = malloc(count * size + offset + 1);
                unsigned char *to = malloc(count * size + offset + 1);
                bool good = from && to;

                if (!good)
                    abort();
                for (size_t i = 0; i < count * size; i++)
                    from[offset + i] = (unsigned char)rng_next(&r);
                element_swap(to + offset, from + offset, count, size);
                for (size_t i = 0; i < count * size; i++)
                    good &=
                        to[offset + i] == from[offset + i / size * size + (size - 1 - i % size)];
                tap_case(&family, good, "%zu elements of %zu bytes at offset %zu", count, size,
                         offset);
                element_swap(to + offset, to + offset, count, size);
                tap_case(&family, memcmp(to + offset, from + offset, count * size) == 0,
                         "%zu elements of %zu bytes at offset %zu, in place", count, size, offset);
                free(from);
                free(to);
            }
        }
    }
    tap_family_end(&family, "swap: every byte in its place, also in place");
    {
        const uint32_t one = 1;
        unsigned char bytes[4];

        memcpy(bytes, &one, 4);
        tap_ok(element_host_is_big() == (bytes[3] == 1), "the machine's byte order");
    }
}

int main(void)
{
    check_names();
    check_passes();
    check_load();
    check_round();
    check_key_bits();
    check_swap();
    return tap_done();
}
