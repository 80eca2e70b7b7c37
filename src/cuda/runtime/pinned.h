/*
 * Pinned host memory, which copies to a GPU start from: an arena for the feeders or the decoders
 * that are expected, pieces of it or of their own for these, and windows of mapped files.
 *
 * The engine owns the arena. It is made by a thread of its own while the contexts are, since both
 * take long. Pieces are taken from it and given back by any thread. A piece and a window belong to
 * who has taken them.
 */
#ifndef GPUREDUCE_CUDA_PINNED_H
#define GPUREDUCE_CUDA_PINNED_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#include "engine/engine.h"
#include "sys/team.h"

struct pinned_arena {
    unsigned char *memory; /* NULL when there is none */
    size_t piece_size;     /* bytes */
    unsigned pieces;
    bool registered;   /* the CUDA runtime knows it: pieces can be had */
    struct team maker; /* the thread that makes it */
    pthread_mutex_t mutex;
    bool *used; /* of each piece, guarded by the mutex */
};

/* Begins to make an arena of `pieces` pieces of `piece_size` bytes, a multiple of the page size. */
void pinned_arena_begin(struct pinned_arena *arena, unsigned pieces, size_t piece_size);

/* Waits until the arena is made. Pins it if `keep` is true; if that fails, feeders make pieces of
   their own. Needs a context. */
void pinned_arena_finish(struct pinned_arena *arena, bool keep);

/* Frees an arena that was begun and finished. All pieces have been given back. */
void pinned_arena_close(struct pinned_arena *arena);

struct pinned_piece {
    unsigned char *memory; /* NULL when there is none */
    size_t size;           /* bytes */
    bool from_arena;
    bool registered; /* it is the piece's own, and the runtime knows it */
};

/* Pinned memory of `size` bytes, aligned to pages: from the arena if there is one and it has pieces
   of this size left, else of its own. False with a reason when there is none; then, too, it has to
   be closed. */
bool pinned_piece_open(struct pinned_piece *piece, struct pinned_arena *arena, size_t size,
                       char reason[ENGINE_REASON_MAX]);

/* Takes a piece that is all zero, too. */
void pinned_piece_close(struct pinned_piece *piece, struct pinned_arena *arena);

/* Pins the pages of a mapped file that hold `bytes` bytes at `data`, for reading. Returns what
   pinned_window_close takes. NULL where the driver or the file system refuses, or where another
   window has one of the pages: that is no failure. */
void *pinned_window_open(const void *data, size_t bytes);

/* Takes NULL, too. */
void pinned_window_close(void *window);

#endif
