#include "config.h"

#include "cli/report_diff.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/columns.h"
#include "cli/report_parts.h"
#include "run/arrays.h"
#include "sys/json.h"
#include "sys/message.h"
#include "sys/stdio.h"

/* The word for how two arrays differ. */
static const char *kind_word(enum diff_kind kind)
{
    switch (kind) {
    case DIFF_SAME:
        return "same";
    case DIFF_VALUES:
        return "values";
    case DIFF_BYTES:
        return "bytes";
    case DIFF_SHAPE:
        return "shape";
    case DIFF_TYPE:
        return "dtype";
    case DIFF_ONLY_A:
        return "only-a";
    case DIFF_ONLY_B:
        return "only-b";
    case DIFF_FAILED:
        return "error";
    }
    return NULL;
}

/* The fields of an item, in the order in which they are printed. */
enum field {
    FIELD_ARRAY,
    FIELD_DIFFERS,
    FIELD_TYPE,
    FIELD_SHAPE,
    FIELD_ELEMENTS,
    FIELD_DIFFERENT,
    FIELD_FIRST,
    FIELD_MAX_ABS,
    FIELD_MAX_ABS_AT,
    FIELD_MAX_REL,
    FIELD_MAX_REL_AT,
    FIELD_MAX_ULP,
    FIELD_MAX_ULP_AT,
    FIELD_RMSD,
    FIELD_COSINE,
    FIELD_NAN,
    FIELDS
};

static const char *const headings[FIELDS] = {
    [FIELD_ARRAY] = "array",
    [FIELD_DIFFERS] = "differs",
    [FIELD_TYPE] = "dtype",
    [FIELD_SHAPE] = "shape",
    [FIELD_ELEMENTS] = "elements",
    [FIELD_DIFFERENT] = "different",
    [FIELD_FIRST] = "first",
    [FIELD_MAX_ABS] = "max_abs",
    [FIELD_MAX_ABS_AT] = "max_abs_at",
    [FIELD_MAX_REL] = "max_rel",
    [FIELD_MAX_REL_AT] = "max_rel_at",
    [FIELD_MAX_ULP] = "max_ulp",
    [FIELD_MAX_ULP_AT] = "max_ulp_at",
    [FIELD_RMSD] = "rmsd",
    [FIELD_COSINE] = "cosine",
    [FIELD_NAN] = "nan",
};

/* Room for a field that is no name: two shapes, or a place. */
#define FIELD_MAX ((size_t)2 * REPORT_SHAPE_MAX + ARRAYS_PLACE_MAX)
_Static_assert(FIELD_MAX >= 2 * 700 + 2, "two sides fit");

/* An array that stands for an item's shape, where places are shown. */
static struct container_array shape_array(const struct diff_item *item, struct source_shape *shape)
{
    struct container_array array = {.dimensions = 0};

    if (diff_has_places(item, shape)) {
        array.dimensions = shape->dimensions;
        array.sizes = shape->sizes;
        array.fortran_order = shape->fortran_order;
    }
    return array;
}

static void show_place(char text[FIELD_MAX], const struct diff_item *item, uint64_t index)
{
    struct source_shape shape;
    const struct container_array array = shape_array(item, &shape);
    char place[ARRAYS_PLACE_MAX];

    if (index == DIFFERENCE_NO_INDEX)
        snprintf(text, FIELD_MAX, REPORT_MISSING);
    else
        snprintf(text, FIELD_MAX, "%s", arrays_show_place(place, &array, index));
}

static void show_number(char text[NUMBER_MAX], const struct options *options, double x)
{
    switch (options->number) {
    case NUMBER_DECIMAL:
        number_format(text, x, ELEMENT_F64);
        break;
    case NUMBER_HEX:
        number_format_hex(text, x);
        break;
    }
}

/* An integer where there is one, and otherwise the number. */
static void show_value(char text[NUMBER_MAX], const struct options *options,
                       const struct integer *integer, double x)
{
    if (integer->known)
        number_format_integer(text, integer);
    else
        show_number(text, options, x);
}

static void show_shape(char text[FIELD_MAX], const struct diff_item *item, int side)
{
    struct source_shape shape;

    diff_shape(item, side, &shape);
    if (!shape.known && item->sides[side].elements == SOURCE_UNKNOWN)
        snprintf(text, FIELD_MAX, REPORT_MISSING);
    else
        (void)report_shape(text, &shape, item->sides[side].elements);
}

/* Whether a side has no shape of its own, and as many elements as the other side's shape. */
static bool is_beside_shape(const struct diff_item *item, int side)
{
    const int other = DIFF_B - side;
    struct source_shape shape, shape_beside;

    if (!item->sides[other].info || item->sides[side].elements != item->sides[other].elements)
        return false;
    diff_shape(item, side, &shape);
    diff_shape(item, other, &shape_beside);
    return !shape.known && shape_beside.known;
}

/* Both sides of a field, with | between them, or one, where both are the same or only one is there.
 */
static void show_sides(char text[FIELD_MAX], const struct diff_item *item, enum field field)
{
    char sides[DIFF_SIDES][FIELD_MAX] = {"", ""};

    for (int side = 0; side < DIFF_SIDES; side++) {
        if (!item->sides[side].info || (field == FIELD_SHAPE && is_beside_shape(item, side)))
            continue;
        if (field == FIELD_TYPE)
            snprintf(sides[side], FIELD_MAX, "%s", diff_type(item, side));
        else if (field == FIELD_SHAPE)
            show_shape(sides[side], item, side);
        else if (item->sides[side].elements == SOURCE_UNKNOWN)
            snprintf(sides[side], FIELD_MAX, REPORT_MISSING);
        else
            snprintf(sides[side], FIELD_MAX, "%" PRIu64, item->sides[side].elements);
    }
    if (!sides[DIFF_A][0] || !sides[DIFF_B][0] || strcmp(sides[DIFF_A], sides[DIFF_B]) == 0)
        snprintf(text, FIELD_MAX, "%s", sides[DIFF_A][0] ? sides[DIFF_A] : sides[DIFF_B]);
    else
        snprintf(text, FIELD_MAX, "%.700s|%.700s", sides[DIFF_A], sides[DIFF_B]);
}

/* Whether the item has a value of the field: bytes of unknown meaning are counted at most. */
static bool has_value(const struct diff_item *item, enum field field)
{
    const bool bytes = item->sides[DIFF_A].array && item->sides[DIFF_A].array->unreadable;

    return field < FIELD_DIFFERENT ||
           (item->compared && (field == FIELD_DIFFERENT || field == FIELD_FIRST || !bytes));
}

/* Writes a field that is no name. */
static void show_field(char text[FIELD_MAX], const struct options *options,
                       const struct diff_item *item, enum field field)
{
    const struct difference_result *r = &item->result;

    if (!has_value(item, field)) {
        snprintf(text, FIELD_MAX, REPORT_MISSING);
        return;
    }
    switch (field) {
    case FIELD_ARRAY:
    case FIELDS:
        text[0] = '\0';
        break;
    case FIELD_DIFFERS:
        snprintf(text, FIELD_MAX, "%s", kind_word(item->kind));
        break;
    case FIELD_TYPE:
    case FIELD_SHAPE:
    case FIELD_ELEMENTS:
        show_sides(text, item, field);
        break;
    case FIELD_DIFFERENT:
        snprintf(text, FIELD_MAX, "%" PRIu64, r->different);
        break;
    case FIELD_FIRST:
        show_place(text, item, r->first);
        break;
    case FIELD_MAX_ABS:
        show_value(text, options, &r->max_absolute_integer, r->max_absolute);
        break;
    case FIELD_MAX_ABS_AT:
        show_place(text, item, r->absolute_at);
        break;
    case FIELD_MAX_REL:
        show_number(text, options, r->max_relative);
        break;
    case FIELD_MAX_REL_AT:
        show_place(text, item, r->relative_at);
        break;
    case FIELD_MAX_ULP:
        show_value(text, options, &r->max_ulps, NAN);
        break;
    case FIELD_MAX_ULP_AT:
        show_place(text, item, r->ulps_at);
        break;
    case FIELD_RMSD:
        show_number(text, options, r->root_mean_square);
        break;
    case FIELD_COSINE:
        show_number(text, options, r->cosine);
        break;
    case FIELD_NAN:
        snprintf(text, FIELD_MAX, "%" PRIu64, r->nan_one);
        break;
    }
}

/* Whether there is a row for an item. */
static bool is_shown(const struct diff_item *item)
{
    return item->kind != DIFF_SAME && (item->kind != DIFF_FAILED || item->name);
}

/* Two arrays that are files: a line for each field. */
static void print_lines(const struct options *options, const struct diff_item *item)
{
    char text[FIELD_MAX];

    for (int field = FIELD_DIFFERS; field < FIELDS; field++) {
        if (!has_value(item, (enum field)field))
            continue;
        show_field(text, options, item, (enum field)field);
        printf("%s\t%s\n", headings[field], text);
    }
}

static void print_tsv_heading(void)
{
    for (int field = 0; field < FIELDS; field++)
        printf("%s%c", headings[field], field + 1 < FIELDS ? '\t' : '\n');
}

static void print_tsv_row(const struct options *options, const struct diff_item *item)
{
    char text[FIELD_MAX];

    report_tsv_field(item->name ? item->name : "");
    for (int field = FIELD_DIFFERS; field < FIELDS; field++) {
        show_field(text, options, item, (enum field)field);
        putchar('\t');
        report_tsv_field(text);
    }
    putchar('\n');
}

static void print_tsv(const struct options *options, const struct diff *diff)
{
    print_tsv_heading();
    for (size_t k = 0; k < diff_count(diff); k++)
        if (is_shown(diff_get(diff, k)))
            print_tsv_row(options, diff_get(diff, k));
}

static void print_table(const struct options *options, const struct diff *diff)
{
    struct columns table = {.count = FIELDS, .left = FIELD_ELEMENTS};
    char text[FIELD_MAX], quoted[MESSAGE_QUOTE_MAX];

    for (int field = 0; field < FIELDS; field++)
        columns_add(&table, headings[field]);
    for (size_t k = 0; k < diff_count(diff); k++) {
        const struct diff_item *item = diff_get(diff, k);

        if (!is_shown(item))
            continue;
        columns_add(&table, item->name ? message_quote(quoted, item->name) : "");
        for (int field = FIELD_DIFFERS; field < FIELDS; field++) {
            show_field(text, options, item, (enum field)field);
            columns_add(&table, text);
        }
    }
    columns_print(&table);
}

/*
 * JSON.
 */

/* An index, and its place in each dimension, null where that is not known. */
static void json_index(const struct diff_item *item, const char *key, const char *place_key,
                       uint64_t index)
{
    struct source_shape shape;
    const struct container_array array = shape_array(item, &shape);
    char place[ARRAYS_PLACE_MAX];
    const char *bracket;

    if (index == DIFFERENCE_NO_INDEX) {
        printf(", \"%s\": null, \"%s\": null", key, place_key);
        return;
    }
    bracket = strchr(arrays_show_place(place, &array, index), '[');
    if (!bracket && array.dimensions == 1)
        printf(", \"%s\": %" PRIu64 ", \"%s\": [%" PRIu64 "]", key, index, place_key, index);
    else
        printf(", \"%s\": %" PRIu64 ", \"%s\": %s", key, index, place_key,
               bracket ? bracket : "null");
}

/* A number: null where it is none in JSON, and a string in hexadecimal. */
static void json_number(const struct options *options, const char *key,
                        const struct integer *integer, double x)
{
    char text[NUMBER_MAX];

    show_value(text, options, integer, x);
    if (!integer->known && !isfinite(x))
        printf(", \"%s\": null", key);
    else if (!integer->known && options->number == NUMBER_HEX)
        printf(", \"%s\": \"%s\"", key, text);
    else
        printf(", \"%s\": %s", key, json_decimal(text));
}

static void json_nonfinite(const char *key, const struct integer *integer, double x,
                           const char **separator)
{
    char text[NUMBER_MAX];

    if (integer->known || isfinite(x))
        return;
    number_format(text, x, ELEMENT_F64);
    printf("%s\"%s\": \"%s\"", *separator, key, text);
    *separator = ", ";
}

static void json_result(const struct options *options, const struct diff_item *item)
{
    const struct difference_result *r = &item->result;
    const struct integer none = {.known = false};
    const char *separator = "";

    printf(", \"different\": %" PRIu64, r->different);
    json_index(item, "first", "first_place", r->first);
    if (!has_value(item, FIELD_MAX_ABS))
        return;
    json_number(options, "max_abs", &r->max_absolute_integer, r->max_absolute);
    json_index(item, "max_abs_at", "max_abs_place", r->absolute_at);
    json_number(options, "max_rel", &none, r->max_relative);
    json_index(item, "max_rel_at", "max_rel_place", r->relative_at);
    json_number(options, "max_ulp", &r->max_ulps, NAN);
    json_index(item, "max_ulp_at", "max_ulp_place", r->ulps_at);
    json_number(options, "rmsd", &none, r->root_mean_square);
    json_number(options, "cosine", &none, r->cosine);
    fputs(", \"nonfinite\": {", stdout);
    json_nonfinite("max_abs", &r->max_absolute_integer, r->max_absolute, &separator);
    json_nonfinite("max_rel", &none, r->max_relative, &separator);
    json_nonfinite("max_ulp", &r->max_ulps, NAN, &separator);
    json_nonfinite("rmsd", &none, r->root_mean_square, &separator);
    json_nonfinite("cosine", &none, r->cosine, &separator);
    printf("}, \"nan\": %" PRIu64 ", \"nan_both\": %" PRIu64 ", \"rewritten\": %" PRIu64,
           r->nan_one, r->nan_both, r->rewritten);
}

/* Prints the properties of a side, with "other_" before the keys of side B. */
static void json_side(const struct diff_item *item, int side)
{
    const char *prefix = side == DIFF_A ? "" : "other_";
    struct source_shape shape;

    if (!item->sides[side].info) {
        printf(", \"%sdtype\": null, \"%sshape\": null, \"%selements\": null", prefix, prefix,
               prefix);
        return;
    }
    printf(", \"%sdtype\": ", prefix);
    json_string(stdout, diff_type(item, side));
    diff_shape(item, side, &shape);
    if (!shape.known) {
        printf(", \"%sshape\": null", prefix);
    } else {
        printf(", \"%sshape\": [", prefix);
        for (unsigned i = 0; i < shape.dimensions; i++)
            printf("%s%" PRIu64, i > 0 ? ", " : "", shape.sizes[i]);
        putchar(']');
    }
    if (item->sides[side].elements == SOURCE_UNKNOWN)
        printf(", \"%selements\": null", prefix);
    else
        printf(", \"%selements\": %" PRIu64, prefix, item->sides[side].elements);
}

static void json_tolerance(const struct difference_tolerance *t)
{
    const char *separator = "";
    char text[NUMBER_MAX];

    fputs(", \"tolerance\": {", stdout);
    if (t->by_ulps) {
        printf("\"ulp\": %" PRIu64, t->ulps);
        separator = ", ";
    }
    if (t->by_absolute) {
        number_format(text, t->absolute, ELEMENT_F64);
        printf("%s\"abs\": %s", separator, text);
        separator = ", ";
    }
    if (t->by_relative) {
        number_format(text, t->relative, ELEMENT_F64);
        printf("%s\"rel\": %s", separator, text);
    }
    putchar('}');
}

static void print_object(const struct options *options, const struct diff_item *item)
{
    fputs("{\"file\": ", stdout);
    json_string(stdout, options->files[DIFF_A]);
    fputs(", \"other\": ", stdout);
    json_string(stdout, options->files[DIFF_B]);
    fputs(", \"array\": ", stdout);
    if (item->name)
        json_string(stdout, item->name);
    else
        fputs("null", stdout);
    printf(", \"differs\": \"%s\"", kind_word(item->kind));
    json_side(item, DIFF_A);
    json_side(item, DIFF_B);
    printf(", \"nan_policy\": \"%s\"", report_policy(options->session.nan));
    json_tolerance(&options->tolerance);
    if (item->compared)
        json_result(options, item);
    puts("}");
}

/*
 * All of it.
 */

static void report_stats_line(const struct diff *diff, bool single)
{
    const struct diff_summary s = diff_summary(diff);
    char verdict[80];

    if (single)
        snprintf(verdict, sizeof verdict, "%s", s.differs ? "different" : "the same");
    else
        snprintf(verdict, sizeof verdict, "%zu of %zu array%s different", s.different,
                 diff_count(diff), message_s(diff_count(diff)));
    message_line("%s: %" PRIu64 " element%s, %" PRIu64 " byte%s of both, %.6f s, %.3f GB/s",
                 verdict, s.elements, message_s(s.elements), s.bytes, message_s(s.bytes), s.seconds,
                 report_rate(s.bytes, s.seconds));
}

void report_diff(const struct options *options, const struct diff *diff)
{
    const struct diff_summary s = diff_summary(diff);
    const bool single = diff_count(diff) == 1 && !diff_get(diff, 0)->name;

    if (options->quiet)
        return;
    switch (options->output) {
    case OUTPUT_TEXT:
        if (single && is_shown(diff_get(diff, 0)))
            print_lines(options, diff_get(diff, 0));
        else if (!single && (s.differs || s.failed) && isatty(STDOUT_FILENO))
            print_table(options, diff);
        else if (!single && (s.differs || s.failed))
            print_tsv(options, diff);
        break;
    case OUTPUT_TSV:
        print_tsv(options, diff);
        break;
    case OUTPUT_JSON:
        for (size_t k = 0; k < diff_count(diff); k++)
            if (is_shown(diff_get(diff, k)))
                print_object(options, diff_get(diff, k));
        break;
    case OUTPUT_PARTIAL: /* does not go with --diff */
        break;
    }
    (void)stdio_flush();
    if (!s.failed && (options->verbose || options->output == OUTPUT_TEXT))
        report_stats_line(diff, single);
}
