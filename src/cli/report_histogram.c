/*
 * Histograms as text, TSV and JSON. They are printed row by row: a row is a bin, or what has an
 * exponent, and how many elements are in it.
 */
#include "config.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/report_parts.h"
#include "sys/json.h"
#include "sys/stdio.h"

/* Rows between two flushes, which fit the buffer of standard output. */
#define ROWS_FLUSHED 1024

/* The class of the elements of a row, if it is not a bin. */
enum row_class { ROW_NORMAL, ROW_SUBNORMAL, ROW_ZERO, ROW_INFINITY, ROW_NAN };

static const char *const class_names[] = {
    [ROW_NORMAL] = "normal", [ROW_SUBNORMAL] = "subnormal",
    [ROW_ZERO] = "zero",     [ROW_INFINITY] = "infinity",
    [ROW_NAN] = "nan",
};

struct histogram_row {
    uint64_t count;
    double from, to; /* of bins; NaN for that of NaNs */
    bool inner;      /* one of the bins that were asked for */

    /* For rows of exponents. */
    enum row_class class;
    int sign; /* 1 is minus */
    int exponent;
};

/* Rows of a histogram of bins: those below, the bins, those above, and NaNs. */
static uint32_t bin_rows(const struct histogram *h)
{
    return h->bins + 3;
}

static struct histogram_row bin_row(const struct histogram *h, uint32_t i)
{
    if (i == 0)
        return (struct histogram_row){.count = h->below, .from = -INFINITY, .to = h->range.low};
    if (i == h->bins + 1)
        return (struct histogram_row){.count = h->above, .from = h->range.high, .to = INFINITY};
    if (i == h->bins + 2)
        return (struct histogram_row){.count = h->nan, .from = NAN, .to = NAN};
    return (struct histogram_row){.count = h->counts[i - 1],
                                  .from = histogram_edge(h, i - 1),
                                  .to = histogram_edge(h, i),
                                  .inner = true};
}

/* Rows of a histogram of exponents, in ascending order of values: half of them negative; then
   NaNs. */
static uint32_t exponent_rows(const struct histogram *h)
{
    return 2 * (uint32_t)(h->exponent_max - h->exponent_min + 1 + 3) + 1;
}

static struct histogram_row exponent_row(const struct histogram *h, uint32_t i)
{
    const uint32_t exponents = (uint32_t)(h->exponent_max - h->exponent_min + 1);
    const uint32_t half = exponents + 3; /* zeros, subnormals, exponents, infinities */
    struct histogram_row row = {.sign = i < half, .class = ROW_NORMAL};
    uint32_t size = i < half ? half - 1 - i : i - half; /* how far from zero */

    if (i == 2 * half)
        return (struct histogram_row){.count = h->nan, .class = ROW_NAN};
    if (size == 0) {
        row.class = ROW_ZERO;
        row.count = h->zeros[row.sign];
    } else if (size == 1) {
        row.class = ROW_SUBNORMAL;
        row.count = h->subnormals[row.sign];
    } else if (size == half - 1) {
        row.class = ROW_INFINITY;
        row.count = h->infinities[row.sign];
    } else {
        row.exponent = h->exponent_min + (int)size - 2;
        row.count = histogram_exponent(h, row.sign, row.exponent);
    }
    return row;
}

static uint32_t row_count(const struct histogram *h)
{
    return h->kind == HISTOGRAM_BINS ? bin_rows(h) : exponent_rows(h);
}

static struct histogram_row get_row(const struct histogram *h, uint32_t i)
{
    return h->kind == HISTOGRAM_BINS ? bin_row(h, i) : exponent_row(h, i);
}

static void flush_rows(uint32_t i)
{
    if (i % ROWS_FLUSHED == 0)
        (void)stdio_flush();
}

/*
 * TSV.
 */

static void print_number(const struct options *options, double x)
{
    char text[NUMBER_MAX];

    if (options->number == NUMBER_HEX)
        number_format_hex(text, x);
    else
        number_format(text, x, ELEMENT_F64);
    fputs(text, stdout);
}

static void print_row(const struct options *options, const struct histogram *h,
                      const struct histogram_row *row)
{
    if (h->kind == HISTOGRAM_BINS) {
        print_number(options, row->from);
        putchar('\t');
        print_number(options, row->to);
    } else {
        fputs(row->class == ROW_NAN ? REPORT_MISSING : row->sign ? "-" : "+", stdout);
        printf("\t%s\t", class_names[row->class]);
        if (row->class == ROW_NORMAL)
            printf("%d", row->exponent);
        else
            fputs(REPORT_MISSING, stdout);
    }
    printf("\t%" PRIu64 "\n", row->count);
}

static const char *heading(enum histogram_kind kind)
{
    return kind == HISTOGRAM_BINS ? "from\tto\tcount" : "sign\tclass\texponent\tcount";
}

void report_histogram_tsv_heading(const struct options *options)
{
    printf("file\t%s\n", heading(options->session.survey.histogram.kind));
}

/* Whether a row is printed: of exponents, those that occur. */
static bool is_shown(const struct histogram *h, const struct histogram_row *row)
{
    return h->kind == HISTOGRAM_BINS || row->count > 0;
}

void report_histogram_tsv(const struct options *options, const char *path,
                          const struct reduction *reduction)
{
    const struct histogram *h = reduction->histogram;

    if (reduction->error[0]) {
        report_tsv_name(path);
        puts(options->session.survey.histogram.kind == HISTOGRAM_BINS ? "\tNA\tNA\tNA"
                                                                      : "\tNA\tNA\tNA\tNA");
        return;
    }
    for (uint32_t i = 0; i < row_count(h); i++) {
        struct histogram_row row = get_row(h, i);

        if (!is_shown(h, &row))
            continue;
        report_tsv_name(path);
        putchar('\t');
        print_row(options, h, &row);
        flush_rows(i);
    }
}

/*
 * Bars.
 */

/* Writes what stands in front of a bar. */
static void label_row(char *text, size_t size, const struct histogram *h,
                      const struct histogram_row *row)
{
    const char *sign = row->sign ? "-" : "+";

    if (h->kind == HISTOGRAM_BINS) {
        if (isnan(row->from))
            snprintf(text, size, "nan");
        else
            snprintf(text, size, "%.6g to %.6g", row->from, row->to);
        return;
    }
    switch (row->class) {
    case ROW_NORMAL:
        snprintf(text, size, "%s2^%d", sign, row->exponent);
        break;
    case ROW_SUBNORMAL:
        snprintf(text, size, "%ssubnormal", sign);
        break;
    case ROW_ZERO:
        snprintf(text, size, "%s0", sign);
        break;
    case ROW_INFINITY:
        snprintf(text, size, "%sinf", sign);
        break;
    case ROW_NAN:
        snprintf(text, size, "nan");
        break;
    }
}

/* Whether a bar is drawn: what lies outside of the bins only where there is any. */
static bool is_drawn(const struct histogram_row *row)
{
    return row->inner || row->count > 0;
}

/* Draws bars in this many columns: the label, the count, and as many # as are left for the
   longest. */
static void print_bars(const struct histogram *h, unsigned columns)
{
    int labels = 0, counts = 0, bars;
    uint64_t most = 1;
    char text[80];

    for (uint32_t i = 0; i < row_count(h); i++) {
        struct histogram_row row = get_row(h, i);
        int width;

        if (!is_drawn(&row))
            continue;
        label_row(text, sizeof text, h, &row);
        labels = (int)strlen(text) > labels ? (int)strlen(text) : labels;
        width = snprintf(text, sizeof text, "%" PRIu64, row.count);
        counts = width > counts ? width : counts;
        most = row.count > most ? row.count : most;
    }
    bars = (int)columns - labels - counts - 5;
    bars = bars < 10 ? 10 : bars;
    for (uint32_t i = 0; i < row_count(h); i++) {
        struct histogram_row row = get_row(h, i);

        if (!is_drawn(&row))
            continue;
        label_row(text, sizeof text, h, &row);
        printf("%*s  %*" PRIu64 "  ", labels, text, counts, row.count);
        /* A row that is not empty has one at least. */
        for (int j = 0; j < bars; j++)
            if ((double)j < (double)row.count / (double)most * bars)
                putchar('#');
        putchar('\n');
    }
}

void report_histogram(const struct options *options, const struct reduction *reduction)
{
    const struct histogram_request *request = &options->session.survey.histogram;
    const struct histogram *h = reduction->histogram;
    unsigned columns;

    if (request->kind == HISTOGRAM_NONE)
        return;
    if (reduction->error[0]) {
        /* As many as there would be counts; of exponents nobody knows. */
        for (uint32_t i = 0; i < (request->kind == HISTOGRAM_BINS ? request->bins + 3 : 1); i++)
            puts(REPORT_MISSING);
        return;
    }
    columns = stdio_columns();
    if (columns > 0 && !options->quiet) {
        print_bars(h, columns);
        return;
    }
    if (!options->quiet)
        puts(heading(h->kind));
    for (uint32_t i = 0; i < row_count(h); i++) {
        struct histogram_row row = get_row(h, i);

        if (!is_shown(h, &row))
            continue;
        if (options->quiet)
            printf("%" PRIu64 "\n", row.count);
        else
            print_row(options, h, &row);
        flush_rows(i);
    }
}

/*
 * JSON.
 */

static void json_edge(const struct options *options, double x)
{
    char text[NUMBER_MAX];

    if (!isfinite(x)) {
        fputs("null", stdout);
    } else if (options->number == NUMBER_HEX) {
        putchar('"');
        print_number(options, x);
        putchar('"');
    } else {
        number_format(text, x, ELEMENT_F64);
        fputs(json_decimal(text), stdout);
    }
}

static void json_bins(const struct options *options, const struct histogram *h)
{
    printf("\"kind\": \"bins\", \"bins\": %" PRIu32 ", \"edges\": [", h->bins);
    for (uint32_t i = 0; i <= h->bins; i++) {
        fputs(i > 0 ? ", " : "", stdout);
        json_edge(options, histogram_edge(h, i));
        flush_rows(i);
    }
    fputs("], \"counts\": [", stdout);
    for (uint32_t i = 0; i < h->bins; i++) {
        printf("%s%" PRIu64, i > 0 ? ", " : "", h->counts[i]);
        flush_rows(i);
    }
    printf("], \"below\": %" PRIu64 ", \"above\": %" PRIu64, h->below, h->above);
}

static void json_exponents(const struct histogram *h)
{
    fputs("\"kind\": \"exponent\"", stdout);
    for (int sign = 0; sign < 2; sign++) {
        const char *separator = "";

        printf(", \"%s\": {\"zeros\": %" PRIu64 ", \"subnormals\": %" PRIu64
               ", \"infinities\": %" PRIu64 ", \"exponents\": {",
               sign ? "negative" : "positive", h->zeros[sign], h->subnormals[sign],
               h->infinities[sign]);
        for (int exponent = h->exponent_min; exponent <= h->exponent_max; exponent++) {
            uint64_t count = histogram_exponent(h, sign, exponent);

            if (count == 0)
                continue;
            printf("%s\"%d\": %" PRIu64, separator, exponent, count);
            separator = ", ";
        }
        fputs("}}", stdout);
    }
}

void report_histogram_json(const struct options *options, const struct reduction *reduction)
{
    const struct histogram *h = reduction->histogram;

    if (!h)
        return;
    fputs(", \"histogram\": {", stdout);
    if (h->kind == HISTOGRAM_BINS)
        json_bins(options, h);
    else
        json_exponents(h);
    printf(", \"nan\": %" PRIu64 "}", h->nan);
}
