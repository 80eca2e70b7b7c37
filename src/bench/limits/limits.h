/*
 * gpureduce-bench limits: what its parts share.
 *
 *     limits.c         the command: options, the table, what all measurements have in common
 *     limits_cpu.c     what is measured of the CPU
 *     limits_zstd.c    a decoder for that; with source/zstd the only user of zstd.h
 *     limits_file.c    what is measured of files
 *     limits_device.c  what is measured of the GPU; absent.c stands for it in a build without CUDA
 *     limits.cu        the kernel that this needs, behind limits_kernels.h
 *
 * Everything here runs on one thread, which starts others for a measurement and waits for them.
 */
#ifndef GPUREDUCE_BENCH_LIMITS_H
#define GPUREDUCE_BENCH_LIMITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bench/common/table.h"
#include "engine/cpu/kernel.h"

/* The least data to measure with, in memory and of a file. */
#define LIMITS_BYTES_MIN ((uint64_t)1 << 20)

struct limits {
    struct table *table;
    const struct cpu_kernels *kernels; /* and the instruction set to read with */
    unsigned threads;                  /* the most */
    unsigned readers;                  /* the most, of a file that is not cached */
    unsigned repeat; /* timed samples of a measurement, of which the median counts */
    bool progress;   /* show on standard error what is being measured */
    uint64_t bytes;  /* how much data to read, about: the size of `data` */
    /* `bytes` bytes of normally distributed f32, not a page of which is shared or zero. */
    const unsigned char *data;
    bool only_printed; /* standard output alone has what is measured */
    bool stopped;      /* that failed: there is nothing to measure for any more */
    double peak;       /* GB/s of the GPU's memory, by its clock and width; 0 when not known */
};

/* One measurement: the row it becomes. */
struct limit {
    const char *group;
    const char *name; /* a word */
    const char *what; /* a description, a line */
    unsigned threads; /* 0 where there is nothing to count */
    uint64_t piece;   /* bytes of a call, a copy or a launch; 0 likewise */
    uint64_t bytes;   /* that one sample moves */
    double peak;      /* GB/s to compare with; 0 for none */
    unsigned samples; /* 0: as many as the command was asked for */
};

/* Does what is to be measured once, and returns its seconds; below 0 on failure, which has been
   said. */
typedef double limits_sample(void *argument);

/* Takes one sample to warm up and then those that count, and makes a row of them. False when a
   sample failed, and there is no row then; or when there is nothing to measure for any more. */
bool limits_measure(struct limits *l, const struct limit *limit, limits_sample *sample,
                    void *argument);

/* Says on standard error, where that is asked for, what takes time now; NULL for nothing. */
void limits_show(const struct limits *l, const char *text);

/*
 * The CPU. Errors have been said.
 */

/* Memory, the level-2 cache, and the exact kernel on both. */
void limits_measure_cpu(struct limits *l);

/* Decoding. */
void limits_measure_zstd(struct limits *l);

/* Brings bytes into registers and does nothing else with them. What is less than 128 bytes at the
   end of `size` is left out. */
typedef void limits_read_function(const unsigned char *data, size_t size);

/* The one for the instruction set of the kernels; for data in a cache, or in memory. */
limits_read_function *limits_choose_read(const struct cpu_kernels *kernels, bool cached);

/*
 * Files.
 */
struct limits_file {
    const char *path; /* NULL for a temporary one */
    int fd;
    uint64_t size; /* a multiple of pages, at least LIMITS_BYTES_MIN */
};

/* Opens the file that `path` names; fd is below 0 before. Warns of one that is small beside
   l->bytes. False when it will not do, which has been said. */
bool limits_file_open(const struct limits *l, struct limits_file *f);

/* Where temporary files go. */
const char *limits_temporary_directory(void);

/* Makes a file of l->bytes that has no name any more, so that it is known beforehand whether there
   is room for it. False on failure, which has been said. */
bool limits_file_make(const struct limits *l, struct limits_file *f);

/* Puts l->data into it, and writes them to the disk: to write them later would disturb what is
   measured. False on failure, which has been said. */
bool limits_file_fill(const struct limits *l, struct limits_file *f);

/* Reads the file, out of the page cache and not; errors have been said. l->bytes of it at most are
   read cached. The file must have a path to be measured cold, which puts it out of the cache. */
void limits_measure_cached(struct limits *l, const struct limits_file *f);
void limits_measure_cold(struct limits *l, const struct limits_file *f);

/*
 * zstd. A frame is compressed once, and decoded by any thread that has a decoder of its own.
 */
struct limits_decoder;

/* Compresses `size` bytes as one frame, as zstd(1) does by default. The frame is to be freed;
 *frame_size is its length. NULL on failure, which has been said. */
unsigned char *limits_zstd_compress(const unsigned char *data, size_t size, size_t *frame_size);

/* NULL without memory, which has been said. */
struct limits_decoder *limits_decoder_open(void);
void limits_decoder_close(struct limits_decoder *d);

/* Decodes a frame to `out`, which has room for `size` bytes. False unless it holds just as many. */
bool limits_decode(struct limits_decoder *d, unsigned char *out, size_t size,
                   const unsigned char *frame, size_t frame_size);

/*
 * The GPU.
 */
struct limits_device;

/* Finds the first GPU and gives the table its facts; the peak goes to l. NULL without a GPU that
   can be used; the table then says why. */
struct limits_device *limits_device_open(struct limits *l);

/* Measures it. An error has been said. */
void limits_device_measure(struct limits *l, struct limits_device *d);
void limits_device_close(struct limits_device *d);

#endif
