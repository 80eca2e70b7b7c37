/*
 * gpureduce-bench limits: the command.
 *
 *     limits.c          the command: options, and what is measured in which order; memory, the
 *                       level-2 cache and the exact kernel; files, cached and not; and where the
 *                       result is saved
 *     limits_zstd.c     decoding
 *     limits_device.c   the GPU; absent.c stands for it in a build without CUDA
 *     limits_kernels.cu the kernel that this needs
 *     limits_read.c     reading memory
 *     limits_measure.c  one measurement, and the table
 *
 * The first calls the others; of these, all that measure call limits_measure.c. Everything runs on
 * one thread, which starts others for a measurement and waits for them.
 */
#ifndef GPUREDUCE_BENCH_LIMITS_H
#define GPUREDUCE_BENCH_LIMITS_H

#include "cli/arguments.h"

/* The options of limits. */
extern const struct arguments limits_arguments;

/* Runs the command; argv[0] is its name. Errors have been printed, and have set the exit status,
   when it returns; all threads that it started have ended. */
void bench_limits(int argc, char **argv);

#endif
