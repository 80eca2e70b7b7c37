#include "config.h"

#include "sys/stream_copy.h"

#include <stdint.h>
#include <string.h>

#if defined __SSE2__
#    include <emmintrin.h>

#    define WORD sizeof(__m128i)
#    define LINE ((size_t)64)

void stream_copy(void *to, const void *from, size_t size)
{
    const unsigned char *f = from;
    unsigned char *t = to;
    size_t head = -(uintptr_t)t % LINE;

    head = head < size ? head : size;
    memcpy(t, f, head);
    for (t += head, f += head, size -= head; size >= LINE; t += LINE, f += LINE, size -= LINE) {
        const __m128i a = _mm_loadu_si128((const __m128i *)f);
        const __m128i b = _mm_loadu_si128((const __m128i *)(f + WORD));
        const __m128i c = _mm_loadu_si128((const __m128i *)(f + 2 * WORD));
        const __m128i d = _mm_loadu_si128((const __m128i *)(f + 3 * WORD));

        _mm_stream_si128((__m128i *)t, a);
        _mm_stream_si128((__m128i *)(t + WORD), b);
        _mm_stream_si128((__m128i *)(t + 2 * WORD), c);
        _mm_stream_si128((__m128i *)(t + 3 * WORD), d);
    }
    memcpy(t, f, size);
    _mm_sfence(); /* such stores are ordered by nothing else */
}
#else
void stream_copy(void *to, const void *from, size_t size)
{
    memcpy(to, from, size);
}
#endif
