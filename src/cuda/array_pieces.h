/*
 * Comparisons of elements that lie in device memory of the caller, as array.h reduces them: copies of
 * them, and the pieces in which two arrays differ.
 *
 * A kernel compares the bits of both arrays, at the rate of the memory, and copies the pieces that
 * differ into a row. Only these go to the host, in any order. The sums of all other pieces are those
 * of one array less those of its pieces that differ; both come from the kernels that reduce.
 *
 * A comparer keeps memory from one call to the next: on the device at most 2 x 64 MiB for pieces, and
 * 2 x 64 MiB for arrays that are not in a row; of the host a few megabytes. In a build without CUDA
 * nothing can be compared.
 */
#ifndef GPUREDUCE_CUDA_ARRAY_PIECES_H
#define GPUREDUCE_CUDA_ARRAY_PIECES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/error.h"
#include "core/partial.h"
#include "cuda/array_tallies.h"
#include "cuda/pieces.h"

struct cuda_comparer;

/* Pieces for which there is room on the device. */
struct cuda_comparer_tuning {
    uint64_t room;
};
extern const struct cuda_comparer_tuning cuda_comparer_shipped;

/* NULL without memory. */
struct cuda_comparer *cuda_comparer_open(const struct cuda_comparer_tuning *tuning);

/* Frees all memory. NULL is allowed. */
void cuda_comparer_close(struct cuda_comparer *comparer);

/* Waits for the work on the elements' stream, and sets *device to the device that they are on. */
bool cuda_array_await(const struct cuda_array_elements *elements, int *device, struct error *error);

/* Copies `bytes` bytes, at most CUDA_FETCH_BYTES, of elements from number `first` on
   to memory of the host. cuda_array_await has set their device. Any thread. */
bool cuda_array_fetch(struct cuda_comparer *comparer, const struct cuda_array_elements *elements,
                      uint64_t first, size_t bytes, void *to, struct error *error);

/* Copies all elements, in C order, to memory of the host that *data is then, until the next copy. Waits for
   their stream. One thread at a time. */
bool cuda_array_copy(struct cuda_comparer *comparer, const struct cuda_array_elements *elements,
                     const void **data, struct error *error);

/* Begins with two arrays of one type, order of bytes, size and device, which cuda_array_await has set.
   Both must remain until the last piece. `wants` has partial_want bits for cuda_array_sums. */
void cuda_array_begin_pieces(struct cuda_comparer *comparer,
                             const struct cuda_array_elements sides[2], unsigned wants);

/* Whether there are pieces that cuda_array_next_pieces has not given yet. */
bool cuda_array_has_pieces(struct cuda_comparer *comparer, bool *any, struct error *error);

/* Copies pieces that differ: *count, 0 when there are no more. Any thread. */
bool cuda_array_next_pieces(struct cuda_comparer *comparer, struct cuda_pieces *pieces,
                            size_t *count, struct error *error);

/* Merges the partial result of the first array into *all, and that of its pieces that differ, what is
   beyond the end with them, into *differing. After all pieces. */
bool cuda_array_sums(struct cuda_comparer *comparer, struct partial *all, struct partial *differing,
                     struct error *error);

#endif
