/*
 * Where the spool file of this process comes from: it makes the file in the run's directory, or, when it cannot reach
 * that, gets it from the launcher (common/spool_request.h).
 */
#ifndef GPUTRACE_AGENT_SPOOL_SPOOL_PLACE_H
#define GPUTRACE_AGENT_SPOOL_SPOOL_PLACE_H

#include "agent/spool/descriptor.h"

/* SERVER is the setting `spool_server`: NULL or "" when there is nobody to ask. It is not copied. */
void spool_place_set_server(const char *server);

/* Makes the file and fills DESCRIPTOR. Gives 0, or -1 with errno set: why the process could not make the file itself,
 * or ECONNREFUSED when it could not and the launcher has ended. */
int spool_place_make(const char *directory, struct descriptor *descriptor);

/* Removes the file, which could not be used. */
void spool_place_remove(struct descriptor *descriptor);

/* Tells the launcher that this process is not recorded because of FAILURE (errno), so that it is counted. Leaves errno
 * at FAILURE. */
void spool_place_note_unrecorded(const char *directory, int failure);

#endif
