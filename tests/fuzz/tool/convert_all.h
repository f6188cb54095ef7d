/*
 * A spool directory made of an input, converted.
 */
#ifndef GPUTRACE_TESTS_FUZZ_TOOL_CONVERT_ALL_H
#define GPUTRACE_TESTS_FUZZ_TOOL_CONVERT_ALL_H

/* Converts what lies in fuzz_directory(), and holds the trace to be one that others, and gputrace, can read. */
void fuzz_convert_all(void);

#endif
