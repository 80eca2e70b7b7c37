#include "config.h"

#include "bench/limits/limits_measure.h"

#include <stdio.h>
#include <stdlib.h>

#include "bench/common/series.h"
#include "cli/message.h"
#include "profile/machine_limits.h"
#include "sys/align.h"
#include "sys/plural.h"

enum {
    COLUMN_NAME,
    COLUMN_THREADS,
    COLUMN_PIECE,
    COLUMN_MEDIAN,
    COLUMN_LOWEST,
    COLUMN_HIGHEST,
    COLUMN_PERCENT,
    COLUMN_WHAT,
    COLUMN_LABEL, /* of a bar */
    COLUMNS
};

static const struct table_column columns[COLUMNS] = {
    [COLUMN_NAME] = {"limit", "limit", TABLE_TEXT, 0},
    [COLUMN_THREADS] = {"threads", "threads", TABLE_NUMBER, 0},
    [COLUMN_PIECE] = {"piece_kibibytes", "piece KiB", TABLE_NUMBER, 0},
    [COLUMN_MEDIAN] = {"gigabytes_per_second", "GB/s", TABLE_NUMBER, 2},
    [COLUMN_LOWEST] = {"lowest_gigabytes_per_second", "lowest", TABLE_NUMBER, 2},
    [COLUMN_HIGHEST] = {"highest_gigabytes_per_second", "highest", TABLE_NUMBER, 2},
    [COLUMN_PERCENT] = {"percent_of_peak", "% of peak", TABLE_NUMBER, 1},
    [COLUMN_WHAT] = {"what", "what", TABLE_TEXT, 0},
    [COLUMN_LABEL] = {"label", NULL, TABLE_TEXT, 0},
};

/* Makes the label of a bar. */
static void make_label(char *label, size_t size, const struct limit *limit)
{
    int used = snprintf(label, size, "%s", limit->name);

    if (limit->piece && !limit->threads)
        used += snprintf(label + used, size - (size_t)used, " %g MiB",
                         (double)limit->piece / (double)MIB);
    if (limit->threads)
        snprintf(label + used, size - (size_t)used, " x %u", limit->threads);
}

/* Adds the row of a measurement, and prints it. */
static void add_row(struct limits *l, const struct limit *limit, struct series rates)
{
    struct table *t = l->table;
    char label[100];

    make_label(label, sizeof label, limit);
    table_row(t, limit->group);
    table_text(t, COLUMN_NAME, limit->name);
    if (limit->threads)
        table_number(t, COLUMN_THREADS, limit->threads);
    if (limit->piece)
        table_number(t, COLUMN_PIECE, (double)limit->piece / (double)KIB);
    table_number(t, COLUMN_MEDIAN, rates.median);
    table_number(t, COLUMN_LOWEST, rates.least);
    table_number(t, COLUMN_HIGHEST, rates.most);
    if (limit->peak > 0)
        table_number(t, COLUMN_PERCENT, 100 * rates.median / limit->peak);
    table_text(t, COLUMN_WHAT, limit->what);
    table_text(t, COLUMN_LABEL, label);
    if (!table_flush(t))
        l->stopped = l->only_printed;
}

void limits_show(const struct limits *l, const char *text)
{
    if (l->progress)
        message_transient(text);
}

double limits_rate(uint64_t bytes, double seconds)
{
    return (double)bytes / (seconds > 1e-9 ? seconds : 1e-9) / 1e9;
}

limits_read_function *limits_choose_way(struct limits *l, limits_read_trial *trial, void *argument,
                                        uint64_t bytes, const char *description,
                                        char what[LIMITS_WHAT_MAX])
{
    const struct limits_way *way = NULL;
    char words[LIMITS_WAY_MAX];

    if (l->stopped)
        return NULL;
    limits_show(l, "looking for the fastest way to read");
    way = limits_read_fastest(l->kernels, trial, argument, bytes);
    limits_show(l, NULL);
    if (!way)
        return NULL;
    limits_read_describe(words, way);
    snprintf(what, LIMITS_WHAT_MAX, "%s: %s", description, words);
    return way->read;
}

bool limits_measure(struct limits *l, const struct limit *limit, limits_sample *sample,
                    void *argument)
{
    unsigned count = limit->samples ? limit->samples : l->repeat;
    double *rates = malloc(count * sizeof *rates);
    char label[100], text[120];
    bool good = rates != NULL && !l->stopped;

    if (!rates)
        message_error(EXIT_FAILED, "out of memory");
    make_label(label, sizeof label, limit);
    snprintf(text, sizeof text, "measuring %s", label);
    limits_show(l, good ? text : NULL);
    good = good && sample(argument) >= 0;
    for (unsigned i = 0; good && i < count; i++) {
        double seconds = sample(argument);

        good = seconds >= 0;
        rates[i] = limits_rate(limit->bytes, seconds);
    }
    limits_show(l, NULL);
    if (good)
        add_row(l, limit, series_of(rates, count));
    free(rates);
    return good && !l->stopped;
}

struct table *limits_table_new(void)
{
    return table_new("limits", columns, COLUMNS);
}

bool limits_plot(const struct limits *l, const char *path)
{
    char title[256 + MACHINE_NAME_MAX], cpu[MACHINE_NAME_MAX];

    machine_processor(cpu);
    snprintf(
        title, sizeof title,
        "How fast this machine delivers bytes (gpureduce-bench limits)\n%s, up to %u thread%s\n"
        "bars: median rates; whiskers: from the slowest sample to the fastest",
        cpu, l->threads, plural(l->threads));
    return table_plot(l->table, path,
                      &(struct table_plot){.title = title,
                                           .label = COLUMN_LABEL,
                                           .value = COLUMN_MEDIAN,
                                           .lowest = COLUMN_LOWEST,
                                           .highest = COLUMN_HIGHEST,
                                           .axis = "GB/s (10^9 bytes a second)",
                                           .limit = l->peak,
                                           .limit_name = "peak of GPU memory"});
}
