#include "config.h"

#include "zstd/index.h"

#include <stdlib.h>

#include "sys/grow.h"
#include "sys/search.h"
#include "zstd/file.h"

void zstd_index_init(struct zstd_index *x, uint64_t data_offset, size_t element_size)
{
    *x = (struct zstd_index){.data_offset = data_offset, .element_size = element_size};
}

void zstd_index_free(struct zstd_index *x)
{
    free(x->unstated);
}

bool zstd_index_is_boundary(const struct zstd_index *x, uint64_t position)
{
    return position <= x->data_offset || (position - x->data_offset) % x->element_size == 0;
}

bool zstd_index_begin(struct zstd_index *x, uint64_t content, size_t *number)
{
    *number = ZSTD_INDEX_STATED;
    if (content != ZSTD_UNKNOWN)
        return true;
    if (!GROW(x->unstated, x->capacity, x->count + 1))
        return false;
    *number = x->count++;
    x->unstated[*number] = (struct zstd_unstated){.base = x->next};
    return true;
}

/* Provisional space for content of up to `most` bytes at x->next: up to where an element may begin.
   The content before the first element must lie in the first batch. */
static uint64_t reserve(const struct zstd_index *x, uint64_t most)
{
    uint64_t end = x->next + most;

    if (end < x->data_offset)
        end = x->data_offset;
    return end + (x->element_size - (end - x->data_offset) % x->element_size) - x->next;
}

void zstd_index_advance(struct zstd_index *x, uint64_t content, uint64_t most)
{
    if (content == ZSTD_UNKNOWN)
        content = x->unstated[x->count - 1].reserved = reserve(x, most);
    x->next += content;
}

void zstd_index_set_length(struct zstd_index *x, size_t number, uint64_t length)
{
    if (number != ZSTD_INDEX_STATED)
        x->unstated[number].length = length;
}

bool zstd_index_resolve(struct zstd_index *x, uint64_t last)
{
    x->gap = 0;
    for (size_t i = 0; i < x->count && x->unstated[i].base + x->unstated[i].reserved <= last; i++) {
        struct zstd_unstated *u = &x->unstated[i];
        uint64_t end = u->base + u->length;
        bool is_last = u->base + u->reserved == x->next;

        /* The end of the stream may be within an element, which is an error of its own. */
        if (!is_last && (end < x->data_offset || !zstd_index_is_boundary(x, end)))
            return false;
        x->gap += u->reserved - u->length;
        u->gap = x->gap;
    }
    return true;
}

uint64_t zstd_index_total(const struct zstd_index *x)
{
    return x->next - x->gap;
}

uint64_t zstd_index_true(const struct zstd_index *x, uint64_t element)
{
    uint64_t position = x->data_offset + element * x->element_size;
    size_t low = 0, high = x->count; /* how many batches end at or before it */

    SEARCH(low, high, x->unstated[middle].base + x->unstated[middle].reserved <= position);
    return low ? element - x->unstated[low - 1].gap / x->element_size : element;
}
