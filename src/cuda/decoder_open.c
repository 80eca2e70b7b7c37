#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/decoder.h"
#include "cuda/decoder_state.h"
#include "cuda/runtime/check.h"
#include "sys/align.h"
#include "sys/clock.h"
#include "sys/mapping.h"

/*
 * Opening.
 */

/* Bytes of device memory for the decoder, of those that are free. */
static size_t memory_for_decoder(size_t free)
{
    const size_t rest = free < ZSTD_MEMORY_LEFT * 4 ? free / 4 : ZSTD_MEMORY_LEFT;

    return free - rest < ZSTD_MEMORY_MAX ? free - rest : ZSTD_MEMORY_MAX;
}

/* The windows that the decoder is to take: those that are expected, and larger ones where that
   costs little. */
static uint64_t choose_window(const struct engine_decode_setup *setup, size_t memory)
{
    uint64_t window = setup->window == UINT64_MAX ? ZSTD_WINDOW_USUAL : setup->window;
    uint64_t spare = memory / 16;

    if (window < ZSTD_WINDOW_USUAL)
        window = ZSTD_WINDOW_USUAL;
    if (window < spare)
        window = spare;
    if (window > setup->window_max)
        window = setup->window_max;
    return window < ZSTD_OFFSET_MAX ? window : ZSTD_OFFSET_MAX;
}

static void note_copy(void *decoder, cudaEvent_t begun, cudaEvent_t done, uint64_t bytes)
{
    struct engine_decoder *u = decoder;

    decoder_note(&u->times.copies, u, begun, done, bytes);
}

static bool open_decoder(struct engine_decoder *u, char reason[ENGINE_REASON_MAX])
{
    struct zstd_device_options options = {
        .timed = true, .copied = note_copy, .context = u, .tuning = u->device->tuning};
    size_t free = 0, total = 0;

    if (!cuda_check(cudaMemGetInfo(&free, &total), "asking for free memory", reason))
        return false;
    options.memory = memory_for_decoder(free);
    options.window = choose_window(&u->setup, options.memory);
    options.keep = u->setup.check ? ZSTD_KEPT : 0;
    u->window = options.window;
    if (u->setup.window != UINT64_MAX && u->setup.window > u->window) {
        snprintf(reason, ENGINE_REASON_MAX, "the window of the frame is too large for a GPU");
        return false;
    }
    u->decoder = zstd_device_open(&options, reason);
    if (!u->decoder)
        return false;
    (void)zstd_device_slots(u->decoder, &u->batch);
    return true;
}

/* Bytes of a file that a decoder has read ahead. */
static size_t file_ahead(unsigned decoders)
{
    const size_t share = ZSTD_INPUT_ALL / (decoders > 0 ? decoders : 1);

    return share < ZSTD_INPUT_LEAST  ? ZSTD_INPUT_LEAST
           : share > ZSTD_INPUT_MOST ? ZSTD_INPUT_MOST
                                     : share;
}

/* Memory for so many bytes that are read ahead. */
static size_t memory_ahead(size_t bytes, size_t before, size_t piece)
{
    return align_up(before + align_up(bytes, piece) + piece, mapping_page());
}

size_t decoder_input_size(size_t before, size_t piece, unsigned decoders)
{
    return memory_ahead(file_ahead(decoders), before, piece);
}

/* The size of memory for this input, if batches have so many bytes. */
static size_t input_size(const struct engine_decode_setup *setup, size_t batch)
{
    const size_t most = setup->input == UINT64_MAX ? ZSTD_INPUT_PIPE : file_ahead(setup->decoders);
    const size_t batches = ZSTD_INPUT_BATCHES * batch;

    return memory_ahead(batches < most ? batches : most, setup->before, setup->piece);
}

/* The memory for input holds so many copies at least. */
#define COPIES_LEAST 4

static bool get_memory(struct engine_decoder *u, char reason[ENGINE_REASON_MAX])
{
    cuda_sums_init(&u->sums, u->setup.type, u->setup.swap, u->setup.wants,
                   u->device->multiprocessors, MIRRORS);
    if (!pinned_piece_open(&u->input, u->arena, input_size(&u->setup, u->batch), reason) ||
        !pinned_piece_open(&u->mirrors_memory, u->arena,
                           align_up(u->sums.job.pinned_bytes, mapping_page()), reason) ||
        !cuda_check(cudaMalloc((void **)&u->memory, u->sums.job.device_bytes), "device memory",
                    reason))
        return false;
    u->copy_least = (u->input.size - u->setup.before) / COPIES_LEAST;
    if (u->copy_least > u->device->tuning->copy_least)
        u->copy_least = u->device->tuning->copy_least;
    return true;
}

static bool make_events(struct engine_decoder *u, char reason[ENGINE_REASON_MAX])
{
    static const char *const event = "creating an event";
    int least = 0, greatest = 0;

    for (unsigned i = 0; i < MIRRORS; i++)
        if (!cuda_check(cudaEventCreate(&u->mirrors[i].begun), event, reason) ||
            !cuda_check(cudaEventCreate(&u->mirrors[i].done), event, reason))
            return false;
    for (unsigned i = 0; i < ZSTD_CONTENT_PIECES; i++)
        if (!cuda_check(cudaEventCreateWithFlags(&u->pieces[i].copied, cudaEventDisableTiming),
                        event, reason))
            return false;
    return cuda_check(cudaEventCreate(&u->base), event, reason) &&
           cuda_check(cudaEventCreateWithFlags(&u->back_done, cudaEventDisableTiming), event,
                      reason) &&
           cuda_check(cudaEventCreateWithFlags(&u->reduced, cudaEventDisableTiming), event,
                      reason) &&
           cuda_check(cudaDeviceGetStreamPriorityRange(&least, &greatest), "priorities", reason) &&
           /* Memory for the next batches waits for the reduction, which is short. */
           cuda_check(cudaStreamCreateWithPriority(&u->stream, cudaStreamNonBlocking, greatest),
                      "creating a stream", reason) &&
           cuda_check(cudaStreamCreateWithFlags(&u->back, cudaStreamNonBlocking),
                      "creating a stream", reason);
}

struct engine_decoder *decoder_open(const struct feeder_device *device, struct pinned_arena *arena,
                                    const struct engine_decode_setup *setup,
                                    char reason[ENGINE_REASON_MAX])
{
    struct engine_decoder *u = calloc(1, sizeof *u);

    if (!u) {
        snprintf(reason, ENGINE_REASON_MAX, "out of memory");
        return NULL;
    }
    u->device = device;
    u->arena = arena;
    u->setup = *setup;
    if (!cuda_check(cudaSetDevice((int)device->index), "choosing the GPU", reason) ||
        !open_decoder(u, reason) || !get_memory(u, reason) || !make_events(u, reason) ||
        (setup->check && !decoder_checks_open(u, reason)) || !decoder_begin(u, setup)) {
        if (u->failed)
            memcpy(reason, u->error, ENGINE_REASON_MAX);
        decoder_close(u);
        return NULL;
    }
    return u;
}

static void destroy_event(cudaEvent_t event)
{
    if (event)
        (void)cudaEventDestroy(event);
}

void decoder_close(struct engine_decoder *u)
{
    /* Nothing below can be helped when it fails. */
    (void)cudaSetDevice((int)u->device->index);
    zstd_device_close(u->decoder);
    decoder_checks_close(u);
    if (u->stream)
        (void)cudaStreamDestroy(u->stream);
    if (u->back)
        (void)cudaStreamDestroy(u->back);
    for (unsigned i = 0; i < MIRRORS; i++) {
        destroy_event(u->mirrors[i].begun);
        destroy_event(u->mirrors[i].done);
    }
    for (unsigned i = 0; i < ZSTD_CONTENT_PIECES; i++) {
        destroy_event(u->pieces[i].copied);
        free(u->pieces[i].segments);
        pinned_piece_close(&u->pieces[i].memory, u->arena);
    }
    destroy_event(u->base);
    destroy_event(u->back_done);
    destroy_event(u->reduced);
    if (u->memory)
        (void)cudaFree(u->memory);
    free(u->parts);
    pinned_piece_close(&u->input, u->arena);
    pinned_piece_close(&u->mirrors_memory, u->arena);
    timeline_free(&u->times.copies);
    timeline_free(&u->times.gpu_decode);
    timeline_free(&u->times.checks);
    timeline_free(&u->times.kernels);
    free(u);
}

/* Waits for all that is under way, and forgets it. */
static bool drain(struct engine_decoder *u)
{
    struct zstd_device_output output;
    bool none = false;

    if (!decoder_checks_drop(u) || (u->holding && !zstd_device_release(u->decoder, u->stream)))
        return false;
    u->holding = false;
    while (zstd_device_take(u->decoder, &output, &none))
        if (!zstd_device_release(u->decoder, u->stream))
            return false;
    return none && decoder_check(u, cudaStreamSynchronize(u->stream), "reducing") &&
           decoder_check(u, cudaStreamSynchronize(u->back), "copying content");
}

bool decoder_begin(struct engine_decoder *u, const struct engine_decode_setup *setup)
{
    if (u->failed || (setup->window != UINT64_MAX && setup->window > u->window) ||
        setup->window_max < u->window || input_size(setup, u->batch) > u->input.size ||
        !decoder_check(u, cudaSetDevice((int)u->device->index), "choosing the GPU") || !drain(u))
        return false;
    u->setup = *setup;
    u->shift = (ALIGNMENT - setup->skip % ALIGNMENT) % ALIGNMENT;
    u->part_count = u->parts_passed = 0;
    u->part = (struct engine_part){0};
    u->part_begin = u->shift;
    u->padding = u->elements = 0;
    u->reduced_to = u->shift + setup->skip;
    u->decoded_to = u->frame_position = u->shift;
    u->frame = 0;
    u->has_frame = u->refused = u->stopped = u->wrong = false;
    u->stopped_at = UINT64_MAX;
    u->next_out = u->next_piece = u->next_mirror = 0;
    for (unsigned i = 0; i < ZSTD_CONTENT_PIECES; i++)
        atomic_store(&u->pieces[i].state, PIECE_FREE);
    for (unsigned i = 0; i < MIRRORS; i++)
        u->mirrors[i].busy = false;
    u->times = (struct engine_times){.device = u->device->index};
    /* All bytes of a pipe that batches hold should be at hand, should libzstd have to go on from
       there. */
    zstd_device_restart(u->decoder, u->shift,
                        setup->input == UINT64_MAX ? ZSTD_INPUT_PIPE / ZSTD_INPUT_BATCHES
                                                   : SIZE_MAX);
    cuda_sums_init(&u->sums, setup->type, setup->swap, setup->wants, u->device->multiprocessors,
                   MIRRORS);
    if (!u->sums.job.kind->begin(&u->sums.job, u->memory, u->mirrors_memory.memory, u->stream,
                                 u->error)) {
        u->failed = true;
        return false;
    }
    if (!decoder_check(u, cudaEventRecord(u->base, u->stream), "recording an event") ||
        !decoder_check(u, cudaStreamSynchronize(u->stream), "device memory"))
        return false;
    u->base_time = clock_now();
    return true;
}
