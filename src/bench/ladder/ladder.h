/*
 * gpureduce-bench ladder: the command.
 */
#ifndef GPUREDUCE_BENCH_LADDER_H
#define GPUREDUCE_BENCH_LADDER_H

/* Runs the command; argv[0] is its name. Errors have been printed, and have set the exit status,
   when it returns; all threads that it started have ended. Without CUDA, absent.c has one that only
   reports an error. */
void bench_ladder(int argc, char **argv);

#endif
