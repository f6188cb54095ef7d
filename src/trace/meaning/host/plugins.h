/*
 * What plugins of one process, and the program itself, added to the trace: their names, slices, and lines for the user.
 * Texts lie in the spool.
 */
#ifndef GPUTRACE_TRACE_MEANING_HOST_PLUGINS_H
#define GPUTRACE_TRACE_MEANING_HOST_PLUGINS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/file_vector.h"
#include "common/map.h"

struct plugin_text {
    const char *text;
    uint32_t length;
};

struct plugin {
    uint32_t number;         /* 1: the program */
    struct plugin_text name; /* text NULL: the record was lost */
    uint64_t calls, ns;      /* number of callbacks, and time in them */
    uint64_t stated;         /* time of the record with these two numbers, ns */
};

struct plugin_slice {
    const void *record;
    uint64_t start, end; /* ns */
    uint32_t plugin, thread;
};

struct plugin_line {
    struct plugin_text text;
    uint64_t time; /* ns */
    uint32_t plugin, stack;
};

/* resolve_plugins() sorts all lists. */
struct plugins {
    ARRAY(struct plugin) items;              /* by number */
    struct map by_number;                    /* -> index + 1 */
    FILE_VECTOR(struct plugin_slice) slices; /* enclosing ones first */
    ARRAY(struct plugin_line) lines;         /* by time */
};

struct conversion;
struct convert_plugins;
struct json_out;
struct piece_writer;
struct process;

/* Sorts what plugins added, and collects the lanes of their slices. Returns 0, or -1 after error(). */
int resolve_plugins(struct process *process);
/* Returns the plugin's name, which the caller frees, or NULL after error(). */
char *plugin_name(const struct process *process, uint32_t number);
int write_plugin_slices(struct piece_writer *out, struct process *process);

/* Fills conversion.plugins. Returns 0, or -1 after error(). */
int gather_plugins(struct conversion *conversion);
/* Writes PLUGINS as "plugins", an array of the metadata. */
void put_plugins(const struct convert_plugins *plugins, struct json_out *json);

#endif
