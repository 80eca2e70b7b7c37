#include "config.h"

#include "source/format/ggml.h"

#include "core/element.h"
#include "sys/bytes.h"

static double binary16(const unsigned char *p)
{
    const uint16_t bits = (uint16_t)bytes_number(p, 2, false);

    return element_load(ELEMENT_F16, &bits);
}

/*
 * Blocks of 32 numbers. The low halves of bytes are the first 16 of them.
 */

static void decode_q4_0(const unsigned char *restrict b, double *restrict y)
{
    const double d = binary16(b);

    for (int i = 0; i < 16; i++) {
        y[i] = d * ((b[2 + i] & 15) - 8);
        y[i + 16] = d * ((b[2 + i] >> 4) - 8);
    }
}

static void decode_q4_1(const unsigned char *restrict b, double *restrict y)
{
    const double d = binary16(b), m = binary16(b + 2);

    for (int i = 0; i < 16; i++) {
        y[i] = d * (b[4 + i] & 15) + m;
        y[i + 16] = d * (b[4 + i] >> 4) + m;
    }
}

static void decode_q5_0(const unsigned char *restrict b, double *restrict y)
{
    const double d = binary16(b);
    const uint32_t high = (uint32_t)bytes_number(b + 2, 4, false);

    for (int i = 0; i < 16; i++) {
        y[i] = d * ((int)((b[6 + i] & 15U) | (high >> i << 4 & 16)) - 16);
        y[i + 16] = d * ((int)(b[6 + i] >> 4U | (high >> (i + 16) << 4 & 16)) - 16);
    }
}

static void decode_q5_1(const unsigned char *restrict b, double *restrict y)
{
    const double d = binary16(b), m = binary16(b + 2);
    const uint32_t high = (uint32_t)bytes_number(b + 4, 4, false);

    for (int i = 0; i < 16; i++) {
        y[i] = d * (int)((b[8 + i] & 15U) | (high >> i << 4 & 16)) + m;
        y[i + 16] = d * (int)(b[8 + i] >> 4U | (high >> (i + 16) << 4 & 16)) + m;
    }
}

static void decode_q8_0(const unsigned char *restrict b, double *restrict y)
{
    const double d = binary16(b);

    for (int i = 0; i < 32; i++)
        y[i] = d * (int8_t)b[2 + i];
}

static const int8_t iq4_values[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                      1,    13,   25,  38,  53,  69,  89,  113};

/* Numbers of 4 bits that stand for these values. */
static void decode_nibbles(const unsigned char *from, int bytes, const int8_t values[16], double d,
                           double *y)
{
    for (int i = 0; i < bytes; i++) {
        y[i] = d * values[from[i] & 15];
        y[i + bytes] = d * values[from[i] >> 4];
    }
}

static void decode_iq4_nl(const unsigned char *restrict b, double *restrict y)
{
    decode_nibbles(b + 2, 16, iq4_values, binary16(b), y);
}

/* Twice the values of floats of 4 bits, E2M1. */
static const int8_t e2m1_values[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

/* Half the value of a scale: a power of two, from 2^-128 on. */
static double half_e8m0(unsigned char bits)
{
    const uint64_t exponent = UINT64_C(1023) - 128 + bits;
    const uint64_t number = exponent << 52;

    return element_load(ELEMENT_F64, &number);
}

static void decode_mxfp4(const unsigned char *restrict b, double *restrict y)
{
    decode_nibbles(b + 1, 16, e2m1_values, half_e8m0(b[0]), y);
}

/* Half the value of a scale: E4M3 without a sign, whose greatest number counts as 0. */
static double half_ue4m3(unsigned char bits)
{
    const unsigned exponent = bits >> 3 & 15U, mantissa = bits & 7U;
    double value = exponent > 0 ? 8 + mantissa : mantissa;

    if (bits == 0x7f)
        return 0;
    for (unsigned i = 1; i < exponent; i++)
        value *= 2;
    return value / 1024;
}

/* 64 numbers, of which 16 have one scale. */
static void decode_nvfp4(const unsigned char *restrict b, double *restrict y)
{
    for (int i = 0; i < 4; i++)
        decode_nibbles(b + 4 + (size_t)8 * i, 8, e2m1_values, half_ue4m3(b[i]), y + (size_t)16 * i);
}

/*
 * Blocks of 256 numbers, of which 16 or 32 have one scale.
 */

static void decode_q2_k(const unsigned char *restrict b, double *restrict y)
{
    const double d = binary16(b + 80), e = binary16(b + 82);

    for (int g = 0; g < 16; g++) {
        const double scale = d * (b[g] & 15), least = e * (b[g] >> 4);
        const unsigned char *const q = b + 16 + (size_t)(g / 8 * 32 + g % 2 * 16);
        const int shift = g % 8 / 2 * 2;

        for (int i = 0; i < 16; i++)
            y[16 * g + i] = scale * (q[i] >> shift & 3) - least;
    }
}

static void decode_q3_k(const unsigned char *restrict b, double *restrict y)
{
    const double d = binary16(b + 108);
    const unsigned char *const scales = b + 96;

    for (int g = 0; g < 16; g++) {
        const int low = g < 8 ? scales[g] & 15 : scales[g - 8] >> 4;
        const double scale = d * ((low | (scales[8 + g % 4] >> g / 4 * 2 & 3) << 4) - 32);
        const unsigned char *const q = b + 32 + (size_t)(g / 8 * 32 + g % 2 * 16);
        const unsigned char *const high = b + (size_t)(g % 2) * 16;

        for (int i = 0; i < 16; i++)
            y[16 * g + i] = scale * ((q[i] >> g % 8 / 2 * 2 & 3) + (high[i] >> g / 2 << 2 & 4) - 4);
    }
}

/* The scale and the least number of 32 numbers: 6 bits each, of which the upper ones of the last four
   are those of the bytes of the first four. */
static void find_scale(const unsigned char *scales, int group, int *scale, int *least)
{
    if (group < 4) {
        *scale = scales[group] & 63;
        *least = scales[group + 4] & 63;
    } else {
        *scale = (scales[group + 4] & 15) | scales[group - 4] >> 6 << 4;
        *least = scales[group + 4] >> 4 | scales[group] >> 6 << 4;
    }
}

static void decode_q4_k(const unsigned char *restrict b, double *restrict y)
{
    const double d = binary16(b), e = binary16(b + 2);

    for (int g = 0; g < 8; g++) {
        const unsigned char *const q = b + 16 + (size_t)(g / 2) * 32;
        int s = 0, m = 0;

        find_scale(b + 4, g, &s, &m);
        {
            const double scale = d * s, least = e * m;

            for (int i = 0; i < 32; i++)
                y[32 * g + i] = scale * (q[i] >> g % 2 * 4 & 15) - least;
        }
    }
}

static void decode_q5_k(const unsigned char *restrict b, double *restrict y)
{
    const double d = binary16(b), e = binary16(b + 2);

    for (int g = 0; g < 8; g++) {
        const unsigned char *const q = b + 48 + (size_t)(g / 2) * 32, *const high = b + 16;
        int s = 0, m = 0;

        find_scale(b + 4, g, &s, &m);
        {
            const double scale = d * s, least = e * m;

            for (int i = 0; i < 32; i++)
                y[32 * g + i] =
                    scale * ((q[i] >> g % 2 * 4 & 15) + (high[i] >> g << 4 & 16)) - least;
        }
    }
}

static void decode_q6_k(const unsigned char *restrict b, double *restrict y)
{
    const double d = binary16(b + 208);

    for (int g = 0; g < 16; g++) {
        const double scale = d * (int8_t)b[192 + g];
        const unsigned char *const low = b + (size_t)(g / 8 * 64 + g % 4 * 16);
        const unsigned char *const high = b + 128 + (size_t)(g / 8 * 32 + g % 2 * 16);
        const int shift = g % 8 / 4 * 4, up = g % 8 / 2 * 2;

        for (int i = 0; i < 16; i++)
            y[16 * g + i] = scale * ((low[i] >> shift & 15) + (high[i] >> up << 4 & 48) - 32);
    }
}

static void decode_q8_k(const unsigned char *restrict b, double *restrict y)
{
    const uint32_t bits = (uint32_t)bytes_number(b, 4, false);
    const double d = element_load(ELEMENT_F32, &bits);

    for (int i = 0; i < 256; i++)
        y[i] = d * (int8_t)b[4 + i];
}

static void decode_iq4_xs(const unsigned char *restrict b, double *restrict y)
{
    const double d = binary16(b);
    const unsigned high = (unsigned)bytes_number(b + 2, 2, false);

    for (int g = 0; g < 8; g++) {
        const unsigned scale = (b[4 + g / 2] >> g % 2 * 4 & 15U) | (high >> 2 * g & 3) << 4;

        decode_nibbles(b + 8 + (size_t)16 * g, 16, iq4_values, d * ((int)scale - 32),
                       y + (size_t)32 * g);
    }
}

/* Five numbers of a byte, -1, 0 or 1: the byte is a fraction of 256 in base 3. The first of all bytes
   come first. */
static double *decode_thirds(const unsigned char *from, int bytes, int numbers, double d, double *y)
{
    for (unsigned power = 1; numbers > 0; numbers--, power *= 3)
        for (int i = 0; i < bytes; i++)
            *y++ = d * ((int)((from[i] * power & 255) * 3 >> 8) - 1);
    return y;
}

static void decode_tq1_0(const unsigned char *restrict b, double *restrict y)
{
    const double d = binary16(b + 52);
    double *p = decode_thirds(b, 32, 5, d, y);

    p = decode_thirds(b + 32, 16, 5, d, p);
    (void)decode_thirds(b + 48, 4, 4, d, p);
}

static void decode_tq2_0(const unsigned char *restrict b, double *restrict y)
{
    const double d = binary16(b + 64);

    for (int g = 0; g < 8; g++)
        for (int i = 0; i < 32; i++)
            y[32 * g + i] = d * ((b[g / 4 * 32 + i] >> g % 4 * 2 & 3) - 1);
}

static const struct ggml_type types[] = {
    [2] = {32, 18, decode_q4_0},      [3] = {32, 20, decode_q4_1},
    [6] = {32, 22, decode_q5_0},      [7] = {32, 24, decode_q5_1},
    [8] = {32, 34, decode_q8_0},      [10] = {256, 84, decode_q2_k},
    [11] = {256, 110, decode_q3_k},   [12] = {256, 144, decode_q4_k},
    [13] = {256, 176, decode_q5_k},   [14] = {256, 210, decode_q6_k},
    [15] = {256, 292, decode_q8_k},   [20] = {32, 18, decode_iq4_nl},
    [23] = {256, 136, decode_iq4_xs}, [34] = {256, 54, decode_tq1_0},
    [35] = {256, 66, decode_tq2_0},   [39] = {32, 17, decode_mxfp4},
    [40] = {64, 36, decode_nvfp4},
};

const struct ggml_type *ggml_find(uint32_t number)
{
    return number < sizeof types / sizeof *types && types[number].decode ? &types[number] : NULL;
}
