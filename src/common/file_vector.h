/*
 * Memory for indexes that grow with the trace: a part of it lies in mapped temporary files, whose pages can be given
 * back and are read again when they are touched. Where no file can be made (DIRECTORY is NULL, its disk is full, or too
 * many files are open) it is ordinary memory.
 *
 * FILE_VECTOR: growing arrays, as ARRAY. They are read and written in order as far as possible. Items move when one
 * grows.
 *
 *     FILE_VECTOR(struct point) points = {.memory = {.directory = directory}};
 *     struct point *p = file_vector_push(&points);   // zeroed; NULL: no memory
 *     file_vector_sort(&points, by_x);
 *     file_vector_release(&points);
 *
 * There may be one for each thread and row. The ordinary memory of all of them is counted; when it exceeds
 * FILE_VECTORS_PLAIN even small ones move to files.
 *
 * struct spill: blocks of memory that stay where they are.
 */
#ifndef GPUTRACE_COMMON_FILE_VECTOR_H
#define GPUTRACE_COMMON_FILE_VECTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "common/array.h"

#define FILE_VECTOR_PLAIN ((size_t)4 << 20)   /* bytes up to which one is ordinary memory … */
#define FILE_VECTORS_PLAIN ((size_t)32 << 20) /* … unless all together exceed this … */
#define FILE_VECTOR_LEAST ((size_t)64 << 10)  /* … then up to this */
#define FILE_VECTOR_STEP ((size_t)32 << 20)   /* bytes by which a file grows at most */

#define MAPPED_AROUND ((size_t)64 << 10) /* bytes of a mapped file that come into memory when one is touched */

struct file_memory {
    const char *directory; /* the caller's */
    int file;              /* descriptor + 1; 0: it is ordinary memory */
    bool refused;          /* there can be no file */
    size_t found;          /* where the last search ended, in bytes */
    unsigned jumps;        /* searches that ended far from the one before */
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
/* It can be used again. */
#define file_vector_release(array)                                                                       \
    (file_memory_release((array)->items, (array)->capacity * sizeof(*(array)->items), &(array)->memory), \
     (void)((array)->items = NULL, (array)->count = (array)->capacity = 0))
/* Gives the pages of the file back to the kernel. Other threads may be reading them. */
#define file_vector_evict(array) \
    file_memory_evict((array)->items, (array)->capacity * sizeof(*(array)->items), &(array)->memory)
/* One thread's search ended at INDEX. After many that ended far from each other the pages are given back. */
#define file_vector_found(array, index)                                                                               \
    file_memory_found((array)->items, (array)->capacity * sizeof(*(array)->items), (index) * sizeof(*(array)->items), \
                      &(array)->memory)
/* Sorts with COMPARE, as qsort; equal items may change places. Returns 0, or -1: no memory, or, after warning(), a
 * temporary file could not be read; then the items are of no use. */
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
        /* In a file there is no need to double: what is there stays where it is on the disk. */
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

#define SPILL_PLAIN_BYTES ((uint64_t)32 << 20) /* bytes of ordinary memory before there is a file */

struct spill {
    const char *directory; /* of the file; NULL: there will be none */
    uint64_t most_plain;   /* bytes of ordinary memory before the file; SPILL_PLAIN_BYTES, as a rule */
    bool started;          /* the file was opened, or could not be */
    int fd;                /* once started; -1: not in a file */
    uint64_t file_bytes, plain_bytes;
    ARRAY(struct spill_extent {
        char *at;
        size_t size;
        size_t used;
        bool in_file;
    })
    extents;
};

/* DIRECTORY is the caller's and outlives the spill. */
void spill_init(struct spill *spill, const char *directory);
/* Frees all blocks. Also of a spill that is all zero. */
void spill_release(struct spill *spill);

/* SIZE zeroed bytes, a power of two up to 1 MiB, aligned to it up to a page; they stay where they are. NULL: no
 * memory. */
void *spill_block(struct spill *spill, size_t size);
/* Whether the last block lies in the file, so that its pages can be given back by themselves. */
bool spill_last_in_file(const struct spill *spill);

/* Gives the pages of the file back to the kernel. Pointers stay valid, and other threads may be reading and writing. */
void spill_evict(const struct spill *spill);

#endif
