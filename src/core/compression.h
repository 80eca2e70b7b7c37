/*
 * Compressions that other formats lie inside.
 */
#ifndef GPUREDUCE_COMPRESSION_H
#define GPUREDUCE_COMPRESSION_H

enum compression {
    COMPRESSION_NONE,
    COMPRESSION_ZSTD, /* RFC 8878 */
    COMPRESSION_GZIP, /* RFC 1952, and so bgzf */
    COMPRESSION_ZLIB  /* RFC 1950 */
};

#define COMPRESSIONS 4

/* For each compression, the name of a format inside it. */
#define COMPRESSION_NAMES(name)                        \
    {                                                  \
        name, name "+zstd", name "+gzip", name "+zlib" \
    }

#endif
