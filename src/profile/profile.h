/*
 * The profile of a run: what each stage did, and how the time divides into phases. Plain data and
 * pure functions; the run fills in what its workers measured.
 *
 * The processor's part of the stages runs on the workers' threads, one stage at a time on each; the
 * copies run on the link of each GPU, the kernels on the GPU.
 */
#ifndef GPUREDUCE_PROFILE_H
#define GPUREDUCE_PROFILE_H

#include <stdbool.h>
#include <stdint.h>

/* A run that is shorter, in nanoseconds, consists of starting threads, some tens of microseconds
   for each: nothing can be told of its bottleneck. */
#define PROFILE_TIME_MIN UINT64_C(1000000)

enum profile_stage {
    PROFILE_READ,       /* the input, to where the threads can use it */
    PROFILE_DECODE,     /* decompression */
    PROFILE_COPY,       /* host to device */
    PROFILE_GPU_DECODE, /* decompression on the device */
    PROFILE_VERIFY,     /* checksums, on the device */
    PROFILE_KERNEL,     /* on the device */
    PROFILE_CHECK,      /* checksums of what was decompressed there, on the CPU */
    PROFILE_REDUCE,     /* on the CPU */
    PROFILE_STAGES
};

enum profile_phase {
    PROFILE_RAMP_UP, /* until every worker of the first ones has had a chunk */
    PROFILE_STEADY,  /* until a worker finds the input at its end */
    PROFILE_FINISH,  /* until the result is there */
    PROFILE_PHASES
};

/* Times are in nanoseconds. */
struct profile_work {
    uint64_t bytes;    /* that went through the stage */
    uint64_t busy;     /* time at it, of all that it runs on together */
    uint64_t capacity; /* the time that this could have been */
};

struct profile_period {
    uint64_t time;
    uint64_t bytes; /* of elements, handed out in it */
};

struct profile {
    struct profile_work stages[PROFILE_STAGES];
    uint64_t start_up; /* before the first read */
    uint64_t gpu_open; /* to make the GPU ready, in the start-up or beside the work; 0: neither */
    struct profile_period phases[PROFILE_PHASES];
    uint64_t wait;        /* of feeders, for a free buffer */
    uint64_t source_wait; /* of all workers in the source, neither reading nor decoding */

    unsigned threads;  /* workers */
    unsigned gpus;     /* that had a part */
    uint64_t cpu_time; /* that the workers were running on a processor */
    /* From the first request for input to the first that found none. */
    uint64_t input_span;
    bool in_turn;           /* the input may come by one worker at a time */
    bool pipe;              /* it has no size, and cannot be asked for again */
    uint64_t storage;       /* bytes that storage had to bring */
    uint64_t check_in_turn; /* time of PROFILE_CHECK in frames that one thread at a time hashes */
    uint64_t in_place;      /* bytes that the CPU reduced where they were mapped */
};

/* The names of a stage and of a phase, as -v prints them. */
const char *profile_stage_name(enum profile_stage stage);
const char *profile_phase_name(enum profile_phase phase);

/* The time of the run, from the first read to the result. */
uint64_t profile_time(const struct profile *p);

/* A part of a whole: from 0 to 1, and 0 where there is no whole. */
double profile_part(uint64_t some, uint64_t whole);

/* How much of its capacity a stage used, as a part of 1; 0 when it had none. */
double profile_utilisation(const struct profile *p, enum profile_stage stage);

/* GB/s. 0 when there was no time. */
double profile_rate(uint64_t bytes, uint64_t time);

#endif
