/*
 * Histograms as text, TSV and JSON. They are printed row by row: a row is a bin, or what has an
 * exponent, and how many elements are in it.
 */
#include "config.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/message.h"
#include "cli/report.h"

/* The class of the elements of a row, if it is not a bin. */
enum row_class { ROW_NORMAL, ROW_SUBNORMAL, ROW_ZERO, ROW_INFINITY, ROW_NAN };

/* Their names, and what stands for them in front of bars, behind a sign. */
static const struct {
    const char *name, *label;
} classes[] = {
    [ROW_NORMAL] = {"normal", "2^"}, [ROW_SUBNORMAL] = {"subnormal", "subnormal"},
    [ROW_ZERO] = {"zero", "0"},      [ROW_INFINITY] = {"infinity", "inf"},
    [ROW_NAN] = {"nan", "nan"},
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

/* A row of a histogram of bins: those below, the bins, those above, and NaNs. */
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

/* The rows of either sign of a histogram of exponents: zeros, subnormals, exponents, infinities. */
static uint32_t rows_of_sign(const struct histogram *h)
{
    return (uint32_t)(h->exponent_max - h->exponent_min + 1 + 3);
}

/* A row of a histogram of exponents, in ascending order of values: half of them negative; then NaNs. */
static struct histogram_row exponent_row(const struct histogram *h, uint32_t i)
{
    const uint32_t half = rows_of_sign(h);
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
    return h->kind == HISTOGRAM_BINS ? h->bins + 3 : 2 * rows_of_sign(h) + 1;
}

static struct histogram_row get_row(const struct histogram *h, uint32_t i)
{
    return h->kind == HISTOGRAM_BINS ? bin_row(h, i) : exponent_row(h, i);
}

/*
 * Rows of TSV, and values.
 */

static void write_row(struct writer *w, const char *path, enum histogram_kind kind,
                      const struct histogram_row *row)
{
    char exponent[16] = WRITER_MISSING;

    writer_begin(w);
    writer_field(w, field_file(IN_FILE, path));
    if (kind == HISTOGRAM_BINS) {
        WRITER_FIELDS(w, field_number(IN_CELLS, "from", row->from, ELEMENT_F64),
                      field_number(IN_CELLS, "to", row->to, ELEMENT_F64));
    } else {
        if (row->class == ROW_NORMAL)
            snprintf(exponent, sizeof exponent, "%d", row->exponent);
        WRITER_FIELDS(w,
                      field_text(IN_CELLS, "sign",
                                 row->class == ROW_NAN ? WRITER_MISSING
                                 : row->sign           ? "-"
                                                       : "+"),
                      field_text(IN_CELLS, "class", classes[row->class].name),
                      field_text(IN_CELLS, "exponent", exponent));
    }
    writer_field(w, field_count(IN_CELLS | IN_LINES, "count", row->count));
    writer_end(w);
}

/* Writes all rows; of exponents, those that occur. */
static void write_rows(struct writer *w, const char *path, const struct histogram *h)
{
    for (uint32_t i = 0; i < row_count(h); i++) {
        const struct histogram_row row = get_row(h, i);

        if (h->kind == HISTOGRAM_BINS || row.count > 0)
            write_row(w, path, h->kind, &row);
    }
}

void report_histogram_rows(struct writer *w, const struct options *options, const char *path,
                           const struct reduction *reduction)
{
    const enum histogram_kind kind = options->session.passes.histogram.kind;
    const bool bins = kind == HISTOGRAM_BINS;
    const struct histogram_row none = {.class = ROW_NORMAL};

    if (w->heading)
        write_row(w, path, kind, &none);
    else if (reduction->error.kind == ERROR_NONE)
        write_rows(w, path, reduction->histogram);
    else
        WRITER_ROW(w, field_file(IN_FILE, path), field_of(IN_CELLS, NULL, FIELD_MISSING),
                   field_of(IN_CELLS, NULL, FIELD_MISSING),
                   field_of(bins ? 0 : IN_CELLS, NULL, FIELD_MISSING),
                   field_of(IN_CELLS, NULL, FIELD_MISSING));
}

/*
 * Bars.
 */

/* Writes what stands in front of a bar. */
static void label_row(char *text, size_t size, const struct histogram *h,
                      const struct histogram_row *row)
{
    const char *sign = row->class == ROW_NAN ? "" : row->sign ? "-" : "+";

    if (h->kind == HISTOGRAM_BINS && isnan(row->from))
        snprintf(text, size, "nan");
    else if (h->kind == HISTOGRAM_BINS)
        snprintf(text, size, "%.6g to %.6g", row->from, row->to);
    else if (row->class == ROW_NORMAL)
        snprintf(text, size, "%s%s%d", sign, classes[row->class].label, row->exponent);
    else
        snprintf(text, size, "%s%s", sign, classes[row->class].label);
}

/* Whether a bar is drawn: what lies outside of the bins only where there is any. */
static bool is_drawn(const struct histogram_row *row)
{
    return row->inner || row->count > 0;
}

/* Draws bars in this many columns: the label, the count, and as many # as are left for the
   longest. */
static void write_bars(struct buffer *out, const struct histogram *h, unsigned columns)
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
        buffer_print(out, "%*s  %*" PRIu64 "  ", labels, text, counts, row.count);
        /* A row that is not empty has one at least. */
        for (int j = 0; j < bars; j++)
            if ((double)j < (double)row.count / (double)most * bars)
                buffer_char(out, '#');
        buffer_char(out, '\n');
    }
}

void report_histogram(struct writer *w, const struct options *options,
                      const struct reduction *reduction)
{
    const struct histogram_request *request = &options->session.passes.histogram;
    struct writer rows = *w;

    if (request->kind == HISTOGRAM_NONE)
        return;
    if (reduction->error.kind != ERROR_NONE) {
        /* As many as there would be counts; of exponents nobody knows. */
        for (uint32_t i = 0; i < (request->kind == HISTOGRAM_BINS ? request->bins + 3 : 1); i++)
            writer_field(w, field_of(IN_LINES, NULL, FIELD_MISSING));
        return;
    }
    if (isatty(STDOUT_FILENO) && !options->quiet) {
        write_bars(w->out, reduction->histogram, message_columns(STDOUT_FILENO));
        return;
    }
    if (!options->quiet) {
        rows.form = WRITER_TSV;
        rows.shows = IN_CELLS;
        rows.heading = true;
        report_histogram_rows(&rows, options, NULL, reduction);
        rows.heading = false;
    }
    write_rows(&rows, NULL, reduction->histogram);
}

/*
 * JSON.
 */

#define J IN_OBJECT

static void add_bins(struct writer *w, const struct histogram *h)
{
    WRITER_FIELDS(w, field_text(J, "kind", "bins"), field_count(J, "bins", h->bins),
                  field_of(J, "edges", FIELD_ARRAY));
    for (uint32_t i = 0; i <= h->bins; i++)
        writer_field(w, field_number(J, NULL, histogram_edge(h, i), ELEMENT_F64));
    WRITER_FIELDS(w, field_of(J, "]", FIELD_END), field_of(J, "counts", FIELD_ARRAY));
    for (uint32_t i = 0; i < h->bins; i++)
        writer_field(w, field_count(J, NULL, h->counts[i]));
    WRITER_FIELDS(w, field_of(J, "]", FIELD_END), field_count(J, "below", h->below),
                  field_count(J, "above", h->above));
}

static void add_exponents(struct writer *w, const struct histogram *h)
{
    char name[16];

    writer_field(w, field_text(J, "kind", "exponent"));
    for (int sign = 0; sign < 2; sign++) {
        WRITER_FIELDS(w, field_of(J, sign ? "negative" : "positive", FIELD_OBJECT),
                      field_count(J, "zeros", h->zeros[sign]),
                      field_count(J, "subnormals", h->subnormals[sign]),
                      field_count(J, "infinities", h->infinities[sign]),
                      field_of(J, "exponents", FIELD_OBJECT));
        for (int exponent = h->exponent_min; exponent <= h->exponent_max; exponent++) {
            const uint64_t count = histogram_exponent(h, sign, exponent);

            snprintf(name, sizeof name, "%d", exponent);
            if (count > 0)
                writer_field(w, field_count(J, name, count));
        }
        WRITER_FIELDS(w, field_of(J, "}", FIELD_END), field_of(J, "}", FIELD_END));
    }
}

void report_histogram_object(struct writer *w, const struct reduction *reduction)
{
    const struct histogram *h = reduction->histogram;

    if (!h)
        return;
    writer_field(w, field_of(J, "histogram", FIELD_OBJECT));
    if (h->kind == HISTOGRAM_BINS)
        add_bins(w, h);
    else
        add_exponents(w, h);
    WRITER_FIELDS(w, field_count(J, "nan", h->nan), field_of(J, "}", FIELD_END));
}
