/*
 * Copying to memory that nobody here reads again soon: a device does, or another thread much later.
 */
#ifndef GPUREDUCE_STREAM_COPY_H
#define GPUREDUCE_STREAM_COPY_H

#include <stddef.h>

/* Copies `size` bytes, as memcpy does, past the caches where the machine has instructions for it:
   what is written is not read from memory first, and displaces nothing. Other threads that are told
   of it by a mutex or an atomic store see all of it. */
void stream_copy(void *to, const void *from, size_t size);

#endif
