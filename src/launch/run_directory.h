/*
 * The private directory of one run, "gputrace-XXXXXX", where traced processes put their spool files.
 *
 * Its maker holds a lock on it while it lives, so a directory without a lock belongs to a launcher that was
 * killed.
 */
#ifndef GPUTRACE_LAUNCH_RUN_DIRECTORY_H
#define GPUTRACE_LAUNCH_RUN_DIRECTORY_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

struct run_directory {
    char path[PATH_MAX]; /* absolute; "" when there is none */
    int lock;            /* descriptor that holds the lock, closed at exec */
};

/* Where spool directories go: GIVEN (of --spool-dir; NULL: not given), else $TMPDIR, else /tmp. */
const char *run_directory_parent(const char *given);

/* Makes a new directory below PARENT, for this user alone. Returns 0, or -1 after error(). */
int run_directory_make(struct run_directory *directory, const char *parent);

/* Opens the directory PATH of an earlier run. HELD: its launcher still lives, and will make the trace itself. SAFE: it
 * is this user's, and only this user can write into it. Returns 0, or -1 after error(): it does not exist, or is not
 * one. */
int run_directory_open(struct run_directory *directory, const char *path, bool *held, bool *safe);

/* Lets go of the directory and leaves it where it is. */
void run_directory_release(struct run_directory *directory);

/* Removes the files that a run makes, and the directory when nothing else is in it; a warning() says when there is. */
void run_directory_remove(struct run_directory *directory);

/* How many processes that write into the directory are alive, of the program's own children, say: those that hold the
 * lock of their spool, and those that have just made theirs and lock it next. */
unsigned run_directory_writers(const struct run_directory *directory);

/* Spool directories of this user that no launcher holds. */
struct leftovers {
    unsigned count;
    uint64_t bytes; /* in their files */
    char first[PATH_MAX];
};

/* Finds them below PARENT. EACH, which may be NULL, is called with every one and the bytes in its files. */
struct leftovers run_directory_leftovers(const char *parent,
                                         void (*each)(void *context, const char *path, uint64_t bytes), void *context);

/* --- spool files for processes that cannot make them --- */

/*
 * A thread of the launcher that makes spool files for processes that cannot make them themselves, and notes those that
 * are not recorded (common/spool.h).
 */

struct spool_server;

/* Begins to listen for processes whose spools belong into DIRECTORY. NULL with errno set: such a socket
 * cannot be made. */
struct spool_server *spool_server_start(const char *directory);

/* The setting `spool_server` for processes. Valid as long as SERVER. */
const char *spool_server_address(const struct spool_server *server);

/* Ends the thread and frees SERVER. Returns how many processes are not recorded and not noted in the directory.
 * SERVER may be NULL. */
unsigned spool_server_stop(struct spool_server *server);

#endif
