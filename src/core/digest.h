/*
 * Digests: whether two arrays have the same type, count, order and bits, whatever files they are in.
 *
 * The elements in C order, as little-endian bytes, are words w_j of 32 bits, the last of which may be
 * filled up with zeros. With r = j mod 1024 and t = j div 1024, the sum of w_j A_r B_t modulo
 * 2^127 - 1 is the same in any order, so that the digests of parts are added. A_r and B_t are of
 * SplitMix64 (G. L. Steele, D. Lea and C. H. Flood, "Fast splittable pseudorandom number
 * generators", 2014): A_r has 62 bits, so that the products of two words with half of it are below
 * 2^64. doc/numerics.md has the bounds.
 *
 * A tile is 1024 words, which have one B_t. Functions here may be called by several threads at a
 * time, each with sums of its own.
 */
#ifndef GPUREDUCE_DIGEST_H
#define GPUREDUCE_DIGEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/digest_arithmetic.h"
#include "core/element.h"

/* Writes 32 hexadecimal digits and a NUL. */
#define DIGEST_DIGITS 32
void digest_write(char text[DIGEST_DIGITS + 1], const struct digest *d);

/* Reads 32 hexadecimal digits in small letters. False if there are others, or the number is too
   large. */
bool digest_read(struct digest *d, const char *text);

/* The digest of all of an array: what is shown. */
struct digest_value {
    struct digest sum;
    uint64_t count; /* elements */
    enum element_type type;
};

/* Room for a digest that is shown, with its NUL. */
#define DIGEST_TEXT_MAX 64

/* Writes a digest as it is shown: "f32:3:" and 32 hexadecimal digits, a permutation of the sum that
   the count chooses, so that some of the digits serve as well as any others. Returns its length. */
size_t digest_show(char text[DIGEST_TEXT_MAX], const struct digest_value *value);

/* Whether a text may be a digest that is shown. */
bool digest_is_text(const char *text);

/*
 * Sums of elements.
 */

#define DIGEST_TILE 1024
#define DIGEST_TILE_BYTES ((size_t)4 * DIGEST_TILE)

/* The factors A_r of pairs of words, by the number of the pair: the lower 31 bits, and the upper
   ones, of those of the even and the odd word; and, for kernels that multiply 52 bits, all of it, and
   the upper 10 bits. A vector has pairs as lanes of 64 bits. */
struct digest_factors {
    uint64_t even[DIGEST_TILE / 2], even_upper[DIGEST_TILE / 2];
    uint64_t odd[DIGEST_TILE / 2], odd_upper[DIGEST_TILE / 2];
    uint64_t even_all[DIGEST_TILE / 2], even_top[DIGEST_TILE / 2];
    uint64_t odd_all[DIGEST_TILE / 2], odd_top[DIGEST_TILE / 2];
};

/* The sum of w_j A_r of words of a tile: the sums of the products with the lower and with the upper
   halves of A_r, each as a sum of lower and of upper 32 bits. */
struct digest_tile {
    uint64_t low, high, upper_low, upper_high;
};

/* Tells whether elements that were added are finite numbers. An infinity or a NaN has all bits of the
   exponent, and only then adding 1 to it carries. The elements of a pair of words are told at once. */
struct digest_watch {
    uint64_t exponent; /* its bits in each element */
    uint64_t one;      /* its lowest bit in each element */
    uint64_t carries;  /* has the bits above exponents that were carried to; kernels add to it */
};

/* Adds `count` pairs of words in this machine's byte order, which is little-endian, to a tile;
   `first` is the number of the first pair in it. `words` may have any alignment. `watch` is NULL
   where another kernel takes the elements next: it counts those that are not finite, and asks for
   memory ahead. */
typedef void digest_kernel(struct digest_tile *tile, const struct digest_factors *factors,
                           struct digest_watch *watch, const void *words, size_t first,
                           size_t count);

/* The kernel without vectors. */
digest_kernel digest_add_pairs;

/* The sum of elements of one type. It is large, and belongs to one thread. */
struct digest_sum {
    struct digest_factors factors;
    digest_kernel *kernel;
    size_t size;             /* bytes of an element */
    bool truth;              /* elements are false, a zero byte, or true, any other */
    struct digest done;      /* all but the tile */
    struct digest_tile tile; /* the last tile that elements came to */
    uint64_t number;         /* its number */
    bool watches;
    struct digest_watch watch; /* if it does */
};

/* Makes it one of no elements of a type. */
void digest_sum_open(struct digest_sum *s, digest_kernel *kernel, enum element_type type);

/* Makes an open sum one of no elements of another type, or of the same. */
void digest_sum_clear(struct digest_sum *s, enum element_type type);

/* Adds `count` elements, in this machine's byte order and with any alignment, whose indices begin
   with `index`. */
void digest_sum_take(struct digest_sum *s, const void *elements, size_t count, uint64_t index);

/* Adds `count` elements that are all as the one at `element`. */
void digest_sum_take_same(struct digest_sum *s, const void *element, uint64_t count,
                          uint64_t index);

/* Has a sum of no elements, of this type, tell whether they are finite. */
void digest_sum_watch(struct digest_sum *s, enum element_type type);

/* Whether all elements are finite numbers that were added since the last call, of a sum that watches.
   After digest_sum_take_same it may be false for others. */
bool digest_sum_was_finite(struct digest_sum *s);

/* The sum so far; more may be added. */
struct digest digest_sum_find(const struct digest_sum *s);

#endif
