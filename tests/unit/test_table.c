/*
 * bench/common/table.h: what a command of gpureduce-bench has measured, as JSON.
 */
#include "config.h"

#include "bench/common/table.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/tap.h"

enum { COLUMN_NAME, COLUMN_RATE, COLUMN_SAME, COLUMNS };

static const struct table_column columns[COLUMNS] = {
    [COLUMN_NAME] = {"name", "name", TABLE_TEXT, 0},
    [COLUMN_RATE] = {"rate", "GB/s", TABLE_NUMBER, 2},
    [COLUMN_SAME] = {"same", "same", TABLE_FLAG, 0},
};

/* Whether the table is this object. */
static void check(const struct table *t, const char *expected, const char *what)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    if (!out)
        abort();
    table_write_json(t, out);
    if (fclose(out) != 0)
        abort();
    if (!tap_ok(strcmp(text, expected) == 0, "%s", what))
        tap_note("%s\nexpected\n%s", text, expected);
    free(text);
}

static void check_facts(void)
{
    struct table *t = table_new("facts", columns, COLUMNS);

    table_fact_text(t, "dist", "distribution", "\"wide\"\n");
    table_fact_number(t, "peak", "peak", 4915.2, 0, "GB/s");
    table_fact_number(t, "least", "least", NAN, 0, "ms");
    /* Neither is a binary64. */
    table_fact_count(t, "seed", "seed", (UINT64_C(1) << 53) + 1, "");
    table_fact_count(t, "most", "most", UINT64_MAX, "bytes");
    check(t,
          "{\"table\": \"facts\", \"dist\": \"\\\"wide\\\"\\u000a\", \"peak\": 4915.2, \"least\": "
          "null, \"seed\": 9007199254740993, \"most\": 18446744073709551615, \"rows\": [\n]}\n",
          "facts: text, numbers, and counts with all their digits");
    table_free(t);
}

static void check_rows(void)
{
    struct table *t = table_new("rows", columns, COLUMNS);

    table_row(t, NULL);
    table_text(t, COLUMN_NAME, "first");
    table_number(t, COLUMN_RATE, 0.1);
    table_flag(t, COLUMN_SAME, true);
    table_row(t, "the others");
    table_text(t, COLUMN_NAME, "replaced");
    table_text(t, COLUMN_NAME, "second");
    table_number(t, COLUMN_RATE, INFINITY);
    check(t,
          "{\"table\": \"rows\", \"rows\": [\n"
          "{\"name\": \"first\", \"rate\": 0.1, \"same\": true},\n"
          "{\"group\": \"the others\", \"name\": \"second\", \"rate\": null, \"same\": null}\n"
          "]}\n",
          "rows: cells that are set, and null for those that are not");
    table_free(t);
}

int main(void)
{
    check_facts();
    check_rows();
    return tap_done();
}
