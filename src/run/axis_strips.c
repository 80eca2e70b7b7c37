/*
 * Strips: ranges of columns that a worker reduces over all rows, of an input that can be read at
 * any offset. The sums of a strip's columns stay in the caches, however many columns there are.
 */
#include "config.h"

#include "run/axis_state.h"
#include "sys/mapping.h"

struct take {
    struct axis_worker *worker;
    const unsigned char *data;
    size_t stride, rows, columns;
};

static void take(void *argument)
{
    const struct take *t = argument;

    cpu_slicer_columns(&t->worker->slicer, &t->worker->slices, 0, t->data, t->stride, t->rows,
                       t->columns, 0);
}

/* Takes columns of a block that is mapped: all rows. */
static bool take_mapped(struct axis_worker *w, const struct chunk *block, uint64_t column,
                        size_t columns)
{
    const struct axis_run *run = w->run;
    const size_t size = run->info->element_size;
    struct take t = {.worker = w,
                     .data = (const unsigned char *)block->data + column * size,
                     .stride = (size_t)run->layout->inner * size,
                     .rows = (size_t)run->layout->length,
                     .columns = columns};

    if (mapping_guard(take, &t))
        return true;
    source_lost(run->source, block);
    return false;
}

/* Takes columns of a block that has to be read. */
static bool take_read(struct axis_worker *w, uint64_t block, uint64_t column, size_t columns)
{
    const struct axis_run *run = w->run;
    const struct axis_layout *layout = run->layout;
    const size_t width = columns * run->info->element_size;
    const uint64_t most = w->buffer_size / width;

    for (uint64_t row = 0; row < layout->length; row += most) {
        const uint64_t left = layout->length - row;
        const size_t rows = (size_t)(left < most ? left : most);

        for (size_t i = 0; i < rows; i++)
            if (!source_read_range(run->source,
                                   (block * layout->length + row + i) * layout->inner + column,
                                   columns, w->buffer + i * width))
                return false;
        if (!axis_take_tile(w, rows, columns, row))
            return false;
    }
    return true;
}

/* Strips that are narrower keep their pages: the kernel has made those of their neighbours present,
   too, and to give a few back for each row would take longer than all else. Bytes. */
#define RELEASED ((uint64_t)256 << 10)

/* Gives the pages of a strip back. */
static void release_strip(struct axis_worker *w, const struct chunk *block, uint64_t column,
                          uint64_t columns)
{
    const struct axis_layout *layout = w->run->layout;
    const size_t size = w->run->info->element_size;

    for (uint64_t row = 0; row < layout->length && columns * size >= RELEASED; row++) {
        struct chunk part = *block;

        part.index += row * layout->inner + column;
        part.data = (const unsigned char *)block->data + (row * layout->inner + column) * size;
        part.count = (size_t)columns;
        source_release(w->run->source, w->number, &part);
    }
}

/* Reduces some columns of a strip, piece by piece, over all rows: as the block is mapped, or read.
 */
static bool reduce_part(struct axis_worker *w, uint64_t block, uint64_t first, uint64_t columns,
                        const struct chunk *mapped)
{
    struct axis_run *run = w->run;
    const uint64_t most = mapped ? run->mapped_slices : run->group_slices;
    bool good = true;

    for (uint64_t i = 0; i < columns && good; i += most) {
        const size_t some = (size_t)(columns - i < most ? columns - i : most);

        cpu_slices_clear(&w->slices, some);
        good =
            mapped ? take_mapped(w, mapped, first + i, some) : take_read(w, block, first + i, some);
        if (good && w->slicer.failed) {
            source_error(run->source, "out of memory");
            good = false;
        }
        good = good && axis_deliver(w, &w->slices, 0, some, block * run->layout->inner + first + i);
    }
    return good;
}

/* Bytes of a strip for which a worker asks anew whether it is lent them. */
#define PART_BYTES ((uint64_t)2 << 20)

/* Columns that are as many bytes, in whole pieces. */
static uint64_t part_columns(const struct axis_run *run)
{
    const uint64_t column = run->layout->length * run->info->element_size;
    const uint64_t pieces = PART_BYTES / column / run->group_slices;

    return (pieces < 1 ? 1 : pieces) * run->group_slices;
}

/* Reduces a strip. What was lent of it is given back in one go, and counts as taken then. */
static bool reduce_strip(struct axis_worker *w, uint64_t block, uint64_t strip)
{
    struct axis_run *run = w->run;
    const struct axis_layout *layout = run->layout;
    const uint64_t first = strip * run->strip_columns, left = layout->inner - first;
    const uint64_t columns = left < run->strip_columns ? left : run->strip_columns;
    const uint64_t most = part_columns(run);
    struct chunk chunk = {.index = block * run->group_elements};
    uint64_t lent = 0;
    bool good = true;

    for (uint64_t i = 0; i < columns && good; i += most) {
        const uint64_t some = columns - i < most ? columns - i : most;
        /* A GPU's copies begin in its buffer. */
        const bool mapped = !w->gpu && source_lend(run->source, w->number, chunk.index,
                                                   (size_t)run->group_elements, &chunk);

        good = reduce_part(w, block, first + i, some, mapped ? &chunk : NULL);
        lent += mapped ? some : 0;
        if (!mapped && !w->gpu)
            source_took(run->source, w->number, some * layout->length, false);
    }
    good = axis_hand_in(w) && good;
    if (lent > 0) {
        release_strip(w, &chunk, first, columns);
        source_took(run->source, w->number, lent * layout->length, true);
    }
    atomic_fetch_add(&run->elements, columns * layout->length);
    return good;
}

void axis_strips_run(struct axis_worker *w)
{
    struct axis_run *run = w->run;
    const uint64_t all = run->strips * run->layout->outer;

    while (!w->failed) {
        const uint64_t next = atomic_fetch_add(&run->strip, 1);

        if (next >= all)
            return;
        w->failed = !reduce_strip(w, next / run->strips, next % run->strips);
        axis_order_wait(&run->order);
    }
}
