#include "trace/spool/packing.h"

#include <lz4.h>
#include <stdlib.h>
#include <string.h>

static size_t aligned(size_t bytes)
{
    return (bytes + SPOOL_ALIGN - 1) & ~(size_t)(SPOOL_ALIGN - 1);
}

int packer_init(struct packer *packer)
{
    packer->columned = aligned_alloc(SPOOL_ALIGN, aligned(COLUMNED_BYTES_MAX));
    packer->entry = aligned_alloc(SPOOL_ALIGN, sizeof(struct spool_packed) +
                                                   aligned((size_t)LZ4_COMPRESSBOUND((int)COLUMNED_BYTES_MAX)));
    return packer->columned && packer->entry ? 0 : -1;
}

void packer_release(struct packer *packer)
{
    free(packer->columned);
    free(packer->entry);
    *packer = (struct packer){0};
}

const uint8_t *packer_pack(struct packer *packer, const struct spool_chunk *chunk, const uint8_t *data,
                           const uint16_t record_bytes[SPOOL_CUPTI_KINDS], size_t *size)
{
    struct spool_packed *head = (struct spool_packed *)(void *)packer->entry;
    char *body = (char *)(head + 1);
    const uint16_t *sizes = chunk->type == SPOOL_CUPTI ? record_bytes : NULL;
    size_t used = (size_t)chunk->used, columned = columns_split(data, used, sizes, packer->columned);
    int packed =
        LZ4_compress_default((const char *)packer->columned, body, (int)columned, LZ4_compressBound((int)columned));
    bool smaller = packed > 0 && (size_t)packed < used;
    if (!smaller) {
        packed = (int)used;
        memcpy(body, data, used);
    }
    *head = (struct spool_packed){
        .magic = SPOOL_PACKED_MAGIC,
        .packing = smaller ? SPOOL_PACKED_COLUMNS : SPOOL_PACKED_PLAIN,
        .type = chunk->type,
        .packed = (uint32_t)packed,
        .columned = smaller ? (uint32_t)columned : 0,
        .used = used,
        .sequence = chunk->sequence,
        .opened = chunk->opened,
        .opened_monotonic = chunk->opened_monotonic,
        .done_monotonic = chunk->done_monotonic,
        .thread = chunk->thread,
    };
    *size = sizeof(*head) + aligned((size_t)packed);
    memset(body + packed, 0, aligned((size_t)packed) - (size_t)packed);
    return packer->entry;
}

bool spool_packed_sound(const struct spool_packed *packed)
{
    if (packed->magic != SPOOL_PACKED_MAGIC || packed->used > SPOOL_SEGMENT_BYTES ||
        (packed->type != SPOOL_CUPTI && packed->type != SPOOL_RECORDS))
        return false;
    if (packed->packing == SPOOL_PACKED_PLAIN)
        return packed->packed == packed->used;
    return packed->packing == SPOOL_PACKED_COLUMNS && packed->packed < packed->used &&
           packed->columned <= COLUMNED_BYTES_MAX;
}

bool spool_unpack(const uint8_t *at, uint32_t packed, uint32_t columns_bytes, uint8_t *between, uint8_t *data,
                  size_t size)
{
    int got = LZ4_decompress_safe((const char *)at, (char *)between, (int)packed, (int)columns_bytes);
    return got >= 0 && (uint32_t)got == columns_bytes && columns_join(between, columns_bytes, data, size);
}
