/* The last words of the plugin `leaks`. */
#ifndef GPUTRACE_PLUGINS_LEAKS_REPORT_H
#define GPUTRACE_PLUGINS_LEAKS_REPORT_H

#include "leaks_live.h"

struct telling {
    uint64_t start; /* times are told from here on */
    uint64_t least; /* bytes; places with less are told as a sum */
    uint64_t top;   /* so many places */
};

/* Tells what is allocated, by place, the most bytes first. */
void leaks_report(const struct gputrace_host *host, const struct live *live, const struct telling *telling);

#endif
