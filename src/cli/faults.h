/*
 * Gives a command the stack that its libraries need, whatever the user's limits are. If the command crashes, the
 * handler says where the records are.
 */
#ifndef GPUTRACE_CLI_FAULTS_H
#define GPUTRACE_CLI_FAULTS_H

/* Returns CALL(ARGC, ARGV), which runs on a stack of 8 MiB where the limit of stacks is lower, as do the threads that
 * it starts. The limit stays as it is: a program that is started has it too. */
int call_with_stack(int (*call)(int argc, char **argv), int argc, char **argv);

/* From here on, if a signal of a fault comes or a library ends the process, as libdw does without memory, this calls
 * TIDY (async-signal-safe; NULL: nothing), prints MESSAGE (a line, kept by pointer) and exits with STATUS. MESSAGE
 * NULL: no longer. */
void end_at_fault(void (*tidy)(void), const char *message, int status);

#endif
