/*
 * The plan for an input: what is done for which facts, requests and machines.
 */
#include "config.h"

#include <string.h>

#include "lib/tap.h"
#include "run/plan.h"

#define GB UINT64_C(1000000000)

struct observed {
    unsigned cores;
    uint64_t input, content, later_bytes;
    double ratio;
    bool checked, uncached, no_kernels, forced;
    enum gpu_state gpu;
};

/* Compressed files of auto, and whether a GPU is to have them. */
static const struct {
    const char *name;
    struct observed o;
    const char *skipped; /* NULL: it is */
} files[] = {
    {"one frame of 16 GiB that hardly compresses, 16 cores",
     {.cores = 16, .input = 16 * GB, .content = 17 * GB},
     NULL},
    {"the same, with a checksum: nobody can be faster than a core that hashes",
     {.cores = 16, .input = 16 * GB, .content = 17 * GB, .checked = true},
     "the CPU decompresses it as soon"},
    {"the same, 4 cores",
     {.cores = 4, .input = 16 * GB, .content = 17 * GB, .checked = true},
     NULL},
    {"one frame that is copied from before, which cores cannot share, with a checksum",
     {.cores = 16, .input = 5 * GB, .content = 17 * GB, .checked = true},
     NULL},
    {"8 GB that hardly compress, without one",
     {.cores = 16, .input = 8 * GB, .content = 8 * GB},
     NULL},
    {"4 GB of that: it would be done before the GPU is ready",
     {.cores = 16, .input = 4 * GB, .content = 4 * GB},
     "the CPU decompresses it as soon"},
    {"500 MB that are copied from before, 16 cores",
     {.cores = 16, .input = GB / 4, .content = GB / 2},
     "the CPU decompresses it as soon"},
    {"2 GB of that", {.cores = 16, .input = GB, .content = 2 * GB}, NULL},
    {"frames that state little, 16 cores",
     {.cores = 16, .input = 4 * GB, .content = GB / 1000, .checked = true},
     "the CPU decompresses it as soon"},
    {"more than twice as many of them",
     {.cores = 16, .input = 9 * GB, .content = GB / 1000, .checked = true},
     NULL},
    {"frames that state nothing", {.cores = 16, .input = 32 * GB, .content = UINT64_MAX}, NULL},
    {"the same, on a disk",
     {.cores = 16, .input = 32 * GB, .content = UINT64_MAX, .uncached = true},
     "the CPU decompresses it as soon"},
    {"2 GB of such frames that decode to 14 times as much",
     {.cores = 16, .input = 2 * GB, .content = UINT64_MAX, .ratio = 14, .checked = true},
     NULL},
    {"200 MB that begin with zeros",
     {.cores = 16, .input = GB / 5, .content = UINT64_MAX, .ratio = 19065},
     "the CPU decompresses it as soon"},
    {"a tenth of those 2 GB",
     {.cores = 16, .input = GB / 5, .content = UINT64_MAX, .ratio = 14, .checked = true},
     "the CPU decompresses it as soon"},
    {"16 GiB of frames that hardly compress, 16 cores",
     {.cores = 16, .input = 159 * (GB / 10), .content = UINT64_MAX, .ratio = 1.08, .checked = true},
     NULL},
    {"8 GiB of them: 0.56 s, the cores 1.02",
     {.cores = 16, .input = 79 * (GB / 10), .content = UINT64_MAX, .ratio = 1.08, .checked = true},
     NULL},
    {"4 GiB of them: 0.48 s, the cores 0.48",
     {.cores = 16, .input = 39 * (GB / 10), .content = UINT64_MAX, .ratio = 1.08, .checked = true},
     NULL},
    {"2 GiB of them: 0.39 s, the cores 0.25",
     {.cores = 16, .input = 20 * (GB / 10), .content = UINT64_MAX, .ratio = 1.08, .checked = true},
     "the CPU decompresses it as soon"},
    {"4 GiB of them, and another such file",
     {.cores = 16,
      .input = 39 * (GB / 10),
      .later_bytes = 39 * (GB / 10),
      .content = UINT64_MAX,
      .ratio = 1.08,
      .checked = true},
     NULL},
    {"one frame of 2 GB, and 7 such files",
     {.cores = 16, .input = 2 * GB, .later_bytes = 14 * GB, .content = 2 * GB},
     NULL},
    {"one frame of 2 GB, and another such file",
     {.cores = 16, .input = 2 * GB, .later_bytes = 2 * GB, .content = 2 * GB},
     "the CPU decompresses it as soon"},
    {"8 GiB of frames, 32 cores",
     {.cores = 32, .input = 79 * (GB / 10), .content = UINT64_MAX, .ratio = 1.08, .checked = true},
     "the CPU decompresses it as soon"},
    {"16 GiB of them, 32 cores",
     {.cores = 32, .input = 159 * (GB / 10), .content = UINT64_MAX, .ratio = 1.08, .checked = true},
     NULL},
    {"32 GiB of them, 64 cores: 1.24 s, the cores 1.8",
     {.cores = 64, .input = 318 * (GB / 10), .content = UINT64_MAX, .ratio = 1.08, .checked = true},
     NULL},
    {"8 GiB of weights in frames, 32 cores: 0.61 to 0.66 s, the cores 0.93",
     {.cores = 32, .input = 394 * (GB / 100), .content = 8 << 20, .ratio = 2.18, .checked = true},
     NULL},
    {"4 GiB of weights in frames, 16 cores: 0.45 s, the cores 0.73",
     {.cores = 16, .input = 197 * (GB / 100), .content = 8 << 20, .ratio = 2.18, .checked = true},
     NULL},
    {"1 GiB of weights in frames, 16 cores",
     {.cores = 16, .input = 49 * (GB / 100), .content = 8 << 20, .ratio = 2.18, .checked = true},
     "the CPU decompresses it as soon"},
    {"8 GiB of steps in frames, 32 cores",
     {.cores = 32, .input = 467 * (GB / 100), .content = 8 << 20, .ratio = 1.84, .checked = true},
     NULL},
    {"frames of 200 MB together",
     {.cores = 16, .input = GB / 5, .content = GB / 1000},
     "the CPU decompresses it as soon"},
    {"the same, one core",
     {.cores = 1, .input = GB / 5, .content = GB / 1000},
     "the CPU decompresses it as soon"},
    {"the same, one core, and a GPU that is ready",
     {.cores = 1, .input = GB / 5, .content = GB / 1000, .gpu = GPU_READY},
     NULL},
    {"64 cores, 4 GB in frames",
     {.cores = 64, .input = 4 * GB, .content = GB / 1000},
     "the CPU decompresses it as soon"},
    {"a GPU that is being opened",
     {.cores = 16, .input = 16 * GB, .content = 17 * GB, .gpu = GPU_OPENING},
     "the GPU was not ready"},
    {"no GPU", {.cores = 16, .input = 16 * GB, .content = 17 * GB, .gpu = GPU_FAILED}, ""},
    {"what the GPU has no kernels for",
     {.cores = 16, .input = 16 * GB, .content = 17 * GB, .no_kernels = true},
     "it has no kernels for these operations"},
    {"a test wants it", {.cores = 64, .input = 1, .content = 1, .forced = true}, NULL},
};

/* Other requests and inputs. */
static const struct {
    const char *name;
    struct source_facts facts;
    struct plan_request request;
    struct plan plan;
} requests[] = {
    {"a file that is not compressed, a GPU",
     {.size = 99 * GB, .content = SOURCE_UNKNOWN},
     {.device = DEVICE_GPU},
     {.how = PLAN_PARALLEL}},
    {"a small compressed file, a GPU",
     {.compressed = true, .size = 99, .content = SOURCE_UNKNOWN},
     {.device = DEVICE_GPU},
     {.how = PLAN_GPUS}},
    {"a compressed pipe, a GPU",
     {.compressed = true, .content = SOURCE_UNKNOWN},
     {.device = DEVICE_GPU},
     {.how = PLAN_GPUS}},
    {"the same, and what is asked for is the CPU's",
     {.compressed = true, .content = SOURCE_UNKNOWN},
     {.device = DEVICE_GPU, .cpu_alone = true},
     {.how = PLAN_PARALLEL}},
    {"a compressed pipe, auto",
     {.compressed = true, .content = SOURCE_UNKNOWN},
     {.device = DEVICE_AUTO, .cores = 1},
     {.how = PLAN_PARALLEL}},
    {"less than a GPU is worth, auto",
     {.compressed = true, .size = GPU_INPUT_MIN - 1, .content = SOURCE_UNKNOWN},
     {.device = DEVICE_AUTO, .cores = 1, .gpu = GPU_READY},
     {.how = PLAN_PARALLEL}},
    {"the CPU",
     {.compressed = true, .size = 99 * GB, .content = SOURCE_UNKNOWN},
     {.device = DEVICE_CPU, .cores = 1, .gpu = GPU_READY},
     {.how = PLAN_PARALLEL}},
};

static bool same_text(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

static void check_files(void)
{
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        const struct observed *o = &files[i].o;
        const struct source_facts facts = {.compressed = true,
                                           .size = o->input,
                                           .content = o->content,
                                           .checked = o->checked,
                                           .ratio = o->ratio,
                                           .uncached = o->uncached};
        const struct plan_request request = {.device = DEVICE_AUTO,
                                             .no_kernels = o->no_kernels,
                                             .forced = o->forced,
                                             .gpu = o->gpu,
                                             .cores = o->cores,
                                             .later_bytes = o->later_bytes};
        const struct plan_rates rates = plan_rates(o->cores, NULL);
        const struct plan plan = plan_input(&facts, &request, &rates);

        tap_ok(plan.how == (files[i].skipped ? PLAN_PARALLEL : PLAN_GPUS) &&
                   same_text(plan.no_gpu, files[i].skipped),
               "%s: %s", files[i].name, files[i].skipped ? files[i].skipped : "a GPU");
    }
    for (size_t i = 0; i < sizeof requests / sizeof *requests; i++) {
        const struct plan_rates rates = plan_rates(16, NULL);
        const struct plan plan = plan_input(&requests[i].facts, &requests[i].request, &rates);

        tap_ok(plan.how == requests[i].plan.how && same_text(plan.no_gpu, requests[i].plan.no_gpu),
               "%s", requests[i].name);
    }
}

/* A machine's record stands for the rates that it has. */
static void check_record(void)
{
    const struct source_facts facts = {
        .compressed = true, .size = 4 * GB, .content = 8 << 20, .ratio = 2, .checked = true};
    const struct plan_request request = {.device = DEVICE_AUTO, .cores = 16};
    static struct machine m = {.limits = {{"zstd-decode-weights", 16, 200}}, .count = 1};
    struct plan_rates rates = plan_rates(16, &m), usual = plan_rates(16, NULL);

    tap_ok(rates.frames[1] > 100 && rates.frames[0] == usual.frames[0] &&
               rates.link == usual.link && rates.gpu[1] == usual.gpu[1],
           "what is recorded is taken, and the rest as usual");
    tap_ok(plan_input(&facts, &request, &usual).how == PLAN_GPUS &&
               plan_input(&facts, &request, &rates).how == PLAN_PARALLEL,
           "cores that are recorded as faster do without a GPU");
    m.limits[0] = (struct machine_limit){"host-to-device-pinned", 0, 1};
    rates = plan_rates(16, &m);
    tap_ok(plan_input(&facts, &request, &rates).how == PLAN_PARALLEL,
           "as those do whose link is slow");
}

/* The ways that are tried one after the other. */
static void check_again(void)
{
    struct plan plan = {.how = PLAN_GPUS};

    tap_ok(plan_again(&plan, SOURCE_TORN) && plan.how == PLAN_ONE_GPU,
           "what several GPUs cannot agree on one has alone");
    tap_ok(plan_again(&plan, SOURCE_TORN) && plan.how == PLAN_PARALLEL,
           "what one cannot decode is the CPU's");
    tap_ok(plan_again(&plan, SOURCE_REREAD) && plan.how == PLAN_IN_ORDER,
           "what is not as its headers say is read in order");
    tap_ok(!plan_again(&plan, SOURCE_REREAD), "and that is the last");
    plan.how = PLAN_GPUS;
    tap_ok(plan_again(&plan, SOURCE_REREAD) && plan.how == PLAN_PARALLEL,
           "what GPUs refuse is the CPU's");
}

int main(void)
{
    check_files();
    check_record();
    check_again();
    return tap_done();
}
