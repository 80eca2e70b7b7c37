/*
 * gpureduce-bench ladder: the ways to sum on a GPU that the textbooks teach, side by side on the
 * user's own GPU, up to the production kernel.
 *
 * A rung is verified before it is timed. CUB's sum takes turns with each rung that is compared with
 * it.
 */
#include "config.h"

#include "bench/ladder/ladder.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/common/arguments.h"
#include "bench/common/series.h"
#include "bench/ladder/inputs.h"
#include "bench/ladder/options.h"
#include "bench/ladder/suite.h"
#include "bench/ladder/timing.h"
#include "bench/ladder/verify.h"
#include "bench/ladder/workbench.h"
#include "cli/arguments.h"
#include "cli/gnuplot.h"
#include "cli/message.h"
#include "cli/output.h"

/*
 * Published figures of the textbook rungs: four articles on parallel reduction in CUDA, on two
 * GPUs. They are printed beside what is measured here.
 */

/* Common to the figures of one GPU, all of which are of f32. */
struct published_run {
    const char *device;
    double peak; /* of its memory, GB/s */
    const char *data;
};

struct published {
    const struct published_run *run;
    const char *rung; /* or another name, of something that is not a rung here */
    unsigned threads; /* of a block of a batched rung, else 0 */
    double gigabytes; /* GB/s; 0 where a time is given */
    double milliseconds;
};

static const struct published_run rtx_3090 = {"RTX 3090", 936, "2^25 elements"};
static const struct published_run rtx_5070_ti = {"RTX 5070 Ti", 896, "2^29 elements, 50 repeats"};

static const struct published published[] = {
    {&rtx_3090, "lower bound", 0, 0, 0.1396},
    {&rtx_3090, "atomic", 0, 2.47, 0},
    {&rtx_3090, "vector-atomic", 0, 9.9, 0},
    {&rtx_3090, "shared-divergent", 0, 223, 0},
    {&rtx_3090, "shared-strided", 0, 317, 0},
    {&rtx_3090, "sequential", 0, 331, 0},
    {&rtx_3090, "first-add", 0, 618, 0},
    {&rtx_3090, "warp-unrolled", 0, 859, 0},
    {&rtx_3090, "jnp.sum", 0, 871, 0},
    {&rtx_5070_ti, "batched-divergent", 128, 431.4, 0},
    {&rtx_5070_ti, "batched-divergent", 256, 423.2, 0},
    {&rtx_5070_ti, "batched-divergent", 512, 380.7, 0},
    {&rtx_5070_ti, "batched-divergent", 1024, 210.9, 0},
    {&rtx_5070_ti, "batched-strided", 128, 436.1, 0},
};

#define PUBLISHED (sizeof published / sizeof *published)

/* The figure of the rung of this name; for a batched rung, with blocks of `threads` threads. NULL
   when there is none. */
static const struct published *published_find(const char *rung, unsigned threads)
{
    for (size_t i = 0; i < PUBLISHED; i++)
        if (strcmp(published[i].rung, rung) == 0 &&
            (published[i].threads == 0 || published[i].threads == threads))
            return &published[i];
    return NULL;
}

/* The rate of a figure, in percent of the peak of its GPU. */
static double published_percent(const struct published *p)
{
    return 100 * p->gigabytes / p->run->peak;
}

/*
 * The table.
 */

enum column {
    COLUMN_RUNG,
    COLUMN_TIME,
    COLUMN_RATE,
    COLUMN_PERCENT,
    COLUMN_RATIO,
    COLUMN_ERROR,
    COLUMN_SAME,
    COLUMN_CHECK,
    COLUMN_PUBLISHED,
    /* In JSON alone. */
    COLUMN_DEVICE,
    COLUMN_LESSON,
    COLUMN_LEAST,
    COLUMN_MOST,
    COLUMN_RATE_LOWEST,
    COLUMN_RATE_HIGHEST,
    COLUMN_REPEATS,
    COLUMN_COMPARED,
    COLUMN_THREADS,
    COLUMN_WHY,
    COLUMN_PUBLISHED_DEVICE,
    COLUMN_PUBLISHED_RATE,
    COLUMN_PUBLISHED_PERCENT,
    COLUMNS
};

static const struct table_column columns[COLUMNS] = {
    [COLUMN_RUNG] = {"rung", "rung", TABLE_TEXT, 0},
    [COLUMN_TIME] = {"milliseconds", "ms", TABLE_NUMBER, 4},
    [COLUMN_RATE] = {"gigabytes_per_second", "GB/s", TABLE_NUMBER, 1},
    [COLUMN_PERCENT] = {"percent_of_peak", "% of peak", TABLE_NUMBER, 1},
    [COLUMN_RATIO] = {"ratio_to_cub", "x cub", TABLE_NUMBER, 3},
    [COLUMN_ERROR] = {"error_ulps", "error, ulp", TABLE_NUMBER, 2},
    [COLUMN_SAME] = {"same_bits", "same bits", TABLE_FLAG, 0},
    [COLUMN_CHECK] = {"check", "check", TABLE_TEXT, 0},
    [COLUMN_PUBLISHED] = {"published", "published", TABLE_TEXT, 0},
    [COLUMN_DEVICE] = {"device", NULL, TABLE_TEXT, 0},
    [COLUMN_LESSON] = {"lesson", NULL, TABLE_TEXT, 0},
    [COLUMN_LEAST] = {"least_milliseconds", NULL, TABLE_NUMBER, 4},
    [COLUMN_MOST] = {"most_milliseconds", NULL, TABLE_NUMBER, 4},
    [COLUMN_RATE_LOWEST] = {"lowest_gigabytes_per_second", NULL, TABLE_NUMBER, 1},
    [COLUMN_RATE_HIGHEST] = {"highest_gigabytes_per_second", NULL, TABLE_NUMBER, 1},
    [COLUMN_REPEATS] = {"repeats", NULL, TABLE_NUMBER, 0},
    [COLUMN_COMPARED] = {"runs_compared", NULL, TABLE_NUMBER, 0},
    [COLUMN_THREADS] = {"threads", NULL, TABLE_NUMBER, 0},
    [COLUMN_WHY] = {"reason", NULL, TABLE_TEXT, 0},
    [COLUMN_PUBLISHED_DEVICE] = {"published_device", NULL, TABLE_TEXT, 0},
    [COLUMN_PUBLISHED_RATE] = {"published_gigabytes_per_second", NULL, TABLE_NUMBER, 1},
    [COLUMN_PUBLISHED_PERCENT] = {"published_percent_of_peak", NULL, TABLE_NUMBER, 1},
};

/* The least time that a sum can take on this device, seconds. */
struct roofline {
    double reading, adding; /* of the elements */
    double least;           /* the larger of the two */
};

static struct roofline roofline(const struct workbench *b, uint64_t count)
{
    double additions = b->type == ELEMENT_F64 ? b->device.additions64 : b->device.additions32;
    struct roofline r = {.reading = (double)count * (double)element_size(b->type) / b->device.peak,
                         .adding = (double)(count - 1) / additions};

    r.least = r.reading > r.adding ? r.reading : r.adding;
    return r;
}

static void ladder_facts(struct table *t, const struct workbench *b, const struct inputs *in)
{
    struct roofline r = roofline(b, in->count);

    workbench_facts(b, t);
    table_fact_text(t, "dtype", "type", element_name(in->type));
    table_fact_count(t, "elements", "elements", in->count, "");
    table_fact_text(t, "dist", "distribution", distribution_name(b->distribution));
    table_fact_count(t, "seed", "seed", b->seed, "");
    table_fact_count(t, "buffers", "buffers in rotation", in->places, "");
    table_fact_count(t, "coarsen", "coarsening", b->coarsen, "");
    table_fact_count(t, "repeat", "timings of each, at most", b->repeat, "");
    table_fact_number(t, "read_milliseconds", "least time for N reads", r.reading * 1e3, 4, "ms");
    table_fact_number(t, "add_milliseconds", "least time for N - 1 additions", r.adding * 1e3, 4,
                      "ms");
    table_fact_number(t, "roofline_milliseconds", "roofline", r.least * 1e3, 4, "ms");
    table_fact_text(t, "timing", "timing",
                    "median of single reductions between CUDA events; results zeroed and inputs "
                    "copied beforehand");
}

/* Adds the published figure of a rung to its row, if there is one. */
static void publish(struct table *t, const struct rung *rung, unsigned threads)
{
    const struct published *p = published_find(rung->name, threads);
    char text[64];

    if (!p)
        return;
    snprintf(text, sizeof text, "%.4g GB/s, %.1f %% of %s", p->gigabytes, published_percent(p),
             p->run->device);
    table_text(t, COLUMN_PUBLISHED, text);
    table_text(t, COLUMN_PUBLISHED_DEVICE, p->run->device);
    table_number(t, COLUMN_PUBLISHED_RATE, p->gigabytes);
    table_number(t, COLUMN_PUBLISHED_PERCENT, published_percent(p));
}

/* Adds the published figures as rows of their own, below the measured ones. */
static void list_published(struct table *t)
{
    for (size_t i = 0; i < PUBLISHED; i++) {
        const struct published *p = &published[i];
        char group[80], label[RUNG_LABEL_MAX];

        snprintf(group, sizeof group, "published: %s, %.0f GB/s, f32, %s", p->run->device,
                 p->run->peak, p->run->data);
        if (p->threads)
            snprintf(label, sizeof label, "%s-%u", p->rung, p->threads);
        else
            snprintf(label, sizeof label, "%s", p->rung);
        table_row(t, group);
        table_text(t, COLUMN_RUNG, label);
        table_text(t, COLUMN_DEVICE, p->run->device);
        if (p->milliseconds > 0)
            table_number(t, COLUMN_TIME, p->milliseconds);
        if (p->gigabytes > 0) {
            table_number(t, COLUMN_RATE, p->gigabytes);
            table_number(t, COLUMN_PERCENT, published_percent(p));
        }
        if (p->threads)
            table_number(t, COLUMN_THREADS, p->threads);
    }
}

/*
 * The rungs.
 */

/* Fills the row with the times of a rung. `cub` is CUB's sum, timed beside it, or a case without
   times when the rung is that sum itself. */
static void fill_times(const struct workbench *b, struct table *t, const struct bench_case *rung,
                       const struct bench_case *cub)
{
    struct series s = series_of(rung->times, rung->timed);
    double rate = bench_case_rate(rung, s.median);

    table_number(t, COLUMN_TIME, s.median);
    table_number(t, COLUMN_RATE, rate);
    table_number(t, COLUMN_PERCENT, 100 * rate * 1e9 / b->device.peak);
    table_number(t, COLUMN_RATIO,
                 cub->timed ? series_of(cub->times, cub->timed).median / s.median : 1);
    table_number(t, COLUMN_LEAST, s.least);
    table_number(t, COLUMN_MOST, s.most);
    table_number(t, COLUMN_RATE_LOWEST, bench_case_rate(rung, s.most));
    table_number(t, COLUMN_RATE_HIGHEST, bench_case_rate(rung, s.least));
    table_number(t, COLUMN_REPEATS, s.count);
}

/* Fills the row with what was found of a rung and its times; prints an error if it failed. */
static void fill_findings(const struct workbench *b, struct table *t, const char *label,
                          const struct findings *f, const struct bench_case cases[2])
{
    table_text(t, COLUMN_CHECK, verify_verdict_name(f->verdict));
    if (!f->measurable) {
        message_error(EXIT_FAILED, "%s failed: %s", label, f->why);
        table_text(t, COLUMN_WHY, f->why);
        return;
    }
    fill_times(b, t, &cases[0], &cases[1]);
    if (!isnan(f->ulps))
        table_number(t, COLUMN_ERROR, f->ulps);
    table_flag(t, COLUMN_SAME, f->same);
    table_number(t, COLUMN_COMPARED, f->compared);
}

/* Opens the cases: the rung and, beside it unless it is that itself, CUB's sum. Verifies the first
   and times them all. They are to be closed. */
static struct findings measure(struct workbench *b, struct inputs *in, const struct rung *rung,
                               unsigned threads, const char *label, struct bench_case cases[2])
{
    const struct rung *cub = rung_table_find("cub");
    unsigned count = rung == cub ? 1 : 2;
    struct findings f = {.verdict = VERDICT_WRONG};

    workbench_progress(b, label, "verifying");
    if (!bench_case_open(b, &cases[0], rung, in->type, in->count, threads) ||
        (count == 2 && !bench_case_open(b, &cases[1], cub, in->type, in->count, threads))) {
        snprintf(f.why, sizeof f.why, "it could not be set up");
        return f;
    }
    f = verify_case(b, in, &cases[0]);
    if (!f.measurable)
        return f;
    workbench_progress(b, label, "timing");
    if (!timing_measure(b, in, cases, count))
        verify_note_error(b, &f, cases[0].error != cudaSuccess ? cases[0].error : cases[1].error);
    return f;
}

/* Runs a rung, and fills its row. */
static void climb(struct workbench *b, struct inputs *in, struct table *t, const struct rung *rung,
                  unsigned threads)
{
    const char *why = rung_table_unavailable(rung, in->type, in->count);
    struct bench_case cases[2] = {{0}};
    struct findings f;
    char label[RUNG_LABEL_MAX];

    rung_table_label(label, rung, threads);
    table_row(t, b->device.name);
    table_text(t, COLUMN_RUNG, why ? rung->name : label);
    table_text(t, COLUMN_DEVICE, b->device.name);
    table_text(t, COLUMN_LESSON, rung->lesson);
    if (rung->order <= ORDER_ROWS && !why)
        table_number(t, COLUMN_THREADS, threads);
    if (in->type == ELEMENT_F32)
        publish(t, rung, threads);
    if (why) {
        table_text(t, COLUMN_CHECK, why);
        return;
    }
    f = measure(b, in, rung, threads, label, cases);
    fill_findings(b, t, label, &f, cases);
    bench_case_close(&cases[0]);
    bench_case_close(&cases[1]);
}

/* Runs the rungs that the list names. Batched rungs run with every size of a block, unless one was
   asked for. */
static void climb_all(struct workbench *b, struct inputs *in, struct table *t, const char *list)
{
    for (size_t i = 0; i < rung_table_count && !b->lost; i++) {
        const struct rung *rung = &rung_table[i];
        bool rows = rung->order == ORDER_ROWS && (rung->types & RUNG_TYPE(in->type));
        size_t blocks = rows && !b->threads ? RUNG_BLOCKS : 1;

        for (size_t j = 0; j < blocks && !b->lost; j++) {
            unsigned threads = b->threads ? b->threads : rows ? rung_table_blocks[j] : 256;

            if (!rung_table_listed(list, rung, threads))
                continue;
            climb(b, in, t, rung, threads);
            workbench_show_row(b, t);
        }
    }
    workbench_say_lost(b);
}

/* Whether the list names a rung that works in place. */
static bool list_works_in_place(const struct workbench *b, const char *list)
{
    for (size_t i = 0; i < rung_table_count; i++)
        if (rung_table[i].in_place && (rung_table[i].types & RUNG_TYPE(b->type)) &&
            rung_table_listed(list, &rung_table[i], 0))
            return true;
    return false;
}

/* Draws the rungs that were measured. */
static void draw(const struct workbench *b, const struct table *t, const char *path)
{
    const double bytes = (double)b->count * (double)element_size(b->type);
    char title[512];

    snprintf(title, sizeof title,
             "How fast kernels sum %" PRIu64 " %s %s on the GPU (gpureduce-bench ladder)\n%s\n"
             "bars: median rates; whiskers: from the slowest timing to the fastest",
             b->count, distribution_name(b->distribution), element_name(b->type), b->device.name);
    (void)table_plot(t, path,
                     &(struct table_plot){.title = title,
                                          .label = COLUMN_RUNG,
                                          .value = COLUMN_RATE,
                                          .lowest = COLUMN_RATE_LOWEST,
                                          .highest = COLUMN_RATE_HIGHEST,
                                          .axis = "GB/s (10^9 bytes a second)",
                                          .limit = bytes / roofline(b, b->count).least / 1e9,
                                          .limit_name = "roofline"});
}

/* Runs the ladder on an open workbench and prints its table. */
static void ladder(struct workbench *b, const char *list, const struct argument_json *json,
                   const char *plot)
{
    struct inputs in = {0};
    struct table *t = table_new("ladder", columns, COLUMNS);

    table_as_json(t, json->print, json->path);
    if (t && inputs_open(b, &in, list_works_in_place(b, list))) {
        ladder_facts(t, b, &in);
        climb_all(b, &in, t, list);
        if (plot)
            draw(b, t, plot);
        list_published(t);
        table_finish(t);
    }
    inputs_close(&in);
    table_free(t);
}

/*
 * The command line.
 */

#define ELEMENTS_DEFAULT ((uint64_t)1 << 25)

_Static_assert(LADDER_REPEAT_MAX <= TIMING_REPEAT_MAX, "as many timings as there is room for");

static void print_rungs(void)
{
    puts("\nRungs:");
    for (size_t i = 0; i < rung_table_count; i++) {
        char left[RUNG_LABEL_MAX];

        snprintf(left, sizeof left, "  %s", rung_table[i].name);
        arguments_print_entry(left, rung_table[i].lesson);
    }
}

/* Whether what was given makes sense, and can be written to; says what does not. */
static bool check_options(const struct ladder_options *c)
{
    const char *unknown;
    bool known = c->block_size == 0;
    size_t length;

    unknown = c->list ? rung_table_unknown(c->list, &length) : NULL;
    if (unknown) {
        char word[RUNG_LABEL_MAX];

        snprintf(word, sizeof word, "%.*s", length < RUNG_LABEL_MAX ? (int)length : RUNG_LABEL_MAX,
                 unknown);
        return arguments_wrong("unknown rung %s", word);
    }
    for (size_t i = 0; i < RUNG_BLOCKS; i++)
        known = known || c->block_size == rung_table_blocks[i];
    if (!known)
        return message_error(
            EXIT_USAGE, "--block-size '%" PRIu64 "' is not 128, 256, 512 or 1024 (try '%s --help')",
            c->block_size, ladder_arguments.program);
    if (c->suite && (c->plot || c->list))
        return message_error(EXIT_USAGE,
                             "--suite cannot be combined with --plot or --rung (try '%s --help')",
                             ladder_arguments.program);
    return (!c->plot || gnuplot_possible(c->plot)) &&
           (!c->json.path || output_possible(c->json.path));
}

static void run(const struct ladder_options *c)
{
    struct workbench b = {
        .type = c->type == ELEMENT_TYPES ? ELEMENT_F32 : c->type,
        .count = c->elements ? c->elements : ELEMENTS_DEFAULT,
        .distribution = c->distribution == DISTRIBUTIONS ? DISTRIBUTION_UNIFORM : c->distribution,
        .seed = c->seed,
        .threads = (unsigned)c->block_size,
        .coarsen = (unsigned)c->coarsen,
        .repeat = (unsigned)c->repeat,
        .progress = message_erasable(),
    };

    if (workbench_open(&b, c->device)) {
        if (c->suite)
            suite_run(&b, c->type, c->distribution, c->elements, &c->json);
        else
            ladder(&b, c->list, &c->json, c->plot);
    }
    if (b.progress)
        message_transient(NULL);
    workbench_close(&b);
}

void bench_ladder(int argc, char **argv)
{
    struct ladder_options options = ladder_defaults;
    struct arguments arguments = ladder_arguments;
    struct operands operands;

    arguments.print_details = print_rungs;
    if (arguments_parse(&arguments, argc, argv, &options, &operands) == ARGUMENTS_RUN &&
        check_options(&options))
        run(&options);
}
