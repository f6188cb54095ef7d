/*
 * The launcher's note about a run for the trace's metadata: session.json in the spool directory.
 */
#ifndef GPUTRACE_TOOL_CLI_SESSION_H
#define GPUTRACE_TOOL_CLI_SESSION_H

#include "wire/settings.h"

struct session {
    char *const *command;            /* the program and its arguments; NULL at the end */
    const char *output;              /* path of the trace to be */
    const struct settings *settings; /* what is recorded */
};

/* Writes session.json into DIRECTORY. Gives 0, or -1 after error(). */
int session_write(const char *directory, const struct session *session);

#endif
