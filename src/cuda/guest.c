#include "config.h"

#include "cuda/guest.h"

#include "cuda/runtime/check.h"
#include "engine/engine.h"

bool cuda_guest_check(cudaError_t result, const char *what, struct error *error)
{
    char reason[ENGINE_REASON_MAX];

    if (cuda_check(result, what, reason))
        return true;
    return error_set(error,
                     result == cudaErrorMemoryAllocation ? ERROR_MEMORY
                     : result == cudaErrorNoDevice || result == cudaErrorInsufficientDriver
                         ? ERROR_NO_GPU
                         : ERROR_GPU,
                     "%s", reason);
}

bool cuda_guest_enter(struct cuda_guest *g, int device, struct error *error)
{
    int current;

    /* An error that an earlier call of the program left behind is not one of the next launch. */
    (void)cudaGetLastError();
    g->device = -1;
    g->mode = cudaStreamCaptureModeRelaxed;
    if (!cuda_guest_check(cudaThreadExchangeStreamCaptureMode(&g->mode), "asking the GPU", error) ||
        !cuda_guest_check(cudaGetDevice(&current), "asking the GPU", error))
        return false;
    if (current == device)
        return true;
    g->device = current;
    return cuda_guest_check(cudaSetDevice(device), "choosing the GPU", error);
}

void cuda_guest_leave(struct cuda_guest *g)
{
    if (g->device >= 0)
        (void)cudaSetDevice(g->device);
    (void)cudaThreadExchangeStreamCaptureMode(&g->mode);
}

bool cuda_guest_find(int *device, const void *data, struct error *error)
{
    struct cudaPointerAttributes attributes;

    if ((*device < 0 && !cuda_guest_check(cudaGetDevice(device), "looking for a GPU", error)) ||
        !cuda_guest_check(cudaPointerGetAttributes(&attributes, data), "asking about the elements",
                          error))
        return false;
    if (attributes.type == cudaMemoryTypeDevice)
        *device = attributes.device;
    else if (attributes.type != cudaMemoryTypeManaged)
        return error_set(error, ERROR_REQUEST, "the elements are not in memory of a CUDA device");
    return true;
}

bool cuda_site_open(struct cuda_site *s, int device, struct error *error)
{
    static const char *const asking = "asking the GPU";

    s->device = device;
    s->open = cuda_guest_check(cudaDeviceGetAttribute(&s->multiprocessors,
                                                      cudaDevAttrMultiProcessorCount, device),
                               asking, error) &&
              cuda_guest_check(cudaDeviceGetAttribute(
                                   &s->shared, cudaDevAttrMaxSharedMemoryPerBlockOptin, device),
                               asking, error);
    return s->open;
}

bool cuda_site_enter(struct cuda_site *s, int device, struct error *error)
{
    if (s->device != device)
        cuda_site_close(s);
    return cuda_guest_enter(&s->guest, device, error) &&
           (s->open || cuda_site_open(s, device, error));
}

void cuda_site_leave(struct cuda_site *s)
{
    cuda_guest_leave(&s->guest);
}

bool cuda_site_stream(struct cuda_site *s, struct error *error)
{
    return s->stream ||
           cuda_guest_check(cudaStreamCreateWithFlags(&s->stream, cudaStreamNonBlocking),
                            "creating a stream", error);
}

bool cuda_site_event(struct cuda_site *s, struct error *error)
{
    return s->event || cuda_guest_check(cudaEventCreateWithFlags(&s->event, cudaEventDisableTiming),
                                        "creating an event", error);
}

void cuda_room_free(struct cuda_room *room)
{
    if (room->memory && room->pinned)
        (void)cudaFreeHost(room->memory);
    else if (room->memory)
        (void)cudaFree(room->memory);
    room->memory = NULL;
    room->bytes = 0;
}

void cuda_site_close(struct cuda_site *s)
{
    struct error ignored = {.kind = ERROR_NONE};
    struct cuda_room *next;

    if (!s->open)
        return;
    (void)cuda_guest_enter(&s->guest, s->device, &ignored);
    for (struct cuda_room *room = s->rooms; room; room = next) {
        next = room->next;
        cuda_room_free(room);
        room->listed = false;
    }
    if (s->stream)
        (void)cudaStreamDestroy(s->stream);
    if (s->event)
        (void)cudaEventDestroy(s->event);
    cuda_guest_leave(&s->guest);
    *s = (struct cuda_site){.open = false};
}

/* Makes a room one of no memory, in the list of its site. */
static void clear(struct cuda_site *s, struct cuda_room *room)
{
    cuda_room_free(room);
    if (room->listed)
        return;
    room->listed = true;
    room->next = s->rooms;
    s->rooms = room;
}

bool cuda_room_grow(struct cuda_site *s, struct cuda_room *room, size_t bytes, struct error *error)
{
    if (bytes <= room->bytes)
        return true;
    clear(s, room);
    if (!cuda_guest_check(cudaMalloc((void **)&room->memory, bytes), "device memory", error))
        return false;
    room->bytes = bytes;
    return true;
}

bool cuda_room_pin(struct cuda_site *s, struct cuda_room *room, size_t bytes, struct error *error)
{
    static const char *const seen = "memory of the host that the GPU sees";

    if (bytes <= room->bytes)
        return true;
    clear(s, room);
    room->pinned = true;
    if (!cuda_guest_check(cudaHostAlloc((void **)&room->memory, bytes,
                                        cudaHostAllocMapped | cudaHostAllocPortable),
                          seen, error) ||
        !cuda_guest_check(cudaHostGetDevicePointer((void **)&room->seen, room->memory, 0), seen,
                          error))
        return false;
    room->bytes = bytes;
    return true;
}
