/*
 * The options about partial results: the value of --shard, and which of the others go with
 * --partial and --merge.
 */
#ifndef GPUREDUCE_PARTIAL_OPTIONS_H
#define GPUREDUCE_PARTIAL_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "cli/arguments.h"

struct options;

/* The word that --shard takes. */
extern const char *const option_shard_words[];

/* Reads the value of --shard: I/N, or auto for what the environment says. */
bool option_parse_shard(const struct arguments *a, const struct argument *x, const char *text,
                        void *target);

/* Leaves quantiles out where they may be, if partial results are asked for. False, after a message,
   where there are others. */
bool partial_settle(const struct arguments *a, struct options *options);

/* Whether the options go with each other, and with the number of files. A message says which do
   not. */
bool partial_goes_with(const struct arguments *a, const struct options *options);

/* Leaves only those files that the shard has a part of, and notes which part. The files are on the
   heap. False on failure, which is printed. */
bool partial_choose_shard(struct options *options);

#endif
