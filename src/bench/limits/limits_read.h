/*
 * Reading memory: all bytes go into a register, and nothing else is done with them.
 *
 * How fast that is depends on the way: how many streams are read side by side, how far apart they
 * are, how far ahead cache lines are prefetched, and how wide the vectors are. Which way is the
 * fastest depends on the processor, on the number of threads, and on whether the bytes are in
 * memory or in a cache. So a measurement tries all ways, and takes the fastest.
 */
#ifndef GPUREDUCE_BENCH_LIMITS_READ_H
#define GPUREDUCE_BENCH_LIMITS_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cpu/kernel.h"

/* Reads `size` bytes, which begin at a multiple of 8. The last size % 64 bytes are left out.
   Returns all words of 64 bits, XORed. Any thread may call it. */
typedef uint64_t limits_read_function(const unsigned char *data, size_t size);

/* A way to read. */
struct limits_way {
    limits_read_function *read;
    unsigned vector;  /* the bytes of one load */
    unsigned streams; /* read side by side */
    size_t apart;     /* bytes from one stream to the next */
    size_t ahead;     /* bytes from what is read to what is prefetched; 0 for no prefetching */
    size_t farther;   /* bytes ahead that are prefetched into the level-2 cache; 0 for none */
    bool once;        /* prefetched as what is needed only once (a nontemporal hint) */
};

/* Reads about so many bytes by a function, and returns the rate; below 0 on failure. */
typedef double limits_read_trial(void *argument, limits_read_function *read, uint64_t bytes);

/* Tries all ways whose vectors the instruction set of the kernels has, first with `bytes` bytes
   each. Round by round, half of them are tried with twice as many bytes, until one is left, the
   fastest. NULL if a trial failed. */
const struct limits_way *limits_read_fastest(const struct cpu_kernels *kernels,
                                             limits_read_trial *trial, void *argument,
                                             uint64_t bytes);

/* Room for what limits_read_describe writes. */
#define LIMITS_WAY_MAX 256

/* Writes a way in words: "8 streams 4 KiB apart, prefetched 36 KiB ahead, loads of 64 bytes". */
void limits_read_describe(char text[LIMITS_WAY_MAX], const struct limits_way *way);

#endif
