/*
 * NVTX's attributes and texts in all their forms, read into the registry's.
 */
#ifndef GPUTRACE_INJECTED_COLLECT_NVTX_MESSAGE_H
#define GPUTRACE_INJECTED_COLLECT_NVTX_MESSAGE_H

#include <stdint.h>

#include <nvtx3/nvToolsExt.h>

#include "injected/registry/events.h"

/* A wide text becomes UTF-8 here, cut after this many bytes: threads of programs may have small stacks. */
#define NVTX_WIDE_BYTES 2048

struct nvtx_text {
    struct text text;
    char wide[NVTX_WIDE_BYTES]; /* where a converted text lives; not initialised */
};

/* What an nvtxStringHandle_t of ours points to. Lives as long as the process. */
struct nvtx_string {
    uint32_t domain;
    uint32_t number;
    struct text text;
};

struct text nvtx_ascii(const char *text);
struct text nvtx_wide(struct nvtx_text *out, const wchar_t *text);

/* Fills category, colour, payload and message of EVENT. ATTRIBUTES may be NULL or of an unknown version: then nothing
 * is filled. Texts live as long as ROOM and the program's argument. */
void nvtx_read_attributes(const nvtxEventAttributes_t *attributes, struct nvtx_event *event, struct nvtx_text *room);

#endif
