/*
 * Creates the spool file of this process in the run's directory, or, if the process cannot reach the directory, gets
 * the file from the launcher (common/spool.h).
 */
#ifndef GPUTRACE_AGENT_SPOOL_SPOOL_PLACE_H
#define GPUTRACE_AGENT_SPOOL_SPOOL_PLACE_H

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

/*
 * The descriptor of a file of ours in a process whose descriptors the program may close: daemons close all of them at
 * their start, and the number may then belong to a file of the program. So the descriptor has a high number, which
 * leaves the program's own numbers as they would be without us, is checked before each use, and is opened again if it
 * is gone.
 */

struct descriptor {
    int fd; /* -1 if not open */
    dev_t device;
    ino_t inode;
    char path[PATH_MAX]; /* absolute */
};

/* Creates the file PATH (0600) for reading and writing. Returns 0, or -1 with errno set (EEXIST if the file exists). */
int descriptor_create(struct descriptor *descriptor, const char *path);

/* Returns the descriptor, opened again if necessary, or -1 with errno set. */
int descriptor_use(struct descriptor *descriptor);

/* Whether the descriptor is still that of the file. */
bool descriptor_is_ours(const struct descriptor *descriptor);

/* Whether the file was removed, so that nobody will read it. False also if the descriptor is not ours, because nothing
 * is known then. */
bool descriptor_is_removed(const struct descriptor *descriptor);

/* Closes the descriptor if it is ours. Async-signal-safe. */
void descriptor_close(struct descriptor *descriptor);

/* Gives the calling thread, which must be ours, an empty descriptor table of its own: the thread neither sees nor keeps
 * open what the program opens or closes. Returns 0, or -1 with errno set if the kernel or a sandbox does not offer
 * this. */
int descriptor_own_table(void);

/* Whether any of the process's descriptors is a device whose path begins with PREFIX. */
bool descriptor_any_device(const char *prefix);

/* Sets the launcher to ask: SERVER is the setting `spool_server`, NULL or "" if there is none. SERVER is not copied. */
void spool_place_set_server(const char *server);

/* Creates the file and fills in DESCRIPTOR. Returns 0, or -1 with errno set: why the process could not create the file
 * itself, or ECONNREFUSED if the launcher has ended, too. */
int spool_place_make(const char *directory, struct descriptor *descriptor);

/* Removes the file, because it could not be used. Preserves errno. */
void spool_place_remove(struct descriptor *descriptor);

/* Reports to the launcher that this process is not recorded because of FAILURE (an errno, or SPOOL_FAILURE_MASK_KILLS
 * or the like), so that the process is counted. Sets errno to FAILURE. */
void spool_place_note_unrecorded(const char *directory, int failure);

#endif
