#include "config.h"

#include "cuda/array.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "core/moments.h"
#include "cuda/array_launch.h"
#include "cuda/array_parts.h"
#include "cuda/guest.h"
#include "cuda/kernels.h"
#include "cuda/receipt.h"
#include "sys/align.h"

/* The most elements of a launch: less than the kernels take, and a multiple of 16. */
#define LAUNCH_MAX ((uint64_t)1 << 39)

static const char *const allocating = "device memory", *const launching = "starting a kernel";

/* The sum on one device of all launches that are not captured, or of those of one stream of a
   capture. */
struct slot {
    struct slot *next;
    struct cuda_site site;
    bool captured;
    unsigned long long capture; /* its id, and the stream */
    cudaStream_t stream;

    struct cuda_room memory;     /* see slot_open */
    struct partial *partials[2]; /* in it: the one that is added to, and one that is kept clear for
                                    when that is cleared */
    struct partial *cleared;     /* one of no elements */
    struct cuda_scratch *scratch;
    struct cuda_missing missing; /* elements that are left out, if any are */
    struct cuda_room stage;      /* CUDA_STAGE_BYTES, once they are needed */

    struct cuda_receipt receipt; /* whose partial is the result of the last launch */
    bool empty;                  /* nothing was added since it was cleared */
    unsigned current;
    bool other_is_clear; /* once what was launched has ended */
};

struct cuda_array {
    struct slot *slots;
    bool failed;
};

/* Says whether a stream is captured, and in which capture. */
static bool find_capture(cudaStream_t stream, bool *captured, unsigned long long *capture,
                         struct error *error)
{
    static const char *const what = "asking whether the stream is captured";
    enum cudaStreamCaptureStatus status;

    *capture = 0;
    if (!cuda_guest_check(cudaStreamIsCapturing(stream, &status), what, error))
        return false;
    *captured = status != cudaStreamCaptureStatusNone;
    if (!*captured)
        return true;
#if CUDART_VERSION >= 13000
    return cuda_guest_check(
        cudaStreamGetCaptureInfo(stream, &status, capture, NULL, NULL, NULL, NULL), what, error);
#else
    return cuda_guest_check(cudaStreamGetCaptureInfo_v2(stream, &status, capture, NULL, NULL, NULL),
                            what, error);
#endif
}

static void slot_close(struct slot *s)
{
    cuda_site_close(&s->site);
    free(s);
}

/* Makes the partial results of a slot ones of no elements, by way of its receipt. Waits for it. */
static bool slot_reset(struct slot *s, struct error *error)
{
    struct partial *const none = &s->receipt.sent->partial;
    cudaStream_t stream;
    bool good;

    if (!cuda_guest_check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking),
                          "creating a stream", error))
        return false;
    partial_clear(none);
    good = cuda_guest_check(
               cudaMemcpyAsync(s->cleared, none, sizeof *none, cudaMemcpyHostToDevice, stream),
               allocating, error) &&
           cuda_guest_check(
               cudaMemcpyAsync(s->partials[0], none, sizeof *none, cudaMemcpyHostToDevice, stream),
               allocating, error) &&
           cuda_guest_check(cudaMemsetAsync(s->scratch, 0, sizeof *s->scratch, stream), allocating,
                            error);
    good = cuda_guest_check(cudaStreamSynchronize(stream), allocating, error) && good;
    (void)cudaStreamDestroy(stream);
    s->current = 0;
    s->other_is_clear = false;
    s->empty = true;
    return good;
}

/* Makes a slot on a device, which is the current one. */
static struct slot *slot_open(int device, struct error *error)
{
    const size_t partial = align_up(sizeof(struct partial), CACHE_APART);
    struct slot *s = calloc(1, sizeof *s);

    if (!s) {
        (void)error_memory(error);
        return NULL;
    }
    if (cuda_site_open(&s->site, device, error) &&
        cuda_guest_check(cuda_reduce_check(), "loading the kernels", error) &&
        cuda_room_grow(&s->site, &s->memory, 3 * partial + sizeof *s->scratch, error) &&
        cuda_receipt_open(&s->receipt, &s->site, error)) {
        unsigned char *const memory = s->memory.memory;

        s->partials[0] = (void *)memory;
        s->partials[1] = (void *)(memory + partial);
        s->cleared = (void *)(memory + 2 * partial);
        s->scratch = (void *)(memory + 3 * partial);
        if (slot_reset(s, error))
            return s;
    }
    slot_close(s);
    return NULL;
}

/* The slot for a launch, which is made if there is none. */
static struct slot *find_slot(struct cuda_array *a, int device, cudaStream_t stream,
                              struct error *error)
{
    unsigned long long capture;
    bool captured;
    struct slot *s;

    if (!find_capture(stream, &captured, &capture, error))
        return NULL;
    for (s = a->slots; s; s = s->next)
        if (s->site.device == device && s->captured == captured &&
            (!captured || (s->capture == capture && s->stream == stream)))
            return s;
    s = slot_open(device, error);
    if (!s)
        return NULL;
    s->captured = captured;
    s->capture = capture;
    s->stream = stream;
    s->next = a->slots;
    a->slots = s;
    return s;
}

/* Elements that are added. */
struct addition {
    struct slot *slot;
    const struct cuda_array_elements *elements;
    unsigned wants;
    uint64_t index; /* of the next, where they are in order */
};

static bool add_rows(void *context, struct cuda_rows rows, uint64_t count, struct error *error)
{
    struct addition *const a = context;
    const struct cuda_array_elements *const e = a->elements;
    struct slot *const s = a->slot;
    const uint64_t index = a->index;
    struct cuda_launch launch = {.type = e->type,
                                 .swap = e->swap,
                                 .missing = &s->missing,
                                 .wants = a->wants | (e->missing ? PARTIAL_MISSING : 0),
                                 .rows = rows,
                                 .count = (size_t)count,
                                 .index = index,
                                 .partial = s->partials[s->current],
                                 .scratch = s->scratch,
                                 .multiprocessors = s->site.multiprocessors};

    a->index += count;
    if ((a->wants & PARTIAL_DIGEST) &&
        !cuda_guest_check(cuda_digest(&launch, e->stream), launching, error))
        return false;
    if (launch.wants == PARTIAL_DIGEST) /* that kernel has counted, too */
        return true;
    launch.wants &= ~(unsigned)PARTIAL_DIGEST;
    return cuda_guest_check(cuda_reduce(&launch, e->stream), launching, error);
}

static const void *copy(void *context, const struct cuda_gather *gather, uint64_t staged,
                        struct error *error)
{
    const struct addition *const a = context;
    struct slot *const s = a->slot;

    return cuda_array_stage(&s->site, &s->stage, gather, staged, a->elements->stream, error);
}

/* Launches what adds elements. */
static bool reduce(struct slot *s, const struct cuda_array_elements *e, unsigned wants,
                   uint64_t index, struct error *error)
{
    struct addition addition = {s, e, wants, index};
    const size_t size = element_size(e->type);
    const struct cuda_array_parts parts = {.tuning = &cuda_array_parts_shipped,
                                           .size = size,
                                           .most = LAUNCH_MAX,
                                           .tiles = CUDA_TILES,
                                           .few = CUDA_UNALIGNED_MAX,
                                           .ordered = wants & (PARTIAL_WHERE | PARTIAL_DIGEST),
                                           .joined = wants & PARTIAL_DIGEST,
                                           .room = CUDA_STAGE_BYTES / size,
                                           .take = add_rows,
                                           .copy = copy,
                                           .context = &addition};

    return cuda_array_take_parts(&parts, e->layout, e->count, error);
}

/* Bytes of a partial result that has these wants: the members of moments.h and the digest are the
   last ones. */
static size_t bytes_of(unsigned wants)
{
    return wants & (MOMENTS_WANTS | PARTIAL_DIGEST) ? sizeof(struct partial)
                                                    : offsetof(struct partial, absolute);
}

/* Has the result of what was launched handed to the host. */
static bool publish(struct slot *s, unsigned wants, cudaStream_t stream, struct error *error)
{
    const struct cuda_publish job = {
        .from = s->partials[s->current],
        .words = (unsigned)(bytes_of(wants) / sizeof(uint64_t)),
        .cleared = s->cleared,
        .clear = s->captured || s->other_is_clear ? NULL : s->partials[!s->current]};

    if (!cuda_receipt_launch(&s->receipt, job, stream, error))
        return false;
    s->other_is_clear = true;
    s->empty = false;
    return true;
}

static bool add(struct cuda_array *a, const struct cuda_array_elements *e, unsigned wants,
                uint64_t index, int device, struct error *error)
{
    struct slot *s = find_slot(a, device, e->stream, error);
    bool good;

    if (!s)
        return false;
    s->missing.count = 0;
    if (e->missing)
        cuda_missing_add_sums(&s->missing, e->type, e->missing);
    /* Those that are not captured are put in order. */
    good =
        (!s->receipt.pending || cuda_guest_check(cudaStreamWaitEvent(e->stream, s->receipt.last, 0),
                                                 "waiting for a stream", error)) &&
        reduce(s, e, wants, index, error) && publish(s, wants, e->stream, error) &&
        (s->captured || cuda_receipt_expect(&s->receipt, e->stream, error));
    /* Nobody knows how much of it was launched. */
    a->failed = a->failed || !good;
    return good;
}

static bool is_whole(const struct cuda_array *a, struct error *error)
{
    return !a->failed || error_set(error, ERROR_GPU, "the GPU failed while elements were added");
}

bool cuda_array_add(struct cuda_array **array, const struct cuda_array_elements *e, unsigned wants,
                    uint64_t index, struct error *error)
{
    struct cuda_guest guest;
    int device = e->device;
    bool good;

    if (e->count == 0)
        return true;
    if (wants & ~(CUDA_FINDS | PARTIAL_DIGEST))
        return error_set(error, ERROR_REQUEST,
                         "these operations of scaled numbers are not supported in device memory");
    if (!cuda_guest_find(&device, e->layout->data, error))
        return false;
    if (!*array)
        *array = calloc(1, sizeof **array);
    if (!*array)
        return error_memory(error);
    if (!is_whole(*array, error))
        return false;
    good = cuda_guest_enter(&guest, device, error) && add(*array, e, wants, index, device, error);
    cuda_guest_leave(&guest);
    return good;
}

/* Waits for all that was launched on a slot. Nobody knows when and where graphs were launched. */
static bool await(struct slot *s, struct error *error)
{
    struct cuda_guest guest;
    const bool good = cuda_guest_enter(&guest, s->site.device, error) &&
                      (s->captured ? cuda_guest_check(cudaDeviceSynchronize(), "reducing", error)
                                   : cuda_receipt_await(&s->receipt, error));

    cuda_guest_leave(&guest);
    return good;
}

bool cuda_array_snapshot(struct cuda_array *a, unsigned wants, struct partial *partial,
                         struct error *error)
{
    if (!a)
        return true;
    if (!is_whole(a, error))
        return false;
    for (struct slot *s = a->slots; s; s = s->next)
        if (!s->empty && !await(s, error)) {
            a->failed = true;
            return false;
        }
    for (const struct slot *s = a->slots; s; s = s->next) {
        struct partial found;

        if (s->empty)
            continue;
        partial_clear(&found);
        memcpy(&found, &s->receipt.sent->partial, bytes_of(wants));
        cuda_settle_partial(&found, wants);
        partial_merge(partial, &found);
    }
    return true;
}

/* Clears a slot. The next launch adds to the other partial result, which has been kept clear. */
static bool clear(struct slot *s, struct error *error)
{
    struct cuda_guest guest;
    bool good;

    if (!s->captured) {
        s->current = s->empty ? s->current : !s->current;
        s->other_is_clear = s->empty && s->other_is_clear;
        s->empty = true;
        return true;
    }
    good = cuda_guest_enter(&guest, s->site.device, error) &&
           cuda_guest_check(cudaDeviceSynchronize(), "reducing", error) && slot_reset(s, error);
    cuda_guest_leave(&guest);
    /* Graphs go on to add to it. */
    s->empty = false;
    return good;
}

bool cuda_array_clear(struct cuda_array *a, struct error *error)
{
    if (!a)
        return true;
    if (!is_whole(a, error))
        return false;
    for (struct slot *s = a->slots; s; s = s->next)
        if (!clear(s, error)) {
            a->failed = true;
            return false;
        }
    return true;
}

void cuda_array_close(struct cuda_array *a)
{
    struct slot *next;

    for (struct slot *s = a ? a->slots : NULL; s; s = next) {
        struct error ignored = {.kind = ERROR_NONE};

        next = s->next;
        (void)await(s, &ignored);
        slot_close(s);
    }
    free(a);
}
