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

/* Returns the bytes of a page, a power of two: 4 KiB on most machines, up to 64 KiB on others. A mapping must begin at
 * a multiple of it in the file. Async-signal-safe. */
static inline size_t page_bytes(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

/* Allocates SIZE bytes that will all be used, in huge pages if the system has them, because the first touch of each
 * small page takes a microsecond. The caller frees them with free(). Returns NULL without memory. */
void *huge_page_alloc(size_t size);

/* Read or write SIZE bytes at OFFSET of FD, in as many calls as it takes. Return false after an error (errno), or if
 * the file ends before (errno is 0). */
bool file_read_at(int fd, void *bytes, size_t size, uint64_t offset);
bool file_write_at(int fd, const void *bytes, size_t size, uint64_t offset);

/* Returns the directory of temporary files: $TMPDIR or /tmp. */
const char *temporary_directory(void);

/* Makes an empty file without a name on the disk of DIRECTORY. It is gone when it is closed, however the process ends.
 * Returns its descriptor, or -1. */
int temporary_file_open(const char *directory);

/* Reserves BYTES on the disk at offset FROM, because touching a mapped page without disk space raises SIGBUS. Returns
 * 0, or -1. */
int temporary_file_grow(int fd, uint64_t from, uint64_t bytes);

/* Returns whether the file FD may grow by BYTES. The agent and the launcher leave a twentieth of the disk, at most 128
 * MiB, for the program, which may write to it, too. Returns true also if the disk does not report its size. */
bool disk_has_space(int fd, uint64_t bytes);

/* --- libraries --- */

/* Returns how many libraries the process has loaded and unloaded so far. Takes the dynamic loader's lock. */
uint64_t library_changes(void);

/* Returns whether a library is loaded whose file's name begins with NAME, and sets PATH to its file. Takes the dynamic
 * loader's lock. */
bool library_is_loaded(const char *name, char path[PATH_MAX]);

/*
 * Returns whether every user could replace a library before it is loaded: the file at PATH, or a directory above it, is
 * world-writable. Symbolic links are followed. A directory with the sticky bit, such as /tmp, is safe for files of root
 * and of this user. If it returns true, WHERE is the file or directory in question. Returns false also for a file that
 * does not exist, which cannot be loaded. Allocates and prints nothing.
 */
bool world_writable(const char *path, char where[PATH_MAX]);

#endif
