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

/* Bytes of the copies of elements that kernels cannot read where they are, at a time. */
#define CUDA_STAGE_BYTES (64 * MIB)

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

/* Memory that grows, of a site. All is zero before it is used, and it may not be moved after. */
struct cuda_room {
    unsigned char *memory; /* NULL if there is none */
    size_t bytes;
    bool pinned;            /* memory of the host; else of the device */
    unsigned char *seen;    /* that memory as the device sees it */
    bool listed;            /* the site has it in its list, in which the next one is: */
    struct cuda_room *next; /* NULL in the last one */
};

/* A device on which the calls of an object work, and all that it keeps there from one to the next. All
   is zero before the first call. One thread at a time uses it. */
struct cuda_site {
    bool open; /* a device was chosen, by the last call: */
    int device;
    int multiprocessors, shared; /* bytes of shared memory that a block may ask for */
    struct cuda_room *rooms;     /* that may have memory */
    cudaStream_t stream;         /* NULL: there is none, like the event */
    cudaEvent_t event;
    struct cuda_guest guest; /* of the call that is being made */
};

/* Begins a call on a device: makes it current, until cuda_site_leave, which is to follow after an error,
   too. If the last call was on another one, closes the site first. */
bool cuda_site_enter(struct cuda_site *site, int device, struct error *error);
void cuda_site_leave(struct cuda_site *site);

/* Opens a site that is not open on a device, which is current. */
bool cuda_site_open(struct cuda_site *site, int device, struct error *error);

/* Ensures that there is a stream, or an event without times. During a call. */
bool cuda_site_stream(struct cuda_site *site, struct error *error);
bool cuda_site_event(struct cuda_site *site, struct error *error);

/* Frees all that the site has, once its device is idle. Not during a call. */
void cuda_site_close(struct cuda_site *site);

/* Ensures that a room has so many bytes, during a call; what was in it is lost where there was less. */
bool cuda_room_grow(struct cuda_site *site, struct cuda_room *room, size_t bytes,
                    struct error *error);

/* Frees what a room has, during a call, once the device is idle. */
void cuda_room_free(struct cuda_room *room);

/* Ensures that with pinned memory. A room has only one kind. */
bool cuda_room_pin(struct cuda_site *site, struct cuda_room *room, size_t bytes,
                   struct error *error);

#endif
