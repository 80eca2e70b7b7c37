/*
 * bench/limits/limits_read.h: every way to read reads all bytes, and the search finds the fastest.
 */
#include "config.h"

#include "bench/limits/limits_read.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/tap.h"
#include "sys/align.h"

/* Two blocks of the ways whose streams are the farthest apart, a part of a block, and less than a
   cache line. */
#define BYTES (2 * MIB + 37 * KIB + 64 + 24)
#define FUNCTIONS_MAX 256

/* The trials of a search, in order of the first trial. */
struct log {
    limits_read_function *functions[FUNCTIONS_MAX];
    size_t count, trials;
    uint64_t bytes;      /* of all trials */
    size_t fastest;      /* the number of the one that is made to be the fastest */
    size_t fails;        /* the number of the trial that fails; SIZE_MAX for none */
    uint64_t first_size; /* of the first trial */
};

/* Rates by the number of a function: the fastest one has the highest. */
static double trial(void *argument, limits_read_function *read, uint64_t bytes)
{
    struct log *log = argument;
    size_t i = 0;

    if (log->trials++ == log->fails)
        return -1;
    log->bytes += bytes;
    if (!log->first_size)
        log->first_size = bytes;
    while (i < log->count && log->functions[i] != read)
        i++;
    if (i == FUNCTIONS_MAX)
        return -1;
    if (i == log->count)
        log->functions[log->count++] = read;
    return i == log->fastest ? 1000 : 1 + (double)(i * 7 % 13);
}

static uint64_t fold(const unsigned char *data, size_t size)
{
    uint64_t all = 0, word;

    for (size_t i = 0; i < size / 64 * 64; i += sizeof word) {
        memcpy(&word, data + i, sizeof word);
        all ^= word;
    }
    return all;
}

static void check_pass(const struct cpu_kernels *kernels, const struct log *log,
                       const unsigned char *data)
{
    static const size_t sizes[] = {0, 63, 64, 4096, 8 * KIB + 64, 32 * KIB, 512 * KIB, BYTES};
    size_t wrong = 0;

    for (size_t i = 0; i < log->count; i++)
        for (size_t j = 0; j < sizeof sizes / sizeof *sizes; j++)
            wrong += log->functions[i](data, sizes[j]) != fold(data, sizes[j]);
    tap_ok(wrong == 0, "%s: every way reads all bytes", kernels->name);
}

static void check_search(const struct cpu_kernels *kernels, const unsigned char *data)
{
    const unsigned width = strncmp(kernels->name, "avx512", 6) == 0 ? 64
                           : strcmp(kernels->name, "avx2") == 0     ? 32
                                                                    : 16;
    struct log all = {.fails = SIZE_MAX};
    size_t wrong = 0, halves = 0;
    bool widest = false, narrower = true;

    limits_read_fastest(kernels, trial, &all, MIB);
    tap_ok(all.count >= 10, "%s: there are many ways", kernels->name);
    check_pass(kernels, &all, data);
    for (size_t i = 0; i < all.count; i++) {
        struct log log = {.fastest = i, .fails = SIZE_MAX};
        const struct limits_way *way = limits_read_fastest(kernels, trial, &log, MIB);
        char text[LIMITS_WAY_MAX], load[32];

        wrong += !way || way->read != log.functions[i];
        if (!way)
            continue;
        limits_read_describe(text, way);
        snprintf(load, sizeof load, "loads of %u bytes", way->vector);
        wrong += !strstr(text, load) || !strstr(text, "stream");
        widest = widest || way->vector == width;
        narrower = narrower && way->vector <= width;
    }
    tap_ok(wrong == 0, "%s: the search finds the fastest, and describes it", kernels->name);
    tap_ok(widest && narrower, "%s: with all vectors of the instruction set, and no wider ones",
           kernels->name);
    for (size_t n = all.count; n > 1; n = (n + 1) / 2)
        halves += n;
    tap_ok(all.trials == halves && all.first_size == MIB && all.bytes >= all.count * 2 * MIB,
           "%s: each round tries half as many, with more bytes", kernels->name);
    for (size_t i = 0; i < halves; i += 7) {
        struct log log = {.fails = i};

        if (limits_read_fastest(kernels, trial, &log, MIB))
            wrong++;
    }
    tap_ok(wrong == 0, "%s: a trial that fails ends the search", kernels->name);
}

int main(void)
{
    unsigned char *data = malloc(BYTES);

    if (!data)
        abort();
    for (size_t i = 0; i < BYTES; i++)
        data[i] = (unsigned char)(i * UINT64_C(0x9e3779b97f4a7c15) >> 56);
    for (size_t i = 0; i < cpu_kernels_count; i++)
        if (cpu_kernels_all[i]->usable())
            check_search(cpu_kernels_all[i], data);
    free(data);
    return tap_done();
}
