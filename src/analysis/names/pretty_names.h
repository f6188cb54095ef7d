/*
 * The names of a trace's kernels for --names=pretty: no two kernels have the same.
 */
#ifndef GPUTRACE_ANALYSIS_NAMES_PRETTY_NAMES_H
#define GPUTRACE_ANALYSIS_NAMES_PRETTY_NAMES_H

#include <stdint.h>

#include "common/array.h"
#include "common/map.h"

/* All zero is empty. */
struct pretty_names {
    ARRAY(char) is_kernel; /* by the number of a text: 1 when kernels are called so */
    ARRAY(uint32_t) shown; /* after pretty_names_make(): the number + 1 of a kernel's pretty name, else 0 */
};

void pretty_names_release(struct pretty_names *names);

/* Kernels are called NAME. Returns 0, or -1: no memory. */
static inline int pretty_names_add(struct pretty_names *names, uint32_t name)
{
    char *known = array_at(&names->is_kernel, name);
    if (known)
        *known = 1;
    return known ? 0 : -1;
}

/* Makes the pretty names, as further texts of STRINGS. The names do not depend on the order in which kernels were
 * added. Returns 0, or -1: no memory. */
int pretty_names_make(struct pretty_names *names, struct interner *strings);

/* The number of what kernels called NAME are shown as; NAME for what is not a kernel. */
static inline uint32_t pretty_names_shown(const struct pretty_names *names, uint32_t name)
{
    uint32_t shown = name < names->shown.count ? names->shown.items[name] : 0;
    return shown ? shown - 1 : name;
}

#endif
