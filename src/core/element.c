#include "config.h"

#include "core/element.h"

#include <math.h>

const struct element_names element_names[ELEMENT_TYPES] = {
#define ELEMENT_NAMES(CONSTANT, name, size, kind, significant_bits, exponent_min, exponent_max, \
                      safetensors, ...)                                                         \
    {#name, safetensors, {__VA_ARGS__}},
    ELEMENT_TABLE(ELEMENT_NAMES)
#undef ELEMENT_NAMES
};

size_t element_size(enum element_type type)
{
    return element_formats[type].size;
}

const char *element_name(enum element_type type)
{
    return element_names[type].name;
}

/* The byte orders that a name may begin with. NumPy writes '|' where there is no byte order to
   speak of. */
struct order_prefix {
    enum element_order order;
    bool one_byte;    /* '|' */
    const char *name; /* what follows */
};

static struct order_prefix parse_order(const char *name)
{
    const enum element_order own = element_host_is_big() ? ELEMENT_ORDER_BIG : ELEMENT_ORDER_LITTLE;

    switch (*name) {
    case '<':
        return (struct order_prefix){ELEMENT_ORDER_LITTLE, false, name + 1};
    case '>':
        return (struct order_prefix){ELEMENT_ORDER_BIG, false, name + 1};
    case '=':
        return (struct order_prefix){own, false, name + 1};
    case '|':
        return (struct order_prefix){ELEMENT_ORDER_UNSAID, true, name + 1};
    }
    return (struct order_prefix){ELEMENT_ORDER_UNSAID, false, name};
}

bool element_parse_numpy(const char *name, enum element_type *type, enum element_order *order)
{
    const struct order_prefix prefix = parse_order(name);

    for (int i = 0; i < ELEMENT_TYPES; i++) {
        const char *const *names = element_names[i].numpy;

        for (int j = 0; names[j]; j++) {
            if (strcmp(prefix.name, names[j]) == 0 &&
                (!prefix.one_byte || element_formats[i].size == 1)) {
                *type = (enum element_type)i;
                *order = prefix.order;
                return true;
            }
        }
    }
    return false;
}

/* Whether NumPy gives the name, behind a byte order, to another type. */
static bool means_bytes(const char *name)
{
    return strcmp(name, "f16") == 0 || strcmp(name, "i8") == 0 || strcmp(name, "u8") == 0;
}

bool element_parse(const char *name, enum element_type *type, enum element_order *order)
{
    const struct order_prefix prefix = parse_order(name);
    const bool bare = prefix.name == name;

    for (int i = 0; i < ELEMENT_TYPES; i++) {
        if (strcmp(prefix.name, element_names[i].name) == 0 && !prefix.one_byte &&
            (bare || !means_bytes(prefix.name))) {
            *type = (enum element_type)i;
            *order = prefix.order;
            return true;
        }
    }
    if (element_parse_numpy(name, type, order))
        return true;
    for (int i = 0; bare && i < ELEMENT_TYPES; i++) {
        if (strcmp(name, element_names[i].safetensors) == 0) {
            *type = (enum element_type)i;
            *order = ELEMENT_ORDER_UNSAID;
            return true;
        }
    }
    return false;
}

const struct element_foreign *element_find_foreign(const char *name)
{
#define PAIRS32 "pairs of f32, a real and an imaginary part", "f32", false
#define PAIRS64 "pairs of f64, a real and an imaginary part", "f64", false
#define LONG \
    "a float of 10 bytes or more; convert it first, with numpy's x.astype('f8')", NULL, false
#define LONG_PAIRS \
    "pairs of such floats; convert them first, with numpy's x.astype('c16')", NULL, false
#define TIME "time, counted in integers; those of NaT are the least there are", "i64", false
#define FLOAT8 "a float of one byte that is not read; f8e4m3 (e4m3fn) and f8e5m2 are", NULL, false
#define OBJECTS "Python's objects; convert them first, with numpy's x.astype('f8')", NULL, true
#define TEXT "text; convert it first, with numpy's x.astype('f8')", NULL, true
#define BYTES \
    "bytes of unknown meaning; numpy's x.view('u1'), or of another type, makes numbers", NULL, true
    static const struct element_foreign rows[] = {
        {"complex64", PAIRS32},
        {"csingle", PAIRS32},
        {"c8", PAIRS32},
        {"C64", PAIRS32},
        {"complex128", PAIRS64},
        {"cdouble", PAIRS64},
        {"complex", PAIRS64},
        {"c16", PAIRS64},
        {"clongdouble", LONG_PAIRS},
        {"complex256", LONG_PAIRS},
        {"c32", LONG_PAIRS},
        {"longdouble", LONG},
        {"float128", LONG},
        {"f12", LONG},
        {"g", LONG},
        {"f16", "a float of 16 bytes to NumPy, which is not supported; binary16 is f16, <f2 or >f2",
         NULL, false},
        {"datetime64", TIME},
        {"timedelta64", TIME},
        {"M8", TIME},
        {"m8", TIME},
        {"float8_", FLOAT8},
        {"F8_", FLOAT8},
        {"object", OBJECTS},
        {"O", OBJECTS},
        {"str", TEXT},
        {"U", TEXT},
        {"S", TEXT},
        {"void", BYTES},
        {"V", BYTES},
    };
    const struct order_prefix prefix = parse_order(name);

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        size_t length = strlen(rows[i].name);
        const char *rest = prefix.name + length;

        if (strncmp(prefix.name, rows[i].name, length) != 0)
            continue;
        /* A unit of time in brackets may follow a name, and a number of bytes a letter. */
        if (*rest == '\0' || *rest == '[' || rows[i].name[length - 1] == '_' ||
            (length == 1 && rest[strspn(rest, "0123456789")] == '\0'))
            return &rows[i];
    }
    return NULL;
}

double element_load(enum element_type type, const void *bytes)
{
    return element_value(type, element_bits(element_formats[type].size, bytes));
}

bool element_is_nan(enum element_type type, const void *bytes)
{
    return !element_is_integer(type) && isnan(element_load(type, bytes));
}

#define U64_OFFSET (UINT64_C(1) << 63)

int64_t element_key_of(enum element_type type, uint64_t bits)
{
    const uint64_t sign = UINT64_C(1) << (8 * element_formats[type].size - 1);

    switch (element_formats[type].kind) {
    case ELEMENT_IEEE:
    case ELEMENT_FINITE:
        return exact_key(element_value(type, bits));
    case ELEMENT_SIGNED:
        return (int64_t)((bits ^ sign) - sign);
    case ELEMENT_UNSIGNED:
        return (int64_t)(type == ELEMENT_U64 ? bits ^ U64_OFFSET : bits);
    case ELEMENT_TRUTH:
        break;
    }
    return bits != 0;
}

int64_t element_key(enum element_type type, const void *bytes)
{
    return element_key_of(type, element_bits(element_formats[type].size, bytes));
}

struct integer element_key_integer(enum element_type type, int64_t key)
{
    struct integer x = {.known = true};

    if (type == ELEMENT_U64)
        x.low = (uint64_t)key ^ U64_OFFSET;
    else
        x.low = key < 0 ? -(uint64_t)key : (uint64_t)key;
    x.negative = type != ELEMENT_U64 && key < 0;
    return x;
}

struct integer element_load_integer(enum element_type type, const void *bytes)
{
    return element_key_integer(type, element_key(type, bytes));
}

double element_key_value(enum element_type type, int64_t key)
{
    if (!element_is_integer(type))
        return exact_key_value(key);
    return type == ELEMENT_U64 ? (double)((uint64_t)key ^ U64_OFFSET) : (double)key;
}

uint64_t element_cut(enum element_type type, double x)
{
    const struct element_format *format = &element_formats[type];
    const uint64_t bits = exact_bits(x), fraction = bits & 0xfffffffffffffu;
    const uint64_t sign = bits >> 63 << (8 * format->size - 1);
    const int exponent = (int)(bits >> 52 & 0x7ff) - 1023, kept = format->significant_bits - 1;
    const int lost = 52 - kept + format->exponent_min - exponent; /* of subnormal ones */

    if (type == ELEMENT_F64)
        return bits;
    if (exponent > format->exponent_max) /* an infinity */
        return sign | (uint64_t)(format->exponent_max - format->exponent_min + 2) << kept;
    if (exponent >= format->exponent_min)
        return sign | (uint64_t)(exponent - format->exponent_min + 1) << kept |
               fraction >> (52 - kept);
    return sign | (lost < 64 ? (fraction | UINT64_C(1) << 52) >> lost : 0);
}

uint64_t element_key_bits(enum element_type type, int64_t key)
{
    if (!element_is_integer(type))
        return element_cut(type, exact_key_value(key));
    return ((uint64_t)key ^ (type == ELEMENT_U64 ? U64_OFFSET : 0)) &
           UINT64_MAX >> (64 - 8 * element_formats[type].size);
}

#define CHECK_SIZE(CONSTANT, name, size, ...)                        \
    _Static_assert(size == 1 || size == 2 || size == 4 || size == 8, \
                   "element_swap knows no other sizes");
ELEMENT_TABLE(CHECK_SIZE)
#undef CHECK_SIZE

#define SWAP(bits)                                                        \
    for (size_t i = 0; i < count; i++) {                                  \
        uint##bits##_t x;                                                 \
                                                                          \
        memcpy(&x, (const unsigned char *)from + i * sizeof x, sizeof x); \
        x = __builtin_bswap##bits(x);                                     \
        memcpy((unsigned char *)to + i * sizeof x, &x, sizeof x);         \
    }

void element_swap(void *to, const void *from, size_t count, size_t size)
{
    switch (size) {
    case 1:
        memmove(to, from, count);
        break;
    case 2:
        SWAP(16)
        break;
    case 4:
        SWAP(32)
        break;
    default:
        SWAP(64)
    }
}
