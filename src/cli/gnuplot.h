/*
 * Plots: gnuplot is handed a script, and draws it. Functions that fail have printed why, unless
 * their comment says otherwise.
 */
#ifndef GPUREDUCE_GNUPLOT_H
#define GPUREDUCE_GNUPLOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* The format that the ending of a path asks for: "svg" or "png"; NULL, with nothing printed, for
   any other. */
const char *gnuplot_format(const char *path);

/* Whether a plot can be written to `path`, and there is a gnuplot to do it. */
bool gnuplot_possible(const char *path);

/* Writes a string of gnuplot's, for titles and data blocks; its line breaks are kept. Left out is
   what means something there: gnuplot would run what stands between backquotes. */
void gnuplot_write_string(FILE *out, const char *text);

/* Writes the beginning of a script: what is drawn on, in the format, of so many pixels. */
void gnuplot_write_terminal(FILE *out, const char *format, size_t width, size_t height);

/* Runs a script, from where its stream stands; its output becomes the file. Its messages are shown if
   it fails. */
bool gnuplot_draw(FILE *script, const char *path);

#endif
