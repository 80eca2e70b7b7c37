#include "config.h"

#include "run/diff_row.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/array_shape.h"
#include "core/meaning.h"
#include "core/name.h"

/* The words for how two arrays differ. */
static const char *const kind_words[] = {
    [DIFF_SAME] = "same",     [DIFF_VALUES] = "values",   [DIFF_BYTES] = "bytes",
    [DIFF_SHAPE] = "shape",   [DIFF_TYPE] = "dtype",      [DIFF_ONLY_A] = "only-a",
    [DIFF_ONLY_B] = "only-b", [DIFF_RENAMED] = "renamed", [DIFF_FAILED] = "error",
};

#define J IN_OBJECT
#define CELLS (IN_CELLS | IN_LINES)

/* Room for a field of one side, and for both. */
#define SIDE_MAX ((size_t)700)
#define SIDES_MAX (2 * SIDE_MAX + 2)

/* The shape of a side, which has the array. Raw numbers take that of the other side if they are as
   many, or else have one dimension. Not known of a stream that was not read to its end. */
static void find_shape(const struct diff_item *item, int side, struct array_shape *shape)
{
    const uint64_t elements = item->sides[side].elements;
    const int other = DIFF_B - side;

    diff_shape(item, side, shape);
    if (shape->known)
        return;
    if (item->sides[other].source && item->sides[other].elements == elements)
        diff_shape(item, other, shape);
    if (!shape->known && elements != SOURCE_UNKNOWN) {
        shape->known = true;
        shape->dimensions = 1;
        shape->sizes[0] = elements;
    }
}

static void show_shape(char text[SIDE_MAX], const struct array_shape *shape)
{
    size_t used = (size_t)snprintf(text, SIDE_MAX, shape->known ? "[" : WRITER_MISSING);

    if (!shape->known)
        return;
    for (unsigned i = 0; i < shape->dimensions && used < SIDE_MAX - 24; i++)
        used += (size_t)snprintf(text + used, SIDE_MAX - used, "%s%" PRIu64, i > 0 ? "," : "",
                                 shape->sizes[i]);
    snprintf(text + used, SIDE_MAX - used, "]");
}

/* Adds a field of both sides, with | between them, or once, where both are the same or only one is
   there. */
static void add_sides(struct writer *w, const char *name, const char *a, const char *b)
{
    char text[SIDES_MAX];

    if (!*a || !*b || strcmp(a, b) == 0)
        snprintf(text, sizeof text, "%s", *a ? a : b);
    else
        snprintf(text, sizeof text, "%.699s|%.699s", a, b);
    writer_field(w, field_text(CELLS, name, text));
}

/* Adds the names of both sides, or of one. */
static void add_name(struct writer *w, const struct diff_item *item)
{
    struct buffer both = {0};

    if (item->other_name)
        buffer_print(&both, "%s|%s%c", item->name, item->other_name, '\0');
    writer_field(w, field_text(IN_CELLS, "array",
                               item->other_name && !both.failed ? both.data : item->name));
    buffer_free(&both);
}

static void add_both(struct writer *w, const struct diff_item *item)
{
    char shapes[DIFF_SIDES][SIDE_MAX] = {"", ""}, elements[DIFF_SIDES][24] = {"", ""};
    const char *types[DIFF_SIDES] = {"", ""};
    struct array_shape shape;
    uint64_t count;

    for (int side = 0; side < DIFF_SIDES; side++) {
        if (!item->sides[side].source)
            continue;
        types[side] = item->sides[side].type_name;
        find_shape(item, side, &shape);
        show_shape(shapes[side], &shape);
        count = diff_elements(item, side);
        if (count == SOURCE_UNKNOWN)
            snprintf(elements[side], sizeof elements[side], WRITER_MISSING);
        else
            (void)number_write(elements[side], count);
    }
    add_sides(w, "dtype", types[DIFF_A], types[DIFF_B]);
    add_sides(w, "shape", shapes[DIFF_A], shapes[DIFF_B]);
    add_sides(w, "elements", elements[DIFF_A], elements[DIFF_B]);
}

/* Adds a side to an object, the keys of side B with "other_" in front. */
static void add_side(struct writer *w, const struct diff_item *item, int side)
{
    static const char *const keys[DIFF_SIDES][6] = {
        {"dtype", "shape", "elements", "missing_values", "scale_factor", "add_offset"},
        {"other_dtype", "other_shape", "other_elements", "other_missing_values",
         "other_scale_factor", "other_add_offset"}};
    const bool there = item->sides[side].source;
    const struct scale *const scale = &item->sides[side].scale;
    struct array_shape shape = {.known = false};

    if (there)
        find_shape(item, side, &shape);
    WRITER_FIELDS(
        w, field_text(J, keys[side][0], item->sides[side].type_name),
        field_list(J, keys[side][1], shape.known ? shape.sizes : NULL, shape.dimensions),
        field_count(J, keys[side][2], there ? diff_elements(item, side) : SOURCE_UNKNOWN));
    if (item->sides[side].missing)
        meaning_add_missing(w, keys[side][3], item->sides[side].missing, item->sides[side].type);
    if (scale->given)
        WRITER_FIELDS(w, field_number(J, keys[side][4], scale->factor, ELEMENT_F64),
                      field_number(J, keys[side][5], scale->offset, ELEMENT_F64));
}

static void add_tolerance(struct writer *w, const struct difference_tolerance *t)
{
    const struct integer ulps = {.known = true, .low = t->ulps};
    const enum number_form form = w->number;

    w->number = NUMBER_DECIMAL;
    writer_field(w, field_of(J, "tolerance", FIELD_OBJECT));
    if (t->by_ulps)
        writer_field(w, field_value(J, "ulp", &ulps, NAN));
    if (t->by_absolute)
        writer_field(w, field_number(J, "abs", t->absolute, ELEMENT_F64));
    if (t->by_relative)
        writer_field(w, field_number(J, "rel", t->relative, ELEMENT_F64));
    writer_field(w, field_of(J, "}", FIELD_END));
    w->number = form;
}

/* Adds the index of an element, and, to an object, its place in each dimension. */
static void add_index(struct writer *w, const struct diff_item *item, const char *key,
                      const char *place_key, uint64_t index)
{
    uint64_t places[ARRAY_DIMENSIONS_MAX];
    struct array_shape shape;
    char text[ARRAY_PLACE_MAX];

    if (index == DIFFERENCE_NO_INDEX) {
        WRITER_FIELDS(w, field_of(CELLS | J, key, FIELD_MISSING),
                      field_of(J, place_key, FIELD_MISSING));
        return;
    }
    diff_place_shape(item, &shape);
    array_place(&shape, index, places);
    WRITER_FIELDS(w, field_text(CELLS, key, array_show_place(text, &shape, index)),
                  field_count(J, key, index),
                  field_list(J, place_key, shape.dimensions > 0 ? places : NULL, shape.dimensions));
}

/* A field that differences of bytes of unknown meaning, which are counted at most, do not have. */
static struct field known(struct field field, const struct diff_item *item)
{
    const struct container_array *array = item->sides[DIFF_A].array;

    field.kind = item->compared && !(array && array->unreadable) ? field.kind : FIELD_ABSENT;
    return field;
}

struct field diff_result(const struct diff_item *item, enum difference_value which)
{
    const struct difference_result *r = &item->result;
    const char *name = difference_value_names[which];

    switch (which) {
    case DIFFERENCE_DIFFERENT:
        return item->compared ? field_count(CELLS | J, name, r->different)
                              : field_of(CELLS | J, name, FIELD_ABSENT);
    case DIFFERENCE_MAX_ABS:
        return known(field_value(CELLS | J, name, &r->max_absolute_integer, r->max_absolute), item);
    case DIFFERENCE_MAX_REL:
        return known(field_number(CELLS | J, name, r->max_relative, ELEMENT_F64), item);
    case DIFFERENCE_MAX_ULP:
        return r->has_ulps ? known(field_value(CELLS | J, name, &r->max_ulps, NAN), item)
                           : field_of(CELLS | J, name, FIELD_ABSENT);
    case DIFFERENCE_RMSD:
        return known(field_number(CELLS | J, name, r->root_mean_square, ELEMENT_F64), item);
    case DIFFERENCE_COSINE:
        return known(field_number(CELLS | J, name, r->cosine, ELEMENT_F64), item);
    case DIFFERENCE_NAN:
        return known(field_count(CELLS | J, name, r->nan_one), item);
    case DIFFERENCE_MISSING:
        return known(field_count(CELLS | J, name, r->missing_one), item);
    case DIFFERENCE_NEAREST:
        return known(field_count(CELLS | J, name, r->nearest), item);
    case DIFFERENCE_OTHER_ROUNDING:
        return known(field_count(CELLS | J, name, r->other_rounding), item);
    case DIFFERENCE_VALUES:
        break;
    }
    return field_of(CELLS | J, "", FIELD_ABSENT); /* not reached */
}

static void add_result(struct writer *w, const struct diff_item *item, bool missing, bool cast)
{
    const struct difference_result *r = &item->result;
    static const char *const indices[] = {"max_abs_at", "max_rel_at", "max_ulp_at"};
    static const char *const places[] = {"max_abs_place", "max_rel_place", "max_ulp_place"};
    const uint64_t at[] = {r->absolute_at, r->relative_at, r->ulps_at};

    writer_field(w, diff_result(item, DIFFERENCE_DIFFERENT));
    if (item->compared)
        add_index(w, item, "first", "first_place", r->first);
    else
        writer_field(w, field_of(CELLS | J, "first", FIELD_ABSENT));
    for (int i = 0; i < 3; i++) {
        const struct field field = diff_result(item, DIFFERENCE_MAX_ABS + (unsigned)i);

        writer_field(w, field);
        if (field.kind != FIELD_ABSENT)
            add_index(w, item, indices[i], places[i], at[i]);
        else
            writer_field(w, field_of(CELLS | J, indices[i], FIELD_ABSENT));
    }
    WRITER_FIELDS(w, diff_result(item, DIFFERENCE_RMSD), diff_result(item, DIFFERENCE_COSINE),
                  known(field_of(J, "nonfinite", FIELD_NONFINITE), item),
                  diff_result(item, DIFFERENCE_NAN));
    if (missing)
        WRITER_FIELDS(w, diff_result(item, DIFFERENCE_MISSING),
                      known(field_count(J, "missing_both", r->missing_both), item));
    if (cast)
        WRITER_FIELDS(w, diff_result(item, DIFFERENCE_NEAREST),
                      diff_result(item, DIFFERENCE_OTHER_ROUNDING));
    WRITER_FIELDS(w, known(field_count(J, "nan_both", r->nan_both), item),
                  known(field_count(J, "rewritten", r->rewritten), item));
}

/* Adds why an item cannot be compared, if that is known. */
static void add_error(struct writer *w, const struct diff *diff, const struct diff_item *item)
{
    char text[2 * NAME_BOTH_MAX + ERROR_TEXT_MAX];
    const struct error *error;
    const char *name, *array;

    if (item->error == 0)
        return;
    error = diff_error(diff, item->error - 1, &name, &array);
    snprintf(text, sizeof text, "%s: %s", name, error->text);
    writer_field(w, field_text(J, "error", text));
}

void diff_row_write(struct writer *w, const struct diff_request *request, const struct diff *diff,
                    const struct diff_item *item, bool missing)
{
    writer_begin(w);
    WRITER_FIELDS(w, field_text(J, "file", request->sides[DIFF_A].name),
                  field_text(J, "other", request->sides[DIFF_B].name),
                  field_text(J, "array", item->name));
    if (item->other_name)
        writer_field(w, field_text(J, "other_array", item->other_name));
    add_name(w, item);
    WRITER_FIELDS(w, field_text(CELLS | J, "differs", kind_words[item->kind]));
    add_error(w, diff, item);
    add_both(w, item);
    add_side(w, item, DIFF_A);
    add_side(w, item, DIFF_B);
    writer_field(w, field_text(J, "nan_policy", nan_policy_words[request->options->nan]));
    add_tolerance(w, diff_tolerance(request, item));
    add_result(w, item, missing, request->cast);
    writer_end(w);
}

bool diff_differs(const struct diff_item *item)
{
    return item->kind != DIFF_SAME && (item->kind != DIFF_FAILED || item->name);
}

bool diff_has_missing(const struct diff *diff)
{
    for (size_t k = 0; k < diff_count(diff); k++)
        for (int side = 0; side < DIFF_SIDES; side++)
            if (diff_get(diff, k)->sides[side].missing)
                return true;
    return false;
}
