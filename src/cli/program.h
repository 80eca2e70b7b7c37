/*
 * The program gpureduce, from its arguments to its exit status.
 */
#ifndef GPUREDUCE_CLI_PROGRAM_H
#define GPUREDUCE_CLI_PROGRAM_H

struct session_tuning;
struct source_tuning;

/* Does all of main's work. NULL: the tuning that is shipped. */
int program_main(int argc, char **argv, const struct source_tuning *source,
                 const struct session_tuning *session);

#endif
