#include "config.h"

#include "cuda/runtime/pinned.h"

#include <cuda_runtime_api.h>
#include <stdint.h>
#include <stdlib.h>

#include "cuda/runtime/check.h"
#include "sys/mapping.h"

/* Memory to be pinned: in huge pages, and touched. Registering that takes a tenth of the time of
   cudaHostAlloc (37 against 350 ms a GiB). For free(). */
static unsigned char *touched_alloc(size_t size)
{
    unsigned char *memory = mapping_alloc(size);

    for (size_t i = 0; memory && i < size; i += mapping_page())
        memory[i] = 0;
    return memory;
}

static void make_arena(void *argument, unsigned number)
{
    struct pinned_arena *arena = argument;

    (void)number;
    arena->used = calloc(arena->pieces, sizeof *arena->used);
    if (arena->used)
        arena->memory = touched_alloc(arena->pieces * arena->piece_size);
}

void pinned_arena_begin(struct pinned_arena *arena, unsigned pieces, size_t piece_size)
{
    const struct team_job job = {.work = make_arena, .context = arena, .last = true};

    *arena = (struct pinned_arena){.piece_size = piece_size, .pieces = pieces};
    pthread_mutex_init(&arena->mutex, NULL);
    if (team_open(&arena->maker, 1))
        (void)team_start(&arena->maker, 0, 1, &job);
}

void pinned_arena_finish(struct pinned_arena *arena, bool keep)
{
    team_close(&arena->maker);
    if (keep && arena->memory)
        arena->registered = cudaHostRegister(arena->memory, arena->pieces * arena->piece_size,
                                             cudaHostRegisterPortable) == cudaSuccess;
}

void pinned_arena_close(struct pinned_arena *arena)
{
    if (arena->registered)
        (void)cudaHostUnregister(arena->memory);
    free(arena->memory);
    free(arena->used);
    pthread_mutex_destroy(&arena->mutex);
}

/* A piece of the arena; NULL when it has none of this size left. */
static unsigned char *take_piece(struct pinned_arena *arena, size_t size)
{
    unsigned char *memory = NULL;

    if (!arena || !arena->registered || arena->piece_size != size)
        return NULL;
    pthread_mutex_lock(&arena->mutex);
    for (unsigned i = 0; i < arena->pieces && !memory; i++) {
        if (!arena->used[i]) {
            arena->used[i] = true;
            memory = arena->memory + i * arena->piece_size;
        }
    }
    pthread_mutex_unlock(&arena->mutex);
    return memory;
}

static void give_piece(struct pinned_arena *arena, const unsigned char *memory)
{
    pthread_mutex_lock(&arena->mutex);
    arena->used[(size_t)(memory - arena->memory) / arena->piece_size] = false;
    pthread_mutex_unlock(&arena->mutex);
}

bool pinned_piece_open(struct pinned_piece *piece, struct pinned_arena *arena, size_t size,
                       char reason[ENGINE_REASON_MAX])
{
    *piece = (struct pinned_piece){.memory = take_piece(arena, size), .size = size};
    piece->from_arena = piece->memory != NULL;
    if (piece->from_arena)
        return true;
    piece->memory = touched_alloc(size);
    if (!piece->memory)
        return cuda_no_memory(reason);
    piece->registered = cuda_check(cudaHostRegister(piece->memory, size, cudaHostRegisterPortable),
                                   "pinning memory", reason);
    return piece->registered;
}

void pinned_piece_close(struct pinned_piece *piece, struct pinned_arena *arena)
{
    if (piece->registered)
        (void)cudaHostUnregister(piece->memory);
    if (piece->from_arena)
        give_piece(arena, piece->memory);
    else
        free(piece->memory);
    *piece = (struct pinned_piece){0};
}

void *pinned_window_open(const void *data, size_t bytes)
{
    size_t begin = (size_t)data / mapping_page() * mapping_page();
    size_t end = ((size_t)data + bytes + mapping_page() - 1) / mapping_page() * mapping_page();

    if (cudaHostRegister((void *)begin, end - begin, cudaHostRegisterReadOnly) == cudaSuccess)
        return (void *)begin;
    (void)cudaGetLastError(); /* it is no failure: forget it */
    return NULL;
}

void pinned_window_close(void *window)
{
    if (window)
        (void)cudaHostUnregister(window);
}
