#include "common/file_vector.h"

#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "common/page.h"
#include "common/temporary_file.h"

/* Of all arrays of this process, wherever they are: its memory is one, and so is its table of descriptors. */
static _Atomic size_t plain_bytes;
static _Atomic size_t files;

/* Others need descriptors, too, and large arrays need files more than small ones do. */
static bool may_open(size_t wanted)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return false;
    return files < (wanted > FILE_VECTOR_PLAIN ? limit.rlim_cur / 4 * 3 : limit.rlim_cur / 2);
}

static size_t whole_pages(size_t bytes)
{
    size_t page = page_bytes();
    return (bytes + page - 1) / page * page;
}

static void *map(int fd, size_t bytes)
{
    return mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
}

/* NULL: there can be no file, or no room in it. */
static void *move_to_file(void *items, size_t bytes, size_t wanted, struct big_memory *memory)
{
    int fd = memory->directory ? unnamed_file(memory->directory) : -1;
    void *at = fd >= 0 && temporary_file_grow(fd, 0, wanted) == 0 ? map(fd, wanted) : MAP_FAILED;
    if (at == MAP_FAILED) {
        if (fd >= 0)
            close(fd);
        memory->refused = true;
        return NULL;
    }
    memory->file = fd + 1;
    if (bytes > 0)
        memcpy(at, items, bytes);
    free(items);
    plain_bytes -= bytes;
    files++;
    return at;
}

static void *move_to_memory(void *items, size_t bytes, size_t wanted, struct big_memory *memory)
{
    void *at = malloc(wanted);
    if (!at)
        return NULL;
    memcpy(at, items, bytes);
    big_memory_release(items, bytes, memory);
    plain_bytes += wanted;
    memory->refused = true;
    return at;
}

static void *grow_file(void *items, size_t bytes, size_t wanted, struct big_memory *memory)
{
    size_t had = whole_pages(bytes), room = whole_pages(wanted);
    void *at = MAP_FAILED;
    if (temporary_file_grow(memory->file - 1, had, room - had) == 0)
        at = mremap(items, had, room, MREMAP_MAYMOVE);
    return at != MAP_FAILED ? at : move_to_memory(items, bytes, wanted, memory);
}

void *big_memory_grow(void *items, size_t bytes, size_t wanted, struct big_memory *memory)
{
    if (memory->file)
        return grow_file(items, bytes, wanted, memory);
    void *at = NULL;
    bool many = plain_bytes - bytes + wanted > BIG_ARRAYS_PLAIN;
    if (wanted > (many ? FILE_VECTOR_LEAST : FILE_VECTOR_PLAIN) && !memory->refused && may_open(wanted))
        at = move_to_file(items, bytes, whole_pages(wanted), memory);
    if (at)
        return at;
    at = realloc(items, wanted);
    plain_bytes += at ? wanted - bytes : 0;
    return at;
}

void big_memory_release(void *items, size_t bytes, struct big_memory *memory)
{
    if (memory->file) {
        munmap(items, whole_pages(bytes));
        close(memory->file - 1);
        files--;
    } else {
        free(items);
        plain_bytes -= bytes;
    }
    memory->file = 0;
    memory->refused = false;
}

void big_memory_rest(void *items, size_t bytes, const struct big_memory *memory)
{
    if (memory->file)
        madvise(items, whole_pages(bytes), MADV_DONTNEED);
}

#define FAR_BYTES ((size_t)64 << 10) /* the kernel maps so much around a page */
#define JUMPS 128u                   /* before pages are given back */

void big_memory_found(void *items, size_t bytes, size_t at, struct big_memory *memory)
{
    size_t distance = at > memory->found ? at - memory->found : memory->found - at;
    if (distance < FAR_BYTES)
        return;
    memory->found = at;
    if (++memory->jumps % JUMPS == 0)
        big_memory_rest(items, bytes, memory);
}

/* --- sorting: blocks by themselves, then all of them merged into another file, and back --- */

#define BLOCK_BYTES ((size_t)8 << 20)
#define REST_BYTES ((size_t)8 << 20) /* are read or written before pages are given back */

struct sort {
    char *items, *merged;
    size_t count, size, per_block, blocks;
    int (*compare)(const void *, const void *);
    const struct big_memory *memory;
    struct big_memory other;
    size_t *next; /* of each block: the item that comes next … */
    size_t *heap; /* … and blocks, that with the least item first */
    size_t open;  /* blocks in it */
};

static bool is_sorted(const struct sort *sort)
{
    size_t since = 0;
    for (size_t i = 1; i < sort->count; i++, since += sort->size) {
        if (sort->compare(sort->items + (i - 1) * sort->size, sort->items + i * sort->size) > 0)
            return false;
        if (since >= REST_BYTES) {
            big_memory_rest(sort->items, sort->count * sort->size, sort->memory);
            since = 0;
        }
    }
    return true;
}

static size_t block_end(const struct sort *sort, size_t block)
{
    size_t end = (block + 1) * sort->per_block;
    return end < sort->count ? end : sort->count;
}

static bool comes_before(const struct sort *sort, size_t a, size_t b)
{
    int order = sort->compare(sort->items + sort->next[a] * sort->size, sort->items + sort->next[b] * sort->size);
    return order != 0 ? order < 0 : a < b;
}

static void buffer_down(struct sort *sort, size_t at)
{
    for (size_t child; (child = 2 * at + 1) < sort->open; at = child) {
        if (child + 1 < sort->open && comes_before(sort, sort->heap[child + 1], sort->heap[child]))
            child++;
        if (!comes_before(sort, sort->heap[child], sort->heap[at]))
            return;
        size_t block = sort->heap[at];
        sort->heap[at] = sort->heap[child];
        sort->heap[child] = block;
    }
}

static void rest_both(const struct sort *sort)
{
    big_memory_rest(sort->items, sort->count * sort->size, sort->memory);
    big_memory_rest(sort->merged, sort->count * sort->size, &sort->other);
}

static void merge(struct sort *sort)
{
    size_t since = 0;
    for (size_t i = sort->open; i-- > 0;)
        buffer_down(sort, i);
    for (size_t i = 0; i < sort->count; i++, since += sort->size) {
        size_t block = sort->heap[0];
        memcpy(sort->merged + i * sort->size, sort->items + sort->next[block]++ * sort->size, sort->size);
        if (sort->next[block] == block_end(sort, block))
            sort->heap[0] = sort->heap[--sort->open];
        buffer_down(sort, 0);
        if (since >= REST_BYTES) {
            rest_both(sort);
            since = 0;
        }
    }
    rest_both(sort);
}

static void copy_back(const struct sort *sort)
{
    size_t bytes = sort->count * sort->size;
    for (size_t at = 0; at < bytes; at += REST_BYTES) {
        memcpy(sort->items + at, sort->merged + at, bytes - at < REST_BYTES ? bytes - at : REST_BYTES);
        rest_both(sort);
    }
}

static int sort_blocks(struct sort *sort)
{
    size_t bytes = sort->count * sort->size;
    sort->next = calloc(sort->blocks, sizeof(*sort->next));
    sort->heap = calloc(sort->blocks, sizeof(*sort->heap));
    sort->merged = big_memory_grow(NULL, 0, bytes, &sort->other);
    if (!sort->next || !sort->heap || !sort->merged)
        return -1;
    for (size_t i = 0; i < sort->blocks; i++) {
        sort->next[i] = i * sort->per_block;
        sort->heap[sort->open++] = i;
        qsort(sort->items + sort->next[i] * sort->size, block_end(sort, i) - sort->next[i], sort->size, sort->compare);
        big_memory_rest(sort->items, bytes, sort->memory);
    }
    merge(sort);
    copy_back(sort);
    return 0;
}

int big_memory_sort(void *items, size_t count, size_t size, int (*compare)(const void *, const void *),
                    const struct big_memory *memory)
{
    struct sort sort = {.items = items, .count = count, .size = size, .compare = compare, .memory = memory};
    if (count < 2 || is_sorted(&sort))
        return 0;
    if (!memory->file) {
        qsort(items, count, size, compare);
        return 0;
    }
    sort.per_block = BLOCK_BYTES / size;
    sort.blocks = (count + sort.per_block - 1) / sort.per_block;
    sort.other.directory = memory->directory;
    int result = sort_blocks(&sort);
    if (sort.merged)
        big_memory_release(sort.merged, count * size, &sort.other);
    free(sort.next);
    free(sort.heap);
    return result;
}
