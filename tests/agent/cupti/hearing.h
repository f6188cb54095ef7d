/*
 * Callbacks for every kind that driver calls are reported as, which remember what they heard; and one driver call at a
 * time made by the fake CUPTI, in every version that the tables have.
 */
#ifndef TESTS_AGENT_CUPTI_HEARING_H
#define TESTS_AGENT_CUPTI_HEARING_H

#include "agent/cupti/driver_calls.h"
#include "tests/agent/cupti/fake_cupti.h"
#include "tests/unit.h"

/* cuda.h lets these names stand for the newest version; here the old ones are meant. */
#undef cuCtxCreate
#undef cuEventDestroy
#undef cuEventElapsedTime
#undef cuGraphInstantiate
#undef cuLinkAddData
#undef cuLinkAddFile
#undef cuMemHostRegister
#undef cuMemcpy3DBatchAsync
#undef cuMemcpyBatchAsync
#undef cuStreamBatchMemOp
#undef cuStreamBeginCapture
#undef cuStreamDestroy
#undef cuStreamWaitValue32
#undef cuStreamWaitValue64
#undef cuStreamWriteValue32
#undef cuStreamWriteValue64

/* For cmocka: subscribes the collector to the fake CUPTI and registers for every kind. */
int hearing_start(void **state);

void hearing_clear(void);

/* How often KIND was heard since. */
unsigned heard(enum registry_kind kind);
/* The INDEXth of it: a struct gputrace_KIND. */
const void *heard_what(enum registry_kind kind, unsigned index);
/* How many of all kinds but those of phases. */
unsigned heard_in_all(void);

/* Forgets what was heard and makes the call, done or failed. */
void make_call(CUpti_CallbackId cbid, const void *params, CUresult result);

/* The same, and returns the one thing that was heard of it, which is of KIND. */
const void *hear_call(const char *function, CUpti_CallbackId cbid, const void *params, CUresult result,
                      enum registry_kind kind);
#define HEAR(kind, function, params, result)                                                                      \
    ((const struct gputrace_##kind *)hear_call(#function, CUPTI_DRIVER_TRACE_CBID_##function, (params), (result), \
                                               REGISTRY_##kind))

/* Fails unless every row of GROUP was called that serves one of KINDS. */
void hearing_covers(const struct driver_calls *group, uint64_t kinds);
/* The same of every row that serves KINDS alone. */
void hearing_covers_only(const struct driver_calls *group, uint64_t kinds);

/* CHECK(function, per_thread) for a function and its version for default streams of the threads' own. */
#define PLAIN_AND_PTSZ(CHECK, function) \
    CHECK(function, false);             \
    CHECK(function##_ptsz, true)
#define PLAIN_AND_PTDS(CHECK, function) \
    CHECK(function, false);             \
    CHECK(function##_ptds, true)

/* What a default stream given as NULL is reported as. */
static inline CUstream default_stream(bool per_thread)
{
    return per_thread ? CU_STREAM_PER_THREAD : NULL;
}

#endif
