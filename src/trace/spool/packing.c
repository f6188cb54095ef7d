/*
 * Splits records into columns and joins them again, and compresses the columns with LZ4. Two passes over a chunk find
 * the words that vary and write their differences.
 */
#include "trace/spool/packing.h"

#include <lz4.h>
#include <stdlib.h>

#define NONE UINT8_MAX
#define SLOTS 256u /* a power of two, greater than the number of kinds */

static size_t whole_words(size_t bytes)
{
    return (bytes + 3) & ~(size_t)3;
}

static const uint32_t *words_at(const uint8_t *bytes)
{
    return (const uint32_t *)(const void *)bytes;
}

/* --- splitting --- */

struct split {
    const uint8_t *data;
    const uint16_t *record_bytes; /* of CUPTI's kinds; NULL: the records are the agent's */
    size_t end;                   /* bytes of the records that are split */
    uint32_t records, kinds;
    uint8_t index[SLOTS]; /* by slot_of(): index in `kind`; NONE: not seen */
    struct splitting {
        const uint32_t *first, *last; /* records */
        uint32_t records, words, varying, at;
        uint32_t varies[COLUMNS_WORDS_MAX]; /* of each word, the bits that varied */
        uint16_t which[COLUMNS_WORDS_MAX];
        uint32_t *columns;
    } kind[COLUMNS_KINDS_MAX];
};

/* Returns the number of words of the record at DATA, where LEFT bytes are readable, or 0 if it is unknown. */
static uint32_t words_of(const struct split *split, const uint8_t *data, size_t left)
{
    if (left < 2 * sizeof(uint32_t))
        return 0;
    const uint32_t *record = words_at(data);
    uint32_t kind = record[0] & ~SPOOL_IN_FLIGHT, bytes = record[1];
    if (split->record_bytes)
        bytes = kind < SPOOL_CUPTI_KINDS ? split->record_bytes[kind] : 0;
    bool fits = bytes >= 8 && bytes % 8 == 0 && bytes <= left && bytes <= COLUMNS_WORDS_MAX * sizeof(uint32_t);
    return fits ? bytes / 4 : 0;
}

/* Returns the slot for the index of the record's kind. The agent's records have their kind in the first two words. */
static uint32_t slot_of(const struct split *split, const uint32_t *record)
{
    if (split->record_bytes)
        return record[0] & ~SPOOL_IN_FLIGHT;
    uint32_t slot = (record[0] * UINT32_C(0x9e3779b1) ^ record[1] * UINT32_C(0x85ebca6b)) / (UINT32_MAX / SLOTS + 1);
    while (split->index[slot] != NONE) {
        const uint32_t *known = split->kind[split->index[slot]].first;
        if (known[0] == record[0] && known[1] == record[1])
            break;
        slot = (slot + 1) % SLOTS;
    }
    return slot;
}

/* Returns the entry of the record's kind, creating it if it is new. Returns NULL if the table of kinds is full. */
static struct splitting *splitting_of(struct split *split, const uint32_t *record, uint32_t words)
{
    uint8_t *index = &split->index[slot_of(split, record)];
    if (*index == NONE) {
        if (split->kinds == COLUMNS_KINDS_MAX)
            return NULL;
        *index = (uint8_t)split->kinds;
        split->kind[split->kinds++] = (struct splitting){.first = record, .last = record, .words = words};
    }
    return &split->kind[*index];
}

/* The first pass: finds the words of each kind that vary. */
static void look(struct split *split, size_t size)
{
    uint32_t words;
    size_t at = 0;
    for (; (words = words_of(split, split->data + at, size - at)) != 0; at += words * 4) {
        const uint32_t *record = words_at(split->data + at);
        struct splitting *of = splitting_of(split, record, words);
        if (!of)
            break;
        for (uint32_t i = 0; i < words; i++)
            of->varies[i] |= record[i] ^ of->first[i];
        of->records++;
        split->records++;
    }
    split->end = at;
    for (uint32_t k = 0; k < split->kinds; k++)
        for (uint16_t i = 0; i < split->kind[k].words; i++)
            if (split->kind[k].varies[i])
                split->kind[k].which[split->kind[k].varying++] = i;
}

static uint8_t *put(uint8_t *at, const void *bytes, size_t size)
{
    memcpy(at, bytes, size);
    memset(at + size, 0, whole_words(size) - size);
    return at + whole_words(size);
}

static uint8_t *put_kinds(const struct split *split, uint8_t *at)
{
    struct columns_head head = {split->records, split->kinds};
    at = put(at, &head, sizeof(head));
    for (uint32_t k = 0; k < split->kinds; k++) {
        const struct splitting *of = &split->kind[k];
        struct columns_kind kind = {of->records, (uint16_t)of->words, (uint16_t)of->varying};
        at = put(at, &kind, sizeof(kind));
    }
    for (uint32_t k = 0; k < split->kinds; k++) {
        at = put(at, split->kind[k].first, split->kind[k].words * 4);
        at = put(at, split->kind[k].which, split->kind[k].varying * sizeof(uint16_t));
    }
    return at;
}

/* The second pass: writes each record's kind to ORDER, and its differences to the columns. */
static void fill(struct split *split, uint8_t *order)
{
    size_t at = 0;
    for (uint32_t i = 0; i < split->records; i++) {
        const uint32_t *record = words_at(split->data + at);
        order[i] = split->index[slot_of(split, record)];
        struct splitting *of = &split->kind[order[i]];
        uint32_t *to = of->columns + of->at;
        if (record != of->first) {
            for (uint32_t v = 0; v < of->varying; v++, to += of->records - 1)
                *to = record[of->which[v]] - of->last[of->which[v]];
            of->at++;
        }
        of->last = record;
        at += of->words * 4;
    }
}

size_t columns_split(const uint8_t *data, size_t size, const uint16_t record_bytes[SPOOL_CUPTI_KINDS], uint8_t *out)
{
    struct split split;
    split.data = data;
    split.record_bytes = record_bytes;
    split.records = split.kinds = 0;
    memset(split.index, NONE, sizeof(split.index));
    look(&split, size);
    uint8_t *order = put_kinds(&split, out);
    uint8_t *at = order + whole_words(split.records);
    memset(order + split.records, 0, (size_t)(at - order) - split.records);
    for (uint32_t k = 0; k < split.kinds; k++) {
        split.kind[k].columns = (uint32_t *)(void *)at;
        at += (size_t)(split.kind[k].records - 1) * split.kind[k].varying * 4;
    }
    fill(&split, order);
    at = put(at, data + split.end, size - split.end);
    return (size_t)(at - out);
}

/* --- joining --- */

struct join {
    const uint8_t *at, *end;
    uint32_t records, kinds;
    struct joining {
        const uint32_t *last; /* the last record that was joined */
        const uint16_t *which;
        const uint32_t *columns;
        uint32_t records, words, varying, at;
    } kind[COLUMNS_KINDS_MAX];
};

/* Returns the next SIZE bytes, and skips their padding. Returns NULL if there are fewer bytes. */
static const uint8_t *take(struct join *join, size_t size)
{
    const uint8_t *at = join->at;
    if (whole_words(size) > (size_t)(join->end - at))
        return NULL;
    join->at += whole_words(size);
    return at;
}

static bool read_kinds(struct join *join)
{
    const struct columns_head *head = (const void *)take(join, sizeof(*head));
    if (!head || head->kinds > COLUMNS_KINDS_MAX)
        return false;
    join->records = head->records;
    join->kinds = head->kinds;
    for (uint32_t k = 0; k < join->kinds; k++) {
        const struct columns_kind *kind = (const void *)take(join, sizeof(*kind));
        if (!kind || kind->records == 0 || kind->words < 2 || kind->words > COLUMNS_WORDS_MAX ||
            kind->varying > kind->words)
            return false;
        join->kind[k] =
            (struct joining){.records = kind->records, .words = kind->words, .varying = kind->varying, .at = 0};
    }
    for (uint32_t k = 0; k < join->kinds; k++) {
        struct joining *of = &join->kind[k];
        of->last = (const void *)take(join, of->words * sizeof(uint32_t));
        of->which = of->last ? (const void *)take(join, of->varying * sizeof(uint16_t)) : NULL;
        if (!of->which)
            return false;
        for (uint32_t v = 0; v < of->varying; v++)
            if (of->which[v] >= of->words)
                return false;
    }
    return true;
}

static bool join_record(struct joining *of, uint32_t *record)
{
    if (of->at == of->records)
        return false;
    memcpy(record, of->last, of->words * sizeof(uint32_t));
    const uint32_t *from = of->columns + of->at - 1;
    for (uint32_t v = 0; of->at > 0 && v < of->varying; v++, from += of->records - 1)
        record[of->which[v]] += *from;
    of->last = record;
    of->at++;
    return true;
}

bool columns_join(const uint8_t *in, size_t in_size, uint8_t *data, size_t size)
{
    struct join join;
    join.at = in;
    join.end = in + in_size;
    const uint8_t *order = read_kinds(&join) ? take(&join, join.records) : NULL;
    if (!order)
        return false;
    for (uint32_t k = 0; k < join.kinds; k++) {
        struct joining *of = &join.kind[k];
        of->columns = (const void *)take(&join, (size_t)(of->records - 1) * of->varying * sizeof(uint32_t));
        if (!of->columns)
            return false;
    }
    size_t at = 0;
    for (uint32_t i = 0; i < join.records; i++) {
        if (order[i] >= join.kinds || join.kind[order[i]].words * sizeof(uint32_t) > size - at)
            return false;
        struct joining *of = &join.kind[order[i]];
        if (!join_record(of, (uint32_t *)(void *)(data + at)))
            return false;
        at += of->words * sizeof(uint32_t);
    }
    const uint8_t *rest = take(&join, size - at);
    if (!rest || join.at != join.end)
        return false;
    memcpy(data + at, rest, size - at);
    return true;
}

int packer_init(struct packer *packer)
{
    packer->columned = aligned_alloc(SPOOL_ALIGN, spool_aligned(COLUMNED_BYTES_MAX));
    packer->entry = aligned_alloc(SPOOL_ALIGN, sizeof(struct spool_packed) +
                                                   spool_aligned((size_t)LZ4_COMPRESSBOUND((int)COLUMNED_BYTES_MAX)));
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
    *size = sizeof(*head) + spool_aligned((size_t)packed);
    memset(body + packed, 0, spool_aligned((size_t)packed) - (size_t)packed);
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
