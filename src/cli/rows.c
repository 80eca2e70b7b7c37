#include "config.h"

#include "cli/rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/report_parts.h"
#include "core/number.h"
#include "sys/message.h"

/* The values by which rows are compared. Those without a value come last. */
enum value_kind { VALUE_TEXT, VALUE_INTEGER, VALUE_NUMBER, VALUE_NAN, VALUE_NONE };

struct value {
    enum value_kind kind;
    const char *text;
    struct integer integer;
    double number;
};

static struct value value_of_text(const char *text)
{
    return (struct value){.kind = VALUE_TEXT, .text = text};
}

static struct value value_of_count(uint64_t count)
{
    return (struct value){.kind = count == SOURCE_UNKNOWN ? VALUE_NAN : VALUE_INTEGER,
                          .integer = {.low = count, .known = true}};
}

static struct value value_of_number(double number)
{
    return (struct value){.kind = isnan(number) ? VALUE_NAN : VALUE_NUMBER, .number = number};
}

_Static_assert(PARTIAL_NO_INDEX == SOURCE_UNKNOWN, "an index that there is not is a NaN");

static struct value value_of_operation(const struct operation *op,
                                       const struct reduction *reduction)
{
    const struct integer *full = operation_exact_integer(op, &reduction->result);

    if (report_left_out(op, reduction))
        return (struct value){.kind = VALUE_NONE};
    if (full)
        return (struct value){.kind = VALUE_INTEGER, .integer = *full};
    if (op->kind == OPERATION_COUNT)
        return value_of_count(operation_integer(op, &reduction->result));
    return value_of_number(operation_number(op, &reduction->result));
}

static bool has_failed(const struct row *row)
{
    return row->reduction && row->reduction->error[0];
}

static struct value value_of(const struct row_key *key, const struct row *row)
{
    switch (key->field) {
    case ROW_UNASKED:
        break;
    case ROW_NAME:
        return value_of_text(row->name ? row->name : row->path);
    case ROW_DTYPE:
        if (row->dtype)
            return value_of_text(row->dtype);
        break;
    case ROW_ELEMENTS:
        if (row->dtype)
            return value_of_count(row->elements);
        break;
    case ROW_BYTES:
        if (row->dtype)
            return value_of_count(row->bytes);
        break;
    case ROW_OPERATION:
        if (!has_failed(row))
            return value_of_operation(key->op, row->reduction);
        break;
    }
    return (struct value){.kind = VALUE_NONE};
}

/* Compares two values that are no NaNs: below 0, 0, or above 0. */
static int compare_values(const struct value *a, const struct value *b)
{
    if (a->kind == VALUE_TEXT)
        return strcmp(a->text, b->text);
    if (a->kind == VALUE_INTEGER && b->kind == VALUE_INTEGER)
        return number_compare_integers(&a->integer, &b->integer);
    if (a->kind == VALUE_INTEGER)
        return number_compare_mixed(&a->integer, b->number);
    if (b->kind == VALUE_INTEGER)
        return -number_compare_mixed(&b->integer, a->number);
    return (a->number > b->number) - (a->number < b->number);
}

/* The number of a condition, as one of the type that the value has, so that what is printed for a
   value is equal to it: where that is an integer, in full. */
static struct value read_number(const struct row_condition *c, const struct row *row,
                                enum value_kind kind)
{
    struct value number = {.kind = VALUE_INTEGER};

    if (kind == VALUE_INTEGER && number_parse_integer(c->number, &number.integer))
        return number;
    number.kind = VALUE_NUMBER;
    (void)number_parse(c->number,
                       kind == VALUE_NUMBER ? report_type(c->key.op, row->reduction) : ELEMENT_F64,
                       &number.number);
    return number;
}

static bool holds(const struct row_condition *c, const struct row *row)
{
    const struct value value = value_of(&c->key, row);
    struct value number;
    int order;

    if (value.kind >= VALUE_NAN)
        return c->relation == ROW_UNEQUAL;
    number = read_number(c, row, value.kind);
    order = compare_values(&value, &number);
    switch (c->relation) {
    case ROW_LESS:
        return order < 0;
    case ROW_AT_MOST:
        return order <= 0;
    case ROW_EQUAL:
        return order == 0;
    case ROW_UNEQUAL:
        return order != 0;
    case ROW_AT_LEAST:
        return order >= 0;
    case ROW_GREATER:
        return order > 0;
    }
    return false;
}

struct row row_of(const char *path, const struct reduction *reduction)
{
    const bool known = !reduction->error[0] || reduction->array;

    return (struct row){.path = path,
                        .name = reduction->array,
                        .dtype = known ? report_type_name(reduction) : NULL,
                        .elements = reduction->elements,
                        .bytes = reduction->bytes,
                        .reduction = reduction};
}

unsigned rows_operations(const struct rows_request *request,
                         const struct operation *all[ROWS_OPERATIONS_MAX])
{
    unsigned count = 0;

    for (unsigned i = 0; i < request->count; i++)
        if (request->conditions[i].key.op)
            all[count++] = request->conditions[i].key.op;
    if (request->sort.op)
        all[count++] = request->sort.op;
    return count;
}

bool rows_hold(const struct rows_request *request, const struct row *row)
{
    if (has_failed(row))
        return true;
    for (unsigned i = 0; i < request->count; i++)
        if (!holds(&request->conditions[i], row))
            return false;
    return true;
}

/*
 * Rows that are kept.
 */

struct kept_row {
    struct row row;
    struct reduction *reduction;
    char *path, *name, *dtype;
    void *own;
    char *line;    /* NULL where the reduction is kept; behind it stands the name, and the path */
    size_t length; /* of the line */
    size_t number; /* in the order of the input */
    struct value value;
    bool descending;
};

static void free_kept(const struct kept_row *kept)
{
    free(kept->reduction);
    free(kept->path);
    free(kept->name);
    free(kept->dtype);
    free(kept->own);
    free(kept->line);
}

static void *copy(const void *bytes, size_t size)
{
    void *memory = malloc(size);

    return memory ? memcpy(memory, bytes, size) : NULL;
}

/* Makes room for another one. */
static bool make_room(struct rows *rows)
{
    const size_t room = rows->room ? 2 * rows->room : 64;
    struct kept_row *more;

    if (rows->count < rows->room)
        return true;
    more = realloc(rows->kept, room * sizeof *more);
    if (!more)
        return false;
    rows->kept = more;
    rows->room = room;
    return true;
}

void rows_keep(struct rows *rows, const struct row *row, const void *own, size_t size)
{
    struct kept_row kept = {.number = rows->count, .row = *row};

    kept.path = strdup(row->path);
    kept.name = row->name ? strdup(row->name) : NULL;
    kept.dtype = row->dtype ? strdup(row->dtype) : NULL;
    kept.reduction = row->reduction ? copy(row->reduction, sizeof *row->reduction) : NULL;
    kept.own = size > 0 ? copy(own, size) : NULL;
    if (!kept.path || !kept.name != !row->name || !kept.dtype != !row->dtype ||
        !kept.reduction != !row->reduction || !kept.own != (size == 0) || !make_room(rows)) {
        free_kept(&kept);
        rows->failed = true;
        return;
    }
    kept.row.path = kept.path;
    kept.row.name = kept.name;
    kept.row.dtype = kept.dtype;
    kept.row.reduction = kept.reduction;
    if (kept.reduction)
        kept.reduction->array = kept.name;
    rows->kept[rows->count++] = kept;
}

void rows_keep_line(struct rows *rows, const struct rows_request *request, const struct row *row,
                    const char *line, size_t length)
{
    const size_t name = strlen(row->name) + 1, path = strlen(row->path) + 1;
    struct kept_row kept = {.number = rows->count, .row = *row, .length = length};

    kept.line = malloc(length + name + path);
    if (!kept.line || !make_room(rows)) {
        free(kept.line);
        rows->failed = true;
        return;
    }
    memcpy(kept.line, line, length);
    kept.row.name = memcpy(kept.line + length, row->name, name);
    kept.row.path = memcpy(kept.line + length + name, row->path, path);
    kept.value = value_of(&request->sort, &kept.row); /* of a type's name it is a constant */
    kept.row.reduction = NULL;
    rows->kept[rows->count++] = kept;
}

static int compare_kept(const void *one, const void *other)
{
    const struct kept_row *a = one, *b = other;
    const bool last = a->value.kind >= VALUE_NAN || b->value.kind >= VALUE_NAN;
    int order = 0;

    if (last && a->value.kind != b->value.kind)
        return a->value.kind < b->value.kind ? -1 : 1;
    if (!last)
        order = compare_values(&a->value, &b->value);
    if (order != 0)
        return (order < 0) == a->descending ? 1 : -1;
    return a->number < b->number ? -1 : 1;
}

void rows_sort(struct rows *rows, const struct rows_request *request)
{
    for (size_t i = 0; i < rows->count; i++) {
        if (!rows->kept[i].line)
            rows->kept[i].value = value_of(&request->sort, &rows->kept[i].row);
        rows->kept[i].descending = request->descending;
    }
    if (rows->count > 0)
        qsort(rows->kept, rows->count, sizeof *rows->kept, compare_kept);
}

const struct row *rows_get(const struct rows *rows, size_t i)
{
    return &rows->kept[i].row;
}

const void *rows_get_own(const struct rows *rows, size_t i)
{
    return rows->kept[i].own;
}

const char *rows_get_line(const struct rows *rows, size_t i, size_t *length)
{
    *length = rows->kept[i].length;
    return rows->kept[i].line;
}

void rows_free(struct rows *rows)
{
    if (rows->failed)
        message_error(EXIT_FAILED, "out of memory: some rows are left out");
    for (size_t i = 0; i < rows->count; i++)
        free_kept(&rows->kept[i]);
    free(rows->kept);
    *rows = (struct rows){0};
}
