/*
 * Decoders of compressed chunks. Any bytes: nothing is read or written outside of them and of the
 * content, whose size is drawn; and all of the content is made by the bytes, if they are taken.
 *
 * The last bytes decide which decoder, and the size.
 */
#include "config.h"

#include "fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "source/format/filters.h"

#define CONTENT_MAX 4096

/* Undoes a filter, over bytes that are all `before`. NULL where the input is refused. */
static unsigned char *undo(struct codec_memory *m, const struct container_filter *f,
                           const struct fuzz_input *in, size_t out, int before)
{
    /* As small as they may be, so that a step beyond is seen. */
    unsigned char *from = malloc(in->size), *to = malloc(out);

    fuzz_check(from && to, "out of memory");
    memcpy(from, in->data, in->size);
    memset(to, before, out);
    if (filter_of(f->kind)->undo(m, f, from, in->size, to, out)) {
        free(to);
        to = NULL;
    }
    free(from);
    return to;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input in = {data, size};
    struct codec_memory *m = codec_open();
    struct container_filter f = {0};
    size_t out;

    fuzz_check(m, "out of memory");
    do {
        f.kind = (enum container_filter_kind)fuzz_below(&in, CONTAINER_FILTER_KINDS);
    } while (filter_of(f.kind)->checksum && in.size > 0);
    for (size_t i = 0; i < CONTAINER_FILTER_VALUES; i++)
        f.values[i] = (uint32_t)fuzz_below(&in, 64);
    out = (size_t)fuzz_below(&in, CONTENT_MAX) + 1;
    if (!filter_compresses(&f))
        out = in.size;
    if (!filter_of(f.kind)->checksum && !filter_refusal(&f) && in.size > 0) {
        unsigned char *zeros = undo(m, &f, &in, out, 0), *ones = undo(m, &f, &in, out, 255);

        fuzz_check(!zeros == !ones, "taken once and refused once");
        fuzz_check(!zeros || memcmp(zeros, ones, out) == 0, "not all of the content is made");
        free(zeros);
        free(ones);
    }
    codec_close(m);
    return 0;
}
