/*
 * How a chunk of records is packed, and unpacked: as columns, then with LZ4. On CUPTI's records of an H200's programs
 * that makes 1 byte of 6 to 7, at 1.2 to 1.9 GB/s; LZ4 alone makes 1 of 2.2, at 0.9 GB/s.
 */
#ifndef GPUTRACE_TRACE_SPOOL_PACKING_H
#define GPUTRACE_TRACE_SPOOL_PACKING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/spool/columns.h"
#include "common/spool.h"

/* Bytes between LZ4 and columns, at most. */
#define COLUMNED_BYTES_MAX COLUMNS_BYTES_MAX(SPOOL_SEGMENT_BYTES)
/* Bytes that spool_unpack() needs between. */
#define UNPACKING_ROOM ((COLUMNED_BYTES_MAX + SPOOL_ALIGN - 1) / SPOOL_ALIGN * SPOOL_ALIGN)

/* About 3 MiB, for one thread. */
struct packer {
    uint8_t *columned;
    uint8_t *entry;
};
/* Gives 0, or -1: no memory. Release it in either case. */
int packer_init(struct packer *packer);
void packer_release(struct packer *packer);

/* Packs a chunk that is done, whose `used` bytes (at most SPOOL_SEGMENT_BYTES) are at DATA, aligned to 8; RECORD_BYTES
 * are the sizes of CUPTI's kinds. Gives what goes into the packed file, *SIZE bytes, valid until the next call. */
const uint8_t *packer_pack(struct packer *packer, const struct spool_chunk *chunk, const uint8_t *data,
                           const uint16_t record_bytes[SPOOL_CUPTI_KINDS], size_t *size);

/* Whether an entry's header tells of what packer_pack() can have made. */
bool spool_packed_sound(const struct spool_packed *packed);

/* Unpacks COLUMNS_BYTES bytes that LZ4 made PACKED bytes at AT of into SIZE bytes at DATA. BETWEEN is room for
 * UNPACKING_ROOM bytes. False: they are damaged. */
bool spool_unpack(const uint8_t *at, uint32_t packed, uint32_t columns_bytes, uint8_t *between, uint8_t *data,
                  size_t size);

#endif
