#include "config.h"

#include "core/order.h"

#include <math.h>
#include <string.h>

#include "sys/bytes.h"
#include "sys/search.h"

/* The element that has these bits. */
static const void *element_of(enum element_type type, const uint64_t *bits)
{
    return bytes_lowest(bits, element_formats[type].size);
}

double order_value(enum element_type type, uint64_t key)
{
    const uint64_t bits = order_bits(type, key);

    return element_load(type, element_of(type, &bits));
}

struct integer order_integer(enum element_type type, uint64_t key)
{
    const uint64_t bits = order_bits(type, key);

    return element_load_integer(type, element_of(type, &bits));
}

uint64_t order_from_element_key(enum element_type type, int64_t key)
{
    const double x = element_key_value(type, key);
    uint64_t first;

    if (element_is_integer(type)) {
        const uint64_t least = order_bits(type, order_least(type));

        return (uint64_t)key - (uint64_t)element_key(type, element_of(type, &least));
    }
    first = order_first(type, x, false);
    /* The first key of a zero is that of -0. */
    return first + (x == 0 && !signbit(x));
}

int64_t order_to_element_key(enum element_type type, uint64_t key)
{
    const uint64_t bits = order_bits(type, key);

    return element_key(type, element_of(type, &bits));
}

/* The bits of the greatest float: of +inf, all bits of the exponent; or those below NaN's. */
static uint64_t greatest_float(enum element_type type)
{
    const uint64_t fraction = UINT64_C(1) << (element_formats[type].significant_bits - 1);

    return order_sign(type) - (element_formats[type].kind == ELEMENT_FINITE ? 2 : fraction);
}

uint64_t order_least(enum element_type type)
{
    if (element_is_integer(type))
        return 0;
    return order_key(type, order_sign(type) | greatest_float(type));
}

uint64_t order_greatest(enum element_type type)
{
    if (element_formats[type].kind == ELEMENT_TRUTH)
        return 1;
    if (element_is_integer(type))
        return order_sign(type) | (order_sign(type) - 1);
    return order_key(type, greatest_float(type));
}

/* The key of a binary32 or binary64 next to a number, not NaN, which is in the range of the type. */
static uint64_t key_near(enum element_type type, double x)
{
    const float narrow = (float)x;
    uint64_t bits = 0;
    uint32_t bits32;

    if (type == ELEMENT_F64) {
        memcpy(&bits, &x, sizeof bits);
    } else {
        memcpy(&bits32, &narrow, sizeof bits32);
        bits = bits32;
    }
    return order_key(type, bits);
}

uint64_t order_first(enum element_type type, double x, bool beyond)
{
    uint64_t low = order_least(type), high = order_greatest(type) + 1;

    /* Rounding leads to a neighbour, and there are two zeros. */
    if ((type == ELEMENT_F32 || type == ELEMENT_F64) && fabs(x) < 0x1p127) {
        const uint64_t near = key_near(type, x);

        low = near - 2;
        high = near + 3;
    }
    SEARCH(low, high, beyond ? order_value(type, middle) <= x : order_value(type, middle) < x);
    return low;
}

/* Bits that a pass of the sort orders by: a table of that many entries fits the level-1 cache. */
#define DIGIT_BITS 11
#define DIGITS ((size_t)1 << DIGIT_BITS)

uint64_t *order_sort(uint64_t *keys, uint64_t *scratch, size_t count, unsigned bits)
{
    for (unsigned shift = 0; shift < bits; shift += DIGIT_BITS) {
        size_t place[DIGITS] = {0}, sum = 0;
        uint64_t *sorted = scratch;

        for (size_t i = 0; i < count; i++)
            place[keys[i] >> shift & (DIGITS - 1)]++;
        if (count > 0 && place[keys[0] >> shift & (DIGITS - 1)] == count)
            continue;
        for (size_t digit = 0; digit < DIGITS; digit++) {
            size_t here = place[digit];

            place[digit] = sum;
            sum += here;
        }
        for (size_t i = 0; i < count; i++)
            sorted[place[keys[i] >> shift & (DIGITS - 1)]++] = keys[i];
        scratch = keys;
        keys = sorted;
    }
    return keys;
}
