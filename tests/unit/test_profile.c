/*
 * profile.h and bottleneck.h: the bottleneck of runs of every kind, told by what their workers
 * would measure, and the recorded limit that it is compared with.
 */
#include "config.h"

#include "profile/bottleneck.h"
#include "profile/profile.h"

#include <math.h>
#include <string.h>

#include "lib/tap.h"

#define MS UINT64_C(1000000)
#define MB UINT64_C(1000000)

/* A run of a second that moved 1000 MB. Times are in milliseconds, of all threads together. */
struct example {
    const char *name;
    unsigned threads;
    unsigned read, decode, reduce, wait, source_wait, cpu;
    bool in_turn, pipe;
    unsigned storage, in_place, on_cpu; /* MB */
    unsigned gpus, copy, kernel;        /* of all GPUs, each of which had a second */
    unsigned gpu_decode;                /* of all GPUs, each of which had a second */
    unsigned check, check_in_turn;

    enum profile_stage stage;
    enum bottleneck_cause cause;
    unsigned units;
};

static const struct example examples[] = {
    {.name = "a GPU whose link is full, though feeders are busy most of the time",
     .threads = 8,
     .read = 6900,
     .wait = 900,
     .cpu = 7000,
     .gpus = 1,
     .copy = 980,
     .kernel = 150,
     .stage = PROFILE_COPY,
     .cause = BOTTLENECK_LINK,
     .units = 1},
    {.name = "two GPUs",
     .threads = 16,
     .read = 13000,
     .wait = 2500,
     .cpu = 13000,
     .gpus = 2,
     .copy = 1950,
     .kernel = 300,
     .stage = PROFILE_COPY,
     .cause = BOTTLENECK_LINK,
     .units = 2},
    {.name = "a GPU whose feeders never wait for a buffer",
     .threads = 2,
     .read = 1950,
     .wait = 2,
     .cpu = 1990,
     .gpus = 1,
     .copy = 320,
     .kernel = 50,
     .stage = PROFILE_READ,
     .cause = BOTTLENECK_CACHED_COPY,
     .units = 2},
    {.name = "a GPU and a cold file",
     .threads = 8,
     .read = 7950,
     .cpu = 800,
     .storage = 990,
     .gpus = 1,
     .copy = 40,
     .kernel = 5,
     .stage = PROFILE_READ,
     .cause = BOTTLENECK_STORAGE,
     .units = 8},
    {.name = "a GPU whose kernel is slow",
     .threads = 8,
     .read = 2000,
     .wait = 5900,
     .cpu = 2000,
     .gpus = 1,
     .copy = 400,
     .kernel = 990,
     .stage = PROFILE_KERNEL,
     .cause = BOTTLENECK_GPU,
     .units = 1},
    {.name = "a GPU behind a pipe",
     .threads = 4,
     .read = 970,
     .source_wait = 2800,
     .cpu = 960,
     .in_turn = true,
     .pipe = true,
     .gpus = 1,
     .copy = 60,
     .kernel = 8,
     .stage = PROFILE_READ,
     .cause = BOTTLENECK_PIPE,
     .units = 1},
    {.name = "a mapped file, pages made present by faults",
     .threads = 16,
     .read = 5,
     .reduce = 15700,
     .cpu = 15900,
     .in_place = 1000,
     .on_cpu = 1000,
     .stage = PROFILE_REDUCE,
     .cause = BOTTLENECK_MEMORY,
     .units = 16},
    {.name = "a mapped file, making pages present takes longer",
     .threads = 16,
     .read = 9000,
     .reduce = 6800,
     .cpu = 15900,
     .in_place = 1000,
     .on_cpu = 1000,
     .stage = PROFILE_READ,
     .cause = BOTTLENECK_CACHED_PAGES,
     .units = 16},
    {.name = "a cached file that is read",
     .threads = 16,
     .read = 11000,
     .reduce = 4700,
     .cpu = 15900,
     .on_cpu = 1000,
     .stage = PROFILE_READ,
     .cause = BOTTLENECK_CACHED_COPY,
     .units = 16},
    {.name = "a mapped file that is cold",
     .threads = 4,
     .read = 10,
     .reduce = 3900,
     .cpu = 500,
     .storage = 1000,
     .in_place = 1000,
     .on_cpu = 1000,
     .stage = PROFILE_REDUCE,
     .cause = BOTTLENECK_STORAGE,
     .units = 4},
    {.name = "one that storage brings faster than it is reduced",
     .threads = 4,
     .read = 10,
     .reduce = 3900,
     .cpu = 3800,
     .storage = 1000,
     .in_place = 1000,
     .on_cpu = 1000,
     .stage = PROFILE_REDUCE,
     .cause = BOTTLENECK_MEMORY,
     .units = 4},
    {.name = "CPU and GPU together",
     .threads = 17,
     .read = 2000,
     .reduce = 13800,
     .wait = 600,
     .cpu = 15500,
     .in_place = 850,
     .on_cpu = 850,
     .gpus = 1,
     .copy = 700,
     .kernel = 40,
     .stage = PROFILE_REDUCE,
     .cause = BOTTLENECK_MEMORY,
     .units = 17},
    {.name = "a pipe whose writer is slow",
     .threads = 4,
     .read = 980,
     .reduce = 60,
     .source_wait = 2900,
     .cpu = 150,
     .in_turn = true,
     .pipe = true,
     .on_cpu = 1000,
     .stage = PROFILE_READ,
     .cause = BOTTLENECK_WRITER,
     .units = 1},
    {.name = "a pipe that is read all the time",
     .threads = 4,
     .read = 980,
     .reduce = 60,
     .source_wait = 2900,
     .cpu = 1040,
     .in_turn = true,
     .pipe = true,
     .on_cpu = 1000,
     .stage = PROFILE_READ,
     .cause = BOTTLENECK_PIPE,
     .units = 1},
    {.name = "a pipe and a thread that does all",
     .threads = 1,
     .read = 300,
     .reduce = 690,
     .cpu = 990,
     .in_turn = true,
     .pipe = true,
     .on_cpu = 1000,
     .stage = PROFILE_REDUCE,
     .cause = BOTTLENECK_CPU,
     .units = 1},
    {.name = "zstd of one frame",
     .threads = 8,
     .read = 30,
     .decode = 950,
     .reduce = 80,
     .source_wait = 6800,
     .cpu = 1060,
     .in_turn = true,
     .on_cpu = 1000,
     .stage = PROFILE_DECODE,
     .cause = BOTTLENECK_DECODING,
     .units = 1},
    {.name = "zstd of many frames",
     .threads = 8,
     .read = 150,
     .decode = 7300,
     .reduce = 400,
     .source_wait = 30,
     .cpu = 7900,
     .in_turn = true,
     .on_cpu = 1000,
     .stage = PROFILE_DECODE,
     .cause = BOTTLENECK_DECODING,
     .units = 8},
    {.name = "zstd of one frame on a GPU, whose checksum takes all of a core",
     .threads = 7,
     .read = 900,
     .check = 970,
     .check_in_turn = 960,
     .cpu = 1900,
     .gpus = 1,
     .copy = 300,
     .gpu_decode = 940,
     .kernel = 50,
     .in_turn = true,
     .stage = PROFILE_CHECK,
     .cause = BOTTLENECK_CHECKSUM,
     .units = 1},
    {.name = "zstd of many frames on a GPU, whose checksums take all cores",
     .threads = 4,
     .read = 300,
     .check = 3650,
     .check_in_turn = 20,
     .cpu = 3960,
     .gpus = 1,
     .copy = 300,
     .gpu_decode = 940,
     .kernel = 50,
     .in_turn = true,
     .stage = PROFILE_CHECK,
     .cause = BOTTLENECK_CHECKSUMS,
     .units = 4},
    {.name = "zstd on a GPU that is fed too slowly by the link",
     .threads = 7,
     .read = 4000,
     .cpu = 4100,
     .gpus = 1,
     .copy = 970,
     .gpu_decode = 999,
     .kernel = 50,
     .in_turn = true,
     .stage = PROFILE_COPY,
     .cause = BOTTLENECK_LINK,
     .units = 1},
    {.name = "zstd on a GPU that decodes as fast as it can",
     .threads = 7,
     .read = 2000,
     .cpu = 2100,
     .gpus = 1,
     .copy = 500,
     .gpu_decode = 999,
     .kernel = 50,
     .in_turn = true,
     .stage = PROFILE_GPU_DECODE,
     .cause = BOTTLENECK_GPU_DECODE,
     .units = 1},
    {.name = "zstd from a cold file",
     .threads = 8,
     .read = 7000,
     .decode = 600,
     .reduce = 60,
     .cpu = 800,
     .in_turn = true,
     .storage = 1000,
     .on_cpu = 1000,
     .stage = PROFILE_READ,
     .cause = BOTTLENECK_STORAGE,
     .units = 8},
};

static struct profile make(const struct example *e)
{
    const uint64_t second = 1000 * MS, capacity = e->threads * second;
    struct profile a = {
        .stages =
            {
                [PROFILE_READ] = {1000 * MB, e->read * MS, capacity},
                [PROFILE_DECODE] = {e->decode ? 1000 * MB : 0, e->decode * MS, capacity},
                [PROFILE_COPY] = {e->copy ? 1000 * MB : 0, e->copy * MS, e->gpus * second},
                [PROFILE_KERNEL] = {e->copy ? 1000 * MB : 0, e->kernel * MS, e->gpus * second},
                [PROFILE_GPU_DECODE] = {e->gpu_decode ? 1000 * MB : 0, e->gpu_decode * MS,
                                        e->gpus * second},
                [PROFILE_CHECK] = {e->check ? 1000 * MB : 0, e->check * MS, capacity},
                [PROFILE_REDUCE] = {e->on_cpu * MB, e->reduce * MS, capacity},
            },
        .phases =
            {
                [PROFILE_RAMP_UP] = {100 * MS, 50 * MB},
                [PROFILE_STEADY] = {800 * MS, 900 * MB},
                [PROFILE_FINISH] = {100 * MS, 50 * MB},
            },
        .wait = e->wait * MS,
        .source_wait = e->source_wait * MS,
        .threads = e->threads,
        .gpus = e->gpus,
        .cpu_time = e->cpu * MS,
        .input_span = 1000 * MS,
        .in_turn = e->in_turn,
        .pipe = e->pipe,
        .storage = e->storage * MB,
        .in_place = e->in_place * MB,
        .check_in_turn = e->check_in_turn * MS,
    };

    return a;
}

static void test_examples(void)
{
    for (size_t i = 0; i < sizeof examples / sizeof *examples; i++) {
        const struct example *e = &examples[i];
        struct profile a = make(e);
        struct bottleneck b;
        bool good = bottleneck_find(&a, &b);

        if (!tap_ok(good && b.stage == e->stage && b.cause == e->cause && b.units == e->units, "%s",
                    e->name))
            tap_note("stage %d, cause %d, %u units", b.stage, b.cause, b.units);
    }
}

static bool near(double x, double y)
{
    return fabs(x - y) < 1e-9;
}

static void test_rates(void)
{
    struct bottleneck b;
    struct profile a = make(&examples[0]);

    tap_ok(bottleneck_find(&a, &b) && near(b.rate, 1.0), "a link: over the time that it had");
    a = make(&examples[1]);
    tap_ok(bottleneck_find(&a, &b) && near(b.rate, 1.0), "several: all together");
    a = make(&examples[6]);
    tap_ok(bottleneck_find(&a, &b) && near(b.rate, 0.9 / 0.8), "threads: in the steady state");
    a.phases[PROFILE_STEADY].time = 100 * MS;
    a.phases[PROFILE_RAMP_UP].time = 800 * MS;
    tap_ok(bottleneck_find(&a, &b) && near(b.rate, 1.0), "unless that is short");
    tap_ok(near(profile_utilisation(&a, PROFILE_REDUCE), 15.7 / 16) &&
               profile_utilisation(&a, PROFILE_KERNEL) == 0 && profile_time(&a) == 1000 * MS,
           "parts and sums");
    a.stages[PROFILE_REDUCE].busy *= 2;
    tap_ok(profile_utilisation(&a, PROFILE_REDUCE) == 1,
           "clocks that overlap make no more than all");
    tap_ok(profile_rate(5, 0) == 0 && near(profile_rate(MB, MS), 1), "rates");
}

static void test_short(void)
{
    struct profile a = {.threads = 1};
    struct bottleneck b;

    tap_ok(!bottleneck_find(&a, &b), "of no time nothing can be told");
    a = make(&examples[6]);
    for (int i = 0; i < PROFILE_PHASES; i++)
        a.phases[i].time /= 2000;
    tap_ok(!bottleneck_find(&a, &b), "nor of half a millisecond");
}

/* Which recorded limit a bottleneck is compared with, and how that is put. */
static void test_limits(void)
{
    static const struct machine m = {
        .cpu = "C",
        .gpu = "NVIDIA X",
        .limits = {{"cold-direct", 1, 5},
                   {"cold-direct", 4, 7},
                   {"cached-pread", 1, 10},
                   {"cached-pread", 3, 20},
                   {"host-to-device-pinned", 0, 50},
                   {"gpu-read", 0, 3000}},
        .count = 6,
    };
    static const struct {
        struct bottleneck b;
        const char *gpus;
        double limit;
        const char *text;
    } cases[] = {
        {{PROFILE_READ, BOTTLENECK_STORAGE, 4, 3.5},
         NULL,
         7,
         "50 % of the storage's measured 7.0 GB/s"},
        {{PROFILE_READ, BOTTLENECK_CACHED_COPY, 2, 3},
         "1 x NVIDIA X",
         15,
         "20 % of the measured 15.0 GB/s of 2 threads"},
        {{PROFILE_READ, BOTTLENECK_CACHED_COPY, 1, 9},
         NULL,
         10,
         "90 % of the measured 10.0 GB/s of 1 thread"},
        {{PROFILE_COPY, BOTTLENECK_LINK, 1, 49},
         "NVIDIA X",
         50,
         "98 % of the link's measured 50.0 GB/s"},
        {{PROFILE_COPY, BOTTLENECK_LINK, 2, 50},
         "2 x NVIDIA X",
         100,
         "50 % of the 2 links' measured 100.0 GB/s"},
        {{PROFILE_KERNEL, BOTTLENECK_GPU, 1, 300},
         "NVIDIA X",
         3000,
         "10 % of the GPU's measured 3000.0 GB/s"},
        {{PROFILE_KERNEL, BOTTLENECK_GPU, 1, 300}, "NVIDIA Y", 0, NULL},
        {{PROFILE_KERNEL, BOTTLENECK_GPU, 1, 300}, NULL, 0, NULL},
        {{PROFILE_DECODE, BOTTLENECK_DECODING, 1, 1}, NULL, 0, NULL},
        {{PROFILE_READ, BOTTLENECK_PIPE, 1, 1}, NULL, 0, NULL},
        {{PROFILE_REDUCE, BOTTLENECK_CPU, 1, 1}, NULL, 0, NULL},
    };
    static const struct machine cpu_only = {
        .cpu = "C", .limits = {{"gpu-read", 0, 3000}}, .count = 1};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[BOTTLENECK_TEXT_MAX] = "";
        double limit = bottleneck_limit(&cases[i].b, &m, cases[i].gpus);

        if (limit > 0)
            bottleneck_compare(text, &cases[i].b, limit);
        if (!tap_ok(near(limit, cases[i].limit) &&
                        strcmp(text, cases[i].text ? cases[i].text : "") == 0,
                    "%s: %s", bottleneck_text(&cases[i].b),
                    cases[i].text ? cases[i].text : "no limit"))
            tap_note("%g GB/s, %s", limit, text);
    }
    tap_ok(bottleneck_limit(&cases[5].b, &cpu_only, "NVIDIA X") == 0,
           "limits of a GPU without a name");
}

int main(void)
{
    test_examples();
    test_rates();
    test_limits();
    test_short();
    return tap_done();
}
