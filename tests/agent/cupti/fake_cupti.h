/*
 * A CUPTI that tells what a test makes it tell, for the collector to be subscribed to.
 *
 * A context at address A has number A & 0xff, a stream at S the number S & 0xff; default streams have 7, the thread's
 * own 8. The device is 3. A graph's node or an executable graph at N has the number N & 0xffff.
 */
#ifndef TESTS_AGENT_CUPTI_FAKE_CUPTI_H
#define TESTS_AGENT_CUPTI_FAKE_CUPTI_H

#include <stdbool.h>

#include "agent/cupti/cupti_library.h"
#include "agent/spool/spool_place.h"

#define FAKE_CONTEXT ((CUcontext)0x1011)
#define FAKE_CONTEXT_ID 0x11u
#define FAKE_DEVICE 3u

extern const struct cupti fake_cupti;

/* What was asked of it. */
extern struct fake_asked {
    unsigned switches; /* cuptiEnableCallback() */
    unsigned contexts; /* cuptiGetContextId() */
    unsigned streams;  /* cuptiGetStreamIdEx() */
} fake_asked;

/* What cuptiSubscribe() gives. */
extern CUptiResult fake_subscription;

bool fake_is_on(CUpti_CallbackDomain domain, CUpti_CallbackId cbid);
/* How many are on in DOMAIN. */
unsigned fake_count_on(CUpti_CallbackDomain domain);

/* A driver call begins and returns; reported if the callback is on at that moment. Correlation ids count up, unless
 * fake_correlation is set, which is then that of every call. */
void fake_enter(CUpti_CallbackId cbid, const void *params);
void fake_exit(CUpti_CallbackId cbid, const void *params, CUresult result);
void fake_call(CUpti_CallbackId cbid, const void *params, CUresult result);
extern uint32_t fake_correlation;
/* Context and kernel of the calls that follow. */
extern CUcontext fake_context;
extern const char *fake_symbol;

void fake_resource(CUpti_CallbackIdResource cbid, CUcontext context, CUstream stream, void *descriptor);

#endif
