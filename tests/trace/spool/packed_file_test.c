#include "tests/trace/spool/spool_pair.h"

#include "trace/spool/packing.h"
#include "trace/spool/cupti.h"
#include "trace/spool/spool_file.h"

enum { CALLS = 1000 };

/* A chunk of CALLS calls, numbered from FIRST. */
static void put_chunk(uint64_t sequence, uint32_t first, enum spool_chunk_state state)
{
    make_spool_chunk(&spool, SPOOL_CUPTI, 77);
    make_spool_chunk_header(&spool)->sequence = sequence;
    for (uint32_t i = 0; i < CALLS; i++)
        make_api(&spool, (struct make_api){.cbid = 211, .start = 10 * i, .end = 10 * i + 5, .correlation = first + i});
    make_spool_done(&spool, state);
    if (state == SPOOL_DRAINED) {
        struct spool_chunk *chunk = (struct spool_chunk *)(void *)(spool.data + spool.size - (CALLS * 40 + 64));
        chunk->used = CALLS * 40;
    }
}

/* Packs the chunk that was put last. Returns the bytes of its entry. */
static size_t pack(FILE *file, bool as_it_is)
{
    struct packer packer;
    size_t size;
    struct spool_chunk chunk = *(struct spool_chunk *)(void *)(spool.data + spool.size - (CALLS * 40 + 64));
    static const uint16_t unknown[SPOOL_CUPTI_KINDS];
    assert_int_equal(packer_init(&packer), 0);
    uint8_t *data = aligned_alloc(64, CALLS * 40);
    memcpy(data, spool.data + spool.size - CALLS * 40, CALLS * 40);
    for (size_t i = 0; as_it_is && i < CALLS * 40; i++) /* that nothing makes smaller */
        data[i] = (uint8_t)random();
    chunk.used = CALLS * 40;
    const uint8_t *entry =
        packer_pack(&packer, &chunk, data, as_it_is ? unknown : make_spool_header(&spool)->record_bytes, &size);
    assert_int_equal(size % SPOOL_ALIGN, 0);
    assert_int_equal(fwrite(entry, 1, size, file), size);
    free(data);
    packer_release(&packer);
    return size;
}

static uint32_t first_correlation(const struct spool_file *file, size_t part, struct spool_scratch *scratch)
{
    uint32_t words[10];
    const uint8_t *data = spool_part_data(&file->parts.items[part], scratch);
    assert_non_null(data);
    assert_int_equal((uintptr_t)data % SPOOL_ALIGN, 0);
    memcpy(words, data, sizeof(words));
    return words[8];
}

UNIT_TEST_WITH(what_was_drained_is_among_the_parts, set_up, tear_down)
{
    struct spool_file file;
    struct spool_scratch scratch = {0};
    FILE *packed = fopen(packed_path, "we");
    put_chunk(3, 3000, SPOOL_DONE);
    size_t bytes = pack(packed, false);
    assert_true(bytes < CALLS * 40 / 6);
    put_chunk(1, 1000, SPOOL_DONE);
    pack(packed, false);
    fclose(packed);
    make_spool_release(&spool);
    make_spool_init(&spool, 1, 130001);
    make_spool_header(&spool)->drained = 2;
    put_chunk(2, 2000, SPOOL_DONE);
    make_spool_save_as(&spool, path);
    assert_int_equal(spool_file_open(&file, path, NULL), 0);
    assert_int_equal(file.parts.count, 3);
    assert_int_equal(file.damaged, 0);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(file.parts.items[i].sequence, i + 1);
        assert_int_equal(file.parts.items[i].size, CALLS * 40);
        assert_int_equal(file.parts.items[i].thread, 77);
        assert_int_equal(file.parts.items[i].state, SPOOL_DONE);
        assert_int_equal(first_correlation(&file, i, &scratch), 1000 * (i + 1));
        spool_part_evict(&file.parts.items[i]);
        assert_int_equal(first_correlation(&file, i, &scratch), 1000 * (i + 1));
    }
    spool_scratch_release(&scratch);
    spool_file_close(&file);
}

UNIT_TEST_WITH(a_chunk_in_both_files_counts_once, set_up, tear_down)
{
    static const enum spool_chunk_state states[] = {SPOOL_DONE, SPOOL_DRAINED};
    for (size_t i = 0; i < 2; i++) { /* the launcher died before, or after it was marked */
        struct spool_file file;
        FILE *packed = fopen(packed_path, "we");
        make_spool_release(&spool);
        make_spool_init(&spool, 1, 130001);
        make_spool_header(&spool)->drained = 1;
        put_chunk(1, 1000, states[i]);
        pack(packed, false);
        fclose(packed);
        make_spool_save_as(&spool, path);
        assert_int_equal(spool_file_open(&file, path, NULL), 0);
        assert_int_equal(file.parts.count, 1);
        assert_true(file.parts.items[0].drained);
        assert_int_equal(file.damaged, 0);
        spool_file_close(&file);
    }
}

UNIT_TEST_WITH(a_last_entry_that_is_cut_is_in_the_spool, set_up, tear_down)
{
    FILE *packed = fopen(packed_path, "we");
    make_spool_header(&spool)->drained = 1;
    put_chunk(1, 1000, SPOOL_DRAINED);
    size_t first = pack(packed, false);
    put_chunk(2, 2000, SPOOL_DONE);
    size_t second = pack(packed, false);
    fclose(packed);
    make_spool_save_as(&spool, path);
    for (size_t cut = 1; cut < second; cut += 7) {
        struct spool_file file;
        assert_int_equal(truncate(packed_path, (off_t)(first + second - cut)), 0);
        assert_int_equal(spool_file_open(&file, path, NULL), 0);
        assert_int_equal(file.parts.count, 2);
        assert_int_equal(file.damaged, 0);
        spool_file_close(&file);
    }
}

UNIT_TEST_WITH(what_is_in_neither_file_is_counted, set_up, tear_down)
{
    struct spool_file file;
    make_spool_header(&spool)->drained = 5;
    put_chunk(1, 1000, SPOOL_DRAINED); /* its space was not used again yet */
    make_spool_save_as(&spool, path);
    assert_int_equal(spool_file_open(&file, path, NULL), 0);
    assert_int_equal(file.parts.count, 1);
    assert_int_equal(file.parts.items[0].state, SPOOL_DONE);
    assert_int_equal(file.damaged, 4);
    spool_file_close(&file);
}

UNIT_TEST_WITH(what_does_not_become_smaller_stays_as_it_is, set_up, tear_down)
{
    struct spool_file file;
    struct spool_scratch scratch = {0};
    FILE *packed = fopen(packed_path, "we");
    put_chunk(1, 1000, SPOOL_DONE);
    size_t bytes = pack(packed, true);
    assert_int_equal(bytes, 64 + CALLS * 40);
    fclose(packed);
    make_spool_release(&spool);
    make_spool_init(&spool, 1, 130001);
    make_spool_save_as(&spool, path);
    assert_int_equal(spool_file_open(&file, path, NULL), 0);
    assert_int_equal(file.parts.count, 1);
    assert_int_equal(file.parts.items[0].packed, 0);
    const uint8_t *data = spool_part_data(&file.parts.items[0], &scratch);
    char *written = malloc(bytes);
    FILE *file_again = fopen(packed_path, "re");
    assert_int_equal(fread(written, 1, bytes, file_again), bytes);
    assert_memory_equal(data, written + 64, CALLS * 40);
    fclose(file_again);
    free(written);
    spool_scratch_release(&scratch);
    spool_file_close(&file);
}

UNIT_TEST_WITH(entries_that_lie_end_the_list, set_up, tear_down)
{
    static const struct {
        size_t field;
        uint64_t value;
        size_t bytes;
    } lies[] = {
        {offsetof(struct spool_packed, magic), 0, 4},
        {offsetof(struct spool_packed, packing), 2, 2},
        {offsetof(struct spool_packed, type), SPOOL_FREE, 2},
        {offsetof(struct spool_packed, type), 3, 2},
        {offsetof(struct spool_packed, packed), UINT32_MAX, 4},
        {offsetof(struct spool_packed, packed), CALLS * 40, 4},
        {offsetof(struct spool_packed, columned), UINT32_MAX, 4},
        {offsetof(struct spool_packed, used), SPOOL_SEGMENT_BYTES + 1, 8},
        {offsetof(struct spool_packed, used), UINT64_MAX, 8},
    };
    for (size_t i = 0; i < sizeof(lies) / sizeof(*lies); i++) {
        struct spool_file file;
        FILE *packed = fopen(packed_path, "we");
        make_spool_release(&spool);
        make_spool_init(&spool, 1, 130001);
        put_chunk(1, 1000, SPOOL_DONE);
        pack(packed, false);
        fseek(packed, (long)lies[i].field, SEEK_SET);
        fwrite(&lies[i].value, 1, lies[i].bytes, packed);
        fclose(packed);
        make_spool_release(&spool);
        make_spool_init(&spool, 1, 130001);
        make_spool_header(&spool)->drained = 1;
        make_spool_save_as(&spool, path);
        assert_int_equal(spool_file_open(&file, path, NULL), 0);
        assert_int_equal(file.parts.count, 0);
        assert_int_equal(file.damaged, 1);
        spool_file_close(&file);
    }
}

UNIT_TEST_WITH(damaged_bytes_are_a_part_that_cannot_be_read, set_up, tear_down)
{
    struct spool_file file;
    struct spool_scratch scratch = {0};
    struct cupti_walk walk;
    FILE *packed = fopen(packed_path, "we");
    put_chunk(1, 1000, SPOOL_DONE);
    size_t bytes = pack(packed, false);
    fseek(packed, 64, SEEK_SET);
    for (size_t i = 64; i < bytes; i++)
        fputc(0xff, packed);
    fclose(packed);
    make_spool_save_as(&spool, path);
    assert_int_equal(spool_file_open(&file, path, NULL), 0);
    assert_int_equal(file.parts.count, 1);
    const uint8_t *data = spool_part_data(&file.parts.items[0], &scratch);
    assert_null(data);
    cupti_walk_begin(&walk, &file.parts.items[0], data, file.header.record_bytes);
    assert_false(cupti_walk_next(&walk));
    assert_int_equal(walk.damaged, 1);
    spool_scratch_release(&scratch);
    spool_file_close(&file);
}

UNIT_MAIN(NULL, NULL)
