#include "common/spill.h"

#include <sys/mman.h>
#include <unistd.h>

#include "common/temporary_file.h"

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
        spill->fd = unnamed_file(spill->directory);
    }
    if (spill->fd < 0 || temporary_file_grow(spill->fd, spill->file_bytes, FILE_EXTENT) != 0)
        return MAP_FAILED;
    void *at = mmap(NULL, FILE_EXTENT, PROT_READ | PROT_WRITE, MAP_SHARED, spill->fd, (off_t)spill->file_bytes);
    if (at != MAP_FAILED)
        spill->file_bytes += FILE_EXTENT;
    return at;
}

static void *map_plain(void)
{
    return mmap(NULL, PLAIN_EXTENT, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
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
        at = map_plain();
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

void spill_rest(const struct spill *spill)
{
    for (size_t i = 0; i < spill->extents.count; i++)
        if (spill->extents.items[i].in_file)
            madvise(spill->extents.items[i].at, spill->extents.items[i].size, MADV_DONTNEED);
}
