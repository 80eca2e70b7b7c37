/*
 * Data and zstd files for tests of decoders: many kinds of content, compressed by libzstd in many
 * ways, and damage done to such files. Everything follows from a seed.
 */
#ifndef TESTS_ZSTD_SAMPLES_H
#define TESTS_ZSTD_SAMPLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A random number; *state is brought up to date. */
uint64_t sample_random(uint64_t *state);

/* Kinds of content, from 0 to SAMPLE_KINDS - 1. */
#define SAMPLE_KINDS 12
const char *sample_kind_name(unsigned kind);

/* `size` bytes of a kind. */
void sample_fill(unsigned kind, unsigned char *bytes, size_t size, uint64_t seed);

/* How it is compressed. Zeros are libzstd's defaults. */
struct sample_settings {
    int level;
    size_t frame;      /* bytes of content of each frame; 0: one frame */
    int window_log;    /* 0: as the level has it */
    int target;        /* bytes of a compressed block that are aimed at, from 64 on */
    bool long_range;   /* long distance matching */
    bool checksum;     /* the frame has one */
    bool no_size;      /* the frame does not state its size */
    bool raw_literals; /* literals are not compressed */
    bool skippable;    /* skippable frames between frames */
};

/* Random ones. */
struct sample_settings sample_settings_draw(uint64_t *state);

/* One line of them. */
void sample_settings_print(const struct sample_settings *s, char *text, size_t size);

/* Compresses; returns allocated memory, NULL without. */
unsigned char *sample_compress(const unsigned char *bytes, size_t size,
                               const struct sample_settings *s, size_t *compressed);

/* Changes a few bytes, or cuts the end off. Returns the new size. */
size_t sample_damage(unsigned char *bytes, size_t size, uint64_t *state);

/* A file of one frame whose matches reach further back than the window that it states, which makes
   it invalid. */
unsigned char *sample_beyond_window(size_t *size);

/* Decodes all frames of a file by libzstd. Returns whether it takes all of it; *size is how many
   bytes it holds, in allocated memory of `capacity` bytes at most. */
bool sample_decompress(const unsigned char *bytes, size_t size, unsigned char **content,
                       size_t *content_size, size_t capacity);

#endif
