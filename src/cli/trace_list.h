/*
 * The list of --trace: "kernel,memcpy", "all,-memory", "-runtime", "none".
 */
#ifndef GPUTRACE_CLI_TRACE_LIST_H
#define GPUTRACE_CLI_TRACE_LIST_H

#include <stdint.h>

/*
 * Reads TEXT into BITS (enum trace_bits). Names add what they name, "all" adds what is on by default, "api-all" that
 * and the API calls that are left out by default, "none" takes all away, -NAME takes one away; a list that begins by
 * taking away begins with what is on by default. Gives 0, or -1 after error().
 */
int trace_list_parse(const char *text, int64_t *bits);

#endif
