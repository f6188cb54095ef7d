/*
 * NVTX's attributes and texts in all their forms, read into the registry's.
 *
 * A struct of attributes says how long it is: what lies beyond its size, or beyond the ones known here, is not read.
 */
#ifndef GPUTRACE_AGENT_NVTX_MESSAGE_H
#define GPUTRACE_AGENT_NVTX_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <nvtx3/nvToolsExt.h>

#include "agent/dispatch/events.h"

/* A wide text becomes UTF-8 here, a longer one in memory of the thread: threads of programs may have small stacks. */
#define NVTX_WIDE_BYTES 1024

struct nvtx_text {
    char wide[NVTX_WIDE_BYTES]; /* not initialised */
};

/* What an nvtxStringHandle_t of ours points to. Lives as long as the process. */
struct nvtx_string {
    uint32_t domain;
    uint32_t number;
    struct gputrace_text text;
    uintptr_t mark; /* nvtx_string_mark(): it is a registered string, which is never freed and never changes */
};

/* A handle in a payload is a number that the program wrote, and may lead to anything. */
static inline uintptr_t nvtx_string_mark(const struct nvtx_string *string)
{
    return (uintptr_t)string ^ UINT64_C(0x6776747874737472);
}

struct gputrace_text nvtx_ascii(const char *text);

/* Lives as long as OUT, and until this thread converts another text. */
struct gputrace_text nvtx_wide(struct nvtx_text *out, const wchar_t *text);

/* TYPE is an nvtxMessageType_t; empty when there is no message, or of a type that is not known. *STRING (may be NULL)
 * becomes the number of a registered one, else 0. */
struct gputrace_text nvtx_message(int32_t type, nvtxMessageValue_t message, struct nvtx_text *room, uint32_t *string);

/* Fills category, colour, payload and message of EVENT, of these what ATTRIBUTES (may be NULL) has. Texts live as long
 * as ROOM and the program's argument. */
void nvtx_read_attributes(const nvtxEventAttributes_t *attributes, struct gputrace_nvtx *event, struct nvtx_text *room);

/* Whether FIELD lies within the size that ATTRIBUTES says of itself. */
#define NVTX_HAS(attributes, field) \
    ((attributes)->size >= offsetof(__typeof__(*(attributes)), field) + sizeof((attributes)->field))

/* Whether ATTRIBUTES (may be NULL) have nothing but a message, which needs no room of ours. */
static inline bool nvtx_is_message_alone(const nvtxEventAttributes_t *attributes)
{
    return attributes && NVTX_HAS(attributes, message) && attributes->category == 0 &&
           attributes->colorType == NVTX_COLOR_UNKNOWN && attributes->payloadType == NVTX_PAYLOAD_UNKNOWN &&
           (attributes->messageType == NVTX_MESSAGE_TYPE_ASCII ||
            attributes->messageType == NVTX_MESSAGE_TYPE_REGISTERED);
}

#endif
