#include "config.h"

#include <inttypes.h>
#include <math.h>

#include "bench/common/table_impl.h"
#include "core/number.h"
#include "sys/json.h"

/* Writes a member, and `separator` before it. */
static void write_member(const char *separator, const char *key, const struct value *value,
                         FILE *out)
{
    char text[NUMBER_MAX];

    fprintf(out, "%s\"%s\": ", separator, key);
    switch (value->kind) {
    case VALUE_TEXT:
        json_string(out, value->text);
        return;
    case VALUE_COUNT:
        fprintf(out, "%" PRIu64, value->count);
        return;
    case VALUE_FLAG:
        fputs(value->flag ? "true" : "false", out);
        return;
    case VALUE_NUMBER:
        if (!isfinite(value->number))
            break;
        number_format(text, value->number, ELEMENT_F64);
        fputs(text, out);
        return;
    case VALUE_NONE:
        break;
    }
    fputs("null", out);
}

static void write_row(const struct table *t, const struct row *row, FILE *out)
{
    const struct value group = {.kind = VALUE_TEXT, .text = row->group};
    const char *separator = "";

    putc('{', out);
    if (row->group) {
        write_member("", "group", &group, out);
        separator = ", ";
    }
    for (size_t j = 0; j < t->column_count; j++) {
        write_member(separator, t->columns[j].key, &row->cells[j], out);
        separator = ", ";
    }
    putc('}', out);
}

void table_write_json(const struct table *t, FILE *out)
{
    if (!t || t->failed)
        return;
    fprintf(out, "{\"table\": \"%s\"", t->name);
    for (size_t i = 0; i < t->fact_count; i++)
        write_member(", ", t->facts[i].key, &t->facts[i].value, out);
    fputs(", \"rows\": [", out);
    for (size_t i = 0; i < t->row_count; i++) {
        fputs(i ? ",\n" : "\n", out);
        write_row(t, &t->rows[i], out);
    }
    fputs("\n]}\n", out);
}
