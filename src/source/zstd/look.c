#include "config.h"

#include "source/zstd/look.h"

#include <stdlib.h>
#include <sys/mman.h>

#include "source/zstd/context.h"

struct zstd_frame zstd_first_frame(const unsigned char *bytes, size_t size)
{
    const struct zstd_frame unknown = {.window = SOURCE_UNKNOWN, .content = SOURCE_UNKNOWN};
    struct zstd_frame frame;
    uint64_t skip;

    while ((skip = zstd_skippable_size(bytes, size)) > 0) {
        if (skip >= size)
            return unknown;
        bytes += skip;
        size -= (size_t)skip;
    }
    return zstd_read_header(bytes, size, 0, &frame) ? frame : unknown;
}

/* Pages that are asked for. */
#define PROBES 32

static bool is_uncached(const struct source *s)
{
    size_t size;
    unsigned char *map = source_map(s, &size);
    unsigned uncached;

    if (!map)
        return false;
    uncached = source_uncached(map, s->start, s->info.input_bytes, PROBES);
    munmap(map, size);
    return uncached > PROBES / 2;
}

/* How much of a beginning is decoded: bytes of the file, and of what they decode to, about. */
#define RATIO_INPUT ((size_t)512 << 10)
#define RATIO_CONTENT ((size_t)8 << 20)

/* Bytes that tell how many more libzstd wants to begin a frame. */
#define FRAME_BEGINS 5

/* Decodes the beginning, as far as that can be done, and returns how many bytes one of it decodes
   to; 0 where it decodes to nothing. libzstd gets no more than it asks for: so what it has taken
   when something comes out is what that comes from. */
static double decode_beginning(ZSTD_DCtx *context, const void *bytes, size_t size, void *room)
{
    ZSTD_inBuffer in = {bytes, 0, 0};
    size_t content = 0, from = 0, wanted = FRAME_BEGINS;
    bool more = true;

    while (more && content < RATIO_CONTENT) {
        ZSTD_outBuffer out = {room, ZSTD_DStreamOutSize(), 0};
        const size_t before = in.pos;

        in.size = wanted < size - in.pos ? in.pos + wanted : size;
        wanted = ZSTD_decompressStream(context, &out, &in);
        if (ZSTD_isError(wanted))
            break;
        wanted = wanted > 0 ? wanted : FRAME_BEGINS;
        content += out.pos;
        from = out.pos > 0 ? in.pos : from;
        more = out.pos > 0 || in.pos > before;
    }
    return from > 0 ? (double)content / (double)from : 0;
}

/* The ratio at the beginning of a file. Also 0 without memory, or if it cannot be read: the source
   then fails. */
static double ratio_at_beginning(struct source *s)
{
    unsigned char *bytes = malloc(RATIO_INPUT), *room = malloc(ZSTD_DStreamOutSize());
    ZSTD_DCtx *context = zstd_context_open(s);
    double ratio = 0;

    if (bytes && room && context) {
        const ptrdiff_t got = source_pread(s, bytes, RATIO_INPUT, s->start);

        atomic_store(&s->input_read, 0); /* it is read again */
        atomic_store(&s->read_time, 0);
        if (got > 0)
            ratio = decode_beginning(context, bytes, (size_t)got, room);
    }
    ZSTD_freeDCtx(context);
    free(room);
    free(bytes);
    return ratio;
}

void zstd_look(struct source *s, bool closely, struct source_facts *facts)
{
    const struct zstd_frame first = zstd_first_frame(s->head, s->head_size);

    facts->content = first.content;
    facts->checked = first.checksum && !s->no_check;
    if (!closely)
        return;
    facts->uncached = is_uncached(s);
    if (first.content == SOURCE_UNKNOWN || first.content < s->info.input_bytes)
        facts->ratio = ratio_at_beginning(s);
}
