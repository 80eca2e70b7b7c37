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

bool cuda_room_grow(struct cuda_room *room, size_t bytes, struct error *error)
{
    if (bytes <= room->bytes)
        return true;
    cuda_room_free(room);
    if (!cuda_guest_check(cudaMalloc((void **)&room->memory, bytes), "device memory", error))
        return false;
    room->bytes = bytes;
    return true;
}

void cuda_room_free(struct cuda_room *room)
{
    (void)cudaFree(room->memory);
    *room = (struct cuda_room){.memory = NULL};
}
