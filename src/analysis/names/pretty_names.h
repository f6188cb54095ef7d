/*
 * Makes the names of a trace's kernels for --names=pretty. No two kernels have the same name.
 */
#ifndef GPUTRACE_ANALYSIS_NAMES_PRETTY_NAMES_H
#define GPUTRACE_ANALYSIS_NAMES_PRETTY_NAMES_H

#include <stdint.h>

#include "common/array.h"
#include "common/map.h"

/* Initialise with zeros. */
struct pretty_names {
    ARRAY(char) is_kernel; /* by the number of a text: 1 if it is the name of a kernel */
    ARRAY(uint32_t)
    shown; /* after pretty_names_make(), by a text's number: number + 1 of its pretty name, or 0 */
};

void pretty_names_release(struct pretty_names *names);

/* Adds NAME, the number of a kernel's name. Returns 0, or -1: no memory. */
static inline int pretty_names_add(struct pretty_names *names, uint32_t name)
{
    char *known = array_at(&names->is_kernel, name);
    if (known)
        *known = 1;
    return known ? 0 : -1;
}

/* Makes the pretty names and adds them to STRINGS. They do not depend on the order in which names were added. Returns
 * 0, or -1: no memory. */
int pretty_names_make(struct pretty_names *names, struct interner *strings);

/* Returns the number of the pretty name of NAME, or NAME if it is not the name of a kernel. */
static inline uint32_t pretty_names_shown(const struct pretty_names *names, uint32_t name)
{
    uint32_t shown = name < names->shown.count ? names->shown.items[name] : 0;
    return shown ? shown - 1 : name;
}

#endif
