#include "config.h"

#include "cli/rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/message.h"
#include "core/number.h"
#include "sys/grow.h"

static struct row_value value_of_text(const char *text)
{
    return (struct row_value){.kind = ROW_VALUE_TEXT, .text = text};
}

static struct row_value value_of_count(uint64_t count)
{
    return (struct row_value){.kind = count == UINT64_MAX ? ROW_VALUE_NAN : ROW_VALUE_INTEGER,
                              .integer = {.low = count, .known = true}};
}

struct row_value row_value_of(const struct field *field)
{
    if (field->kind == FIELD_INTEGER)
        return (struct row_value){.kind = ROW_VALUE_INTEGER, .integer = *field->integer};
    if (field->kind == FIELD_COUNT || field->kind == FIELD_INDEX)
        return value_of_count(field->count);
    if (field->kind == FIELD_NUMBER && !isnan(field->number))
        return (struct row_value){
            .kind = ROW_VALUE_NUMBER, .number = field->number, .type = field->type};
    return (struct row_value){.kind = field->kind == FIELD_ABSENT ? ROW_VALUE_NONE : ROW_VALUE_NAN};
}

static struct row_value value_of(const struct row_key *key, const struct row *row)
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
    case ROW_DIFFERENCE:
        if (!row->failed)
            return row->find(row->results, key);
        break;
    case ROW_BADNESS:
        return row->find(row->results, key);
    }
    return (struct row_value){.kind = ROW_VALUE_NONE};
}

/* Compares two values that are no NaNs: below 0, 0, or above 0. */
static int compare_values(const struct row_value *a, const struct row_value *b)
{
    if (a->kind == ROW_VALUE_TEXT)
        return strcmp(a->text, b->text);
    if (a->kind == ROW_VALUE_INTEGER && b->kind == ROW_VALUE_INTEGER)
        return number_compare_integers(&a->integer, &b->integer);
    if (a->kind == ROW_VALUE_INTEGER)
        return number_compare_mixed(&a->integer, b->number);
    if (b->kind == ROW_VALUE_INTEGER)
        return -number_compare_mixed(&b->integer, a->number);
    return (a->number > b->number) - (a->number < b->number);
}

/* The number of a condition, as one of the type that the value has, so that what is printed for a
   value is equal to it: where that is an integer, in full. */
static struct row_value read_number(const struct row_condition *c, const struct row_value *value)
{
    struct row_value number = {.kind = ROW_VALUE_INTEGER};

    if (value->kind == ROW_VALUE_INTEGER && number_parse_integer(c->number, &number.integer))
        return number;
    number.kind = ROW_VALUE_NUMBER;
    (void)number_parse(c->number, value->kind == ROW_VALUE_NUMBER ? value->type : ELEMENT_F64,
                       &number.number);
    return number;
}

static bool holds(const struct row_condition *c, const struct row *row)
{
    const struct row_value value = value_of(&c->key, row);
    struct row_value number;
    int order;

    if (value.kind >= ROW_VALUE_NAN)
        return c->relation == ROW_UNEQUAL;
    number = read_number(c, &value);
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
    if (row->failed)
        return true;
    for (unsigned i = 0; i < request->count; i++)
        if (!holds(&request->conditions[i], row))
            return false;
    return true;
}

/*
 * Rows that are kept.
 */

void rows_keep(struct rows *rows, const struct rows_request *request, const struct row *row,
               const struct buffer *text, size_t first)
{
    struct kept_row kept = {.number = rows->count,
                            .first = first,
                            .length = text->size,
                            .named = row->name,
                            .typed = row->dtype,
                            .value = value_of(&request->sort, row),
                            .descending = request->descending};
    const bool by_text = kept.value.kind == ROW_VALUE_TEXT;
    const size_t extra = by_text ? strlen(kept.value.text) + 1 : 0;

    kept.text =
        GROW(rows->kept, rows->room, rows->count + 1) ? malloc(kept.length + extra + 1) : NULL;
    rows->failed = rows->failed || !kept.text || text->failed;
    if (!kept.text)
        return;
    if (kept.length > 0)
        memcpy(kept.text, text->data, kept.length);
    if (by_text)
        kept.value.text = memcpy(kept.text + kept.length, kept.value.text, extra);
    rows->kept[rows->count++] = kept;
}

void rows_take(struct rows *rows, const struct rows_request *request, const struct row *row,
               struct buffer *out, size_t begin)
{
    const struct buffer text = {
        .data = out->data + begin, .size = out->size - begin, .failed = out->failed};

    rows_keep(rows, request, row, &text, text.size);
    out->size = begin;
}

static int compare_kept(const void *one, const void *other)
{
    const struct kept_row *a = one, *b = other;
    const bool last = a->value.kind >= ROW_VALUE_NAN || b->value.kind >= ROW_VALUE_NAN;
    int order = 0;

    if (last && a->value.kind != b->value.kind)
        return a->value.kind < b->value.kind ? -1 : 1;
    if (!last)
        order = compare_values(&a->value, &b->value);
    if (order != 0)
        return (order < 0) == a->descending ? 1 : -1;
    return a->number < b->number ? -1 : 1;
}

void rows_sort(struct rows *rows)
{
    if (rows->count > 0)
        qsort(rows->kept, rows->count, sizeof *rows->kept, compare_kept);
}

void rows_put(struct rows *rows, struct buffer *out)
{
    rows_sort(rows);
    for (size_t i = 0; i < rows->count; i++)
        buffer_bytes(out, rows->kept[i].text, rows->kept[i].length);
    rows_free(rows);
}

void rows_free(struct rows *rows)
{
    if (rows->failed)
        message_error(EXIT_FAILED, "out of memory: some rows are left out");
    for (size_t i = 0; i < rows->count; i++)
        free(rows->kept[i].text);
    free(rows->kept);
    *rows = (struct rows){0};
}
