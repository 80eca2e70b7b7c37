#include "config.h"

#include "cli/axis_npy.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* How values of an operation are stored. */
struct field {
    char letter; /* NumPy's: f, i, u or b */
    size_t size; /* bytes */
};

/* NumPy's letter of an integer type. */
static char letter_of(enum element_type type)
{
    switch (element_formats[type].kind) {
    case ELEMENT_SIGNED:
        return 'i';
    case ELEMENT_UNSIGNED:
        return 'u';
    case ELEMENT_TRUTH:
        return 'b';
    case ELEMENT_IEEE:
    case ELEMENT_FINITE:
        break;
    }
    return 'f';
}

static struct field field_of(const struct operation *op, enum element_type type)
{
    const char letter = letter_of(type);
    const bool extreme =
        op->member == offsetof(struct result, min) || op->member == offsetof(struct result, max);

    switch (axis_kind(op, type)) {
    case AXIS_COUNT:
        return (struct field){'i', 8};
    case AXIS_INTEGER:
        if (extreme)
            return (struct field){letter, element_size(type)};
        /* The sum: as large an integer as there is. Unsigned results are magnitudes. */
        if (op->kind == OPERATION_ELEMENT || letter == 'u')
            return (struct field){'u', 8};
        return (struct field){'i', 8};
    case AXIS_NUMBER:
        break;
    }
    if (op->kind == OPERATION_BINARY64 || type == ELEMENT_F64)
        return (struct field){'f', 8};
    return (struct field){'f', type == ELEMENT_F16 ? 2 : 4};
}

/* Writes NumPy's name of a type. */
static void name_type(char text[8], struct field field)
{
    snprintf(text, 8, "%c%c%zu",
             field.size == 1         ? '|'
             : element_host_is_big() ? '>'
                                     : '<',
             field.letter, field.size);
}

/* The header's dictionary is padded so that the numbers begin at a multiple of this. */
#define ALIGNMENT 64
/* Bytes before the dictionary. */
#define PREFIX 10
#define DICTIONARY_MAX 8192

bool axis_npy_header(const struct axis_plan *plan, struct buffer *bytes)
{
    static const char magic[] = "\x93NUMPY\x01";
    const struct source_shape *shape = &plan->layout->result;
    const bool records = plan->operation_count > 1;
    char text[DICTIONARY_MAX], type[8];
    size_t used = 0, size;
    unsigned char *to;

#define ADD(...) (used += (size_t)snprintf(text + used, sizeof text - used, __VA_ARGS__))
    ADD("{'descr': %s", records ? "[" : "");
    for (size_t i = 0; i < plan->operation_count; i++) {
        name_type(type, field_of(plan->operations[i], plan->type));
        if (!records)
            ADD("'%s'", type);
        else
            ADD("('%s', '%s'), ", plan->operations[i]->name, type);
    }
    ADD("%s, 'fortran_order': %s, 'shape': (", records ? "]" : "",
        shape->fortran_order ? "True" : "False");
    for (unsigned i = 0; i < shape->dimensions; i++)
        ADD("%" PRIu64 ",%s", shape->sizes[i], i + 1 < shape->dimensions ? " " : "");
    ADD("), }");
#undef ADD
    /* The longest there is: 64 names and sizes. */
    _Static_assert((size_t)OPERATIONS_MAX * 48 + (size_t)SOURCE_DIMENSIONS_MAX * 22 + 64 <
                       sizeof text - ALIGNMENT,
                   "room for the longest header");
    size = (PREFIX + used + 1 + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    to = buffer_extend(bytes, size);
    if (!to)
        return false;
    memset(to, ' ', size);
    memcpy(to, magic, sizeof magic); /* with the 0 of the version's second part */
    to[8] = (unsigned char)((size - PREFIX) & 0xff);
    to[9] = (unsigned char)((size - PREFIX) >> 8);
    memcpy(to + PREFIX, text, used);
    to[size - 1] = '\n';
    bytes->size += size;
    return true;
}

/* Stores the lower bytes of an integer. */
static void store(unsigned char *to, uint64_t x, size_t size)
{
    const uint8_t byte = (uint8_t)x;
    const uint16_t half = (uint16_t)x;
    const uint32_t word = (uint32_t)x;

    if (size == sizeof byte)
        memcpy(to, &byte, size);
    else if (size == sizeof half)
        memcpy(to, &half, size);
    else if (size == sizeof word)
        memcpy(to, &word, size);
    else
        memcpy(to, &x, size);
}

/* The bits of a value of binary16, which x is. */
static uint64_t half_bits(double x)
{
    const uint64_t bits = exact_bits(x), sign = bits >> 63 << 15;
    const int exponent = (int)(bits >> 52 & 0x7ff) - 1023;
    const uint64_t fraction = bits & 0xfffffffffffffu;

    if (exponent == 1024)
        return sign | 0x7c00 | (fraction ? 0x200 : 0);
    if (exponent >= -14)
        return sign | (uint64_t)(exponent + 15) << 10 | fraction >> 42;
    if (exponent < -24)
        return sign;
    return sign | (fraction | UINT64_C(1) << 52) >> (42 + -14 - exponent);
}

static void store_float(unsigned char *to, double x, size_t size)
{
    const float narrow = (float)x;

    if (size == sizeof narrow)
        memcpy(to, &narrow, size);
    else
        store(to, size == 2 ? half_bits(x) : exact_bits(x), size);
}

/* Stores an integer. False where it is beyond the type, or there is none. */
static bool store_integer(unsigned char *to, const struct integer *x, struct field field)
{
    const uint64_t most = field.letter == 'i' ? (UINT64_C(1) << 63) - !x->negative : UINT64_MAX;

    if (!x->known || x->high != 0 || x->low > most ||
        (x->negative && x->low != 0 && field.letter != 'i'))
        return false;
    store(to, x->negative ? -x->low : x->low, field.size);
    return true;
}

/* An index that there is none of becomes -1. */
_Static_assert(PARTIAL_NO_INDEX == UINT64_MAX, "two's complement");

/* Stores the values of operation j, `step` bytes apart. Returns the slice that could not be stored,
   or batch->count. */
static size_t store_all(const struct axis_batch *batch, size_t j, unsigned char *to, size_t step,
                        struct field field)
{
    const struct axis_plan *plan = batch->plan;
    const union axis_values values = batch->values[j];

    switch (axis_kind(plan->operations[j], plan->type)) {
    case AXIS_NUMBER:
        if (field.size == sizeof(double) && step == sizeof(double))
            memcpy(to, values.number, batch->count * sizeof(double));
        else
            for (size_t i = 0; i < batch->count; i++)
                store_float(to + i * step, values.number[i], field.size);
        break;
    case AXIS_COUNT:
        for (size_t i = 0; i < batch->count; i++)
            store(to + i * step, values.count[i], field.size);
        break;
    case AXIS_INTEGER:
        for (size_t i = 0; i < batch->count; i++)
            if (!store_integer(to + i * step, &values.integer[i], field))
                return i;
        break;
    }
    return batch->count;
}

size_t axis_npy_size(const struct axis_plan *plan)
{
    size_t size = 0;

    for (size_t j = 0; j < plan->operation_count; j++)
        size += field_of(plan->operations[j], plan->type).size;
    return size;
}

bool axis_npy_is_numbers(const struct axis_plan *plan)
{
    return plan->operation_count == 1 &&
           axis_kind(plan->operations[0], plan->type) == AXIS_NUMBER &&
           field_of(plan->operations[0], plan->type).size == sizeof(double);
}

bool axis_npy_values(const struct axis_batch *batch, struct buffer *bytes, size_t *beyond,
                     size_t *slice)
{
    const struct axis_plan *plan = batch->plan;
    const size_t step = axis_npy_size(plan);
    size_t at = 0;
    unsigned char *to;

    *slice = batch->count;
    to = buffer_extend(bytes, step * batch->count);
    if (!to)
        return false;
    for (size_t j = 0; j < plan->operation_count; j++) {
        const struct field field = field_of(plan->operations[j], plan->type);

        *beyond = j;
        *slice = store_all(batch, j, to + at, step, field);
        if (*slice < batch->count)
            return false;
        at += field.size;
    }
    bytes->size += step * batch->count;
    return true;
}
