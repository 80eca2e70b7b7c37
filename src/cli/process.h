/*
 * The state of the process: variables of the environment, its limits, and its heap. Nothing below
 * cli/ reads or changes them by itself.
 */
#ifndef GPUREDUCE_CLI_PROCESS_H
#define GPUREDUCE_CLI_PROCESS_H

#include "run/session_options.h"

/* Fills in what the environment says (GPUREDUCE_CPU, GPUREDUCE_CACHED, GPUREDUCE_DIRECT and
   CUDA_VISIBLE_DEVICES), and the functions that change the process. */
void process_settings(struct session_options *options);

/* Allows for so many open files, as far as the hard limit does. */
void process_allow_files(uint64_t files);

#endif
