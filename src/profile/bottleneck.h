/*
 * The bottleneck of a run: the stage with the highest utilisation, what it was about that stage
 * that was too slow, and the limit recorded for this machine that it is compared with. Pure
 * functions over a profile.
 */
#ifndef GPUREDUCE_BOTTLENECK_H
#define GPUREDUCE_BOTTLENECK_H

#include <stdbool.h>

#include "profile/machine_limits.h"
#include "profile/profile.h"

/* The cause of a bottleneck: what was too slow. */
enum bottleneck_cause {
    BOTTLENECK_STORAGE,      /* reading what was not cached */
    BOTTLENECK_CACHED_COPY,  /* copying from the page cache */
    BOTTLENECK_CACHED_PAGES, /* making the mapped page cache present */
    BOTTLENECK_PIPE,         /* reading a pipe */
    BOTTLENECK_WRITER,       /* waiting for whoever writes to it */
    BOTTLENECK_DECODING,     /* decompressing */
    BOTTLENECK_LINK,         /* copying to the GPU */
    BOTTLENECK_GPU_DECODE,   /* decompressing there */
    BOTTLENECK_GPU,          /* the kernel there */
    BOTTLENECK_CHECKSUM,     /* hashing, of one frame */
    BOTTLENECK_CHECKSUMS,    /* hashing, of many */
    BOTTLENECK_MEMORY,       /* reading mapped bytes into the CPU's kernel */
    BOTTLENECK_CPU,          /* the CPU's kernel, on bytes in a cache */
    BOTTLENECK_CAUSES
};

struct bottleneck {
    enum profile_stage stage;
    enum bottleneck_cause cause;
    unsigned units; /* threads, or GPUs, that the stage ran on */
    double rate;    /* GB/s of the stage while it had bytes to bring */
};

/* Finds the bottleneck. False when the run was too short to tell, less than a millisecond. */
bool bottleneck_find(const struct profile *p, struct bottleneck *b);

/* The cause in a few words. */
const char *bottleneck_text(const struct bottleneck *b);

/* The recorded limit that the bottleneck's rate is compared with, GB/s; 0 when there is none.
   `gpus` describes the GPUs of the run and is NULL when none had a part: the limits of another GPU
   say nothing about them. */
double bottleneck_limit(const struct bottleneck *b, const struct machine *m, const char *gpus);

/* Room for what bottleneck_compare writes. */
#define BOTTLENECK_TEXT_MAX 100

/* Writes which part of `limit`, which is above 0, the bottleneck's rate is. Returns `text`. */
const char *bottleneck_compare(char text[BOTTLENECK_TEXT_MAX], const struct bottleneck *b,
                               double limit);

#endif
