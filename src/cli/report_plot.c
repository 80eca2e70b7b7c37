/*
 * Histograms as plots, drawn by gnuplot.
 */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/gnuplot.h"
#include "cli/message.h"
#include "cli/report.h"
#include "core/name.h"
#include "sys/escape.h"
#include "sys/plural.h"

/* Pixels. */
#define WIDTH 1000
#define HEIGHT 600

/* A bin: its edges and its count. NaNs, and what lies outside, is told in the title. */
static void write_bins(FILE *script, const struct histogram *h)
{
    char from[NUMBER_MAX], to[NUMBER_MAX];

    for (uint32_t i = 0; i < h->bins; i++) {
        number_format(from, histogram_edge(h, i), ELEMENT_F64);
        number_format(to, histogram_edge(h, i + 1), ELEMENT_F64);
        fprintf(script, "%s %s %" PRIu64 "\n", from, to, h->counts[i]);
    }
}

/* An exponent, and the counts of positive and of negative elements that have it. Returns whether
   there is any. */
static bool write_exponents(FILE *script, const struct histogram *h)
{
    bool any = false;

    for (int exponent = h->exponent_min; exponent <= h->exponent_max; exponent++) {
        uint64_t positive = histogram_exponent(h, 0, exponent);
        uint64_t negative = histogram_exponent(h, 1, exponent);

        if (positive == 0 && negative == 0)
            continue;
        fprintf(script, "%d %" PRIu64 " %" PRIu64 "\n", exponent, positive, negative);
        any = true;
    }
    return any;
}

static void write_title(FILE *script, const struct histogram *h, const char *path,
                        const struct reduction *reduction)
{
    char name[NAME_INPUT_MAX], rest[240], title[NAME_INPUT_MAX + 400];

    if (h->kind == HISTOGRAM_BINS)
        snprintf(rest, sizeof rest, "below: %" PRIu64 ", above: %" PRIu64 ", NaN: %" PRIu64,
                 h->below, h->above, h->nan);
    else
        snprintf(rest, sizeof rest,
                 "zeros: %" PRIu64 ", subnormals: %" PRIu64 ", infinities: %" PRIu64
                 ", NaN: %" PRIu64,
                 h->zeros[0] + h->zeros[1], h->subnormals[0] + h->subnormals[1],
                 h->infinities[0] + h->infinities[1], h->nan);
    snprintf(title, sizeof title, "%s: %" PRIu64 " element%s\n%s", name_input(name, path),
             reduction->elements, plural(reduction->elements), rest);
    fputs("set title ", script);
    gnuplot_write_string(script, title);
    putc('\n', script);
}

/* All elements are equal: of an axis without a width gnuplot would warn. */
static void write_width(FILE *script, double value)
{
    const double margin = value == 0 ? 1 : fabs(value) / 100;

    if (isfinite(value - margin) && isfinite(value + margin))
        fprintf(script, "set xrange [%.17g:%.17g]\n", value - margin, value + margin);
}

/* Writes the script. False when there is nothing to draw. */
static bool write_script(FILE *script, const char *format, const char *path,
                         const struct reduction *reduction)
{
    const struct histogram *h = reduction->histogram;
    const bool bins = h->kind == HISTOGRAM_BINS;
    bool any = true;

    gnuplot_write_terminal(script, format, WIDTH, HEIGHT);
    fputs("$rows << END_OF_ROWS\n", script);
    if (bins)
        write_bins(script, h);
    else
        any = write_exponents(script, h);
    fputs("END_OF_ROWS\n", script);
    write_title(script, h, path, reduction);
    fputs("set style fill solid noborder\nset grid ytics\nset border 3\nset xtics nomirror\n"
          "set ytics nomirror\nset ylabel \"elements\"\nset yrange [0:*]\n",
          script);
    if (bins && h->range.low == h->range.high)
        write_width(script, h->range.low);
    if (bins)
        fputs("set key off\nset xlabel \"value\"\n"
              "plot $rows using (($1 + $2) / 2):(0):1:2:(0):3 with boxxyerror "
              "linecolor rgb '#4878a8'\n",
              script);
    else
        fputs("set xlabel \"binary exponent\"\n"
              "plot $rows using 1:(0):($1 - 0.42):($1 - 0.02):(0):2 with boxxyerror "
              "linecolor rgb '#4878a8' title \"positive\", \\\n"
              "     $rows using 1:(0):($1 + 0.02):($1 + 0.42):(0):3 with boxxyerror "
              "linecolor rgb '#b08040' title \"negative\"\n",
              script);
    return any && !(bins && isnan(h->range.low));
}

void report_plot(const struct options *options, const char *path, const struct reduction *reduction)
{
    char quoted[ESCAPE_QUOTE_MAX];
    FILE *script = tmpfile();

    if (!script) {
        message_error(EXIT_FAILED, "cannot make a temporary file: %s", strerror(errno));
        return;
    }
    if (!write_script(script, gnuplot_format(options->plot), path, reduction))
        message_error(EXIT_FAILED, "%s: there is nothing to plot",
                      escape_quote(quoted, options->plot));
    else if (fflush(script) != 0 || fseek(script, 0, SEEK_SET) != 0)
        message_error(EXIT_FAILED, "cannot write a temporary file: %s", strerror(errno));
    else
        (void)gnuplot_draw(script, options->plot);
    fclose(script);
}
