/*
 * Random reductions by the program itself, from its command line to its output, against the oracle:
 * any element type, byte order, distribution, length, container, kind of file, NaN policy, chunk
 * size and number of threads, with quantiles and without. Bit for bit, as ever.
 *
 * From the environment: GPUREDUCE is the program; STRESS_RUNS how many (1000), STRESS_SEED the
 * seed, which is printed (CHECK_SEED, or the time), STRESS_DEVICE what does the work (cpu),
 * CHECK_UNDER a command to run the program under. After a failure the input stays, and is named
 * beside its command line.
 */
/* Tags: threads ports */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <zstd.h>

#include "bench/common/difference.h"
#include "core/element_round.h"
#include "core/moments.h"
#include "lib/allocate.h"
#include "lib/draw.h"
#include "lib/environment.h"
#include "lib/oracle.h"
#include "lib/reference.h"
#include "lib/reference_element.h"
#include "lib/reference_order.h"
#include "lib/tap.h"

#define RUNS 1000

/* Elements: as many as this at most, and in one run of LARGE_EVERY that many and more, so that
   files are mapped and every thread has something to do. */
#define LENGTH_LOG2 17
#define LARGE_LENGTH ((size_t)3 << 20)
#define LARGE_EVERY 50

static const char *program, *under, *device;
static char directory[] = "/tmp/gpureduce-stress-XXXXXX", path[64];

/* A number below 2^log2, small ones as likely as large ones. */
static size_t log_uniform(unsigned log2)
{
    return (size_t)(rng_next(&rng) >> (64 - 1 - below(log2)));
}

/*
 * A run: what is in the file, and how it is read.
 */

enum container { RAW, NPY, ZSTD_RAW, ZSTD_NPY, CONTAINERS };
enum way { FILE_BY_NAME, FILE_AS_STDIN, PIPE, WAYS };

/* The names of types in NumPy's headers. */
static const char *const numpy_types[ELEMENT_TYPES] = {
    [ELEMENT_F32] = "f4", [ELEMENT_F64] = "f8", [ELEMENT_F16] = "f2", [ELEMENT_I8] = "i1",
    [ELEMENT_I16] = "i2", [ELEMENT_I32] = "i4", [ELEMENT_I64] = "i8", [ELEMENT_U8] = "u1",
    [ELEMENT_U16] = "u2", [ELEMENT_U32] = "u4", [ELEMENT_U64] = "u8", [ELEMENT_BOOL] = "b1",
};

static const char *const policies[] = {"propagate", "skip", "error"};

#define QUANTILES_MAX 3

struct run {
    enum element_type type;
    bool big_endian;
    enum data_kind kind;
    size_t count;        /* elements in the file */
    unsigned char *data; /* them, in this machine's byte order */
    enum container container;
    enum way way;
    unsigned policy;
    size_t skip;        /* bytes that stand before the first element of raw data */
    uint64_t length;    /* of --length; UINT64_MAX without */
    bool moments;       /* all operations, not only the first */
    unsigned quantiles; /* behind them: thousandths, so many of them */
    unsigned thousandths[QUANTILES_MAX];
    uint64_t ddof;
    size_t before; /* bytes of the file that standard input leaves out */
    char options[256];
};

/* Elements of any bits; or few values, or near ones, of which the largest magnitudes are two. */
static void fill_any(struct run *run)
{
    const size_t size = element_size(run->type);
    const uint64_t from = rng_next(&rng), width = UINT64_C(2) << below(63);
    const uint64_t extremes[2] = {UINT64_C(1) << (8 * size - 1),
                                  (UINT64_C(1) << (8 * size - 1)) - 1};
    const bool few = once_in(3), near = once_in(2);

    for (size_t i = 0; i < run->count; i++) {
        uint64_t x = rng_next(&rng);
        const unsigned char *bytes = (const unsigned char *)&x;

        x = few ? extremes[x % 2] - (x >> 62) : near ? from + x % width : x;
        memcpy(run->data + i * size, element_host_is_big() ? bytes + 8 - size : bytes, size);
    }
}

/* Elements: of a distribution, and some special ones among them; of other types than floats of 16
   bits and more, any. */
static void make_data(struct run *run)
{
    size_t specials = once_in(3) ? 1 + log_uniform(6) : 0;

    run->type = (enum element_type)below(once_in(2) ? ELEMENT_FLOATS : ELEMENT_TYPES);
    run->kind = (enum data_kind)below(DATA_KINDS);
    run->count = once_in(20) ? 0 : log_uniform(LENGTH_LOG2);
    if (once_in(LARGE_EVERY))
        run->count = LARGE_LENGTH + log_uniform(20);
    run->data = allocate_exactly(run->count * element_size(run->type));
    if (!element_is_float(run->type)) {
        fill_any(run);
        return;
    }
    data_fill(run->kind, run->type, run->data, run->count, rng_next(&rng));
    for (size_t i = 0; i < specials && run->count > 0; i++)
        data_put_special(run->type, run->data, (size_t)below(run->count),
                         (enum data_special)below(DATA_SPECIALS));
}

/* Quantiles, where they can be had: only floats of one byte and what has 16 bits is counted in one
   reading of a pipe. */
static void choose_quantiles(struct run *run)
{
    run->quantiles =
        strcmp(device, "cpu") == 0 && once_in(2) ? 1 + (unsigned)below(QUANTILES_MAX) : 0;
    if (run->way == PIPE && element_size(run->type) > 2)
        run->quantiles = 0;
    for (unsigned i = 0; i < run->quantiles; i++)
        run->thousandths[i] = (unsigned)below(1001);
}

/* The options, all but those that say what to print. */
static void choose_options(struct run *run)
{
    size_t size = element_size(run->type);
    char *end = run->options;

    run->big_endian = once_in(2);
    run->container = (enum container)below(CONTAINERS);
    if (!numpy_types[run->type]) /* there is no such .npy */
        run->container = once_in(2) ? RAW : ZSTD_RAW;
    run->way = (enum way)below(WAYS);
    choose_quantiles(run);
    run->policy = (unsigned)below(2) + once_in(8);
    run->skip = 0;
    run->length = once_in(4) ? log_uniform(LENGTH_LOG2 + 1) : UINT64_MAX;
    run->moments = element_is_float(run->type) && once_in(2);
    run->ddof = once_in(4) ? log_uniform(LENGTH_LOG2) : below(3);
    run->before = run->way == FILE_AS_STDIN && once_in(2) ? log_uniform(14) : 0;
    end += sprintf(end, "--device=%s --nan=%s", device, policies[run->policy]);
    if (run->moments)
        end += sprintf(end, " --ddof=%" PRIu64, run->ddof);
    if (run->container == RAW || run->container == ZSTD_RAW) {
        run->skip = once_in(3) ? log_uniform(12) : 0;
        end += sprintf(end, " -t %s --endian=%s --skip=%zu", element_name(run->type),
                       run->big_endian ? "big" : "little", run->skip);
        /* Random bits may look like anything. */
        end += sprintf(end, " --format=%s", run->container == RAW ? "raw" : "raw+zstd");
    }
    if (run->length != UINT64_MAX)
        end += sprintf(end, " --length=%" PRIu64, run->length);
    if (!once_in(4))
        end += sprintf(end, " -j %u", 1 + (unsigned)below(9));
    if (once_in(2))
        sprintf(end, " --chunk-size=%zu", 1 + log_uniform(once_in(2) ? 12 : 23) * size);
}

/*
 * The file.
 */

static void put(FILE *file, const void *bytes, size_t size)
{
    if (size > 0 && fwrite(bytes, 1, size, file) != size) {
        printf("Bail out! %s: %s\n", path, strerror(errno));
        exit(99);
    }
}

/* The content: what is skipped, or a header, and the elements. Returns its size. */
static size_t make_content(const struct run *run, unsigned char **content)
{
    size_t element = element_size(run->type), size = run->count * element, before = run->skip;
    char header[160];

    if (run->container == NPY || run->container == ZSTD_NPY) {
        snprintf(
            header, sizeof header,
            "\x93NUMPY\1%cv%c{'descr': '%c%s', 'fortran_order': False, 'shape': (%zu,), }%*s\n", 0,
            0, run->big_endian ? '>' : '<', numpy_types[run->type], run->count, (int)below(20), "");
        before = 10 + strlen(header + 10);
        header[8] = (char)(before - 10);
    } else {
        memset(header, 0x77, sizeof header);
    }
    *content = allocate_exactly(before + size);
    for (size_t i = 0; i < before; i++)
        (*content)[i] = (unsigned char)header[i < sizeof header ? i : sizeof header - 1];
    if (run->big_endian != element_host_is_big())
        element_swap(*content + before, run->data, run->count, element);
    else if (size > 0)
        memcpy(*content + before, run->data, size);
    return before + size;
}

/* Compresses as one frame, which may say how long it is, into the file. */
static void put_frame(FILE *file, const unsigned char *bytes, size_t size)
{
    size_t room = ZSTD_compressBound(size), got;
    unsigned char *compressed = allocate_exactly(room);
    ZSTD_CCtx *context = ZSTD_createCCtx();
    ZSTD_inBuffer in = {bytes, size, 0};
    ZSTD_outBuffer out = {compressed, room, 0};

    if (!context)
        abort();
    ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, once_in(2) ? 1 : -20);
    ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, once_in(2));
    if (once_in(2))
        ZSTD_CCtx_setPledgedSrcSize(context, size);
    else
        /* Unless it sees the end at once it does not know the length. */
        (void)ZSTD_compressStream2(context, &out, &in, ZSTD_e_flush);
    got = ZSTD_compressStream2(context, &out, &in, ZSTD_e_end);
    if (got != 0)
        abort();
    ZSTD_freeCCtx(context);
    put(file, compressed, out.pos);
    free(compressed);
}

static void put_frames(FILE *file, const unsigned char *bytes, size_t size, size_t element)
{
    bool one = once_in(3), whole = once_in(2);
    size_t piece = one ? size : size / (1 + log_uniform(6)) + log_uniform(8), done = 0;

    if (whole && !one)
        piece -= piece % element;
    do {
        size_t left = size - done, now = piece && piece < left ? piece : left;

        if (once_in(10))
            put(file, "\x50\x2a\x4d\x18\3\0\0\0abc", 11);
        put_frame(file, bytes + done, now);
        done += now;
    } while (done < size);
}

static void make_file(const struct run *run)
{
    unsigned char *content;
    size_t size = make_content(run, &content);
    FILE *file = fopen(path, "wb");

    if (!file) {
        printf("Bail out! %s: %s\n", path, strerror(errno));
        exit(99);
    }
    for (size_t i = 0; i < run->before; i++)
        put(file, "x", 1);
    if (run->container == RAW || run->container == NPY)
        put(file, content, size);
    else
        put_frames(file, content, size, element_size(run->type));
    if (fclose(file) != 0)
        abort();
    free(content);
}

/*
 * The program.
 */

/* The exit status without a GPU to use. */
#define NO_DEVICE 3

/* The printed operations, in this order. */
#define OPERATIONS                                                                              \
    "sum,mean,min,max,argmin,argmax,count,nan,inf,sumsq,var,std,rms,l1,l2,absmax,absmin,range," \
    "zeros,negatives,subnormals"
#define OPERATION_COUNT 21
/* Those that come first, and that any GPU has kernels for. */
#define OPERATIONS_FIRST "sum,mean,min,max,argmin,argmax,count,nan,inf"
#define OPERATION_COUNT_FIRST 9

struct operation_list {
    char list[300];
    unsigned count;
};

static struct operation_list operations_of(const struct run *run)
{
    struct operation_list operations = {.count =
                                            run->moments ? OPERATION_COUNT : OPERATION_COUNT_FIRST};
    char *end = operations.list;

    end += sprintf(end, "%s", run->moments ? OPERATIONS : OPERATIONS_FIRST);
    for (unsigned i = 0; i < run->quantiles; i++) {
        end += sprintf(end, ",q%u.%03u", run->thousandths[i] / 1000, run->thousandths[i] % 1000);
        operations.count++;
    }
    return operations;
}

struct outcome {
    int status; /* -1 when a signal ended it */
    char out[1024], err[1024];
};

/* Reads to the end what fits. */
static void read_all(int fd, char *text, size_t size)
{
    size_t used = 0;
    ssize_t n;

    while ((n = read(fd, text + used, size - 1 - used)) > 0)
        used += (size_t)n;
    text[used] = '\0';
    close(fd);
}

/* Copies the file into the pipe, in pieces of a random size. */
#define PIECE_MAX ((size_t)1 << 16)
struct writer {
    size_t piece;
    int to; /* closed at the end */
};

static void *write_pipe(void *context)
{
    static char buffer[PIECE_MAX];
    const struct writer *writer = context;
    int file = open(path, O_RDONLY);
    ssize_t n;

    while ((n = read(file, buffer, writer->piece)) > 0)
        if (write(writer->to, buffer, (size_t)n) != n)
            break; /* nobody reads any more */
    close(file);
    close(writer->to);
    return NULL;
}

/* Cuts a text into words at its spaces. The list of `count` of them, which has room for WORDS in
   all, becomes longer by these, and ends in NULL. */
#define WORDS 64
static int add_words(char *words[WORDS], int count, char *text)
{
    char *rest = NULL;

    for (char *word = strtok_r(text, " ", &rest); word && count < WORDS - 1;
         word = strtok_r(NULL, " ", &rest))
        words[count++] = word;
    words[count] = NULL;
    return count;
}

/* Starts the program. It is no fork: that would copy the tables of all pages that the oracle has.
 */
static pid_t start_program(const struct run *run, int in, int out, int err)
{
    char prefix[1024], line[1024], *words[WORDS];
    const struct operation_list operations = operations_of(run);
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    sigset_t usual;
    int count, result;
    pid_t pid;

    snprintf(line, sizeof line, "-q -o %s %s %s", operations.list, run->options,
             run->way == FILE_BY_NAME ? path : "-");
    snprintf(prefix, sizeof prefix, "%s", under);
    count = add_words(words, 0, prefix);
    if (count < WORDS - 1)
        words[count++] = (char *)program;
    add_words(words, count, line);

    sigemptyset(&usual);
    sigaddset(&usual, SIGPIPE);
    result = posix_spawnattr_init(&attributes);
    result |= posix_spawnattr_setsigdefault(&attributes, &usual);
    result |= posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
    result |= posix_spawn_file_actions_init(&files);
    if (in >= 0)
        result |= posix_spawn_file_actions_adddup2(&files, in, STDIN_FILENO);
    result |= posix_spawn_file_actions_adddup2(&files, out, STDOUT_FILENO);
    result |= posix_spawn_file_actions_adddup2(&files, err, STDERR_FILENO);
    result |= posix_spawnp(&pid, words[0], &files, &attributes, words, environ);
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attributes);
    if (result)
        abort();
    return pid;
}

static void reduce(const struct run *run, struct outcome *outcome)
{
    int in[2] = {-1, -1}, out[2], err[2], status = 0;
    struct writer writer;
    pthread_t thread;
    pid_t pid;

    fflush(stdout);
    if (pipe2(out, O_CLOEXEC) || pipe2(err, O_CLOEXEC))
        abort();
    if (run->way == FILE_AS_STDIN) {
        in[0] = open(path, O_RDONLY | O_CLOEXEC);
        if (lseek(in[0], (off_t)run->before, SEEK_SET) < 0)
            abort();
    } else if (run->way == PIPE) {
        if (pipe2(in, O_CLOEXEC))
            abort();
        writer = (struct writer){1 + (size_t)below(PIECE_MAX), in[1]};
        if (pthread_create(&thread, NULL, write_pipe, &writer))
            abort();
    }
    pid = start_program(run, in[0], out[1], err[1]);
    close(out[1]);
    close(err[1]);
    if (in[0] >= 0)
        close(in[0]);
    read_all(out[0], outcome->out, sizeof outcome->out);
    read_all(err[0], outcome->err, sizeof outcome->err);
    if (waitpid(pid, &status, 0) != pid)
        abort();
    if (run->way == PIPE)
        pthread_join(thread, NULL);
    outcome->status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* Describes the run for a failure's message. */
static const char *show(const struct run *run)
{
    static const char *const redirections[WAYS] = {"", "<", "cat | "};
    const struct operation_list operations = operations_of(run);
    static char text[1000];

    snprintf(text, sizeof text,
             "%s, %zu elements, %s of %s, from byte %zu: gpureduce -q -o %s %s %s%s",
             element_is_float(run->type) ? data_kind_name(run->kind) : "any", run->count,
             run->big_endian ? "big endian" : "little endian", element_name(run->type), run->before,
             operations.list, run->options, redirections[run->way], path);
    return text;
}

/*
 * The verdict.
 */

/* A number on a line of its own; NaN where it says so, or where there is no number. */
static double take_number(const char **at, enum element_type type)
{
    char *end;
    /* The shortest decimal of a type is only good when read as one. */
    double x =
        type == ELEMENT_F32 ? (double)strtof(*at, &end) : element_round(type, strtod(*at, &end));

    *at = *end == '\n' ? end + 1 : "";
    return x;
}

/* An integer of up to 128 bits on a line of its own; with no digits it is not known. */
static struct integer take_integer(const char **at)
{
    struct integer x = {.negative = **at == '-'};

    for (const char *digit = *at + x.negative; *digit >= '0' && *digit <= '9'; digit++) {
        const uint64_t low = (x.low & UINT32_MAX) * 10 + (uint64_t)(*digit - '0');
        const uint64_t high = (x.low >> 32) * 10 + (low >> 32);

        x.low = high << 32 | (low & UINT32_MAX);
        x.high = x.high * 10 + (high >> 32);
        x.known = true;
    }
    return x;
}

static uint64_t take_count(const char **at)
{
    char *end;
    uint64_t x = UINT64_MAX;

    if (strncmp(*at, "nan\n", 4) == 0)
        end = (char *)*at + 3;
    else
        x = strtoull(*at, &end, 10);
    *at = *end == '\n' ? end + 1 : "";
    return x;
}

/* The quantiles, which stand last. */
static void take_quantiles(struct result *r, const char *at, const struct run *run)
{
    for (unsigned i = 0; i < run->quantiles; i++)
        r->quantiles[i] = take_number(&at, ELEMENT_F64);
}

/* Works out what they must be. */
static void expect_quantiles(struct result *r, const struct run *run, size_t n, bool skip_nan)
{
    struct reference_number *x;
    size_t count;

    if (run->quantiles == 0)
        return;
    x = reference_sort(run->type, run->data, n, &count);
    for (unsigned i = 0; i < run->quantiles; i++)
        r->quantiles[i] = count == 0 || (count < n && !skip_nan)
                              ? (double)NAN
                              : reference_quantile(x, count, run->thousandths[i], 1000);
    free(x);
}

static bool same_quantiles(const struct result *a, const struct result *b, const struct run *run)
{
    for (unsigned i = 0; i < run->quantiles; i++)
        if (!oracle_same(a->quantiles[i], b->quantiles[i]))
            return false;
    return true;
}

/* Reads the result from the program's output. */
static struct result read_result(const char *at, const struct run *run)
{
    const bool integers = element_is_integer(run->type);
    const enum element_type type = integers ? ELEMENT_F64 : run->type;
    struct result r = {0};

    if (integers)
        r.sum_integer = take_integer(&at);
    r.sum = take_number(&at, ELEMENT_F64);
    r.mean = take_number(&at, ELEMENT_F64);
    if (integers)
        r.min_integer = take_integer(&at);
    r.min = take_number(&at, type);
    if (integers)
        r.max_integer = take_integer(&at);
    r.max = take_number(&at, type);
    r.argmin = take_count(&at);
    r.argmax = take_count(&at);
    r.count = take_count(&at);
    r.nan = take_count(&at);
    r.infinity = take_count(&at);
    if (!run->moments) {
        take_quantiles(&r, at, run);
        return r;
    }
    r.sumsq = take_number(&at, ELEMENT_F64);
    r.var = take_number(&at, ELEMENT_F64);
    r.std = take_number(&at, ELEMENT_F64);
    r.rms = take_number(&at, ELEMENT_F64);
    r.l1 = take_number(&at, ELEMENT_F64);
    r.l2 = take_number(&at, ELEMENT_F64);
    r.absmax = take_number(&at, run->type);
    r.absmin = take_number(&at, run->type);
    r.range = take_number(&at, run->type);
    r.zeros = take_count(&at);
    r.negatives = take_count(&at);
    r.subnormals = take_count(&at);
    take_quantiles(&r, at, run);
    return r;
}

/* Whether the program's output has the word that stands for a result, once for each. */
static bool is_no_result(const char *at, unsigned count)
{
    for (unsigned i = 0; i < count; i++, at += 3)
        if (strncmp(at, "NA\n", 3) != 0)
            return false;
    return !*at;
}

/* One random reduction. Returns whether it was right. */
static bool check(struct tap_family *family)
{
    struct run run;
    struct outcome outcome;
    struct reference reference;
    struct result expected, got;
    size_t wanted;
    const char *differs = "";
    char text[128];
    bool good;

    make_data(&run);
    choose_options(&run);
    make_file(&run);
    reduce(&run, &outcome);

    wanted = run.length < run.count ? (size_t)run.length : run.count;
    if (element_is_float(run.type))
        reference_reduce(&reference, run.type, run.data, wanted, 0);
    else
        reference_reduce_element(&reference, run.type, run.data, wanted, 0);
    if (run.moments)
        reference_moments(&reference, run.type, run.data, wanted, run.ddof);
    expected = reference.policy[run.policy == 1];
    expect_quantiles(&expected, &run, wanted, run.policy == 1);
    if (run.policy == 2 && expected.nan > 0) {
        snprintf(text, sizeof text, ": element %" PRIu64 " is a NaN\n", expected.first_nan);
        good =
            tap_case(family,
                     outcome.status == 1 && is_no_result(outcome.out, operations_of(&run).count) &&
                         strstr(outcome.err, text),
                     "%s\nstatus %d, expected 1; said %s\nexpected%s", show(&run), outcome.status,
                     outcome.err, text);
    } else {
        got = read_result(outcome.out, &run);
        got.first_nan = expected.first_nan; /* which is not printed */
        good = tap_case(
            family,
            outcome.status == 0 && !outcome.err[0] && outcome.out[0] &&
                reference_same(&got, &expected, PARTIAL_SUM | PARTIAL_EXTREMES | PARTIAL_WHERE) &&
                same_quantiles(&got, &expected, &run) &&
                (!run.moments || !(differs = moments_difference(&got, &expected, PARTIAL_ALL))),
            "%s\nstatus %d, said '%s'\n%s\nexpected\n%s\n%s", show(&run), outcome.status,
            outcome.err, reference_show(&got), reference_show(&expected), differs);
    }
    free(run.data);
    return good;
}

/* Whether the device that is asked for is not there. Why is in what the program says then. */
static bool lacks_device(struct outcome *outcome)
{
    struct run run = {.way = FILE_BY_NAME};

    snprintf(path, sizeof path, "/dev/null");
    snprintf(run.options, sizeof run.options, "--device=%s", device);
    reduce(&run, outcome);
    return outcome->status == NO_DEVICE;
}

int main(void)
{
    struct tap_family family = {0};
    struct outcome outcome;
    uint64_t runs = from_environment("STRESS_RUNS", RUNS);
    uint64_t any = (uint64_t)time(NULL) << 16 ^ (uint64_t)getpid();
    uint64_t seed = from_environment("STRESS_SEED", from_environment("CHECK_SEED", any));
    bool good = true;

    program = getenv("GPUREDUCE");
    under = getenv("CHECK_UNDER");
    under = under ? under : "";
    device = getenv("STRESS_DEVICE");
    device = device && *device ? device : "cpu";
    if (!program)
        return tap_skip_all("GPUREDUCE does not name the program");
    signal(SIGPIPE, SIG_IGN);
    if (lacks_device(&outcome)) {
        outcome.err[strcspn(outcome.err, "\n")] = '\0';
        return tap_skip_all(outcome.err);
    }
    if (!mkdtemp(directory)) {
        printf("Bail out! %s: %s\n", directory, strerror(errno));
        return 99;
    }
    snprintf(path, sizeof path, "%s/input", directory);
    tap_note("STRESS_SEED=%" PRIu64 ", %s", seed, oracle_backend());
    rng_seed(&rng, seed);
    for (uint64_t i = 0; i < runs && good; i++)
        good = check(&family);
    tap_family_end(&family, "random reductions, seed %" PRIu64 ", by %s", seed, device);
    if (good) {
        unlink(path);
        rmdir(directory);
    }
    return tap_done();
}
