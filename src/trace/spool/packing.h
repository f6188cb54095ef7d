/*
 * Records as columns, for packing. Words that all records of a kind share are stored once. Of the other words, the
 * differences from record to record are stored side by side, where LZ4 finds their patterns. The agent's own records
 * form a kind if they have equal type, flags and size.
 *
 *     struct columns_head
 *     for each kind:   struct columns_kind
 *     for each kind:   its first record; the indexes (2 bytes each) of the 4-byte words that vary
 *     for each record: the index of its kind (1 byte)
 *     for each kind, for each word that varies: its differences from record to record, 4 bytes each
 *     the rest:        unchanged bytes, from the first record whose size is unknown or too large, or of a kind too many
 *
 * Lists with items of less than 4 bytes are padded with zeros to a multiple of 4. Every list lies within the given
 * bytes, which columns_join() checks.
 */
#ifndef GPUTRACE_TRACE_SPOOL_PACKING_H
#define GPUTRACE_TRACE_SPOOL_PACKING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/spool.h"

#define COLUMNS_WORDS_MAX 128u /* the first larger record ends the columns */
#define COLUMNS_KINDS_MAX SPOOL_CUPTI_KINDS

struct columns_head {
    uint32_t records;
    uint32_t kinds;
};
struct columns_kind {
    uint32_t records; /* at least 1 */
    uint16_t words;   /* of a record, 2 to COLUMNS_WORDS_MAX */
    uint16_t varying; /* how many of these words vary */
};

/* Bound on the columns of SIZE bytes of records. */
#define COLUMNS_BYTES_MAX(size)                              \
    (sizeof(struct columns_head) + (size) + (size) / 8 + 4 + \
     COLUMNS_KINDS_MAX * (sizeof(struct columns_kind) + COLUMNS_WORDS_MAX * sizeof(uint16_t)))

/* Writes SIZE bytes (a multiple of 4, at most UINT32_MAX) of records at DATA to OUT as columns. RECORD_BYTES has the
 * size of each of CUPTI's kinds, 0: unknown; NULL: the records are the agent's. DATA and OUT are aligned to 8. Returns
 * the number of bytes written. */
size_t columns_split(const uint8_t *data, size_t size, const uint16_t record_bytes[SPOOL_CUPTI_KINDS], uint8_t *out);

/* Writes the records of IN_SIZE bytes of columns at IN to SIZE bytes at DATA, both aligned to 8. Returns false if the
 * columns are damaged. */
bool columns_join(const uint8_t *in, size_t in_size, uint8_t *data, size_t size);

/*
 * Packing of chunks of records: as columns, then with LZ4. The table has the ratio and GB/s on one core of an Intel
 * Xeon, for CUPTI's records of PyTorch on an H200 (tests/data/h200/train.spool.gz, 1.3 MB) and of the planted programs
 * on an H100 (tests/data/planted, 6.4 MB):
 *
 *                       H200          H100
 *     columns and LZ4   6.2 at 0.9    20.3 at 2.2
 *     zstd -1           4.3 at 0.4    12.3 at 0.8
 *     LZ4               2.2 at 0.6     6.0 at 1.4
 */

/* Bound on the columns of a chunk. */
#define COLUMNED_BYTES_MAX COLUMNS_BYTES_MAX(SPOOL_SEGMENT_BYTES)
/* Bytes of space that spool_unpack() needs for columns. */
#define UNPACKING_SPACE ((COLUMNED_BYTES_MAX + SPOOL_ALIGN - 1) / SPOOL_ALIGN * SPOOL_ALIGN)

/* Memory for packing in one thread, about 3 MiB. */
struct packer {
    uint8_t *columned;
    uint8_t *entry;
};
/* Returns 0, or -1 without memory. Call packer_release() in either case. */
int packer_init(struct packer *packer);
void packer_release(struct packer *packer);

/* Packs a chunk that is done. Its `used` bytes (at most SPOOL_SEGMENT_BYTES) are at DATA, aligned to 8; RECORD_BYTES
 * has the sizes of CUPTI's kinds. Returns the entry for the packed file, of *SIZE bytes, valid until the next call. */
const uint8_t *packer_pack(struct packer *packer, const struct spool_chunk *chunk, const uint8_t *data,
                           const uint16_t record_bytes[SPOOL_CUPTI_KINDS], size_t *size);

/* Whether packer_pack() can have made an entry with this header. */
bool spool_packed_sound(const struct spool_packed *packed);

/* Unpacks PACKED bytes at AT, which LZ4 made of COLUMNS_BYTES bytes of columns, to SIZE bytes at DATA. BETWEEN is space
 * for UNPACKING_SPACE bytes. Returns false if the bytes are damaged. */
bool spool_unpack(const uint8_t *at, uint32_t packed, uint32_t columns_bytes, uint8_t *between, uint8_t *data,
                  size_t size);

#endif
