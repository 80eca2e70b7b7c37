/*
 * Shared by all kinds of source: errors, reading the file, and the calls that go on to a kind.
 */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "source/format/hdf5_records.h"
#include "source/reader.h"
#include "source/source_impl.h"
#include "sys/bytes.h"
#include "sys/clock.h"
#include "sys/grow.h"
#include "sys/mapping.h"
#include "sys/plural.h"
#include "sys/whole.h"

/* Larger files are read: a 32-bit process needs its addresses for buffers. */
#define MAPPED_FILE_MAX (SIZE_MAX / 8)

/* Makes the source fail: the first error counts. */
static void fail(struct source *s, struct error error)
{
    if (atomic_exchange(&s->failed, true))
        return;
    s->error = error;
    atomic_store(&s->told, true);
}

void source_cancel(struct source *s)
{
    atomic_store(&s->failed, true);
}

bool source_fail(struct source *s, struct error error)
{
    /* Bytes that are only looked at may be anything; that they cannot be read, or that there is no
       memory, is always an error. */
    if (!s->muted || error.kind == ERROR_MEMORY || error.kind == ERROR_READ)
        fail(s, error);
    return false;
}

bool source_no_memory(struct source *s)
{
    return source_error(s, ERROR_MEMORY, "out of memory");
}

#define READ_ERROR "read error at byte %" PRIu64 ": %s"

void source_unreadable(struct source *s, uint64_t offset, int code)
{
    fail(s, error_at(ERROR_READ, offset, READ_ERROR, offset, strerror(code)));
}

/* A damaged array of the source. */
struct damage {
    size_t array;
    uint64_t place;
    struct error error;
};

/* The damage noted of an array, under the mutex; NULL for none. */
static struct damage *find_damage(const struct source_damages *d, size_t array)
{
    for (size_t i = 0; i < d->count; i++)
        if (d->list[i].array == array)
            return &d->list[i];
    return NULL;
}

/* The damage noted of an array, or an entry that is added for it; NULL without memory. */
static struct damage *add_damage(struct source_damages *d, size_t array)
{
    struct damage *found = find_damage(d, array);

    if (!found && !GROW(d->list, d->room, d->count + 1))
        return NULL;
    if (!found) {
        found = &d->list[d->count];
        *found = (struct damage){.array = array, .place = UINT64_MAX};
        atomic_fetch_add(&d->count, 1);
    }
    return found;
}

UNCHECKED void source_note_damage(struct source *s, size_t array, uint64_t place,
                                  struct error error)
{
    struct damage *damage;

    if (!s->damages.kept) {
        fail(s, error);
        return;
    }
    mutex_lock(&s->damages.mutex);
    damage = add_damage(&s->damages, array);
    if (damage && place < damage->place) {
        damage->place = place;
        damage->error = error;
    }
    mutex_unlock(&s->damages.mutex);
    if (!damage)
        (void)source_no_memory(s);
}

UNCHECKED bool source_is_damaged(struct source *s, size_t array, uint64_t place)
{
    const struct damage *damage;
    bool before;

    if (atomic_load_explicit(&s->damages.count, memory_order_relaxed) == 0)
        return false;
    mutex_lock(&s->damages.mutex);
    damage = find_damage(&s->damages, array);
    before = damage && damage->place < place;
    mutex_unlock(&s->damages.mutex);
    return before;
}

const struct error *source_damage(const struct source *s, size_t array)
{
    const struct damage *damage = s->info.container ? find_damage(&s->damages, array) : NULL;

    return damage ? &damage->error : NULL;
}

const struct error *source_why(const struct source *s)
{
    static const struct error none = {.kind = ERROR_NONE};
    const struct damage *damage = s->info.container ? NULL : find_damage(&s->damages, 0);

    return atomic_load(&s->told) ? &s->error : damage ? &damage->error : &none;
}

bool source_became_shorter(struct source *s, uint64_t missing)
{
    struct stat status;
    uint64_t end;

    /* The place where the file ends now: bytes before `missing` may be gone, too. */
    if (fstat(s->fd, &status) == 0 && (uint64_t)status.st_size < missing)
        missing = (uint64_t)status.st_size;
    end = missing > s->start ? missing - s->start : 0;
    fail(s, error_at(ERROR_CHANGED, end,
                     "ends at byte %" PRIu64 ": it became shorter while it was read", end));
    return false;
}

/* A direct read that ends inside a sector is at the end of the file. Bytes. */
#define SECTOR 512

int source_try_pread(struct source *s, int fd, void *buffer, size_t size, uint64_t offset,
                     size_t *done)
{
    const uint64_t begun = clock_now();
    int error;

    *done = pread_whole(fd, buffer, size, offset, fd == s->fd ? 1 : SECTOR, &error);
    source_count(s, *done, clock_now() - begun);
    return error || *done == size ? error : -1;
}

bool source_pread_all(struct source *s, void *buffer, size_t size, uint64_t offset)
{
    size_t done;
    const int error = source_try_pread(s, s->fd, buffer, size, offset, &done);

    if (error > 0)
        source_unreadable(s, offset + done - s->start, error);
    else if (error < 0)
        source_became_shorter(s, offset + done);
    return error == 0;
}

bool source_pread_array(struct source *s, size_t array, uint64_t place, void *buffer, size_t size,
                        uint64_t offset)
{
    size_t done;
    const int error = source_try_pread(s, s->fd, buffer, size, offset, &done);

    if (error > 0)
        source_note_damage(s, array, place,
                           error_at(ERROR_READ, offset + done - s->start, READ_ERROR,
                                    offset + done - s->start, strerror(error)));
    else if (error < 0)
        source_became_shorter(s, offset + done);
    return error == 0;
}

/* Records are read together, with what lies between their elements, up to so many bytes, where it
   takes less time to read that than to read the next record alone. Threads may have a stack of
   64 KiB. */
#define SPAN_BYTES ((size_t)16 << 10)
#define SPAN_GAP ((size_t)2 << 10)

bool source_pread_records(struct source *s, size_t array, const struct container_array *a,
                          uint64_t index, size_t count, void *elements)
{
    const size_t size = element_size(a->type);
    const uint64_t bytes = a->record_elements * size, stride = a->record_stride;
    const bool together = stride - bytes <= SPAN_GAP && stride <= SPAN_BYTES / 2;
    unsigned char span[SPAN_BYTES], *to = elements;

    while (count > 0) {
        const uint64_t offset = s->start + container_array_offset(a, index, size);
        const uint64_t left = a->record_elements - index % a->record_elements;
        size_t done = (size_t)(left < count ? left : count);

        if (together && left == a->record_elements && count / 2 >= left) {
            uint64_t records = (SPAN_BYTES - bytes) / stride + 1;

            records = records < count / left ? records : count / left;
            if (!source_pread_array(s, array, index, span, (size_t)((records - 1) * stride + bytes),
                                    offset))
                return false;
            bytes_gather(to, span, (size_t)records, (size_t)bytes, (int64_t)stride);
            done = (size_t)(records * left);
        } else if (!source_pread_array(s, array, index, to, done * size, offset)) {
            return false;
        }
        to += done * size;
        index += done;
        count -= done;
    }
    return true;
}

#define PIECE_BYTES ((size_t)64 << 10)

/* Whether `size` bytes are the same in both files; as source_same_pieces. */
static bool same_bytes(struct source *a, uint64_t at, struct source *b, uint64_t there,
                       uint64_t size, bool *same)
{
    unsigned char *const bytes = malloc(2 * PIECE_BYTES);
    bool good = bytes != NULL;

    if (!bytes)
        (void)source_no_memory(a);
    while (good && *same && size > 0) {
        const size_t some = size < PIECE_BYTES ? (size_t)size : PIECE_BYTES;

        good = source_pread_all(a, bytes, some, at) &&
               source_pread_all(b, bytes + PIECE_BYTES, some, there);
        *same = good && memcmp(bytes, bytes + PIECE_BYTES, some) == 0;
        at += some;
        there += some;
        size -= some;
    }
    free(bytes);
    return good;
}

bool source_same_pieces(struct source *a, const struct container_array *x, struct source *b,
                        const struct container_array *y, bool *same)
{
    const uint64_t count = x->pieces[0], head = x->pieces[1] + 2;
    const size_t words = HDF5_PIECE + (size_t)x->dimensions;
    const uint64_t *p = x->pieces + head, *q = y->pieces + head;

    /* The other has as many words only if it says so. */
    *same = x->dimensions == y->dimensions && y->pieces[0] == count && y->pieces[1] + 2 == head &&
            memcmp(x->pieces, y->pieces, (size_t)head * sizeof *p) == 0;
    for (uint64_t i = 0; i < count && *same; i++, p += words, q += words) {
        *same = memcmp(p + 1, q + 1, (words - 1) * sizeof *p) == 0; /* but for the offsets */
        if (*same && !same_bytes(a, p[0], b, q[0], p[1], same))
            return false;
    }
    return true;
}

unsigned char *source_map(const struct source *s, size_t *size)
{
    struct stat status;
    unsigned char *map;

    if (s->info.input_bytes < s->options.tuning->mapped_least ||
        s->start + s->info.input_bytes > MAPPED_FILE_MAX || fstat(s->fd, &status) != 0 ||
        !S_ISREG(status.st_mode))
        return NULL;
    *size = (size_t)(s->start + s->info.input_bytes);
    map = mmap(NULL, *size, PROT_READ, MAP_SHARED, s->fd, 0);
    return map == MAP_FAILED ? NULL : map;
}

unsigned source_uncached(const unsigned char *map, uint64_t offset, uint64_t size, unsigned probes)
{
    unsigned uncached = 0;

    for (unsigned i = 0; i < probes; i++) {
        uint64_t at = offset + (uint64_t)((double)(size - 1) * i / (probes - 1));
        unsigned char present;

        if (mincore((void *)(uintptr_t)(map + at / mapping_page() * mapping_page()), 1, &present) ==
            0)
            uncached += !(present & 1);
    }
    return uncached;
}

uint64_t source_left_out(const struct source *s)
{
    return atomic_load(&s->left_out);
}

bool source_is_missing(const struct source *s, uint64_t index)
{
    return s->ops->is_missing && s->ops->is_missing(s, index);
}

bool source_is_random(const struct source *s)
{
    return s->info.parallel && !s->info.compressed && !s->info.container &&
           !(s->array && container_array_whole(s->array));
}

bool source_read_at(struct source *s, uint64_t index, size_t count, void *elements)
{
    const bool good = source_read_range(s, index, count, elements);

    atomic_store(&s->input_read, s->header ? s->data_offset : 0); /* as when it was opened */
    atomic_store(&s->read_time, 0);
    if (good && s->info.swap)
        element_swap(elements, elements, count, s->info.element_size);
    return good;
}

bool source_read_range(struct source *s, uint64_t index, size_t count, void *elements)
{
    const size_t size = s->info.element_size;
    const uint64_t offset = s->start + s->data_offset + index * size;

    if (s->ops->read) {
        s->ops->read(s, index, count, elements);
        return true;
    }
    if (s->array->record_elements > 0)
        return source_pread_records(s, 0, s->array, index, count, elements);
    return source_pread_all(s, elements, count * size, offset);
}

bool source_lend(struct source *s, unsigned worker, uint64_t index, size_t count,
                 struct chunk *chunk, uint64_t *most)
{
    bool lent;

    *most = UINT64_MAX;
    lent = s->ops->lend && s->ops->lend(s, worker, index, count, chunk, most);
    *most /= s->info.element_size;
    return lent;
}

void source_took(struct source *s, unsigned worker, uint64_t count, bool lent)
{
    const uint64_t bytes = count * s->info.element_size;

    if (lent)
        source_count(s, bytes, 0);
    if (s->ops->took)
        s->ops->took(s, worker, bytes);
}

bool source_check_end(struct source *s, uint64_t size)
{
    uint64_t data = size > s->data_offset ? size - s->data_offset : 0;
    const char *where = s->info.compressed ? " of the decompressed data" : "";
    const uint64_t unit =
        s->array->record_stride > 0 ? s->array->record_stride : s->info.element_size;

    if (size < s->data_offset)
        return source_refuse(s, (struct advice){.kind = ADVICE_SKIP, .skip = s->data_offset},
                             "%s only %" PRIu64 " byte%s long, but %" PRIu64 " %s to be skipped",
                             s->info.compressed ? "the decompressed data are" : "is", size,
                             plural(size), s->data_offset, s->data_offset == 1 ? "is" : "are");
    if (s->stated != SOURCE_UNKNOWN && s->info.elements > data / s->info.element_size)
        return source_error_at(s, ERROR_DATA, size,
                               "ends at byte %" PRIu64 "%s, but its header promises %" PRIu64
                               " element%s, up to byte %" PRIu64,
                               size, where, s->stated, plural(s->stated),
                               s->data_offset + s->stated * s->info.element_size);
    return s->stated != SOURCE_UNKNOWN || data % unit == 0 ||
           s->info.elements <= source_whole_elements(s, data) ||
           source_cut_off(s, size, data % unit, unit);
}

uint64_t source_whole_elements(const struct source *s, uint64_t data)
{
    const size_t size = s->info.element_size;
    const uint64_t end = s->data_offset + data;

    return end < size ? 0 : container_elements_before(s->array, end - size + 1, size, UINT64_MAX);
}

bool source_cut_off(struct source *s, uint64_t end, uint64_t there, uint64_t size)
{
    const bool record = size > s->info.element_size;

    return source_error_at(
        s, ERROR_DATA, end - there,
        "byte %" PRIu64 "%s: the last %s%s is cut off after %" PRIu64 " of %" PRIu64 " bytes",
        end - there, s->info.compressed ? " of the decompressed data" : "",
        record ? "record" : element_name(s->info.type), record ? "" : " element", there, size);
}

const struct source_info *source_info(const struct source *s)
{
    return &s->info;
}

enum source_status source_next(struct source *s, const struct chunk_request *request,
                               struct chunk *chunk)
{
    if (source_failed(s))
        return SOURCE_FAILED;
    chunk->mapped = false;
    chunk->array = 0;
    chunk->place = NULL;
    chunk->same = false;
    chunk->found = NULL;
    return s->ops->next(s, request, chunk);
}

bool source_is_at_hand(const struct source *s, size_t array)
{
    const struct container_array *a = s->info.container ? s->picks[array].array : s->array;

    return s->ops->at && (s->ops->piece || !(a && container_array_whole(a)));
}

void source_piece(const struct source *s, uint64_t index, uint64_t *begin, uint64_t *end)
{
    *begin = index;
    *end = index + 1;
    if (s->ops->piece)
        s->ops->piece(s, index, begin, end);
}

enum source_status source_at(struct source *s, const struct chunk_request *request,
                             struct chunk *chunk)
{
    if (source_failed(s))
        return SOURCE_FAILED;
    chunk->mapped = false;
    chunk->found = NULL;
    return s->ops->at(s, request, chunk);
}

bool source_help(struct source *s)
{
    return s->ops->help && !source_failed(s) && s->ops->help(s);
}

void source_release(struct source *s, unsigned worker, const struct chunk *chunk)
{
    if (s->ops->release)
        s->ops->release(s, worker, chunk);
}

void source_return(struct source *s, unsigned worker, const void *data, size_t count)
{
    if (s->ops->returned)
        s->ops->returned(s, worker, data, count * s->info.element_size);
}

void source_leave(struct source *s, unsigned worker)
{
    if (s->ops->leave)
        s->ops->leave(s, worker);
}

bool source_lost(struct source *s, const struct chunk *chunk)
{
    if (s->ops->lost)
        s->ops->lost(s, chunk);
    return source_error(s, ERROR_CHANGED, "the file was changed while it was read");
}

/* Checks that the file still holds all that was read. Reading alone does not tell: behind the end
   of a mapped file that was truncated, the rest of the last page reads as zeros; and zstd frames
   may end just where the file ends now. */
static void check_length(struct source *s)
{
    uint64_t end = s->start + s->info.input_bytes;
    struct stat status;

    if (s->info.input_bytes == SOURCE_UNKNOWN)
        return;
    if (s->info.parallel && !s->info.compressed && !s->info.container &&
        !s->array->tiles) /* what lies behind --length may be gone */
        end = s->start + source_end_position(s);
    if (fstat(s->fd, &status) == 0 && S_ISREG(status.st_mode) && (uint64_t)status.st_size < end)
        source_became_shorter(s, (uint64_t)status.st_size);
}

static void set_input_read(struct source *s, uint64_t bytes)
{
    atomic_store(&s->input_read, bytes);
    atomic_store(&s->zstd.input_read, 0);
}

enum source_verdict source_finish(struct source *s)
{
    enum source_verdict verdict = SOURCE_BROKEN;

    if (!s->info.whole) /* that was read at one go */
        check_length(s);
    if (!source_failed(s))
        verdict = s->ops->finish ? s->ops->finish(s) : SOURCE_COMPLETE;
    /* How much was read ahead, and by which thread, is chance: it is not counted. */
    if (s->zstd.stop != SOURCE_UNKNOWN && s->info.elements == s->info.first)
        set_input_read(s, 0);
    else if (atomic_load(&s->zstd.stopped_at) != SOURCE_UNKNOWN)
        set_input_read(s, atomic_load(&s->zstd.stopped_at) - s->options.part.begin);
    return source_failed(s) || source_why(s)->kind != ERROR_NONE ? SOURCE_BROKEN : verdict;
}

uint64_t source_index(const struct source *s, uint64_t position)
{
    return s->ops->index ? s->ops->index(s, position) : position;
}

void source_limit(struct source *s, uint64_t index)
{
    uint64_t before = atomic_load(&s->limit);

    while (index < before && !atomic_compare_exchange_weak(&s->limit, &before, index))
        ;
}

bool source_limited(const struct source *s)
{
    return source_wanted(s) != SOURCE_UNKNOWN;
}

/* A counter of the source, with its zstd file's. */
static uint64_t sum(const _Atomic uint64_t *a, const _Atomic uint64_t *b)
{
    return atomic_load_explicit(a, memory_order_relaxed) +
           atomic_load_explicit(b, memory_order_relaxed);
}

struct source_stats source_stats(const struct source *s)
{
    return (struct source_stats){.input_read = sum(&s->input_read, &s->zstd.input_read),
                                 .read_time = sum(&s->read_time, &s->zstd.read_time),
                                 .decode_time = sum(&s->decode_time, &s->zstd.decode_time)};
}

void source_close(struct source *s)
{
    if (!s)
        return;
    if (s->ops->close)
        s->ops->close(s);
    if (s->reader)
        s->reader->close(s->reader);
    if (s->close_fd)
        close(s->fd);
    if (s->unpacked_bytes)
        atomic_fetch_sub(s->unpacked_bytes, s->info.input_bytes);
    zstd_file_destroy(&s->zstd);
    mutex_destroy(&s->damages.mutex);
    free(s->damages.list);
    container_close(s->container);
    free(s->picks);
    free(s->head);
    free(s->name);
    free(s);
}
