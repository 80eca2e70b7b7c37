#include "config.h"

#include "source/format/pickle.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "source/format/container.h"
#include "sys/bytes.h"
#include "sys/escape.h"
#include "sys/grow.h"

/* On the stack in place of a value: where a MARK stands. In the memo: nothing was kept there. */
#define NOTHING UINT32_MAX

/* Values that are made once. */
enum { VALUE_NONE, VALUE_FALSE, VALUE_TRUE };

struct machine {
    struct pickle *p;
    const unsigned char *bytes;
    size_t size, at; /* `at`: of the next byte */
    size_t begin;    /* of the operation */
    uint32_t *stack;
    size_t depth, stack_room;
    uint32_t *memo;
    size_t memo_count, memo_room, kept; /* places, and how often MEMOIZE was met */
    const struct pickle_global *globals;
    size_t global_count;
};

#define wrong(m, ...) fail(m, error_of(ERROR_DATA, __VA_ARGS__))

static bool fail(struct machine *m, struct error error)
{
    m->p->error = error;
    m->p->error.offset = m->begin;
    return false;
}

static bool no_memory(struct machine *m)
{
    return fail(m, error_of(ERROR_MEMORY, "out of memory"));
}

/*
 * Reading.
 */

/* The next `size` bytes; NULL if there are fewer. */
static const unsigned char *take(struct machine *m, uint64_t size)
{
    const unsigned char *bytes = m->bytes + m->at;

    if (size > m->size - m->at) {
        (void)wrong(m, "the pickle is cut off");
        return NULL;
    }
    m->at += (size_t)size;
    return bytes;
}

static bool take_number(struct machine *m, unsigned size, uint64_t *x)
{
    const unsigned char *bytes = take(m, size);

    *x = bytes ? bytes_number(bytes, size, false) : 0;
    return bytes;
}

/* The next line, without its end. */
static const char *take_line(struct machine *m, size_t *length)
{
    const unsigned char *line = m->bytes + m->at;
    const unsigned char *end = memchr(line, '\n', m->size - m->at);

    *length = 0;
    if (!end) {
        (void)wrong(m, "the pickle is cut off");
        return NULL;
    }
    *length = (size_t)(end - line);
    m->at += *length + 1;
    return (const char *)line;
}

/*
 * Values and the stack.
 */

/* Adds a value; NULL without memory. The pointer is valid until the next one is added. */
static struct pickle_value *add(struct machine *m, enum pickle_kind kind)
{
    struct pickle *p = m->p;
    struct pickle_value *v;

    if (!GROW(p->values, p->room, p->count + 1)) {
        (void)no_memory(m);
        return NULL;
    }
    v = &p->values[p->count++];
    *v = (struct pickle_value){.kind = kind, .at = (uint32_t)m->begin, .state = PICKLE_ABSENT};
    return v;
}

static bool push(struct machine *m, uint32_t value)
{
    if (!GROW(m->stack, m->stack_room, m->depth + 1))
        return no_memory(m);
    m->stack[m->depth++] = value;
    return true;
}

/* Pushes a new value of a kind; NULL without memory. */
static struct pickle_value *push_new(struct machine *m, enum pickle_kind kind)
{
    struct pickle_value *v = add(m, kind);

    return v && push(m, (uint32_t)(m->p->count - 1)) ? v : NULL;
}

static bool pop(struct machine *m, uint32_t *value)
{
    *value = 0;
    if (m->depth == 0 || m->stack[m->depth - 1] == NOTHING)
        return wrong(m, "an operation lacks a value");
    *value = m->stack[--m->depth];
    return true;
}

/* The value on top of the stack, which stays. */
static bool top(struct machine *m, uint32_t *value)
{
    const bool good = pop(m, value);

    m->depth += good;
    return good;
}

/* Finds the values after the last MARK, which are popped with it; they stay where they are until
   something is pushed. */
static bool pop_to_mark(struct machine *m, size_t *first, size_t *end)
{
    size_t at = m->depth;

    *first = *end = 0;
    while (at > 0 && m->stack[at - 1] != NOTHING)
        at--;
    if (at == 0)
        return wrong(m, "an operation lacks its MARK");
    *first = at;
    *end = m->depth;
    m->depth = at - 1;
    return true;
}

/* Adds values of the stack to the items of one. */
static bool add_items(struct machine *m, uint32_t to, size_t first, size_t end)
{
    struct pickle *p = m->p;
    struct pickle_value *v = &p->values[to];

    if (!GROW(p->items, p->item_room, p->item_count + (end - first)))
        return no_memory(m);
    for (size_t i = first; i < end; i++) {
        const uint32_t item = (uint32_t)p->item_count++;

        p->items[item] = (struct pickle_item){m->stack[i], 0};
        if (v->count++ == 0)
            v->first = item;
        else
            p->items[v->last].next = item;
        v->last = item;
    }
    return true;
}

/* Adds values to a list, or pairs to a dictionary, or to what a call has returned. */
static bool extend(struct machine *m, enum pickle_kind kind, size_t first, size_t end)
{
    struct pickle_value *v;
    uint32_t to;

    if (!top(m, &to))
        return false;
    v = &m->p->values[to];
    if (v->kind != kind && v->kind != PICKLE_CALL)
        return wrong(m, "items are added to a value that has none");
    if (kind == PICKLE_DICT && (end - first) % 2 != 0)
        return wrong(m, "a key lacks its value");
    return add_items(m, to, first, end);
}

static bool pop_many(struct machine *m, unsigned count)
{
    uint32_t value;

    for (unsigned i = 0; i < count; i++)
        if (!pop(m, &value))
            return false;
    return true;
}

/* Makes a tuple, or a set, of values of the stack, which have been popped. */
static bool collect(struct machine *m, enum pickle_kind kind, size_t first, size_t end)
{
    return add(m, kind) && add_items(m, (uint32_t)(m->p->count - 1), first, end) &&
           push(m, (uint32_t)(m->p->count - 1));
}

/*
 * Operations, with a number that tells apart those that are alike.
 */

static bool push_empty(struct machine *m, uint32_t kind)
{
    return push_new(m, kind);
}

static bool extend_to_mark(struct machine *m, uint32_t kind)
{
    size_t first, end;

    return pop_to_mark(m, &first, &end) && extend(m, kind, first, end);
}

/* Adds one value to a list, or two to a dictionary. */
static bool extend_by(struct machine *m, uint32_t count)
{
    return pop_many(m, count) &&
           extend(m, count == 2 ? PICKLE_DICT : PICKLE_LIST, m->depth, m->depth + count);
}

static bool collect_to_mark(struct machine *m, uint32_t kind)
{
    size_t first, end;

    return pop_to_mark(m, &first, &end) && collect(m, kind, first, end);
}

static bool collect_by(struct machine *m, uint32_t count)
{
    return pop_many(m, count) && collect(m, PICKLE_TUPLE, m->depth, m->depth + count);
}

static bool push_integer(struct machine *m, int64_t x)
{
    struct pickle_value *v = push_new(m, PICKLE_INTEGER);

    if (v)
        v->integer = x;
    return v;
}

/* An integer of so many bytes, two's complement. */
static bool push_long(struct machine *m, uint64_t size)
{
    const unsigned char *bytes = take(m, size);
    uint64_t x;

    if (!bytes)
        return false;
    if (size > 8)
        return push_new(m, PICKLE_OTHER);
    x = bytes_number(bytes, (size_t)size, false);
    if (size > 0 && size < 8 && bytes[size - 1] & 0x80)
        x |= UINT64_MAX << 8 * size;
    return push_integer(m, (int64_t)x);
}

/* An integer in decimal digits; "00" and "01" after INT, 'I', are truth values, and LONG, 'L', has an
   L after it. */
static bool push_decimal(struct machine *m, uint32_t operation)
{
    char text[24], *end;
    size_t length;
    const char *line = take_line(m, &length);

    if (!line)
        return false;
    if (operation == 'I' && length == 2 && line[0] == '0' && (line[1] == '0' || line[1] == '1'))
        return push(m, line[1] == '1' ? VALUE_TRUE : VALUE_FALSE);
    if (operation == 'L' && length > 0 && line[length - 1] == 'L')
        length--;
    if (length == 0 || strspn(line, "-0123456789") < length)
        return wrong(m, "an integer is expected");
    if (length > 18) /* of 64 bits or more */
        return push_new(m, PICKLE_OTHER);
    memcpy(text, line, length);
    text[length] = '\0';
    return push_integer(m, strtoll(text, &end, 10)) &&
           (!*end || wrong(m, "an integer is expected"));
}

/* Text, whose length has so many bytes. */
static bool push_text(struct machine *m, uint32_t size)
{
    const unsigned char *bytes;
    struct pickle_value *v;
    uint64_t length;

    if (!take_number(m, size, &length) || !(bytes = take(m, length)) ||
        !(v = push_new(m, PICKLE_TEXT)))
        return false;
    v->text = (const char *)bytes;
    v->count = (uint32_t)length;
    return true;
}

/* A value of so many bytes that nobody needs. */
static bool push_other(struct machine *m, uint32_t size)
{
    return take(m, size) && push_new(m, PICKLE_OTHER);
}

/* Bytes, whose length has so many bytes. */
static bool push_bytes(struct machine *m, uint32_t size)
{
    uint64_t length;

    return take_number(m, size, &length) && take(m, length) && push_new(m, PICKLE_OTHER);
}

/* Whether a text is one of some names, which have | between them. */
static bool is_one_of(const char *names, const char *text, size_t length)
{
    while (strcspn(names, "|") != length || memcmp(names, text, length) != 0) {
        names += strcspn(names, "|");
        if (!*names++)
            return false;
    }
    return true;
}

static bool push_global(struct machine *m, const char *module, size_t module_length,
                        const char *name, size_t length)
{
    char text[160], shown[ESCAPE_QUOTE_MAX];

    for (size_t i = 0; i < m->global_count; i++) {
        if (is_one_of(m->globals[i].module, module, module_length) &&
            is_one_of(m->globals[i].name, name, length)) {
            struct pickle_value *v = push_new(m, PICKLE_GLOBAL);

            if (v)
                v->global = &m->globals[i];
            return v;
        }
    }
    snprintf(text, sizeof text, "%.*s.%.*s", module_length < 64 ? (int)module_length : 64, module,
             length < 64 ? (int)length : 64, name);
    return wrong(m, "the pickle names %s, which no file of tensors alone needs",
                 escape_quote(shown, text));
}

static bool push_global_lines(struct machine *m)
{
    size_t module_length, length;
    const char *module = take_line(m, &module_length);
    const char *name = module ? take_line(m, &length) : NULL;

    return name && push_global(m, module, module_length, name, length);
}

static bool push_global_popped(struct machine *m)
{
    const struct pickle_value *module, *name;
    uint32_t first, second;

    if (!pop(m, &second) || !pop(m, &first))
        return false;
    module = &m->p->values[first];
    name = &m->p->values[second];
    if (module->kind != PICKLE_TEXT || name->kind != PICKLE_TEXT)
        return wrong(m, "the names of a module and of what it has are expected");
    return push_global(m, module->text, module->count, name->text, name->count);
}

/* A call of a function, or of a class: with arguments, which are a tuple. */
static bool push_call(struct machine *m)
{
    uint32_t arguments, function;
    struct pickle_value *v;

    if (!pop(m, &arguments) || !pop(m, &function))
        return false;
    if (m->p->values[function].kind != PICKLE_GLOBAL ||
        m->p->values[arguments].kind != PICKLE_TUPLE)
        return wrong(m, "a call needs a function and a tuple of arguments");
    v = push_new(m, PICKLE_CALL);
    if (!v)
        return false;
    v->function = function;
    v->arguments = arguments;
    return true;
}

static bool push_persistent(struct machine *m)
{
    struct pickle_value *v;
    uint32_t name;

    if (!pop(m, &name) || !(v = push_new(m, PICKLE_PERSISTENT)))
        return false;
    v->arguments = name;
    return true;
}

/* Sets the attributes of a value. */
static bool build(struct machine *m)
{
    struct pickle_value *v;
    uint32_t state, to;

    if (!pop(m, &state) || !top(m, &to))
        return false;
    v = &m->p->values[to];
    if (v->kind != PICKLE_CALL || v->state != PICKLE_ABSENT)
        return wrong(m, "attributes of a value that has none, or has them already");
    v->state = state;
    return true;
}

/* Keeps the value on top of the stack as number `place` of the memo. */
static bool put(struct machine *m, uint64_t place)
{
    uint32_t value;

    if (!top(m, &value))
        return false;
    if (place >= m->size) /* each has taken an operation */
        return wrong(m, "number %" PRIu64 " of the memo is too large", place);
    if (!GROW(m->memo, m->memo_room, (size_t)place + 1))
        return no_memory(m);
    while (m->memo_count <= place)
        m->memo[m->memo_count++] = NOTHING;
    m->memo[place] = value;
    return true;
}

static bool put_number(struct machine *m, uint32_t size)
{
    uint64_t place;

    return take_number(m, size, &place) && put(m, place);
}

static bool get(struct machine *m, uint32_t size)
{
    uint64_t place;

    if (!take_number(m, size, &place))
        return false;
    if (place >= m->memo_count || m->memo[place] == NOTHING)
        return wrong(m, "number %" PRIu64 " of the memo is empty", place);
    return push(m, m->memo[place]);
}

/* Makes no value of the operation's argument. */
static bool skip(struct machine *m, uint32_t size)
{
    return take(m, size);
}

static bool integer_of(struct machine *m, uint32_t size)
{
    uint64_t x;

    return take_number(m, size, &x) && push_integer(m, size == 4 ? (int32_t)x : (int64_t)x);
}

/* A long integer, whose length has so many bytes. */
static bool long_of(struct machine *m, uint32_t size)
{
    uint64_t length;

    return take_number(m, size, &length) && push_long(m, length);
}

/* The effect of each operation, by its code. The names are those of pickletools. */
static const struct {
    bool (*run)(struct machine *m, uint32_t number);
    uint32_t number;
} operations[UINT8_MAX + 1] = {
    ['('] = {push, NOTHING},                 /* MARK */
    [')'] = {push_empty, PICKLE_TUPLE},      /* EMPTY_TUPLE */
    ['B'] = {push_bytes, 4},                 /* BINBYTES */
    ['C'] = {push_bytes, 1},                 /* SHORT_BINBYTES */
    ['G'] = {push_other, 8},                 /* BINFLOAT */
    ['I'] = {push_decimal, 'I'},             /* INT */
    ['J'] = {integer_of, 4},                 /* BININT */
    ['K'] = {integer_of, 1},                 /* BININT1 */
    ['L'] = {push_decimal, 'L'},             /* LONG */
    ['M'] = {integer_of, 2},                 /* BININT2 */
    ['N'] = {push, VALUE_NONE},              /* NONE */
    ['X'] = {push_text, 4},                  /* BINUNICODE */
    [']'] = {push_empty, PICKLE_LIST},       /* EMPTY_LIST */
    ['a'] = {extend_by, 1},                  /* APPEND */
    ['e'] = {extend_to_mark, PICKLE_LIST},   /* APPENDS */
    ['h'] = {get, 1},                        /* BINGET */
    ['j'] = {get, 4},                        /* LONG_BINGET */
    ['q'] = {put_number, 1},                 /* BINPUT */
    ['r'] = {put_number, 4},                 /* LONG_BINPUT */
    ['s'] = {extend_by, 2},                  /* SETITEM */
    ['t'] = {collect_to_mark, PICKLE_TUPLE}, /* TUPLE */
    ['u'] = {extend_to_mark, PICKLE_DICT},   /* SETITEMS */
    ['}'] = {push_empty, PICKLE_DICT},       /* EMPTY_DICT */
    [0x80] = {skip, 1},                      /* PROTO */
    [0x85] = {collect_by, 1},                /* TUPLE1 */
    [0x86] = {collect_by, 2},                /* TUPLE2 */
    [0x87] = {collect_by, 3},                /* TUPLE3 */
    [0x88] = {push, VALUE_TRUE},             /* NEWTRUE */
    [0x89] = {push, VALUE_FALSE},            /* NEWFALSE */
    [0x8a] = {long_of, 1},                   /* LONG1 */
    [0x8b] = {long_of, 4},                   /* LONG4 */
    [0x8c] = {push_text, 1},                 /* SHORT_BINUNICODE */
    [0x8d] = {push_text, 8},                 /* BINUNICODE8 */
    [0x8e] = {push_bytes, 8},                /* BINBYTES8 */
    [0x8f] = {push_empty, PICKLE_LIST},      /* EMPTY_SET */
    [0x90] = {extend_to_mark, PICKLE_LIST},  /* ADDITEMS */
    [0x91] = {collect_to_mark, PICKLE_LIST}, /* FROZENSET */
    [0x95] = {skip, 8},                      /* FRAME */
    [0x96] = {push_bytes, 8},                /* BYTEARRAY8 */
};

/* Executes an operation other than STOP. */
static bool step(struct machine *m, unsigned char code)
{
    uint32_t value;
    size_t first, end;

    if (operations[code].run)
        return operations[code].run(m, operations[code].number);
    switch (code) {
    case '0': /* POP */
        return pop(m, &value);
    case '1': /* POP_MARK */
        return pop_to_mark(m, &first, &end);
    case '2': /* DUP */
        return top(m, &value) && push(m, value);
    case 'Q': /* BINPERSID */
        return push_persistent(m);
    case 'R':  /* REDUCE */
    case 0x81: /* NEWOBJ */
        return push_call(m);
    case 'b': /* BUILD */
        return build(m);
    case 'c': /* GLOBAL */
        return push_global_lines(m);
    case 0x93: /* STACK_GLOBAL */
        return push_global_popped(m);
    case 0x94: /* MEMOIZE */
        return put(m, m->kept++);
    default:
        return wrong(m, "operation 0x%02x of the pickle is not supported", code);
    }
}

static bool execute(struct machine *m)
{
    static const enum pickle_kind once[] = {PICKLE_NONE, PICKLE_BOOL, PICKLE_BOOL};
    const unsigned char *operation;

    for (size_t i = 0; i < sizeof once / sizeof *once; i++) {
        struct pickle_value *v = add(m, once[i]);

        if (!v)
            return false;
        v->integer = i == VALUE_TRUE;
    }
    for (;;) {
        m->begin = m->at;
        operation = take(m, 1);
        if (!operation)
            return false;
        if (*operation == '.') /* STOP */
            return pop(m, &m->p->root);
        if (!step(m, *operation))
            return false;
    }
}

bool pickle_read(struct pickle *p, const void *bytes, size_t size,
                 const struct pickle_global *globals, size_t global_count)
{
    struct machine m = {
        .p = p, .bytes = bytes, .size = size, .globals = globals, .global_count = global_count};
    bool good;

    *p = (struct pickle){.count = 0};
    good = execute(&m);
    free(m.stack);
    free(m.memo);
    return good;
}

void pickle_free(struct pickle *p)
{
    free(p->values);
    free(p->items);
}

size_t pickle_items(const struct pickle *p, const struct pickle_value *v, uint32_t *values,
                    size_t most)
{
    uint32_t item = v->first;

    for (size_t i = 0; i < v->count && i < most; i++)
        values[i] = pickle_next(p, &item);
    return v->count;
}

uint32_t pickle_find(const struct pickle *p, uint32_t value, const char *key)
{
    const struct pickle_value *v = &p->values[value];
    uint32_t item;

    if (v->kind == PICKLE_CALL && v->state != PICKLE_ABSENT)
        v = &p->values[v->state];
    if (v->kind != PICKLE_DICT)
        return PICKLE_ABSENT;
    item = v->first;
    for (uint32_t i = 0; i + 1 < v->count; i += 2) {
        const struct pickle_value *k = &p->values[pickle_next(p, &item)];
        const uint32_t found = pickle_next(p, &item);

        if (k->kind == PICKLE_TEXT && k->count == strlen(key) &&
            memcmp(key, k->text, k->count) == 0)
            return found;
    }
    return PICKLE_ABSENT;
}

bool pickle_count(const struct pickle *p, uint32_t value, uint64_t *x)
{
    const struct pickle_value *v = pickle_value(p, value);

    *x = v->kind == PICKLE_INTEGER ? (uint64_t)v->integer : UINT64_MAX;
    return *x <= INT64_MAX;
}

bool pickle_counts(const struct pickle *p, uint32_t value, uint64_t *counts, unsigned *number)
{
    const struct pickle_value *v = pickle_value(p, value);
    uint32_t item = PICKLE_ABSENT;

    if (v->kind == PICKLE_CALL)
        v = pickle_value(
            p, pickle_items(p, &p->values[v->arguments], &item, 1) == 1 ? item : PICKLE_ABSENT);
    if (v->kind != PICKLE_TUPLE || v->count > CONTAINER_DIMENSIONS_MAX)
        return false;
    item = v->first;
    for (uint32_t i = 0; i < v->count; i++)
        if (!pickle_count(p, pickle_next(p, &item), &counts[i]))
            return false;
    *number = v->count;
    return true;
}
