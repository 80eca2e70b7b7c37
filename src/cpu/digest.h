/*
 * Digests on the CPU: the sum of a worker (core/digest.h), over the places that elements of chunks
 * have in C order. It belongs to one thread.
 */
#ifndef GPUREDUCE_CPU_DIGEST_H
#define GPUREDUCE_CPU_DIGEST_H

#include "core/chunk.h"
#include "core/digest.h"
#include "cpu/kernel.h"
#include "engine/engine.h"

struct cpu_digest;

/* Makes a digest of no elements of a type, of an array in Fortran order if `columns` is not NULL,
   which must remain as long. `alone`: no other kernel takes the elements, so that it has to tell
   which are finite. `kept`: one to use again; NULL: a new one. NULL without memory. */
struct cpu_digest *cpu_digest_open(struct cpu_digest *kept, const struct cpu_kernels *kernels,
                                   enum element_type type, const struct engine_columns *columns,
                                   bool alone);

/* Frees a digest. NULL is allowed. */
void cpu_digest_close(struct cpu_digest *d);

/* Adds `count` elements at `data`, in this machine's byte order. They are those of the chunk from
   its index `index` on. */
void cpu_digest_take(struct cpu_digest *d, const unsigned char *data, size_t count, uint64_t index,
                     const struct chunk *chunk);

/* Whether the more elements it is given together the faster they are added: neighbours in C order
   are far apart. */
bool cpu_digest_takes_chunks(const struct cpu_digest *d);

/* Adds all elements of a chunk, which are as the one at `element`. */
void cpu_digest_take_same(struct cpu_digest *d, const unsigned char *element,
                          const struct chunk *chunk);

/* Whether all elements are finite numbers that were added since the last call, of a digest that is
   alone. */
bool cpu_digest_was_finite(struct cpu_digest *d);

/* The sum so far; more may be added. */
struct digest cpu_digest_find(const struct cpu_digest *d);

#endif
