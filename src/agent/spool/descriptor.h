/*
 * The descriptor of a file of ours in a process whose descriptors are the program's to close: daemons close all of them
 * at their start, and the number may then belong to a file of the program's. So it stands high, where the program's own
 * numbers stay as they would be without us, is looked at before each use, and is opened again when it is gone.
 */
#ifndef GPUTRACE_AGENT_SPOOL_DESCRIPTOR_H
#define GPUTRACE_AGENT_SPOOL_DESCRIPTOR_H

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

struct descriptor {
    int fd; /* -1: there is none */
    dev_t device;
    ino_t inode;
    char path[PATH_MAX]; /* absolute */
};

/* Makes the file PATH (0600, new) for reading and writing. Gives 0, or -1 with errno set: EEXIST when it is there. */
int descriptor_create(struct descriptor *descriptor, const char *path);

/* Takes FD, a file that somebody else has made under PATH, which may lead nowhere from here. Gives 0, or -1 with errno
 * set and FD closed. */
int descriptor_adopt(struct descriptor *descriptor, int fd, const char *path);

/* The descriptor, opened again where it must be; -1 with errno set. */
int descriptor_use(struct descriptor *descriptor);

/* Whether the descriptor is still that of the file. */
bool descriptor_is_ours(const struct descriptor *descriptor);

/* Whether the file was removed: it has no name any more, so that nobody will ever read it. False also when the
 * descriptor is not ours, as nothing is known then. */
bool descriptor_is_removed(const struct descriptor *descriptor);

/* Closes it if it is ours. Async-signal-safe. */
void descriptor_close(struct descriptor *descriptor);

/* Gives the calling thread, which is ours, a table of descriptors of its own, an empty one: nothing that the program
 * opens or closes is seen there, nor held open. 0, or -1 with errno set: the kernel or a sandbox does not offer it. */
int descriptor_own_table(void);

/* Whether any of the process's descriptors is a device whose path begins with PREFIX. */
bool descriptor_any_device(const char *prefix);

#endif
