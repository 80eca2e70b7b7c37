#include "config.h"

#include "core/meaning.h"

#include <math.h>

#include "core/order.h"

/* Cuts item number i, from 0, off the numbers of a range; `i` counts down. */
static bool find_in_range(enum element_type type, unsigned *i, struct missing_range *item)
{
    const struct missing_range range = *item;

    if (range.first > range.last)
        return false;
    if (range.last - range.first > MISSING_VALUES_MAX)
        return (*i)-- == 0;
    /* Values that are next to each other are listed one by one, both zeros as one. */
    for (uint64_t key = range.first; key <= range.last; key++) {
        *item = (struct missing_range){key, key};
        if (!(key < range.last && !element_is_integer(type) &&
              order_value(type, key) == order_value(type, key + 1)) &&
            (*i)-- == 0)
            return true;
        if (key == UINT64_MAX)
            break;
    }
    return false;
}

/* Finds item number i, from 0: keys of numbers in ascending order, and after these NaNs, as a range
   without numbers. False if there is none. */
static bool find_item(const struct missing *m, enum element_type type, unsigned i,
                      struct missing_range *item)
{
    for (unsigned k = 0; k < m->count; k++) {
        *item = missing_numbers(&m->ranges[k], type);
        if (find_in_range(type, &i, item))
            return true;
    }
    *item = (struct missing_range){1, 0};
    return missing_has_nans(m, type) && i == 0;
}

static bool is_nan(const struct missing_range *item)
{
    return item->first > item->last;
}

static struct field field_of_key(enum element_type type, uint64_t key, struct integer *integer)
{
    double x;

    if (element_is_integer(type)) {
        *integer = order_integer(type, key);
        return field_value(IN_OBJECT, NULL, integer, 0);
    }
    x = order_value(type, key);
    return isinf(x) ? field_text(IN_OBJECT, NULL, x < 0 ? "-inf" : "inf")
                    : field_number(IN_OBJECT, NULL, x, number_shown_type(type));
}

void meaning_add_missing(struct writer *w, const char *key, const struct missing *m,
                         enum element_type type)
{
    struct integer first, last;
    struct missing_range item;

    if (m->count == 0)
        return;
    writer_field(w, field_of(IN_OBJECT, key, FIELD_ARRAY));
    for (unsigned i = 0; find_item(m, type, i, &item); i++) {
        if (is_nan(&item))
            writer_field(w, field_text(IN_OBJECT, NULL, "nan"));
        else if (item.first == item.last)
            writer_field(w, field_of_key(type, item.last, &last));
        else
            WRITER_FIELDS(
                w, field_of(IN_OBJECT, NULL, FIELD_ARRAY), field_of_key(type, item.first, &first),
                field_of_key(type, item.last, &last), field_of(IN_OBJECT, "]", FIELD_END));
    }
    writer_field(w, field_of(IN_OBJECT, "]", FIELD_END));
}

void meaning_show_missing(struct buffer *out, const struct missing *m, enum element_type type)
{
    char text[NUMBER_MAX];
    struct integer integer;
    struct missing_range item;

    for (unsigned i = 0; find_item(m, type, i, &item); i++) {
        const uint64_t keys[] = {item.first, item.last};

        buffer_text(out, i > 0 ? ", " : "");
        if (is_nan(&item)) {
            buffer_text(out, "nan");
            continue;
        }
        for (int end = item.first == item.last; end < 2; end++) {
            const struct field field = field_of_key(type, keys[end], &integer);

            writer_show(text, &field, NUMBER_DECIMAL);
            buffer_print(out, "%s%s", field.kind == FIELD_TEXT ? field.text : text,
                         end == 0 ? " to " : "");
        }
    }
}

void meaning_add_scale(struct writer *w, const struct scale *scale)
{
    if (scale->given)
        WRITER_FIELDS(w, field_number(IN_OBJECT, "scale_factor", scale->factor, ELEMENT_F64),
                      field_number(IN_OBJECT, "add_offset", scale->offset, ELEMENT_F64));
}

void meaning_show_scale(struct buffer *out, const struct scale *scale)
{
    char factor[NUMBER_MAX], offset[NUMBER_MAX];

    number_format(factor, scale->factor, ELEMENT_F64);
    number_format(offset, fabs(scale->offset), ELEMENT_F64);
    buffer_print(out, "%s x %s %s", factor, scale->offset < 0 ? "-" : "+", offset);
}
