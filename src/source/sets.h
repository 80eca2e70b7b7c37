/*
 * Sets of files: what a directory of safetensors or GGUF files stands for, or the index of
 * safetensors (*.safetensors.index.json), which is how a model larger than one file is stored.
 */
#ifndef GPUREDUCE_SETS_H
#define GPUREDUCE_SETS_H

#include "source/source.h"

/* A set. It belongs to one thread. */
struct source_set {
    char **paths; /* of the files, each on the heap */
    size_t count, room;
    struct source_index *index; /* the format that they should have, and the arrays that they
                                         should hold; NULL: unknown */
    const struct log *log;      /* of warnings, set by the caller; NULL: they are dropped */
};

/* Adds the files that `path` stands for: those that an index names, in the order of their names, or
   else all *.safetensors of a directory, or all *.gguf. A directory without any, and any other
   path, stands for itself; so does everything where the format is another one. On failure nothing
   is added, and false is returned, with the reason in *error: *about is the path that it is about,
   valid until source_set_free. */
bool source_set_add(struct source_set *set, const char *path, enum source_format format,
                    struct error *error, const char **about);

/* Warns of models of which some parts are in the set, and others are not, once of each. */
void source_set_check(const struct source_set *set);

void source_set_free(struct source_set *set);

#endif
