#include "tool/spool/packed_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "tool/spool/packing.h"
#include "tool/spool/spool_file.h"

int packed_file_name(const char *spool, char *name, size_t room)
{
    size_t stem = strlen(spool), suffix = strlen(SPOOL_SUFFIX);
    if (stem <= suffix || strcmp(spool + stem - suffix, SPOOL_SUFFIX) != 0)
        return -1;
    int length = snprintf(name, room, "%.*s" SPOOL_PACKED_SUFFIX, (int)(stem - suffix), spool);
    return length < 0 || (size_t)length >= room ? -1 : 0;
}

/* Gives 0; 1 when there is nothing in it; -1 after error(). */
static int map_file(struct spool_file *file, int fd, const char *path)
{
    struct stat status;
    if (fstat(fd, &status) != 0)
        return error("cannot examine '%s': %m", path);
    if (!S_ISREG(status.st_mode)) {
        warning("'%s' is no regular file and is left out", path);
        return 1;
    }
    if (status.st_size == 0)
        return 1;
    void *map = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_SHARED, fd, 0);
    if (map == MAP_FAILED)
        return error("cannot map '%s': %m", path);
    file->packed = map;
    file->packed_size = (size_t)status.st_size;
    lost_pages_watch(&file->packed_lost, map, file->packed_size);
    return 0;
}

static int add_part(struct spool_file *file, const struct spool_packed *packed, const uint8_t *data)
{
    struct spool_part *part = array_push(&file->parts);
    if (!part)
        return error_no_memory("the list of chunks");
    *part = (struct spool_part){
        .data = data,
        .size = (size_t)packed->used,
        .sequence = packed->sequence,
        .opened_monotonic = packed->opened_monotonic,
        .done_monotonic = packed->done_monotonic,
        .thread = packed->thread,
        .type = packed->type,
        .state = SPOOL_DONE,
        .drained = true,
        .packed = packed->packing == SPOOL_PACKED_COLUMNS ? packed->packed : 0,
        .columned = packed->columned,
    };
    return 0;
}

/* One that is cut, or is none, ends the list. Headers are read, as those of the spool are. */
static int list_parts(struct spool_file *file, int fd, const char *path)
{
    struct spool_packed packed;
    for (size_t at = 0; file->packed_size - at >= sizeof(packed);) {
        ssize_t got = pread(fd, &packed, sizeof(packed), (off_t)at);
        if (got < 0)
            return error("cannot read '%s': %m", path);
        if (got != (ssize_t)sizeof(packed) || !spool_packed_sound(&packed))
            return 0;
        size_t data = at + sizeof(packed);
        if (packed.packed > file->packed_size - data)
            return 0;
        if (add_part(file, &packed, file->packed + data) != 0)
            return -1;
        size_t whole = ((size_t)packed.packed + SPOOL_ALIGN - 1) & ~(size_t)(SPOOL_ALIGN - 1);
        if (whole > file->packed_size - data)
            return 0;
        at = data + whole;
    }
    return 0;
}

int packed_file_add(struct spool_file *file, const char *spool)
{
    char path[PATH_MAX];
    if (packed_file_name(spool, path, sizeof(path)) != 0)
        return 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return errno == ENOENT ? 0 : error("cannot open '%s': %m", path);
    int result = map_file(file, fd, path);
    if (result == 0)
        result = list_parts(file, fd, path);
    close(fd);
    return result < 0 ? -1 : 0;
}

/* --- the library's own records --- */

/* What is in ordinary memory before there is a file for it: a run may have many processes. */
#define UNPACKED_PLAIN ((uint64_t)4 << 20)
/* Pages are given back after so many bytes. */
#define UNPACKED_REST ((uint64_t)16 << 20)

/* A power of two, as blocks are, and enough for DATA to be aligned. */
static size_t block_of(size_t size)
{
    size_t block = SPOOL_ALIGN;
    while (block < size)
        block *= 2;
    return block;
}

/* What cannot be unpacked is damage, and holds nothing. */
static int unpack(struct spool_file *file, struct spool_part *part, struct spool_scratch *scratch)
{
    const uint8_t *data = spool_part_data(part, scratch);
    uint8_t *block = data ? spill_block(&file->unpacked, block_of(part->size)) : NULL;
    if (data && !block)
        return error_no_memory("what was packed of a spool");
    if (block)
        memcpy(block, data, part->size);
    else
        file->damaged++;
    spool_part_rest(part);
    part->data = block ? block : part->data;
    part->size = block ? part->size : 0;
    part->packed = 0;
    part->in_memory = block && !spill_last_in_file(&file->unpacked);
    return 0;
}

int packed_file_unpack_own(struct spool_file *file, const char *directory)
{
    struct spool_scratch scratch = {0};
    uint64_t bytes = 0;
    int result = 0;
    spill_init(&file->unpacked, directory);
    file->unpacked.most_plain = UNPACKED_PLAIN;
    for (size_t i = 0; i < file->parts.count && result == 0; i++) {
        struct spool_part *part = &file->parts.items[i];
        if (part->type != SPOOL_RECORDS || part->packed == 0)
            continue;
        result = unpack(file, part, &scratch);
        bytes += part->size;
        if (bytes >= UNPACKED_REST) {
            spill_rest(&file->unpacked);
            bytes = 0;
        }
    }
    spool_scratch_release(&scratch);
    return result;
}

void packed_file_close(struct spool_file *file)
{
    lost_pages_leave(&file->packed_lost);
    if (file->packed)
        munmap((void *)(uintptr_t)file->packed, file->packed_size);
    spill_release(&file->unpacked);
}
