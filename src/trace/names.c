/*
 * Names, and demangled C++ symbols by libiberty.
 *
 * A symbol may be long, and a short symbol may stand for an enormous name: each level of `P<T, T>` doubles it. So
 * libiberty passes the name in pieces to a callback, which leaves libiberty when the space is full.
 */
#include "trace/names.h"

#include <libiberty/demangle.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdlib.h>

#include "common/json_out.h"
#include "common/log.h"
#include "common/buffer.h"
#include "common/spool_records.h"
#include "common/text.h"

void names_release(struct names *names)
{
    for (size_t i = 0; i < names->items.count; i++)
        free((char *)(uintptr_t)names->items.items[i].json);
    array_release(&names->items);
    array_release(&names->demangled);
    interner_release(&names->texts);
    interner_release(&names->mangled);
    free(names->readable);
}

static int make_ready(struct name *name, const char *text, size_t length)
{
    struct buffer buffer;
    buffer_init_memory(&buffer);
    json_escape(&buffer, text, length);
    if (buffer_finish(&buffer) != 0) {
        buffer_release(&buffer);
        return error_no_memory("names");
    }
    name->text = text;
    name->length = length;
    name->kept = true;
    name->json = buffer.data ? buffer.data : calloc(1, 1); /* owned by the name */
    name->json_length = buffer.length;
    return name->json ? 0 : error_no_memory("names");
}

uint32_t names_put(struct names *names, const char *text, size_t length)
{
    uint32_t number = intern(&names->texts, text, length);
    if (number == INTERN_NO_MEMORY) {
        error_no_memory("names");
        return NAMES_NO_MEMORY;
    }
    if (number < names->items.count)
        return number;
    struct name *name = array_push(&names->items);
    if (!name || make_ready(name, interned(&names->texts, number), length) != 0)
        return NAMES_NO_MEMORY;
    return number;
}

/* libiberty demangles symbols up to this length with little stack. Longer ones need DMGL_NO_RECURSE_LIMIT, and at most
 * 216 bytes of stack for each byte of the symbol. */
#define SHORT_SYMBOL 1024u
#define STACK_FOR_BYTE ((size_t)512)
#define STACK_LEAST ((size_t)1 << 20)

struct demangling {
    const char *symbol;
    int options;
    char *out;
    size_t space, length;
    jmp_buf enough;
};

/* Appends a piece of the name. Leaves libiberty, which allocates nothing, by longjmp() when the space is full. */
static void take(const char *text, size_t length, void *data)
{
    struct demangling *demangling = data;
    size_t left = demangling->space - demangling->length;
    memcpy(demangling->out + demangling->length, text, length < left ? length : left);
    demangling->length += length;
    if (length > left)
        longjmp(demangling->enough, 1);
}

static void *run(void *data)
{
    struct demangling *demangling = data;
    if (setjmp(demangling->enough) == 0 &&
        !cplus_demangle_v3_callback(demangling->symbol, demangling->options, take, demangling))
        demangling->length = 0;
    return NULL;
}

/* Demangles on a thread with a stack for LENGTH bytes. */
static void run_apart(struct demangling *demangling, size_t length)
{
    pthread_attr_t attributes;
    pthread_t thread;
    if (pthread_attr_init(&attributes) != 0)
        return;
    demangling->options |= DMGL_NO_RECURSE_LIMIT;
    bool runs = pthread_attr_setstacksize(&attributes, STACK_LEAST + length * STACK_FOR_BYTE) == 0 &&
                pthread_create(&thread, &attributes, run, demangling) == 0;
    if (runs)
        pthread_join(thread, NULL);
    pthread_attr_destroy(&attributes);
}

/* Writes the first SPACE bytes of SYMBOL's demangled name into OUT. Returns the length of the name, which exceeds SPACE
 * if the name was cut. Returns 0 if SYMBOL is not a mangled C++ name, or without memory for the stack of a long one. */
static size_t demangle(const char *symbol, size_t length, char *out, size_t space)
{
    struct demangling demangling = {.symbol = symbol, .options = DMGL_PARAMS | DMGL_TYPES, .out = out, .space = space};
    if (length < 3 || memcmp(symbol, "_Z", 2) != 0)
        return 0;
    if (length < SHORT_SYMBOL)
        run(&demangling);
    else
        run_apart(&demangling, length);
    return demangling.length;
}

/* Adds the demangled name of SYMBOL. A cut name ends with the hash of its symbol, which distinguishes it from
 * others. */
static uint32_t put_demangled(struct names *names, const char *symbol, size_t length)
{
    char *readable = names->readable = names->readable ? names->readable : malloc(TEXT_MAX);
    if (!readable) {
        error_no_memory("names");
        return NAMES_NO_MEMORY;
    }
    size_t readable_length = length < SPOOL_SYMBOL_MAX ? demangle(symbol, length, readable, TEXT_MAX) : 0;
    const char *whole = readable_length > 0 ? readable : symbol;
    size_t whole_length = readable_length > 0 ? readable_length : length;
    if (whole_length <= TEXT_MAX)
        return names_put(names, whole, whole_length);
    memmove(readable, whole, TEXT_MAX);
    text_cut(readable, readable, TEXT_MAX, hash_bytes(symbol, length));
    names->cut++;
    return names_put(names, readable, TEXT_MAX);
}

uint32_t names_put_symbol(struct names *names, const char *symbol, size_t length)
{
    uint32_t number = intern(&names->mangled, symbol, length);
    if (number == INTERN_NO_MEMORY) {
        error_no_memory("names");
        return NAMES_NO_MEMORY;
    }
    if (number < names->demangled.count)
        return names->demangled.items[number];
    uint32_t *demangled = array_push(&names->demangled);
    if (!demangled) {
        error_no_memory("names");
        return NAMES_NO_MEMORY;
    }
    return *demangled = put_demangled(names, interned(&names->mangled, number), length);
}

void pointer_names_release(struct pointer_names *pointers)
{
    map_release(&pointers->by_pointer);
    array_release(&pointers->meanings);
}

int pointer_names_put(struct pointer_names *pointers, uint64_t pointer, uint64_t time, uint32_t name)
{
    uint64_t *latest = map_put(&pointers->by_pointer, pointer, NULL);
    if (!latest)
        return error_no_memory("names of pointers");
    struct pointer_meaning *known = *latest ? &pointers->meanings.items[*latest - 1] : NULL;
    if (known && known->earlier == 0 && known->name == name) { /* the pointer's only meaning, seen again */
        known->since = time < known->since ? time : known->since;
        return 0;
    }
    struct pointer_meaning *meaning = array_push(&pointers->meanings);
    if (!meaning)
        return error_no_memory("names of pointers");
    *meaning = (struct pointer_meaning){.since = time, .name = name};
    uint32_t index = (uint32_t)pointers->meanings.count;
    if (*latest == 0 || pointers->meanings.items[*latest - 1].since <= time) {
        meaning->earlier = (uint32_t)*latest;
        *latest = index;
        return 0;
    }
    struct pointer_meaning *later = &pointers->meanings.items[*latest - 1];
    while (later->earlier != 0 && pointers->meanings.items[later->earlier - 1].since > time)
        later = &pointers->meanings.items[later->earlier - 1];
    meaning->earlier = later->earlier;
    later->earlier = index;
    return 0;
}

const struct pointer_meaning *pointer_names_meaning(const struct pointer_names *pointers, uint64_t pointer,
                                                    uint64_t time)
{
    const uint64_t *latest = map_get(&pointers->by_pointer, pointer);
    if (!latest || *latest == 0)
        return NULL;
    const struct pointer_meaning *meaning = &pointers->meanings.items[*latest - 1];
    while (meaning->since > time && meaning->earlier != 0)
        meaning = &pointers->meanings.items[meaning->earlier - 1];
    return meaning;
}

uint32_t pointer_names_find(const struct pointer_names *pointers, uint64_t pointer, uint64_t time)
{
    const struct pointer_meaning *meaning = pointer_names_meaning(pointers, pointer, time);
    return meaning ? meaning->name : NAMES_NO_MEMORY;
}
