/*
 * Reading memory that may vanish: a mapped file that somebody truncates raises SIGBUS at the next
 * access beyond its new end. mapping_guard turns that into a return value.
 */
#ifndef GPUREDUCE_MAPPING_H
#define GPUREDUCE_MAPPING_H

#include <stdbool.h>

/* Calls body(argument). Returns false when it was broken off by a SIGBUS of this thread; what it
   was doing is then half done. body must hold no lock and own nothing that has to be released.
   Any thread may call it; the first call installs a handler of SIGBUS for the process. */
bool mapping_guard(void (*body)(void *), void *argument);

#endif
