#include "trace/trace_event.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* --- a fixed list of words, found by their bytes --- */

#define WORD_SET_SLOTS 256 /* far more than words, so that the first look finds them */

struct word_set {
    struct {
        const char *word; /* NULL: free */
        uint8_t length, number;
    } slots[WORD_SET_SLOTS];
};

static inline size_t word_set_slot(const char *word, size_t length)
{
    const unsigned char *bytes = (const unsigned char *)word;
    unsigned hash =
        length ? (unsigned)length * 37u + bytes[0] * 5u + bytes[length / 2] * 11u + bytes[length - 1] * 3u : 0;
    return (hash ^ hash >> 5) % WORD_SET_SLOTS;
}

/* WORD, a literal of less than 256 bytes, is number NUMBER; there are far fewer than slots. */
static void word_set_add(struct word_set *set, const char *word, size_t number)
{
    size_t length = strlen(word), slot = word_set_slot(word, length);
    while (set->slots[slot].word)
        slot = (slot + 1) % WORD_SET_SLOTS;
    set->slots[slot].word = word;
    set->slots[slot].length = (uint8_t)length;
    set->slots[slot].number = (uint8_t)number;
}

/* The number of WORD; -1: it is not in the set. */
static inline int word_set_find(const struct word_set *set, const char *word, size_t length)
{
    for (size_t slot = word_set_slot(word, length); set->slots[slot].word; slot = (slot + 1) % WORD_SET_SLOTS)
        if (set->slots[slot].length == length && memcmp(set->slots[slot].word, word, length) == 0)
            return set->slots[slot].number;
    return -1;
}

/* --- */

static const struct event_field fields[] = {
#define FIELD(key, type, member)                                \
    {                                                           \
        key, FIELD_##type, offsetof(struct trace_event, member) \
    }
    FIELD("correlation", NUMBER, correlation),
    FIELD("device", NUMBER, device),
    FIELD("context", NUMBER, context),
    FIELD("stream", NUMBER, stream),
    FIELD("bytes", NUMBER, bytes),
    FIELD("return value", NUMBER, return_value),
    FIELD("result", NUMBER, return_value),
    FIELD("Sequence number", NUMBER, sequence),
    FIELD("Fwd thread id", NUMBER, forward_thread),
    FIELD("grid", TRIPLE, grid),
    FIELD("block", TRIPLE, block),
    FIELD("wait_on_stream", NUMBER, wait_on_stream),
    FIELD("wait_on_cuda_event_id", NUMBER, wait_on_event),
    FIELD("mangled name", TEXT, mangled_name),
    FIELD("domain", TEXT, domain),
    FIELD("kind", TEXT, memory_kind),
    FIELD("name", TEXT, label),
    FIELD("labels", TEXT, label),
    FIELD("open at end", NUMBER, open_at_end),
    FIELD("cache hit", NUMBER, cache_hit),
    FIELD("thread", NUMBER, of_thread),
    FIELD("function", TEXT, function),
    FIELD("ending", TEXT, ending),
    FIELD("address", NUMBER, address),
    FIELD("held", NUMBER, held),
    FIELD("held by kind", TEXT, held_by_kind),
    FIELD("fault", TEXT, fault),
    FIELD("stack", NUMBER, stack),
    /* PyTorch's allocator */
    FIELD("Addr", NUMBER, address),
    FIELD("Total Reserved", NUMBER, total_reserved),
    FIELD("Bytes", NUMBER, bytes),
    FIELD("Total Allocated", NUMBER, total_allocated),
    FIELD("Device Id", NUMBER, device),
    FIELD("Device Type", NUMBER, device_type),
#undef FIELD
};
#define FIELD_COUNT (sizeof(fields) / sizeof(*fields))
_Static_assert(4 * FIELD_COUNT < WORD_SET_SLOTS, "the words stand apart");

static const char *const categories[EVENT_CATEGORY_COUNT] = {
#define CATEGORY(name, word) [EVENT_##name] = word,
    EVENT_CATEGORIES(CATEGORY)
#undef CATEGORY
};

static struct word_set field_words, category_words;
static pthread_once_t made = PTHREAD_ONCE_INIT;

const struct trace_event event_nothing = {
    .extent = sizeof(struct trace_event),
    .name = EVENT_NO_TEXT,
    .id = EVENT_NO_ID,
    .correlation = EVENT_NONE,
    .device = EVENT_NONE,
    .context = EVENT_NONE,
    .stream = EVENT_NONE,
    .bytes = EVENT_NONE,
    .return_value = EVENT_NONE,
    .grid = {EVENT_NONE, EVENT_NONE, EVENT_NONE},
    .block = {EVENT_NONE, EVENT_NONE, EVENT_NONE},
    .wait_on_stream = EVENT_NONE,
    .wait_on_event = EVENT_NONE,
    .address = EVENT_NONE,
    .held = EVENT_NONE,
    .stack = EVENT_NONE,
    .total_allocated = EVENT_NONE,
    .total_reserved = EVENT_NONE,
    .device_type = EVENT_NONE,
    .mangled_name = EVENT_NO_TEXT,
    .domain = EVENT_NO_TEXT,
    .cache_hit = EVENT_NONE,
    .of_thread = EVENT_NONE,
    .memory_kind = EVENT_NO_TEXT,
    .fault = EVENT_NO_TEXT,
    .held_by_kind = EVENT_NO_TEXT,
    .function = EVENT_NO_TEXT,
    .ending = EVENT_NO_TEXT,
    .label = EVENT_NO_TEXT,
};

_Static_assert(sizeof(struct trace_event) % sizeof(uint64_t) == 0, "it is of whole words");

static bool tells_nothing(const char *word, const char *nothing)
{
    return memcmp(word, nothing, sizeof(uint64_t)) == 0;
}

void event_find_extent(struct trace_event *event)
{
    const char *bytes = (const char *)event, *nothing = (const char *)&event_nothing;
    size_t extent = sizeof(*event), word = sizeof(uint64_t);
    while (extent > word && tells_nothing(bytes + extent - word, nothing + extent - word))
        extent -= word;
    event->extent = (uint16_t)extent;
}

void event_put(struct trace_event *event, const char *bytes, size_t extent)
{
    size_t before = event->extent;
    memcpy(event, bytes, extent);
    event->extent = (uint16_t)extent;
    if (before > extent)
        memcpy((char *)event + extent, (const char *)&event_nothing + extent, before - extent);
}

void event_copy(struct trace_event *event, const struct trace_event *from)
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

void event_translate(struct trace_event *event, const uint32_t *numbers)
{
    translate(numbers, &event->name);
    translate_id(numbers, &event->process);
    translate_id(numbers, &event->thread);
    if (event->extent <= offsetof(struct trace_event, id))
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
}

static void make_sets(void)
{
    for (size_t i = 0; i < FIELD_COUNT; i++)
        word_set_add(&field_words, fields[i].key, i);
    for (size_t i = EVENT_OTHER + 1; i < EVENT_CATEGORY_COUNT; i++)
        word_set_add(&category_words, categories[i], i);
}

void event_fields_init(void)
{
    pthread_once(&made, make_sets);
}

const struct event_field *event_field_find(const char *key, size_t length)
{
    int number = word_set_find(&field_words, key, length);
    return number < 0 ? NULL : &fields[number];
}

enum event_category event_category_find(const char *word, size_t length)
{
    int number = word_set_find(&category_words, word, length);
    return number < 0 ? EVENT_OTHER : (enum event_category)number;
}

const char *event_run_take(const char *bytes, const uint32_t *numbers, struct trace_event *event)
{
    uint16_t extent;
    memcpy(&extent, bytes + offsetof(struct trace_event, extent), sizeof(extent));
    event_put(event, bytes, extent);
    event_translate(event, numbers);
    return bytes + extent;
}

/* --- numbers --- */

/* A double holds integers up to here, and JSON's numbers are read as doubles. */
#define EXACT_MAX (UINT64_C(1) << 53)

int64_t event_real(double value, int64_t otherwise)
{
    return value > -9.2e18 && value < 9.2e18 ? llround(value) : otherwise;
}

int64_t event_unsigned(uint64_t value, int64_t otherwise)
{
    return value < EXACT_MAX ? (int64_t)value : event_real((double)value, otherwise);
}

int64_t event_signed(int64_t value, int64_t otherwise)
{
    return event_real((double)value, otherwise);
}

int64_t event_number_of_text(const char *text, size_t length, int64_t otherwise)
{
    char digits[64];
    length = length < sizeof(digits) - 1 ? length : sizeof(digits) - 1;
    memcpy(digits, text, length);
    digits[length] = '\0';
    return *digits ? strtoll(digits, NULL, 0) : otherwise;
}
