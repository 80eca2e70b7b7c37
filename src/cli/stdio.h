/*
 * The standard streams of a program: opened safely, flushed where a failure matters, closed and
 * checked at the end. They belong to the main thread.
 */
#ifndef GPUREDUCE_STDIO_H
#define GPUREDUCE_STDIO_H

#include <stdbool.h>
#include <stddef.h>

/* A program may be started with a standard descriptor closed; the next file it opens would then
   take its place. Such a descriptor stands for the root directory without access to it, so that using
   it, or opening /dev/stdin and /dev/stdout, still fails. And standard output gets a large buffer, so
   that the reason of a failure is not lost. To be called before any file is opened, or anything
   printed. */
void stdio_open(void);

/* Flushes standard output. False once that, or an earlier call, has failed; stdio_close prints
   why. */
bool stdio_flush(void);

/* Writes text, of any length, to standard output. A failure is as that of stdio_flush. */
void stdio_write(const char *text, size_t length);

/* Flushes and closes standard output. If that failed, now or before, prints why and raises the exit
   status. */
void stdio_close(void);

#endif
