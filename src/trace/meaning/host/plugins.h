/*
 * What plugins of one process, and the program itself, added: who they are, their slices, their lines for the user.
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
    struct plugin_text name; /* NULL: its record was lost */
    uint64_t calls, ns;      /* in its callbacks */
    uint64_t stated;         /* when these were so, ns */
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

struct plugins {
    ARRAY(struct plugin) items;              /* once closed: by number */
    struct map by_number;                    /* -> index + 1 */
    FILE_VECTOR(struct plugin_slice) slices; /* once closed: what encloses comes first */
    ARRAY(struct plugin_line) lines;         /* once closed: by time */
};

struct conversion;
struct convert_plugins;
struct json_out;
struct piece_writer;
struct process;

/* Index pass. Return 0, or -1 after error(). */
int resolve_plugins(struct process *process);
/* To be freed; NULL after error(). */
char *plugin_name(const struct process *process, uint32_t number);
int write_plugin_slices(struct piece_writer *out, struct process *process);

/* Fills conversion.plugins. Returns 0, or -1 after error(). */
int gather_plugins(struct conversion *conversion);
/* Writes them as "plugins", an array of the metadata. */
void put_plugins(const struct convert_plugins *plugins, struct json_out *json);

#endif
