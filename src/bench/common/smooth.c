#include "config.h"

#include "bench/common/smooth.h"

#include "bench/common/random.h"

/* A field has rows of so many elements; an image of so many pixels, of three colours each. */
#define FIELD_ROW 2048
#define IMAGE_ROW 1024
#define COLOURS 3

/* Lattices of a field and of a series: their cells are 2^this wide, at most, and the largest ones
   of a series besides. */
#define FIELD_OCTAVES 9
#define SERIES_OCTAVES 12
#define WAVE_LOG2 14

/* Interpolates between a and b, with t from 0 to 1: smoothly at both ends. */
static double between(double a, double b, double t)
{
    return a + (b - a) * (t * t * (3 - 2 * t));
}

/* The lines of a lattice's points above and below a row, by their keys, and how far the row is from
   the one above. */
struct lines {
    uint64_t above, below;
    double t;
};

/* A random number from -1 to 1 at a point of a line. */
static double point(uint64_t line, uint64_t x)
{
    return (double)(int64_t)(random_mix(line + x * RANDOM_GOLDEN) >> 11) * 0x1p-52 - 1;
}

/* The value at x, interpolated between the two points beside it. */
static double column(const struct lines *lines, uint64_t x)
{
    return between(point(lines->above, x), point(lines->below, x), lines->t);
}

/* Adds `size` times the noise of a lattice, whose cells are 2^log2 wide, at the points (x + i, y).
 */
static void add_lattice(double *out, uint64_t key, double size, unsigned log2, uint64_t x,
                        uint64_t y, size_t count)
{
    const uint64_t mask = (UINT64_C(1) << log2) - 1, row = y >> log2;
    const double width = (double)(int64_t)(mask + 1);
    const struct lines lines = {key + random_mix(row + RANDOM_GOLDEN),
                                key + random_mix(row + 1 + RANDOM_GOLDEN),
                                (double)(int64_t)(y & mask) / width};
    double left, right = column(&lines, x >> log2);

    for (size_t i = 0; i < count;) {
        left = right;
        right = column(&lines, ((x + i) >> log2) + 1);
        for (uint64_t at = (x + i) & mask; at <= mask && i < count; at++, i++)
            out[i] += size * between(left, right, (double)(int64_t)at / width);
    }
}

/* Adds lattices from 2^log2 down to 2^least, each of 1/sqrt(2) the size of the one before, to
   within a part in a thousand: what has the spectrum of a random walk along a line. */
static void add_octaves(double *out, uint64_t key, double size, unsigned log2, unsigned least,
                        uint64_t x, uint64_t y, size_t count)
{
    for (unsigned l = log2 + 1; l-- > least;) {
        add_lattice(out, random_mix(key + l), size, l, x, y, count);
        size *= 0.7071;
    }
}

/* The nearest whole number; |x| is below 2^50. */
static double nearest(double x)
{
    const double large = 0x1.8p52;

    return x + large - large;
}

/* Makes numbers of a field in two dimensions, such as temperatures in kelvins. */
static void field_numbers(double *x, uint64_t seed, uint64_t first, size_t count)
{
    for (size_t i = 0; i < count;) {
        const uint64_t at = (first + i) % FIELD_ROW, row = (first + i) / FIELD_ROW;
        const size_t left = FIELD_ROW - (size_t)at;
        const size_t n = count - i < left ? count - i : left;

        for (size_t j = 0; j < n; j++)
            x[i + j] = 280;
        add_octaves(x + i, seed, 26, FIELD_OCTAVES, 1, at, row, n);
        i += n;
    }
}

/* A slow wave, what walks about it, and noise, to one decimal: what a sensor says. */
static void series_numbers(double *x, uint64_t seed, uint64_t first, size_t count)
{
    for (size_t i = 0; i < count; i++)
        x[i] = 20;
    add_lattice(x, random_mix(seed), 8, WAVE_LOG2, first, 0, count);
    add_octaves(x, seed, 0.8, SERIES_OCTAVES, 0, first, 0, count);
    for (size_t i = 0; i < count; i++)
        x[i] = nearest(x[i] * 10) / 10;
}

/* Brightness that the colours share, a little of their own, and noise; from 0 to 255, over 255. */
static void image_numbers(double *x, uint64_t seed, uint64_t first, size_t count)
{
    const uint64_t begin = first / COLOURS;
    const size_t pixels = (size_t)((first + count - 1) / COLOURS - begin) + 1;
    double plane[SMOOTH_MAX / COLOURS + 2];

    for (uint64_t colour = 0; colour < COLOURS; colour++) {
        for (size_t i = 0; i < pixels;) {
            const uint64_t at = (begin + i) % IMAGE_ROW, row = (begin + i) / IMAGE_ROW;
            const size_t left = IMAGE_ROW - (size_t)at;
            const size_t n = pixels - i < left ? pixels - i : left;

            for (size_t j = 0; j < n; j++)
                plane[i + j] = 120;
            add_octaves(plane + i, seed, 60, FIELD_OCTAVES, 3, at, row, n);
            add_octaves(plane + i, random_mix(seed + colour + 1), 12, FIELD_OCTAVES - 1, 3, at, row,
                        n);
            add_lattice(plane + i, random_mix(seed ^ (colour + 1)), 4, 0, at, row, n);
            i += n;
        }
        for (size_t i = 0; i < pixels; i++) {
            const uint64_t element = (begin + i) * COLOURS + colour;
            double value = nearest(plane[i]);

            value = value < 0 ? 0 : value > 255 ? 255 : value;
            if (element >= first && element < first + count)
                x[element - first] = value / 255;
        }
    }
}

void smooth_numbers(double *x, enum distribution d, uint64_t seed, uint64_t first, size_t count)
{
    if (count == 0)
        return;
    if (d == DISTRIBUTION_SERIES)
        series_numbers(x, seed, first, count);
    else if (d == DISTRIBUTION_IMAGE)
        image_numbers(x, seed, first, count);
    else
        field_numbers(x, seed, first, count);
    for (size_t i = 0; d == DISTRIBUTION_STEPS && i < count; i++)
        x[i] = nearest(x[i] * 100) / 100;
}
