#include "config.h"

#include "bench/ladder/suite.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/common/series.h"
#include "bench/common/team.h"
#include "bench/ladder/inputs.h"
#include "bench/ladder/timing.h"
#include "bench/ladder/verify.h"
#include "cli/message.h"
#include "sys/group.h"

/* One more distribution: DISTRIBUTION_FULL with its exponents cleared. */
#define SUBNORMAL DISTRIBUTIONS

/* A workload: the elements to reduce. */
struct workload {
    enum element_type type;
    enum distribution distribution;
};

static const struct workload workloads[] = {
    {ELEMENT_F32, DISTRIBUTION_UNIFORM}, {ELEMENT_F32, DISTRIBUTION_NORMAL},
    {ELEMENT_F32, DISTRIBUTION_SPARSE},  {ELEMENT_F32, DISTRIBUTION_WIDE},
    {ELEMENT_F32, DISTRIBUTION_FULL},    {ELEMENT_F32, SUBNORMAL},
    {ELEMENT_F32, DISTRIBUTION_CANCEL},  {ELEMENT_F64, DISTRIBUTION_NORMAL},
    {ELEMENT_F64, DISTRIBUTION_WIDE},    {ELEMENT_F64, DISTRIBUTION_FULL},
    {ELEMENT_F16, DISTRIBUTION_NORMAL},  {ELEMENT_F16, DISTRIBUTION_FULL},
    {ELEMENT_BF16, DISTRIBUTION_NORMAL}, {ELEMENT_BF16, DISTRIBUTION_FULL},
};

#define WORKLOADS (sizeof workloads / sizeof *workloads)

/* Numbers of elements, as increasing powers of 2, up to the first 0. */
#define SUITE_SIZES 4
static const unsigned char suite_sizes[][SUITE_SIZES] = {
    [ELEMENT_F32] = {25, 28, 30},
    [ELEMENT_F64] = {27, 29},
    [ELEMENT_F16] = {28, 30},
    [ELEMENT_BF16] = {28, 30},
};
_Static_assert(sizeof suite_sizes / sizeof *suite_sizes == ELEMENT_FLOATS, "a row for each type");

struct suite {
    struct workbench *bench;
    struct table *table;
    uint64_t most;       /* elements of a workload, at most */
    size_t capacity;     /* for the elements, on the device; bytes */
    unsigned char *host; /* the elements, on the host */
    unsigned char *data; /* and on the device */
};

/* Sets the sizes of a type that are not above the most elements that there may be; if all are above
   it, that number alone. Returns how many sizes there are. */
static unsigned sizes_for(const struct suite *s, enum element_type type,
                          uint64_t sizes[SUITE_SIZES])
{
    uint64_t fitting = s->capacity / element_size(type);
    uint64_t most = s->most < fitting ? s->most : fitting;
    unsigned n = 0;

    for (unsigned i = 0; i < SUITE_SIZES && suite_sizes[type][i]; i++)
        if ((uint64_t)1 << suite_sizes[type][i] <= most)
            sizes[n++] = (uint64_t)1 << suite_sizes[type][i];
    if (n == 0)
        sizes[n++] = most;
    return n;
}

enum suite_column {
    SUITE_DISTRIBUTION,
    SUITE_ELEMENTS,
    SUITE_CUB,
    SUITE_PRODUCTION,
    SUITE_RATIO,
    SUITE_WHERE,
    SUITE_MOMENTS,
    SUITE_ALL,
    SUITE_CUB_F32,
    SUITE_RATIO_F32,
    SUITE_REPRODUCIBLE,
    SUITE_RATIO_REPRODUCIBLE,
    SUITE_PERCENT,
    SUITE_CHECK,
    SUITE_TYPE,
    SUITE_CUB_TIME,
    SUITE_TIME,
    SUITE_LEAST,
    SUITE_MOST,
    SUITE_REPEATS,
    SUITE_COLUMNS
};

static const struct table_column suite_columns[SUITE_COLUMNS] = {
    [SUITE_DISTRIBUTION] = {"dist", "distribution", TABLE_TEXT, 0},
    [SUITE_ELEMENTS] = {"elements", "elements", TABLE_NUMBER, 0},
    [SUITE_CUB] = {"cub_gigabytes_per_second", "cub GB/s", TABLE_NUMBER, 1},
    [SUITE_PRODUCTION] = {"gigabytes_per_second", "production", TABLE_NUMBER, 1},
    [SUITE_RATIO] = {"ratio_to_cub", "x cub", TABLE_NUMBER, 3},
    [SUITE_WHERE] = {"where_ratio_to_cub", "+where", TABLE_NUMBER, 3},
    [SUITE_MOMENTS] = {"moments_ratio_to_cub", "+moments", TABLE_NUMBER, 3},
    [SUITE_ALL] = {"all_ratio_to_cub", "all", TABLE_NUMBER, 3},
    [SUITE_CUB_F32] = {"cub_f32_gigabytes_per_second", "cub f32", TABLE_NUMBER, 1},
    [SUITE_RATIO_F32] = {"ratio_to_cub_f32", "x cub f32", TABLE_NUMBER, 3},
    [SUITE_REPRODUCIBLE] = {"cub_reproducible_gigabytes_per_second", "cub-repr.", TABLE_NUMBER, 1},
    [SUITE_RATIO_REPRODUCIBLE] = {"ratio_to_cub_reproducible", "x repr.", TABLE_NUMBER, 3},
    [SUITE_PERCENT] = {"percent_of_peak", "% of peak", TABLE_NUMBER, 1},
    [SUITE_CHECK] = {"check", "check", TABLE_TEXT, 0},
    [SUITE_TYPE] = {"dtype", NULL, TABLE_TEXT, 0},
    [SUITE_CUB_TIME] = {"cub_milliseconds", NULL, TABLE_NUMBER, 4},
    [SUITE_TIME] = {"milliseconds", NULL, TABLE_NUMBER, 4},
    [SUITE_LEAST] = {"least_milliseconds", NULL, TABLE_NUMBER, 4},
    [SUITE_MOST] = {"most_milliseconds", NULL, TABLE_NUMBER, 4},
    [SUITE_REPEATS] = {"repeats", NULL, TABLE_NUMBER, 0},
};

static void clear_exponents(void *argument, unsigned number, uint64_t begin, uint64_t end)
{
    uint32_t *words = argument;

    (void)number;
    for (uint64_t i = begin; i < end; i++)
        words[i] &= 0x807fffff;
}

static const char *suite_distribution_name(enum distribution d)
{
    return d == SUBNORMAL ? "subnormal" : distribution_name(d);
}

/* Makes the elements of a workload, on the host. */
static bool fill_suite(struct workbench *b, const struct workload *w, void *host, uint64_t count)
{
    bool subnormal = w->distribution == SUBNORMAL;

    if (!distribution_fill_parallel(host, subnormal ? DISTRIBUTION_FULL : w->distribution, w->type,
                                    b->seed, count, 0, count, 0))
        return false;
    return !subnormal ||
           team_share(cores_available(), count, DISTRIBUTION_BLOCK, clear_exponents, host);
}

/* The cases that are compared. The last one may be missing. */
enum contender {
    CONTENDER_CUB,
    CONTENDER_PRODUCTION,
    CONTENDER_WHERE,
    CONTENDER_MOMENTS,
    CONTENDER_ALL,
    CONTENDER_OTHER,
    CONTENDERS
};

/* Fills the row from the medians. The other contender is CUB's reproducible sum or, for types of 16
   bits, its sum of the same bytes as f32. */
static void suite_row(const struct workbench *b, struct table *t, struct bench_case *contenders,
                      unsigned count)
{
    struct series s[CONTENDERS] = {{0}};
    double rates[CONTENDERS] = {0};

    for (unsigned i = 0; i < count; i++) {
        s[i] = series_of(contenders[i].times, contenders[i].timed);
        rates[i] = bench_case_rate(&contenders[i], s[i].median);
    }
    table_number(t, SUITE_CUB, rates[CONTENDER_CUB]);
    table_number(t, SUITE_PRODUCTION, rates[CONTENDER_PRODUCTION]);
    table_number(t, SUITE_RATIO, rates[CONTENDER_PRODUCTION] / rates[CONTENDER_CUB]);
    table_number(t, SUITE_WHERE, rates[CONTENDER_WHERE] / rates[CONTENDER_CUB]);
    table_number(t, SUITE_MOMENTS, rates[CONTENDER_MOMENTS] / rates[CONTENDER_CUB]);
    table_number(t, SUITE_ALL, rates[CONTENDER_ALL] / rates[CONTENDER_CUB]);
    table_number(t, SUITE_PERCENT, 100 * rates[CONTENDER_PRODUCTION] * 1e9 / b->device.peak);
    table_number(t, SUITE_CUB_TIME, s[CONTENDER_CUB].median);
    table_number(t, SUITE_TIME, s[CONTENDER_PRODUCTION].median);
    table_number(t, SUITE_LEAST, s[CONTENDER_PRODUCTION].least);
    table_number(t, SUITE_MOST, s[CONTENDER_PRODUCTION].most);
    table_number(t, SUITE_REPEATS, s[CONTENDER_PRODUCTION].count);
    if (count > CONTENDER_OTHER) {
        bool reproducible = contenders[CONTENDER_OTHER].rung->order == ORDER_BINNED;

        table_number(t, reproducible ? SUITE_REPRODUCIBLE : SUITE_CUB_F32, rates[CONTENDER_OTHER]);
        table_number(t, reproducible ? SUITE_RATIO_REPRODUCIBLE : SUITE_RATIO_F32,
                     rates[CONTENDER_PRODUCTION] / rates[CONTENDER_OTHER]);
    }
}

/* Verifies a contender. A failure of ours is an error, a failure of the library a warning. */
static bool admit(struct workbench *b, const struct inputs *in, struct bench_case *c,
                  const char *name)
{
    bool ours = c->rung->order == ORDER_EXACT;
    struct findings f;

    workbench_progress(b, name, "verifying");
    f = verify_case(b, in, c);
    if (!f.measurable && ours)
        message_error(EXIT_FAILED, "%s failed on %s: %s", c->rung->name, name, f.why);
    else if (!f.measurable)
        message_warning("%s is left out on %s: %s", c->rung->name, name, f.why);
    return f.measurable;
}

/* Opens and verifies the contenders. Returns how many there are: 0 when CUB or production fails.
   All of them are to be closed. */
static unsigned suite_contenders(struct workbench *b, const struct inputs *in,
                                 struct bench_case *contenders, const char *name)
{
    static const char *const names[] = {"cub", "production", "production-where",
                                        "production-moments", "production-all"};
    const struct rung *reproducible = rung_table_find("cub-reproducible");
    bool half = element_size(in->type) == 2;

    for (unsigned i = 0; i < CONTENDER_OTHER; i++)
        if (!bench_case_open(b, &contenders[i], rung_table_find(names[i]), in->type, in->count,
                             256) ||
            !admit(b, in, &contenders[i], name))
            return 0;
    if (half && in->count % 2 == 0)
        return bench_case_open(b, &contenders[CONTENDER_OTHER], rung_table_find("cub"), ELEMENT_F32,
                               in->count / 2, 256)
                   ? CONTENDERS
                   : 0;
    if (half || rung_table_unavailable(reproducible, in->type, in->count))
        return CONTENDER_OTHER;
    if (!bench_case_open(b, &contenders[CONTENDER_OTHER], reproducible, in->type, in->count, 256))
        return 0;
    return admit(b, in, &contenders[CONTENDER_OTHER], name) ? CONTENDERS : CONTENDER_OTHER;
}

/* Runs a workload at one size. The first `in->count` elements are verified; the launches take turns
   over all the memory that these are the beginning of. */
static void suite_size(struct workbench *b, struct table *t, struct inputs *in, const char *group,
                       const struct workload *w)
{
    struct bench_case contenders[CONTENDERS] = {{0}};
    unsigned count;
    char name[64];

    snprintf(name, sizeof name, "%s, %s, %" PRIu64 " elements", group,
             suite_distribution_name(w->distribution), in->count);
    table_row(t, group);
    table_text(t, SUITE_TYPE, element_name(w->type));
    table_text(t, SUITE_DISTRIBUTION, suite_distribution_name(w->distribution));
    table_number(t, SUITE_ELEMENTS, (double)in->count);
    count = suite_contenders(b, in, contenders, name);
    table_text(t, SUITE_CHECK, count ? "exact" : "FAILED");
    if (count) {
        workbench_progress(b, name, "timing");
        if (timing_measure(b, in, contenders, count)) {
            suite_row(b, t, contenders, count);
        } else {
            for (unsigned i = 0; i < count; i++)
                device_check(contenders[i].error, contenders[i].rung->name);
            table_text(t, SUITE_CHECK, "FAILED");
        }
    }
    workbench_show_row(b, t);
    for (unsigned i = 0; i < CONTENDERS; i++)
        bench_case_close(&contenders[i]);
}

/* Runs a workload at all its sizes. The elements are made and copied once. */
static bool suite_workload(const struct suite *s, const struct workload *w)
{
    struct inputs *in = calloc(1, sizeof *in);
    const size_t size = element_size(w->type);
    uint64_t sizes[SUITE_SIZES], all;
    unsigned count = sizes_for(s, w->type, sizes);
    bool good = in != NULL;

    if (!in)
        return message_error(EXIT_FAILED, "out of memory");
    all = sizes[count - 1];
    workbench_progress(s->bench, element_name(w->type), "making data");
    good = fill_suite(s->bench, w, s->host, all) &&
           inputs_upload(s->bench, s->data, s->host, all * size);
    for (unsigned i = 0; i < count && good && !s->bench->lost; i++) {
        *in = (struct inputs){.type = w->type,
                              .count = sizes[i],
                              .stride = sizes[i] * size,
                              .places = all / sizes[i],
                              .contents = 1,
                              .data = s->data,
                              .host = s->host};
        good = reference_find(&in->references[0], w->type, s->host, sizes[i]);
        if (good)
            suite_size(s->bench, s->table, in, element_name(w->type), w);
    }
    free(in);
    return good && !s->bench->lost;
}

/* Whether the options choose a workload. */
static bool suite_has(const struct workload *w, enum element_type type, enum distribution d)
{
    return (type == ELEMENT_TYPES || w->type == type) &&
           (d == DISTRIBUTIONS || w->distribution == d);
}

/* The bytes of the largest workload that the options choose; 0 when there is none. */
static size_t largest(const struct suite *s, enum element_type type, enum distribution d)
{
    size_t size = 0;

    for (size_t i = 0; i < WORKLOADS; i++) {
        uint64_t sizes[SUITE_SIZES];
        unsigned n = sizes_for(s, workloads[i].type, sizes);
        size_t needed = sizes[n - 1] * element_size(workloads[i].type);

        if (suite_has(&workloads[i], type, d))
            size = needed > size ? needed : size;
    }
    return size;
}

/* Sets how many elements there may be. */
static bool set_capacity(struct suite *s, uint64_t most)
{
    size_t available, total;

    s->most = most ? most : UINT64_MAX;
    s->capacity = SIZE_MAX;
    if (most)
        return true;
    if (!device_check(cudaMemGetInfo(&available, &total), "asking the GPU"))
        return false;
    s->capacity = available / 10 * 9; /* the last tenth is for results */
    return true;
}

/* Runs all workloads that the options choose; their elements take `size` bytes at most. */
static void run_workloads(struct suite *s, enum element_type type, enum distribution d, size_t size)
{
    struct workbench *b = s->bench;
    bool good, pinned;

    s->data = device_allocate(size, "the input", b->stream);
    good = s->data != NULL;
    /* Copies from pinned memory are six times as fast. If it cannot be pinned, they are slow. */
    pinned = good && cudaHostRegister(s->host, size, cudaHostRegisterDefault) == cudaSuccess;
    if (!pinned)
        (void)cudaGetLastError();
    for (size_t i = 0; i < WORKLOADS && good; i++)
        if (suite_has(&workloads[i], type, d))
            good = suite_workload(s, &workloads[i]);
    workbench_say_lost(b);
    if (s->data)
        table_finish(s->table);
    if (pinned)
        (void)cudaHostUnregister(s->host);
    device_release(s->data);
}

void suite_run(struct workbench *b, enum element_type type, enum distribution d, uint64_t most,
               const struct argument_json *json)
{
    struct suite s = {.bench = b};
    size_t size;

    if (!set_capacity(&s, most))
        return;
    size = largest(&s, type, d);
    if (size == 0) {
        message_error(EXIT_USAGE, "the suite has no such type and distribution");
        return;
    }
    s.table = table_new("suite", suite_columns, SUITE_COLUMNS);
    table_as_json(s.table, json->print, json->path);
    workbench_facts(b, s.table);
    table_fact_count(s.table, "seed", "seed", b->seed, "");
    s.host = inputs_host_memory(size);
    if (s.table && s.host)
        run_workloads(&s, type, d, size);
    free(s.host);
    table_free(s.table);
}
