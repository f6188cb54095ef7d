/*
 * Allocates large memory, reads and writes files as a whole, makes temporary files that stand in for memory, finds
 * libraries and says whether other users could replace one.
 */
#ifndef GPUTRACE_COMMON_MEMORY_H
#define GPUTRACE_COMMON_MEMORY_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

/* The value of TYPE at ADDRESS, aligned or not. */
#define LOAD(type, address)                         \
    ({                                              \
        type value_;                                \
        memcpy(&value_, (address), sizeof(value_)); \
        value_;                                     \
    })

/* The bytes of a page, a power of two: 4 KiB on most machines, up to 64 KiB on others. What is mapped must begin at a
 * multiple of it in the file. Async-signal-safe. */
static inline size_t page_bytes(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

/* SIZE bytes that are used from end to end, to be freed with free(); NULL: no memory. They lie in huge pages where the
 * system has them: the first touch of each small page takes a microsecond. */
void *huge_page_alloc(size_t size);

/* Read or write SIZE bytes at OFFSET of FD, in as many calls as it takes. False: an error (errno), or the file ends
 * before (errno is 0). */
bool file_read_at(int fd, void *bytes, size_t size, uint64_t offset);
bool file_write_at(int fd, const void *bytes, size_t size, uint64_t offset);

/* Where temporary files lie: $TMPDIR or /tmp. */
const char *temporary_directory(void);

/* Makes an empty file without a name on the disk of DIRECTORY. It is gone when it is closed, however the process ends.
 * Returns its descriptor, or -1. */
int temporary_file_open(const char *directory);

/* Reserves BYTES on the disk at FROM: a page of a mapped file for which the disk has no space is a SIGBUS. Returns 0,
 * or -1. */
int temporary_file_grow(int fd, uint64_t from, uint64_t bytes);

/* Whether the file FD may grow by BYTES. The agent and the launcher leave a twentieth of the disk, at most 128 MiB,
 * for the program, which may write to it too. True also where the disk does not report its size. */
bool disk_has_space(int fd, uint64_t bytes);

/* --- libraries --- */

/* How many libraries the process has loaded and unloaded so far. Takes the dynamic loader's lock, as the next. */
uint64_t library_changes(void);

/* Whether a library is loaded whose file's name begins with NAME; PATH is its file then. */
bool library_is_loaded(const char *name, char path[PATH_MAX]);

/*
 * Whether every user could replace a library before it is loaded: the file or a directory above it is world-writable. A
 * directory with the sticky bit, such as /tmp, is safe for files of root and of this user.
 */

/*
 * PATH leads to a file, by symbolic links or not. True: others can change what is there; WHERE then holds the file or
 * directory in question. False also for a file that does not exist, which cannot be loaded. Nothing is allocated or
 * printed.
 */
bool world_writable(const char *path, char where[PATH_MAX]);

#endif
