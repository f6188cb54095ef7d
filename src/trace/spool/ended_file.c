/* Packs and reads the head of one process in the file of processes that have ended. */
#include "trace/spool/ended_file.h"

#include <assert.h>
#include <lz4.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#define HEADER_PACKED_MAX LZ4_COMPRESSBOUND(sizeof(struct spool_header))
static_assert(sizeof(struct spool_ended) + HEADER_PACKED_MAX + SPOOL_ALIGN <= ENDED_HEAD_MAX, "there is space for it");

size_t ended_head_pack(uint8_t head[ENDED_HEAD_MAX], const char *name, const struct spool_header *header,
                       uint64_t chunks)
{
    struct spool_ended ended = {.magic = SPOOL_ENDED_MAGIC, .chunks = chunks};
    if (strlen(name) >= sizeof(ended.name))
        return 0;
    strcpy(ended.name, name);
    memset(head, 0, ENDED_HEAD_MAX);
    int packed = LZ4_compress_default((const char *)header, (char *)head + sizeof(ended), (int)sizeof(*header),
                                      (int)HEADER_PACKED_MAX);
    ended.header = (uint32_t)packed;
    memcpy(head, &ended, sizeof(ended));
    return packed > 0 ? (size_t)spool_aligned(sizeof(ended) + (uint64_t)packed) : 0;
}

static bool read_at(int fd, void *bytes, size_t size, uint64_t offset)
{
    return pread(fd, bytes, size, (off_t)offset) == (ssize_t)size;
}

int ended_entry_read(struct ended_entry *entry, int fd, uint64_t offset, uint64_t size)
{
    struct spool_ended *head = &entry->head;
    if (offset > size || size - offset < sizeof(*head) || !read_at(fd, head, sizeof(*head), offset))
        return -1;
    uint64_t left = size - offset - sizeof(*head), header = spool_aligned(head->header);
    if (head->magic != SPOOL_ENDED_MAGIC || head->header > HEADER_PACKED_MAX || header > left ||
        head->chunks % SPOOL_ALIGN != 0 || head->chunks > left - header)
        return -1;
    head->name[sizeof(head->name) - 1] = '\0';
    entry->chunks = offset + sizeof(*head) + header;
    entry->end = entry->chunks + head->chunks;
    return 0;
}

int ended_header_read(struct spool_header *header, const struct ended_entry *entry, int fd, uint64_t offset)
{
    char packed[HEADER_PACKED_MAX];
    if (!read_at(fd, packed, entry->head.header, offset + sizeof(entry->head)))
        return -1;
    int size = LZ4_decompress_safe(packed, (char *)header, (int)entry->head.header, (int)sizeof(*header));
    return size == (int)sizeof(*header) ? 0 : -1;
}
