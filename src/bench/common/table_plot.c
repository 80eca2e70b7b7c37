#include "config.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bench/common/table_impl.h"
#include "cli/gnuplot.h"
#include "cli/message.h"
#include "core/number.h"
#include "sys/escape.h"

/* The axis is logarithmic if the longest bar is so many times as long as the shortest. */
#define FAR_APART 30

/* A logarithmic axis is labelled at 1, 2 and 5 of each power of ten up to this ratio of its ends,
   and beyond it at the powers of ten alone. */
#define DECADES_LABELLED 3e5

/* The share of the axis behind the longest bar, for its value, and that of a character of it. */
#define VALUE_SHARE 0.12
#define CHARACTER_SHARE 0.013

/* A plot. From top to bottom there are slots of the same height: one for the heading of each group,
   and one for each bar. */
struct plot {
    const struct table *t;
    const struct table_plot *what;

    /* Set by measure_bars. */
    size_t bars, slots;
    double most; /* the highest whisker, or the limit */
    double low;  /* where a logarithmic axis begins; 0 for a linear one */
};

/* The number of a cell; 0 if there is none. */
static double number(const struct row *row, size_t column)
{
    const struct value *cell = &row->cells[column];

    return cell->kind == VALUE_NUMBER ? cell->number : 0;
}

/* Whether a row has a bar. */
static bool has_bar(const struct plot *p, const struct row *row)
{
    return number(row, p->what->value) > 0;
}

/* The end of a whisker; the end of the bar if the row has none. */
static double whisker(const struct plot *p, const struct row *row, size_t column)
{
    return number(row, number(row, column) > 0 ? column : p->what->value);
}

/* Whether a row with a bar stands under another heading than the bar before it, which is NULL for
   the first. The first bar has a slot above it in any case. */
static bool begins_group(const struct row *row, const struct row *before)
{
    return !before || (row->group && (!before->group || strcmp(before->group, row->group) != 0));
}

/* Counts the bars and the slots, and chooses the axis. */
static void measure_bars(struct plot *p)
{
    const double limit = p->what->limit;
    const struct row *before = NULL;
    double least = limit > 0 ? limit : INFINITY;

    p->most = limit;
    for (size_t i = 0; i < p->t->row_count; i++) {
        const struct row *row = &p->t->rows[i];

        if (!has_bar(p, row))
            continue;
        p->most = fmax(p->most, whisker(p, row, p->what->highest));
        least = fmin(least, whisker(p, row, p->what->lowest));
        p->slots += 1 + begins_group(row, before);
        p->bars++;
        before = row;
    }
    /* A logarithmic axis begins at a power of ten below all bars, so that each can be seen. */
    p->low = p->most / least < FAR_APART ? 0 : pow(10, floor(log10(least * 0.999)));
}

static void write_terminal(const struct plot *p, FILE *out, const char *format)
{
    const bool svg = strcmp(format, "svg") == 0;

    gnuplot_write_terminal(out, format, svg ? 900 : 1200,
                           svg ? 150 + 22 * p->slots : 160 + 26 * p->slots);
}

/* The end of the axis: there is room for a value after the longest bar. */
static double axis_end(const struct plot *p)
{
    return p->low > 0 ? p->most * pow(p->most / p->low, VALUE_SHARE) : p->most * (1 + VALUE_SHARE);
}

/* How far along the axis x is: from 0 to 1. */
static double along_axis(const struct plot *p, double x)
{
    return p->low > 0 ? log(x / p->low) / log(axis_end(p) / p->low) : x / axis_end(p);
}

/* The beginning of the text of a bar that ends at `end`: there or, if the dashed line would cross
   it, at that line. */
static double text_begin(const struct plot *p, double end, const char *text)
{
    const double limit = p->what->limit, width = CHARACTER_SHARE * (double)(strlen(text) + 2);

    return end < limit && along_axis(p, end) + width > along_axis(p, limit) ? limit : end;
}

/* Writes the bars as a data block: slot, value, lowest, highest, color, the value in words, the
   label, and where the words begin. All values have the decimals that they have in the table. */
static void write_bars(const struct plot *p, FILE *out)
{
    static const unsigned colors[] = {0x4878a8, 0x6a9a5b, 0x9a6fa0, 0xb08040};
    const struct table_plot *what = p->what;
    const struct row *before = NULL;
    size_t slot = 0, groups = 0;

    fputs("$rows << END_OF_ROWS\n", out);
    for (size_t i = 0; i < p->t->row_count; i++) {
        const struct row *row = &p->t->rows[i];
        const double numbers[] = {number(row, what->value), whisker(p, row, what->lowest),
                                  whisker(p, row, what->highest)};
        char words[400];

        if (!has_bar(p, row))
            continue;
        if (begins_group(row, before)) {
            slot++;
            groups++;
        }
        before = row;
        fprintf(out, "%zu", slot++);
        for (size_t j = 0; j < sizeof numbers / sizeof *numbers; j++) {
            char text[NUMBER_MAX];

            number_format(text, numbers[j], ELEMENT_F64);
            fprintf(out, " %s", text);
        }
        snprintf(words, sizeof words, "%.*f", p->t->columns[what->value].decimals, numbers[0]);
        fprintf(out, " %u \"%s\" ", colors[(groups - 1) % (sizeof colors / sizeof *colors)], words);
        gnuplot_write_string(
            out, row->cells[what->label].kind == VALUE_TEXT ? row->cells[what->label].text : "");
        fprintf(out, " %g\n", text_begin(p, numbers[2], words));
    }
    fputs("END_OF_ROWS\n", out);
}

static void write_headings(const struct plot *p, FILE *out)
{
    const struct row *before = NULL;
    size_t slot = 0;

    for (size_t i = 0; i < p->t->row_count; i++) {
        const struct row *row = &p->t->rows[i];

        if (!has_bar(p, row))
            continue;
        if (begins_group(row, before)) {
            fputs("set label ", out);
            gnuplot_write_string(out, row->group ? row->group : "");
            fprintf(out, " at graph 0.006, first %zu left front textcolor rgb '#202020'\n", slot++);
        }
        before = row;
        slot++;
    }
}

/* The labels of a logarithmic axis: 1, 2 and 5 of each power of ten, or 1 alone if there are many.
 */
static void write_log_tics(const struct plot *p, FILE *out)
{
    static const double steps[] = {1, 2, 5};
    const double end = axis_end(p);
    const size_t count = end / p->low > DECADES_LABELLED ? 1 : 3;
    const char *separator = "";
    double decade = p->low;

    fputs("set xtics (", out);
    while (decade <= end) {
        for (size_t i = 0; i < count && decade * steps[i] <= end; i++) {
            fprintf(out, "%s\"%g\" %g", separator, decade * steps[i], decade * steps[i]);
            separator = ", ";
        }
        decade *= 10;
    }
    fputs(")\n", out);
}

static void write_axes(const struct plot *p, FILE *out)
{
    fputs("set title ", out);
    gnuplot_write_string(out, p->what->title);
    fprintf(out, "\nset xlabel \"%s%s\"\n", p->what->axis, p->low > 0 ? ", logarithmic scale" : "");
    fprintf(out,
            "set key off\nset style fill solid noborder\nset grid xtics\nset border 3\n"
            "set xtics nomirror\nset ytics nomirror scale 0\nset bars 0.6\n"
            "set yrange [%zu - 0.4 : -0.6]\n",
            p->slots);
    fprintf(out, "set xrange [%g:%g]\n", p->low, axis_end(p));
    if (p->low > 0) {
        fputs("set logscale x\n", out);
        write_log_tics(p, out);
    }
}

/* Writes the dashed line at the limit, and its name in the topmost slot, which has no bar. */
static void write_limit(const struct plot *p, FILE *out)
{
    const double limit = p->what->limit;

    fprintf(out,
            "set arrow from %g, graph 0 to %g, graph 1 nohead back dashtype 2 linewidth 2 "
            "linecolor rgb '#c03020'\nset label ",
            limit, limit);
    gnuplot_write_string(out, p->what->limit_name);
    fprintf(out, " at %g, first 0 right offset -0.5,0 front textcolor rgb '#c03020'\n", limit);
}

/* Writes the script that draws the bars. False when there are none. */
static bool write_script(struct plot *p, FILE *out, const char *format)
{
    measure_bars(p);
    if (p->bars == 0)
        return false;
    write_terminal(p, out, format);
    write_bars(p, out);
    write_headings(p, out);
    write_axes(p, out);
    if (p->what->limit > 0)
        write_limit(p, out);
    fprintf(out,
            "plot $rows using 2:1:(%g):2:($1 - 0.38):($1 + 0.38):5:ytic(7) with boxxyerror "
            "linecolor rgb variable, \\\n"
            "     $rows using 2:1:3:4 with xerrorbars pointtype -1 linewidth 1.5 "
            "linecolor rgb '#202020', \\\n"
            "     $rows using 8:1:6 with labels left offset 0.7,0\n",
            p->low);
    return true;
}

bool table_plot(const struct table *t, const char *path, const struct table_plot *what)
{
    struct plot plot = {.t = t, .what = what};
    char quoted[ESCAPE_QUOTE_MAX];
    const char *format = gnuplot_format(path);
    FILE *script;
    bool good = false;

    if (!t || t->failed || !format)
        return false;
    script = tmpfile();
    if (!script) {
        message_error(EXIT_FAILED, "cannot make a temporary file: %s", strerror(errno));
        return false;
    }
    if (!write_script(&plot, script, format))
        message_error(EXIT_FAILED, "%s: there is nothing to plot", escape_quote(quoted, path));
    else if (fflush(script) != 0 || fseek(script, 0, SEEK_SET) != 0)
        message_error(EXIT_FAILED, "cannot write a temporary file: %s", strerror(errno));
    else
        good = gnuplot_draw(script, path);
    fclose(script);
    return good;
}
