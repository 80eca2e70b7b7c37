/*
 * The samples of one measurement: their median, least and most. Pure functions.
 */
#ifndef GPUREDUCE_BENCH_SERIES_H
#define GPUREDUCE_BENCH_SERIES_H

struct series {
    double median, least, most; /* in the unit of the samples; 0 when there are none */
    unsigned count;
};

/* Sorts the `count` samples, and returns what is printed of them. The median of an even number of
   samples is the mean of the two in the middle. */
struct series series_of(double *samples, unsigned count);

#endif
