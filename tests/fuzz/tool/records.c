/*
 * Records of a process, converted: what the chunks of a sound spool hold comes from the input. Of the records' kinds,
 * sizes and times the input has little to guess, so that it comes to what they mean together.
 *
 *     input: record…    record: KIND (1 byte, top bit: CUPTI's, or else ours) STATE (1 byte) LENGTH (1 byte) BYTES
 *
 * BYTES are what follows the head, or CUPTI's kind; where a record is longer the rest is 0.
 */
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/tool/convert_all.h"
#include "tests/fuzz/tool/files.h"
#include "tests/trace/meaning/make_spool.h"

#define RECORD_MOST 512u

static void put_cupti(struct make_spool *spool, uint32_t kind, uint32_t state, struct fuzz_bytes *bytes, size_t length)
{
    uint8_t record[RECORD_MOST] = {0};
    kind = kind % SPOOL_CUPTI_KINDS | (state & 0x80 ? SPOOL_IN_FLIGHT : 0);
    memcpy(record, &kind, sizeof(kind));
    fuzz_take(bytes, record + sizeof(kind), length);
    if (make_spool_header(spool)->record_bytes[kind & ~SPOOL_IN_FLIGHT] > 0)
        make_cupti(spool, kind, record, sizeof(record));
}

/* Its text is what remains; what an input cannot guess, its time and lengths, is set where the bytes are 0. */
static void put_own(struct make_spool *spool, uint16_t type, uint32_t state, struct fuzz_bytes *bytes, size_t length)
{
    struct spool_record head = {.type = type, .flags = state & 15, .time = MAKE_SPOOL_START + (state >> 4) * 1000u};
    head.bytes = (uint32_t)((sizeof(head) + length + 7) / 8 * 8);
    uint8_t *record = make_spool_bytes(spool, head.bytes);
    memcpy(record, &head, sizeof(head));
    fuzz_take(bytes, record + sizeof(head), length);
}

static void put_records(struct make_spool *spool, struct fuzz_bytes bytes)
{
    int last = -1;
    while (bytes.left > 3) {
        uint32_t kind = (uint32_t)fuzz_number(&bytes, 1), state = (uint32_t)fuzz_number(&bytes, 1);
        size_t length = fuzz_number(&bytes, 1);
        int type = kind & 0x80 ? SPOOL_CUPTI : SPOOL_RECORDS;
        if (last >= 0 && last != type)
            make_spool_done(spool, SPOOL_DONE);
        if (last != type)
            make_spool_chunk(spool, (enum spool_chunk_type)type, 7 + (state >> 6));
        last = type;
        if (type == SPOOL_CUPTI)
            put_cupti(spool, kind & 0x7f, state, &bytes, length);
        else
            put_own(spool, (uint16_t)kind, state, &bytes, length);
    }
    if (last >= 0)
        make_spool_done(spool, SPOOL_DONE);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const uint32_t versions[] = {130001, 22, 18};
    struct fuzz_bytes bytes = {data, size};
    struct make_spool spool;
    make_spool_init(&spool, 7, versions[fuzz_number(&bytes, 1) % 3]);
    put_records(&spool, bytes);
    fuzz_file("7-0.spool", spool.data, spool.size);
    make_spool_release(&spool);
    fuzz_convert_all();
    return 0;
}
