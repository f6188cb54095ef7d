#include "agent/spool/apart.h"

#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/page.h"

int apart_write(int fd, const char *base, uint64_t offset)
{
    size_t page = page_bytes();
    for (uint64_t at = SPOOL_SEGMENT_BYTES; at > 0; at -= page)
        if (pwrite(fd, base + at - page, page, (off_t)(offset + at - page)) != (ssize_t)page)
            return -1;
    return 0;
}

/* The size of the record at DATA, of which ROOM bytes are left; 0: there is none. */
static uint64_t record_size(const struct spool_chunk *chunk, const char *data, uint64_t room,
                            const uint16_t record_bytes[SPOOL_CUPTI_KINDS])
{
    uint64_t size = 0;
    if (chunk->type == SPOOL_RECORDS && room >= sizeof(struct spool_record)) {
        size = ((const struct spool_record *)(const void *)data)->bytes;
    } else if (chunk->type == SPOOL_CUPTI && room >= sizeof(uint32_t)) {
        uint32_t kind = *(const uint32_t *)(const void *)data & ~SPOOL_IN_FLIGHT;
        size = kind < SPOOL_CUPTI_KINDS ? record_bytes[kind] : 0;
    }
    return size <= room ? size : 0;
}

/* Where what is told by its header ends. Of CUPTI's chunk that is in use only the records tell. */
static uint64_t end_of(const struct spool_chunk *chunk)
{
    bool open = chunk->type == SPOOL_CUPTI && chunk->state == SPOOL_IN_USE;
    uint64_t end = open ? chunk->bytes : sizeof(*chunk) + chunk->used;
    return end < chunk->bytes ? end : chunk->bytes;
}

/* THERE is what the file has in place of CHUNK, from its header on. */
static uint64_t missing_of(const struct spool_chunk *chunk, const char *there,
                           const uint16_t record_bytes[SPOOL_CUPTI_KINDS])
{
    const struct spool_chunk *told = (const struct spool_chunk *)(const void *)there;
    const char *here = (const char *)chunk;
    uint64_t missing = 0, end = end_of(chunk), end_there = told->sequence == chunk->sequence ? end_of(told) : 0;
    for (uint64_t at = sizeof(*chunk), size; at < end; at += size) {
        size = record_size(chunk, here + at, end - at, record_bytes);
        if (size == 0)
            break;
        missing += at + size > end_there || memcmp(here + at, there + at, size) != 0;
    }
    return missing;
}

int64_t apart_missing(int fd, const char *base, uint64_t offset, const uint16_t record_bytes[SPOOL_CUPTI_KINDS])
{
    int64_t missing = 0;
    /* No malloc(): this may be within a call of the program's in a signal handler. */
    char *there = mmap(NULL, SPOOL_SEGMENT_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (there == MAP_FAILED)
        return -1;
    ssize_t got = fd >= 0 ? pread(fd, there, SPOOL_SEGMENT_BYTES, (off_t)offset) : 0;
    (void)got; /* what was not read is zeros */
    for (uint64_t at = 0; at < SPOOL_SEGMENT_BYTES;) {
        const struct spool_chunk *chunk = (const struct spool_chunk *)(const void *)(base + at);
        if (chunk->bytes < sizeof(*chunk) || chunk->bytes > SPOOL_SEGMENT_BYTES - at)
            break;
        missing += (int64_t)missing_of(chunk, there + at, record_bytes);
        at += chunk->bytes;
    }
    munmap(there, SPOOL_SEGMENT_BYTES);
    return missing;
}
