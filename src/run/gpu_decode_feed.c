#include "config.h"

#include "run/gpu_decode_feed.h"

#include "source/compressed.h"

UNCHECKED void feed_lock(struct feed *x)
{
    mutex_lock(&x->mutex);
}

UNCHECKED void feed_unlock(struct feed *x)
{
    mutex_unlock(&x->mutex);
}

void feed_end_locked(struct feed *x)
{
    x->ended = x->over = true;
    pthread_cond_broadcast(&x->changed);
}

void feed_wrong_checksum(struct feed *x, uint64_t frame)
{
    struct source *s = x->run->source;

    if (x->run->info->input_bytes == SOURCE_UNKNOWN)
        compressed_wrong_checksum(s, frame);
    compressed_refuse(s);
    atomic_store(&x->decode->given_up, true);
}
