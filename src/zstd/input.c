#include "config.h"

#include "zstd/input.h"

#include <stdlib.h>
#include <sys/mman.h>

#include "sys/clock.h"
#include "sys/mapping.h"

void zstd_input_open(struct zstd_input *input, struct zstd_file *file, uint64_t step)
{
    void *map;

    *input = (struct zstd_input){
        .file = file, .map_before = (size_t)(file->start % mapping_page()), .step = step};
    /* A 32-bit process needs its addresses for buffers. */
    if (file->size > SIZE_MAX / 8 || file->tuning->unmapped)
        return;
    map = mmap(NULL, input->map_before + (size_t)file->size, PROT_READ, MAP_SHARED, file->fd,
               (off_t)(file->start - input->map_before));
    if (map != MAP_FAILED)
        input->map = (unsigned char *)map + input->map_before;
}

void zstd_input_close(struct zstd_input *input)
{
    if (input->map)
        munmap(input->map - input->map_before, input->map_before + (size_t)input->file->size);
}

/* The page that holds byte `offset` of the input, as an offset from the mapping's beginning. */
static uint64_t page_of(const struct zstd_input *input, uint64_t offset)
{
    return (offset + input->map_before) / mapping_page() * mapping_page();
}

void zstd_span_begin(struct zstd_span *span, uint64_t begin, uint64_t end)
{
    span->view = (struct zstd_view){.file = span->input->file,
                                    .map = span->input->map,
                                    .buffer = span->view.buffer,
                                    .capacity = span->view.capacity};
    span->end = end;
    atomic_store(&span->next, begin);
    atomic_store(&span->present, begin);
    atomic_store(&span->released, page_of(span->input, begin));
}

void zstd_span_release(struct zstd_span *span, uint64_t least)
{
    const struct zstd_input *input = span->input;
    uint64_t from = atomic_load(&span->released), to = page_of(input, atomic_load(&span->next));

    if (!span->view.map || to < from + least ||
        !atomic_compare_exchange_strong(&span->released, &from, to))
        return;
    mapping_release(input->map - input->map_before + from, (size_t)(to - from));
}

bool zstd_span_wanted(const struct zstd_span *span)
{
    uint64_t present = atomic_load(&span->present);

    return present < span->end && present < atomic_load(&span->next) + 2 * span->input->step;
}

bool zstd_span_populate(struct zstd_span *span)
{
    const struct zstd_input *input = span->input;
    uint64_t from = atomic_load(&span->present), begun = clock_now();
    uint64_t to = span->end - from > input->step ? from + input->step : span->end;

    if (from >= span->end)
        return true;
    if (!mapping_populate(input->map + from, (size_t)(to - from)))
        return false;
    atomic_compare_exchange_strong(&span->present, &from, to);
    atomic_fetch_add(&input->file->read_time, clock_now() - begun);
    return true;
}

const unsigned char *zstd_span_bytes(struct zstd_span *span, size_t size, size_t *got)
{
    uint64_t next = atomic_load(&span->next);

    zstd_span_release(span, span->input->step);
    while (span->view.map && atomic_load(&span->present) < next + size &&
           atomic_load(&span->present) < span->end)
        if (!zstd_span_populate(span))
            span->view.map = NULL;
    if (!span->view.map && !span->view.buffer) {
        span->view.buffer = malloc(ZSTD_INPUT_BYTES);
        span->view.capacity = ZSTD_INPUT_BYTES;
        if (!span->view.buffer) {
            zstd_fail(span->input->file, ERROR_MEMORY, "out of memory");
            return NULL;
        }
    }
    return zstd_view_at(&span->view, next, size, got);
}

void zstd_span_pass(struct zstd_span *span, size_t size)
{
    atomic_fetch_add(&span->next, size);
    atomic_fetch_add_explicit(&span->input->file->input_read, size, memory_order_relaxed);
}
