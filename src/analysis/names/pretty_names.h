/*
 * The names of kernels that --names selects: pretty names, of which no two kernels of a trace have the same, and short
 * names.
 */
#ifndef GPUTRACE_ANALYSIS_NAMES_PRETTY_NAMES_H
#define GPUTRACE_ANALYSIS_NAMES_PRETTY_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/array.h"
#include "common/map.h"

struct buffer;

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

/*
 * Writes the short form of a demangled C++ function name, without return type, template arguments and parameters, to
 * SHORT_NAME, which has space for LENGTH + 1 bytes:
 *
 *     void at::native::elementwise_kernel<128, 2, F>(int, F)  ->  at::native::elementwise_kernel
 *
 * A name without a parameter list, or that cannot be parsed, is copied whole. The result ends with a NUL; returns its
 * length without the NUL.
 */
size_t name_shorten(const char *name, size_t length, char *short_name);

/* Writes the pretty (NUMBER 0) or the short (1) form of a kernel's name to OUT, for --kernel: a kernel_name_form().
 * Returns false for other numbers. */
bool name_form(struct buffer *out, unsigned number, const char *name, size_t length);

#endif
