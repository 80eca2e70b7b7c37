#include "config.h"

#include "engine/cpu/slices_integer.h"

#include "engine/cpu/slices_keys.h"

/* Rows that a kernel takes together. */
#define TOGETHER 256

/* Elements of a row, or rows of columns, that are added up before the slices get them: sums of 32
   bits are below 2^52, and those of 16 and less fit 31 bits. */
#define LENGTH_MOST ((size_t)1 << 20)
#define ROWS_MOST ((size_t)1 << 15)

_Static_assert(TOGETHER <= CPU_INTEGER_COLUMNS, "there is room for rows");

/* Adds a sum, below 2^53: what is rounded is an integer, too, and the sum of all such is small. */
static void add_sum(const struct cpu_slice_results *s, size_t i, int64_t sum)
{
    double error;

    s->high[i] = exact_two_sum(s->high[i], (double)sum, &error);
    s->low[i] += error;
}

/* The narrow key of an integer, which is a binary32. */
static int32_t narrow_key(int64_t x)
{
    const float value = (float)(int32_t)x;
    int32_t bits;

    memcpy(&bits, &value, sizeof bits);
    return slices_order(bits);
}

/* Takes the extremes of a slice: the keys of floats that are equal. */
static void take_keys(const struct cpu_slice_results *s, size_t key_size, size_t i, int64_t min,
                      int64_t max)
{
    if (key_size == sizeof(int32_t)) {
        int32_t *mins = s->min, *maxs = s->max;
        const int32_t low = narrow_key(min), high = narrow_key(max);

        mins[i] = low < mins[i] ? low : mins[i];
        maxs[i] = high > maxs[i] ? high : maxs[i];
    } else {
        int64_t *mins = s->min, *maxs = s->max;
        const int64_t least = exact_key((double)min), greatest = exact_key((double)max);

        mins[i] = least < mins[i] ? least : mins[i];
        maxs[i] = greatest > maxs[i] ? greatest : maxs[i];
    }
}

static void add_found(const struct cpu_slice_results *s, size_t key_size, size_t first,
                      size_t count, const struct cpu_integer_found *found)
{
    for (size_t i = 0; i < count; i++)
        add_sum(s, first + i, found->sum[i]);
    for (size_t i = 0; s->min && i < count; i++)
        take_keys(s, key_size, first + i, found->min[i], found->max[i]);
}

void cpu_slices_integer_rows(const struct cpu_integer_slices *kernels,
                             struct cpu_integer_found *found, const struct cpu_slice_results *to,
                             size_t key_size, const unsigned char *x, size_t rows, size_t length,
                             size_t size)
{
    const size_t together = length > LENGTH_MOST ? 1 : TOGETHER;
    for (size_t i = 0; i < rows; i += together) {
        const size_t n = rows - i < together ? rows - i : together;

        for (size_t at = 0; at < length; at += LENGTH_MOST) {
            const size_t part = length - at < LENGTH_MOST ? length - at : LENGTH_MOST;

            kernels->rows(x + (i * length + at) * size, n, part, found->sum,
                          to->min ? found->min : NULL, found->max);
            add_found(to, key_size, i, n, found);
        }
    }
}

size_t cpu_slices_integer_columns_of(size_t columns, size_t size)
{
    const size_t line = 64 / size;

    return columns / line * line;
}

void cpu_slices_integer_columns(const struct cpu_integer_slices *kernels,
                                struct cpu_integer_found *found, const struct cpu_slice_results *to,
                                size_t key_size, const unsigned char *x, size_t stride, size_t rows,
                                size_t columns, size_t size)
{
    for (size_t i = 0; i < rows; i += ROWS_MOST) {
        const size_t n = rows - i < ROWS_MOST ? rows - i : ROWS_MOST;

        for (size_t j = 0; j < columns; j += CPU_INTEGER_COLUMNS) {
            const size_t some =
                columns - j < CPU_INTEGER_COLUMNS ? columns - j : CPU_INTEGER_COLUMNS;

            kernels->columns(x + i * stride + j * size, stride, n, some, found->sum,
                             to->min ? found->min : NULL, found->max);
            add_found(to, key_size, j, some, found);
        }
    }
}
