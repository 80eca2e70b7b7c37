/*
 * The record of the limits: a file in the user's cache directory, from which gpureduce(1) knows
 * them (profile/machine_limits.h).
 *
 * Functions that fail have printed why.
 */
#ifndef GPUREDUCE_BENCH_LIMITS_RECORD_H
#define GPUREDUCE_BENCH_LIMITS_RECORD_H

#include <stdbool.h>

#include "bench/common/table.h"

/* Whether the record can be written; ask before making it takes minutes. */
bool limits_record_possible(void);

/* Writes the table to a new file, which then replaces the old record as a whole, and says where it
   is. */
void limits_record_save(const struct table *t);

#endif
