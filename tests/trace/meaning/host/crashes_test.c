#include <signal.h>

#include "tests/unit.h"

#include <cupti.h>

#include "tests/trace/meaning/trace_reading.h"

#define PID 1234
#define SYNCHRONIZE CUPTI_DRIVER_TRACE_CBID_cuStreamSynchronize

static void begin(struct make_spool *spool)
{
    make_spool_init(spool, PID, 130001);
    make_spool_header(spool)->state = SPOOL_OPEN;
    make_spool_chunk(spool, SPOOL_RECORDS, PID);
}

static struct trace end(struct make_spool *spool)
{
    make_spool_done(spool, SPOOL_IN_USE);
    return trace_of(spool);
}

static struct spool_crash *make_crash(struct make_spool *spool, uint64_t time, int signal, int code)
{
    struct spool_crash *crash = make_own(spool, SPOOL_RECORD_CRASH, time, sizeof(*crash), 0, NULL, 0);
    crash->signal = signal;
    crash->code = code;
    crash->thread = PID + 1;
    return crash;
}

static struct spool_open_call *make_open_call(struct make_spool *spool, uint64_t time, uint32_t correlation)
{
    struct spool_open_call *call = make_own(spool, SPOOL_RECORD_OPEN_CALL, time, sizeof(*call), 0, NULL, 0);
    call->head.flags = SPOOL_CALL_OPEN;
    call->cbid = SYNCHRONIZE;
    call->correlation = correlation;
    call->thread = PID + 2;
    call->what = SPOOL_CALL_OF_STREAM;
    call->object = 0x5000;
    return call;
}

/* What the trace's metadata says of the one process. */
static const cJSON *process_of(const struct trace *trace)
{
    const cJSON *own = cJSON_GetObjectItem(trace->json, "gputrace");
    return cJSON_GetArrayItem(cJSON_GetObjectItem(own, "processes"), 0);
}

static void assert_text(const cJSON *object, const char *key, const char *text)
{
    assert_string_equal(event_text(object, key), text);
}

UNIT_TEST(a_fault_has_its_address)
{
    struct make_spool spool;
    begin(&spool);
    make_crash(&spool, 3000, SIGSEGV, 1)->address = 0x10;
    struct trace trace = end(&spool);
    const cJSON *process = process_of(&trace), *crash = cJSON_GetObjectItem(process, "death");
    assert_text(process, "state", "ended without its exit handlers");
    assert_non_null(crash);
    assert_int_equal(event_number(crash, "signal"), SIGSEGV);
    assert_int_equal(event_number(crash, "thread"), PID + 1);
    assert_text(crash, "words", strsignal(SIGSEGV));
    assert_text(crash, "address", "0x10");
    assert_null(cJSON_GetObjectItem(crash, "sender"));
    assert_int_equal(event_ns(crash, "ts"), 3000);
    trace_release(&trace);
}

UNIT_TEST(a_signal_that_was_sent_has_its_sender_and_no_address)
{
    struct make_spool spool;
    begin(&spool);
    make_crash(&spool, 3000, SIGABRT, -6)->sender = PID;
    struct trace trace = end(&spool);
    const cJSON *crash = cJSON_GetObjectItem(process_of(&trace), "death");
    assert_int_equal(event_number(crash, "sender"), PID);
    assert_null(cJSON_GetObjectItem(crash, "address"));
    trace_release(&trace);
}

UNIT_TEST(a_call_that_had_not_returned_tells_what_it_waits_for)
{
    struct make_spool spool;
    begin(&spool);
    make_stream(&spool, 0x5000, 1, 13);
    make_open_call(&spool, 2000, 7);
    struct trace trace = end(&spool);
    const cJSON *calls = cJSON_GetObjectItem(process_of(&trace), "open_calls");
    assert_int_equal(cJSON_GetArraySize(calls), 1);
    const cJSON *call = cJSON_GetArrayItem(calls, 0);
    assert_text(call, "function", "cuStreamSynchronize");
    assert_text(call, "waits_for", "stream");
    assert_text(call, "handle", "0x5000");
    assert_int_equal(event_number(call, "stream"), 13);
    assert_int_equal(event_number(call, "thread"), PID + 2);
    assert_null(cJSON_GetObjectItem(process_of(&trace), "death"));
    trace_release(&trace);
}

/* CUPTI's record of the call was written before the thread could say that it had returned. */
UNIT_TEST(a_call_with_a_record_had_returned)
{
    struct make_spool spool;
    begin(&spool);
    make_open_call(&spool, 2000, 7);
    make_open_call(&spool, 2500, 8);
    make_spool_done(&spool, SPOOL_IN_USE);
    make_spool_chunk(&spool, SPOOL_CUPTI, PID);
    make_api(&spool,
             (struct make_api){
                 .driver = 1, .cbid = SYNCHRONIZE, .thread = PID + 2, .correlation = 7, .start = 2000, .end = 2200});
    struct trace trace = end(&spool);
    const cJSON *calls = cJSON_GetObjectItem(process_of(&trace), "open_calls");
    assert_int_equal(cJSON_GetArraySize(calls), 1);
    assert_int_equal(event_ns(cJSON_GetArrayItem(calls, 0), "ts"), 2500);
    trace_release(&trace);
}

UNIT_TEST(rows_of_the_table_that_are_free_tell_nothing)
{
    struct make_spool spool;
    begin(&spool);
    make_open_call(&spool, 2000, 7)->head.flags = SPOOL_CALL_RETURNED;
    make_open_call(&spool, 2000, 8)->head.flags = SPOOL_CALL_TAKEN;
    struct trace trace = end(&spool);
    assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(process_of(&trace), "open_calls")), 0);
    assert_int_equal(trace.summary.losses.undecoded, 0);
    trace_release(&trace);
}

UNIT_TEST(a_process_that_did_not_finish_was_alive_when_it_looked_at_the_clocks)
{
    struct make_spool spool;
    begin(&spool);
    struct spool_header *header = make_spool_header(&spool);
    header->started = 1000;
    header->started_monotonic = 100;
    header->clock_looked = 7100;
    struct trace trace = end(&spool);
    assert_int_equal(event_ns(cJSON_GetObjectItem(process_of(&trace), "alive"), "ts"), 8000);
    trace_release(&trace);
}

UNIT_TEST(a_process_that_finished_has_no_last_words)
{
    struct make_spool spool;
    begin(&spool);
    make_crash(&spool, 3000, SIGSEGV, 1);
    make_open_call(&spool, 2000, 7);
    make_spool_header(&spool)->state = SPOOL_FINISHED;
    make_spool_header(&spool)->finished = MAKE_SPOOL_START + 4000;
    struct trace trace = end(&spool);
    const cJSON *process = process_of(&trace);
    assert_text(process, "state", "finished");
    assert_null(cJSON_GetObjectItem(process, "death"));
    assert_null(cJSON_GetObjectItem(process, "open_calls"));
    trace_release(&trace);
}

UNIT_TEST(what_a_damaged_record_says_is_not_believed)
{
    struct make_spool spool;
    begin(&spool);
    make_open_call(&spool, 2000, 7)->what = 77;
    make_open_call(&spool, 2100, 8)->cbid = 999999;
    struct spool_crash *crash = make_crash(&spool, 0, SIGSEGV, 1);
    crash->head.time = 1; /* 1970 */
    struct trace trace = end(&spool);
    const cJSON *calls = cJSON_GetObjectItem(process_of(&trace), "open_calls");
    assert_null(cJSON_GetObjectItem(cJSON_GetArrayItem(calls, 0), "waits_for"));
    assert_text(cJSON_GetArrayItem(calls, 1), "function", "a driver call");
    assert_null(cJSON_GetObjectItem(process_of(&trace), "death"));
    assert_int_equal(trace.summary.losses.undecoded, 1);
    trace_release(&trace);
}

UNIT_MAIN(NULL, NULL)
