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
#include "sys/cores.h"
#include "sys/message.h"

/* A distribution of its own: the fraction bits of DISTRIBUTION_FULL, with no exponent. */
#define SUBNORMAL DISTRIBUTIONS

struct suite_case {
    enum element_type type;
    enum distribution distribution;
};

static const struct suite_case suite_cases[] = {
    {ELEMENT_F32, DISTRIBUTION_UNIFORM}, {ELEMENT_F32, DISTRIBUTION_NORMAL},
    {ELEMENT_F32, DISTRIBUTION_SPARSE},  {ELEMENT_F32, DISTRIBUTION_WIDE},
    {ELEMENT_F32, DISTRIBUTION_FULL},    {ELEMENT_F32, SUBNORMAL},
    {ELEMENT_F32, DISTRIBUTION_CANCEL},  {ELEMENT_F64, DISTRIBUTION_NORMAL},
    {ELEMENT_F64, DISTRIBUTION_WIDE},    {ELEMENT_F64, DISTRIBUTION_FULL},
    {ELEMENT_F16, DISTRIBUTION_NORMAL},  {ELEMENT_F16, DISTRIBUTION_FULL},
    {ELEMENT_BF16, DISTRIBUTION_NORMAL}, {ELEMENT_BF16, DISTRIBUTION_FULL},
};

#define SUITE_CASES (sizeof suite_cases / sizeof *suite_cases)

/* Numbers of elements, as powers of 2, rising; 0 ends them. */
#define SUITE_SIZES 4
static const unsigned char suite_sizes[ELEMENT_TYPES][SUITE_SIZES] = {
    [ELEMENT_F32] = {25, 28, 30},
    [ELEMENT_F64] = {27, 29},
    [ELEMENT_F16] = {28, 30},
    [ELEMENT_BF16] = {28, 30},
};

struct suite {
    struct workbench *bench;
    struct table *table;
    uint64_t most;       /* elements at a time */
    size_t room;         /* bytes that they may take */
    unsigned char *host; /* memory for them */
    unsigned char *data; /* likewise, on the device */
};

/* Sizes of cases of a type, up to so many elements as there may be; just that many where all are
   above it. Returns how many. */
static unsigned sizes_for(const struct suite *s, enum element_type type,
                          uint64_t sizes[SUITE_SIZES])
{
    uint64_t fitting = s->room / element_size(type);
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

/* The elements of a case, on the host. */
static bool fill_suite(struct workbench *b, const struct suite_case *c, void *host, uint64_t count)
{
    bool subnormal = c->distribution == SUBNORMAL;

    if (!distribution_fill_parallel(host, subnormal ? DISTRIBUTION_FULL : c->distribution, c->type,
                                    b->seed, count, 0, count, 0))
        return false;
    return !subnormal ||
           team_share(cores_available(), count, DISTRIBUTION_BLOCK, clear_exponents, host);
}

/* Who takes part; those after the first two may be missing. */
enum entrant { ENTRANT_CUB, ENTRANT_PRODUCTION, ENTRANT_WHERE, ENTRANT_OTHER, ENTRANTS };

/* Fills the row of a case from the medians. The other entrant is CUB's reproducible sum, or, for
   types of 16 bits, its sum of the same bytes as f32. */
static void suite_row(const struct workbench *b, struct table *t, struct subject *entrants,
                      unsigned count)
{
    struct series s[ENTRANTS] = {{0}};
    double rates[ENTRANTS];

    for (unsigned i = 0; i < count; i++) {
        s[i] = series_of(entrants[i].times, entrants[i].timed);
        rates[i] = subject_rate(&entrants[i], s[i].median);
    }
    table_number(t, SUITE_CUB, rates[ENTRANT_CUB]);
    table_number(t, SUITE_PRODUCTION, rates[ENTRANT_PRODUCTION]);
    table_number(t, SUITE_RATIO, rates[ENTRANT_PRODUCTION] / rates[ENTRANT_CUB]);
    table_number(t, SUITE_WHERE, rates[ENTRANT_WHERE] / rates[ENTRANT_CUB]);
    table_number(t, SUITE_PERCENT, 100 * rates[ENTRANT_PRODUCTION] * 1e9 / b->device.peak);
    table_number(t, SUITE_CUB_TIME, s[ENTRANT_CUB].median);
    table_number(t, SUITE_TIME, s[ENTRANT_PRODUCTION].median);
    table_number(t, SUITE_LEAST, s[ENTRANT_PRODUCTION].least);
    table_number(t, SUITE_MOST, s[ENTRANT_PRODUCTION].most);
    table_number(t, SUITE_REPEATS, s[ENTRANT_PRODUCTION].count);
    if (count > ENTRANT_OTHER) {
        bool reproducible = entrants[ENTRANT_OTHER].rung->order == ORDER_BINNED;

        table_number(t, reproducible ? SUITE_REPRODUCIBLE : SUITE_CUB_F32, rates[ENTRANT_OTHER]);
        table_number(t, reproducible ? SUITE_RATIO_REPRODUCIBLE : SUITE_RATIO_F32,
                     rates[ENTRANT_PRODUCTION] / rates[ENTRANT_OTHER]);
    }
}

/* Verifies an entrant; its own fault, where it is a library's, is a warning alone. */
static bool admit(struct workbench *b, const struct inputs *in, struct subject *s, const char *name)
{
    bool ours = s->rung->order == ORDER_EXACT;
    struct findings f;

    workbench_progress(b, name, "verifying");
    f = verify_subject(b, in, s);
    if (!f.measurable && ours)
        message_error(EXIT_FAILED, "%s failed on %s: %s", s->rung->name, name, f.why);
    else if (!f.measurable)
        message_warning("%s is left out on %s: %s", s->rung->name, name, f.why);
    return f.measurable;
}

/* Opens and verifies who takes part in a case; how many they are: 0 when CUB or production cannot.
   All of them are to be closed. */
static unsigned suite_entrants(struct workbench *b, const struct inputs *in,
                               struct subject *entrants, const char *name)
{
    static const char *const names[] = {"cub", "production", "production-where"};
    const struct rung *reproducible = rung_table_find("cub-reproducible");
    bool half = element_size(in->type) == 2;

    for (unsigned i = 0; i < ENTRANT_OTHER; i++)
        if (!subject_open(b, &entrants[i], rung_table_find(names[i]), in->type, in->count, 256) ||
            !admit(b, in, &entrants[i], name))
            return 0;
    if (half && in->count % 2 == 0)
        return subject_open(b, &entrants[ENTRANT_OTHER], rung_table_find("cub"), ELEMENT_F32,
                            in->count / 2, 256)
                   ? ENTRANTS
                   : 0;
    if (half || rung_table_unavailable(reproducible, in->type, in->count))
        return ENTRANT_OTHER;
    if (!subject_open(b, &entrants[ENTRANT_OTHER], reproducible, in->type, in->count, 256))
        return 0;
    return admit(b, in, &entrants[ENTRANT_OTHER], name) ? ENTRANTS : ENTRANT_OTHER;
}

/* One case at one size: the first `in->count` elements are verified, and all of the memory that
   they are the beginning of is rotated through. */
static void suite_size(struct workbench *b, struct table *t, struct inputs *in, const char *group,
                       const struct suite_case *c)
{
    struct subject entrants[ENTRANTS] = {{0}};
    unsigned count;
    char name[64];

    snprintf(name, sizeof name, "%s, %s, %" PRIu64 " elements", group,
             suite_distribution_name(c->distribution), in->count);
    table_row(t, group);
    table_text(t, SUITE_TYPE, element_name(c->type));
    table_text(t, SUITE_DISTRIBUTION, suite_distribution_name(c->distribution));
    table_number(t, SUITE_ELEMENTS, (double)in->count);
    count = suite_entrants(b, in, entrants, name);
    table_text(t, SUITE_CHECK, count ? "exact" : "FAILED");
    if (count) {
        workbench_progress(b, name, "timing");
        if (timing_measure(b, in, entrants, count)) {
            suite_row(b, t, entrants, count);
        } else {
            for (unsigned i = 0; i < count; i++)
                device_check(entrants[i].error, entrants[i].rung->name);
            table_text(t, SUITE_CHECK, "FAILED");
        }
    }
    workbench_show_row(b, t);
    for (unsigned i = 0; i < ENTRANTS; i++)
        subject_close(&entrants[i]);
}

/* A case at all its sizes. The elements are made and copied once. */
static bool suite_case(const struct suite *s, const struct suite_case *c)
{
    struct inputs *in = calloc(1, sizeof *in);
    const size_t size = element_size(c->type);
    uint64_t sizes[SUITE_SIZES], all;
    unsigned count = sizes_for(s, c->type, sizes);
    bool good = in != NULL;

    if (!in) {
        message_error(EXIT_FAILED, "out of memory");
        return false;
    }
    all = sizes[count - 1];
    workbench_progress(s->bench, element_name(c->type), "making data");
    good = fill_suite(s->bench, c, s->host, all) &&
           inputs_upload(s->bench, s->data, s->host, all * size);
    for (unsigned i = 0; i < count && good && !s->bench->lost; i++) {
        *in = (struct inputs){.type = c->type,
                              .count = sizes[i],
                              .stride = sizes[i] * size,
                              .places = all / sizes[i],
                              .contents = 1,
                              .data = s->data,
                              .host = s->host};
        good = reference_find(&in->references[0], c->type, s->host, sizes[i]);
        if (good)
            suite_size(s->bench, s->table, in, element_name(c->type), c);
    }
    free(in);
    return good && !s->bench->lost;
}

/* Whether the options leave a case in. */
static bool suite_has(const struct suite_case *c, enum element_type type, enum distribution d)
{
    return (type == ELEMENT_TYPES || c->type == type) &&
           (d == DISTRIBUTIONS || c->distribution == d);
}

/* The bytes of the largest case that the options leave in; 0 when there is none. */
static size_t largest(const struct suite *s, enum element_type type, enum distribution d)
{
    size_t size = 0;

    for (size_t i = 0; i < SUITE_CASES; i++) {
        uint64_t sizes[SUITE_SIZES];
        unsigned n = sizes_for(s, suite_cases[i].type, sizes);
        size_t needed = sizes[n - 1] * element_size(suite_cases[i].type);

        if (suite_has(&suite_cases[i], type, d))
            size = needed > size ? needed : size;
    }
    return size;
}

void suite_run(struct workbench *b, enum element_type type, enum distribution d, uint64_t most,
               const struct argument_json *json)
{
    struct suite s = {.bench = b, .most = most, .room = SIZE_MAX};
    size_t available, total, size;
    bool good, pinned;

    if (most == 0) {
        if (!device_check(cudaMemGetInfo(&available, &total), "asking the GPU"))
            return;
        s.most = UINT64_MAX;
        s.room = available / 10 * 9; /* the rest is for results */
    }
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
        s.data = device_allocate(size, "the input", b->stream);
    good = s.data != NULL;
    /* Pinned, it is copied six times as fast; if it cannot be, never mind. */
    pinned = good && cudaHostRegister(s.host, size, cudaHostRegisterDefault) == cudaSuccess;
    if (!pinned)
        (void)cudaGetLastError();
    for (size_t i = 0; i < SUITE_CASES && good; i++)
        if (suite_has(&suite_cases[i], type, d))
            good = suite_case(&s, &suite_cases[i]);
    workbench_say_lost(b);
    if (s.data)
        table_finish(s.table);
    if (pinned)
        (void)cudaHostUnregister(s.host);
    device_release(s.data);
    free(s.host);
    table_free(s.table);
}
