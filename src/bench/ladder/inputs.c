#include "config.h"

#include "bench/ladder/inputs.h"

#include <stdlib.h>

#include "bench/common/random.h"
#include "bench/common/team.h"
#include "cli/message.h"
#include "sys/align.h"
#include "sys/group.h"

/* Places are aligned as cudaMalloc aligns memory. */
#define ALIGNMENT ((size_t)256)

/* There are at least so many places, and they fill the cache so many times. */
#define PLACES_LEAST 3
#define CACHES 4

/* The number of places: enough for the cache, as far as they fit into the memory that is available
   beside the signs, which are as large as one place. Each place takes memory `copies` times. 0 when
   not even one fits. */
static uint64_t choose_places(size_t stride, size_t cache, size_t available, unsigned copies)
{
    uint64_t wanted = align_units(CACHES * (uint64_t)cache, stride);
    uint64_t fitting;

    wanted = wanted > PLACES_LEAST ? wanted : PLACES_LEAST;
    if (available < stride)
        return 0;
    fitting = (available - stride) / stride / copies;
    return wanted < fitting ? wanted : fitting;
}

/*
 * Signs: elements that are 0, 1 or -1. However they are added up, no addition rounds.
 */

/* About 2^22 elements are not 0. So all sums stay far below 2^24, up to where binary32 has all
   integers. */
#define SIGNS_LOG2 22

/* A thread makes at least so many elements. */
#define SIGNS_UNIT ((uint64_t)1 << 14)

struct signs_job {
    enum element_type type;
    unsigned char *data;
    uint64_t mask;
};

/* Element i as a bit pattern of the type. One in mask + 1 is not 0. Three of four of those are
   positive, so that the sum grows with the number of elements that were added. */
static uint64_t sign_bits(enum element_type type, uint64_t mask, uint64_t i)
{
    static const uint64_t one[] = {
        [ELEMENT_F32] = 0x3f800000,
        [ELEMENT_F64] = UINT64_C(0x3ff0000000000000),
        [ELEMENT_F16] = 0x3c00,
        [ELEMENT_BF16] = 0x3f80,
    };
    _Static_assert(sizeof one / sizeof *one == ELEMENT_FLOATS, "a row for each type");
    const uint64_t hash = random_mix(i + RANDOM_GOLDEN);

    if (hash & mask)
        return 0;
    return one[type] | (uint64_t)(hash >> 62 == 0) << (8 * element_size(type) - 1);
}

static void fill_signs_share(void *argument, unsigned number, uint64_t begin, uint64_t end)
{
    const struct signs_job *job = argument;
    const size_t size = element_size(job->type);

    (void)number;
    for (uint64_t i = begin; i < end; i++) {
        uint64_t bits = sign_bits(job->type, job->mask, i);

        switch (size) {
        case 2:
            ((uint16_t *)job->data)[i] = (uint16_t)bits;
            break;
        case 4:
            ((uint32_t *)job->data)[i] = (uint32_t)bits;
            break;
        case 8:
            ((uint64_t *)job->data)[i] = bits;
            break;
        }
    }
}

static bool fill_signs(void *data, enum element_type type, uint64_t count)
{
    struct signs_job job = {.type = type, .data = data};

    while (count / (job.mask + 1) >> SIGNS_LOG2)
        job.mask = 2 * job.mask + 1;
    return team_share(cores_available(), count, SIGNS_UNIT, fill_signs_share, &job);
}

/*
 * Memory, and what is in it.
 */

unsigned char *inputs_host_memory(size_t size)
{
    unsigned char *memory = aligned_alloc(4096, align_up(size, 4096));

    if (!memory)
        message_error(EXIT_FAILED, "out of memory: %.3g GB for the elements", (double)size / 1e9);
    return memory;
}

bool inputs_upload(struct workbench *b, void *to, const void *from, size_t size)
{
    return device_check(cudaMemcpyAsync(to, from, size, cudaMemcpyHostToDevice, b->stream),
                        "copying elements") &&
           device_check(cudaStreamSynchronize(b->stream), "copying elements");
}

/* Copies the first `filled` places to the rest. Each copy doubles what is filled. */
static bool repeat_places(struct workbench *b, const struct inputs *in, uint64_t filled)
{
    while (filled < in->places) {
        uint64_t more = in->places - filled < filled ? in->places - filled : filled;

        if (!device_check(cudaMemcpyAsync(in->data + filled * in->stride, in->data,
                                          more * in->stride, cudaMemcpyDeviceToDevice, b->stream),
                          "copying elements"))
            return false;
        filled += more;
    }
    return device_check(cudaStreamSynchronize(b->stream), "copying elements");
}

/* Makes the contents on the host, the last one first, so that content 0 is left there. */
static bool fill(struct workbench *b, struct inputs *in)
{
    size_t size = in->count * element_size(in->type);

    workbench_progress(b, "ladder", "making data");
    if (!fill_signs(in->host_signs, in->type, in->count) ||
        !reference_find(&in->signs_reference, in->type, in->host_signs, in->count) ||
        !inputs_upload(b, in->signs, in->host_signs, size))
        return false;
    for (unsigned i = in->contents; i-- > 0;)
        if (!distribution_fill_parallel(in->host, b->distribution, in->type, b->seed + i, in->count,
                                        0, in->count, 0) ||
            !reference_find(&in->references[i], in->type, in->host, in->count) ||
            !inputs_upload(b, in->data + i * in->stride, in->host, size))
            return false;
    return repeat_places(b, in, in->contents);
}

/* Allocates memory for the inputs on the device. */
static bool allocate(struct workbench *b, struct inputs *in, bool in_place)
{
    size_t available, total;

    in->stride = align_up(in->count * element_size(in->type), ALIGNMENT);
    if (!device_check(cudaMemGetInfo(&available, &total), "asking the GPU"))
        return false;
    /* The last tenth is for results. */
    in->places = choose_places(in->stride, b->device.cache, available / 10 * 9, in_place ? 2 : 1);
    if (in->places == 0)
        return message_error(
            EXIT_FAILED,
            "out of device memory: %.3g GB are free, and an input takes %.3g GB, %s times",
            (double)available / 1e9, (double)in->stride / 1e9, in_place ? "3" : "2");
    in->contents = in->places < INPUTS_CONTENTS_MAX ? (unsigned)in->places : INPUTS_CONTENTS_MAX;
    in->data = device_allocate(in->places * in->stride, "the input", b->stream);
    if (in->data)
        in->signs = device_allocate(in->stride, "the input", b->stream);
    if (in->signs && in_place)
        in->work = device_allocate(in->places * in->stride, "copies of the input", b->stream);
    return in->signs && (in->work || !in_place);
}

bool inputs_open(struct workbench *b, struct inputs *in, bool in_place)
{
    size_t size = b->count * element_size(b->type);

    *in = (struct inputs){.type = b->type, .count = b->count};
    in->host = inputs_host_memory(size);
    if (in->host)
        in->host_signs = inputs_host_memory(size);
    return in->host_signs && allocate(b, in, in_place) && fill(b, in);
}

void inputs_close(struct inputs *in)
{
    device_release(in->data);
    device_release(in->work);
    device_release(in->signs);
    free(in->host);
    free(in->host_signs);
}

cudaError_t inputs_take(struct workbench *b, struct inputs *in, struct bench_case *c,
                        unsigned char **data)
{
    uint64_t place = in->turn++ % in->places;

    *data = in->data + place * in->stride;
    if (!c->rung->in_place)
        return cudaSuccess;
    place = c->copy++ % in->places;
    *data = in->work + place * in->stride;
    if (place > 0)
        return cudaSuccess;
    return cudaMemcpyAsync(in->work, in->data, in->places * in->stride, cudaMemcpyDeviceToDevice,
                           b->stream);
}
