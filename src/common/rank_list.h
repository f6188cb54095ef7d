/*
 * Lists of ranks, as --ranks has them: "0,7", "0-3", "every:8" (0, 8, 16 …), separated by commas.
 */
#ifndef GPUTRACE_COMMON_RANK_LIST_H
#define GPUTRACE_COMMON_RANK_LIST_H

#include <stdbool.h>
#include <stdint.h>

/* Whether LIST can be read as such a list. */
bool rank_list_is_valid(const char *list);

/* Whether RANK is in LIST. False for -1, the rank that is not known, and for a LIST that is not valid. */
bool rank_list_has(const char *list, int64_t rank);

#endif
