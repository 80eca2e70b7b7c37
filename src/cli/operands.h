/*
 * Operands that stand for several files (source/sets.h).
 */
#ifndef GPUREDUCE_OPERANDS_H
#define GPUREDUCE_OPERANDS_H

#include "cli/options.h"

/* Replaces such operands by the files they stand for. An operand that cannot be replaced is left
   out, and an error says why. With --diff nothing is replaced: each of the two is by itself. False, after an error, without memory, or where one of
   the files, or an index of them, is what --output or --plot would overwrite. */
bool operands_expand(struct options *options);

/* Frees what they were replaced by. */
void operands_free(struct options *options);

#endif
