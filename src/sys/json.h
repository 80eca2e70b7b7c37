/*
 * JSON: what its writers share, and a small reader.
 */
#ifndef GPUREDUCE_JSON_H
#define GPUREDUCE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Writes a string of JSON, quotes included, escaped as escape.h has it. Errors are left to the
   stream. */
void json_string(FILE *out, const char *string);

/* A decimal as it stands in JSON: -0 as -0.0. Many readers take numbers without a point for
   integers, which have no such zero. Returns `decimal`, or a text that stays. */
const char *json_decimal(const char *decimal);

/*
 * Reading, strictly by RFC 8259. The caller says what it expects and asks for the parts in order:
 *
 *     json_read_begin(&r, '{');
 *     while (json_read_more(&r, '}')) {
 *         json_read_key(&r, key, sizeof key);
 *         ...one value...
 *     }
 *
 * Anything else than the expected is an error. It latches: everything returns false from then on,
 * so that only json_read_end need be asked.
 */

/* Arrays and objects may lie this deep in each other; deeper ones are an error. */
#define JSON_DEPTH_MAX 16

struct json_reader {
    const char *at; /* where it stands; after an error, the byte that is wrong or one near it */
    unsigned depth;
    bool first; /* nothing has been read of the innermost array or object */
    bool failed;
};

/* Begins to read `text`, which stays there meanwhile. */
void json_read(struct json_reader *r, const char *text);

/* Enters an object, bracket '{', or an array, '['. */
bool json_read_begin(struct json_reader *r, char bracket);

/* Whether one more member or element follows; if none does, leaves what `bracket` ends. */
bool json_read_more(struct json_reader *r, char bracket);

/* A string, to `text` with a NUL. One that has no room, or holds U+0000 or half a pair of
   surrogates written as \u, is an error. After an error `text` is empty: who has not asked yet may
   compare it. */
bool json_read_string(struct json_reader *r, char *text, size_t size);

/* A member's name and the colon after it, likewise, but that a name without room is cut off: it is
   none that the caller knows, if those are shorter than size - 1. */
bool json_read_key(struct json_reader *r, char *text, size_t size);

/* A string, or a member's name and the colon after it, decoded where it stands: `text` must be
   memory that may be written to. It ends with a NUL, and is there as long as that. NULL after an
   error. */
char *json_read_string_here(struct json_reader *r);
char *json_read_key_here(struct json_reader *r);

/* An integer below 2^64, without a sign, a fraction and an exponent. */
bool json_read_integer(struct json_reader *r, uint64_t *x);

/* A finite number. */
bool json_read_number(struct json_reader *r, double *x);

/* A number, finite or not, as it is written: for those that a double does not hold. Longer ones
   than `text` has room for are an error. After an error `text` is empty. */
bool json_read_number_text(struct json_reader *r, char *text, size_t size);

/* Goes to what stands after space. */
void json_read_space(struct json_reader *r);

/* null, if that comes next. False, and no error, if something else does. */
bool json_read_null(struct json_reader *r);

/* Any value, to be left out. */
bool json_read_skip(struct json_reader *r);

/* After the outermost value: whether nothing but space follows, and there was no error. */
bool json_read_end(struct json_reader *r);

#endif
