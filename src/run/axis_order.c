#include "config.h"

#include "run/axis_order.h"

#include <stdlib.h>

static void write_locked(struct axis_order *o) REQUIRES(axis_order_role);
static bool make_room_locked(struct axis_order *o) REQUIRES(axis_order_role);
static void insert_locked(struct axis_order *o, const struct axis_piece *piece)
    REQUIRES(axis_order_role);
static struct axis_piece remove_locked(struct axis_order *o) REQUIRES(axis_order_role);
static void spare_locked(struct axis_order *o, struct buffer bytes) REQUIRES(axis_order_role);

UNCHECKED void axis_order_open(struct axis_order *o)
{
    mutex_init(&o->mutex);
    pthread_cond_init(&o->room, NULL);
    o->next = 0;
    o->waiting = NULL;
    o->spare = NULL;
    o->waiting_count = o->waiting_room = o->waiting_bytes = o->spare_count = 0;
    o->writing = o->failed = false;
}

UNCHECKED void axis_order_close(struct axis_order *o)
{
    for (size_t i = 0; i < o->waiting_count; i++)
        free(o->waiting[i].bytes.data);
    for (size_t i = 0; i < o->spare_count; i++)
        free(o->spare[i].data);
    free(o->waiting);
    free(o->spare);
    pthread_cond_destroy(&o->room);
    mutex_destroy(&o->mutex);
}

/* Makes room for one more piece that waits. False without memory. */
static bool make_room_locked(struct axis_order *o)
{
    const size_t room = o->waiting_room ? 2 * o->waiting_room : 64;
    struct axis_piece *waiting;
    struct buffer *spare;

    if (o->waiting_count < o->waiting_room)
        return true;
    waiting = realloc(o->waiting, room * sizeof *waiting);
    if (waiting)
        o->waiting = waiting;
    spare = realloc(o->spare, room * sizeof *spare);
    if (spare)
        o->spare = spare;
    if (!waiting || !spare)
        return false;
    o->waiting_room = room;
    return true;
}

/* Adds a piece to those that wait. There is room. */
static void insert_locked(struct axis_order *o, const struct axis_piece *piece)
{
    size_t i = o->waiting_count++;

    while (i > 0 && o->waiting[(i - 1) / 2].first > piece->first) {
        o->waiting[i] = o->waiting[(i - 1) / 2];
        i = (i - 1) / 2;
    }
    o->waiting[i] = *piece;
    o->waiting_bytes += piece->bytes.size;
}

/* Takes the first piece of those that wait; there is one. */
static struct axis_piece remove_locked(struct axis_order *o)
{
    const struct axis_piece first = o->waiting[0], last = o->waiting[--o->waiting_count];
    const size_t count = o->waiting_count;
    size_t i = 0, child;

    while ((child = 2 * i + 1) < count) {
        if (child + 1 < count && o->waiting[child + 1].first < o->waiting[child].first)
            child++;
        if (o->waiting[child].first >= last.first)
            break;
        o->waiting[i] = o->waiting[child];
        i = child;
    }
    o->waiting[i] = last;
    return first;
}

/* Keeps the memory of a piece. */
static void spare_locked(struct axis_order *o, struct buffer bytes)
{
    bytes.size = 0;
    if (bytes.data && o->spare_count < o->waiting_room)
        o->spare[o->spare_count++] = bytes;
    else
        free(bytes.data);
}

/* Writes what is next. Drops the mutex while it does. */
static void write_locked(struct axis_order *o)
{
    o->writing = true;
    while (o->waiting_count > 0 && o->waiting[0].first == o->next && !o->failed) {
        const struct axis_piece piece = remove_locked(o);
        bool written;

        axis_order_unlock(o);
        written = !o->write || o->write(o->write_context, piece.first, piece.bytes.data,
                                        piece.bytes.size, piece.error);
        if (piece.refused)
            o->refuse(o->refuse_context, &piece);
        axis_order_lock(o);
        o->next += written ? piece.count : 0;
        o->waiting_bytes -= piece.bytes.size;
        o->failed = o->failed || !written || piece.refused;
        spare_locked(o, piece.bytes);
        pthread_cond_broadcast(&o->room);
    }
    o->writing = false;
    pthread_cond_broadcast(&o->room);
}

bool axis_order_put(struct axis_order *o, struct axis_piece *piece)
{
    bool good;

    axis_order_lock(o);
    if (!o->failed && make_room_locked(o)) {
        insert_locked(o, piece);
        if (!o->writing)
            write_locked(o);
    } else {
        o->no_memory = o->no_memory || !o->failed;
        o->failed = true;
        free(piece->bytes.data);
        pthread_cond_broadcast(&o->room);
    }
    *piece = (struct axis_piece){0};
    if (o->spare_count > 0)
        piece->bytes = o->spare[--o->spare_count];
    good = !o->failed;
    axis_order_unlock(o);
    return good;
}

bool axis_order_no_memory(struct axis_order *o)
{
    bool no_memory;

    axis_order_lock(o);
    no_memory = o->no_memory;
    axis_order_unlock(o);
    return no_memory;
}

void axis_order_fail(struct axis_order *o)
{
    axis_order_lock(o);
    o->failed = true;
    pthread_cond_broadcast(&o->room);
    axis_order_unlock(o);
}

void axis_order_wait(struct axis_order *o)
{
    axis_order_lock(o);
    while (o->waiting_bytes > AXIS_ORDER_WAITING && o->writing && !o->failed)
        axis_order_wait_for(o, &o->room);
    axis_order_unlock(o);
}

uint64_t axis_order_written(struct axis_order *o)
{
    uint64_t written;

    axis_order_lock(o);
    written = o->next;
    axis_order_unlock(o);
    return written;
}
