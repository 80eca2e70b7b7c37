/*
 * Pieces of two arrays that are compared on a device (array_pieces.h).
 */
#ifndef GPUREDUCE_CUDA_PIECES_H
#define GPUREDUCE_CUDA_PIECES_H

#include <stddef.h>
#include <stdint.h>

/* Bytes of a piece, and pieces that are copied to the host at a time, at most. */
#define CUDA_PIECE_BYTES 128
#define CUDA_PIECES_MAX 2048

/* Bytes of elements that are copied at a time, at most. */
#define CUDA_FETCH_BYTES ((size_t)CUDA_PIECES_MAX * CUDA_PIECE_BYTES)

/* Room for pieces in memory of the host. Piece number k begins with element number k times as many as
   a piece has. The last one may have room beyond the end, which is zero on both sides. */
struct cuda_pieces {
    uint64_t numbers[CUDA_PIECES_MAX];
    void *data[2]; /* of both sides, CUDA_FETCH_BYTES each */
};

#endif
