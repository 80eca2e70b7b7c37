/*
 * When auto uses the GPU: a table of cases, each what was observed and what is to follow. The
 * numbers are those of machines; none is taken from the policy's own constants.
 */
#include "config.h"

#include <string.h>

#include "lib/tap.h"
#include "run/gpu_policy.h"

#define GB UINT64_C(1000000000)
#define MS UINT64_C(1000000)

static const char *const actions[] = {
    [GPU_WAIT] = "wait", [GPU_OPEN] = "open",       [GPU_FEED] = "feed",
    [GPU_KEEP] = "keep", [GPU_DISMISS] = "dismiss",
};

/* One observation, and what is expected: the action, and, where the run ended so, why the GPU was
   skipped (NULL: not asked). */
static const struct {
    const char *name;
    struct gpu_observation o;
    enum gpu_action action;
    const char *skipped;
} cases[] = {
    /* Four cores that read 60 GB/s. */
    {"4 cores, 64 GB to go, nothing known yet",
     {.rate = 0, .left = 64 * GB, .idle_core = false},
     GPU_WAIT,
     "too little work"},
    {"4 cores, 64 GB to go", {.rate = 60, .left = 64 * GB}, GPU_WAIT, "too little work"},
    {"4 cores, 600 GB to go", {.rate = 60, .left = 600 * GB}, GPU_OPEN, NULL},
    {"3 of 4 cores at work, 64 GB to go",
     {.rate = 45, .left = 64 * GB, .idle_core = true},
     GPU_OPEN,
     NULL},
    {"4 cores, 64 GB to go and 600 GB in later files",
     {.rate = 60, .left = 64 * GB, .later_bytes = 600 * GB},
     GPU_OPEN,
     NULL},
    {"4 cores, 600 GB to go, and it is being opened",
     {.rate = 60, .left = 600 * GB, .gpu = GPU_OPENING},
     GPU_WAIT,
     "too little work was left when it was ready"},
    {"4 cores, 600 GB to go, and it is ready",
     {.rate = 60, .left = 600 * GB, .gpu = GPU_READY},
     GPU_FEED,
     NULL},
    {"4 cores, 2 GB to go, and it is ready",
     {.rate = 60, .left = 2 * GB, .gpu = GPU_READY},
     GPU_WAIT,
     "too little work was left when it was ready"},

    /* Many tiny files: they tell no rate, and do not count as work to come. */
    {"a tiny file among thousands", {.rate = 0, .left = 548}, GPU_WAIT, "too little work"},
    {"a tiny file, after a large one", {.rate = 10, .left = 548}, GPU_WAIT, "too little work"},
    {"a tiny file, and the GPU is ready",
     {.rate = 10, .left = 548, .gpu = GPU_READY},
     GPU_WAIT,
     "too little work was left when it was ready"},

    /* A slow disk: the GPU does not make it faster. */
    {"a disk of 2 GB/s, 1000 GB to go",
     {.rate = 2, .left = 1000 * GB, .waits_for_storage = true},
     GPU_WAIT,
     "the cores wait for storage"},
    {"2 GB/s out of the page cache, 1000 GB to go", {.rate = 2, .left = 1000 * GB}, GPU_OPEN, NULL},

    /* Sixteen cores at the limit of memory. */
    {"16 cores at 180 GB/s, 10000 GB to go",
     {.rate = 180, .left = 10000 * GB},
     GPU_WAIT,
     "the CPU alone reads as fast as memory allows"},

    /* Inputs that a GPU cannot help with. */
    {"a pipe",
     {.in_order = true, .rate = 5, .left = UINT64_MAX},
     GPU_WAIT,
     "the input comes in order"},
    {"zstd",
     {.compressed = true, .rate = 5, .left = 600 * GB},
     GPU_WAIT,
     "the input is compressed"},
    {"zstd, a small file", {.compressed = true, .small = true}, GPU_WAIT, "too little work"},
    {"the same, for operations that it has no kernels for",
     {.compressed = true, .small = true, .no_kernels = true},
     GPU_WAIT,
     "it has no kernels for these operations"},
    {"zstd, though a test wants the GPU",
     {.compressed = true, .rate = 5, .left = 600 * GB, .forced = true},
     GPU_WAIT,
     "the input is compressed"},

    {"operations that it has no kernels for",
     {.no_kernels = true, .rate = 5, .left = 600 * GB, .forced = true},
     GPU_WAIT,
     "it has no kernels for these operations"},

    /* A GPU that fails, before or in the middle. */
    {"it could not be opened",
     {.rate = 60, .left = 600 * GB, .gpu = GPU_FAILED},
     GPU_WAIT,
     "the reason"},
    {"its feeder failed in the trial",
     {.rate = 60,
      .left = 600 * GB,
      .gpu = GPU_FAILED,
      .feeders = FEEDERS_TRIAL,
      .trial_time = 10 * MS,
      .trial_rate = 70,
      .rate_before = 60},
     GPU_WAIT,
     "the reason"},

    /* The trial. */
    {"the trial has just begun",
     {.rate = 60,
      .left = 600 * GB,
      .gpu = GPU_READY,
      .feeders = FEEDERS_TRIAL,
      .trial_time = 10 * MS,
      .trial_rate = 20,
      .rate_before = 60},
     GPU_WAIT,
     NULL},
    {"the trial has shown a gain",
     {.rate = 60,
      .left = 600 * GB,
      .gpu = GPU_READY,
      .feeders = FEEDERS_TRIAL,
      .trial_time = 200 * MS,
      .trial_rate = 70,
      .rate_before = 60},
     GPU_KEEP,
     NULL},
    {"the trial has shown a loss",
     {.rate = 60,
      .left = 600 * GB,
      .gpu = GPU_READY,
      .feeders = FEEDERS_TRIAL,
      .trial_time = 200 * MS,
      .trial_rate = 50,
      .rate_before = 60},
     GPU_DISMISS,
     NULL},
    {"the trial has shown no difference",
     {.rate = 60,
      .left = 600 * GB,
      .gpu = GPU_READY,
      .feeders = FEEDERS_TRIAL,
      .trial_time = 200 * MS,
      .trial_rate = 60,
      .rate_before = 60},
     GPU_DISMISS,
     NULL},
    {"nothing to compare the trial with",
     {.forced = true,
      .left = 600 * GB,
      .gpu = GPU_READY,
      .feeders = FEEDERS_TRIAL,
      .trial_time = 200 * MS,
      .trial_rate = 1,
      .rate_before = 0},
     GPU_KEEP,
     NULL},
    {"kept, however slow it gets",
     {.rate = 60,
      .left = 600 * GB,
      .gpu = GPU_READY,
      .feeders = FEEDERS_KEPT,
      .trial_time = 900 * MS,
      .trial_rate = 5,
      .rate_before = 60},
     GPU_WAIT,
     NULL},
    {"dismissed",
     {.rate = 60, .left = 600 * GB, .gpu = GPU_READY, .feeders = FEEDERS_DISMISSED},
     GPU_WAIT,
     NULL},
    {"the next file after it made nothing faster",
     {.rate = 60, .left = 600 * GB, .gpu = GPU_READY, .useless = true},
     GPU_WAIT,
     "the GPU made earlier work no faster"},

    /* Requests of tests of failures. */
    {"forced, with a few bytes to go", {.forced = true, .left = 1}, GPU_OPEN, NULL},
    {"forced and ready", {.forced = true, .left = 1, .gpu = GPU_READY}, GPU_FEED, NULL},
    {"forced and failed", {.forced = true, .left = 1, .gpu = GPU_FAILED}, GPU_WAIT, "the reason"},
};

int main(void)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        enum gpu_action action = gpu_policy(&cases[i].o);
        const char *skipped = gpu_policy_skipped(&cases[i].o, "the reason");
        bool same = action == cases[i].action;

        tap_ok(same, "%s: %s", cases[i].name, actions[cases[i].action]);
        if (!same)
            tap_note("it is to %s", actions[action]);
        if (cases[i].skipped) {
            same = strcmp(skipped, cases[i].skipped) == 0;
            tap_ok(same, "%s: %s", cases[i].name, cases[i].skipped);
            if (!same)
                tap_note("%s", skipped);
        }
    }
    return tap_done();
}
