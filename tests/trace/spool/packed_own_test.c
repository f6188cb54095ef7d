/*
 * The library's own records, packed: they are unpacked for as long as the spool is open.
 */
#include "tests/trace/spool/spool_pair.h"

#include "trace/spool/packing.h"
#include "trace/spool/agent_records.h"
#include "trace/spool/spool_file.h"

enum { OWN_BYTES = 64000, OWN_WAITS = OWN_BYTES / (int)sizeof(struct spool_event_record) };

/* A chunk of records of one thread, numbered by the chunk's sequence. */
static void pack_own(FILE *file, struct packer *packer, uint64_t sequence)
{
    static struct spool_event_record records[OWN_WAITS];
    struct spool_chunk chunk = {.type = SPOOL_RECORDS, .used = sizeof(records), .sequence = sequence, .thread = 8};
    size_t size;
    for (uint32_t i = 0; i < OWN_WAITS; i++)
        records[i] = (struct spool_event_record){
            .head = {.type = SPOOL_RECORD_EVENT_RECORD, .bytes = sizeof(*records), .time = 1000 * sequence + i},
            .event = sequence,
            .correlation = i};
    const uint8_t *entry = packer_pack(packer, &chunk, (const uint8_t *)records, NULL, &size);
    assert_true(size < sizeof(records) / 6);
    assert_int_equal(fwrite(entry, 1, size, file), size);
}

static void pack_own_chunks(uint64_t count)
{
    struct packer packer;
    FILE *file = fopen(packed_path, "we");
    assert_int_equal(packer_init(&packer), 0);
    for (uint64_t sequence = 1; sequence <= count; sequence++)
        pack_own(file, &packer, sequence);
    packer_release(&packer);
    fclose(file);
    make_spool_header(&spool)->drained = count;
    make_spool_save_as(&spool, path);
}

static bool is_own_chunk(const struct spool_part *part, uint64_t sequence)
{
    struct agent_walk walk;
    uint32_t count = 0;
    bool right = part->type == SPOOL_RECORDS && part->thread == 8 && part->packed == 0 && part->sequence == sequence;
    agent_walk_begin(&walk, part);
    while (agent_walk_next(&walk)) {
        const struct spool_event_record *record = (const void *)walk.record;
        right = right && record->event == sequence && record->correlation == count++;
    }
    return right && count == OWN_WAITS && walk.damaged == 0;
}

/* What points there stays valid, in memory, in a file, and when pages were given back. */
UNIT_TEST_WITH(own_records_are_unpacked_when_the_spool_is_opened, set_up, tear_down)
{
    enum { CHUNKS = 200 }; /* more than what is kept in memory */
    const char *directories[] = {NULL, *state, "/proc/nowhere"};
    pack_own_chunks(CHUNKS);
    for (size_t d = 0; d < sizeof(directories) / sizeof(*directories); d++) {
        struct spool_file file;
        assert_int_equal(spool_file_open(&file, path, directories[d]), 0);
        assert_int_equal(file.damaged, 0);
        assert_int_equal(file.parts.count, CHUNKS);
        assert_true((file.unpacked.file_bytes > 0) == (d == 1));
        for (unsigned round = 0; round < 2; round++) {
            for (uint64_t i = 0; i < CHUNKS; i++) {
                assert_true(is_own_chunk(&file.parts.items[i], i + 1));
                spool_part_evict(&file.parts.items[i]);
            }
            spill_evict(&file.unpacked);
        }
        spool_file_close(&file);
    }
}

UNIT_TEST_WITH(own_records_that_are_damaged_are_counted_and_left_out, set_up, tear_down)
{
    struct spool_file file;
    pack_own_chunks(2);
    FILE *packed = fopen(packed_path, "r+e");
    fseek(packed, 64, SEEK_SET);
    for (size_t i = 0; i < 32; i++)
        fputc(0xff, packed);
    fclose(packed);
    assert_int_equal(spool_file_open(&file, path, NULL), 0);
    assert_int_equal(file.parts.count, 2);
    assert_int_equal(file.parts.items[0].size, 0);
    assert_int_equal(file.damaged, 1);
    assert_true(is_own_chunk(&file.parts.items[1], 2));
    spill_evict(&file.unpacked);
    spool_file_close(&file);
}

UNIT_MAIN(NULL, NULL)
