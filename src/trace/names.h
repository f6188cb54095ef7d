/*
 * Names as a trace shows them: each kept once, with its form for JSON made ready.
 */
#ifndef GPUTRACE_TRACE_NAMES_H
#define GPUTRACE_TRACE_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "common/array.h"
#include "common/map.h"

struct name {
    const char *text; /* valid UTF-8 or not, as it came; demangled where it was mangled */
    size_t length;
    const char *json; /* the same as the inside of a JSON string; NULL: not made ready, escape it */
    size_t json_length;
    bool kept; /* TEXT stays as it is as long as events are written, so that sinks may know it by its address */
};

struct names {
    struct interner texts;
    ARRAY(struct name) items; /* of each number of `texts` */
    struct interner mangled;
    ARRAY(uint32_t) demangled; /* for each number of `mangled`, the name's number */
    char *readable;            /* space for one; NULL: not needed yet */
    uint64_t cut;              /* names of symbols that are longer than TEXT_MAX */
};

#define NAMES_NO_MEMORY UINT32_MAX

void names_release(struct names *names);

/* The number of a name; NAMES_NO_MEMORY after error(). */
uint32_t names_put(struct names *names, const char *text, size_t length);

/* Puts a symbol, demangled if it is a mangled C++ name. A name longer than TEXT_MAX is cut and ends with a hash. */
uint32_t names_put_symbol(struct names *names, const char *symbol, size_t length);

/* Valid until the next name is put. */
static inline const struct name *names_get(const struct names *names, uint32_t number)
{
    return &names->items.items[number];
}

/* A name used once: not kept, to be escaped when it is written. */
static inline struct name name_passing(const char *text, size_t length)
{
    return (struct name){.text = text, .length = length};
}

/* A name of our own making, in which JSON escapes nothing; it lives as long as TEXT. */
static inline struct name name_plain_n(const char *text, size_t length)
{
    return (struct name){.text = text, .length = length, .json = text, .json_length = length};
}
static inline struct name name_plain(const char *text)
{
    return name_plain_n(text, strlen(text));
}

/*
 * What the pointers in a process's records meant. A pointer may come to mean another name when a module is unloaded
 * and another loaded in its place; then the time decides.
 */
struct pointer_names {
    struct map by_pointer; /* pointer -> index + 1 of the latest meaning */
    ARRAY(struct pointer_meaning {
        uint64_t since;
        uint32_t name;
        uint32_t earlier; /* index + 1, 0: none */
    })
    meanings;
};

void pointer_names_release(struct pointer_names *pointers);

/* Meanings of one pointer may come in any order of time. Returns 0, or -1 after error(). */
int pointer_names_put(struct pointer_names *pointers, uint64_t pointer, uint64_t time, uint32_t name);

/* The meaning at TIME: the last one known by then, or the first one known after it. NULL: none. */
const struct pointer_meaning *pointer_names_meaning(const struct pointer_names *pointers, uint64_t pointer,
                                                    uint64_t time);

/* Its name; NAMES_NO_MEMORY: none. */
uint32_t pointer_names_find(const struct pointer_names *pointers, uint64_t pointer, uint64_t time);

#endif
