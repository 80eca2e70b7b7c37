/*
 * Results of inputs that several processes have read, each a part of them. The processes send each
 * other pieces, and one of them computes the results.
 */
#ifndef GPUREDUCE_RUN_RANKS_H
#define GPUREDUCE_RUN_RANKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "run/arrays.h"
#include "run/reduction.h"
#include "run/session_options.h"

/* Room for the name of an array. */
#define RANK_PIECE_NAME_MAX 512

/* The knowledge of one of several processes, or of all, of an input or an array: its partial result,
   and the figures of reports. Plain data without pointers, to be sent between processes of one build
   on machines of one kind. */
struct rank_piece {
    bool known; /* there is a part of it; otherwise nothing else means anything */
    bool big_endian, compressed;
    bool unreadable; /* as reduction->type_name */
    struct error error;
    char type_name[CONTAINER_TYPE_MAX]; /* as in struct reduction */
    enum element_type type;
    struct missing missing;
    char array[RANK_PIECE_NAME_MAX]; /* empty for an input that is no container */
    char format[16];
    struct array_shape shape;
    struct scale scale;
    uint64_t data_offset;
    uint64_t elements, of, bytes, input_bytes;
    double seconds; /* of the process that took longest */
    struct partial partial;
};

/* Makes *p what nobody knows anything of: the neutral element of rank_piece_merge. */
void rank_piece_clear(struct rank_piece *p);

/* Takes the result of an input, or of an array, that is no container. False if its name is too
   long. */
bool rank_piece_set(struct rank_piece *p, const struct reduction *reduction);

/* Merges what another process knows: exact, in any order. */
void rank_piece_merge(struct rank_piece *p, const struct rank_piece *other);

/* The pieces of an input. */
struct ranks_input {
    bool container;
    size_t count; /* 1, or as many as the container has arrays that are to be reduced */
    const struct rank_piece *pieces;
};

/* The result of an input. */
struct ranks_result {
    struct reduction reduction;

    /* The arrays of a container as a source would describe them, and their results; NULL for other
       inputs. */
    struct source_info info;
    struct container_array *descriptions;
    struct source_pick *picks;
    struct arrays *arrays;
};

/* Computes the result of the input `path` from merged pieces, which must live as long as *result. The
   reduction has an error if the processes have counted other elements than there are. */
void ranks_finish(struct ranks_result *result, const struct ranks_input *input, const char *path,
                  const struct session_options *options);

/* Frees a result. */
void ranks_free(struct ranks_result *result);

#endif
