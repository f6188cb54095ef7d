#include "agent/nvtx/message.h"

#include <stddef.h>

#include "common/utf8.h"
#include "agent/nvtx/pieces.h"
#include "agent/nvtx/thread.h"
#include "agent/dispatch/text.h"

#define UTF8_MOST 4u /* bytes of a character */

struct gputrace_text nvtx_ascii(const char *text)
{
    return text_of(text);
}

struct gputrace_text nvtx_wide(struct nvtx_text *out, const wchar_t *text)
{
    size_t length = text ? utf8_from_wide(out->wide, sizeof(out->wide), text) : 0;
    bool whole = length + UTF8_MOST <= sizeof(out->wide);
    char *longer = whole ? NULL : nvtx_thread_text();
    if (!longer)
        return (struct gputrace_text){out->wide, (uint32_t)length};
    return (struct gputrace_text){longer, (uint32_t)utf8_from_wide(longer, NVTX_THREAD_TEXT, text)};
}

struct gputrace_text nvtx_message(int32_t type, nvtxMessageValue_t message, struct nvtx_text *room, uint32_t *string)
{
    const struct nvtx_string *registered = (const struct nvtx_string *)message.registered;
    if (string)
        *string = 0;
    switch (type) {
    case NVTX_MESSAGE_TYPE_ASCII: return nvtx_ascii(message.ascii);
    case NVTX_MESSAGE_TYPE_UNICODE: return nvtx_wide(room, message.unicode);
    case NVTX_MESSAGE_TYPE_REGISTERED:
        if (registered && string)
            *string = registered->number;
        return registered ? registered->text : (struct gputrace_text){0};
    default: return (struct gputrace_text){0};
    }
}

static void read_payload(const nvtxEventAttributes_t *attributes, struct gputrace_nvtx *event)
{
    if (attributes->payloadType <= NVTX_PAYLOAD_UNKNOWN || attributes->payloadType > NVTX_PAYLOAD_TYPE_FLOAT)
        return;
    event->payload_type = (uint16_t)attributes->payloadType;
    event->payload = attributes->payload.ullValue; /* as bits; the type says how many of them count */
}

void nvtx_read_attributes(const nvtxEventAttributes_t *attributes, struct gputrace_nvtx *event, struct nvtx_text *room)
{
    if (!attributes)
        return;
    if (NVTX_HAS(attributes, category))
        event->category = attributes->category;
    if (NVTX_HAS(attributes, color)) {
        event->color_type = (uint16_t)attributes->colorType;
        event->color = attributes->color;
    }
    if (NVTX_HAS(attributes, payload))
        read_payload(attributes, event);
    if (NVTX_HAS(attributes, message))
        event->message = nvtx_message(attributes->messageType, attributes->message, room, &event->string);
    if (NVTX_HAS(attributes, payload) && attributes->payloadType == NVTX_PAYLOAD_TYPE_EXT)
        nvtx_pieces_attached(attributes, event, room); /* what stands in payloads counts more */
}
