#include "config.h"

#include "lib/reference_element.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/oracle.h"
#include "lib/oracle_moments.h"

/* The bits of element i. */
static uint64_t bits_of(enum element_type type, const void *data, size_t i)
{
    const unsigned char *bytes = data;
    uint16_t two;
    uint32_t four;
    uint64_t eight;

    switch (element_size(type)) {
    case 1:
        return bytes[i];
    case 2:
        memcpy(&two, bytes + 2 * i, 2);
        return two;
    case 4:
        memcpy(&four, bytes + 4 * i, 4);
        return four;
    }
    memcpy(&eight, bytes + 8 * i, 8);
    return eight;
}

/* A float with so many bits of exponent and fraction behind a sign. `finite`: no exponent is kept
   for infinities. */
static double float_value(unsigned bits, int exponent_bits, int fraction_bits, bool finite)
{
    const int fields = 1 << exponent_bits, fractions = 1 << fraction_bits;
    const int field = (int)bits >> fraction_bits & (fields - 1);
    const int fraction = (int)bits & (fractions - 1), bias = fields / 2 - 1;
    const double sign = bits >> (exponent_bits + fraction_bits) & 1 ? -1 : 1;

    if (finite ? field == fields - 1 && fraction == fractions - 1
               : field == fields - 1 && fraction != 0)
        return NAN;
    if (!finite && field == fields - 1)
        return sign * (double)INFINITY;
    if (field == 0)
        return sign * (double)fraction / fractions * pow(2, 1 - bias);
    return sign * (1 + (double)fraction / fractions) * pow(2, field - bias);
}

struct reference_value reference_value(enum element_type type, const void *data, size_t i)
{
    const uint64_t bits = bits_of(type, data, i);
    struct reference_value v = {.magnitude = bits};

    switch (type) {
    case ELEMENT_F8E4M3:
        return (struct reference_value){.is_float = true,
                                        .x = float_value((unsigned)bits, 4, 3, true)};
    case ELEMENT_F8E5M2:
        return (struct reference_value){.is_float = true,
                                        .x = float_value((unsigned)bits, 5, 2, false)};
    case ELEMENT_BOOL:
        v.magnitude = bits != 0;
        break;
    case ELEMENT_I8:
        v.negative = bits >= 128;
        v.magnitude = v.negative ? 256 - bits : bits;
        break;
    case ELEMENT_I16:
        v.negative = bits >= 32768;
        v.magnitude = v.negative ? 65536 - bits : bits;
        break;
    case ELEMENT_I32:
        v.negative = bits >= UINT32_C(1) << 31;
        v.magnitude = v.negative ? (UINT64_C(1) << 32) - bits : bits;
        break;
    case ELEMENT_I64:
        v.negative = bits >> 63;
        v.magnitude = v.negative ? ~bits + 1 : bits;
        break;
    case ELEMENT_U8:
    case ELEMENT_U16:
    case ELEMENT_U32:
    case ELEMENT_U64:
        break;
    case ELEMENT_F32:
    case ELEMENT_F64:
    case ELEMENT_F16:
    case ELEMENT_BF16:
        abort();
    }
    return v;
}

int reference_compare(const struct reference_value *a, const struct reference_value *b)
{
    int order = (a->magnitude > b->magnitude) - (a->magnitude < b->magnitude);

    if (a->is_float)
        return a->x != b->x ? (a->x > b->x ? 1 : -1) : (signbit(b->x) != 0) - (signbit(a->x) != 0);
    if (a->negative != b->negative)
        return a->negative ? -1 : 1;
    return a->negative ? -order : order;
}

/* Schoolbook: digits of 16 bits, which a sum of 2^32 of them, and of carries, fits. */
#define DIGITS 10
struct school {
    uint64_t digit[DIGITS];
};

static void school_add(struct school *s, uint64_t x)
{
    uint64_t carry = 0;

    for (int i = 0; i < DIGITS; i++) {
        uint64_t sum = s->digit[i] + (i < 4 ? x >> (16 * i) & 0xffff : 0) + carry;

        s->digit[i] = sum & 0xffff;
        carry = sum >> 16;
    }
}

static struct integer school_difference(const struct school *a, const struct school *b)
{
    const struct school *more = a, *less = b;
    uint64_t digit[DIGITS], borrow = 0;
    bool negative = false;

    for (int i = DIGITS - 1; i >= 0; i--) {
        if (a->digit[i] != b->digit[i]) {
            negative = a->digit[i] < b->digit[i];
            break;
        }
    }
    if (negative) {
        more = b;
        less = a;
    }
    for (int i = 0; i < DIGITS; i++) {
        uint64_t from = more->digit[i], take = less->digit[i] + borrow;

        borrow = take > from;
        digit[i] = from + (borrow << 16) - take;
    }
    return (struct integer){.low = digit[0] | digit[1] << 16 | digit[2] << 32 | digit[3] << 48,
                            .high = digit[4] | digit[5] << 16 | digit[6] << 32 | digit[7] << 48,
                            .negative = negative,
                            .known = digit[8] == 0 && digit[9] == 0};
}

static double value_double(const struct reference_value *v)
{
    double x = (double)v->magnitude;

    return v->is_float ? v->x : v->negative ? -x : x;
}

static struct integer value_integer(const struct reference_value *v)
{
    if (v->is_float)
        return (struct integer){0};
    return (struct integer){.low = v->magnitude, .negative = v->negative, .known = true};
}

void reference_reduce_element(struct reference *e, enum element_type type, const void *data,
                              size_t n, uint64_t index)
{
    double *numbers = calloc(2 * n + 1, sizeof *numbers);
    size_t parts = 0, count = 0;
    struct school positive = {{0}}, negative = {{0}};
    struct reference_value min = {0}, max = {0};
    struct result r = {.min = NAN,
                       .max = NAN,
                       .argmin = PARTIAL_NO_INDEX,
                       .argmax = PARTIAL_NO_INDEX,
                       .first_nan = PARTIAL_NO_INDEX};

    if (!numbers)
        abort();
    for (size_t i = 0; i < n; i++) {
        const struct reference_value v = reference_value(type, data, i);

        if (v.is_float && isnan(v.x)) {
            if (r.nan++ == 0)
                r.first_nan = index + i;
            continue;
        }
        if (count == 0 || reference_compare(&v, &min) < 0) {
            min = v;
            r.argmin = index + i;
        }
        if (count == 0 || reference_compare(&v, &max) > 0) {
            max = v;
            r.argmax = index + i;
        }
        count++;
        if (v.is_float) {
            r.infinity += isinf(v.x) != 0;
            numbers[parts++] = v.x;
        } else {
            const double sign = v.negative ? -1 : 1;

            school_add(v.negative ? &negative : &positive, v.magnitude);
            numbers[parts++] = sign * (double)(v.magnitude >> 32) * 0x1p32;
            numbers[parts++] = sign * (double)(v.magnitude & UINT32_MAX);
        }
    }
    r.count = count;
    r.sum = oracle_sum(numbers, parts);
    r.mean = count ? oracle_scaled(numbers, parts, 1, count) : NAN;
    if (count) {
        r.min = value_double(&min);
        r.max = value_double(&max);
        r.min_integer = value_integer(&min);
        r.max_integer = value_integer(&max);
    }
    if (element_is_integer(type))
        r.sum_integer = school_difference(&positive, &negative);
    free(numbers);
    e->policy[0] = e->policy[1] = r;
    e->policy[0].count = n;
    if (r.nan) {
        e->policy[0].sum = e->policy[0].mean = e->policy[0].min = e->policy[0].max = NAN;
        e->policy[0].argmin = e->policy[0].argmax = r.first_nan;
    }
}

/* The value of a type of one byte that is nearest to x, the even one of two; beyond all an
   infinity, or NaN as it is. */
static double nearest_of_byte(enum element_type type, double x)
{
    /* Halfway to what would come next: f8e4m3's greatest, 448, is even, 57344 of f8e5m2 is odd. */
    const double most = type == ELEMENT_F8E4M3 ? 464 : 61440;
    const bool beyond = type == ELEMENT_F8E4M3 ? x > most : x >= most;
    unsigned best = 0;

    if (!isfinite(x) || beyond)
        return beyond ? (double)INFINITY : x;
    for (unsigned byte = 1; byte < 128; byte++) {
        const unsigned char bytes[] = {(unsigned char)byte, (unsigned char)best};
        const double distance = fabs(reference_value(type, bytes, 0).x - x);
        const double least = fabs(reference_value(type, bytes, 1).x - x);

        if (distance < least || (distance == least && byte % 2 == 0))
            best = byte;
    }
    return reference_value(type, &(unsigned char){(unsigned char)best}, 0).x;
}

void reference_moments_element(struct result *r, enum element_type type, const void *data, size_t n,
                               uint64_t ddof)
{
    const unsigned fractions = type == ELEMENT_F8E4M3 ? 7 : 3;
    double *numbers = calloc(n + 1, sizeof *numbers);
    size_t count = 0;
    uint64_t subnormals = 0;

    if (!numbers)
        abort();
    for (size_t i = 0; i < n; i++) {
        const struct reference_value v = reference_value(type, data, i);
        const double x = value_double(&v);

        if (isnan(x))
            continue;
        numbers[count++] = x;
        if (v.is_float)
            subnormals += (((const unsigned char *)data)[i] & 127) <= fractions && x != 0;
    }
    /* Differences of them are binary64, too. */
    oracle_moments(ELEMENT_F64, numbers, count, ddof, r);
    r->subnormals = subnormals;
    if (!element_is_integer(type))
        r->range = nearest_of_byte(type, r->range);
    free(numbers);
}
