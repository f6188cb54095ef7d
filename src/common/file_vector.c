/*
 * Memory that starts as an ordinary allocation and moves to an unlinked temporary file, mapped, when it becomes large.
 * What lies in a file is sorted through a sorter and copied back in order, so that pages are touched one after another.
 */
#include "common/file_vector.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "common/memory.h"
#include "common/sorter.h"

/* How many bytes of ordinary memory, and how many files, all file vectors of this process have. */
static size_t plain_bytes, files; /* changed atomically */

static size_t whole_pages(size_t bytes)
{
    size_t page = page_bytes();
    return (bytes + page - 1) / page * page;
}

/* Moves the items to a new file of WANTED bytes. Returns NULL if no file can be made or its disk is full. */
static void *move_to_file(void *items, size_t bytes, size_t wanted, struct file_memory *memory)
{
    int fd = memory->directory ? temporary_file_open(memory->directory) : -1;
    void *at = fd >= 0 && temporary_file_grow(fd, 0, wanted) == 0
                   ? mmap(NULL, wanted, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0)
                   : MAP_FAILED;
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
    __atomic_sub_fetch(&plain_bytes, bytes, __ATOMIC_RELAXED);
    __atomic_add_fetch(&files, 1, __ATOMIC_RELAXED);
    return at;
}

static void *move_to_memory(void *items, size_t bytes, size_t wanted, struct file_memory *memory)
{
    void *at = malloc(wanted);
    if (!at)
        return NULL;
    memcpy(at, items, bytes);
    file_memory_release(items, bytes, memory);
    __atomic_add_fetch(&plain_bytes, wanted, __ATOMIC_RELAXED);
    memory->refused = true;
    return at;
}

void *file_memory_grow(void *items, size_t bytes, size_t wanted, struct file_memory *memory)
{
    void *at = NULL;
    if (memory->file) {
        size_t had = whole_pages(bytes), space = whole_pages(wanted);
        at = temporary_file_grow(memory->file - 1, had, space - had) == 0 ? mremap(items, had, space, MREMAP_MAYMOVE)
                                                                          : MAP_FAILED;
        return at != MAP_FAILED ? at : move_to_memory(items, bytes, wanted, memory);
    }
    bool many = __atomic_load_n(&plain_bytes, __ATOMIC_RELAXED) - bytes + wanted > FILE_VECTORS_PLAIN;
    /* A quarter of the descriptors stays free for other uses. Small vectors leave half of them free, because large
     * vectors need files more. */
    struct rlimit limit = {0};
    if (wanted > (many ? FILE_VECTOR_LEAST : FILE_VECTOR_PLAIN) && !memory->refused &&
        getrlimit(RLIMIT_NOFILE, &limit) == 0 &&
        __atomic_load_n(&files, __ATOMIC_RELAXED) <
            (wanted > FILE_VECTOR_PLAIN ? limit.rlim_cur / 4 * 3 : limit.rlim_cur / 2))
        at = move_to_file(items, bytes, whole_pages(wanted), memory);
    if (at)
        return at;
    at = realloc(items, wanted);
    __atomic_add_fetch(&plain_bytes, at ? wanted - bytes : 0, __ATOMIC_RELAXED);
    return at;
}

void file_memory_release(void *items, size_t bytes, struct file_memory *memory)
{
    if (memory->file) {
        munmap(items, whole_pages(bytes));
        close(memory->file - 1);
        __atomic_sub_fetch(&files, 1, __ATOMIC_RELAXED);
    } else {
        free(items);
        __atomic_sub_fetch(&plain_bytes, bytes, __ATOMIC_RELAXED);
    }
    memory->file = 0;
    memory->refused = false;
}

void file_memory_evict(void *items, size_t bytes, const struct file_memory *memory)
{
    if (memory->file)
        madvise(items, whole_pages(bytes), MADV_DONTNEED);
}

#define FAR_BYTES ((size_t)64 << 10) /* bytes that the kernel maps around a page */
#define JUMPS 128u                   /* far searches before pages are given back */

void file_memory_found(void *items, size_t bytes, size_t at, struct file_memory *memory)
{
    size_t distance = at > memory->found ? at - memory->found : memory->found - at;
    if (distance < FAR_BYTES)
        return;
    memory->found = at;
    if (++memory->jumps % JUMPS == 0)
        file_memory_evict(items, bytes, memory);
}

#define SORTED_BYTES ((size_t)8 << 20) /* bytes sorted at a time, and read or written before pages are given back */

/* A walk over the items, which gives pages back on its way. */
struct pass {
    char *items;
    size_t count, size, touched;
    const struct file_memory *memory;
};

static void pass_on(struct pass *pass)
{
    pass->touched += pass->size;
    if (pass->touched < SORTED_BYTES)
        return;
    file_memory_evict(pass->items, pass->count * pass->size, pass->memory);
    pass->touched = 0;
}

static bool is_sorted(struct pass pass, int (*compare)(const void *, const void *))
{
    for (size_t i = 1; i < pass.count; i++, pass_on(&pass))
        if (compare(pass.items + (i - 1) * pass.size, pass.items + i * pass.size) > 0)
            return false;
    return true;
}

int file_memory_sort(void *items, size_t count, size_t size, int (*compare)(const void *, const void *),
                     const struct file_memory *memory)
{
    struct pass pass = {.items = items, .count = count, .size = size, .memory = memory};
    struct sorter_space space = {.left = 0, .run = SORTED_BYTES, .directory = memory->directory};
    struct sorter sorter;
    if (count < 2 || is_sorted(pass, compare))
        return 0;
    if (!memory->file) {
        qsort(items, count, size, compare);
        return 0;
    }
    sorter_init(&sorter, &space, size, compare);
    int status = 0;
    struct pass filling = pass;
    for (size_t i = 0; i < count && status == 0; i++, pass_on(&filling))
        status = sorter_add_bytes(&sorter, filling.items + i * size, size);
    status = status < 0 ? -1 : sorter_ready(&sorter);
    if (status == 0) {
        struct sorter_walk walk;
        const void *item;
        sorter_walk_begin(&walk, &sorter);
        for (char *at = pass.items; (item = sorter_next(&walk)); at += size, pass_on(&pass))
            memcpy(at, item, size);
        status = sorter_walk_end(&walk);
    }
    sorter_release(&sorter);
    return status;
}

/* --- blocks that never move --- */

#define PLAIN_EXTENT ((size_t)4 << 20)
#define FILE_EXTENT ((size_t)32 << 20)

void spill_init(struct spill *spill, const char *directory)
{
    *spill = (struct spill){.directory = directory, .most_plain = SPILL_PLAIN_BYTES};
}

void spill_release(struct spill *spill)
{
    for (size_t i = 0; i < spill->extents.count; i++)
        munmap(spill->extents.items[i].at, spill->extents.items[i].size);
    array_release(&spill->extents);
    if (spill->started && spill->fd >= 0)
        close(spill->fd);
    *spill = (struct spill){0};
}

static void *map_in_file(struct spill *spill)
{
    if (!spill->started) {
        spill->started = true;
        spill->fd = temporary_file_open(spill->directory);
    }
    if (spill->fd < 0 || temporary_file_grow(spill->fd, spill->file_bytes, FILE_EXTENT) != 0)
        return MAP_FAILED;
    void *at = mmap(NULL, FILE_EXTENT, PROT_READ | PROT_WRITE, MAP_SHARED, spill->fd, (off_t)spill->file_bytes);
    if (at != MAP_FAILED)
        spill->file_bytes += FILE_EXTENT;
    return at;
}

static struct spill_extent *add_extent(struct spill *spill)
{
    struct spill_extent *extent = array_push(&spill->extents);
    if (!extent)
        return NULL;
    bool large = spill->directory && spill->plain_bytes >= spill->most_plain;
    void *at = large ? map_in_file(spill) : MAP_FAILED;
    extent->in_file = at != MAP_FAILED;
    if (!extent->in_file)
        at = mmap(NULL, PLAIN_EXTENT, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) {
        spill->extents.count--;
        return NULL;
    }
    extent->at = at;
    extent->size = extent->in_file ? FILE_EXTENT : PLAIN_EXTENT;
    spill->plain_bytes += extent->in_file ? 0 : extent->size;
    return extent;
}

void *spill_block(struct spill *spill, size_t size)
{
    struct spill_extent *last = spill->extents.count ? &spill->extents.items[spill->extents.count - 1] : NULL;
    size_t from = last ? (last->used + size - 1) / size * size : 0;
    if (!last || from + size > last->size) {
        last = add_extent(spill);
        from = 0;
    }
    if (!last)
        return NULL;
    last->used = from + size;
    return last->at + from;
}

bool spill_last_in_file(const struct spill *spill)
{
    return spill->extents.count > 0 && spill->extents.items[spill->extents.count - 1].in_file;
}

void spill_evict(const struct spill *spill)
{
    for (size_t i = 0; i < spill->extents.count; i++)
        if (spill->extents.items[i].in_file)
            madvise(spill->extents.items[i].at, spill->extents.items[i].size, MADV_DONTNEED);
}
