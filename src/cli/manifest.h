/*
 * Manifests: records of the digests of arrays, as --tsv --op=digest prints them. Called by the main
 * thread alone.
 */
#ifndef GPUREDUCE_CLI_MANIFEST_H
#define GPUREDUCE_CLI_MANIFEST_H

#include "cli/options.h"
#include "cli/record.h"

/* Reduces the files of the options, or those of the record if there are none, and prints what became
   of each array of the record, and which ones are new. Raises the exit status if one has changed or
   is missing. */
void manifest_check(struct options *options, const struct record *record);

#endif
