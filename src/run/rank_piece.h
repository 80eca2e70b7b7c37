/*
 * The knowledge of one of several processes, or of all, of an input or an array: its partial
 * result, and the figures of reports. Plain data without pointers, to be sent between processes of
 * one build on machines of one kind.
 */
#ifndef GPUREDUCE_RUN_RANK_PIECE_H
#define GPUREDUCE_RUN_RANK_PIECE_H

#include <stdbool.h>
#include <stdint.h>

#include "run/reduction.h"
#include "run/session_options.h"

/* Room for the name of an array. */
#define RANK_PIECE_NAME_MAX 512

/* Room for an error; a longer one is cut. */
#define RANK_PIECE_ERROR_MAX 256

struct rank_piece {
    bool known; /* there is a part of it; otherwise nothing else means anything */
    bool big_endian, compressed;
    bool unreadable; /* as reduction->type_name */
    enum error_kind error;
    enum advice_kind advice;
    char error_text[RANK_PIECE_ERROR_MAX],
        type_name[CONTAINER_TYPE_MAX]; /* as in struct reduction */
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

/* Sets *reduction to all that is known, and to the results; its texts lie in *p. */
void rank_piece_finish(const struct rank_piece *p, const struct session_options *options,
                       struct reduction *reduction);

#endif
