/*
 * What arguments of the model's events are in a .pftrace.
 */
#include <math.h>
#include <string.h>

#include "common/utf8.h"
#include "trace/pftrace/pftrace_args.h"

const char *pftrace_valid_text(struct sink *scratch, const char *text, size_t *length)
{
    size_t valid = 0, size;
    while (valid < *length && ((signed char)text[valid] >= 0 || utf8_size(text + valid, *length - valid) > 0))
        valid += (signed char)text[valid] >= 0 ? 1 : utf8_size(text + valid, *length - valid);
    if (valid == *length)
        return text;
    scratch->length = 0;
    for (size_t at = 0; at < *length; at += size ? size : 1) {
        size = utf8_size(text + at, *length - at);
        if (size > 0)
            sink_bytes(scratch, text + at, size);
        else
            sink_text(scratch, UTF8_REPLACEMENT);
    }
    *length = scratch->length;
    return scratch->data ? scratch->data : "";
}

void pftrace_set_text(struct pftrace_arg *arg, enum pftrace_arg_kind kind, const char *text, size_t length)
{
    arg->kind = kind;
    arg->text = text;
    arg->length = length;
}

/* As JSON shows them: with six decimals, as texts where they are not finite. */
static void set_real(struct pftrace_arg *arg, double value, bool fixed)
{
    arg->kind = PFTRACE_ARG_REAL;
    if (fixed)
        arg->real = value > 0 ? round(fmin(value, 1e12) * 1e6) / 1e6 : 0;
    else if (isnan(value))
        pftrace_set_text(arg, PFTRACE_ARG_TEXT, "NaN", 3);
    else if (isinf(value))
        pftrace_set_text(arg, PFTRACE_ARG_TEXT, value > 0 ? "Infinity" : "-Infinity", value > 0 ? 8 : 9);
    else
        arg->real = value;
}

static void set_color(struct pftrace_arg *arg, struct sink *text, uint32_t color)
{
    text->length = 0;
    if (color >> 24 == 0xff)
        sink_format(text, "#%06x", color & 0xffffff);
    else
        sink_format(text, "#%08x", color);
    pftrace_set_text(arg, PFTRACE_ARG_TEXT, text->data, text->length);
}

static void set_json(struct pftrace_arg *arg, struct sink *text, const struct arg_json *json)
{
    text->length = 0;
    json->put(text, json);
    pftrace_set_text(arg, PFTRACE_ARG_JSON, text->data, text->length);
}

static void set_value(struct pftrace_put *put, struct pftrace_arg *to, const struct arg *from)
{
    switch (from->type) {
    case ARG_TYPE_U64:
        to->kind = PFTRACE_ARG_U64;
        to->u64 = from->u64;
        break;
    case ARG_TYPE_I64:
        to->kind = PFTRACE_ARG_I64;
        to->i64 = from->i64;
        break;
    case ARG_TYPE_FIXED: set_real(to, from->real, true); break;
    case ARG_TYPE_REAL: set_real(to, from->real, false); break;
    case ARG_TYPE_HEX:
        to->kind = PFTRACE_ARG_HEX;
        to->u64 = from->u64;
        break;
    case ARG_TYPE_COLOR: set_color(to, put->text, (uint32_t)from->u64); break;
    case ARG_TYPE_TRUE:
        to->kind = PFTRACE_ARG_BOOL;
        to->u64 = 1;
        break;
    case ARG_TYPE_FALSE:
        to->kind = PFTRACE_ARG_BOOL;
        to->u64 = 0;
        break;
    case ARG_TYPE_SIZE3:
        to->kind = PFTRACE_ARG_SIZE3;
        memcpy(to->size3, from->size3, sizeof(to->size3));
        break;
    case ARG_TYPE_JSON: set_json(to, put->text, &from->json); break;
    case ARG_TYPE_MEMBERS: break; /* pftrace_put_members() */
    case ARG_TYPE_TEXT:
        pftrace_set_text(to, PFTRACE_ARG_TEXT, from->text, from->length);
        to->text = pftrace_valid_text(put->text, to->text, &to->length);
        break;
    }
}

void pftrace_put_args(struct pftrace_put *put, const struct args *args)
{
    for (size_t i = 0; args && i < args->count; i++) {
        const struct arg *from = &args->items[i];
        if (from->type == ARG_TYPE_MEMBERS) {
            pftrace_put_members(put, from);
            continue;
        }
        struct pftrace_arg to = {.name = pftrace_keys[from->key].text, .name_length = pftrace_keys[from->key].length};
        set_value(put, &to, from);
        pftrace_put_arg(put, from->key, &to);
    }
}
