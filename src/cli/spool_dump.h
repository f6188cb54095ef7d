/*
 * gputrace recover --dump: prints a spool record by record, for people who work on gputrace.
 */
#ifndef GPUTRACE_CLI_SPOOL_DUMP_H
#define GPUTRACE_CLI_SPOOL_DUMP_H

/* Prints the spools in the directory PATH to standard output: a line for each process, each chunk and each record. A
 * record's times are those of its own clock, in ns. Returns 0, or -1 after error(). */
int spool_dump(const char *path);

#endif
