/*
 * One measurement of gpureduce-bench limits, and the table in which it becomes a row.
 *
 * Functions that fail have printed why.
 */
#ifndef GPUREDUCE_BENCH_LIMITS_MEASURE_H
#define GPUREDUCE_BENCH_LIMITS_MEASURE_H

#include <stdbool.h>
#include <stdint.h>

#include "bench/common/table.h"
#include "bench/limits/limits_read.h"
#include "cpu/kernel.h"

/* The least data to measure with, in memory and of a file. */
#define LIMITS_BYTES_MIN ((uint64_t)1 << 20)

/* Shared by all measurements. */
struct limits {
    struct table *table;
    const struct cpu_kernels *kernels; /* also tells which instruction set to read with */
    unsigned threads;                  /* the most */
    unsigned readers;                  /* the most, of a file that is not cached */
    unsigned repeat;                   /* timed samples of a measurement */
    bool progress;                     /* show on standard error what is being measured */
    uint64_t bytes;                    /* about how much data to read; the size of `data` */
    const unsigned char *data;         /* normally distributed f32; no page is shared or zero */
    bool only_printed;                 /* the result goes to standard output alone */
    bool stopped; /* standard output failed, and only that was asked for: measure no more */
    double peak;  /* GB/s of the GPU's memory, by its clock and width; 0 when not known */
};

/* One measurement, as it stands in its row. */
struct limit {
    const char *group;
    const char *name; /* a word */
    const char *what; /* a description, a line */
    unsigned threads; /* 0 where there is nothing to count */
    uint64_t piece;   /* of a call, a copy or a launch, bytes; 0 where there is none */
    uint64_t bytes;   /* that one sample moves */
    double peak;      /* GB/s to compare with; 0 for none */
    unsigned samples; /* 0: as many as the command was asked for */
};

/* Does once what is to be measured, and returns its seconds; below 0 on failure. */
typedef double limits_sample(void *argument);

/* GB/s of so many bytes in so many seconds: at least a nanosecond, should the clock not have
   moved. */
double limits_rate(uint64_t bytes, double seconds);

/* Room for a description, and a way to read in words behind it. */
#define LIMITS_WHAT_MAX (64 + LIMITS_WAY_MAX)

/* Finds the fastest way to read, by trials that begin with `bytes` bytes each (limits_read.h), and
   writes "description: way" to `what`. NULL when a trial failed, or when l->stopped. */
limits_read_function *limits_choose_way(struct limits *l, limits_read_trial *trial, void *argument,
                                        uint64_t bytes, const char *description,
                                        char what[LIMITS_WHAT_MAX]);

/* Takes one sample to warm up and then those that count, and adds a row for them. Returns false
   when a sample failed, without a row, or when l->stopped. */
bool limits_measure(struct limits *l, const struct limit *limit, limits_sample *sample,
                    void *argument);

/* Shows on standard error, if that is asked for, what takes time now; NULL erases it. */
void limits_show(const struct limits *l, const char *text);

/* The table for the measurements; NULL without memory. */
struct table *limits_table_new(void);

/* Draws the median rates of the table to `path`, as table_plot does. */
bool limits_plot(const struct limits *l, const char *path);

#endif
