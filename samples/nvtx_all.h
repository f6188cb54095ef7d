/*
 * What the chapters of nvtx_all.c share.
 */
#ifndef SAMPLES_NVTX_ALL_H
#define SAMPLES_NVTX_ALL_H

#include <nvtx3/nvToolsExt.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "statement.h"

static nvtxDomainHandle_t domain;

static uint32_t this_thread(void)
{
    return (uint32_t)syscall(SYS_gettid);
}

static void must(bool holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "nvtx_all: %s\n", what);
    exit(1);
}

/* What push and pop give: the depth, or that nobody counts it. */
static void depth_is(int depth, int wanted)
{
    must(depth == wanted || depth == NVTX_NO_PUSH_POP_TRACKING, "push or pop gave another depth than there is");
}

static void did(const char *what, const char *totals, const char *words)
{
    state("nvtx %s %s", what, words);
    state_count(totals, 1);
}

static void did_push(const char *words)
{
    did("push", "pushes", words);
}

static void did_start(const char *words)
{
    did("start", "starts", words);
}

static void did_mark(const char *words)
{
    did("mark", "marks", words);
}

static nvtxEventAttributes_t event_of(const char *message)
{
    return (nvtxEventAttributes_t){.version = NVTX_VERSION,
                                   .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE,
                                   .messageType = NVTX_MESSAGE_TYPE_ASCII,
                                   .message = {.ascii = message}};
}

#endif
