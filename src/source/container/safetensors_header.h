/*
 * The header of a safetensors file as it is read, which safetensors.c, safetensors_array.c and
 * safetensors_usual.c share.
 */
#ifndef GPUREDUCE_SAFETENSORS_HEADER_H
#define GPUREDUCE_SAFETENSORS_HEADER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "source/container/container.h"
#include "sys/json.h"

/* The header's length stands in so many bytes. */
#define HEADER_PREFIX 8

/* The longest header that the format's own library takes; bytes. */
#define HEADER_MAX ((uint64_t)100000000)

/* The longest name of a type, and a byte that tells longer ones from it. */
#define TYPE_NAME_MAX 16

/* Zeros behind a text: it ends there, and words are compared without a look at its end. */
#define HEADER_ZEROS 32

/* A header as it is read. */
struct safetensors_header {
    struct container *container;
    struct container_input *in;
    struct json_reader json;
    const char *text;   /* text that the reader is in: a piece, or container->text */
    uint64_t text_at;   /* where that begins in the header */
    size_t length;      /* bytes of the header */
    bool metadata;      /* __metadata__ has been read */
    uint64_t data;      /* offset in the file behind the header */
    size_t sizes_count; /* of container->sizes in use */
    size_t sizes_room;
};

/* An entry of the header: an array, as far as it has been read. */
struct safetensors_entry {
    uint64_t at; /* offset in the file of its description */
    bool has_type, has_shape, has_offsets;
    char type[TYPE_NAME_MAX];
    uint64_t begin, end; /* from `data` on */
    size_t first_size;   /* where its shape stands in container->sizes */
    unsigned dimensions;
};

/* The place in the file of what is read next, or of what is wrong. */
static inline uint64_t safetensors_place(const struct safetensors_header *h)
{
    return HEADER_PREFIX + h->text_at + (uint64_t)(h->json.at - h->text);
}

/* Makes room for one more size. False without memory. */
bool safetensors_grow_sizes(struct safetensors_header *h);

/* Adds an array whose description has been read, and that is consistent in itself. Else says what
   is wrong. */
bool safetensors_add(struct safetensors_header *h, const char *name,
                     const struct safetensors_entry *e);

/* Reads an integer of up to 18 digits, as most are. False, with nothing read, for all else. */
bool safetensors_plain_integer(struct safetensors_header *h, uint64_t *x);

/* Reads a description as the format's own library writes it: without space, and with its members in
   this order. False, with nothing read, for all else, be it right or wrong. */
bool safetensors_usual_entry(struct safetensors_header *h, struct safetensors_entry *e);

/* Reads what is usual of a long header, from its beginning on, and sets *at to where that ends, 0
   for none. The reader then stands there in memory that is gone. False on failure. */
bool safetensors_usual(struct safetensors_header *h, size_t *at);

#endif
