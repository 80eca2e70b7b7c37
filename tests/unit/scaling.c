/*
 * Simulated ranks, thousands of them, each with a real partial result of its own, that are merged
 * by the code of gpureduce-mpi, in the order of an MPI reduction, and as lines by that of gpureduce
 * --merge. Both have to come to the bytes of all elements reduced by one. doc/scaling.md has the
 * model of time: the merges are measured, all else is said on the command line.
 *
 *     scaling [NAME=NUMBER]...    full=1 has 10 to 100,000 ranks; other names: the table below
 */
#include "config.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/merger.h"
#include "core/moments.h"
#include "lib/data_gen.h"
#include "lib/tap.h"
#include "run/ranks.h"
#include "sys/clock.h"

/* Elements that a rank really has. */
#define ELEMENTS 8

/* Parameters of a usual cluster, which cannot be measured here. */
static struct parameter {
    const char *name;
    double value;
} parameters[] = {
    {"full", 0},       {"bytes", 100e12}, /* of all files */
    {"rate", 10e9},    /* at which a rank reduces what storage gives: bytes a second */
    {"storage", 1e12}, /* what all storage gives to all ranks */
    {"spread", 0.05},  /* standard deviation of the time that ranks take to read, of that time */
    {"latency", 2e-6}, /* of a message, seconds */
    {"link", 10e9},    /* bytes a second of a message */
    {"launch", 0.3},   /* seconds to start a rank; and a step of the tree that starts them */
    {"step", 0.05},
};

enum { FULL, BYTES, RATE, STORAGE, SPREAD, LATENCY, LINK, LAUNCH, STEP, PARAMETERS };

static double parameter(int i)
{
    return parameters[i].value;
}

static void set_parameter(const char *text)
{
    const size_t length = strcspn(text, "=");

    for (int i = 0; i < PARAMETERS; i++)
        if (strlen(parameters[i].name) == length && memcmp(text, parameters[i].name, length) == 0 &&
            text[length])
            parameters[i].value = strtod(text + length + 1, NULL);
}

/* Merges that take longer count as of this length. */
#define NANOSECONDS 10000

struct simulation {
    uint64_t ranks;
    double read;    /* seconds that a rank takes to read, on average */
    double slowest; /* seconds after which the last rank has read */
    uint64_t merges;
    uint64_t took[NANOSECONDS]; /* how many of them took so long; the last one, or longer */
};

/* The partial result of a rank. */
static void make_piece(const struct simulation *s, uint64_t rank, struct rank_piece *p)
{
    double elements[ELEMENTS];

    rank_piece_clear(p);
    data_fill(DATA_FULL_RANGE, ELEMENT_F64, elements, ELEMENTS, rank);
    for (uint64_t i = 0; i < ELEMENTS; i++) {
        partial_take_element(&p->partial, ELEMENT_F64, &elements[i], rank * ELEMENTS + i);
        moments_take_element(&p->partial, ELEMENT_F64, &elements[i]);
    }
    p->known = true;
    p->type = ELEMENT_F64;
    p->elements = ELEMENTS;
    p->of = s->ranks * ELEMENTS;
}

/* A number of a normal distribution, the same for a rank in every run. */
static double deviation(uint64_t rank)
{
    struct rng rng;
    double sum = -6;

    rng_seed(&rng, ~rank);
    for (int i = 0; i < 12; i++)
        sum += rng_unit(&rng);
    return sum;
}

/* The merged result of 2^level neighbouring ranks, and its time in seconds. */
struct subtree {
    unsigned level;
    double end;
    struct rank_piece piece;
};

/* A rank sends what it has to another one, which merges it. */
static void merge_subtrees(struct simulation *s, struct subtree *to, const struct subtree *from)
{
    const double arrives =
        from->end + parameter(LATENCY) + (double)sizeof from->piece / parameter(LINK);
    uint64_t begun = clock_now(), took;

    rank_piece_merge(&to->piece, &from->piece);
    took = clock_now() - begun;
    s->merges++;
    s->took[took < NANOSECONDS ? took : NANOSECONDS - 1]++;
    to->end = (to->end > arrives ? to->end : arrives) + (double)took / (double)CLOCK_SECOND;
    to->level++;
}

/* Merges all ranks by a tree of messages, and returns the time. */
static double reduce_tree(struct simulation *s, struct rank_piece *all)
{
    static struct subtree trees[65]; /* of fewer and fewer ranks */
    size_t count = 0;

    for (uint64_t rank = 0; rank < s->ranks; rank++) {
        struct subtree *t = &trees[count++];

        make_piece(s, rank, &t->piece);
        t->level = 0;
        t->end = s->read * (1 + parameter(SPREAD) * deviation(rank));
        s->slowest = t->end > s->slowest ? t->end : s->slowest;
        for (; count > 1 && trees[count - 2].level == trees[count - 1].level; count--)
            merge_subtrees(s, &trees[count - 2], &trees[count - 1]);
    }
    for (; count > 1; count--)
        merge_subtrees(s, &trees[count - 2], &trees[count - 1]);
    *all = trees[0].piece;
    return trees[0].end;
}

/* The line of a piece that is of these elements. */
static size_t write_line(const struct rank_piece *p, uint64_t begin, uint64_t end,
                         char line[PARTIAL_TEXT_MAX])
{
    struct partial_text text = {.type = p->type,
                                .holds = PARTIAL_ALL,
                                .of = p->of,
                                .ranges = {{begin, end}},
                                .range_count = 1,
                                .partial = p->partial};

    (void)partial_text_set_input(&text, "x");
    return partial_text_write(line, &text);
}

/* Merges all ranks as lines, read by one process. Returns the seconds that this took. */
static double merge_lines(const struct simulation *s, char line[PARTIAL_TEXT_MAX], double *bytes)
{
    char error[PARTIAL_TEXT_ERROR_MAX];
    const struct merged *merged;
    struct partial_text text;
    struct rank_piece piece;
    struct merger m;
    uint64_t time = 0;
    bool good = true;

    merger_open(&m);
    for (uint64_t k = 0; k < s->ranks; k++) {
        /* In an order as bad as any. */
        const uint64_t rank = k % 2 == 0 ? k / 2 : s->ranks - 1 - k / 2;
        uint64_t begun;
        size_t length;

        make_piece(s, rank, &piece);
        length = write_line(&piece, rank * ELEMENTS, (rank + 1) * ELEMENTS, line);
        *bytes += (double)length + 1;
        begun = clock_now();
        good = good && partial_text_read(&text, line, length, error) &&
               merger_take(&m, &text, (struct merger_origin){0, k}, &merged) == MERGER_TAKEN;
        time += clock_now() - begun;
    }
    merger_finish(&m);
    line[0] = '\0';
    if (good && merged_text(&m.merged[0], &text)) {
        text.has_array = false;
        (void)partial_text_set_input(&text, "x");
        (void)partial_text_write(line, &text);
    }
    merger_close(&m);
    return (double)time / (double)CLOCK_SECOND;
}

/* Reduces all elements by one rank. */
static void reduce_by_one(const struct simulation *s, char line[PARTIAL_TEXT_MAX])
{
    struct rank_piece all;

    rank_piece_clear(&all);
    for (uint64_t rank = 0; rank < s->ranks; rank++) {
        double elements[ELEMENTS];

        data_fill(DATA_FULL_RANGE, ELEMENT_F64, elements, ELEMENTS, rank);
        for (uint64_t i = 0; i < ELEMENTS; i++) {
            partial_take_element(&all.partial, ELEMENT_F64, &elements[i], rank * ELEMENTS + i);
            moments_take_element(&all.partial, ELEMENT_F64, &elements[i]);
        }
    }
    all.type = ELEMENT_F64;
    all.of = s->ranks * ELEMENTS;
    (void)write_line(&all, 0, all.of, line);
}

/* The median of the nanoseconds that merges took. */
static uint64_t median(const struct simulation *s)
{
    uint64_t before = 0, time = 0;

    while (time < NANOSECONDS - 1 && before + s->took[time] <= s->merges / 2)
        before += s->took[time++];
    return time;
}

static void simulate(uint64_t ranks)
{
    static struct simulation s;
    char by_one[PARTIAL_TEXT_MAX], by_tree[PARTIAL_TEXT_MAX], by_lines[PARTIAL_TEXT_MAX];
    const double each = parameter(RATE), all = parameter(STORAGE) / (double)ranks;
    double launch, end, lines, bytes = 0;
    struct rank_piece piece;

    memset(&s, 0, sizeof s);
    s.ranks = ranks;
    s.read = parameter(BYTES) / (double)ranks / (each < all ? each : all);
    launch = parameter(LAUNCH) + parameter(STEP) * log2((double)ranks);
    end = reduce_tree(&s, &piece);
    (void)write_line(&piece, 0, piece.of, by_tree);
    lines = merge_lines(&s, by_lines, &bytes);
    reduce_by_one(&s, by_one);
    tap_ok(strcmp(by_tree, by_one) == 0, "%" PRIu64 " ranks, merged by a tree", ranks);
    tap_ok(strcmp(by_lines, by_one) == 0, "%" PRIu64 " ranks, merged as lines", ranks);
    tap_note("%6" PRIu64 " ranks: launch %.2f s, read %.4g s on average and %.4g at most, merge "
             "%.1f us (each %" PRIu64 " ns), in all %.4g s; or as lines %.4g s for %.3g MB",
             ranks, launch, s.read, s.slowest, 1e6 * (end - s.slowest), median(&s), launch + end,
             lines, bytes / 1e6);
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        set_parameter(argv[i]);
    for (uint64_t ranks = 10; ranks <= (parameter(FULL) > 0 ? 100000 : 100); ranks *= 10)
        simulate(ranks);
    simulate(1 + 2 * 2 * 3 * 5 * 7); /* no power of two, nor near one */
    return tap_done();
}
