#include "config.h"

#include "core/number.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/digits.h"
#include "core/element_round.h"
#include "sys/float_mode.h"
#include "sys/point.h"

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
    POINT_DEFAULT;
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

/* The binary64 number that is what `text` begins with, rounded as a mode says. */
static double read_as(struct float_mode mode, const char *text, char **end)
{
    const struct float_mode given = float_mode_get();
    double x;

    float_mode_set(mode);
    x = strtod(text, end);
    float_mode_set(given);
    return x;
}

/* The value of the type nearest to what `text` begins with; *end is where that ends. */
static double read_nearest(const char *text, enum element_type type, char **end)
{
    POINT_DEFAULT;
    double x;

    if (type == ELEMENT_F32)
        return (double)strtof(text, end);
    if (element_size(type) > 2)
        return strtod(text, end);
    /* Rounded to nearest, a number that binary64 lacks could become a tie of two values of the type. Of
       the two numbers of binary64 around it, the one with an odd last bit is never a tie. */
    x = read_as(FLOAT_MODE_DOWN, text, end);
    return element_round(type, exact_bits(x) % 2 != 0 ? x : read_as(FLOAT_MODE_UP, text, end));
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

#ifdef __SIZEOF_INT128__

__extension__ typedef unsigned __int128 wide;

/* Powers of ten that decimal_quickly multiplies and divides by, at most. */
#    define TEN_MAX 21

/* 10^n for n up to TEN_MAX. */
static wide power_of_ten(int n)
{
    static const uint64_t thousands[] = {
        1, 1000, 1000000, 1000000000, 1000000000000, 1000000000000000, 1000000000000000000};
    static const unsigned units[] = {1, 10, 100};

    return n / 3 < 7 ? (wide)thousands[n / 3] * units[n % 3]
                     : (wide)thousands[6] * 1000 * units[n % 3];
}

/* The shortest decimal of x > 0 by integers of 128 bits, if these are wide enough: from about 1e-5
   to 1e37, which most results are. The numbers that read back as x are an interval, half way to the
   neighbours, including its ends if x is even. All is multiplied by a power of ten, so that x has
   17 or 18 digits before the point; then digits are taken off at the end for as long as there is an
   integer in the interval, and of these the nearest to x is it. False if they are not. */
static bool decimal_quickly(struct decimal *d, double x, enum element_type type)
{
    const struct element_format *format = &element_formats[type];
    const int last = format->exponent_min - format->significant_bits + 1;
    int exponent, unit, scale, length = 0;
    uint64_t m, low, high, nearest, part, power = 1;
    wide ten, divisor, numerator, rest;
    bool even, bound;
    char digits[20];

    (void)frexp(x, &exponent); /* x < 2^exponent */
    unit = exponent - format->significant_bits < last ? last : exponent - format->significant_bits;
    if (element_is_integer(type) || exponent < -16 || exponent > 122)
        return false;
    m = (uint64_t)ldexp(x, -unit); /* exactly, and x is m 2^unit */
    /* A wide interval may contain both 0.1 and 0.09, which have one digit. */
    if (ldexp((double)m, unit) != x || m < 64)
        return false;
    even = m % 2 == 0;
    bound = m == (uint64_t)1 << (format->significant_bits - 1) && unit > last;
    scale = 16 - (int)floor((exponent - 1) * 0.30103);
    if (abs(scale) > TEN_MAX)
        return false;
    ten = power_of_ten(abs(scale));
    /* t 2^(unit - 2) 10^scale is t ten / divisor. t has 55 bits and 10^21 has 70; the unit is -69
       at least, and where the scale is negative, x has 58 bits before the point, and so it is not.
     */
    divisor = scale < 0 ? ten : (wide)1;
    ten = scale < 0 ? (wide)1 : ten;
    if (unit < 2)
        divisor <<= 2 - unit;
    else
        ten <<= unit - 2;
    numerator = (wide)(4 * m - (bound ? 1 : 2)) * ten;
    low = (uint64_t)(numerator / divisor) + (!even || numerator % divisor != 0);
    numerator = (wide)(4 * m + 2) * ten;
    high = (uint64_t)(numerator / divisor) - (!even && numerator % divisor == 0);
    if (low > high)
        return false;
    while ((low + 9) / 10 <= high / 10) {
        low = (low + 9) / 10;
        high /= 10;
        power *= 10;
        scale--;
    }
    numerator = (wide)(4 * m) * ten;
    part = (uint64_t)(numerator / divisor) % power;
    nearest = (uint64_t)(numerator / divisor) / power;
    rest = numerator % divisor;
    if (power == 1)
        nearest += rest > divisor - rest || (rest == divisor - rest && nearest % 2);
    else
        nearest += part > power / 2 || (part == power / 2 && (rest > 0 || nearest % 2));
    nearest = nearest < low ? low : nearest > high ? high : nearest;
    for (; nearest > 0; nearest /= 10)
        digits[length++] = (char)('0' + nearest % 10);
    for (int i = 0; i < length; i++)
        d->digits[i] = digits[length - 1 - i];
    d->length = length;
    d->exponent = length - 1 - scale;
    return true;
}

#else

static bool decimal_quickly(struct decimal *d, double x, enum element_type type)
{
    (void)d, (void)x, (void)type;
    return false;
}

#endif

/* Puts characters at the end of a text. Returns the new end. */
static char *put(char *end, const char *characters, int count)
{
    memcpy(end, characters, (size_t)count);
    return end + count;
}

void number_format(char text[NUMBER_MAX], double x, enum element_type type)
{
    static const char zeros[] = "0000000000000000";
    struct decimal d;

    if (format_special(text, x))
        return;
    if (signbit(x))
        *text++ = '-';
    if (x == 0) {
        memcpy(text, "0", 2);
        return;
    }
    x = fabs(x);
    if (!decimal_quickly(&d, x, type))
        d = decimal_shortest(x, type);
    while (d.length > 1 && d.digits[d.length - 1] == '0')
        d.length--;

    if (d.exponent < -5 || d.exponent > 15) {
        *text++ = d.digits[0];
        if (d.length > 1)
            *text++ = '.';
        text = put(text, d.digits + 1, d.length - 1);
        snprintf(text, 8, "e%+03d", d.exponent);
        return;
    }
    if (d.exponent < 0) {
        text = put(text, "0.", 2);
        text = put(text, zeros, -d.exponent - 1);
        text = put(text, d.digits, d.length);
    } else if (d.length <= d.exponent + 1) {
        text = put(text, d.digits, d.length);
        text = put(text, zeros, d.exponent + 1 - d.length);
    } else {
        text = put(text, d.digits, d.exponent + 1);
        *text++ = '.';
        text = put(text, d.digits + d.exponent + 1, d.length - d.exponent - 1);
    }
    *text = '\0';
}

char *number_write(char *text, uint64_t x)
{
    char digits[20];
    int length = 0;

    do
        digits[length++] = (char)('0' + x % 10);
    while (x /= 10);
    while (length > 0)
        *text++ = digits[--length];
    *text = '\0';
    return text;
}

void number_format_integer(char text[NUMBER_MAX], const struct integer *x)
{
    uint32_t digit[4] = {(uint32_t)x->low, (uint32_t)(x->low >> 32), (uint32_t)x->high,
                         (uint32_t)(x->high >> 32)};
    char decimal[NUMBER_MAX]; /* the last digit first */
    int length = 0;

    do
        decimal[length++] = (char)('0' + digits_divide(digit, 4, 10));
    while ((digit[0] | digit[1] | digit[2] | digit[3]) != 0);
    if (x->negative)
        *text++ = '-';
    while (length > 0)
        *text++ = decimal[--length];
    *text = '\0';
}

bool number_parse_integer(const char *text, struct integer *x)
{
    const bool negative = *text == '-';
    struct product ten;

    *x = (struct integer){.known = true};
    text += negative;
    if (!*text)
        return false;
    for (; *text; text++) {
        const uint64_t unit = (uint64_t)(*text - '0');

        if (*text < '0' || *text > '9')
            return false;
        ten = product_of(x->low, 10);
        if (__builtin_add_overflow(ten.low, unit, &x->low))
            ten.high++;
        if (__builtin_mul_overflow(x->high, UINT64_C(10), &x->high) ||
            __builtin_add_overflow(x->high, ten.high, &x->high))
            return false;
    }
    x->negative = negative && (x->high | x->low) != 0;
    return true;
}

int number_compare_integers(const struct integer *x, const struct integer *y)
{
    int order = (x->high > y->high) - (x->high < y->high);

    if (x->negative != y->negative)
        return x->negative ? -1 : 1;
    if (order == 0)
        order = (x->low > y->low) - (x->low < y->low);
    return x->negative ? -order : order;
}

int number_compare_mixed(const struct integer *x, double y)
{
    const double whole = trunc(y), magnitude = fabs(whole);
    struct integer integer = {.known = true, .negative = whole < 0};
    int order;

    if (magnitude >= 0x1p128)
        return y < 0 ? 1 : -1;
    integer.high = (uint64_t)(magnitude / 0x1p64);
    integer.low = (uint64_t)(magnitude - (double)integer.high * 0x1p64);
    order = number_compare_integers(x, &integer);
    return order != 0 ? order : (y < whole) - (y > whole);
}

/* Compares an integer with a float, by its key. -0 comes before the integer 0. */
static int compare_with_float(const struct integer *x, int64_t key)
{
    const double value = exact_key_value(key);
    const int order = number_compare_mixed(x, value);

    return value == 0 && order == 0 && signbit(value) ? 1 : order;
}

int number_compare_keys(enum element_type a_type, int64_t a, enum element_type b_type, int64_t b)
{
    const bool a_integer = element_is_integer(a_type), b_integer = element_is_integer(b_type);
    struct integer x = {.known = false}, y = {.known = false};

    if (a_type == b_type || (!a_integer && !b_integer))
        return (a > b) - (a < b);
    if (a_integer)
        x = element_key_integer(a_type, a);
    if (b_integer)
        y = element_key_integer(b_type, b);
    return !a_integer   ? -compare_with_float(&y, a)
           : !b_integer ? compare_with_float(&x, b)
                        : number_compare_integers(&x, &y);
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

enum element_type number_shown_type(enum element_type type)
{
    /* The shortest decimals of narrow types have few digits: an f8e4m3 of 448 would be 450, and the
       mean of equal f16 would not be between their minimum and maximum. */
    return element_is_integer(type) || element_size(type) <= 2 ? ELEMENT_F64 : type;
}
