#include "config.h"

#include "zstd/flight.h"

#include <stdlib.h>
#include <string.h>

/* A block with so many bytes of literals to a sequence or more has them placed by whoever decodes
   it. Fewer are copied as fast by who carries it out; more would make that the bottleneck. */
#define SPARSE_LITERALS 160

#define BLOCK_HEADER 3
enum block_type { BLOCK_RAW, BLOCK_RUN, BLOCK_COMPRESSED, BLOCK_RESERVED };

void zstd_flight_close(struct zstd_flight *f)
{
    free(f->literals);
    free(f->sequences);
}

enum zstd_flight_walked zstd_flight_walk(struct zstd_flight *f, struct zstd_view *view,
                                         struct zstd_frame *walk, struct zstd_tables *tables,
                                         struct zstd_fault *fault)
{
    const uint64_t at = walk->position;
    uint32_t header;

    if (!zstd_block(view, walk, fault))
        return ZSTD_FLIGHT_FAULT;
    if (walk->position > view->file->size) {
        *fault = (struct zstd_fault){.kind = ZSTD_CUT_OFF, .frame = walk->begin};
        return ZSTD_FLIGHT_FAULT;
    }
    f->bytes = view->map + at + BLOCK_HEADER;
    f->size = (uint32_t)(walk->position - at - BLOCK_HEADER);
    f->last = walk->end != ZSTD_UNKNOWN;
    f->behind = walk->position;
    f->state = ZSTD_FLIGHT_WALKED;
    f->place = NULL;
    header = view->map[at] | (uint32_t)view->map[at + 1] << 8 | (uint32_t)view->map[at + 2] << 16;
    f->parts = (struct zstd_block_parts){.literals.type = ZSTD_LITERALS_RAW};
    f->sized = true;
    switch ((enum block_type)(header >> 1 & 3)) {
    case BLOCK_RUN:
        f->parts.literals.type = ZSTD_LITERALS_RUN;
        f->parts.literals.size = header >> 3;
        break;
    case BLOCK_COMPRESSED:
        if (!zstd_block_parse(f->bytes, f->size, (size_t)walk->block_most, tables, &f->parts))
            return ZSTD_FLIGHT_REFUSED;
        f->tables = *tables;
        f->sized = f->parts.sequences == 0;
        break;
    case BLOCK_RAW:
    case BLOCK_RESERVED: /* refused by zstd_block */
        f->parts.literals.size = f->size;
        break;
    }
    /* A file that is written to meanwhile may say something else than when zstd_block looked. */
    if (f->parts.literals.size > walk->block_most)
        return ZSTD_FLIGHT_REFUSED;
    f->content = f->parts.literals.size;
    return ZSTD_FLIGHT_SOUND;
}

bool zstd_flight_sparse(const struct zstd_flight *f)
{
    return f->parts.sequences > 0 &&
           (uint64_t)f->parts.sequences * SPARSE_LITERALS < f->parts.literals.size;
}

bool zstd_flight_decode_sequences(struct zstd_flight *f, struct zstd_scratch *scratch,
                                  const struct zstd_frame *frame)
{
    const size_t most = (size_t)frame->block_most;
    const uint32_t room = zstd_sequences_room(f->parts.sequences, most);

    if ((uint64_t)f->parts.sequences * ZSTD_MATCH_MIN > most)
        return false;
    if (f->room < room) {
        free(f->sequences);
        f->sequences = malloc(room * sizeof *f->sequences);
        f->room = f->sequences ? room : 0;
        if (!f->sequences)
            return false;
    }
    return zstd_sequences_decode(&scratch->sequences, f->bytes, f->size, &f->parts, &f->tables,
                                 most, frame->window, f->sequences, &f->result);
}

bool zstd_flight_decode_literals(struct zstd_flight *f, struct zstd_scratch *scratch,
                                 unsigned char *out)
{
    if (!out && !f->literals)
        f->literals = malloc((size_t)ZSTD_BLOCK_CONTENT_MAX + ZSTD_EXECUTE_BEHIND);
    if (!out)
        out = f->literals;
    return out &&
           zstd_literals_decode(&scratch->literals, f->bytes, &f->parts.literals, &f->tables, out);
}

void zstd_flight_place(struct zstd_flight *f, unsigned char *out)
{
    zstd_place_literals(out, f->content, f->literals, f->parts.literals.size, f->sequences,
                        f->parts.sequences > 0 ? f->result.count : 0);
}

bool zstd_flight_execute(struct zstd_flight *f, const struct zstd_place *place,
                         struct zstd_history *history, uint64_t window)
{
    if (!zstd_execute(place, f->content, f->literals, f->parts.literals.size, f->sequences,
                      f->result.count, history, window, zstd_flight_sparse(f)))
        return false;
    zstd_history_resolve(&f->result.history, history);
    *history = f->result.history;
    return true;
}
