/*
 * Records as columns, for packing: what is the same in all records of a kind is kept once, and of what is not the
 * differences from one record to the next lie side by side, where LZ4 finds them. Of the library's own records those
 * are of a kind that have the same type, flags and size.
 *
 *     struct columns_head
 *     for each kind:   struct columns_kind
 *     for each kind:   its first record; the indexes (2 bytes each) of the 4-byte words that vary
 *     for each record: the index of its kind (1 byte)
 *     for each kind, for each word that varies: its differences from record to record, 4 bytes each
 *     what was left: from a record on that is of no known size, too large, or of one kind too many, as it is
 *
 * Lists of less than 4 bytes' alignment are filled up with zeros to the next multiple of 4. Every list
 * lies within the given bytes, which columns_join() checks.
 */
#ifndef GPUTRACE_TRACE_SPOOL_PACKING_H
#define GPUTRACE_TRACE_SPOOL_PACKING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/spool.h"

#define COLUMNS_WORDS_MAX 128u /* larger records are left as they are */
#define COLUMNS_KINDS_MAX SPOOL_CUPTI_KINDS

struct columns_head {
    uint32_t records;
    uint32_t kinds;
};
struct columns_kind {
    uint32_t records; /* at least 1 */
    uint16_t words;   /* of a record, 2 to COLUMNS_WORDS_MAX */
    uint16_t varying; /* of them */
};

/* The most that SIZE bytes of records become. */
#define COLUMNS_BYTES_MAX(size)                              \
    (sizeof(struct columns_head) + (size) + (size) / 8 + 4 + \
     COLUMNS_KINDS_MAX * (sizeof(struct columns_kind) + COLUMNS_WORDS_MAX * sizeof(uint16_t)))

/* Puts SIZE bytes (a multiple of 4, at most UINT32_MAX) of records at DATA into OUT as columns; RECORD_BYTES tells
 * the size of each of CUPTI's kinds, 0: not known; NULL: they are the library's own. Both are aligned to 8. Returns the
 * bytes written. */
size_t columns_split(const uint8_t *data, size_t size, const uint16_t record_bytes[SPOOL_CUPTI_KINDS], uint8_t *out);

/* The way back: IN_SIZE bytes at IN become SIZE bytes at DATA, both aligned to 8. False: they are damaged. */
bool columns_join(const uint8_t *in, size_t in_size, uint8_t *data, size_t size);

/*
 * How a chunk of records is packed, and unpacked: as columns, then with LZ4. Bytes in for one out, and GB/s on one core
 * of an Intel Xeon, for CUPTI's records of PyTorch on an H200 (tests/data/h200/train.spool.gz, 1.3 MB) and of the
 * planted programs on an H100 (tests/data/planted, 6.4 MB):
 *
 *                       H200          H100
 *     columns and LZ4   6.2 at 0.9    20.3 at 2.2
 *     zstd -1           4.3 at 0.4    12.3 at 0.8
 *     LZ4               2.2 at 0.6     6.0 at 1.4
 */

/* Bytes between LZ4 and columns, at most. */
#define COLUMNED_BYTES_MAX COLUMNS_BYTES_MAX(SPOOL_SEGMENT_BYTES)
/* Bytes that spool_unpack() needs between. */
#define UNPACKING_SPACE ((COLUMNED_BYTES_MAX + SPOOL_ALIGN - 1) / SPOOL_ALIGN * SPOOL_ALIGN)

/* About 3 MiB, for one thread. */
struct packer {
    uint8_t *columned;
    uint8_t *entry;
};
/* Returns 0, or -1: no memory. Release it in either case. */
int packer_init(struct packer *packer);
void packer_release(struct packer *packer);

/* Packs a chunk that is done, whose `used` bytes (at most SPOOL_SEGMENT_BYTES) are at DATA, aligned to 8; RECORD_BYTES
 * are the sizes of CUPTI's kinds. Returns what goes into the packed file, *SIZE bytes, valid until the next call. */
const uint8_t *packer_pack(struct packer *packer, const struct spool_chunk *chunk, const uint8_t *data,
                           const uint16_t record_bytes[SPOOL_CUPTI_KINDS], size_t *size);

/* Whether an entry's header tells of what packer_pack() can have made. */
bool spool_packed_sound(const struct spool_packed *packed);

/* Unpacks COLUMNS_BYTES bytes that LZ4 made PACKED bytes at AT of into SIZE bytes at DATA. BETWEEN is space for
 * UNPACKING_SPACE bytes. False: they are damaged. */
bool spool_unpack(const uint8_t *at, uint32_t packed, uint32_t columns_bytes, uint8_t *between, uint8_t *data,
                  size_t size);

#endif
