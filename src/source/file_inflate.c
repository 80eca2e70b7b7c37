/*
 * The compressed arrays of files: a worker claims one as a whole, and decompresses it piece by
 * piece.
 */
#include "config.h"

#include <inttypes.h>

#include "source/file_state.h"
#include "source/format/inflate.h"
#include "sys/clock.h"

/* A claim of an array whose compressed bytes a decoder reads. */
struct compressed {
    struct source *source;
    const struct claim *claim;
};

static bool read_compressed(void *context, void *buffer, size_t size, uint64_t offset)
{
    const struct compressed *c = context;

    return source_pread_array(c->source, c->claim->array, 0, buffer, size, offset);
}

/* Notes what is wrong with compressed data. Returns false. */
static bool compressed_wrong(struct source *s, const struct claim *claim, uint64_t offset,
                             const char *what)
{
    source_note_damage(s, ERROR_DATA, claim->array, 0, "byte %" PRIu64 ": %s", offset, what);
    return false;
}

/* Decompresses exactly `size` bytes, or, to NULL, leaves them out. False on failure. */
static bool inflate_bytes(struct source *s, struct claim *claim, unsigned char *bytes,
                          uint64_t size)
{
    unsigned char dropped[4096] = {0};
    uint64_t begun = clock_now(), read_before = atomic_load(&s->read_time);
    enum inflate_status status = INFLATE_GOOD;
    struct compressed compressed = {s, claim};

    for (uint64_t done = 0; done < size && status == INFLATE_GOOD;) {
        const uint64_t left = size - done;
        const size_t most = bytes || left < sizeof dropped ? (size_t)left : sizeof dropped;
        size_t got;

        status = inflate_read(claim->inflate, read_compressed, &compressed,
                              bytes ? bytes + done : dropped, most, &got);
        if (status == INFLATE_WRONG)
            return compressed_wrong(s, claim, inflate_offset(claim->inflate) - s->start,
                                    inflate_error(claim->inflate));
        if (status == INFLATE_GOOD && got < most)
            return compressed_wrong(s, claim, inflate_offset(claim->inflate) - s->start,
                                    "the compressed data end within the array");
        done += got;
    }
    /* Reading has been counted; other workers read, too, so that this is about right. */
    begun = clock_between(begun, clock_now());
    atomic_fetch_add_explicit(&s->decode_time,
                              clock_between(atomic_load(&s->read_time) - read_before, begun),
                              memory_order_relaxed);
    return status == INFLATE_GOOD;
}

/* Decodes what follows the array, to the end of the compressed data, which are then checked. */
static bool finish_compressed(struct source *s, struct claim *claim)
{
    const struct container_array *a = claim->compressed;
    struct compressed compressed = {s, claim};
    unsigned char dropped[4096] = {0};
    size_t got;

    do {
        switch (inflate_read(claim->inflate, read_compressed, &compressed, dropped, sizeof dropped,
                             &got)) {
        case INFLATE_GOOD:
            break;
        case INFLATE_UNREAD:
            return false;
        case INFLATE_WRONG:
            return compressed_wrong(s, claim, inflate_offset(claim->inflate) - s->start,
                                    inflate_error(claim->inflate));
        }
    } while (got == sizeof dropped);
    if (!inflate_ended(claim->inflate))
        return compressed_wrong(s, claim, inflate_offset(claim->inflate) - s->start,
                                "something follows the compressed data");
    if (inflate_checksum(claim->inflate) != a->checksum)
        return compressed_wrong(s, claim, a->offset, "the checksum of this member is wrong");
    return true;
}

bool file_inflate(struct source *s, struct claim *claim, const struct chunk_request *request,
                  struct chunk *chunk)
{
    const struct container_array *a = claim->compressed;
    const uint64_t most = request->size / claim->size;

    if (claim->index == 0) {
        if (!claim->inflate)
            claim->inflate = inflate_open();
        if (!claim->inflate)
            return compressed_wrong(s, claim, a->offset, "out of memory");
        inflate_begin(claim->inflate, s->start + a->offset, a->compressed);
        if (!inflate_bytes(s, claim, NULL, a->before))
            return false;
    }
    chunk->data = request->buffer;
    chunk->count = (size_t)(claim->count < most ? claim->count : most);
    if (!inflate_bytes(s, claim, request->buffer, chunk->count * claim->size))
        return false;
    /* With --length, what is behind that is left alone. */
    return claim->index + chunk->count < a->elements || finish_compressed(s, claim);
}
