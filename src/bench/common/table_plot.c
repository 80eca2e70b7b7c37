#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/common/output.h"
#include "bench/common/table_impl.h"
#include "core/number.h"
#include "sys/message.h"

/* The axis is logarithmic if the longest bar is so many times as long as the shortest. */
#define FAR_APART 30

extern char **environ;

/* Runs gnuplot with these file descriptors as its standard streams; -1 stands for our own. Returns
   its exit status, or -1 with errno when it cannot be started. */
static int run_gnuplot(const char *argument, int in, int out, int err)
{
    char program[] = "gnuplot", word[32];
    char *argv[] = {program, word, NULL};
    const int streams[] = {in, out, err};
    posix_spawn_file_actions_t actions;
    int error, status;
    pid_t child;

    snprintf(word, sizeof word, "%s", argument);
    error = posix_spawn_file_actions_init(&actions);
    if (error) {
        errno = error;
        return -1;
    }
    for (int i = 0; i < 3 && error == 0; i++)
        if (streams[i] >= 0)
            error = posix_spawn_file_actions_adddup2(&actions, streams[i], i);
    if (error == 0)
        error = posix_spawnp(&child, program, &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (error) {
        errno = error;
        return -1;
    }
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* The format that the ending of a path asks for: "svg" or "png"; NULL for any other. */
static const char *plot_format(const char *path)
{
    const char *dot = strrchr(path, '.');

    if (dot && (strcmp(dot, ".svg") == 0 || strcmp(dot, ".png") == 0))
        return dot + 1;
    return NULL;
}

bool table_plot_possible(const char *path)
{
    char quoted[MESSAGE_QUOTE_MAX];
    int null, status;

    if (!plot_format(path)) {
        message_error(EXIT_USAGE, "%s: a plot's name ends in .svg or .png",
                      message_quote(quoted, path));
        return false;
    }
    null = open("/dev/null", O_RDWR | O_CLOEXEC);
    status = run_gnuplot("--version", null, null, null);
    if (null >= 0)
        close(null);
    if (status != 0) {
        message_error(EXIT_FAILED,
                      "cannot plot: there is no gnuplot here that works (install gnuplot, or leave "
                      "out --plot)");
        return false;
    }
    return output_possible(path);
}

/* Writes a string of gnuplot's, for titles and data blocks. */
static void write_gnuplot_string(FILE *out, const char *text)
{
    putc('"', out);
    for (; *text; text++)
        putc(*text == '"' || *text == '\\' || (unsigned char)*text < 0x20 ? '?' : *text, out);
    putc('"', out);
}

/* What is drawn. */
struct plot {
    const struct table *t;
    size_t label, value; /* columns */
    const char *axis;    /* its title */
    double limit;        /* 0 for none */
    const char *limit_name;

    /* Set by measure_bars. */
    size_t bars;
    double most; /* the longest bar, or the limit */
    double low;  /* where a logarithmic axis begins; 0 for a linear one */
};

/* Whether a row has a bar. */
static bool has_bar(const struct plot *p, size_t row)
{
    const struct cell *cell = &p->t->rows[row].cells[p->value];

    return cell->set && cell->number > 0;
}

/* Counts the bars, and chooses the axis. */
static void measure_bars(struct plot *p)
{
    double least = p->limit > 0 ? p->limit : INFINITY;

    p->most = p->limit;
    for (size_t i = 0; i < p->t->row_count; i++) {
        double number = p->t->rows[i].cells[p->value].number;

        if (!has_bar(p, i))
            continue;
        p->most = number > p->most ? number : p->most;
        least = number < least ? number : least;
        p->bars++;
    }
    /* A logarithmic axis begins at a power of ten below all bars, so that each can be seen. */
    p->low = p->most / least < FAR_APART ? 0 : pow(10, floor(log10(least * 0.999)));
}

static void write_terminal(const struct plot *p, FILE *out, const char *format)
{
    if (strcmp(format, "svg") == 0)
        fprintf(out, "set terminal svg size 900,%zu noenhanced background 'white'\n",
                110 + 24 * p->bars);
    else
        fprintf(out,
                "if (strstrt(GPVAL_TERMINALS, 'pngcairo')) {\n"
                "    set terminal pngcairo size 1200,%zu noenhanced background 'white'\n"
                "} else {\n"
                "    set terminal png size 1200,%zu noenhanced\n"
                "}\n",
                120 + 28 * p->bars, 120 + 28 * p->bars);
}

/* Writes the bars as a data block: number, value and label. */
static void write_bars(const struct plot *p, FILE *out)
{
    size_t bars = 0;

    fputs("$rows << END_OF_ROWS\n", out);
    for (size_t i = 0; i < p->t->row_count; i++) {
        const struct cell *cells = p->t->rows[i].cells;
        char text[NUMBER_MAX];

        if (!has_bar(p, i))
            continue;
        number_format(text, cells[p->value].number, ELEMENT_F64);
        fprintf(out, "%zu %s ", bars++, text);
        write_gnuplot_string(out, cells[p->label].set ? cells[p->label].text : "");
        putc('\n', out);
    }
    fputs("END_OF_ROWS\n", out);
}

static void write_axes(const struct plot *p, FILE *out)
{
    const struct table *t = p->t;

    fputs("set title ", out);
    write_gnuplot_string(out, t->fact_count > 0 && t->facts[0].kind == FACT_TEXT ? t->facts[0].text
                                                                                 : t->name);
    fputs("\nset xlabel ", out);
    write_gnuplot_string(out, p->axis);
    fprintf(out,
            "\nset key off\nset style fill solid noborder\nset grid xtics\nset border 3\n"
            "set xtics nomirror\nset ytics nomirror scale 0\nset yrange [%zu - 0.4 : -0.6]\n",
            p->bars);
    if (p->low > 0)
        fprintf(out, "set logscale x\nset xrange [%g:%g]\n", p->low, p->most * 2);
    else
        fprintf(out, "set xrange [0:%g]\n", p->most * 1.12);
}

/* Writes the dashed line at the limit. */
static void write_limit(const struct plot *p, FILE *out)
{
    fprintf(out,
            "set arrow from %g, graph 0 to %g, graph 1 nohead front dashtype 2 linewidth 2 "
            "linecolor rgb '#c03020'\nset label ",
            p->limit, p->limit);
    write_gnuplot_string(out, p->limit_name ? p->limit_name : "");
    fprintf(out, " at %g, graph 0.02 right offset -0.5,0 front textcolor rgb '#c03020'\n",
            p->limit);
}

/* Writes the script that draws the bars. False when there are none. */
static bool write_script(struct plot *p, FILE *out, const char *format)
{
    measure_bars(p);
    if (p->bars == 0)
        return false;
    write_terminal(p, out, format);
    write_bars(p, out);
    write_axes(p, out);
    if (p->limit > 0)
        write_limit(p, out);
    fprintf(out,
            "plot $rows using 2:1:(%g):2:($1 - 0.36):($1 + 0.36):ytic(3) with boxxyerror "
            "linecolor rgb '#4070a8', \\\n"
            "     $rows using 2:1:(sprintf('%%.4g', $2)) with labels left offset 0.5,0\n",
            p->low);
    return true;
}

/* Runs a script, whose output becomes the file. */
static bool draw(FILE *script, const char *path)
{
    char quoted[MESSAGE_QUOTE_MAX];
    int out = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666), status;

    if (out < 0) {
        output_error(path);
        return false;
    }
    status = run_gnuplot("-", fileno(script), out, -1);
    if (status < 0)
        message_error(EXIT_FAILED, "cannot run gnuplot: %s", strerror(errno));
    else if (status != 0)
        message_error(EXIT_FAILED, "%s: gnuplot failed with status %d", message_quote(quoted, path),
                      status);
    if (close(out) == 0 || status != 0)
        return status == 0;
    output_error(path);
    return false;
}

bool table_plot(const struct table *t, const char *path, size_t label, size_t value,
                const char *axis, double limit, const char *limit_name)
{
    struct plot plot = {t, label, value, axis, limit, limit_name, 0, 0, 0};
    char quoted[MESSAGE_QUOTE_MAX];
    const char *format = plot_format(path);
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
        message_error(EXIT_FAILED, "%s: there is nothing to plot", message_quote(quoted, path));
    else if (fflush(script) != 0 || fseek(script, 0, SEEK_SET) != 0)
        message_error(EXIT_FAILED, "cannot write a temporary file: %s", strerror(errno));
    else
        good = draw(script, path);
    fclose(script);
    return good;
}
