/*
 * JSON: a function for writers, and a reader.
 */
#ifndef GPUREDUCE_JSON_H
#define GPUREDUCE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The text of a decimal number in JSON: that of "-0" is "-0.0", since many readers take numbers
   without a point for integers, which have no negative zero. Returns `decimal` or a constant. */
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
 * Anything else is an error. After an error all functions return false or NULL, so it suffices to
 * check json_read_end. A reader belongs to one thread.
 */

/* The most arrays and objects that may be nested; more are an error. */
#define JSON_DEPTH_MAX 64

struct json_reader {
    const char *at; /* the next byte; after an error, a byte near the error */
    unsigned depth; /* arrays and objects around it */
    bool first;     /* nothing has been read of the innermost array or object */
    bool failed;    /* there was an error */
    bool python;    /* NaN, Infinity and -Infinity are values, too, as Python writes them */
};

/* Begins to read `text`, which must remain until the end. */
void json_read(struct json_reader *r, const char *text);
void json_read_python(struct json_reader *r, const char *text);

/* Enters an object if `bracket` is '{', or an array if it is '['. */
bool json_read_begin(struct json_reader *r, char bracket);

/* Whether another member or element follows. If not, leaves the object or array, which ends with
   `bracket`. */
bool json_read_more(struct json_reader *r, char bracket);

/* Reads a string into `text`, with a NUL. Errors are a string that does not fit into `size`
   bytes, U+0000, and an escaped surrogate without its pair. After an error `text` is empty. */
bool json_read_string(struct json_reader *r, char *text, size_t size);

/* Reads a member's name and the colon into `text`, in the way of json_read_string, but cuts off
   a name that does not fit. If all names that the caller knows are shorter than size - 1, it is
   none of them. */
bool json_read_key(struct json_reader *r, char *text, size_t size);

/* Read a string, or a member's name and the colon, and decode it in the text of json_read, which
   must be writable. Returns the string in there, with a NUL; NULL after an error. */
char *json_read_string_here(struct json_reader *r);
char *json_read_key_here(struct json_reader *r);

/* Reads an integer less than 2^64, without sign, fraction and exponent. */
bool json_read_integer(struct json_reader *r, uint64_t *x);

/* Reads a finite number. */
bool json_read_number(struct json_reader *r, double *x);

/* Reads the text of a number of any magnitude. A text that does not fit into `size` bytes is an
   error. After an error `text` is empty. */
bool json_read_number_text(struct json_reader *r, char *text, size_t size);

/* Skips space. */
void json_read_space(struct json_reader *r);

/* Reads NaN, Infinity or -Infinity. NULL, without an error, if something else follows, or these are no
   values. */
const char *json_read_word(struct json_reader *r);

/* Reads null. False, without an error, if something else follows. */
bool json_read_null(struct json_reader *r);

/* Reads and ignores any value. */
bool json_read_skip(struct json_reader *r);

/* Whether there was no error, and only space follows. To be called after the outermost value. */
bool json_read_end(struct json_reader *r);

#endif
