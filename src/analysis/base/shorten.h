/*
 * Texts shortened to fit a column, so that two of them stay different where they can.
 */
#ifndef GPUTRACE_ANALYSIS_BASE_SHORTEN_H
#define GPUTRACE_ANALYSIS_BASE_SHORTEN_H

#include <stdbool.h>
#include <stddef.h>

struct shorten_text {
    const char *text; /* valid UTF-8 */
    size_t length, width;
    char *shortened; /* NUL-terminated, owned by the caller; NULL: it fits as it is */
};

/* Shortens those of COUNT texts that are wider than WIDTH (at least 8) characters, with "…" or, in ASCII, "..." in the
 * place of what is left out: their middle, or, where texts would then be alike, all but where they differ. Returns 0,
 * or -1: no memory. */
int shorten_all(struct shorten_text *texts, size_t count, size_t width, bool ascii);

#endif
