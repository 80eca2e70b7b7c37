/*
 * Operands that stand for several files: a directory of safetensors files, or the index of such
 * files (*.safetensors.index.json), which is how a model larger than one file is stored.
 */
#ifndef GPUREDUCE_OPERANDS_H
#define GPUREDUCE_OPERANDS_H

#include "cli/options.h"

/* Replaces such operands by the files they stand for: those that an index names, in the order of
   their names, or else all *.safetensors of a directory. A directory without any stays as it is. An
   operand that cannot be replaced is left out, and an error says why. With --diff nothing is
   replaced: each of the two is by itself. False, after an error, without memory, or where one of
   the files, or an index of them, is what --output or --plot would overwrite. */
bool operands_expand(struct options *options);

/* Frees what they were replaced by. */
void operands_free(struct options *options);

#endif
