/*
 * The account of a run: what each stage did, how the time divides into phases, and which stage held
 * the run back. Pure: reduction.c fills in what its workers measured.
 *
 * The processor's part of the stages runs on the workers' threads, one stage at a time on each; the
 * copies run on the link of each GPU, the kernels on the GPU. A stage has held the run back when it
 * had nothing to wait for: it kept what it runs on busy all the time.
 */
#ifndef GPUREDUCE_ACCOUNT_H
#define GPUREDUCE_ACCOUNT_H

#include <stdbool.h>
#include <stdint.h>

enum account_stage {
    ACCOUNT_READ,   /* the input, to where the threads can use it */
    ACCOUNT_DECODE, /* decompression */
    ACCOUNT_COPY,   /* host to device */
    ACCOUNT_KERNEL, /* on the device */
    ACCOUNT_REDUCE, /* on the CPU */
    ACCOUNT_STAGES
};

enum account_phase {
    ACCOUNT_RAMP_UP, /* until every worker of the first ones has had a chunk */
    ACCOUNT_STEADY,  /* until a worker finds the input at its end */
    ACCOUNT_FINISH,  /* until the result is there */
    ACCOUNT_PHASES
};

/* Times are in nanoseconds. */
struct account_work {
    uint64_t bytes; /* that went through the stage */
    uint64_t busy;  /* time at it, of all that it runs on together */
    uint64_t room;  /* time that this could have been */
};

struct account_period {
    uint64_t time;
    uint64_t bytes; /* of elements, handed out in it */
};

struct account {
    struct account_work stages[ACCOUNT_STAGES];
    uint64_t start_up; /* before the first read */
    uint64_t gpu_open; /* to make the GPU ready, in the start-up or beside the work; 0: neither */
    struct account_period phases[ACCOUNT_PHASES];
    uint64_t wait; /* of feeders, for a free buffer */
    uint64_t turn; /* of all workers in the source, neither reading nor decoding */

    unsigned threads;  /* workers */
    unsigned gpus;     /* that had a part */
    uint64_t cpu_time; /* that the workers were running on a processor */
    uint64_t taking;   /* from the first worker that asked for input to the first that found none */
    bool in_turn;      /* the input may come by one worker at a time */
    bool pipe;         /* it has no size, and cannot be asked for again */
    uint64_t storage;  /* bytes that storage had to bring */
    uint64_t in_place; /* bytes that the CPU reduced where they were mapped */
};

/* What it is that was too slow. */
enum account_cause {
    ACCOUNT_STORAGE,      /* reading what was not cached */
    ACCOUNT_CACHED_COPY,  /* copying from the page cache */
    ACCOUNT_CACHED_PAGES, /* making the mapped page cache present */
    ACCOUNT_PIPE,         /* reading a pipe */
    ACCOUNT_WRITER,       /* waiting for whoever writes to it */
    ACCOUNT_DECODING,     /* decompressing */
    ACCOUNT_LINK,         /* copying to the GPU */
    ACCOUNT_GPU,          /* the kernel there */
    ACCOUNT_MEMORY,       /* reading mapped bytes into the CPU's kernel */
    ACCOUNT_CPU,          /* the CPU's kernel, on bytes in a cache */
    ACCOUNT_CAUSES
};

struct account_limiter {
    enum account_stage stage;
    enum account_cause cause;
    unsigned units; /* threads, or GPUs, that it ran on */
    double rate;    /* its bytes, GB/s, while it had bytes to bring */
};

/* Finds the stage that held the run back. False when the run was too short to tell. */
bool account_limiter(const struct account *a, struct account_limiter *limiter);

/* The time of the run, from the first read to the result. */
uint64_t account_time(const struct account *a);

/* Parts of 1: how much of the room for it a stage was busy. 0 when there was none. */
double account_busy(const struct account *a, enum account_stage stage);

/* GB/s. 0 when there was no time. */
double account_rate(uint64_t bytes, uint64_t time);

#endif
