/*
 * --axis: the results of slices as lines on standard output, or as a .npy file.
 */
#ifndef GPUREDUCE_AXIS_CLI_H
#define GPUREDUCE_AXIS_CLI_H

#include <stdbool.h>

struct arguments;
struct options;

/* Whether the options go with --axis, where it is given. If not, an error says why. */
bool axis_goes_with(struct options *options, const struct arguments *arguments);

/* Reduces one file after the other, and prints what the slices of each come to, or writes it.
   Errors are printed. */
void axis_files(struct options *options);

#endif
