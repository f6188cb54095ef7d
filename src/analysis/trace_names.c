/*
 * Names of kernels as the user wants to see them.
 */
#include <stdlib.h>
#include <string.h>

#include "analysis/names.h"
#include "analysis/trace.h"

static uint32_t shorten(struct trace *trace, uint32_t name)
{
    const char *whole = interned(&trace->strings, name);
    size_t length = strlen(whole);
    char *short_name = malloc(length + 1);
    if (!short_name)
        return INTERN_NO_MEMORY;
    uint32_t number = intern(&trace->strings, short_name, name_shorten(whole, length, short_name));
    free(short_name);
    return number;
}

bool trace_renames(const struct trace *trace)
{
    return trace->options->names != REPORT_NAMES_FULL;
}

int trace_rename(struct trace *trace, struct trace_event *event)
{
    enum report_names names = trace->options->names;
    if (names == REPORT_NAMES_MANGLED && event->mangled_name != EVENT_NO_TEXT)
        event->name = event->mangled_name;
    else if (names == REPORT_NAMES_MANGLED && event->name < trace->shown_names.count &&
             trace->shown_names.items[event->name] != 0)
        event->name = trace->shown_names.items[event->name] - 1;
    if (names != REPORT_NAMES_SHORT)
        return 0;
    while (trace->shown_names.count <= event->name)
        if (!array_push(&trace->shown_names))
            return -1;
    uint32_t *shown = &trace->shown_names.items[event->name];
    if (*shown == 0) {
        uint32_t number = shorten(trace, event->name);
        if (number == INTERN_NO_MEMORY)
            return -1;
        *shown = number + 1;
    }
    event->name = *shown - 1;
    return 0;
}
