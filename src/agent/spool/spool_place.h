/*
 * Where the spool file of this process comes from: it makes the file in the run's directory, or, when it cannot reach
 * that, gets it from the launcher (common/spool.h).
 */
#ifndef GPUTRACE_AGENT_SPOOL_SPOOL_PLACE_H
#define GPUTRACE_AGENT_SPOOL_SPOOL_PLACE_H

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

/*
 * The descriptor of a file of ours in a process whose descriptors are the program's to close: daemons close all of them
 * at their start, and the number may then belong to a file of the program. So it stands high, where the program's own
 * numbers stay as they would be without us, is looked at before each use, and is opened again when it is gone.
 */

struct descriptor {
    int fd; /* -1: there is none */
    dev_t device;
    ino_t inode;
    char path[PATH_MAX]; /* absolute */
};

/* Makes the file PATH (0600, new) for reading and writing. Returns 0, or -1 with errno set: EEXIST when it is there. */
int descriptor_create(struct descriptor *descriptor, const char *path);

/* The descriptor, opened again where it must be; -1 with errno set. */
int descriptor_use(struct descriptor *descriptor);

/* Whether the descriptor is still that of the file. */
bool descriptor_is_ours(const struct descriptor *descriptor);

/* Whether the file was removed: it has no name any more, so it will never be read. False also when the
 * descriptor is not ours, as nothing is known then. */
bool descriptor_is_removed(const struct descriptor *descriptor);

/* Closes it if it is ours. Async-signal-safe. */
void descriptor_close(struct descriptor *descriptor);

/* Gives the calling thread, which is ours, a table of descriptors of its own, an empty one: nothing that the program
 * opens or closes is seen there, nor held open. 0, or -1 with errno set: the kernel or a sandbox does not offer it. */
int descriptor_own_table(void);

/* Whether any of the process's descriptors is a device whose path begins with PREFIX. */
bool descriptor_any_device(const char *prefix);

/* SERVER is the setting `spool_server`: NULL or "" when there is no launcher to ask. It is not copied. */
void spool_place_set_server(const char *server);

/* Makes the file and fills DESCRIPTOR. Returns 0, or -1 with errno set: why the process could not make the file itself,
 * or ECONNREFUSED when it could not and the launcher has ended. */
int spool_place_make(const char *directory, struct descriptor *descriptor);

/* Removes the file, which could not be used. */
void spool_place_remove(struct descriptor *descriptor);

/* Reports to the launcher that this process is not recorded because of FAILURE (errno, or SPOOL_FAILURE_MASK_KILLS …),
 * so that it is counted. Leaves errno at FAILURE. */
void spool_place_note_unrecorded(const char *directory, int failure);

#endif
