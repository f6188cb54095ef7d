/*
 * Growing arrays, as ARRAY, that may be larger than memory: a large one lies in a file without a name, mapped, whose
 * pages are given back with file_vector_rest(). It is read and written in order, as far as possible.
 *
 *     FILE_VECTOR(struct point) points = {.memory = {.directory = directory}};
 *     struct point *p = file_vector_push(&points);   // zeroed; NULL: no memory
 *     file_vector_sort(&points, by_x);
 *     file_vector_release(&points);
 *
 * Where no file can be made (DIRECTORY is NULL, its disk is full, or too many are open) it is ordinary memory. Items
 * move when it grows.
 *
 * There may be one for each thread and row: so that many of them are not large together, what all have of ordinary
 * memory is counted, and beyond BIG_ARRAYS_PLAIN even small ones are moved to files.
 */
#ifndef GPUTRACE_COMMON_FILE_VECTOR_H
#define GPUTRACE_COMMON_FILE_VECTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#define FILE_VECTOR_PLAIN ((size_t)4 << 20)  /* bytes of one that are ordinary memory … */
#define FILE_VECTOR_LEAST ((size_t)64 << 10) /* … also when there are many of them … */
#define BIG_ARRAYS_PLAIN ((size_t)32 << 20)  /* … which together have more than this */
#define FILE_VECTOR_STEP ((size_t)32 << 20)  /* by which a file grows, at most */

#define MAPPED_AROUND ((size_t)64 << 10) /* bytes of a mapped file that come into memory when one is touched */

struct big_memory {
    const char *directory; /* the caller's */
    int file;              /* descriptor + 1; 0: it is ordinary memory */
    bool refused;          /* there can be no file */
    size_t found;          /* where a search ended last, in bytes … */
    unsigned jumps;        /* … and how many ended far from the one before */
};

#define FILE_VECTOR(type)         \
    struct {                      \
        type *items;              \
        size_t count, capacity;   \
        struct big_memory memory; \
    }

#define file_vector_push(array)                                                                                        \
    ((__typeof__((array)->items))file_vector_push_bytes((void **)&(array)->items, &(array)->count, &(array)->capacity, \
                                                        sizeof(*(array)->items), &(array)->memory))
/* It can be used again. */
#define file_vector_release(array)                                                                      \
    (big_memory_release((array)->items, (array)->capacity * sizeof(*(array)->items), &(array)->memory), \
     (void)((array)->items = NULL, (array)->count = (array)->capacity = 0))
/* What was touched is not needed for now. Others may be reading it. */
#define file_vector_rest(array) \
    big_memory_rest((array)->items, (array)->capacity * sizeof(*(array)->items), &(array)->memory)
/* One thread's search ended at INDEX: after many that ended far from each other what they touched is given back. */
#define file_vector_found(array, index)                                                                              \
    big_memory_found((array)->items, (array)->capacity * sizeof(*(array)->items), (index) * sizeof(*(array)->items), \
                     &(array)->memory)
/* Sorts with COMPARE, as qsort; what is equal may change places. Gives 0, or -1: no memory, and it is as it was. */
#define file_vector_sort(array, compare) \
    big_memory_sort((array)->items, (array)->count, sizeof(*(array)->items), compare, &(array)->memory)

void *big_memory_grow(void *items, size_t bytes, size_t wanted, struct big_memory *memory);
void big_memory_release(void *items, size_t bytes, struct big_memory *memory);
void big_memory_found(void *items, size_t bytes, size_t at, struct big_memory *memory);
void big_memory_rest(void *items, size_t bytes, const struct big_memory *memory);
int big_memory_sort(void *items, size_t count, size_t size, int (*compare)(const void *, const void *),
                    const struct big_memory *memory);

static inline void *file_vector_push_bytes(void **items, size_t *count, size_t *capacity, size_t size,
                                           struct big_memory *memory)
{
    if (*count == *capacity) {
        /* In a file there is no need to double: what is there stays where it is on the disk. */
        size_t most = memory->file ? FILE_VECTOR_STEP / size : *capacity;
        size_t more = *capacity == 0 ? 4 : *capacity < most ? *capacity : most;
        void *grown = big_memory_grow(*items, *capacity * size, (*capacity + more) * size, memory);
        if (!grown)
            return NULL;
        *items = grown;
        *capacity += more;
    }
    return memset((char *)*items + size * (*count)++, 0, size);
}

#endif
