#include "config.h"

#include "bench/common/series.h"

#include <stdlib.h>

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

struct series series_of(double *samples, unsigned count)
{
    struct series s = {.count = count};

    if (count == 0)
        return s;
    qsort(samples, count, sizeof *samples, compare);
    s.least = samples[0];
    s.most = samples[count - 1];
    s.median = (samples[(count - 1) / 2] + samples[count / 2]) / 2;
    return s;
}
