/*
 * Memory for indexes that grow with the trace: a part of it lies in mapped temporary files, whose pages can be given
 * back and are read again when they are touched. If no file can be made (DIRECTORY is NULL, its disk is full, or too
 * many files are open), it is ordinary memory.
 *
 * FILE_VECTOR: growing arrays like ARRAY. They should be read and written in order where possible. Items move when the
 * array grows.
 *
 *     FILE_VECTOR(struct point) points = {.memory = {.directory = directory}};
 *     struct point *p = file_vector_push(&points);   // zeroed; NULL: no memory
 *     file_vector_sort(&points, by_x);
 *     file_vector_release(&points);
 *
 * There may be a file vector for each thread and row. If the ordinary memory of all file vectors exceeds
 * FILE_VECTORS_PLAIN, even small file vectors move to files.
 *
 * struct spill: blocks of memory that never move.
 */
#ifndef GPUTRACE_COMMON_FILE_VECTOR_H
#define GPUTRACE_COMMON_FILE_VECTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "common/array.h"

#define FILE_VECTOR_PLAIN ((size_t)4 << 20)   /* a file vector up to this many bytes is ordinary memory */
#define FILE_VECTORS_PLAIN ((size_t)32 << 20) /* bytes of all file vectors above which the next limit counts */
#define FILE_VECTOR_LEAST ((size_t)64 << 10)  /* a file vector up to this many bytes is ordinary memory even then */
#define FILE_VECTOR_STEP ((size_t)32 << 20)   /* bytes by which a file grows at most */

#define MAPPED_AROUND ((size_t)64 << 10) /* bytes of a mapped file that come into memory when a byte is touched */

struct file_memory {
    const char *directory; /* owned by the caller */
    int file;              /* descriptor + 1; 0: it is ordinary memory */
    bool refused;          /* no file can be made */
    size_t found;          /* where the last search ended, in bytes */
    unsigned jumps;        /* number of searches that ended far from the previous one */
};

#define FILE_VECTOR(type)          \
    struct {                       \
        type *items;               \
        size_t count, capacity;    \
        struct file_memory memory; \
    }

#define file_vector_push(array)                                                                                        \
    ((__typeof__((array)->items))file_vector_push_bytes((void **)&(array)->items, &(array)->count, &(array)->capacity, \
                                                        sizeof(*(array)->items), &(array)->memory))
/* Frees the memory. The file vector can be used again. */
#define file_vector_release(array)                                                                       \
    (file_memory_release((array)->items, (array)->capacity * sizeof(*(array)->items), &(array)->memory), \
     (void)((array)->items = NULL, (array)->count = (array)->capacity = 0))
/* Gives the pages of the file back to the kernel. Other threads may be reading them. */
#define file_vector_evict(array) \
    file_memory_evict((array)->items, (array)->capacity * sizeof(*(array)->items), &(array)->memory)
/* Notes that a search ended at INDEX, and gives the pages back after many searches that ended far apart. Only one
 * thread at a time may call it. */
#define file_vector_found(array, index)                                                                               \
    file_memory_found((array)->items, (array)->capacity * sizeof(*(array)->items), (index) * sizeof(*(array)->items), \
                      &(array)->memory)
/* Sorts with COMPARE as qsort() does; equal items may change places. Returns 0, or -1: no memory, or after warning() if
 * a temporary file could not be read. After a failure the items are of no use. */
#define file_vector_sort(array, compare) \
    file_memory_sort((array)->items, (array)->count, sizeof(*(array)->items), compare, &(array)->memory)

void *file_memory_grow(void *items, size_t bytes, size_t wanted, struct file_memory *memory);
void file_memory_release(void *items, size_t bytes, struct file_memory *memory);
void file_memory_found(void *items, size_t bytes, size_t at, struct file_memory *memory);
void file_memory_evict(void *items, size_t bytes, const struct file_memory *memory);
int file_memory_sort(void *items, size_t count, size_t size, int (*compare)(const void *, const void *),
                     const struct file_memory *memory);

static inline void *file_vector_push_bytes(void **items, size_t *count, size_t *capacity, size_t size,
                                           struct file_memory *memory)
{
    if (*count == *capacity) {
        /* A file need not double, because its contents are not copied when it grows. */
        size_t most = memory->file ? FILE_VECTOR_STEP / size : *capacity;
        size_t more = *capacity == 0 ? 4 : *capacity < most ? *capacity : most;
        void *grown = file_memory_grow(*items, *capacity * size, (*capacity + more) * size, memory);
        if (!grown)
            return NULL;
        *items = grown;
        *capacity += more;
    }
    return memset((char *)*items + size * (*count)++, 0, size);
}

#define SPILL_PLAIN_BYTES ((uint64_t)32 << 20) /* bytes of ordinary memory before a file is made */

struct spill {
    const char *directory; /* for the file; NULL: no file is made */
    uint64_t most_plain;   /* bytes of ordinary memory before a file is made; usually SPILL_PLAIN_BYTES */
    bool started;          /* the file was opened, or could not be */
    int fd;                /* valid if `started`; -1: there is no file */
    uint64_t file_bytes, plain_bytes;
    ARRAY(struct spill_extent {
        char *at;
        size_t size;
        size_t used;
        bool in_file;
    })
    extents;
};

/* DIRECTORY is owned by the caller and must outlive the spill. */
void spill_init(struct spill *spill, const char *directory);
/* Frees all blocks. The spill may be all zero. */
void spill_release(struct spill *spill);

/* Returns SIZE zeroed bytes that never move. SIZE is a power of two up to 1 MiB; the block is aligned to SIZE, or to a
 * page if SIZE is larger. Returns NULL without memory. */
void *spill_block(struct spill *spill, size_t size);
/* Returns whether the last block lies in the file, so that its pages can be given back. */
bool spill_last_in_file(const struct spill *spill);

/* Gives the pages of the file back to the kernel. Pointers stay valid, and other threads may be reading and writing. */
void spill_evict(const struct spill *spill);

#endif
