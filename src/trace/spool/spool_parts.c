/*
 * The bytes of a spool's parts: read when they are asked for, or unpacked. The agent's records are copied once,
 * because indexes point into them.
 */
#include "trace/spool/spool_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/log.h"
#include "common/memory.h"
#include "trace/spool/packing.h"

void spool_scratch_release(struct spool_scratch *scratch)
{
    free(scratch->bytes);
    *scratch = (struct spool_scratch){0};
}

/* Reads the bytes of a part. Bytes that are not there any more read as zeros. */
static void read_part(const struct spool_part *part, uint8_t *bytes, size_t size)
{
    int fd = open(part->source->path, SPOOL_SOURCE_OPEN);
    size_t there = 0;
    ssize_t got = fd < 0 ? 0 : 1;
    for (; there < size && got > 0; there += got > 0 ? (size_t)got : 0)
        do {
            got = pread(fd, bytes + there, size - there, (off_t)(part->offset + there));
        } while (got < 0 && errno == EINTR);
    if (fd >= 0)
        close(fd);
    if (there == size)
        return;
    memset(bytes + there, 0, size - there);
    __atomic_store_n(&part->source->shorter, true, __ATOMIC_RELAXED); /* several threads may be reading */
}

const uint8_t *spool_part_data(const struct spool_part *part, struct spool_scratch *scratch)
{
    if (part->data)
        return part->data;
    if (!scratch->bytes)
        scratch->bytes = aligned_alloc(SPOOL_ALIGN, 2 * SPOOL_SEGMENT_BYTES + UNPACKING_SPACE);
    if (!scratch->bytes)
        return NULL;
    if (part->packed == 0) {
        read_part(part, scratch->bytes, part->size);
        return scratch->bytes;
    }
    uint8_t *packed = scratch->bytes + SPOOL_SEGMENT_BYTES, *between = packed + SPOOL_SEGMENT_BYTES;
    read_part(part, packed, part->packed);
    bool whole = spool_unpack(packed, part->packed, part->columned, between, scratch->bytes, part->size);
    return whole ? scratch->bytes : NULL;
}

void spool_part_evict(const struct spool_part *part)
{
    if (!part->in_file)
        return;
    size_t page = page_bytes();
    uintptr_t first = ((uintptr_t)part->data + page - 1) / page * page;
    uintptr_t end = ((uintptr_t)part->data + part->size) / page * page;
    if (first < end)
        madvise((void *)first, end - first, MADV_DONTNEED);
}

void spool_file_evict(const struct spool_file *file)
{
    spill_evict(&file->unpacked);
}

/* --- the library's own records --- */

/* Up to so many bytes lie in one block of memory of just that size, because a run may have many processes. */
#define FEW_BYTES ((size_t)64 << 10)
/* More are in memory before there is a file for them. */
#define UNPACKED_PLAIN ((uint64_t)4 << 20)
/* Pages are given back after so many bytes. */
#define UNPACKED_REST ((uint64_t)16 << 20)

struct copying {
    struct spool_file *file;
    struct spool_scratch scratch;
    bool few;
    size_t used;   /* of file->copied */
    uint64_t rest; /* bytes since pages were given back */
};

/* The bytes of whole records, and the head of one that is none, where the walk over them ends. */
static size_t sound_bytes(const uint8_t *data, size_t size)
{
    size_t at = 0;
    while (size - at >= sizeof(struct spool_record)) {
        const struct spool_record *record = (const void *)(data + at);
        if (record->bytes < sizeof(*record) || record->bytes % 8 != 0 || record->bytes > size - at)
            return at + sizeof(*record);
        at += record->bytes;
    }
    return size;
}

static uint8_t *take_block(struct copying *copying, size_t size)
{
    size_t whole = SPOOL_ALIGN; /* a power of two, as blocks are, and enough for the data to be aligned */
    while (whole < size)
        whole *= 2;
    if (!copying->few)
        return spill_block(&copying->file->unpacked, whole);
    uint8_t *block = copying->file->copied + copying->used;
    copying->used += spool_aligned(size);
    return block;
}

/* Copies a part. One that cannot be unpacked is damaged, and holds nothing. */
static int copy(struct copying *copying, struct spool_part *part)
{
    struct spool_file *file = copying->file;
    const uint8_t *data = part->size > 0 ? spool_part_data(part, &copying->scratch) : NULL;
    file->damaged += part->size > 0 && !data;
    part->packed = 0;
    part->size = !data ? 0 : copying->few ? part->size : sound_bytes(data, part->size);
    uint8_t *block = part->size > 0 ? take_block(copying, part->size) : NULL;
    if (part->size > 0 && !block)
        return error_no_memory("what was recorded");
    if (block)
        memcpy(block, data, part->size);
    part->data = block;
    part->in_file = block && !copying->few && spill_last_in_file(&file->unpacked);
    copying->rest += part->size;
    if (copying->rest < UNPACKED_REST)
        return 0;
    spill_evict(&file->unpacked);
    copying->rest = 0;
    return 0;
}

int agent_parts_copy(struct spool_file *file, const char *directory)
{
    size_t bytes = 0;
    for (size_t i = 0; i < file->parts.count; i++)
        bytes += file->parts.items[i].type == SPOOL_RECORDS ? spool_aligned(file->parts.items[i].size) : 0;
    struct copying copying = {.file = file, .few = bytes <= FEW_BYTES};
    int result = 0;
    spill_init(&file->unpacked, directory);
    file->unpacked.most_plain = UNPACKED_PLAIN;
    if (copying.few && bytes > 0 && !(file->copied = aligned_alloc(SPOOL_ALIGN, bytes)))
        return error_no_memory("what was recorded");
    for (size_t i = 0; i < file->parts.count && result == 0; i++)
        if (file->parts.items[i].type == SPOOL_RECORDS)
            result = copy(&copying, &file->parts.items[i]);
    spool_scratch_release(&copying.scratch);
    return result;
}

void agent_parts_release(struct spool_file *file)
{
    free(file->copied);
    spill_release(&file->unpacked);
}
