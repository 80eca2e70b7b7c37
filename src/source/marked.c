#include "config.h"

#include "source/marked.h"

#include <string.h>

#include "core/order.h"

/* Elements that are marked together. */
#define TOGETHER 512

void marked_set(struct marked *m, const struct view *view)
{
    static const enum element_type wider[ELEMENT_TYPES] = {
        [ELEMENT_BOOL] = ELEMENT_I16, [ELEMENT_I8] = ELEMENT_I16,  [ELEMENT_U8] = ELEMENT_I16,
        [ELEMENT_I16] = ELEMENT_I32,  [ELEMENT_U16] = ELEMENT_I32, [ELEMENT_I32] = ELEMENT_I64,
        [ELEMENT_U32] = ELEMENT_I64};
    const bool whole =
        element_is_integer(view->type) && element_size(view->type) < sizeof(uint64_t);

    *m = (struct marked){.view = view, .type = whole ? wider[view->type] : view->type};
}

/* Elements of the view, in this machine's byte order. */
static void gather(const struct marked *m, uint64_t first, size_t count, void *to)
{
    view_gather(m->view, first, count, to);
    if (m->view->swap)
        element_swap(to, to, count, element_size(m->view->type));
}

/* An integer of 64 bits that no element has. */
static uint64_t find_absent(const struct marked *m)
{
    const uint64_t elements = m->view->elements;
    uint64_t x[TOGETHER];

    /* As far apart as can be, and the least first. */
    for (uint64_t candidate = UINT64_C(1) << 63;; candidate += UINT64_C(0x9e3779b97f4a7c15)) {
        bool absent = true;

        for (uint64_t i = 0; i < elements && absent; i += TOGETHER) {
            const size_t some = elements - i < TOGETHER ? (size_t)(elements - i) : TOGETHER;
            unsigned same = 0;

            gather(m, i, some, x);
            for (size_t j = 0; j < some; j++)
                same |= x[j] == candidate;
            absent = !same;
        }
        if (absent)
            return candidate;
    }
}

const char *marked_choose(struct marked *m, const struct missing_values *values,
                          struct missing *missing)
{
    const enum element_type given = m->view->type;
    const char *const lacking = missing_add_values(&m->missing, given, values);
    const size_t bits = 8 * element_size(m->type);
    struct integer first;

    m->mark = m->type != given            ? UINT64_C(1) << (bits - 1)
              : element_is_integer(given) ? find_absent(m)
                                          : UINT64_MAX >> (64 - bits);
    *missing = (struct missing){.count = 1, .nameless = m->missing.count == 0};
    missing->ranges[0].first = missing->ranges[0].last = order_key(m->type, m->mark);
    if (m->missing.count > 0 && element_is_integer(given)) {
        first = order_integer(given, order_key(given, missing_bits(&m->missing, given)));
        missing->value = (first.negative ? -first.low : first.low) & UINT64_MAX >> (64 - bits);
        (void)missing_add_bits(missing, m->type, missing->value);
    }
    return lacking;
}

/* Finds which of some elements are missing: 1, else 0. */
static void find_gone(const struct marked *m, uint64_t first, size_t count, const void *elements,
                      uint8_t gone[TOGETHER])
{
    const struct view *v = m->view;
    const unsigned char *const mask = v->mask;
    const uint64_t at = v->mask_offset + first;
    const size_t size = element_size(v->type);

    switch (v->mask_form) {
    case VIEW_MASK_NONE:
        memset(gone, 0, count);
        break;
    case VIEW_MASK_MISSING_BYTES:
        for (size_t i = 0; i < count; i++)
            gone[i] = mask[at + i] != 0;
        break;
    case VIEW_MASK_VALID_BYTES:
        for (size_t i = 0; i < count; i++)
            gone[i] = mask[at + i] == 0;
        break;
    case VIEW_MASK_VALID_BITS:
        for (size_t i = 0; i < count; i++)
            gone[i] = !(mask[(at + i) / 8] >> (at + i) % 8 & 1);
        break;
    }
    for (size_t i = 0; i < count && m->missing.count > 0; i++) {
        const uint64_t bits = element_bits(size, (const unsigned char *)elements + i * size);

        gone[i] |= missing_has(&m->missing, order_key(v->type, bits));
    }
}

/* Elements that are looked at together: compilers make vectors of loops of known length. */
#define BLOCK 64
_Static_assert(TOGETHER % BLOCK == 0, "whole blocks");

/* NAME(to, from, gone, mark, other): marks elements that keep their type; those that look like the mark
   become `other`. */
#define MARK(NAME, LANE)                                                                      \
    static void NAME(void *to, const void *from, const uint8_t *gone, uint64_t mark,          \
                     uint64_t other)                                                          \
    {                                                                                         \
        const LANE marked = (LANE)mark, instead = (LANE)(mark ^ other);                       \
                                                                                              \
        for (size_t i = 0; i < TOGETHER; i += BLOCK)                                          \
            for (size_t j = 0; j < BLOCK; j++) {                                              \
                const LANE x = ((const LANE *)from)[i + j], all = (LANE)(int8_t)-gone[i + j]; \
                const LANE same = (LANE) - (LANE)(x == marked);                               \
                const LANE y = (LANE)(x ^ (instead & same));                                  \
                                                                                              \
                ((LANE *)to)[i + j] = (LANE)(y ^ ((y ^ marked) & all));                       \
            }                                                                                 \
    }
MARK(mark8, uint8_t)
MARK(mark16, uint16_t)
MARK(mark32, uint32_t)
MARK(mark64, uint64_t)

/* NAME(to, from, gone): marks elements that become those of a larger type. */
#define WIDEN(NAME, LANE, WIDE, LEAST, TRUTH)                            \
    static void NAME(void *to, const void *from, const uint8_t *gone)    \
    {                                                                    \
        for (size_t i = 0; i < TOGETHER; i += BLOCK)                     \
            for (size_t j = 0; j < BLOCK; j++) {                         \
                const WIDE x = (WIDE)(TRUTH((const LANE *)from)[i + j]); \
                const WIDE all = (WIDE)(int8_t)-gone[i + j];             \
                                                                         \
                ((WIDE *)to)[i + j] = (WIDE)(x ^ ((x ^ (LEAST)) & all)); \
            }                                                            \
    }
WIDEN(widen_bool, uint8_t, int16_t, INT16_MIN, !!)
WIDEN(widen_i8, int8_t, int16_t, INT16_MIN, )
WIDEN(widen_u8, uint8_t, int16_t, INT16_MIN, )
WIDEN(widen_i16, int16_t, int32_t, INT32_MIN, )
WIDEN(widen_u16, uint16_t, int32_t, INT32_MIN, )
WIDEN(widen_i32, int32_t, int64_t, INT64_MIN, )
WIDEN(widen_u32, uint32_t, int64_t, INT64_MIN, )

void marked_gather(const struct marked *m, uint64_t first, size_t count, void *to)
{
    static void (*const widen[ELEMENT_TYPES])(void *, const void *, const uint8_t *) = {
        [ELEMENT_BOOL] = widen_bool, [ELEMENT_I8] = widen_i8,   [ELEMENT_U8] = widen_u8,
        [ELEMENT_I16] = widen_i16,   [ELEMENT_U16] = widen_u16, [ELEMENT_I32] = widen_i32,
        [ELEMENT_U32] = widen_u32};
    static void (*const mark[])(void *, const void *, const uint8_t *, uint64_t,
                                uint64_t) = {[1] = mark8, [2] = mark16, [4] = mark32, [8] = mark64};
    const enum element_type given = m->view->type;
    const size_t size = element_size(m->type);
    unsigned char *out = to;
    _Alignas(uint64_t) unsigned char elements[TOGETHER * sizeof(uint64_t)] = {0};
    _Alignas(uint64_t) unsigned char made[sizeof elements];
    uint8_t gone[TOGETHER] = {0};

    for (size_t i = 0; i < count; i += TOGETHER) {
        const size_t some = count - i < TOGETHER ? count - i : TOGETHER;

        gather(m, first + i, some, elements);
        find_gone(m, first + i, some, elements, gone);
        if (m->type != given)
            widen[given](made, elements, gone);
        else
            mark[size](made, elements, gone, m->mark, m->mark & ~order_sign(given));
        memcpy(out + i * size, made, some * size);
    }
}
