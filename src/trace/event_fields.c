/* Initialises, completes and translates events as plain fields, by the table of arguments. */
#include "trace/event_fields.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#include "trace/json/text.h"

const struct arg_field arg_fields[ARG_KEY_COUNT] = {
#define KEY(name, text)
#define FIELD(name, text, type, field, categories, ...) \
    [ARG_##name] = {FIELD_##type, offsetof(struct event_fields, field), categories},
    ARG_KEYS(KEY, FIELD)
#undef KEY
#undef FIELD
};

/* The names of the arguments that the analysis keeps. */
static struct word_set kept;

struct event_layout event_layouts[CATEGORY_COUNT];

/* The offsets of a category's texts, except name and label. */
static struct text_fields {
    size_t count;
    uint16_t offsets[ARG_KEY_COUNT];
} text_fields[CATEGORY_COUNT];

static void *field_of(struct event_fields *event, const struct arg_field *field)
{
    return (char *)event + field->offset;
}

static const struct kind {
    unsigned categories;
    size_t begin, end;
} kinds[] = {
#define KIND(name, categories)                           \
    {categories, offsetof(struct event_fields, of.name), \
     offsetof(struct event_fields, of.name) + sizeof(struct name##_fields)},
    EVENT_KINDS(KIND)
#undef KIND
};
#define KIND_COUNT (sizeof(kinds) / sizeof(*kinds))

/* Returns the categories that have space for FIELD: a kind may have more than the argument. */
static unsigned categories_of(const struct arg_field *field)
{
    for (size_t i = 0; i < KIND_COUNT; i++)
        if (field->offset >= kinds[i].begin && field->offset < kinds[i].end &&
            (field->categories & ~kinds[i].categories) == 0)
            return kinds[i].categories;
    return field->categories; /* a field that several kinds have */
}

static void set_layout(enum category category)
{
    struct event_layout *layout = &event_layouts[category];
    layout->size = offsetof(struct event_fields, of);
    for (size_t i = 0; i < KIND_COUNT; i++)
        if (category_in(category, kinds[i].categories) && layout->size < kinds[i].end)
            layout->size = kinds[i].end;
    layout->nothing = (struct event_fields){.category = (uint8_t)category,
                                            .name = EVENT_NO_TEXT,
                                            .label = EVENT_NO_TEXT,
                                            .id = EVENT_NO_ID,
                                            .correlation = FIELD_ABSENT,
                                            .device = FIELD_ABSENT,
                                            .stack = FIELD_ABSENT,
                                            .of_thread = FIELD_ABSENT,
                                            .bytes = FIELD_ABSENT,
                                            .return_value = FIELD_ABSENT};
    for (size_t key = 0; key < ARG_KEY_COUNT; key++) {
        const struct arg_field *field = &arg_fields[key];
        if (field->type == FIELD_NONE || !category_in(category, categories_of(field)))
            continue;
        static const int64_t absent[3] = {FIELD_ABSENT, FIELD_ABSENT, FIELD_ABSENT};
        static const uint32_t no_text = EVENT_NO_TEXT;
        if (field->type == FIELD_TEXT || field->type == FIELD_SHAPES)
            memcpy(field_of(&layout->nothing, field), &no_text, sizeof(no_text));
        else
            memcpy(field_of(&layout->nothing, field), absent,
                   field->type == FIELD_TRIPLE ? sizeof(absent) : sizeof(*absent));

        bool is_text = (field->type == FIELD_TEXT || field->type == FIELD_SHAPES) &&
                       field->offset != offsetof(struct event_fields, label);
        for (size_t i = 0; i < text_fields[category].count; i++) /* two arguments may share a field */
            is_text &= text_fields[category].offsets[i] != field->offset;
        if (is_text)
            text_fields[category].offsets[text_fields[category].count++] = (uint16_t)field->offset;
    }
}

__attribute__((constructor)) static void set_tables(void)
{
    for (size_t i = 0; i < ARG_KEY_COUNT; i++)
        if (arg_fields[i].type != FIELD_NONE)
            word_set_add(&kept, &arg_words[i], i);
    for (enum category category = 0; category < CATEGORY_COUNT; category++)
        set_layout(category);
}

const struct arg_field *arg_field_find(const char *name, size_t length, enum category category)
{
    unsigned key = word_set_find(&kept, name, length);
    return key && category_in(category, arg_fields[key].categories) ? &arg_fields[key] : NULL;
}

void event_set_category(struct event_fields *event, enum category category)
{
    const struct event_layout *layout = &event_layouts[category];
    event->category = (uint8_t)category;
    if (layout->size > offsetof(struct event_fields, of))
        memcpy(&event->of, &layout->nothing.of, layout->size - offsetof(struct event_fields, of));
}

static void complete_number(int64_t *number, int64_t from)
{
    *number = *number == FIELD_ABSENT ? from : *number;
}

static void complete_text(uint32_t *text, uint32_t from)
{
    *text = *text == EVENT_NO_TEXT ? from : *text;
}

void event_complete(struct event_fields *event, const struct event_fields *from)
{
    event->id = event->id == EVENT_NO_ID ? from->id : event->id;
    complete_text(&event->label, from->label);
    complete_number(&event->correlation, from->correlation);
    complete_number(&event->device, from->device);
    complete_number(&event->stack, from->stack);
    complete_number(&event->of_thread, from->of_thread);
    complete_number(&event->bytes, from->bytes);
    complete_number(&event->return_value, from->return_value);
    for (size_t key = 0; key < ARG_KEY_COUNT; key++) {
        const struct arg_field *field = &arg_fields[key];
        if (!category_in(event->category, field->categories) || !category_in(from->category, field->categories))
            continue;
        void *to = field_of(event, field);
        const void *with = (const char *)from + field->offset;
        if (field->type == FIELD_TEXT || field->type == FIELD_SHAPES)
            complete_text(to, *(const uint32_t *)with);
        for (int i = 0; field->type == FIELD_NUMBER ? i < 1 : field->type == FIELD_TRIPLE && i < 3; i++)
            complete_number((int64_t *)to + i, ((const int64_t *)with)[i]);
    }
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
    const struct text_fields *fields = &text_fields[event->category];
    translate(numbers, &event->name);
    translate(numbers, &event->label);
    translate_id(numbers, &event->process);
    translate_id(numbers, &event->thread);
    if (event->id != EVENT_NO_ID)
        translate_id(numbers, &event->id);
    for (size_t i = 0; i < fields->count; i++)
        translate(numbers, (uint32_t *)((char *)event + fields->offsets[i]));
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
    while (isalpha((unsigned char)*from)) /* skips the word in "GPU 1", "cuda:1" */
        from++;
    from = from > digits && (*from == ' ' || *from == ':') && isdigit((unsigned char)from[1]) ? from + 1 : digits;
    end = from;
    int64_t number = strtoll(from, &end, strncasecmp(from, "0x", 2) == 0 ? 16 : 10);
    if (end > from && *end == '.') /* "17.0" */
        return event_real(strtod(from, &end), otherwise);
    return end > from && *end == '\0' ? event_signed(number, otherwise) : otherwise;
}

/* --- shapes of inputs --- */

#define DEPTH_MAX 8
#define DIGITS_MAX 15 /* a double holds any integer of up to 15 digits */

static inline void put(struct shapes_text *shapes, char c)
{
    if (shapes->length < SHAPES_MOST)
        shapes->text[shapes->length++] = c;
    else
        shapes->cut = true;
}

/* Appends VALUE, valid JSON, without white space and with numbers as a double prints them. Returns false if VALUE holds
 * anything but arrays and numbers, or is nested deeper than DEPTH_MAX. */
static bool put_shape(struct shapes_text *shapes, struct json_text value, int depth)
{
    char number[64], real[32];
    struct json_text item;
    const char *at = value.at + 1, *end = value.at + value.length;
    if (*value.at == '[' && depth < DEPTH_MAX) {
        put(shapes, '[');
        for (bool any = false; json_element(&at, end, &item); any = true) {
            if (any)
                put(shapes, ',');
            if (!put_shape(shapes, item, depth + 1))
                return false;
        }
        put(shapes, ']');
        return true;
    }
    if ((*value.at != '-' && (*value.at < '0' || *value.at > '9')) || value.length >= sizeof(number))
        return false;
    memcpy(number, value.at, value.length);
    number[value.length] = '\0';
    size_t sign = *number == '-', digits = strspn(number + sign, "0123456789");
    bool integer = sign + digits == value.length && digits <= DIGITS_MAX;
    if (!integer)
        snprintf(real, sizeof(real), "%.15g", strtod(number, NULL));
    for (const char *digit = integer ? number : real; *digit; digit++)
        put(shapes, *digit);
    return true;
}

size_t shapes_read(const char *text, size_t length, struct shapes_text *shapes)
{
    unsigned surrogates = 0;
    shapes->length = 0;
    shapes->cut = false;
    const char *end = length > 0 && *text == '[' ? json_pass(text, text + length, &surrogates) : NULL;
    if (!end || !put_shape(shapes, (struct json_text){text, (size_t)(end - text)}, 0))
        return 0;
    if (shapes->cut) { /* the cut may be within a number: drop its digits */
        while (shapes->length > 0 && !strchr("[],", shapes->text[shapes->length - 1]))
            shapes->length--;
        memcpy(shapes->text + shapes->length, SHAPES_CUT, strlen(SHAPES_CUT));
        shapes->length += strlen(SHAPES_CUT);
    }
    return (size_t)(end - text);
}
