/*
 * Work on the devices of a process that uses them, too: the current device remains, and streams that
 * others capture are not disturbed.
 */
#ifndef GPUREDUCE_CUDA_GUEST_H
#define GPUREDUCE_CUDA_GUEST_H

#include <cuda_runtime_api.h>
#include <stdbool.h>

#include "core/error.h"
#include "sys/align.h"

/* Kernels read 16 bytes at a time, except for a few elements at the end. */
#define CUDA_ALIGNMENT 16

/* Bytes of the copies of elements that kernels cannot read where they are: the cache of a GPU holds
   them. */
#define CUDA_STAGE_BYTES (16 * MIB)

/* The state of a thread that a call changes, as it was before. */
struct cuda_guest {
    int device; /* negative: it was not changed */
    enum cudaStreamCaptureMode mode;
};

/* Whether a call succeeded; if not, *error says what was done, and why that failed. */
bool cuda_guest_check(cudaError_t result, const char *what, struct error *error);

/* Makes a device current. Until cuda_guest_leave, captures of other streams forbid nothing. */
bool cuda_guest_enter(struct cuda_guest *guest, int device, struct error *error);

/* Restores the state, even if cuda_guest_enter failed. */
void cuda_guest_leave(struct cuda_guest *guest);

/* Finds the device that has the memory. *device is not changed if that is managed, unless it is
   negative: it becomes the current one. */
bool cuda_guest_find(int *device, const void *data, struct error *error);

/* Device memory that grows. */
struct cuda_room {
    unsigned char *memory; /* NULL if there is none */
    size_t bytes;
};

/* Ensures that there is memory of so many bytes on the current device; what was in it is lost where
   there was less. */
bool cuda_room_grow(struct cuda_room *room, size_t bytes, struct error *error);

/* Frees the memory, once its device is idle. */
void cuda_room_free(struct cuda_room *room);

#endif
