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

/* Hands some columns back. False where they are too few for that. */
static bool release_columns(struct axis_worker *w, const struct chunk *block, uint64_t column,
                            uint64_t columns)
{
    const struct axis_layout *layout = w->run->layout;
    const size_t size = w->run->info->element_size;

    if (columns * size < RELEASED)
        return false;
    for (uint64_t row = 0; row < layout->length; row++)
        source_return(w->run->source, w->number,
                      (const unsigned char *)block->data + (row * layout->inner + column) * size,
                      (size_t)columns);
    return true;
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
            (void)source_no_memory(run->source);
            good = false;
        }
        good = good && axis_deliver(w, &w->slices, 0, some, block * run->layout->inner + first + i);
    }
    return good;
}

/* Bytes of a strip, about, that are read until a worker asks anew whether it is lent them. */
#define PART_BYTES ((uint64_t)2 << 20)

/* Bytes of a row that are mapped in one way, at least: a page fault makes the pages of so many
   present. */
#define MAPPED_BYTES ((size_t)64 << 10)

/* How many of so many columns to take in one way, which are to have `most` elements, about: whole
   pieces, and one at least. */
static uint64_t part_columns(const struct axis_run *run, uint64_t columns, uint64_t most,
                             bool mapped)
{
    const size_t few = MAPPED_BYTES / run->info->element_size;
    const size_t piece = mapped && run->group_slices > few ? few : run->group_slices;
    const uint64_t pieces = most / run->layout->length / piece;

    if (pieces >= columns / piece + 1)
        return columns;
    most = (pieces < 1 ? 1 : pieces) * piece;
    return most < columns ? most : columns;
}

/* Reduces columns of a strip, from the one number `first` of the block on, as many as should be
   taken in one way; of up to *columns, which it sets. Lent memory is given back in one go, or, if
   it is too little for that, *kept becomes true. */
static bool reduce_some(struct axis_worker *w, uint64_t number, uint64_t first, uint64_t *columns,
                        struct chunk *block, bool *kept)
{
    struct axis_run *run = w->run;
    const uint64_t length = run->layout->length, part = PART_BYTES / run->info->element_size;
    uint64_t most = UINT64_MAX;
    /* A GPU's copies begin in its buffer. */
    const bool mapped = !w->gpu && source_lend(run->source, w->number, block->index,
                                               (size_t)run->group_elements, block, &most);
    bool good;

    *columns = part_columns(run, *columns, mapped || most < part ? most : part, mapped);
    good = reduce_part(w, number, first, *columns, mapped ? block : NULL);
    if (mapped && !release_columns(w, block, first, *columns))
        *kept = true;
    if (!w->gpu)
        source_took(run->source, w->number, *columns * length, mapped);
    return good;
}

/* Reduces a strip. */
static bool reduce_strip(struct axis_worker *w, uint64_t number, uint64_t first, uint64_t columns)
{
    struct axis_run *run = w->run;
    struct chunk block = {.index = number * run->group_elements};
    bool good = true, kept = false;

    for (uint64_t i = 0, some; i < columns && good; i += some) {
        some = columns - i;
        good = reduce_some(w, number, first + i, &some, &block, &kept);
        atomic_fetch_add(&run->elements, some * run->layout->length);
    }
    good = axis_hand_in(w) && good;
    if (kept)
        (void)release_columns(w, &block, first, columns);
    return good;
}

/* Claims the next strip: fewer columns towards the end, so that all workers end together. False
   where there is none. */
static bool claim_strip(struct axis_run *run, uint64_t *block, uint64_t *first, uint64_t *columns)
{
    const uint64_t inner = run->layout->inner, all = run->layout->results;
    const uint64_t least = run->strip_columns_least;
    uint64_t next = atomic_load_explicit(&run->strip, memory_order_relaxed), left, some;

    do {
        if (next >= all)
            return false;
        left = inner - next % inner;
        some = (all - next) / 2 / run->workers;
        some = some > run->strip_columns ? run->strip_columns : some;
        some -= some % (some < run->group_slices ? least : run->group_slices);
        some = some < least ? least : some;
        some = some < left ? some : left;
    } while (!atomic_compare_exchange_weak(&run->strip, &next, next + some));
    *block = next / inner;
    *first = next % inner;
    *columns = some;
    return true;
}

void axis_strips_run(struct axis_worker *w)
{
    uint64_t block, first, columns;

    while (!w->failed && claim_strip(w->run, &block, &first, &columns)) {
        w->failed = !reduce_strip(w, block, first, columns);
        axis_order_wait(&w->run->order);
    }
    source_leave(w->run->source, w->number);
}
