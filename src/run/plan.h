/*
 * Plans: how an input is read. A plan is a pure function of facts about the input, the request and
 * the speed of the machine, and is made before the input is opened.
 *
 *     source_probe --> facts --+
 *     options, session --------+--> plan --> source_open_probed --> a run
 *     machine limits ----------+               ^                      |
 *                                              +----- plan_again <----+
 *
 * A GPU decodes all of a zstd file or nothing of it. The plan compares the times of whole
 * processes, including the initialisation of the GPU.
 *
 * If the headers of an input turn out to be wrong, or a GPU cannot decode it, the input is read
 * again from its beginning, by the next method of enum plan_how.
 */
#ifndef GPUREDUCE_RUN_PLAN_H
#define GPUREDUCE_RUN_PLAN_H

#include "profile/machine_limits.h"
#include "run/gpu_policy.h"
#include "run/session_options.h"
#include "source/source.h"

/* The methods, in the order in which they are tried. */
enum plan_how {
    PLAN_GPUS,     /* GPUs decode and reduce compressed bytes */
    PLAN_ONE_GPU,  /* the first GPU alone does so */
    PLAN_PARALLEL, /* the CPU decodes, in parallel where possible */
    PLAN_IN_ORDER  /* the CPU decodes from front to back */
};

/* The reason for plan.no_gpu if the GPU cannot compute the request. */
#define PLAN_NO_KERNELS "it has no kernels for these operations"

struct plan {
    enum plan_how how;
    /* The reason why DEVICE_AUTO lets the CPU decode, for --verbose; "" if the GPU has failed;
       NULL if there was no choice. A constant text. */
    const char *no_gpu;
};

/* The request and the state of the machine. */
struct plan_request {
    enum device_choice device;
    bool cpu_alone;  /* only the CPU can do this work */
    bool no_kernels; /* the GPU is known to have no kernels for the request */
    bool forced;     /* as session_tuning.gpu_always */
    enum gpu_state gpu;
    unsigned cores;       /* cores that the process may use */
    uint64_t later_bytes; /* bytes of later inputs of GPU_INPUT_MIN or more each, which are
                             assumed to compress equally well */
};

/* Rates of decoding in GB/s of decoded bytes, if not stated otherwise, and times in seconds.
   Entry 0 is of data that hardly repeat, entry 1 of data most of which are copied from earlier
   bytes. */
struct plan_rates {
    double frames[2];  /* all cores together, many frames */
    double one[2];     /* all cores together, one frame */
    double gpu[2];     /* the GPU, if the link is not the bottleneck */
    double verifies;   /* the GPU, if it verifies the checksums of many frames */
    double link;       /* the link to the GPU, compressed bytes */
    double start, end; /* times to initialise the GPU's decoder, and to end it */
};

/* The rates of a machine with `cores` cores: those that `recorded` has, and for others those of the
   machines in doc/tuning.md. */
struct plan_rates plan_rates(unsigned cores, const struct machine *recorded);

/* The plan for an input. */
struct plan plan_input(const struct source_facts *facts, const struct plan_request *request,
                       const struct plan_rates *rates);

/* Changes the plan to the next method after the input was read with this verdict. False if there
   is no other, or the verdict does not ask for one. */
bool plan_again(struct plan *plan, enum source_verdict verdict);

#endif
