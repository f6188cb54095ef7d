/* Begins, completes and translates events as plain fields: the table of arguments says where each category has which.
 */
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

struct event_layout event_layouts[CATEGORY_COUNT];

/* Where events of a category have texts of arguments, besides `label`. */
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

/* The categories whose events have this field, be it always without a value. */
static unsigned categories_of(const struct arg_field *field)
{
    for (size_t i = 0; i < KIND_COUNT; i++)
        if (field->offset >= kinds[i].begin && field->offset < kinds[i].end &&
            (field->categories & ~kinds[i].categories) == 0)
            return kinds[i].categories;
    return field->categories; /* of any kind */
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
        for (size_t i = 0; i < text_fields[category].count; i++) /* two arguments may be one field */
            is_text &= text_fields[category].offsets[i] != field->offset;
        if (is_text)
            text_fields[category].offsets[text_fields[category].count++] = (uint16_t)field->offset;
    }
}

__attribute__((constructor)) static void set_tables(void)
{
    for (enum category category = 0; category < CATEGORY_COUNT; category++)
        set_layout(category);
}

const struct arg_field *arg_field_find(const char *name, size_t length, enum category category)
{
    const struct arg_field *field = &arg_fields[arg_key_find(name, length)];
    return category_in(category, field->categories) ? field : NULL;
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
    while (isalpha((unsigned char)*from)) /* "GPU 1", "cuda:1" */
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
#define DIGITS_MAX 15 /* a double holds any integer of so many */

static inline void put(struct shapes_text *shapes, char c)
{
    if (shapes->length < SHAPES_MOST)
        shapes->text[shapes->length++] = c;
    else
        shapes->cut = true;
}

struct place {
    const char *text;
    size_t length, at;
};

static inline char byte_at(const struct place *place)
{
    return place->at < place->length ? place->text[place->at] : '\0';
}

static inline char pass_blank(struct place *place)
{
    char c;
    while ((c = byte_at(place)) == ' ' || c == '\n' || c == '\r' || c == '\t')
        place->at++;
    return c;
}

/* A number as a double has it. */
static bool read_real(struct place *place, struct shapes_text *shapes)
{
    unsigned surrogates = 0;
    char number[64], digits[32];
    const char *start = place->text + place->at;
    const char *end = json_pass(start, place->text + place->length, &surrogates);
    size_t length = end ? (size_t)(end - start) : sizeof(number);
    if (length >= sizeof(number) || (*start != '-' && (*start < '0' || *start > '9')))
        return false;
    memcpy(number, start, length);
    number[length] = '\0';
    snprintf(digits, sizeof(digits), "%.15g", strtod(number, NULL));
    for (const char *digit = digits; *digit; digit++)
        put(shapes, *digit);
    place->at += length;
    return true;
}

static inline bool read_number(struct place *place, struct shapes_text *shapes)
{
    size_t first = place->at, from = first + (byte_at(place) == '-'), end = from;
    while (end < place->length && place->text[end] >= '0' && place->text[end] <= '9')
        end++;
    char after = end < place->length ? place->text[end] : '\0';
    bool leading_zero = end - from > 1 && place->text[from] == '0';
    if (end == from || end - from > DIGITS_MAX || leading_zero || after == '.' || (after | 0x20) == 'e')
        return read_real(place, shapes);
    while (place->at < end)
        put(shapes, place->text[place->at++]);
    return true;
}

static bool read_array(struct place *place, struct shapes_text *shapes, int depth)
{
    if (depth == DEPTH_MAX || byte_at(place) != '[')
        return false;
    char c = '[';
    do {
        put(shapes, c);
        place->at++;
        char next = pass_blank(place);
        if (!(c == '[' && next == ']') &&
            !(next == '[' ? read_array(place, shapes, depth + 1) : read_number(place, shapes)))
            return false;
        c = pass_blank(place);
    } while (c == ',');
    if (c != ']')
        return false;
    put(shapes, c);
    place->at++;
    return true;
}

size_t shapes_read(const char *text, size_t length, struct shapes_text *shapes)
{
    struct place place = {text, length, 0};
    shapes->length = 0;
    shapes->cut = false;
    if (!read_array(&place, shapes, 0))
        return 0;
    if (shapes->cut) { /* the text does not end with a part of a number */
        while (shapes->length > 0 && !strchr("[],", shapes->text[shapes->length - 1]))
            shapes->length--;
        memcpy(shapes->text + shapes->length, SHAPES_CUT, strlen(SHAPES_CUT));
        shapes->length += strlen(SHAPES_CUT);
    }
    return place.at;
}
