/*
 * Names as a trace shows them. Each is stored once, together with its escaped form for JSON.
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
    const char *text; /* as recorded, not always valid UTF-8; demangled if it was mangled */
    size_t length;
    const char *json; /* escaped for JSON, without quotes; NULL: the sink must escape `text` */
    size_t json_length;
    bool kept; /* `text` does not change while events are written, so sinks may cache it by its address */
};

struct names {
    struct interner texts;
    ARRAY(struct name) items; /* of each text of `texts` */
    struct interner mangled;
    ARRAY(uint32_t) demangled; /* for each symbol of `mangled`, the number of its name */
    char *readable;            /* space for a demangled name; NULL: not needed yet */
    uint64_t cut;              /* count of symbols whose names were longer than TEXT_MAX */
};

#define NAMES_NO_MEMORY UINT32_MAX

void names_release(struct names *names);

/* Adds a name. Returns its number, or NAMES_NO_MEMORY after error(). */
uint32_t names_put(struct names *names, const char *text, size_t length);

/* Adds the name of a symbol, demangled if possible. A name longer than TEXT_MAX is cut and ends with a hash. Returns as
 * names_put(). */
uint32_t names_put_symbol(struct names *names, const char *symbol, size_t length);

/* Returns a name that is valid until the next one is added. */
static inline const struct name *names_get(const struct names *names, uint32_t number)
{
    return &names->items.items[number];
}

/* A name for a single event. Sinks escape it. */
static inline struct name name_passing(const char *text, size_t length)
{
    return (struct name){.text = text, .length = length};
}

/* A name of ours that needs no escapes in JSON. It is valid as long as TEXT. */
static inline struct name name_plain_n(const char *text, size_t length)
{
    return (struct name){.text = text, .length = length, .json = text, .json_length = length};
}
static inline struct name name_plain(const char *text)
{
    return name_plain_n(text, strlen(text));
}

/*
 * The names that pointers in a process's records stood for. A pointer may stand for another name after a module was
 * unloaded and another loaded in its place; then the time decides.
 */
struct pointer_names {
    struct map by_pointer; /* pointer -> index in `meanings` + 1 of its latest meaning */
    ARRAY(struct pointer_meaning {
        uint64_t since;
        uint32_t name;
        uint32_t earlier; /* index + 1 of the pointer's meaning before; 0: none */
    })
    meanings;
};

void pointer_names_release(struct pointer_names *pointers);

/* From TIME on, POINTER stands for NAME. Meanings of a pointer may be added in any order. Returns 0, or -1 after
 * error(). */
int pointer_names_put(struct pointer_names *pointers, uint64_t pointer, uint64_t time, uint32_t name);

/* Returns the last meaning that began by TIME, else the first one after TIME, or NULL if the pointer has none. */
const struct pointer_meaning *pointer_names_meaning(const struct pointer_names *pointers, uint64_t pointer,
                                                    uint64_t time);

/* Returns the name of that meaning, or NAMES_NO_MEMORY. */
uint32_t pointer_names_find(const struct pointer_names *pointers, uint64_t pointer, uint64_t time);

#endif
