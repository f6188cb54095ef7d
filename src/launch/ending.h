/*
 * How a program ended, in words and handed on.
 */
#ifndef GPUTRACE_LAUNCH_ENDING_H
#define GPUTRACE_LAUNCH_ENDING_H

#include <stddef.h>

/* Writes "exit 3" or "signal 9 (Killed)" for a STATUS of waitpid(2). */
void ending_describe(int status, char *text, size_t room);

/* The exit status that tells of STATUS. When a signal ended the program, it ends us too, without a second core dump,
 * and this does not return. */
int ending_pass_on(int status);

#endif
