#include "config.h"

#include <inttypes.h>
#include <math.h>

#include "bench/common/table_impl.h"
#include "core/number.h"
#include "sys/json.h"

static void write_number(FILE *out, double x)
{
    char text[NUMBER_MAX];

    if (isfinite(x))
        number_format(text, x, ELEMENT_F64);
    fputs(isfinite(x) ? text : "null", out);
}

static void write_row(const struct table *t, const struct row *row, FILE *out)
{
    const char *separator = "";

    putc('{', out);
    if (row->group) {
        fputs("\"group\": ", out);
        json_string(out, row->group);
        separator = ", ";
    }
    for (size_t j = 0; j < t->column_count; j++) {
        const struct cell *cell = &row->cells[j];

        fprintf(out, "%s\"%s\": ", separator, t->columns[j].key);
        separator = ", ";
        if (!cell->set)
            fputs("null", out);
        else if (t->columns[j].kind == TABLE_TEXT)
            json_string(out, cell->text);
        else if (t->columns[j].kind == TABLE_FLAG)
            fputs(cell->flag ? "true" : "false", out);
        else
            write_number(out, cell->number);
    }
    putc('}', out);
}

void table_write_json(const struct table *t, FILE *out)
{
    if (!t || t->failed)
        return;
    fprintf(out, "{\"table\": \"%s\"", t->name);
    for (size_t i = 0; i < t->fact_count; i++) {
        const struct fact *f = &t->facts[i];

        fprintf(out, ", \"%s\": ", f->key);
        switch (f->kind) {
        case FACT_TEXT:
            json_string(out, f->text);
            break;
        case FACT_NUMBER:
            write_number(out, f->number);
            break;
        case FACT_COUNT:
            fprintf(out, "%" PRIu64, f->count);
            break;
        }
    }
    fputs(", \"rows\": [", out);
    for (size_t i = 0; i < t->row_count; i++) {
        fputs(i ? ",\n" : "\n", out);
        write_row(t, &t->rows[i], out);
    }
    fputs("\n]}\n", out);
}
