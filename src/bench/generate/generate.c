/*
 * gpureduce-bench generate: writes test data to standard output.
 *
 * Threads claim chunks by an atomic addition, and each fills its own buffer. The chunks are written
 * in order: the thread that has the next chunk writes it, and the threads that are ahead wait.
 */
#include "config.h"

#include "bench/generate/generate.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/common/arguments.h"
#include "bench/common/distribution.h"
#include "bench/common/team.h"
#include "cli/arguments.h"
#include "cli/message.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "sys/align.h"
#include "sys/clock.h"
#include "sys/group.h"
#include "sys/plural.h"
#include "sys/whole.h"

/* Bytes of a chunk, a whole number of blocks of any type, and a huge page: file systems that cache
   a file in large folios make them no larger than what is written at a time. */
#define CHUNK_BYTES (2 * MIB)

/* Buffers are aligned for any vector, and to pages. */
#define ALIGNMENT 4096

#define THREADS_MAX 1024

/* How often the progress is looked at. */
#define TICK (CLOCK_SECOND / 20)

struct job {
    enum distribution distribution;
    enum element_type type;
    uint64_t seed;
    uint64_t bytes;
    uint64_t length; /* elements */

    unsigned char **buffers;                  /* one per thread */
    const struct progress_observer *progress; /* of the calling thread; NULL for none */

    atomic_uint_fast64_t next; /* the chunk to claim */

    pthread_mutex_t mutex; /* guards all fields below */
    pthread_cond_t turn;   /* `written` or `failed` changed */
    uint64_t written;      /* chunks */
    bool failed;
};

/* Waits until all chunks before this one have been written. False when the job failed meanwhile. */
static bool wait_for_turn(struct job *job, uint64_t chunk)
{
    bool good;

    pthread_mutex_lock(&job->mutex);
    while (job->written != chunk && !job->failed)
        pthread_cond_wait(&job->turn, &job->mutex);
    good = !job->failed;
    pthread_mutex_unlock(&job->mutex);
    return good;
}

/* Writes the chunk whose turn it is, and lets the next one have its turn. */
static bool write_chunk(struct job *job, const unsigned char *data, size_t size)
{
    /* Without the mutex: nobody else writes before `written` is one more. */
    const bool good = write_whole(STDOUT_FILENO, data, size, -1);

    if (!good)
        message_error(EXIT_FAILED, "standard output: %s", strerror(errno));
    pthread_mutex_lock(&job->mutex);
    job->written++;
    job->failed = !good;
    pthread_cond_broadcast(&job->turn);
    pthread_mutex_unlock(&job->mutex);
    return good;
}

/* A member of the team: makes chunks, and writes them in order. */
static bool make_chunks(void *argument, unsigned number)
{
    struct job *job = argument;
    unsigned char *buffer = job->buffers[number];
    size_t element = element_size(job->type), per_chunk = CHUNK_BYTES / element;

    for (;;) {
        uint64_t chunk = atomic_fetch_add(&job->next, 1), first = chunk * per_chunk, left;
        size_t count;

        if (first >= job->length)
            return true;
        left = job->length - first;
        count = left < per_chunk ? (size_t)left : per_chunk;
        distribution_fill(buffer, job->distribution, job->type, job->seed, job->length, first,
                          count);
        if (!wait_for_turn(job, chunk) || !write_chunk(job, buffer, count * element))
            return false;
    }
}

/* Shows the progress. */
static void watch(void *argument)
{
    struct job *job = argument;
    uint64_t done;

    pthread_mutex_lock(&job->mutex);
    done = job->written * CHUNK_BYTES;
    pthread_mutex_unlock(&job->mutex);
    if (job->progress)
        (void)job->progress->update(job->progress->context, done < job->bytes ? done : job->bytes);
}

/* A buffer for each thread. */
static bool make_buffers(struct job *job, unsigned threads)
{
    bool good;

    job->buffers = calloc(threads, sizeof *job->buffers);
    good = job->buffers != NULL;
    for (unsigned i = 0; good && i < threads; i++) {
        job->buffers[i] = aligned_alloc(ALIGNMENT, CHUNK_BYTES);
        good = job->buffers[i] != NULL;
    }
    if (!good)
        message_error(EXIT_FAILED, "out of memory");
    return good;
}

/* Makes and writes all of it. False on failure, after an error message. */
static bool generate(struct job *job, unsigned threads, bool show_progress)
{
    struct progress progress = {0};
    const struct progress_observer observer = progress_observe(&progress);
    bool good = make_buffers(job, threads);

    if (good) {
        job->progress = show_progress ? &observer : NULL;
        pthread_mutex_init(&job->mutex, NULL);
        pthread_cond_init(&job->turn, NULL);
        if (show_progress)
            observer.begin(observer.context, NULL, job->bytes);
        good = team_run_watched(threads, make_chunks, watch, job, TICK) >= 0;
        if (show_progress)
            observer.end(observer.context);
        pthread_cond_destroy(&job->turn);
        pthread_mutex_destroy(&job->mutex);
    }
    for (unsigned i = 0; job->buffers && i < threads; i++)
        free(job->buffers[i]);
    free(job->buffers);
    return good;
}

/* Prints the statistics on standard error, and writes them to a file. */
static void report_statistics(const struct job *job, unsigned threads, double seconds, bool quiet,
                              const struct argument_json *json)
{
    double rate = seconds > 0 ? (double)job->bytes / seconds / 1e9 : 0;
    char object[512];
    struct output_file out;

    snprintf(object, sizeof object,
             "{\"distribution\": \"%s\", \"dtype\": \"%s\", \"seed\": %" PRIu64
             ", \"elements\": %" PRIu64 ", \"bytes\": %" PRIu64
             ", \"threads\": %u, \"seconds\": %.6f, \"gigabytes_per_second\": %.3f}",
             distribution_name(job->distribution), element_name(job->type), job->seed, job->length,
             job->bytes, threads, seconds, rate);

    if (json->print)
        message_line("%s", object);
    else if (!quiet)
        message_line("%" PRIu64 " element%s, %" PRIu64 " byte%s, %.6f s, %.3f GB/s", job->length,
                     plural(job->length), job->bytes, plural(job->bytes), seconds, rate);
    if (json->path && output_open(&out, json->path)) {
        fprintf(out.stream, "%s\n", object);
        (void)output_close(&out, true);
    }
}

/*
 * The command line.
 */

struct command_line {
    enum distribution distribution;
    enum element_type type;
    uint64_t bytes; /* UINT64_MAX where it is not given */
    uint64_t seed, threads;
    struct argument_json json;
    bool quiet, progress;
};

#define MEMBER(name) offsetof(struct command_line, name)

static const struct argument table[] = {
    {ARGUMENTS_DISTRIBUTION(MEMBER(distribution)),
     .help = "distribution of the numbers:\n"
             "uniform (default): from 0 to 1, 1 excluded\n"
             "normal: mean 0, standard deviation 1\n"
             "wide: any sign, exponents evenly from 2^-30 to 2^29, or all that f16 has\n"
             "full: any finite bits\n"
             "integers: from -1000 to 1000\n"
             "sparse: 19 of 20 are zeros, the others normal\n"
             "cancel: wide, and the sum of all is tiny\n"
             "weights: normal, deviation 0.02, with the precision of bf16\n"
             "field: smooth in two dimensions, 280 and some 15\n"
             "steps: the same in steps of 0.01\n"
             "series: a slow wave around 20, and noise, to one decimal\n"
             "image: pixels of three colours, from 0 to 255, over 255"},
    {ARGUMENTS_DTYPE(MEMBER(type)),
     .help = "type of the numbers: f32 (default), f64, f16, bf16, f8e4m3, f8e5m2, i8, i16, i32, "
             "i64, u8, u16, u32, u64 or bool"},
    {ARGUMENTS_BYTES(MEMBER(bytes)), .help = "how much to write; this option must be given"},
    {ARGUMENTS_SEED(MEMBER(seed)),
     .help = "seed of the numbers; another one gives other data; default 1"},
    {ARGUMENTS_THREADS(MEMBER(threads), THREADS_MAX),
     .help = "threads that make them; default: one a core"},
    {ARGUMENTS_JSON(MEMBER(json)), .help = "print the statistics as JSON, on standard error; with "
                                           "FILE, write the JSON there"},
    {.name = "quiet",
     .letter = 'q',
     .kind = ARGUMENT_SET,
     .target = MEMBER(quiet),
     .help = "print no statistics"},
    {ARGUMENTS_PROGRESS(MEMBER(progress)),
     .help = "show progress on standard error; default: on a terminal"},
    {ARGUMENTS_NO_PROGRESS(MEMBER(progress)), .help = "show no progress"},
};

const struct arguments generate_arguments = {
    .program = "gpureduce-bench generate",
    .usage = "[OPTION]... --bytes=SIZE > FILE",
    .summary = "Write random numbers to standard output, raw and little-endian. The same options\n"
               "give the same bytes on every machine.",
    .table = table,
    .count = sizeof table / sizeof *table,
    .details = ARGUMENTS_SIZE_DETAILS,
};

/* Whether what was given makes sense, and can be written to; prints what does not. */
static bool check_command_line(const struct command_line *c)
{
    const char *program = generate_arguments.program;

    if (c->bytes == UINT64_MAX)
        return message_error(EXIT_USAGE, "--bytes is missing (try '%s --help')", program);
    if (c->bytes % element_size(c->type) != 0)
        return message_error(
            EXIT_USAGE, "--bytes=%" PRIu64 " is no whole number of %s elements (try '%s --help')",
            c->bytes, element_name(c->type), program);
    if (!distribution_has(c->distribution, c->type)) {
        if (c->distribution == DISTRIBUTION_CANCEL)
            message_error(EXIT_USAGE, "no %s is negative: nothing cancels (try '%s --help')",
                          element_name(c->type), program);
        else
            message_error(EXIT_USAGE,
                          "distribution %s is of f32, f64, f16 or bf16, not %s (try '%s --help')",
                          distribution_name(c->distribution), element_name(c->type), program);
        return false;
    }
    if (isatty(STDOUT_FILENO))
        return message_error(
            EXIT_USAGE,
            "standard output is a terminal: send the data to a file or a pipe (try '%s "
            "--help')",
            program);
    return !c->json.path || output_possible(c->json.path);
}

static void run(const struct command_line *c)
{
    struct job job = {
        .distribution = c->distribution,
        .type = c->type,
        .seed = c->seed,
        .bytes = c->bytes,
        .length = c->bytes / element_size(c->type),
    };
    uint64_t chunks = c->bytes / CHUNK_BYTES + (c->bytes % CHUNK_BYTES != 0);
    uint64_t threads = c->threads, begun = clock_now();

    /* Small output is not worth a thread more. */
    if (threads > chunks)
        threads = chunks > 0 ? chunks : 1;
    if (generate(&job, (unsigned)threads, c->progress))
        report_statistics(&job, (unsigned)threads,
                          (double)(clock_now() - begun) / (double)CLOCK_SECOND, c->quiet, &c->json);
}

void bench_generate(int argc, char **argv)
{
    struct command_line c = {
        .distribution = DISTRIBUTION_UNIFORM,
        .type = ELEMENT_F32,
        .bytes = UINT64_MAX,
        .seed = 1,
        .threads = cores_available(),
        .progress = message_erasable(),
    };
    struct operands operands;

    if (arguments_parse(&generate_arguments, argc, argv, &c, &operands) == ARGUMENTS_RUN &&
        check_command_line(&c))
        run(&c);
}
