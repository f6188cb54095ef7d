/*
 * Output that is longer than the terminal goes through a pager: $GPUTRACE_PAGER, else $PAGER, else less. It is started
 * with the first output, as reading a trace may take long. Where standard output is no terminal, there is none.
 */
#ifndef GPUTRACE_CLI_PAGER_H
#define GPUTRACE_CLI_PAGER_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct progress;

/* A pager, all zero but for PROGRESS before it is started. */
struct pager {
    struct progress *progress; /* ends when the pager starts */
    bool quit;                 /* it ended before all was written, which is no error */
    bool tried;
    pid_t pid; /* 0: output goes to standard output itself */
    int input; /* of the pager */
};

/* A drain of a struct buffer (common/buffer.h): CONTEXT is a struct pager. */
int pager_drain(void *context, const char *data, size_t size);

/* Ends the output and waits until the user has quit the pager. */
void pager_end(struct pager *pager);

/* --no-pager: no pager from now on. */
int pager_take_none(void *context, const char *value);

#define OPTION_ROW_NO_PAGER                                                                         \
    {.word = "no-pager",                                                                            \
     .help = "write to the terminal itself, and not to a pager ($GPUTRACE_PAGER, $PAGER, or less)", \
     .type = OPTION_CALL,                                                                           \
     .take = pager_take_none}

#endif
