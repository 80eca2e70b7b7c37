#include "config.h"

#include "cuda/receipt.h"

/* Looks at the host's memory before the runtime is asked whether the device has failed, and between
   that: about 50 and 2 microseconds. */
#define LOOKS_FIRST 20000
#define LOOKS_BETWEEN 1000

bool cuda_receipt_open(struct cuda_receipt *r, struct cuda_site *site, struct error *error)
{
    if (!cuda_room_pin(site, &r->room, sizeof *r->sent, error) || !cuda_site_event(site, error))
        return false;
    r->sent = (void *)r->room.memory;
    r->sent->number = 0;
    r->last = site->event;
    return true;
}

bool cuda_receipt_launch(struct cuda_receipt *r, struct cuda_publish job, cudaStream_t stream,
                         struct error *error)
{
    job.to = (void *)r->room.seen;
    job.number = r->launches + 1;
    if (!cuda_guest_check(cuda_publish(&job, stream), "starting a kernel", error))
        return false;
    r->launches++;
    return true;
}

bool cuda_receipt_expect(struct cuda_receipt *r, cudaStream_t stream, struct error *error)
{
    r->pending = true;
    return cuda_guest_check(cudaEventRecord(r->last, stream), "recording an event", error);
}

static bool has_arrived(const struct cuda_receipt *r)
{
    return __atomic_load_n(&r->sent->number, __ATOMIC_ACQUIRE) == r->launches;
}

bool cuda_receipt_await(struct cuda_receipt *r, struct error *error)
{
    cudaError_t state = cudaErrorNotReady;

    for (unsigned looks = 0; r->pending && !has_arrived(r); looks++)
        if (looks >= LOOKS_FIRST) {
            looks -= LOOKS_BETWEEN;
            if (state == cudaSuccess)
                return error_set(error, ERROR_INTERNAL, "a kernel ended without a result");
            state = cudaEventQuery(r->last);
            if (state != cudaErrorNotReady && !cuda_guest_check(state, "reducing", error))
                return false;
        }
    r->pending = false;
    return true;
}
