#include "config.h"

#include "core/number.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A decimal: digits[0].digits[1..] times 10^exponent. */
struct decimal {
    char digits[24];
    int length;
    int exponent;
};

/* Writes what is written alike in every form: NaN, and infinities. False for other numbers. */
static bool format_special(char text[NUMBER_MAX], double x)
{
    if (isnan(x))
        snprintf(text, NUMBER_MAX, "nan");
    else if (isinf(x))
        snprintf(text, NUMBER_MAX, "%sinf", signbit(x) ? "-" : "");
    else
        return false;
    return true;
}

/* The decimal of `length` digits nearest to x > 0. */
static struct decimal decimal_nearest(double x, int length)
{
    struct decimal d = {.length = length};
    char text[40];
    const char *exponent;

    snprintf(text, sizeof text, "%.*e", length - 1, x);
    d.digits[0] = text[0];
    if (length > 1)
        memcpy(d.digits + 1, text + 2, (size_t)length - 1);
    exponent = strchr(text, 'e');
    d.exponent = exponent ? (int)strtol(exponent + 1, NULL, 10) : 0;
    return d;
}

/* The next larger decimal of the same length. */
static struct decimal decimal_next(struct decimal d)
{
    int i = d.length - 1;

    while (i >= 0 && d.digits[i] == '9')
        d.digits[i--] = '0';
    if (i >= 0) {
        d.digits[i]++;
    } else {
        d.digits[0] = '1';
        d.exponent++;
    }
    return d;
}

/* Writes a decimal as an integer and an exponent, for strtod. snprintf takes longer than strtod. */
static void write_decimal(char *text, const struct decimal *d)
{
    int exponent = d->exponent - d->length + 1, left = abs(exponent), place = 1;

    memcpy(text, d->digits, (size_t)d->length);
    text += d->length;
    *text++ = 'e';
    *text++ = exponent < 0 ? '-' : '+';
    while (left / place >= 10)
        place *= 10;
    for (; place > 0; place /= 10)
        *text++ = (char)('0' + left / place % 10);
    *text = '\0';
}

/* The value of the type nearest to what `text` begins with; *end is where that ends. */
static double read_nearest(const char *text, enum element_type type, char **end)
{
    /* Rounding twice, to binary64 and then to a narrower type, could be wrong at a tie; reading a
       binary32 directly is not, and the halves are so coarse that 53 bits decide them. */
    return type == ELEMENT_F32 ? (double)strtof(text, end) : element_round(type, strtod(text, end));
}

static bool decimal_reads_back(const struct decimal *d, double x, enum element_type type)
{
    char text[sizeof d->digits + 16];

    write_decimal(text, d);
    return read_nearest(text, type, NULL) == x;
}

/* Whether a decimal of `length` digits reads back as x > 0; sets *d to the nearest. It may fail
   where the next larger one does not: below a power of two the values lie closer than above. */
static bool decimal_of_length(struct decimal *d, double x, enum element_type type, int length)
{
    int exponent;

    *d = decimal_nearest(x, length);
    if (decimal_reads_back(d, x, type))
        return true;
    if (frexp(x, &exponent) != 0.5)
        return false;
    *d = decimal_next(*d);
    return decimal_reads_back(d, x, type);
}

/* Digits of any decimal that survives being rounded to a normal number of the type and printed with
   as many: floor((significant bits - 1) log10 2), in IEEE 754's and C's terms DBL_DIG. */
static int digits_kept(enum element_type type)
{
    int digits = (element_formats[type].significant_bits - 1) * 30103 / 100000;

    return digits > 0 ? digits : 1;
}

/* The shortest decimal of x > 0, or the same with zeros behind it. A normal number that has one of
   up to digits_kept digits shows it when it is printed with so many. */
static struct decimal decimal_shortest(double x, enum element_type type)
{
    bool normal = x >= ldexp(1, element_formats[type].exponent_min);
    struct decimal d;

    for (int length = normal ? digits_kept(type) : 1; length < 17; length++)
        if (decimal_of_length(&d, x, type, length))
            return d;
    return decimal_nearest(x, 17);
}

void number_format(char text[NUMBER_MAX], double x, enum element_type type)
{
    struct decimal d;
    const char *sign = signbit(x) ? "-" : "";

    if (format_special(text, x))
        return;
    if (x == 0) {
        snprintf(text, NUMBER_MAX, "%s0", sign);
        return;
    }
    d = decimal_shortest(fabs(x), type);
    while (d.length > 1 && d.digits[d.length - 1] == '0')
        d.length--;

    if (d.exponent < -5 || d.exponent > 15) {
        snprintf(text, NUMBER_MAX, "%s%c%s%.*se%+03d", sign, d.digits[0], d.length > 1 ? "." : "",
                 d.length - 1, d.digits + 1, d.exponent);
    } else if (d.exponent < 0) {
        snprintf(text, NUMBER_MAX, "%s0.%.*s%.*s", sign, -d.exponent - 1, "0000", d.length,
                 d.digits);
    } else if (d.length <= d.exponent + 1) {
        snprintf(text, NUMBER_MAX, "%s%.*s%.*s", sign, d.length, d.digits,
                 d.exponent + 1 - d.length, "000000000000000");
    } else {
        snprintf(text, NUMBER_MAX, "%s%.*s.%.*s", sign, d.exponent + 1, d.digits,
                 d.length - d.exponent - 1, d.digits + d.exponent + 1);
    }
}

void number_format_integer(char text[NUMBER_MAX], const struct integer *x)
{
    uint32_t digit[4] = {(uint32_t)(x->high >> 32), (uint32_t)x->high, (uint32_t)(x->low >> 32),
                         (uint32_t)x->low};
    char decimal[NUMBER_MAX]; /* the last digit first */
    int length = 0;
    bool left;

    do {
        uint64_t remainder = 0;

        left = false;
        for (int i = 0; i < 4; i++) {
            uint64_t value = remainder << 32 | digit[i];

            digit[i] = (uint32_t)(value / 10);
            remainder = value % 10;
            left = left || digit[i] != 0;
        }
        decimal[length++] = (char)('0' + remainder);
    } while (left);
    if (x->negative)
        *text++ = '-';
    while (length > 0)
        *text++ = decimal[--length];
    *text = '\0';
}

void number_format_hex(char text[NUMBER_MAX], double x)
{
    const char *sign = signbit(x) ? "-" : "";
    uint64_t fraction;
    int exponent, digits = 13;

    if (format_special(text, x))
        return;
    if (x == 0) {
        snprintf(text, NUMBER_MAX, "%s0x0p+0", sign);
        return;
    }
    /* %a would do, but C libraries differ in the first digit. 52 bits follow it. */
    fraction = (uint64_t)ldexp(frexp(fabs(x), &exponent), 53) & (((uint64_t)1 << 52) - 1);
    exponent--;
    while (digits > 0 && fraction % 16 == 0) {
        fraction /= 16;
        digits--;
    }
    if (digits == 0)
        snprintf(text, NUMBER_MAX, "%s0x1p%+d", sign, exponent);
    else
        snprintf(text, NUMBER_MAX, "%s0x1.%0*" PRIx64 "p%+d", sign, digits, fraction, exponent);
}

bool number_parse(const char *text, enum element_type type, double *x)
{
    const char *magnitude = text + (*text == '-');
    char *end;

    if (strcmp(text, "nan") == 0) {
        *x = NAN;
        return true;
    }
    /* strtod would also take space, a plus, and other spellings. */
    if ((*magnitude < '0' || *magnitude > '9') && strcmp(magnitude, "inf") != 0)
        return false;
    *x = read_nearest(text, type, &end);
    return *end == '\0';
}

/* Reads leading digits into *value; returns where they end, NULL when there are none or too many.
 */
static const char *parse_digits(const char *text, uint64_t *value)
{
    uint64_t v = 0;

    if (*text < '0' || *text > '9')
        return NULL;
    for (; *text >= '0' && *text <= '9'; text++) {
        unsigned digit = (unsigned)(*text - '0');
        if (v > ((uint64_t)INT64_MAX - digit) / 10)
            return NULL;
        v = v * 10 + digit;
    }
    *value = v;
    return text;
}

bool number_parse_count(const char *text, uint64_t *count)
{
    uint64_t value;
    const char *end = parse_digits(text, &value);

    if (!end || *end)
        return false;
    *count = value;
    return true;
}

bool number_parse_size(const char *text, uint64_t *size)
{
    static const struct {
        const char *suffix;
        uint64_t factor;
    } units[] = {
        {"", 1},
        {"B", 1},
        {"kB", 1000},
        {"KB", 1000},
        {"MB", 1000000},
        {"GB", 1000000000},
        {"TB", 1000000000000},
        {"K", (uint64_t)1 << 10},
        {"M", (uint64_t)1 << 20},
        {"G", (uint64_t)1 << 30},
        {"T", (uint64_t)1 << 40},
        {"KiB", (uint64_t)1 << 10},
        {"MiB", (uint64_t)1 << 20},
        {"GiB", (uint64_t)1 << 30},
        {"TiB", (uint64_t)1 << 40},
    };
    uint64_t value;
    const char *end = parse_digits(text, &value);

    if (!end)
        return false;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        if (strcmp(end, units[i].suffix) != 0)
            continue;
        if (value > (uint64_t)INT64_MAX / units[i].factor)
            return false;
        *size = value * units[i].factor;
        return true;
    }
    return false;
}
