/*
 * Messages on standard error, and the exit status that follows from them.
 *
 * Everything below cli hands up errors as values (core/error.h), which cli/failure.h prints. An
 * error latches the status. In cli and in the programs, a function that reports failure has printed
 * why, unless its comment says that it prints nothing. Every function may be called from any
 * thread. A line is written whole, by one system call: other processes may write to
 * the same file, as the ranks of a job and their launcher do. So nothing else in this program
 * writes to standard error.
 */
#ifndef GPUREDUCE_MESSAGE_H
#define GPUREDUCE_MESSAGE_H

#include <stdbool.h>

enum exit_status {
    EXIT_OK = 0,
    EXIT_FAILED = 1, /* input, output or device failure */
    EXIT_USAGE = 2,  /* the command line is wrong */
    EXIT_NO_GPU = 3  /* a GPU was required and there is none to use */
};

#define MESSAGE_FORMAT(string, first) __attribute__((format(printf, string, first)))

/* The program's name, put before every line. It must outlive every other call. */
void message_program(const char *name);

/* Which messages are printed from now on: only one of several processes with the same messages
   prints them. A message that is not printed still affects the status. */
enum message_choice { MESSAGE_ALL, MESSAGE_NOTHING };
void message_choose(enum message_choice choice);

/* Prints "name: text" as a line and raises the exit status to `status`. Returns false. */
bool message_error(enum exit_status status, const char *format, ...) MESSAGE_FORMAT(2, 3);

/* Prints "name: warning: text" as a line. */
void message_warning(const char *format, ...) MESSAGE_FORMAT(1, 2);

/* Prints a line as it is: statistics. */
void message_line(const char *format, ...) MESSAGE_FORMAT(1, 2);

/* Shows `text` on the terminal's last line until the next message or call; NULL or "" erases it. A
   background job writes nothing. A text that is not shorter than message_columns may not be
   erased as a whole; of one of more than 4000 bytes the end is left out. */
void message_transient(const char *text);

/* Whether standard error is a terminal that can erase a line, as one of the type dumb cannot. */
bool message_erasable(void);

/* The columns of the terminal that a descriptor is; 80 where it does not say, or is none. */
unsigned message_columns(int fd);

/* The worst status so far. */
enum exit_status message_status(void);

/* The text for errno; "out of memory" for ENOMEM. As with strerror, it is valid until the next
   call. */
const char *message_errno(void);

#endif
