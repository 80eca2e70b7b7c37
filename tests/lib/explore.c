#include "config.h"

#include "lib/explore.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/allocate.h"

#define STEP 16
#define CHOICES_MAX 1000
#define SHOWN 60

struct state {
    uint64_t key;
    size_t from;     /* the state that it was found from, */
    char step[STEP]; /* and by which step */
    bool final, goes_on;
};

struct edge {
    size_t from, to;
};

struct choice {
    unsigned options, taken;
    size_t state; /* in which it is made */
};

/* The graph, and a table that finds states by their keys: their number + 1, or 0. */
static struct state *states;
static struct edge *edges;
static size_t *table;
static size_t state_count, state_room, edge_count, edge_room, table_size;

/* The choices that this play makes, of which the first `depth` have been made. */
static struct choice path[CHOICES_MAX];
static unsigned path_length, depth;
static size_t last_state;
static char last_step[STEP];
static jmp_buf seen_before;

static const char *trouble;
static char way[SHOWN * (STEP + 1) + 1];

static void *enlarge(void *memory, size_t *room, size_t size)
{
    void *larger;

    *room = *room ? 2 * *room : 1024;
    larger = realloc(memory, *room * size);
    if (!larger)
        bail("memory");
    return larger;
}

/* The place in the table of a state with this key, or where it would stand. */
static size_t place_of(uint64_t key)
{
    size_t at = (size_t)key & (table_size - 1);

    while (table[at] && states[table[at] - 1].key != key)
        at = (at + 1) & (table_size - 1);
    return at;
}

static void enlarge_table(void)
{
    free(table);
    table_size = table_size ? 2 * table_size : 4096;
    table = calloc(table_size, sizeof *table);
    if (!table)
        bail("memory");
    for (size_t i = 0; i < state_count; i++)
        table[place_of(states[i].key)] = i + 1;
}

void explore_begin(void)
{
    state_count = edge_count = table_size = path_length = 0;
    trouble = NULL;
    way[0] = 0;
    enlarge_table();
}

/* Notes the steps that led to a state. */
static void note_way(size_t number)
{
    size_t back[SHOWN] = {0}, count = 0, length = 0;

    for (size_t at = number; at != 0 && count < SHOWN; at = states[at].from)
        back[count++] = at;
    while (count-- > 0)
        length +=
            (size_t)snprintf(way + length, sizeof way - length, "%s ", states[back[count]].step);
}

void explore_fail(const char *what)
{
    if (trouble)
        return;
    trouble = what;
    note_way(last_state);
}

const char *explore_trouble(void)
{
    return trouble;
}

const char *explore_way(void)
{
    return way;
}

size_t explore_states(void)
{
    return state_count;
}

void explore_step(const char *what)
{
    strncpy(last_step, what, STEP - 1);
}

void explore_final(void)
{
    states[last_state].final = true;
}

void explore_visit(uint64_t (*key)(void))
{
    uint64_t this_key;
    size_t at, number;
    bool is_new;

    if (depth < path_length) { /* it has been seen, on the way to the choice that is another now */
        last_state = path[depth].state;
        return;
    }
    this_key = key();
    if (2 * state_count >= table_size)
        enlarge_table();
    at = place_of(this_key);
    is_new = !table[at];
    if (is_new) {
        if (state_count == state_room)
            states = enlarge(states, &state_room, sizeof *states);
        states[state_count] = (struct state){.key = this_key, .from = last_state};
        memcpy(states[state_count].step, last_step, STEP);
        table[at] = ++state_count;
    }
    number = table[at] - 1;
    if (number != last_state) {
        if (edge_count == edge_room)
            edges = enlarge(edges, &edge_room, sizeof *edges);
        edges[edge_count++] = (struct edge){last_state, number};
        states[last_state].goes_on = true;
    }
    last_state = number;
    if (!is_new)
        longjmp(seen_before, 1);
}

unsigned explore_choose(unsigned options)
{
    if (options == 1)
        return 0;
    if (depth == path_length) {
        if (path_length == CHOICES_MAX) {
            explore_fail("it does not end");
            longjmp(seen_before, 1);
        }
        path[path_length++] = (struct choice){.options = options, .state = last_state};
    }
    return path[depth++].taken;
}

void explore_play(void (*play)(void))
{
    depth = 0;
    last_state = 0;
    if (setjmp(seen_before) == 0)
        play();
}

bool explore_next(void)
{
    while (path_length > 0 && path[path_length - 1].taken + 1 == path[path_length - 1].options)
        path_length--;
    if (path_length > 0)
        path[path_length - 1].taken++;
    return path_length > 0;
}

/* Looks for states on a way round: takes away, one after the other, those that nothing leads to. */
static void find_circle(void)
{
    size_t *in = calloc(state_count + 1, sizeof *in), *to = calloc(edge_count + 1, sizeof *to);
    size_t *first = calloc(state_count + 2, sizeof *first); /* of a state's edges, in `to` */
    size_t *taken = calloc(state_count + 1, sizeof *taken);
    size_t count = 0, done = 0;

    if (!in || !to || !first || !taken)
        bail("memory");
    for (size_t i = 0; i < edge_count; i++) {
        in[edges[i].to]++;
        first[edges[i].from + 1]++;
    }
    for (size_t i = 0; i < state_count; i++)
        first[i + 1] += first[i];
    for (size_t i = 0; i < edge_count; i++)
        to[first[edges[i].from]++] = edges[i].to; /* now it is behind its last one */
    for (size_t i = 0; i < state_count; i++)
        if (in[i] == 0)
            taken[count++] = i;
    while (done < count) {
        const size_t from = taken[done++];

        for (size_t i = from > 0 ? first[from - 1] : 0; i < first[from]; i++)
            if (--in[to[i]] == 0)
                taken[count++] = to[i];
    }
    for (size_t i = 0; i < state_count && done < state_count && !trouble; i++)
        if (in[i] > 0) {
            last_state = i;
            explore_fail("what is done leads back to where it was");
        }
    free(in);
    free(to);
    free(first);
    free(taken);
}

void explore_end(void)
{
    for (size_t i = 0; i < state_count && !trouble; i++)
        if (!states[i].goes_on && !states[i].final) {
            last_state = i;
            explore_fail("all wait for ever");
        }
    if (!trouble)
        find_circle();
}
