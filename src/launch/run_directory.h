/*
 * The private directory of one run, "gputrace-XXXXXX", where traced processes put their spool files.
 *
 * The launcher that made the directory holds a lock on it while it lives, so a directory without a lock belongs to a
 * launcher that was killed.
 */
#ifndef GPUTRACE_LAUNCH_RUN_DIRECTORY_H
#define GPUTRACE_LAUNCH_RUN_DIRECTORY_H

#include <dirent.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

struct run_directory {
    char path[PATH_MAX]; /* absolute; "" if there is no directory */
    int lock;            /* descriptor that holds the lock, closed at exec */
};

/* Returns the directory for spool directories: GIVEN, the argument of --spool-dir, or if it is NULL $TMPDIR or /tmp. */
const char *run_directory_parent(const char *given);

/* Makes a new directory below PARENT that only this user can enter. Returns 0, or -1 after error(). */
int run_directory_make(struct run_directory *directory, const char *parent);

/* Opens the directory PATH of an earlier run. Sets HELD if its launcher still lives and will write the trace itself,
 * and SAFE if the directory belongs to this user and no other user can write into it. Returns 0, or -1 after error() if
 * it does not exist or is not a run directory. */
int run_directory_open(struct run_directory *directory, const char *path, bool *held, bool *safe);

/* Releases the lock and leaves the directory where it is. */
void run_directory_release(struct run_directory *directory);

/* Removes the files of the run and the directory. If the directory has other files, it stays, and warning() says so. */
void run_directory_remove(struct run_directory *directory);

/* Opens the list of files in the open directory FOLDER, for readdir(3). The caller closes it. Returns NULL on failure.
 * */
DIR *run_directory_files(int folder);

/* Returns the number of living processes that write into the directory: those that hold the lock of their spool, and
 * those that have just made their spool and lock it next. */
unsigned run_directory_writers(const struct run_directory *directory);

/* Spool directories of this user that no launcher holds. */
struct leftovers {
    unsigned count;
    uint64_t bytes; /* that their files take on the disk */
    char first[PATH_MAX];
};

/* Finds leftovers below PARENT. Calls EACH, which may be NULL, with the path of each directory and the bytes that its
 * files take on the disk. */
struct leftovers run_directory_leftovers(const char *parent,
                                         void (*each)(void *context, const char *path, uint64_t bytes), void *context);

/* Calls EACH with the spool of each living process that this user's runs below PARENT record: FD is open for reading and
 * writing until EACH returns. */
void run_directory_spools(const char *parent, void (*each)(void *context, int fd), void *context);

/* --- spool files for processes that cannot make them --- */

/*
 * A thread of the launcher makes spool files for processes whose sandbox hides the run directory, and notes processes
 * that are not recorded (common/spool.h).
 */

struct spool_server;

/* Starts a thread that makes spool files in DIRECTORY. Returns NULL with errno set on failure. */
struct spool_server *spool_server_start(const char *directory);

/* Returns the value of the setting `spool_server` for traced processes. It is valid as long as SERVER. */
const char *spool_server_address(const struct spool_server *server);

/* Ends the thread and frees SERVER, which may be NULL. Returns the number of processes that are not recorded and that
 * the thread could not note in the directory. */
unsigned spool_server_stop(struct spool_server *server);

#endif
