#include "config.h"

#include "cuda/array_parts.h"

#include <stdlib.h>

const struct cuda_array_parts_tuning cuda_array_parts_shipped = {
    .loads = (uint64_t)64 << 20, .copies = (uint64_t)16 << 20, .row = 512};

/* A call, and how many copies wait to be handed over. */
struct taking {
    const struct cuda_array_parts *parts;
    const void *stage;
    uint64_t staged;
};

static uint64_t count_of(const struct view_layout *l)
{
    uint64_t count = 1;

    for (unsigned d = 0; d < l->rank; d++)
        count *= l->sizes[d];
    return count;
}

/* Whether all entries of some dimensions are aligned to `step` bytes. */
static bool is_aligned(const struct view_layout *l, unsigned dimensions, uint64_t step)
{
    uint64_t bits = (uintptr_t)l->data;

    for (unsigned d = 0; d < dimensions; d++)
        bits |= (uint64_t)l->strides[d];
    return bits % step == 0;
}

static bool take_staged(struct taking *t, struct error *error)
{
    const struct cuda_array_parts *const p = t->parts;
    const uint64_t count = t->staged;

    t->staged = 0;
    return count == 0 || p->take(p->context, (struct cuda_rows){.data = t->stage}, count, error);
}

/* Copies the elements of a layout from number `first` on. */
static bool copy(struct taking *t, const struct view_layout *l, uint64_t first, struct error *error)
{
    const struct cuda_array_parts *const p = t->parts;
    const uint64_t count = count_of(l);

    for (uint64_t n; first < count; first += n) {
        struct cuda_gather gather;

        n = count - first < p->room - t->staged ? count - first : p->room - t->staged;
        gather = cuda_gather_of(l, p->size, first, n);
        t->stage = p->copy(p->context, &gather, t->staged, error);
        t->staged += t->stage ? n : 0;
        if (!t->stage || ((p->ordered || t->staged == p->room) && !take_staged(t, error)))
            return false;
    }
    return true;
}

/* Hands over a row, whose first elements are copied where it is not aligned, unless they are few. */
static bool take_row(struct taking *t, const struct view_layout *l, struct error *error)
{
    const struct cuda_array_parts *const p = t->parts;
    const uint64_t count = l->sizes[0], off = -(uintptr_t)l->data % CUDA_ROWS_UNIT / p->size;
    struct view_layout before = *l;

    before.sizes[0] = off < count ? off : count;
    if (before.sizes[0] > 0 &&
        !(before.sizes[0] < p->few
              ? p->take(p->context, (struct cuda_rows){.data = l->data}, before.sizes[0], error)
              : copy(t, &before, 0, error)))
        return false;
    for (uint64_t at = before.sizes[0], n; at < count; at += n) {
        n = count - at < p->most ? count - at : p->most;
        if (!p->take(p->context, (struct cuda_rows){.data = l->data + at * p->size}, n, error))
            return false;
    }
    return true;
}

/* Sets how rows lie, or rows of rows, by steps of units, or of elements, if kernels can read them so. */
static bool find_rows(const struct cuda_array_parts *p, const struct view_layout *l, bool units,
                      struct cuda_rows *rows)
{
    const int64_t *const strides = l->strides + l->rank - 2; /* of the last two dimensions */
    const uint64_t *const sizes = l->sizes + l->rank - 2;
    const int64_t size = (int64_t)p->size, step = units ? CUDA_ROWS_UNIT : size;
    const int64_t stride = units ? 1 : strides[1] / step, pitch = strides[0] / step;
    const int64_t row = (int64_t)sizes[1] * size / step, most = (int64_t)CUDA_ROWS_MOST;
    const bool blocks = l->rank == 3;
    int64_t gap, gap_of_blocks;

    if (units ? l->rank > 3 || strides[1] != size || (int64_t)sizes[1] * size % step != 0 ||
                    !is_aligned(l, l->rank - 1, CUDA_ROWS_UNIT)
              : l->rank > 2 || size == 1 || stride == 0)
        return false;
    if (row == 0 || row > most || llabs(stride) > most / row || llabs(pitch) > most ||
        (blocks && sizes[0] > (uint64_t)(most / row)) || count_of(l) / l->sizes[0] > p->most)
        return false;
    gap = pitch - row * stride;
    gap_of_blocks = blocks ? l->strides[0] / step - (int64_t)sizes[0] * pitch : 0;
    if (llabs(gap) >= most || llabs(gap_of_blocks) >= most)
        return false;
    *rows = (struct cuda_rows){.data = l->data,
                               .row = cuda_leaps_of((uint64_t)row, gap),
                               .stride = units ? 0 : (int32_t)stride};
    if (blocks)
        rows->block = cuda_leaps_of(sizes[0], gap_of_blocks);
    return true;
}

/* Hands over rows, or rows of rows, that were found: so many entries of the first dimension at a time as kernels
   take. Elements that fill no tiles are copied. */
static bool take_rows(struct taking *t, const struct view_layout *l, struct cuda_rows rows,
                      struct error *error)
{
    const struct cuda_array_parts *const p = t->parts;
    const uint64_t entry = count_of(l) / l->sizes[0];
    const uint64_t steps = CUDA_ROWS_MOST * (rows.stride ? 1 : CUDA_ROWS_UNIT / p->size);
    const uint64_t many = (p->most < steps ? p->most : steps) / entry;
    struct view_layout part = *l;

    for (uint64_t at = 0; at < l->sizes[0]; at += part.sizes[0]) {
        uint64_t count;

        part.sizes[0] = l->sizes[0] - at < many ? l->sizes[0] - at : many;
        part.data = l->data + (int64_t)at * l->strides[0];
        rows.data = part.data;
        count = part.sizes[0] * entry / p->tiles * p->tiles;
        if ((count > 0 && !p->take(p->context, rows, count, error)) ||
            !copy(t, &part, count, error))
            return false;
    }
    return true;
}

/* Hands over rows, or rows of rows, that lie apart by multiples of a unit: the units of each, and copies of the
   elements before and after these. */
static bool take_columns(struct taking *t, const struct view_layout *l, struct error *error)
{
    const struct cuda_array_parts *const p = t->parts;
    const unsigned last = l->rank - 1;
    const uint64_t all = l->sizes[last], off = -(uintptr_t)l->data % CUDA_ROWS_UNIT / p->size;
    const uint64_t before = off < all ? off : all;
    const uint64_t after = (all - before) % (CUDA_ROWS_UNIT / p->size);
    struct view_layout part = *l;
    struct cuda_rows rows;

    part.sizes[last] = before;
    if (!copy(t, &part, 0, error))
        return false;
    part.data += before * p->size;
    part.sizes[last] = all - before - after;
    if (!(find_rows(p, &part, true, &rows) ? take_rows(t, &part, rows, error)
                                           : copy(t, &part, 0, error)))
        return false;
    part.data += part.sizes[last] * p->size;
    part.sizes[last] = after;
    return copy(t, &part, 0, error);
}

/* Hands over rows, of which every so many lie apart by a multiple of a unit. */
static bool take_in_turn(struct taking *t, const struct view_layout *l, unsigned every,
                         struct error *error)
{
    struct view_layout part = *l;

    part.strides[0] *= every;
    for (unsigned i = 0; i < every; i++) {
        part.sizes[0] = (l->sizes[0] - i + every - 1) / every;
        if (!take_columns(t, &part, error))
            return false;
        part.data += l->strides[0];
    }
    return true;
}

/* Makes one dimension less of a layout: its entry number 0. */
static void drop_dimension(struct view_layout *l, unsigned dimension)
{
    l->rank--;
    for (unsigned d = dimension; d < l->rank; d++) {
        l->sizes[d] = l->sizes[d + 1];
        l->strides[d] = l->strides[d + 1];
    }
}

static bool take(struct taking *t, const struct view_layout *given, struct error *error);

/* Hands over each of the entries of a dimension as an array.
   NOLINTNEXTLINE(misc-no-recursion): as deep as there are dimensions of large entries */
static bool take_entries(struct taking *t, const struct view_layout *l, unsigned dimension,
                         struct error *error)
{
    struct view_layout part = *l;

    drop_dimension(&part, dimension);
    for (uint64_t i = 0; i < l->sizes[dimension]; i++) {
        if (!take(t, &part, error))
            return false;
        part.data += l->strides[dimension];
    }
    return true;
}

/* NOLINTNEXTLINE(misc-no-recursion): it is take_entries that calls it */
static bool take(struct taking *t, const struct view_layout *given, struct error *error)
{
    const struct cuda_array_parts *const p = t->parts;
    const uint64_t bytes = count_of(given) * p->size;
    struct view_layout l = *given;
    struct cuda_rows rows;
    unsigned least = 0, every;
    uint64_t cut;
    bool loads;

    for (unsigned d = l.rank; d-- > 0 && l.rank > 1;)
        if (l.sizes[d] == 1)
            drop_dimension(&l, d);
    if (!is_aligned(&l, l.rank, p->size))
        return copy(t, &l, 0, error);
    if (l.rank == 1 && l.strides[0] == (int64_t)p->size)
        return take_row(t, &l, error);
    if (p->joined)
        return copy(t, &l, 0, error);
    if (l.rank == 1) { /* rows of one element */
        l.rank = 2;
        l.sizes[1] = 1;
        l.strides[1] = (int64_t)p->size;
    }
    if (find_rows(p, &l, true, &rows))
        return take_rows(t, &l, rows, error);
    loads = find_rows(p, &l, false, &rows);
    if (p->ordered)
        return loads ? take_rows(t, &l, rows, error) : copy(t, given, 0, error);
    cut = loads ? p->tuning->loads : p->tuning->copies;
    every = CUDA_ROWS_UNIT >>
            __builtin_ctzll((uint64_t)(l.strides[0] | l.strides[l.rank - 2]) | CUDA_ROWS_UNIT);
    if (l.strides[l.rank - 1] == (int64_t)p->size &&
        l.sizes[l.rank - 1] * p->size >= p->tuning->row && l.sizes[0] > every &&
        (every == 1 ? l.rank <= 3 : l.rank == 2) && bytes / every >= cut)
        return take_in_turn(t, &l, every, error);
    for (unsigned d = 1; d + 1 < l.rank; d++)
        least = l.sizes[d] < l.sizes[least] ? d : least;
    if (bytes / l.sizes[least] >= cut)
        return take_entries(t, &l, least, error);
    return loads ? take_rows(t, &l, rows, error) : copy(t, given, 0, error);
}

bool cuda_array_take_parts(const struct cuda_array_parts *parts, const struct view_layout *layout,
                           uint64_t count, struct error *error)
{
    struct taking taking = {.parts = parts};
    struct view_layout l = *layout;

    if (l.rank == 0) {
        l.rank = 1;
        l.sizes[0] = 1;
        l.strides[0] = (int64_t)parts->size;
    }
    while (count > 0) { /* whole entries of the first dimension, and a part of the next entry */
        const uint64_t entry = count_of(&l) / l.sizes[0], whole = count / entry;

        l.sizes[0] = whole;
        if (whole > 0 && !take(&taking, &l, error))
            return false;
        count -= whole * entry;
        l.data += (int64_t)whole * l.strides[0];
        if (count > 0)
            drop_dimension(&l, 0);
    }
    return take_staged(&taking, error);
}

const void *cuda_array_stage(struct cuda_site *site, struct cuda_room *room,
                             const struct cuda_gather *gather, uint64_t staged, cudaStream_t stream,
                             struct error *error)
{
    struct cuda_gather job = *gather;

    if (!cuda_room_grow(site, room, CUDA_STAGE_BYTES, error))
        return NULL;
    job.to = room->memory + staged * job.size;
    return cuda_guest_check(cuda_gather(&job, site->multiprocessors, stream), "starting a kernel",
                            error)
               ? room->memory
               : NULL;
}
