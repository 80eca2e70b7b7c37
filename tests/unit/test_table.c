/*
 * bench/common/table.h: what a command of gpureduce-bench has measured, as JSON.
 */
#include "config.h"

#include "bench/common/table.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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

/* The script that table_plot hands to gnuplot: a gnuplot in `directory` keeps it. For free(). */
static char *plot_script(const struct table *t, const struct table_plot *what,
                         const char *directory)
{
    char path[256];
    char *text = calloc(1, 1 << 16);
    FILE *script;

    snprintf(path, sizeof path, "%s/plot.svg", directory);
    if (!text || !table_plot(t, path, what))
        abort();
    script = fopen(path, "r");
    if (!script || fread(text, 1, (1 << 16) - 1, script) == 0)
        abort();
    fclose(script);
    unlink(path);
    return text;
}

static void check_plot(void)
{
    enum { LABEL, VALUE, LOW, HIGH, PLOTTED };
    static const struct table_column plotted[PLOTTED] = {
        [LABEL] = {"label", "label", TABLE_TEXT, 0},
        [VALUE] = {"value", "value", TABLE_NUMBER, 1},
        [LOW] = {"low", "low", TABLE_NUMBER, 1},
        [HIGH] = {"high", "high", TABLE_NUMBER, 1},
    };
    struct table_plot what = {.title = "two\n`date` \"lines\" \\",
                              .label = LABEL,
                              .value = VALUE,
                              .lowest = LOW,
                              .highest = HIGH,
                              .axis = "GB/s"};
    static const char gnuplot[] = "#!/bin/sh\n[ \"$1\" = --version ] || exec cat\n";
    char directory[] = "/tmp/test_table.XXXXXX", program[64], path[4096];
    struct table *t = table_new("plotted", plotted, PLOTTED);
    char *script;
    FILE *file;

    if (!mkdtemp(directory))
        abort();
    snprintf(program, sizeof program, "%s/gnuplot", directory);
    snprintf(path, sizeof path, "%s:%s", directory, getenv("PATH"));
    file = fopen(program, "w");
    if (!file || fputs(gnuplot, file) < 0 || fclose(file) != 0 || chmod(program, 0700) != 0 ||
        setenv("PATH", path, 1) != 0)
        abort();
    for (int i = 0; i < 3; i++) {
        table_row(t, i < 2 ? "first" : "`second`");
        table_text(t, LABEL, i ? "b" : "a`b");
        table_number(t, VALUE, i ? 10 : 12.34);
        if (i < 2) {
            table_number(t, LOW, 9);
            table_number(t, HIGH, 20);
        }
    }
    script = plot_script(t, &what, directory);
    tap_ok(strstr(script, "\n1 12.34 9 20 4749480 \"12.3\" \"a?b\" 20\n"
                          "2 10 9 20 4749480 \"10.0\" \"b\" 20\n"
                          "4 10 10 10 6986331 \"10.0\" \"b\" 10\nEND_OF_ROWS\n"),
           "plot: bars, whiskers, or the bar's end in place of them, and equal decimals");
    tap_ok(strstr(script, "\nset label \"first\" at graph 0.006, first 0 ") &&
               strstr(script, "\nset label \"?second?\" at graph 0.006, first 3 "),
           "plot: headings");
    tap_ok(strstr(script, "\nset title \"two\\n?date? ?lines? ?\"\n") && !strchr(script, '`'),
           "plot: nothing that gnuplot would run");
    tap_ok(strstr(script, "\nset xlabel \"GB/s\"\n") && !strstr(script, "logscale") &&
               !strstr(script, "set arrow"),
           "plot: a linear axis");
    free(script);
    table_row(t, "`second`");
    table_number(t, VALUE, 0.34);
    what.limit = 20.5;
    what.limit_name = "peak";
    script = plot_script(t, &what, directory);
    tap_ok(strstr(script, "\nset xlabel \"GB/s, logarithmic scale\"\n") &&
               strstr(script, "\nset logscale x\n") &&
               strstr(script,
                      "\nset xtics (\"0.1\" 0.1, \"0.2\" 0.2, \"0.5\" 0.5, \"1\" 1, \"2\" 2, "
                      "\"5\" 5, \"10\" 10, \"20\" 20)\n"),
           "plot: a logarithmic axis, and its labels");
    tap_ok(strstr(script, "\"peak\" at 20.5, first 0 ") &&
               strstr(script, "\n1 12.34 9 20 4749480 \"12.3\" \"a?b\" 20.5\n") &&
               strstr(script, "\n5 0.34 0.34 0.34 6986331 \"0.3\" \"\" 0.34\n"),
           "plot: a limit, and values that give way to it");
    free(script);
    table_free(t);
    unlink(program);
    rmdir(directory);
}

int main(void)
{
    check_facts();
    check_rows();
    check_plot();
    return tap_done();
}
