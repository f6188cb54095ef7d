#include "trace/json/chrome_args.h"

#include <math.h>

#include "common/json_out.h"
#include "common/sink.h"
#include "trace/json/chrome_put.h"

static const struct literal keys[ARG_KEY_COUNT] = {
#define KEY(name, text) [ARG_##name] = LITERAL("\"" text "\":"),
    ARG_KEYS(KEY)
#undef KEY
};

#define ARG_ROOM 128 /* for one argument that is no text */
#define ENDS_ROOM 64 /* for what stands around them */

void chrome_text(struct sink *sink, const char *text, size_t length)
{
    sink_char(sink, '"');
    json_escape(sink, text, length);
    sink_char(sink, '"');
}

/* Texts are what JSON has no form for, so that nothing is made up. */
void chrome_real(struct sink *sink, double value)
{
    if (isnan(value)) {
        sink_text(sink, "\"NaN\"");
    } else if (isinf(value)) {
        sink_text(sink, value > 0 ? "\"Infinity\"" : "\"-Infinity\"");
    } else {
        struct json_out json;
        json_out_init(&json, sink, false);
        json_double(&json, value, -1);
    }
}

/* Values of unknown length, through the sink; then there is room again. */
static char *put_long_value(struct writer *writer, char *at, const struct arg *arg)
{
    claim(writer, at);
    if (arg->type == ARG_TYPE_MEMBERS)
        sink_bytes(writer->sink, arg->text, arg->length);
    else if (arg->type == ARG_TYPE_TEXT)
        chrome_text(writer->sink, arg->text, arg->length);
    else if (arg->type == ARG_TYPE_JSON)
        arg->json.put(writer->sink, &arg->json);
    else
        chrome_real(writer->sink, arg->real);
    return sink_reserve(writer->sink, ARGS_MAX * ARG_ROOM);
}

static inline char *put_value(struct writer *writer, char *at, const struct arg *arg)
{
    switch (arg->type) {
    case ARG_TYPE_U64: return number_u64(at, arg->u64);
    case ARG_TYPE_I64: return number_i64(at, arg->i64);
    case ARG_TYPE_FIXED: return number_fixed6(at, arg->real);
    case ARG_TYPE_HEX: return put_hex(at, arg->u64);
    case ARG_TYPE_COLOR: return put_color(at, (uint32_t)arg->u64);
    case ARG_TYPE_TRUE: return PUT(at, "true");
    case ARG_TYPE_FALSE: return PUT(at, "false");
    case ARG_TYPE_SIZE3: return put_size3(at, arg->size3);
    case ARG_TYPE_REAL:
    case ARG_TYPE_JSON:
    case ARG_TYPE_MEMBERS:
    case ARG_TYPE_TEXT: return put_long_value(writer, at, arg);
    }
    return at;
}

/* `,"args":{…}}` and the end of the event. */
void chrome_end_event(struct writer *writer, char *at, const struct args *args)
{
    claim(writer, at);
    at = sink_reserve(writer->sink, ENDS_ROOM + ARGS_MAX * ARG_ROOM);
    if (!at)
        return;
    if (args && args->count > 0) {
        at = PUT(at, ",\"args\":{");
        for (size_t i = 0; i < args->count && at; i++) {
            if (i > 0)
                *at++ = ',';
            if (args->items[i].type != ARG_TYPE_MEMBERS)
                at = put_literal(at, &keys[args->items[i].key]);
            at = put_value(writer, at, &args->items[i]);
        }
        if (!at)
            return;
        *at++ = '}';
    }
    *at++ = '}';
    claim(writer, at);
}
