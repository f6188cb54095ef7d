#include "injected/collect/nvtx_message.h"

#include <stddef.h>
#include <string.h>

#include "base/utf8.h"

struct text nvtx_ascii(const char *text)
{
    size_t length = text ? strlen(text) : 0;
    return (struct text){text, length > UINT32_MAX ? UINT32_MAX : (uint32_t)length};
}

struct text nvtx_wide(struct nvtx_text *out, const wchar_t *text)
{
    size_t length = text ? utf8_from_wide(out->wide, sizeof(out->wide), text) : 0;
    return (struct text){out->wide, (uint32_t)length};
}

static void read_message(const nvtxEventAttributes_t *attributes, struct nvtx_event *event, struct nvtx_text *room)
{
    const struct nvtx_string *registered = (const struct nvtx_string *)attributes->message.registered;
    switch (attributes->messageType) {
    case NVTX_MESSAGE_TYPE_ASCII: event->message = nvtx_ascii(attributes->message.ascii); break;
    case NVTX_MESSAGE_TYPE_UNICODE: event->message = nvtx_wide(room, attributes->message.unicode); break;
    case NVTX_MESSAGE_TYPE_REGISTERED:
        if (registered) {
            event->message = registered->text;
            event->string = registered->number;
        }
        break;
    default: break;
    }
}

static void read_payload(const nvtxEventAttributes_t *attributes, struct nvtx_event *event)
{
    if (attributes->payloadType <= NVTX_PAYLOAD_UNKNOWN || attributes->payloadType > NVTX_PAYLOAD_TYPE_FLOAT)
        return;
    event->payload_type = (uint16_t)attributes->payloadType;
    event->payload = attributes->payload.ullValue; /* as bits; the type says how many of them count */
}

void nvtx_read_attributes(const nvtxEventAttributes_t *attributes, struct nvtx_event *event, struct nvtx_text *room)
{
    if (!attributes || attributes->size < offsetof(nvtxEventAttributes_t, message) + sizeof(attributes->message))
        return;
    event->category = attributes->category;
    event->color_type = (uint16_t)attributes->colorType;
    event->color = attributes->color;
    read_payload(attributes, event);
    read_message(attributes, event, room);
}
