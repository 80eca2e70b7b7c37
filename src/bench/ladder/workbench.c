#include "config.h"

#include "bench/ladder/workbench.h"

#include <stdio.h>

#include "bench/ladder/rungs.h"
#include "cli/message.h"
#include "cuda/kernels.h"

bool workbench_open(struct workbench *b, uint64_t number)
{
    char why[DEVICE_WHY_MAX];
    cudaError_t error;

    if (!device_use(number, why))
        return message_error(EXIT_NO_GPU, "%s", why);
    error = cuda_reduce_check();
    if (error != cudaSuccess)
        return message_error(EXIT_NO_GPU, "using the GPU: %s", cudaGetErrorString(error));
    if (!device_describe(&b->device, (int)number) ||
        !device_check(cudaStreamCreateWithFlags(&b->stream, cudaStreamNonBlocking),
                      "creating a stream"))
        return false;
    for (int i = 0; i < WORKBENCH_BATCH; i++)
        if (!device_check(cudaEventCreate(&b->begun[i]), "creating an event") ||
            !device_check(cudaEventCreate(&b->ended[i]), "creating an event"))
            return false;
    b->scratch = device_allocate(sizeof(struct cuda_scratch), "the kernels' scratch", b->stream);
    return b->scratch != NULL;
}

void workbench_close(struct workbench *b)
{
    for (int i = 0; i < WORKBENCH_BATCH; i++) {
        if (b->begun[i])
            (void)cudaEventDestroy(b->begun[i]);
        if (b->ended[i])
            (void)cudaEventDestroy(b->ended[i]);
    }
    device_release(b->cub_temporary);
    device_release(b->scratch);
    if (b->stream)
        (void)cudaStreamDestroy(b->stream);
}

void workbench_note_error(struct workbench *b)
{
    (void)cudaGetLastError();
    b->lost = cudaStreamSynchronize(b->stream) != cudaSuccess;
}

void workbench_say_lost(const struct workbench *b)
{
    if (b->lost)
        message_error(EXIT_FAILED, "the device does not answer any more");
}

bool workbench_reserve_for_cub(struct workbench *b, enum element_type type, uint64_t count)
{
    size_t size;

    if (!device_check(rung_cub_temporary(type, count, &size), "asking CUB"))
        return false;
    if (size <= b->cub_temporary_size)
        return true;
    device_release(b->cub_temporary);
    b->cub_temporary = device_allocate(size, "CUB's temporary memory", b->stream);
    b->cub_temporary_size = b->cub_temporary ? size : 0;
    return b->cub_temporary != NULL;
}

void workbench_facts(const struct workbench *b, struct table *t)
{
    const struct device *d = &b->device;
    char version[32];
    int number = rung_cub_version();

    table_fact_text(t, "device", "device", d->name);
    table_fact_number(t, "peak_gigabytes_per_second", "peak of its memory", d->peak / 1e9, 1,
                      "GB/s");
    table_fact_count(t, "multiprocessors", "multiprocessors", (uint64_t)d->multiprocessors, "");
    table_fact_number(t, "l2_megabytes", "level-2 cache", (double)d->cache / 1e6, 1, "MB");
    snprintf(version, sizeof version, "%d.%d.%d", number / 1000000, number / 1000 % 1000,
             number % 1000);
    table_fact_text(t, "cub", "CUB", version);
}

void workbench_progress(const struct workbench *b, const char *what, const char *doing)
{
    char text[160];

    if (!b->progress)
        return;
    snprintf(text, sizeof text, "%s: %s", what, doing);
    message_transient(text);
}

void workbench_show_row(const struct workbench *b, struct table *t)
{
    if (b->progress)
        message_transient(NULL);
    (void)table_flush(t);
}
