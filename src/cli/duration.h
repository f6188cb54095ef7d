/*
 * Times as they are given on the command line.
 */
#ifndef GPUTRACE_CLI_DURATION_H
#define GPUTRACE_CLI_DURATION_H

#include <stdint.h>

/* Reads VALUE of --OPTION: a number of seconds, or of the unit behind it: "2", "0.5", "1.5s", "300ms", "20us", "7ns".
 * Gives 0, or -1 after error(). */
int duration_parse(const char *option, const char *value, uint64_t *ns);

#endif
