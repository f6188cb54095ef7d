/*
 * Spools with PyTorch's operators, for tests of what the trace makes of them.
 */
#ifndef GPUTRACE_TESTS_TRACE_MEANING_MAKE_OPERATORS_H
#define GPUTRACE_TESTS_TRACE_MEANING_MAKE_OPERATORS_H

#include <string.h>

#include "tests/trace/meaning/trace_reading.h"

enum { PID = 500, THREAD = 501, OTHER = 502, LAUNCH = 211, NAME = 0x7000, FORWARD = 1, BACKWARD = 2 };

static inline void *put(struct make_spool *spool, uint16_t type, uint64_t time, size_t size)
{
    return make_own(spool, type, time, size, 0, NULL, 0);
}

static inline void text(struct make_spool *spool, uint32_t number, const char *text, size_t length, uint16_t what)
{
    struct spool_torch_text *record =
        make_own(spool, SPOOL_RECORD_TORCH_TEXT, 0, sizeof(*record), sizeof(record->text), text, length);
    record->head.flags = what;
    record->number = number;
    record->length = (uint32_t)length;
}

static inline void name(struct make_spool *spool, uint32_t number, const char *bytes)
{
    text(spool, number, bytes, strlen(bytes), SPOOL_OPERATOR_NAME);
}

static inline void number_thread(struct make_spool *spool, uint32_t number)
{
    struct spool_torch_thread *record = put(spool, SPOOL_RECORD_TORCH_THREAD, 0, sizeof(*record));
    record->number = number;
}

/* SEQUENCE -1: it has none. FORWARD_IN 0: it is not of the backward pass. */
static inline void begin(struct make_spool *spool, uint64_t time, uint32_t named, uint32_t self, int64_t sequence,
                         uint64_t forward_in)
{
    struct spool_torch_start *record = put(spool, SPOOL_RECORD_TORCH_START, time, sizeof(*record));
    record->head.flags = forward_in ? SPOOL_OPERATOR_BACKWARD : SPOOL_OPERATOR_FUNCTION;
    record->name = named;
    record->self = self;
    record->sequence = forward_in << SPOOL_OPERATOR_SEQUENCE_BITS | (uint64_t)(sequence + 1);
}

static inline void begin_user(struct make_spool *spool, uint64_t time, uint32_t named, uint32_t self)
{
    struct spool_torch_start *record = put(spool, SPOOL_RECORD_TORCH_START, time, sizeof(*record));
    record->head.flags = SPOOL_OPERATOR_USER;
    record->name = named;
    record->self = self;
}

static inline void end(struct make_spool *spool, uint64_t time, uint32_t self)
{
    struct spool_torch_end *record = put(spool, SPOOL_RECORD_TORCH_END, time, sizeof(*record));
    record->self = self;
}

static inline void inputs(struct make_spool *spool, uint64_t time, uint32_t self, uint32_t number)
{
    struct spool_torch_inputs *record = put(spool, SPOOL_RECORD_TORCH_INPUTS, time, sizeof(*record));
    record->self = self;
    record->inputs = number;
}

static inline void open_spool(struct make_spool *spool)
{
    make_spool_init(spool, PID, 130001);
    make_spool_chunk(spool, SPOOL_RECORDS, THREAD);
    make_pointer_name(spool, NAME, "kernel");
    name(spool, 1, "aten::linear");
    name(spool, 2, "aten::addmm");
    name(spool, 3, "step");
    number_thread(spool, FORWARD);
}

static inline void on_thread(struct make_spool *spool, enum spool_chunk_type type, uint32_t thread)
{
    make_spool_done(spool, SPOOL_DONE);
    make_spool_chunk(spool, type, thread);
}

static inline void launch(struct make_spool *spool, uint32_t thread, uint32_t correlation, uint64_t called)
{
    make_api(spool,
             (struct make_api){
                 .cbid = LAUNCH, .thread = thread, .correlation = correlation, .start = called, .end = called + 10});
    make_kernel(spool, (struct make_kernel){
                           .name = NAME, .start = called + 1000, .end = called + 1100, .correlation = correlation});
}

static inline const cJSON *operator_named(const struct trace *trace, const char *called)
{
    return trace_event(trace, "X", "cpu_op", called, 0);
}

static inline double id_of(const cJSON *event)
{
    return cJSON_GetNumberValue(event_arg(event, "External id"));
}

#endif
