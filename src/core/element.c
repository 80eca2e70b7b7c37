#include "config.h"

#include "core/element.h"

#include <math.h>
#include <string.h>

size_t element_size(enum element_type type)
{
    return element_formats[type].size;
}

const char *element_name(enum element_type type)
{
    return element_formats[type].name;
}

bool element_host_is_big(void)
{
    const uint16_t one = 1;
    unsigned char first;

    memcpy(&first, &one, 1);
    return first == 0;
}

/* The byte order that a name begins with; *name is what follows it. */
static enum element_order parse_order(const char **name)
{
    switch (**name) {
    case '<':
        ++*name;
        return ELEMENT_ORDER_LITTLE;
    case '>':
        ++*name;
        return ELEMENT_ORDER_BIG;
    case '=':
        ++*name;
        return element_host_is_big() ? ELEMENT_ORDER_BIG : ELEMENT_ORDER_LITTLE;
    }
    return ELEMENT_ORDER_UNSAID;
}

bool element_parse_numpy(const char *name, enum element_type *type, enum element_order *order)
{
    enum element_order said = parse_order(&name);

    for (int i = 0; i < ELEMENT_TYPES; i++) {
        for (int j = 0; element_formats[i].numpy[j]; j++) {
            if (strcmp(name, element_formats[i].numpy[j]) == 0) {
                *type = (enum element_type)i;
                *order = said;
                return true;
            }
        }
    }
    return false;
}

/* Whether NumPy gives the name, behind a byte order, to another type. */
static bool means_bytes(const char *name)
{
    return strcmp(name, "f16") == 0;
}

bool element_parse(const char *name, enum element_type *type, enum element_order *order)
{
    const char *own = name;
    enum element_order said = parse_order(&own);

    for (int i = 0; i < ELEMENT_TYPES; i++) {
        if (strcmp(own, element_formats[i].name) == 0 && (own == name || !means_bytes(own))) {
            *type = (enum element_type)i;
            *order = said;
            return true;
        }
    }
    return element_parse_numpy(name, type, order);
}

static double load_f32_bits(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return (double)x;
}

static double load_f16_bits(uint16_t bits)
{
    unsigned exponent = bits >> 10 & 0x1f;
    unsigned fraction = bits & 0x3ff;
    double x;

    if (exponent == 0x1f)
        x = fraction ? NAN : INFINITY;
    else if (exponent == 0)
        x = ldexp(fraction, -24);
    else
        x = ldexp(fraction | 0x400, (int)exponent - 25);
    return bits & 0x8000 ? -x : x;
}

double element_load(enum element_type type, const void *bytes)
{
    uint16_t half;
    uint32_t word;
    double x = NAN;

    switch (type) {
    case ELEMENT_F32:
        memcpy(&word, bytes, sizeof word);
        return load_f32_bits(word);
    case ELEMENT_F64:
        memcpy(&x, bytes, sizeof x);
        return x;
    case ELEMENT_F16:
        memcpy(&half, bytes, sizeof half);
        return load_f16_bits(half);
    case ELEMENT_BF16:
        memcpy(&half, bytes, sizeof half);
        return load_f32_bits((uint32_t)half << 16);
    }
    return x; /* not reached */
}

double element_round(enum element_type type, double x)
{
    const struct element_format *format = &element_formats[type];
    int shift;
    double rounded;

    if (x == 0 || !isfinite(x))
        return x;
    frexp(x, &shift); /* |x| in [2^(shift - 1), 2^shift) */
    if (shift - 1 < format->exponent_min)
        shift = format->exponent_min + 1; /* subnormals have the last bit of the least normal */
    shift -= format->significant_bits;
    /* The element's last bit weighs 2^shift. nearbyint rounds ties to even in the default mode,
       which nothing here changes. */
    rounded = ldexp(nearbyint(ldexp(x, -shift)), shift);
    return fabs(rounded) >= ldexp(1, format->exponent_max + 1) ? copysign(INFINITY, x) : rounded;
}

#define CHECK_SIZE(CONSTANT, name, size, ...) \
    _Static_assert(size == 2 || size == 4 || size == 8, "element_swap knows no other sizes");
ELEMENT_TABLE(CHECK_SIZE)
#undef CHECK_SIZE

void element_swap(void *to, const void *from, size_t count, size_t size)
{
    const unsigned char *in = from;
    unsigned char *out = to;

    switch (size) {
    case 2:
        for (size_t i = 0; i < count; i++) {
            uint16_t x;
            memcpy(&x, in + 2 * i, 2);
            x = (uint16_t)(x << 8 | x >> 8);
            memcpy(out + 2 * i, &x, 2);
        }
        break;
    case 4:
        for (size_t i = 0; i < count; i++) {
            uint32_t x;
            memcpy(&x, in + 4 * i, 4);
            x = __builtin_bswap32(x);
            memcpy(out + 4 * i, &x, 4);
        }
        break;
    default:
        for (size_t i = 0; i < count; i++) {
            uint64_t x;
            memcpy(&x, in + 8 * i, 8);
            x = __builtin_bswap64(x);
            memcpy(out + 8 * i, &x, 8);
        }
    }
}
