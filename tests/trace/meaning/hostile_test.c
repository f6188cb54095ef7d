/*
 * Spools that lie about themselves: each gives a sound trace (trace_of() holds it to be one) of what can be believed.
 */
#include "tests/unit.h"

#include "tests/trace/meaning/trace_reading.h"

enum { PID = 500, LAUNCH = 211, NAME = 0x7000, KERNELS = 3 };

static void make_sound(struct make_spool *spool)
{
    make_spool_init(spool, PID, 130001);
    make_spool_chunk(spool, SPOOL_RECORDS, PID);
    make_pointer_name(spool, NAME, "_Z6kernelPf");
    make_thread_name(spool, PID, "main", 0);
    make_nvtx(spool, (struct make_nvtx){.what = SPOOL_NVTX_MARK, .time = 950, .text = "mark"});
    make_spool_done(spool, SPOOL_DONE);
    make_spool_chunk(spool, SPOOL_CUPTI, PID);
    for (uint32_t i = 1; i <= KERNELS; i++) {
        make_api(spool, (struct make_api){
                            .cbid = LAUNCH, .thread = PID, .correlation = i, .start = 1000 * i, .end = 1000 * i + 500});
        make_kernel(spool, (struct make_kernel){
                               .name = NAME, .start = 1000 * i + 600, .end = 1000 * i + 900, .correlation = i});
    }
    make_spool_done(spool, SPOOL_DONE);
}

/* The header of chunk N, from 0. */
static struct spool_chunk *chunk_of(struct make_spool *spool, unsigned n)
{
    size_t at = SPOOL_HEADER_BYTES;
    for (unsigned i = 0; i < n; i++)
        at += (size_t)((struct spool_chunk *)(void *)(spool->data + at))->bytes;
    return (struct spool_chunk *)(void *)(spool->data + at);
}

static void convert(struct make_spool *spool, int kernels, bool whole)
{
    struct trace trace = trace_of(spool);
    assert_int_equal(trace_count(&trace, "X", "kernel", NULL), kernels);
    assert_int_equal(trace.summary.losses.undecoded == 0, whole);
    trace_release(&trace);
}

UNIT_TEST(record_sizes_that_cannot_be_are_not_believed)
{
    static const uint16_t wrong[] = {0, 1, 7, 9, 65535};
    struct make_spool spool;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        make_sound(&spool);
        for (unsigned kind = 0; kind < SPOOL_CUPTI_KINDS; kind++)
            make_spool_header(&spool)->record_bytes[kind] = wrong[i];
        convert(&spool, KERNELS, true); /* what is known of that version of CUPTI counts */
    }
}

UNIT_TEST(record_sizes_that_are_wrong_lose_records_and_are_reported)
{
    static const uint16_t wrong[] = {8, 65528};
    struct make_spool spool;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        make_sound(&spool);
        for (unsigned kind = 0; kind < SPOOL_CUPTI_KINDS; kind++)
            make_spool_header(&spool)->record_bytes[kind] = wrong[i];
        convert(&spool, 0, false);
    }
}

UNIT_TEST(a_chunk_that_leads_nowhere_ends_the_list)
{
    static const uint64_t wrong[] = {0, 1, 63, 65, UINT64_MAX, UINT64_MAX - 63};
    struct make_spool spool;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        make_sound(&spool);
        chunk_of(&spool, 0)->bytes = wrong[i];
        struct trace trace = trace_of(&spool);
        assert_int_equal(trace_count(&trace, "X", "kernel", NULL), 0);
        trace_release(&trace);
    }
}

UNIT_TEST(a_chunk_without_its_magic_ends_the_list)
{
    struct make_spool spool;
    make_sound(&spool);
    chunk_of(&spool, 1)->magic = __builtin_bswap32(SPOOL_CHUNK_MAGIC);
    convert(&spool, 0, false);
}

UNIT_TEST(what_a_chunk_says_it_used_ends_with_the_chunk)
{
    struct make_spool spool;
    make_sound(&spool);
    chunk_of(&spool, 1)->used = UINT64_MAX;
    convert(&spool, KERNELS, false);
}

UNIT_TEST(a_chunk_that_begins_in_another_is_read_as_what_it_is)
{
    struct make_spool spool;
    make_sound(&spool);
    chunk_of(&spool, 0)->bytes = SPOOL_ALIGN; /* the rest of it is no chunk */
    convert(&spool, 0, false);
}

UNIT_TEST(a_length_of_the_file_that_is_wrong)
{
    static const uint64_t wrong[] = {0, 1, 4095, 4096, 4097, UINT64_MAX};
    struct make_spool spool;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        make_sound(&spool);
        make_spool_header(&spool)->formatted = wrong[i];
        convert(&spool, wrong[i] > 4097 ? KERNELS : 0, wrong[i] <= 4097);
    }
}

UNIT_TEST(a_length_of_the_header_that_is_wrong)
{
    static const uint32_t wrong[] = {0, 1, 64, 4095, UINT32_MAX, UINT32_MAX - 63};
    struct make_spool spool;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        make_sound(&spool);
        make_spool_header(&spool)->header_bytes = wrong[i];
        struct trace trace = trace_of(&spool);
        assert_int_equal(trace_count(&trace, "X", "kernel", NULL), 0);
        trace_release(&trace);
    }
}

UNIT_TEST(a_magic_of_another_kind_of_machine)
{
    struct make_spool spool;
    make_sound(&spool);
    memcpy(make_spool_header(&spool)->magic, "ECARTUPG", 8);
    unit_stderr_begin();
    struct trace trace = trace_of(&spool);
    assert_contains(unit_stderr_end(), "is not a spool file and is left out");
    assert_int_equal(trace.summary.processes, 0);
    assert_int_equal(trace.summary.losses.undecoded, 1);
    trace_release(&trace);
}

UNIT_TEST(texts_that_are_longer_than_their_records)
{
    struct make_spool spool;
    make_sound(&spool);
    make_spool_chunk(&spool, SPOOL_RECORDS, PID);
    struct spool_note *note = make_own(&spool, SPOOL_RECORD_NOTE, 1, sizeof(*note), sizeof(note->text), "x", 1);
    note->length = UINT32_MAX;
    struct spool_nvtx_plain *plain =
        make_own(&spool, SPOOL_RECORD_NVTX_PLAIN, 2, sizeof(*plain), sizeof(plain->text), "abcd", 4);
    plain->head.flags = SPOOL_NVTX_MARK;
    plain->length = 5;
    make_spool_done(&spool, SPOOL_DONE);
    struct trace trace = trace_of(&spool);
    assert_int_equal(trace.summary.losses.undecoded, 2);
    assert_int_equal(trace_count(&trace, "X", "kernel", NULL), KERNELS);
    trace_release(&trace);
}

UNIT_TEST(records_of_no_type_and_of_no_size)
{
    static const uint32_t sizes[] = {0, 8, 15, 17, 4096, UINT32_MAX};
    struct make_spool spool;
    for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
        make_sound(&spool);
        make_spool_chunk(&spool, SPOOL_RECORDS, PID);
        struct spool_record *record = make_spool_bytes(&spool, 64);
        *record = (struct spool_record){.type = UINT16_MAX, .bytes = sizes[i]};
        make_spool_done(&spool, SPOOL_DONE);
        convert(&spool, KERNELS, false);
    }
}

UNIT_TEST(times_from_no_age)
{
    static const uint64_t wrong[] = {0, 1, UINT64_MAX, UINT64_C(1) << 63};
    struct make_spool spool;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        make_sound(&spool);
        struct spool_header *header = make_spool_header(&spool);
        header->started = header->started_monotonic = header->finished = wrong[i];
        convert(&spool, KERNELS, true);
        make_sound(&spool);
        make_spool_chunk(&spool, SPOOL_CUPTI, PID);
        make_kernel(&spool, (struct make_kernel){.name = NAME,
                                                 .start = wrong[i] - MAKE_SPOOL_START,
                                                 .end = wrong[i] - MAKE_SPOOL_START,
                                                 .correlation = 9});
        make_spool_done(&spool, SPOOL_DONE);
        struct trace trace = trace_of(&spool);
        assert_int_equal(trace_count(&trace, "X", "kernel", NULL), KERNELS);
        assert_int_equal(trace.summary.losses.zero_time, 1);
        trace_release(&trace);
    }
}

UNIT_TEST(numbers_of_processes_threads_and_devices_beyond_32_bits_signed)
{
    static const uint32_t wrong[] = {0, UINT32_MAX, UINT32_C(1) << 31};
    struct make_spool spool;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        make_sound(&spool);
        make_spool_header(&spool)->pid = wrong[i];
        make_spool_chunk(&spool, SPOOL_CUPTI, wrong[i]);
        make_api(&spool, (struct make_api){
                             .cbid = UINT32_MAX, .thread = wrong[i], .correlation = wrong[i], .start = 1, .end = 2});
        make_kernel(&spool, (struct make_kernel){.start = 3,
                                                 .end = 4,
                                                 .correlation = wrong[i],
                                                 .device = wrong[i],
                                                 .context = wrong[i],
                                                 .stream = wrong[i]});
        make_spool_done(&spool, SPOOL_DONE);
        convert(&spool, KERNELS + 1, true);
    }
}

UNIT_MAIN(NULL, NULL)
