/*
 * How an input is read: a pure function of facts about it, of what is asked for, and of how fast
 * the machine is. It is decided before the input is opened.
 *
 *     source_probe --> facts --+
 *     options, session --------+--> plan --> source_open_probed --> a run
 *     machine limits ----------+               ^                      |
 *                                              +----- plan_again <----+
 *
 * A GPU decodes all of a zstd file or nothing of it. The estimate is of whole processes: a GPU
 * costs time before it helps.
 *
 * While an input is read it may prove not to be what its headers say, or that a GPU cannot decode
 * it. It is then read again from its beginning, in the next of these ways.
 */
#ifndef GPUREDUCE_RUN_PLAN_H
#define GPUREDUCE_RUN_PLAN_H

#include "profile/machine_limits.h"
#include "run/gpu_policy.h"
#include "run/session_options.h"
#include "source/source.h"

enum plan_how {
    PLAN_GPUS,     /* compressed bytes go to GPUs, which decode them */
    PLAN_ONE_GPU,  /* to the first of them alone */
    PLAN_PARALLEL, /* the CPU decodes in parallel what it can */
    PLAN_IN_ORDER
};

#define PLAN_NO_KERNELS "it has no kernels for these operations"

struct plan {
    enum plan_how how;
    /* Why auto has the CPU decode it, or "" where the GPU has failed; NULL where that is no
       question. */
    const char *no_gpu;
};

/* The request, and the machine that is to do it. */
struct plan_request {
    enum device_choice device;
    bool cpu_alone;  /* what is asked for is the CPU's, or cannot be asked of compressed input */
    bool no_kernels; /* the GPU has none for what is asked for, as far as is known */
    bool forced;     /* a test wants the GPU, however small the work is */
    enum gpu_state gpu;
    unsigned cores; /* that there are */
    uint64_t
        later_bytes; /* bytes of later inputs, of GPU_INPUT_MIN or more each: taken to be like it */
};

/* Rates of decoding, GB/s of decoded bytes unless stated otherwise, and times in seconds. */
struct plan_rates {
    double frames[2]; /* cores together, of many frames; [1]: most of which is copied from before */
    double one[2];    /* and of one */
    double gpu[2];    /* the GPU's decoder, where the link does not hold it up */
    double verifies;  /* where it also verifies many frames */
    double link;      /* of compressed bytes */
    double start, end; /* to get the GPU's decoder ready, and to end it */
};

/* The rates of a machine with so many cores: of its record, as far as it has them, otherwise those
   of the machines that they were measured on. */
struct plan_rates plan_rates(unsigned cores, const struct machine *recorded);

struct plan plan_input(const struct source_facts *facts, const struct plan_request *request,
                       const struct plan_rates *rates);

/* After a reading with this verdict, which was not the last: the next way. False where there is
   none. */
bool plan_again(struct plan *plan, enum source_verdict verdict);

#endif
