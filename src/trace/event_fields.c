/* Copies, packs and translates events as plain fields. A table says which field of the struct holds which argument. */
#include "trace/event_fields.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "trace/word_set.h"

const struct arg_field arg_fields[ARG_KEY_COUNT] = {
#define KEY(name, text)
#define FIELD(name, text, type, field, categories) \
    [ARG_##name] = {FIELD_##type, FIELD_EXTENT(field), offsetof(struct event_fields, field), categories},
    ARG_KEYS(KEY, FIELD)
#undef KEY
#undef FIELD
};

static struct word_set kept;

__attribute__((constructor)) static void add_kept(void)
{
    for (size_t i = 0; i < ARG_KEY_COUNT; i++)
        if (arg_fields[i].type != FIELD_NONE)
            word_set_add(&kept, &arg_words[i], i);
}

const struct arg_field *arg_field_find(const char *name, size_t length, enum category category)
{
    unsigned key = word_set_find(&kept, name, length);
    return key && category_in(category, arg_fields[key].categories) ? &arg_fields[key] : NULL;
}

const struct event_fields event_nothing = {
    .extent = sizeof(struct event_fields),
    .name = EVENT_NO_TEXT,
    .id = EVENT_NO_ID,
    .correlation = FIELD_ABSENT,
    .device = FIELD_ABSENT,
    .context = FIELD_ABSENT,
    .stream = FIELD_ABSENT,
    .bytes = FIELD_ABSENT,
    .return_value = FIELD_ABSENT,
    .grid = {FIELD_ABSENT, FIELD_ABSENT, FIELD_ABSENT},
    .block = {FIELD_ABSENT, FIELD_ABSENT, FIELD_ABSENT},
    .wait_on_stream = FIELD_ABSENT,
    .wait_on_event = FIELD_ABSENT,
    .wait_on_correlation = FIELD_ABSENT,
    .address = FIELD_ABSENT,
    .held = FIELD_ABSENT,
    .stack = FIELD_ABSENT,
    .total_allocated = FIELD_ABSENT,
    .total_reserved = FIELD_ABSENT,
    .device_type = FIELD_ABSENT,
    .mangled_name = EVENT_NO_TEXT,
    .domain = EVENT_NO_TEXT,
    .cache_hit = FIELD_ABSENT,
    .of_thread = FIELD_ABSENT,
    .memory_kind = EVENT_NO_TEXT,
    .fault = EVENT_NO_TEXT,
    .held_by_kind = EVENT_NO_TEXT,
    .function = EVENT_NO_TEXT,
    .ending = EVENT_NO_TEXT,
    .label = EVENT_NO_TEXT,
    .collective = EVENT_NO_TEXT,
    .communicator = EVENT_NO_TEXT,
    .group_ranks = EVENT_NO_TEXT,
    .dtype = EVENT_NO_TEXT,
    .group_size = FIELD_ABSENT,
    .group_rank = FIELD_ABSENT,
    .group_sequence = FIELD_ABSENT,
    .in_elements = FIELD_ABSENT,
    .out_elements = FIELD_ABSENT,
    .peer = FIELD_ABSENT,
    .group_call = FIELD_ABSENT,
};

_Static_assert(sizeof(struct event_fields) % sizeof(uint64_t) == 0, "it is of whole words");

void event_find_extent(struct event_fields *event)
{
    const char *bytes = (const char *)event, *nothing = (const char *)&event_nothing;
    size_t extent = sizeof(*event), word = sizeof(uint64_t);
    while (extent > word && memcmp(bytes + extent - word, nothing + extent - word, word) == 0)
        extent -= word;
    event->extent = (uint16_t)extent;
}

void event_put(struct event_fields *event, const char *bytes, size_t extent)
{
    size_t before = event->extent;
    memcpy(event, bytes, extent);
    event->extent = (uint16_t)extent;
    if (before > extent)
        memcpy((char *)event + extent, (const char *)&event_nothing + extent, before - extent);
}

void event_copy(struct event_fields *event, const struct event_fields *from)
{
    event_put(event, (const char *)from, from->extent);
}

static void translate(const uint32_t *numbers, uint32_t *text)
{
    if (*text != EVENT_NO_TEXT)
        *text = numbers[*text];
}

static void translate_id(const uint32_t *numbers, event_id *id)
{
    if (event_id_is_text(*id))
        *id = event_id_text(numbers[event_id_value(*id)]);
}

void event_translate(struct event_fields *event, const uint32_t *numbers)
{
    translate(numbers, &event->name);
    translate_id(numbers, &event->process);
    translate_id(numbers, &event->thread);
    if (event->extent <= offsetof(struct event_fields, id))
        return;
    if (event->id != EVENT_NO_ID)
        translate_id(numbers, &event->id);
    translate(numbers, &event->mangled_name);
    translate(numbers, &event->domain);
    translate(numbers, &event->memory_kind);
    translate(numbers, &event->fault);
    translate(numbers, &event->held_by_kind);
    translate(numbers, &event->function);
    translate(numbers, &event->ending);
    translate(numbers, &event->label);
    translate(numbers, &event->collective);
    translate(numbers, &event->communicator);
    translate(numbers, &event->group_ranks);
    translate(numbers, &event->dtype);
}

/* --- numbers --- */

int64_t event_real(double value, int64_t otherwise)
{
    return value > -EVENT_NUMBER_LIMIT && value < EVENT_NUMBER_LIMIT ? llround(value) : otherwise;
}

int64_t event_unsigned(uint64_t value, int64_t otherwise)
{
    return value < EVENT_NUMBER_LIMIT ? (int64_t)value : otherwise;
}

int64_t event_signed(int64_t value, int64_t otherwise)
{
    return value > -EVENT_NUMBER_LIMIT && value < EVENT_NUMBER_LIMIT ? value : otherwise;
}

int64_t event_number_of_text(const char *text, size_t length, int64_t otherwise)
{
    char digits[64];
    length = length < sizeof(digits) - 1 ? length : sizeof(digits) - 1;
    memcpy(digits, text, length);
    digits[length] = '\0';
    char *from = digits, *end;
    while (isalpha((unsigned char)*from)) /* "GPU 1", "cuda:1" */
        from++;
    from = from > digits && (*from == ' ' || *from == ':') && isdigit((unsigned char)from[1]) ? from + 1 : digits;
    end = from;
    int64_t number = strtoll(from, &end, strncasecmp(from, "0x", 2) == 0 ? 16 : 10);
    if (end > from && *end == '.') /* "17.0" */
        return event_real(strtod(from, &end), otherwise);
    return end > from && *end == '\0' ? event_signed(number, otherwise) : otherwise;
}
