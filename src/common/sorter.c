/*
 * Records fill a buffer. A full buffer is sorted and becomes a run, in memory or in the file. A walk merges the runs
 * through a heap of cursors, or reads one run after another if each begins after the end of the previous run.
 */
#include "common/sorter.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/log.h"

/* The buffers of a walk: bytes of all of them, and the least and most bytes of one. */
#define BUFFERS_BYTES ((size_t)4 * 1024 * 1024)
#define BUFFER_MIN ((size_t)4 * 1024)
#define BUFFER_MAX ((size_t)512 * 1024)

void sorter_init(struct sorter *sorter, struct sorter_space *space, size_t record_bytes, sorter_compare compare)
{
    *sorter = (struct sorter){.space = space, .record_bytes = record_bytes, .compare = compare, .fd = -1};
}

void sorter_release(struct sorter *sorter)
{
    for (size_t i = 0; i < sorter->runs.count; i++) {
        struct sorter_run *run = &sorter->runs.items[i];
        __atomic_add_fetch(&sorter->space->left, run->space, __ATOMIC_RELAXED);
        free(run->held);
    }
    array_release(&sorter->runs);
    free(sorter->filling);
    free(sorter->greatest);
    if (sorter->record_bytes > 0 && sorter->fd >= 0)
        close(sorter->fd);
    *sorter = (struct sorter){.fd = -1};
}

/* --- runs --- */

/* Writes the run to the file. Returns false if no file can be made or written. */
static bool write_run(struct sorter *sorter, struct sorter_run *run)
{
    size_t size = sorter->filled;
    if (sorter->no_file)
        return false;
    if (sorter->fd < 0)
        sorter->fd = temporary_file_open(sorter->space->directory ? sorter->space->directory : temporary_directory());
    sorter->no_file = sorter->fd < 0 || !file_write_at(sorter->fd, sorter->filling, size, sorter->end);
    if (sorter->no_file)
        return false;
    run->offset = sorter->end;
    sorter->end += size;
    return true;
}

/* Notes if the run, which is sorted, begins before the end of the previous run. Returns 0, or -1: no memory. */
static int note_order(struct sorter *sorter)
{
    size_t size = sorter->record_bytes;
    if (sorter->greatest)
        sorter->disordered |= sorter->compare(sorter->greatest, sorter->filling) > 0;
    else if (!(sorter->greatest = malloc(size)))
        return -1;
    memcpy(sorter->greatest, sorter->filling + sorter->filled - size, size);
    return 0;
}

/* Reserves up to SIZE bytes of the sorters' memory. Returns how many, or 0 if fewer than LEAST are left. */
static size_t reserve(struct sorter_space *space, size_t size, size_t least)
{
    size_t left = __atomic_load_n(&space->left, __ATOMIC_RELAXED), taken;
    do {
        taken = size < left ? size : left;
        if (taken < least)
            return 0;
    } while (!__atomic_compare_exchange_n(&space->left, &left, left - taken, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
    return taken;
}

static int end_run(struct sorter *sorter)
{
    size_t size = sorter->filled;
    struct sorter_run *run = size ? array_push(&sorter->runs) : NULL;
    if (!run)
        return size ? -1 : 0;
    run->count = size / sorter->record_bytes;
    size_t in_order = sorter->record_bytes, record = sorter->record_bytes;
    while (in_order < size && sorter->compare(sorter->filling + in_order - record, sorter->filling + in_order) <= 0)
        in_order += record;
    if (in_order < size)
        qsort(sorter->filling, run->count, record, sorter->compare);
    if (note_order(sorter) < 0)
        return -1;
    run->space = reserve(sorter->space, size, size);
    if (run->space > 0 || !write_run(sorter, run)) {
        if (run->space == 0)
            run->space = reserve(sorter->space, size, 0);
        run->held = sorter->filling;
        sorter->filling = NULL;
    }
    sorter->filled = 0;
    return 0;
}

int sorter_make_space(struct sorter *sorter)
{
    if (end_run(sorter) < 0)
        return -1;
    sorter->most = sorter->space->run / sorter->record_bytes * sorter->record_bytes;
    if (!sorter->filling)
        sorter->filling = huge_page_alloc(sorter->most);
    sorter->most = sorter->filling ? sorter->most : 0;
    return sorter->filling ? 0 : -1;
}

int sorter_ready(struct sorter *sorter)
{
    int status = end_run(sorter);
    free(sorter->filling);
    sorter->filling = NULL;
    sorter->most = 0;
    return status;
}

/* --- walks --- */

struct sorter_cursor {
    const char *at, *end; /* records in memory */
    size_t run;           /* number of the run, in the order of adding */
    size_t left;          /* number of its records that are still in the file */
    uint64_t offset;      /* place of these records in the file */
    char *buffer;         /* NULL: the run is in memory */
    size_t buffer_bytes;
};

/* Reads the cursor's next records from the file. Returns false if there are none, or they cannot be read. */
static bool load(struct sorter_walk *walk, struct sorter_cursor *cursor)
{
    size_t bytes = walk->sorter->record_bytes, count = cursor->buffer_bytes / bytes;
    if (cursor->left == 0)
        return false;
    count = count < cursor->left ? count : cursor->left;
    if (!file_read_at(walk->sorter->fd, cursor->buffer, count * bytes, cursor->offset)) {
        warning("cannot read a temporary file: %s", errno ? strerror(errno) : "it is shorter than it was");
        walk->status = -1;
        return false;
    }
    cursor->at = cursor->buffer;
    cursor->end = cursor->buffer + count * bytes;
    cursor->offset += count * bytes;
    cursor->left -= count;
    return true;
}

static bool precedes(const struct sorter *sorter, const struct sorter_cursor *a, const struct sorter_cursor *b)
{
    int order = sorter->compare(a->at, b->at);
    return order < 0 || (order == 0 && a->run < b->run);
}

static void sift(struct sorter_walk *walk, size_t at)
{
    struct sorter_cursor *heap = walk->cursors, moving = heap[at];
    for (size_t child; (child = 2 * at + 1) < walk->count; at = child) {
        if (child + 1 < walk->count && precedes(walk->sorter, &heap[child + 1], &heap[child]))
            child++;
        if (!precedes(walk->sorter, &heap[child], &moving))
            break;
        heap[at] = heap[child];
    }
    heap[at] = moving;
}

/* Adds a cursor for the next run. AT_A_TIME runs are merged together. Returns false without memory, or if the run
 * cannot be read. */
static bool open_cursor(struct sorter_walk *walk, size_t at_a_time)
{
    const struct sorter_run *run = &walk->sorter->runs.items[walk->next];
    struct sorter_cursor *cursor = &walk->cursors[walk->count++];
    *cursor = (struct sorter_cursor){.run = walk->next++};
    if (run->held) {
        cursor->at = run->held;
        cursor->end = run->held + run->count * walk->sorter->record_bytes;
        return true;
    }
    size_t bytes = BUFFERS_BYTES / at_a_time;
    cursor->left = run->count;
    cursor->offset = run->offset;
    cursor->buffer_bytes = bytes < BUFFER_MIN ? BUFFER_MIN : bytes > BUFFER_MAX ? BUFFER_MAX : bytes;
    cursor->buffer = malloc(cursor->buffer_bytes);
    if (!cursor->buffer)
        walk->status = -1;
    return cursor->buffer && load(walk, cursor);
}

void sorter_walk_begin(struct sorter_walk *walk, const struct sorter *sorter)
{
    *walk = (struct sorter_walk){.sorter = sorter};
    size_t runs = sorter->runs.count, begun = sorter->disordered || runs == 0 ? runs : 1;
    walk->cursors = runs ? calloc(begun, sizeof(*walk->cursors)) : NULL;
    if (runs && !walk->cursors)
        walk->status = -1;
    while (walk->next < begun && walk->status == 0)
        open_cursor(walk, begun);
    for (size_t i = walk->count / 2; i-- > 0 && walk->status == 0;)
        sift(walk, i);
}

/* Restores the heap after its first cursor has moved on: reads further records of its run, or drops it at the end of
 * the run. */
static void replace_first(struct sorter_walk *walk)
{
    struct sorter_cursor *first = &walk->cursors[0];
    if (first->at == first->end && !load(walk, first)) {
        free(first->buffer);
        walk->count--;
        *first = walk->cursors[walk->count];
        walk->cursors[walk->count].buffer = NULL;
        if (walk->count == 0 && walk->next < walk->sorter->runs.count)
            open_cursor(walk, 1);
    }
    if (walk->count > 0)
        sift(walk, 0);
}

const void *sorter_next(struct sorter_walk *walk)
{
    if (walk->started && walk->status == 0) {
        struct sorter_cursor *first = &walk->cursors[0];
        first->at += walk->sorter->record_bytes;
        if (walk->count > 1 || first->at == first->end)
            replace_first(walk);
    }
    walk->started = walk->status == 0 && walk->count > 0;
    return walk->started ? walk->cursors[0].at : NULL;
}

int sorter_walk_end(struct sorter_walk *walk)
{
    for (size_t i = 0; i < walk->count; i++)
        free(walk->cursors[i].buffer);
    free(walk->cursors);
    int status = walk->status;
    *walk = (struct sorter_walk){0};
    return status;
}
