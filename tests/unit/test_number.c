/*
 * number.h: the shortest decimals, and sizes and counts.
 *
 * Whether a decimal reads back is decided here with integers, without strtod: a decimal stands for
 * x when it lies between the points halfway to the neighbours of x; on such a point when x is even.
 */
/* Tags: ports emulator */
#include "config.h"

#include "core/number.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data_gen.h"
#include "lib/tap.h"

/*
 * Natural numbers, just enough for (up to 2^64) * 10^400 * 2^1100.
 */

#define LIMBS 90

struct natural {
    uint32_t limb[LIMBS]; /* the least significant first */
    int used;
};

static void natural_set(struct natural *a, uint64_t value)
{
    a->used = 0;
    for (; value; value >>= 32)
        a->limb[a->used++] = (uint32_t)value;
}

static void natural_times(struct natural *a, uint32_t factor)
{
    uint64_t carry = 0;

    for (int i = 0; i < a->used; i++) {
        carry += (uint64_t)a->limb[i] * factor;
        a->limb[i] = (uint32_t)carry;
        carry >>= 32;
    }
    if (carry)
        a->limb[a->used++] = (uint32_t)carry;
    if (a->used >= LIMBS)
        abort();
}

/* a * 2^two * 10^ten */
static void natural_scale(struct natural *a, int two, int ten)
{
    for (; ten >= 9; ten -= 9)
        natural_times(a, 1000000000);
    for (; ten > 0; ten--)
        natural_times(a, 10);
    for (; two >= 31; two -= 31)
        natural_times(a, (uint32_t)1 << 31);
    if (two > 0)
        natural_times(a, (uint32_t)1 << two);
}

static int natural_compare(const struct natural *a, const struct natural *b)
{
    if (a->used != b->used)
        return a->used < b->used ? -1 : 1;
    for (int i = a->used - 1; i >= 0; i--)
        if (a->limb[i] != b->limb[i])
            return a->limb[i] < b->limb[i] ? -1 : 1;
    return 0;
}

/* Compares digits * 10^ten with binary * 2^two. */
static int compare(uint64_t digits, int ten, uint64_t binary, int two)
{
    struct natural a, b;

    natural_set(&a, digits);
    natural_set(&b, binary);
    natural_scale(&a, two < 0 ? -two : 0, ten > 0 ? ten : 0);
    natural_scale(&b, two > 0 ? two : 0, ten < 0 ? -ten : 0);
    return natural_compare(&a, &b);
}

/* Whether digits * 10^ten, rounded to nearest, ties to even, is the positive and finite element. */
static bool reads_back(uint64_t digits, int ten, enum element_type type, uint64_t pattern)
{
    int fraction_bits = (int)data_fraction_bits(type);
    int bias = (1 << (data_exponent_bits(type) - 1)) - 1;
    uint64_t hidden = (uint64_t)1 << fraction_bits;
    uint64_t mantissa = pattern & (hidden - 1);
    int field = (int)(pattern >> fraction_bits), exponent, low, high;

    mantissa += field ? hidden : 0;
    exponent = (field ? field : 1) - bias - fraction_bits;
    /* In quarters of the last place: below a power of two the neighbour is nearer. */
    high = compare(digits, ten, 4 * mantissa + 2, exponent - 2);
    low = compare(digits, ten, 4 * mantissa - (mantissa == hidden && field > 1 ? 1 : 2),
                  exponent - 2);
    return mantissa % 2 ? low > 0 && high < 0 : low >= 0 && high <= 0;
}

/* Digits of the exact value of x > 0: text gets all of them, without the point; returns the
   decimal exponent of the first. */
static int exact_digits(double x, char text[800])
{
    char long_text[820];

    /* A binary64 has at most 767 significant digits; the C library writes them exactly. */
    snprintf(long_text, sizeof long_text, "%.769e", x);
    text[0] = long_text[0];
    memcpy(text + 1, long_text + 2, 769);
    text[770] = '\0';
    return (int)strtol(strchr(long_text, 'e') + 1, NULL, 10);
}

static uint64_t leading(const char *digits, int length)
{
    uint64_t value = 0;

    for (int i = 0; i < length; i++)
        value = value * 10 + (uint64_t)(digits[i] - '0');
    return value;
}

/* The plain or scientific spelling of digits d[0].d[1..length) * 10^exponent, written out again
   from what the header says. */
static void spell(char *out, const char *d, int length, int exponent)
{
    if (exponent < -5 || exponent > 15) {
        *out++ = d[0];
        if (length > 1)
            *out++ = '.';
        for (int i = 1; i < length; i++)
            *out++ = d[i];
        sprintf(out, "e%c%02d", exponent < 0 ? '-' : '+', abs(exponent));
        return;
    }
    if (exponent < 0)
        *out++ = '0';
    for (int place = exponent < 0 ? -1 : exponent; place >= 0 || exponent - place < length;
         place--) {
        int i = exponent - place;
        if (place == -1)
            *out++ = '.';
        *out++ = (char)(i >= 0 && i < length ? d[i] : '0');
    }
    *out = '\0';
}

/* Everything that a number's text has to be. */
static void check_number(struct tap_family *family, enum element_type type, uint64_t pattern)
{
    char text[NUMBER_MAX + 8], negative[NUMBER_MAX], digits[64] = "", expected[400], exact[800];
    double x;
    int length = 0, exponent = 0, exact_exponent, ten;
    uint64_t value;
    bool point = false, good;

    memset(text, '#', sizeof text);
    {
        unsigned char bytes[8];
        data_put_pattern(type, bytes, 0, pattern);
        x = data_value(type, bytes, 0);
    }
    number_format(text, x, type);
    number_format(negative, -x, type);
    if (!tap_case(family,
                  memchr(text, 0, NUMBER_MAX) && negative[0] == '-' &&
                      strcmp(negative + 1, text) == 0,
                  "%a: '%.31s', negative '%.31s'", x, text, negative))
        return;

    /* Its digits, and the exponent of the first that counts. */
    for (const char *p = text; *p && *p != 'e'; p++) {
        if (*p == '.') {
            point = true;
            continue;
        }
        exponent += length > 0 && !point;
        if (length == 0 && *p == '0')
            exponent -= point;
        else if (length < 60)
            digits[length++] = *p;
    }
    if (length > 0 && text[0] == '0')
        exponent--;
    if (strchr(text, 'e'))
        exponent += (int)strtol(strchr(text, 'e') + 1, NULL, 10);
    while (length > 1 && digits[length - 1] == '0')
        length--;
    if (!tap_case(family, length >= 1 && length <= 17, "%a: '%s' has %d digits", x, text, length))
        return;
    spell(expected, digits, length, exponent);
    tap_case(family, strcmp(text, expected) == 0, "%a: '%s' should be spelt '%s'", x, text,
             expected);

    value = leading(digits, length);
    ten = exponent - length + 1;
    if (!tap_case(family, reads_back(value, ten, type, pattern), "%s %a: '%s' does not read back",
                  element_name(type), x, text))
        return;

    /* No shorter decimal does: neither of the two around x. */
    exact_exponent = exact_digits(x, exact);
    if (length > 1) {
        uint64_t below = leading(exact, length - 1);
        int at = exact_exponent - length + 2;
        good = !(below && reads_back(below, at, type, pattern)) &&
               !reads_back(below + 1, at, type, pattern);
        tap_case(family, good, "%s %a: '%s' is not the shortest", element_name(type), x, text);
    }
    /* The nearest to x of its length that reads back. */
    {
        uint64_t below = leading(exact, length), other;
        int at = exact_exponent - length + 1;

        /* The digits may have carried into another place: then they are a one and zeros. */
        if (ten != at)
            value *= 10;
        other = value == below ? below + 1 : below;
        good = value == below || value == below + 1;
        if (good && reads_back(other, at, type, pattern)) {
            const char *rest = exact + length;
            int against_half = strncmp(rest, "5", 1);

            if (against_half == 0)
                against_half = rest[1 + strspn(rest + 1, "0")] != '\0';
            good = against_half == 0 || (against_half > 0) == (value == below + 1);
        }
        tap_case(family, good, "%s %a: '%s' is not the nearest of its length", element_name(type),
                 x, text);
    }
}

static void check_known(void)
{
    static const struct {
        double x;
        enum element_type type;
        const char *text;
    } known[] = {
        {0.0, ELEMENT_F64, "0"},
        {-0.0, ELEMENT_F64, "-0"},
        {1, ELEMENT_F64, "1"},
        {-1, ELEMENT_F32, "-1"},
        {10, ELEMENT_F64, "10"},
        {100, ELEMENT_F16, "100"},
        {0.1, ELEMENT_F64, "0.1"},
        {-0.1, ELEMENT_F64, "-0.1"},
        {0.5, ELEMENT_F64, "0.5"},
        {0.3, ELEMENT_F64, "0.3"},
        {0.1 + 0.2, ELEMENT_F64, "0.30000000000000004"},
        {1.0 / 3, ELEMENT_F64, "0.3333333333333333"},
        {2.0 / 3, ELEMENT_F64, "0.6666666666666666"},
        {123.456, ELEMENT_F64, "123.456"},
        {0.001, ELEMENT_F64, "0.001"},
        {1e-4, ELEMENT_F64, "0.0001"},
        {1e-5, ELEMENT_F64, "0.00001"},
        {1.5e-5, ELEMENT_F64, "0.000015"},
        {9.9e-6, ELEMENT_F64, "9.9e-06"},
        {1e-6, ELEMENT_F64, "1e-06"},
        {-1e-7, ELEMENT_F64, "-1e-07"},
        {1e15, ELEMENT_F64, "1000000000000000"},
        {999999999999999.9, ELEMENT_F64, "999999999999999.9"},
        {9999999999999998.0, ELEMENT_F64, "9999999999999998"},
        {1e16, ELEMENT_F64, "1e+16"},
        {1.5e16, ELEMENT_F64, "1.5e+16"},
        {12345678901234567.0, ELEMENT_F64, "1.2345678901234568e+16"},
        {1e21, ELEMENT_F64, "1e+21"},
        {1e22, ELEMENT_F64, "1e+22"},
        {1e23, ELEMENT_F64, "1e+23"},
        {9007199254740991.0, ELEMENT_F64, "9007199254740991"},
        {9007199254740992.0, ELEMENT_F64, "9007199254740992"},
        {9007199254740994.0, ELEMENT_F64, "9007199254740994"},
        {9007199254740996.0, ELEMENT_F64, "9007199254740996"},
        {5e-324, ELEMENT_F64, "5e-324"},
        {-5e-324, ELEMENT_F64, "-5e-324"},
        {1e-323, ELEMENT_F64, "1e-323"},
        {2.2250738585072014e-308, ELEMENT_F64, "2.2250738585072014e-308"},
        {2.225073858507201e-308, ELEMENT_F64, "2.225073858507201e-308"},
        {1.7976931348623157e+308, ELEMENT_F64, "1.7976931348623157e+308"},
        {-DBL_MAX, ELEMENT_F64, "-1.7976931348623157e+308"},
        {0x1p-44, ELEMENT_F64, "5.684341886080802e-14"},
        {0x1p-1022, ELEMENT_F64, "2.2250738585072014e-308"},
        {0x1p1023, ELEMENT_F64, "8.98846567431158e+307"},
        {9.5367431640625e-07, ELEMENT_F64, "9.5367431640625e-07"},
        {2e-44, ELEMENT_F64, "2e-44"},
        {(double)0.1f, ELEMENT_F64, "0.10000000149011612"},
        {(double)0.1f, ELEMENT_F32, "0.1"},
        {(double)FLT_MAX, ELEMENT_F32, "3.4028235e+38"},
        {(double)FLT_MIN, ELEMENT_F32, "1.1754944e-38"},
        {0x1p-149, ELEMENT_F32, "1e-45"},
        {16777216, ELEMENT_F32, "16777216"},
        {33554432, ELEMENT_F32, "33554432"},
        {8589973504, ELEMENT_F32, "8589974000"},
        {65504, ELEMENT_F16, "65500"},
        {0x1p-24, ELEMENT_F16, "6e-08"},
        {0x1.554p-2, ELEMENT_F16, "0.3333"},
        {3.140625, ELEMENT_F16, "3.14"},
        {3.140625, ELEMENT_BF16, "3.14"},
        {0x1.9ap-4, ELEMENT_BF16, "0.1"},
        {0x1.fep127, ELEMENT_BF16, "3.39e+38"},
        {256, ELEMENT_BF16, "256"},
        {NAN, ELEMENT_F64, "nan"},
        {-NAN, ELEMENT_F64, "nan"},
        {NAN, ELEMENT_F16, "nan"},
        {INFINITY, ELEMENT_F64, "inf"},
        {-INFINITY, ELEMENT_F64, "-inf"},
        {-INFINITY, ELEMENT_BF16, "-inf"},
    };
    struct tap_family family = {0};

    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        char text[NUMBER_MAX];
        double x = known[i].x;

        number_format(text, x, known[i].type);
        tap_case(&family, strcmp(text, known[i].text) == 0, "%a as %s is '%s', not '%s'", x,
                 element_name(known[i].type), text, known[i].text);
    }
    tap_family_end(&family, "format: known numbers");
}

static void check_format(void)
{
    struct tap_family family = {0};
    struct rng r;

    for (uint64_t pattern = 1; pattern < 0x7c00; pattern++)
        check_number(&family, ELEMENT_F16, pattern);
    tap_family_end(&family, "format: every f16");
    for (uint64_t pattern = 1; pattern < 0x7f80; pattern++)
        check_number(&family, ELEMENT_BF16, pattern);
    tap_family_end(&family, "format: every bf16");

    rng_seed(&r, 41);
    for (uint64_t field = 0; field < 255; field++) {
        for (uint64_t fraction = field == 0; fraction < 3; fraction++)
            check_number(&family, ELEMENT_F32, field << 23 | fraction);
        check_number(&family, ELEMENT_F32, field << 23 | 0x7fffff);
        for (int i = 0; i < 15; i++)
            check_number(&family, ELEMENT_F32, field << 23 | rng_next(&r) >> 41 | (field == 0));
    }
    tap_family_end(&family, "format: f32 of every exponent");

    {
        /* Beside these lie all decimals of 8 digits that become another binary32 when they are
           read as binary64 first; found by going through them all. */
        static const uint32_t twice[] = {0x0a4170a7, 0x128289d0, 0x152e43fd, 0x15ae43fd, 0x162e43fd,
                                         0x16ae43fd, 0x172e43fd, 0x78fee4af, 0x797ee4af};

        for (size_t i = 0; i < sizeof twice / sizeof *twice; i++)
            for (uint32_t beside = 0; beside < 3; beside++)
                check_number(&family, ELEMENT_F32, twice[i] - 1 + beside);
    }
    tap_family_end(&family, "format: f32 that rounding twice would spoil");

    for (uint64_t field = 0; field < 2047; field++) {
        check_number(&family, ELEMENT_F64, field << 52 | (field == 0));
        check_number(&family, ELEMENT_F64, field << 52 | 1);
        check_number(&family, ELEMENT_F64, field << 52 | 0xfffffffffffff);
        check_number(&family, ELEMENT_F64, field << 52 | rng_next(&r) >> 12 | (field == 0));
    }
    tap_family_end(&family, "format: f64 of every exponent, powers of two above all");

    /* Numbers as people write them: few digits, and sums of them. */
    for (int i = 0; i < 3000; i++) {
        double x = (double)(1 + rng_below(&r, i % 2 ? 1000 : 100000000));
        uint64_t pattern;

        for (uint64_t j = rng_below(&r, 12); j > 0; j--)
            x = i % 3 ? x / 10 : x * 10;
        if (i % 5 == 0)
            x += 0.1;
        memcpy(&pattern, &x, sizeof x);
        check_number(&family, ELEMENT_F64, pattern);
    }
    tap_family_end(&family, "format: short decimals and integers");
}

static void check_sizes(void)
{
    static const struct {
        const char *text;
        uint64_t value;
    } good[] = {
        {"0", 0},
        {"1", 1},
        {"007", 7},
        {"4096", 4096},
        {"10B", 10},
        {"1kB", 1000},
        {"3MB", 3000000},
        {"2GB", 2000000000},
        {"1TB", 1000000000000},
        {"1K", 1024},
        {"1M", 1048576},
        {"1G", 1073741824},
        {"1T", UINT64_C(1) << 40},
        {"64KiB", 65536},
        {"16MiB", 16777216},
        {"4GiB", UINT64_C(1) << 32},
        {"2TiB", UINT64_C(1) << 41},
        {"0GiB", 0},
        {"9223372036854775807", INT64_MAX},
        {"9223372036854775807B", INT64_MAX},
        {"8388607TiB", UINT64_C(8388607) << 40},
        {"9007199254740991K", UINT64_C(9007199254740991) << 10},
        {"9223372036854775kB", UINT64_C(9223372036854775000)},
    };
    static const char *const bad[] = {"",
                                      " ",
                                      "-1",
                                      "+1",
                                      " 1",
                                      "1 ",
                                      "1 KiB",
                                      "KiB",
                                      "B",
                                      "1.5",
                                      "1.5GiB",
                                      "1e6",
                                      "0x10",
                                      "1Ki",
                                      "1kb",
                                      "1kiB",
                                      "1MIB",
                                      "1mb",
                                      "1BB",
                                      "1KiBs",
                                      "1PiB",
                                      "1E",
                                      "1,000",
                                      "1_000",
                                      "one",
                                      "1K1",
                                      "1\n",
                                      "9223372036854775808",
                                      "18446744073709551616",
                                      "99999999999999999999999999",
                                      "8388608TiB",
                                      "9007199254740992K",
                                      "9223372036854776kB",
                                      "9223373TB",
                                      "1k",
                                      "1b"};
    struct tap_family family = {0};

    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        uint64_t value = 77;
        bool taken = number_parse_size(good[i].text, &value);

        tap_case(&family, taken && value == good[i].value, "'%s': %d, %" PRIu64, good[i].text,
                 taken, value);
    }
    tap_family_end(&family, "parse_size: good ones");
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        uint64_t value = 77;

        tap_case(&family, !number_parse_size(bad[i], &value) && value == 77, "'%s' is taken",
                 bad[i]);
    }
    tap_family_end(&family, "parse_size: bad ones are refused, and change nothing");

    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        bool plain = strspn(good[i].text, "0123456789") == strlen(good[i].text);
        uint64_t value = 77;
        bool taken = number_parse_count(good[i].text, &value);

        tap_case(&family, taken == plain && value == (plain ? good[i].value : 77),
                 "'%s': %d, %" PRIu64, good[i].text, taken, value);
    }
    tap_family_end(&family, "parse_count: digits alone");
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        uint64_t value = 77;

        tap_case(&family, !number_parse_count(bad[i], &value) && value == 77, "'%s' is taken",
                 bad[i]);
    }
    tap_family_end(&family, "parse_count: bad ones are refused, and change nothing");
}

static void check_hex(void)
{
    static const struct {
        double x;
        const char *text;
    } known[] = {
        {0.0, "0x0p+0"},
        {-0.0, "-0x0p+0"},
        {1, "0x1p+0"},
        {-3, "-0x1.8p+1"},
        {0.1, "0x1.999999999999ap-4"},
        {0x1.00000000000ffp+200, "0x1.00000000000ffp+200"},
        {DBL_MAX, "0x1.fffffffffffffp+1023"},
        {DBL_MIN, "0x1p-1022"},
        {0x1p-1074, "0x1p-1074"},
        {-0x1.8p-1073, "-0x1.8p-1073"},
        {INFINITY, "inf"},
        {-INFINITY, "-inf"},
        {NAN, "nan"},
    };
    struct tap_family family = {0};
    char text[NUMBER_MAX];
    struct rng r;

    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        number_format_hex(text, known[i].x);
        tap_ok(strcmp(text, known[i].text) == 0, "hexadecimal: %s is %s", known[i].text, text);
    }
    rng_seed(&r, 31);
    for (int i = 0; i < 20000; i++) {
        uint64_t bits = rng_next(&r) << rng_below(&r, 52), got_bits;
        double x, got;

        memcpy(&x, &bits, sizeof x);
        number_format_hex(text, x);
        got = strtod(text, NULL);
        memcpy(&got_bits, &got, sizeof got);
        tap_case(&family, isnan(x) ? isnan(got) : bits == got_bits, "%a is %s", x, text);
    }
    tap_family_end(&family, "what is written in hexadecimal is read back by strtod");
}

static void check_parse(void)
{
    static const char *const bad[] = {"",    " 1",  "1 ",   "+1",       "1x",    "0x",  "-nan",
                                      "NaN", "Inf", "NA",   "infinity", "1e",    "--1", ".5",
                                      "-",   "1,5", "null", "e10",      "error", "nan0"};
    static const struct {
        const char *text;
        enum element_type type;
        double value;
    } ties[] = {
        {"2049", ELEMENT_F16, 2048},
        {"2049.00000000000000000001", ELEMENT_F16, 2050},
        {"-2049.00000000000000000001", ELEMENT_F16, -2050},
        {"2050.99999999999999999999", ELEMENT_F16, 2050},
        {"0x801.0000000000000000001p0", ELEMENT_F16, 2050},
        {"65519.9999999999999999999", ELEMENT_F16, 65504},
        {"65520", ELEMENT_F16, INFINITY},
        {"257.000000000000000000001", ELEMENT_BF16, 258},
        {"-0x1.02ffffffffffffffffffp8", ELEMENT_BF16, -258},
        {"1e400", ELEMENT_BF16, INFINITY},
        {"17.0000000000000000000001", ELEMENT_F8E4M3, 18},
        {"9.00000000000000000000001", ELEMENT_F8E5M2, 10},
        {"1e-400", ELEMENT_F8E5M2, 0},
    };
    struct tap_family same = {0}, near = {0}, refused = {0};
    struct rng r;

    rng_seed(&r, 32);
    for (enum element_type type = 0; type < ELEMENT_FLOATS; type++) {
        for (int i = 0; i < 5000; i++) {
            uint64_t bits = rng_next(&r);
            char text[2][NUMBER_MAX];
            double x = element_load(type, &bits);

            number_format(text[0], x, type);
            number_format_hex(text[1], x);
            for (int form = 0; form < 2; form++) {
                double got = 77;
                bool taken = number_parse(text[form], type, &got);

                tap_case(&same, taken && (isnan(x) ? isnan(got) : memcmp(&x, &got, sizeof x) == 0),
                         "%s of %s: %d, %a", text[form], element_name(type), taken, got);
            }
        }
    }
    tap_family_end(&same, "what is written is read back, signs of zeros too");
    for (size_t i = 0; i < sizeof ties / sizeof *ties; i++) {
        double x = 77;

        tap_case(&near, number_parse(ties[i].text, ties[i].type, &x) && x == ties[i].value,
                 "%s is %a", ties[i].text, x);
    }
    tap_family_end(&near, "a number that is close to a tie is rounded once");
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        double x;

        tap_case(&refused, !number_parse(bad[i], ELEMENT_F64, &x), "'%s' is taken", bad[i]);
    }
    tap_family_end(&refused, "what is no number is refused");
}

/* Integers in the order of their values, and doubles that have the same. */
static void check_integers(void)
{
    static const struct {
        const char *text;
        double at; /* of the same value; a NaN where there is none */
    } ordered[] = {
        {"-340282366920938463463374607431768211455", NAN},
        {"-340282366920938425684442744474606501888", -0x1.fffffffffffffp127},
        {"-18446744073709551617", NAN},
        {"-18446744073709551616", -0x1p64},
        {"-18446744073709551615", NAN},
        {"-9007199254740993", NAN},
        {"-9007199254740992", -0x1p53},
        {"-1", -1},
        {"0", 0},
        {"1", 1},
        {"4294967296", 0x1p32},
        {"9007199254740991", 0x1p53 - 1},
        {"9007199254740993", NAN},
        {"9007199254740994", 0x1p53 + 2},
        {"18446744073709551615", NAN},
        {"18446744073709551616", 0x1p64},
        {"36893488147419103233", NAN},
        {"340282366920938463463374607431768211455", NAN},
    };
    static const char *const bad[] = {"",
                                      "-",
                                      "+1",
                                      "1.0",
                                      " 1",
                                      "1 ",
                                      "1e3",
                                      "0x1",
                                      "inf",
                                      "nan",
                                      "340282366920938463463374607431768211456",
                                      "10000000000000000000000000000000000000000"};
    const int count = sizeof ordered / sizeof *ordered;
    struct tap_family read = {0}, pairs = {0}, mixed = {0}, refused = {0};

    for (int i = 0; i < count; i++) {
        char text[NUMBER_MAX] = "";
        struct integer x = {0}, y;

        tap_case(&read, number_parse_integer(ordered[i].text, &x) && x.known, "%s",
                 ordered[i].text);
        number_format_integer(text, &x);
        tap_case(&read, strcmp(text, ordered[i].text) == 0, "%s is %s", ordered[i].text, text);
        tap_case(
            &mixed,
            number_compare_mixed(&x, INFINITY) < 0 && number_compare_mixed(&x, -INFINITY) > 0 &&
                number_compare_mixed(&x, 0x1p128) < 0 && number_compare_mixed(&x, -0x1p128) > 0,
            "%s and what is greater than all", text);
        for (int j = 0; j < count; j++) {
            const int order = (i > j) - (i < j);
            const double at = ordered[j].at;
            int got;

            (void)number_parse_integer(ordered[j].text, &y);
            got = number_compare_integers(&x, &y);
            tap_case(&pairs, (got > 0) - (got < 0) == order, "%s and %s: %d", text, ordered[j].text,
                     got);
            if (isnan(at))
                continue;
            got = number_compare_mixed(&x, at);
            tap_case(&mixed, (got > 0) - (got < 0) == order, "%s and %a: %d", text, at, got);
            if (fabs(at) >= 0x1p52) /* nothing lies between it and the next integer */
                continue;
            got = number_compare_mixed(&x, nextafter(at, INFINITY));
            tap_case(&mixed, got < 0 ? i <= j : got > 0 && i > j, "%s and above %a: %d", text, at,
                     got);
            got = number_compare_mixed(&x, nextafter(at, -INFINITY));
            tap_case(&mixed, got > 0 ? i >= j : got < 0 && i < j, "%s and below %a: %d", text, at,
                     got);
        }
    }
    tap_family_end(&read, "integers are read and written");
    tap_family_end(&pairs, "and compared");
    tap_family_end(&mixed, "with doubles, too");
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct integer x;

        tap_case(&refused, !number_parse_integer(bad[i], &x), "'%s' is taken", bad[i]);
    }
    tap_family_end(&refused, "what is no integer of 128 bits is refused");
}

int main(void)
{
    check_integers();
    check_known();
    check_format();
    check_sizes();
    check_hex();
    check_parse();
    return tap_done();
}
