/*
 * --version: what was built, and what was built in.
 */
#ifndef GPUREDUCE_VERSION_H
#define GPUREDUCE_VERSION_H

/* Prints the first word of `program` with the version, as a line; and below it CUDA and its GPU
   architectures, the CPU's instruction sets, libzstd and hardening, a line each. */
void version_print(const char *program);

#endif
