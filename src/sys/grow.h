/*
 * Arrays on the heap that grow as they are filled.
 */
#ifndef GPUREDUCE_GROW_H
#define GPUREDUCE_GROW_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* GROW, where `list` is the address of the pointer, and elements have `size` bytes. */
static inline bool grow_list(void *list, size_t size, size_t *room, size_t count)
{
    const size_t more = count > 2 * *room + 16 ? count : 2 * *room + 16;
    void *memory;

    if (count <= *room)
        return true;
    memcpy(&memory, list, sizeof memory);
    memory = more <= SIZE_MAX / size ? realloc(memory, more * size) : NULL;
    if (!memory)
        return false;
    memcpy(list, &memory, sizeof memory);
    *room = more;
    return true;
}

/* Makes room for `count` elements in all where `list` points, which is NULL or memory for `room`.
   False without memory: then both stay. */
#define GROW(list, room, count) grow_list(&(list), sizeof *(list), &(room), count)

#endif
