/*
 * "Did you mean …?": the known word nearest to one that is not known.
 */
#ifndef GPUTRACE_COMMON_SUGGEST_H
#define GPUTRACE_COMMON_SUGGEST_H

#include <stdbool.h>
#include <stddef.h>

struct suggestion {
    const char *given;
    size_t length;
    const char *word; /* the nearest word so far; NULL while none is near enough */
    size_t distance;  /* of it */
};

/* Starts a search for GIVEN (LENGTH bytes, kept by pointer). */
struct suggestion suggestion_for(const char *given, size_t length);

/* Takes WORD, and returns true, when it is nearer than what was considered before, and near enough for a slip of the
 * hand. Upper and lower case are the same. */
bool suggestion_consider(struct suggestion *suggestion, const char *word);

#endif
