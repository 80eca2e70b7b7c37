#include "config.h"

#include "run/axis_order.h"

#include <stdlib.h>

#include "sys/message.h"

static void lock(struct axis_order *o) ACQUIRE(axis_order_role);
static void unlock(struct axis_order *o) RELEASE(axis_order_role);
static void write_locked(struct axis_order *o) REQUIRES(axis_order_role);
static void insert_locked(struct axis_order *o, struct axis_piece *piece) REQUIRES(axis_order_role);

UNCHECKED static void lock(struct axis_order *o)
{
    mutex_lock(&o->mutex);
}

UNCHECKED static void unlock(struct axis_order *o)
{
    mutex_unlock(&o->mutex);
}

void *axis_bytes_extend(struct axis_bytes *b, size_t more)
{
    if (!b->data || b->room - b->size < more) {
        const size_t least =
            b->size + more > 0 ? b->size + more : 1; /* NULL says no memory alone */
        const size_t room = 2 * b->room > least ? 2 * b->room : least;
        unsigned char *data = realloc(b->data, room);

        if (!data)
            return NULL;
        b->data = data;
        b->room = room;
    }
    return b->data + b->size;
}

UNCHECKED void axis_order_open(struct axis_order *o)
{
    mutex_init(&o->mutex);
    pthread_cond_init(&o->room, NULL);
    o->next = 0;
    o->waiting = NULL;
    o->waiting_bytes = 0;
    o->writing = o->failed = false;
}

UNCHECKED void axis_order_close(struct axis_order *o)
{
    while (o->waiting) {
        struct axis_piece *piece = o->waiting;

        o->waiting = piece->next;
        free(piece->bytes.data);
        free(piece);
    }
    pthread_cond_destroy(&o->room);
    mutex_destroy(&o->mutex);
}

/* Most pieces come last, or nearly so; few wait. */
static void insert_locked(struct axis_order *o, struct axis_piece *piece)
{
    struct axis_piece **place = &o->waiting;

    while (*place && (*place)->first < piece->first)
        place = &(*place)->next;
    piece->next = *place;
    *place = piece;
    o->waiting_bytes += piece->bytes.size;
}

/* Writes what is next. Drops the mutex while it does. */
static void write_locked(struct axis_order *o)
{
    o->writing = true;
    while (o->waiting && o->waiting->first == o->next && !o->failed) {
        struct axis_piece *piece = o->waiting;
        bool good;

        o->waiting = piece->next;
        unlock(o);
        good = o->write(o->write_context, piece->bytes.data, piece->bytes.size);
        if (piece->refused)
            o->refuse(o->refuse_context, piece);
        good = good && !piece->refused;
        lock(o);
        o->next += piece->count;
        o->waiting_bytes -= piece->bytes.size;
        o->failed = o->failed || !good;
        free(piece->bytes.data);
        free(piece);
        pthread_cond_broadcast(&o->room);
    }
    o->writing = false;
    pthread_cond_broadcast(&o->room);
}

bool axis_order_put(struct axis_order *o, const struct axis_piece *piece)
{
    struct axis_piece *kept = malloc(sizeof *kept);
    bool good;

    lock(o);
    if (kept && !o->failed) {
        *kept = *piece;
        insert_locked(o, kept);
        if (!o->writing)
            write_locked(o);
    } else {
        if (!o->failed)
            message_error(EXIT_FAILED, "out of memory");
        o->failed = true;
        free(piece->bytes.data);
        free(kept);
        pthread_cond_broadcast(&o->room);
    }
    good = !o->failed;
    unlock(o);
    return good;
}

void axis_order_fail(struct axis_order *o)
{
    lock(o);
    o->failed = true;
    pthread_cond_broadcast(&o->room);
    unlock(o);
}

UNCHECKED void axis_order_wait(struct axis_order *o)
{
    mutex_lock(&o->mutex);
    while (o->waiting_bytes > AXIS_ORDER_WAITING && o->writing && !o->failed)
        mutex_wait(&o->mutex, &o->room);
    mutex_unlock(&o->mutex);
}

uint64_t axis_order_written(struct axis_order *o)
{
    uint64_t written;

    lock(o);
    written = o->next;
    unlock(o);
    return written;
}
