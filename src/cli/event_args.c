#include "cli/event_args.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/event_records.h"
#include "trace/trace_event.h"

/* A double holds integers up to here, and JSON's numbers are read as doubles. */
#define EXACT_MAX (UINT64_C(1) << 53)

static const char *const keys[ARG_KEY_COUNT] = {
#define KEY(name, text) [ARG_##name] = text,
    ARG_KEYS(KEY)
#undef KEY
};
/* Where arguments go; NULL: they are not wanted. */
static const struct event_field *fields[ARG_KEY_COUNT];

void event_args_init(void)
{
    event_fields_init();
    for (size_t i = 0; i < ARG_KEY_COUNT; i++)
        fields[i] = event_field_find(keys[i], strlen(keys[i]));
}

static int64_t as_read(double value, int64_t otherwise)
{
    return value > -9.2e18 && value < 9.2e18 ? llround(value) : otherwise;
}

int64_t event_args_number(uint64_t value, int64_t otherwise)
{
    return value < EXACT_MAX ? (int64_t)value : as_read((double)value, otherwise);
}

int64_t event_args_signed(int64_t value, int64_t otherwise)
{
    return as_read((double)value, otherwise);
}

int64_t event_args_text_number(const char *text, size_t length, int64_t otherwise)
{
    char digits[64];
    length = length < sizeof(digits) - 1 ? length : sizeof(digits) - 1;
    memcpy(digits, text, length);
    digits[length] = '\0';
    return *digits ? strtoll(digits, NULL, 0) : otherwise;
}

static void take_number(const struct arg *arg, int64_t *number)
{
    switch (arg->type) {
    case ARG_TYPE_U64: *number = event_args_number(arg->u64, *number); break;
    case ARG_TYPE_I64: *number = event_args_signed(arg->i64, *number); break;
    case ARG_TYPE_FIXED:
    case ARG_TYPE_REAL: *number = as_read(arg->real, *number); break;
    case ARG_TYPE_HEX: *number = arg->u64 > INT64_MAX ? INT64_MAX : (int64_t)arg->u64; break;
    case ARG_TYPE_TEXT: *number = event_args_text_number(arg->text, arg->length, *number); break;
    case ARG_TYPE_TRUE: *number = 1; break;
    case ARG_TYPE_FALSE: *number = 0; break;
    default: break;
    }
}

static void take_text(struct writer *writer, const struct arg *arg, uint32_t *text)
{
    char digits[32];
    if (arg->type == ARG_TYPE_TEXT)
        *text = event_records_text(writer, arg->text, arg->length);
    if (arg->type != ARG_TYPE_U64 && arg->type != ARG_TYPE_I64)
        return;
    double value = arg->type == ARG_TYPE_U64 ? (double)arg->u64 : (double)arg->i64;
    int length = snprintf(digits, sizeof(digits), "%.15g", value);
    *text = event_records_text(writer, digits, (size_t)length);
}

static void take_triple(const struct arg *arg, int64_t triple[3])
{
    for (int i = 0; i < 3 && arg->type == ARG_TYPE_SIZE3; i++)
        triple[i] = arg->size3[i];
}

bool event_args_need_json(const struct args *args)
{
    for (size_t i = 0; args && i < args->count; i++) {
        const struct arg *arg = &args->items[i];
        bool odd = arg->type == ARG_TYPE_JSON || arg->type == ARG_TYPE_REAL || arg->type == ARG_TYPE_COLOR;
        if (arg->type == ARG_TYPE_MEMBERS || (odd && fields[arg->key]))
            return true;
        if (arg->type == ARG_TYPE_HEX && fields[arg->key] && fields[arg->key]->type == FIELD_TEXT)
            return true;
    }
    return false;
}

void event_args_take(struct writer *writer, const struct args *args, struct trace_event *event)
{
    for (size_t i = 0; args && i < args->count; i++) {
        const struct arg *arg = &args->items[i];
        const struct event_field *field = fields[arg->key];
        void *place = field ? (char *)event + field->offset : NULL;
        if (!field) {
            if (arg->key == ARG_FROM && event->category == EVENT_GPU_RANGE && arg->type == ARG_TYPE_TEXT &&
                arg->length == strlen(EVENT_DEVICE_RANGE_WORD) &&
                memcmp(arg->text, EVENT_DEVICE_RANGE_WORD, arg->length) == 0)
                event->category = EVENT_DEVICE_RANGE;
        } else if (field->type == FIELD_NUMBER) {
            take_number(arg, place);
        } else if (field->type == FIELD_TEXT) {
            take_text(writer, arg, place);
        } else {
            take_triple(arg, place);
        }
    }
}
