/*
 * Words that a stream hands to the host, which looks for them in its own memory: sooner than the
 * runtime tells that a stream has ended. One thread at a time uses a receipt.
 */
#ifndef GPUREDUCE_CUDA_RECEIPT_H
#define GPUREDUCE_CUDA_RECEIPT_H

#include <cuda_runtime_api.h>
#include <stdbool.h>

#include "core/error.h"
#include "cuda/array_launch.h"
#include "cuda/guest.h"

struct cuda_receipt {
    struct cuda_room room;       /* pinned: for `sent` */
    struct cuda_published *sent; /* what was handed over */
    cudaEvent_t last;            /* the site's, recorded after the last launch */
    uint64_t launches;
    bool pending; /* the last launch has not been seen to end */
};

/* Opens a receipt of zeros at a site, which is open, on the current device. The site has its memory. */
bool cuda_receipt_open(struct cuda_receipt *receipt, struct cuda_site *site, struct error *error);

/* Has a stream hand over what `job` says; its `to` and `number` are set here. The stream may be
   captured. */
bool cuda_receipt_launch(struct cuda_receipt *receipt, struct cuda_publish job, cudaStream_t stream,
                         struct error *error);

/* Makes the last launch the one that cuda_receipt_await waits for: on its stream, which is not
   captured. */
bool cuda_receipt_expect(struct cuda_receipt *receipt, cudaStream_t stream, struct error *error);

/* Waits for that launch, if there is one, on its device, which is current. */
bool cuda_receipt_await(struct cuda_receipt *receipt, struct error *error);

#endif
