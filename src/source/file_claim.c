/*
 * Claims of ranges of a file: a worker takes the next one by an atomic exchange.
 */
#include "config.h"

#include "source/file_state.h"
#include "source/tiles.h"
#include "sys/mapping.h"

/* The bytes that one page table maps. Large ranges end at such boundaries: two workers should not
   make pages of the same table present. Smaller ranges end at boundaries of pages: two workers
   cannot both pin a page. */
#define LARGE_PAGE ((uint64_t)2 << 20)

/* Chunks shrink towards the end, so that all workers end together; not below this. */
#define CHUNK_MIN ((size_t)64 << 10)

uint64_t file_place(const struct source *s, size_t array, uint64_t index, size_t *size)
{
    const struct file_state *f = s->state;

    if (!f->arrays.begins) {
        *size = s->info.element_size;
        return s->start + s->data_offset + index * *size;
    }
    *size = element_size(s->picks[array].array->type);
    return s->start + s->picks[array].array->offset + index * *size;
}

/* How many elements to claim from claim->offset on, where `left` are left, `here` of them in the
   array: up to `bytes`, fewer towards the end, and up to a boundary where an element begins at one.
 */
static uint64_t claim_size(const struct file_state *f, const struct claim *claim, uint64_t left,
                           uint64_t here, size_t bytes)
{
    uint64_t most = bytes / claim->size, least = CHUNK_MIN / claim->size;
    uint64_t count = left / 2 / f->workers, over;

    most = most ? most : 1;
    least = least < most ? least : most;
    count = count > most ? most : count < least ? least : count;
    if (count >= here)
        return here;
    over = (claim->offset + count * claim->size) %
           (count * claim->size < 2 * LARGE_PAGE ? mapping_page() : LARGE_PAGE);
    if (over % claim->size == 0 && over / claim->size < count)
        count -= over / claim->size;
    return count;
}

/* Claims a tile of an array, of whose elements the first `limit` are wanted. */
static void claim_tile(struct claim *claim, const struct container_array *a, uint64_t number,
                       uint64_t limit)
{
    claim->tiled = a;
    claim->number = number;
    claim->index = 0;
    claim->count = tiles_elements(a, number, limit);
}

/* Takes up the array at a place in the order, from byte `at` of all arrays on, which lies in it. */
static const struct source_pick *take_up(struct source *s, struct claim *claim, size_t place,
                                         uint64_t at)
{
    const struct file_state *f = s->state;
    const struct source_pick *pick = &s->picks[f->arrays.order[place]];

    claim->array = f->arrays.order[place];
    claim->offset = file_place(s, claim->array, 0, &claim->size);
    claim->index = pick->first + (at - f->arrays.begins[place]) / claim->size;
    claim->offset += claim->index * claim->size;
    claim->compressed = claim->tiled = NULL;
    return pick;
}

bool file_claim_goes_on(struct source *s, struct claim *claim)
{
    const struct file_state *f = s->state;

    if (claim->place == claim->place_end)
        return false;
    claim->count = take_up(s, claim, claim->place, f->arrays.begins[claim->place])->elements;
    claim->place++;
    return true;
}

/* Finds the place after which a range ends that begins with byte `next` of all arrays, in the one
   at `place`, and goes to the end of that: as many arrays as claim_size's rule gives to a
   worker. */
static size_t run_end(const struct file_state *f, size_t place, uint64_t next, size_t bytes)
{
    const uint64_t all = f->arrays.begins[f->arrays.count];
    uint64_t most = (all - next) / 2 / f->workers;

    most = most < CHUNK_MIN ? CHUNK_MIN : most;
    most = most < bytes ? most : bytes;
    if (place < f->arrays.plain_from)
        return place + 1;
    if (all - next <= most)
        return f->arrays.count;
    most = array_order_find(&f->arrays, next + most);
    return most > place ? (size_t)most : place + 1;
}

bool file_claim_of_many(struct source *s, struct claim *claim, size_t bytes)
{
    struct file_state *f = s->state;
    const size_t count = s->info.pick_count;
    uint64_t next = atomic_load_explicit(&f->next, memory_order_relaxed), size;

    do {
        if (next >= f->arrays.begins[count])
            return false;
        const size_t place = array_order_find(&f->arrays, next);
        const struct source_pick *pick = take_up(s, claim, place, next);

        claim->place = claim->place_end = place + 1;
        if (pick->array->tiles) {
            size = tiles_bytes(pick->array);
            claim_tile(claim, pick->array, (next - f->arrays.begins[place]) / size, pick->elements);
            continue;
        }
        if (pick->array->deflated) {
            claim->compressed = pick->array;
            claim->count = pick->elements;
        } else {
            claim->count = claim_size(f, claim, (f->arrays.begins[count] - next) / claim->size,
                                      (f->arrays.begins[place + 1] - next) / claim->size, bytes);
        }
        size = claim->count * claim->size;
        if (next + size == f->arrays.begins[place + 1]) {
            claim->place_end = run_end(f, place, next, bytes);
            size = f->arrays.begins[claim->place_end] - next;
        }
    } while (!atomic_compare_exchange_weak(&f->next, &next, next + size));
    return true;
}

/* Claims the next tile, where there is one array. False when there is none. A limit does not end
   this: behind it in the order of tiles there may be elements before it. */
static bool claim_next_tile(struct source *s, struct claim *claim)
{
    struct file_state *f = s->state;
    const uint64_t next = atomic_fetch_add(&f->next, 1);

    if (next >= tiles_count(s->array))
        return false;
    claim->size = s->info.element_size;
    claim_tile(claim, s->array, next, s->info.elements);
    return true;
}

bool file_claim(struct source *s, struct claim *claim, size_t bytes)
{
    struct file_state *f = s->state;
    uint64_t limit = source_wanted(s);
    uint64_t end = s->info.elements < limit ? s->info.elements : limit;
    uint64_t next = atomic_load_explicit(&f->next, memory_order_relaxed);

    if (s->array && s->array->tiles)
        return claim_next_tile(s, claim);
    do {
        if (next >= end)
            return false;
        claim->offset = file_place(s, 0, next, &claim->size);
        claim->compressed = s->array && s->array->deflated ? s->array : NULL;
        claim->count =
            claim->compressed ? end : claim_size(f, claim, end - next, end - next, bytes);
    } while (!atomic_compare_exchange_weak(&f->next, &next, next + claim->count));
    claim->index = next;
    return true;
}
