#include "config.h"

#include "source/format/attributes.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/number.h"
#include "source/format/container.h"

/* An array, and what has been found out about it. */
struct search {
    const struct attributes_reader *attributes;
    enum element_type stored;
    struct attributes_meaning *m;
};

static void read_attribute(const struct search *s, const char *name,
                           struct attributes_numbers *found)
{
    s->attributes->read(s->attributes->user, name, found);
}

/* The numbers of an attribute as elements. */
struct elements {
    bool used; /* there is such an attribute, and all its numbers are ones of the stored type */
    size_t count;
    uint64_t bits[ATTRIBUTES_NUMBERS_MAX];
};

/* Notes that an attribute has no meaning, and why. */
static void ignore(struct search *s, const char *attribute, const char *why)
{
    const size_t length = strlen(s->m->ignored);

    snprintf(s->m->ignored + length, sizeof s->m->ignored - length, "%s%s %s",
             length > 0 ? "; " : "", attribute, why);
}

/* Notes that nobody knows what an attribute means; the first such counts. */
static void refuse(struct search *s, const char *attribute, const char *why)
{
    if (!s->m->wrong[0])
        snprintf(s->m->wrong, sizeof s->m->wrong, "its attribute %s %s", attribute, why);
}

struct attributes_number attributes_integer(uint64_t bits, bool negative)
{
    return (struct attributes_number){
        .value = negative ? (double)(int64_t)bits : (double)bits,
        .integer = {.known = true, .negative = negative, .low = negative ? -bits : bits}};
}

/* Finds the element of the stored type that is the number, exactly if numbers have types. False if
   there is none. */
static bool find_element(const struct search *s, const struct attributes_number *x, uint64_t *bits)
{
    const enum element_type type = s->stored;
    const bool integers = element_is_integer(type);
    char text[NUMBER_MAX];
    uint64_t key;

    if (isnan(x->value)) {
        *bits = order_bits(type, order_greatest(type) + 1);
        return !integers;
    }
    if (integers && !x->real)
        number_format_integer(text, &x->integer);
    else
        number_format_hex(text, x->value);
    if (!missing_key(type, text, &key) ||
        (!integers && !s->attributes->untyped && order_value(type, key) != x->value))
        return false;
    *bits = order_bits(type, key);
    return true;
}

/* Reads the elements that an attribute names: all of its numbers, or, with a warning, none. */
static void find_elements(struct search *s, const char *attribute, struct elements *e)
{
    struct attributes_numbers found;

    *e = (struct elements){.used = false};
    read_attribute(s, attribute, &found);
    if (!found.exists)
        return;
    if (!found.numeric) {
        ignore(s, attribute, "is not a number");
        return;
    }
    if (found.count > ATTRIBUTES_NUMBERS_MAX) {
        refuse(s, attribute, "has more than 64 numbers");
        return;
    }
    for (; e->count < found.count; e->count++) {
        if (!find_element(s, &found.numbers[e->count], &e->bits[e->count])) {
            char why[64];

            snprintf(why, sizeof why, "is no number of type %s", element_name(s->stored));
            ignore(s, attribute, why);
            e->count = 0;
            return;
        }
    }
    e->used = true;
}

/* Makes elements missing. */
static void add_missing(struct search *s, const char *attribute, const struct elements *e)
{
    for (size_t i = 0; i < e->count; i++)
        if (!missing_add_bits(&s->m->missing, s->m->type, e->bits[i]))
            refuse(s, attribute, "names too many values");
}

/* Makes elements missing that are less than the limit, or, with `above`, more. A NaN is no limit,
   and NaNs are beyond none. */
static void add_limit(struct search *s, const char *attribute, uint64_t bits, bool above)
{
    const enum element_type type = s->m->type;
    const uint64_t least = order_least(type), greatest = order_greatest(type),
                   key = order_key(type, bits);
    const struct missing_range equal = missing_equal(type, key);

    if (key < least || key > greatest || (above ? equal.last == greatest : equal.first == least))
        return;
    if (!missing_add_range(&s->m->missing, above ? equal.last + 1 : least,
                           above ? greatest : equal.first - 1))
        refuse(s, attribute, "names too many values");
}

/* The valid range: valid_range, or else valid_min and valid_max. */
static void find_limits(struct search *s)
{
    static const char *const names[] = {"valid_min", "valid_max"};
    struct elements e;

    find_elements(s, "valid_range", &e);
    if (e.used && e.count == 2) {
        add_limit(s, "valid_range", e.bits[0], false);
        add_limit(s, "valid_range", e.bits[1], true);
        return;
    }
    if (e.used)
        ignore(s, "valid_range", "is not two numbers");
    for (int above = 0; above < 2; above++) {
        find_elements(s, names[above], &e);
        if (e.used && e.count != 1)
            refuse(s, names[above], "is not one number");
        else if (e.used)
            add_limit(s, names[above], e.bits[0], above);
    }
}

/* Finds the number of an attribute that is one; unchanged where there is none. *given: it exists, and
   is not the number that there was. */
static void find_number(struct search *s, const char *attribute, double *x, bool *given)
{
    struct attributes_numbers found;
    const struct attributes_number *number = found.numbers;
    const double neutral = *x;

    read_attribute(s, attribute, &found);
    if (!found.exists)
        return;
    if (!found.numeric || found.count != 1) {
        refuse(s, attribute, "is not one number");
        return;
    }
    *x = number->value;
    if (!number->real && number_compare_mixed(&number->integer, *x) != 0)
        refuse(s, attribute, "is an integer that binary64 cannot hold");
    else if (*x != neutral)
        *given = true;
}

static void find_scale(struct search *s)
{
    struct scale scale = {.factor = 1, .offset = 0};

    find_number(s, "scale_factor", &scale.factor, &scale.given);
    find_number(s, "add_offset", &scale.offset, &scale.given);
    if (scale_refusal(&scale) && !s->m->wrong[0])
        snprintf(s->m->wrong, sizeof s->m->wrong, "%s", scale_refusal(&scale));
    if (scale.given)
        s->m->scale = scale;
}

/* The type of the other kind of integers of that size. */
static enum element_type other_sign(enum element_type type)
{
    enum element_type other = type;

    for (int i = 0; i < ELEMENT_TYPES; i++)
        if (element_formats[i].size == element_formats[type].size &&
            element_formats[i].kind ==
                (element_formats[type].kind == ELEMENT_SIGNED ? ELEMENT_UNSIGNED : ELEMENT_SIGNED))
            other = (enum element_type)i;
    return other;
}

/* Finds the type by _Unsigned, which is about integers. */
static void find_type(struct search *s)
{
    const enum element_kind kind = element_formats[s->stored].kind;
    struct attributes_numbers found;
    bool truth;

    read_attribute(s, "_Unsigned", &found);
    if (!found.exists || (kind != ELEMENT_SIGNED && kind != ELEMENT_UNSIGNED))
        return;
    if (!found.is_text) {
        refuse(s, "_Unsigned", "is not a text");
        return;
    }
    truth = strcmp(found.text, "true") == 0 || strcmp(found.text, "True") == 0;
    if (!truth && strcmp(found.text, "false") != 0 && strcmp(found.text, "False") != 0)
        refuse(s, "_Unsigned", "is neither true nor false");
    if (!s->m->wrong[0] && truth != (kind == ELEMENT_UNSIGNED))
        s->m->type = other_sign(s->stored);
}

bool attributes_default_fill(enum element_type type, bool big_endian, unsigned char *value)
{
    const size_t size = element_size(type);
    uint64_t bits;

    if (type == ELEMENT_F64)
        bits = UINT64_C(0x479e000000000000); /* 15 * 2^119, about 9.97e36 */
    else if (type == ELEMENT_F32)
        bits = UINT32_C(0x7cf00000); /* the same number */
    else if (element_formats[type].kind ==
             ELEMENT_UNSIGNED) /* the greatest; of 64 bits, the next */
        bits = size == 8 ? UINT64_MAX - 1 : UINT64_MAX >> (64 - 8 * size);
    else if (element_formats[type].kind == ELEMENT_SIGNED) /* the second to the least; likewise */
        bits = (UINT64_MAX << (8 * size - 1)) + (size == 8 ? 2 : 1);
    else
        return false;
    for (size_t i = 0; i < size; i++)
        value[i] = (unsigned char)(bits >> 8 * (big_endian ? size - 1 - i : i));
    return true;
}

/* Makes the default fill value of the stored type missing. netCDF4-python looks for its value, so
   that signed elements which _Unsigned makes unsigned have none; and in variables of bytes only if
   they are filled. */
static void add_default(struct search *s, bool filled)
{
    const bool reinterpreted =
        s->m->type != s->stored && element_formats[s->stored].kind == ELEMENT_SIGNED;
    unsigned char value[CONTAINER_FILL_MAX];

    if (reinterpreted || (element_size(s->stored) == 1 && !filled) ||
        !attributes_default_fill(s->stored, element_host_is_big(), value))
        return;
    (void)missing_add_bits(&s->m->missing, s->m->type, order_load(s->stored, value));
}

/* Refuses all attributes that numbers would have, which `these` cannot have. */
static void refuse_all(struct search *s, const char *these)
{
    static const char *const names[] = {"_FillValue", "missing_value", "valid_range", "valid_min",
                                        "valid_max",  "scale_factor",  "add_offset"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct attributes_numbers found;
        char why[64];

        read_attribute(s, names[i], &found);
        snprintf(why, sizeof why, "is not supported for %s", these);
        if (found.exists)
            refuse(s, names[i], why);
    }
}

void attributes_find(const struct attributes_reader *attributes, enum element_type type,
                     bool netcdf, bool filled, struct attributes_meaning *m)
{
    struct search s = {.attributes = attributes, .stored = type, .m = m};
    struct elements fill, e;

    *m = (struct attributes_meaning){.type = type};
    if (attributes->parts || type == ELEMENT_BOOL) {
        refuse_all(&s, attributes->parts ? "records and complex numbers" : "truth values");
        return;
    }
    find_type(&s);
    find_elements(&s, "_FillValue", &fill);
    add_missing(&s, "_FillValue", &fill);
    find_elements(&s, "missing_value", &e);
    add_missing(&s, "missing_value", &e);
    if (!fill.used && netcdf)
        add_default(&s, filled);
    find_limits(&s);
    find_scale(&s);
    /* Ranges alone have no value that an element could be written as. */
    if (m->missing.count > 0 && !missing_has(&m->missing, order_key(m->type, m->missing.value)))
        m->missing.value = order_bits(m->type, m->missing.ranges[0].first);
    if (m->missing.count > ATTRIBUTES_MISSING_MAX)
        refuse(&s, fill.count > e.count ? "_FillValue" : "missing_value", "names too many values");
}

bool attributes_apply(struct container *c, struct container_array *a,
                      const struct attributes_meaning *meaning)
{
    a->type = meaning->type;
    container_name_type(a, element_name(a->type));
    if (meaning->ignored[0])
        a->warning = container_note(c, "%s", meaning->ignored);
    if (meaning->wrong[0]) {
        a->advice = ADVICE_STORED;
        return container_refuse(a, container_note(c, "%s", meaning->wrong));
    }
    if (meaning->missing.count > 0)
        a->missing_values = container_keep(c, &meaning->missing, sizeof meaning->missing);
    if (meaning->scale.given)
        a->scale = container_keep(c, &meaning->scale, sizeof meaning->scale);
    return (a->missing_values || meaning->missing.count == 0) &&
           (a->scale || !meaning->scale.given) && (a->warning || !meaning->ignored[0]);
}
