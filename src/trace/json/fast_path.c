/*
 * A zero byte ends every loop here: it is not a digit nor white space, and in a text it is a control character. So
 * nothing looks at how much is left; FAST_PATH_PADDING is for texts, which are looked at eight bytes at a time.
 *
 * What cJSON and the scan accept beyond this, escapes, twice the same key, numbers whose digits a double cannot hold,
 * other white space, is not misread but given up.
 */
#include "trace/json/parse.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "common/map.h"
#include "trace/event_fields.h"
#include "trace/shapes.h"

struct interner;

#define DEPTH_MAX 16
#define DIGITS_MAX 15 /* a double holds any integer of so many */

struct text_span {
    const char *start;
    size_t length;
};

/* Where the pieces read; the rest is what quick.c has learnt of the event. */
struct cursor {
    const char *at;
    struct interner *strings;
    struct event_fields *event;
    struct text_span name, category;
    int64_t duration;
    unsigned seen; /* 1 << enum member */
    bool is_device_range, from_seen;
};

static inline void pass_some_blank(struct cursor *c)
{
    while (*c->at == ' ' || *c->at == '\n' || *c->at == '\r' || *c->at == '\t')
        c->at++;
}

/* As a rule there is none. */
static inline void pass_blank(struct cursor *c)
{
    if ((unsigned char)*c->at <= ' ')
        pass_some_blank(c);
}

static inline bool pass(struct cursor *c, char expected)
{
    pass_blank(c);
    if (*c->at != expected)
        return false;
    c->at++;
    return true;
}

#define EACH_BYTE(value) (UINT64_C(0x0101010101010101) * (value))

/* The bytes of WORD, of which the lowest that is marked (by its highest bit) is below LIMIT; others may be too. */
static inline uint64_t mark_below(uint64_t word, unsigned limit)
{
    return (word - EACH_BYTE(limit)) & ~word & EACH_BYTE(0x80);
}

static inline uint64_t load_little_endian(const char *at)
{
    uint64_t word;
    memcpy(&word, at, sizeof(word));
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    word = __builtin_bswap64(word);
#endif
    return word;
}

/* A text whose opening quote is passed. */
static inline bool take_text_rest(struct cursor *c, struct text_span *text)
{
    const char *at = c->at;
    for (;;) {
        uint64_t word = load_little_endian(at);
        uint64_t stop =
            mark_below(word, ' ') | mark_below(word ^ EACH_BYTE('"'), 1) | mark_below(word ^ EACH_BYTE('\\'), 1);
        if (stop) {
            at += __builtin_ctzll(stop) / 8;
            break;
        }
        at += sizeof(word);
    }
    *text = (struct text_span){c->at, (size_t)(at - c->at)};
    c->at = at + 1;
    return *at == '"';
}

static inline bool take_text(struct cursor *c, struct text_span *text)
{
    return *c->at++ == '"' && take_text_rest(c, text);
}

static inline bool take_key(struct cursor *c, struct text_span *key)
{
    pass_blank(c);
    if (!take_text(c, key) || !pass(c, ':'))
        return false;
    pass_blank(c);
    return true;
}

static inline bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* At most 19 of them, which fit. */
static inline size_t take_digits(struct cursor *c, uint64_t *value)
{
    const char *start = c->at, *at = start, *most = start + 19;
    uint64_t number = 0;
    for (unsigned digit; (digit = (unsigned)(*at - '0')) < 10 && at < most; at++)
        number = number * 10 + digit;
    *value = number;
    c->at = at;
    return (size_t)(at - start);
}

/* What follows a number that is read whole. */
static inline bool ends_number(char c)
{
    return c == ',' || c == '}' || c == ']' || c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

/* 01 is not JSON. */
static inline bool has_leading_zero(const char *digits, size_t count)
{
    return *digits == '0' && count > 1;
}

static inline bool take_integer(struct cursor *c, int64_t *number)
{
    bool negative = *c->at == '-';
    uint64_t value = 0;
    c->at += negative;
    const char *start = c->at;
    size_t digits = take_digits(c, &value);
    if (digits == 0 || digits > DIGITS_MAX || has_leading_zero(start, digits) || !ends_number(*c->at))
        return false;
    *number = negative ? -(int64_t)value : (int64_t)value;
    return true;
}

/* Microseconds, as nanoseconds rounded to the nearest: as scan_ns(). */
static inline bool take_ns(struct cursor *c, int64_t *ns)
{
    bool negative = *c->at == '-';
    uint64_t value = 0;
    c->at += negative;
    const char *start = c->at;
    size_t digits = take_digits(c, &value);
    if (digits == 0 || digits > DIGITS_MAX + 1 || has_leading_zero(start, digits))
        return false;
    value *= 1000;
    if (*c->at == '.') {
        uint64_t fraction = 0;
        c->at++;
        size_t decimals = take_digits(c, &fraction);
        if (decimals == 0)
            return false;
        for (; decimals > 4; decimals--)
            fraction /= 10;
        for (; decimals < 4; decimals++)
            fraction *= 10;
        value += (fraction + 5) / 10;
    }
    if (!ends_number(*c->at) || value > EVENT_TIME_LIMIT)
        return false;
    *ns = negative ? -(int64_t)value : (int64_t)value;
    return true;
}

static inline bool pass_digits(struct cursor *c)
{
    const char *start = c->at;
    while (is_digit(*c->at))
        c->at++;
    return c->at > start && c->at - start < 20;
}

static inline bool pass_number(struct cursor *c)
{
    c->at += *c->at == '-';
    const char *start = c->at;
    if (!pass_digits(c) || has_leading_zero(start, (size_t)(c->at - start)))
        return false;
    if (*c->at == '.' && (c->at++, !pass_digits(c)))
        return false;
    if (*c->at == 'e' || *c->at == 'E') {
        c->at++;
        c->at += *c->at == '+' || *c->at == '-';
        if (!pass_digits(c))
            return false;
    }
    return ends_number(*c->at);
}

static inline bool pass_word(struct cursor *c, const char *word)
{
    size_t length = strlen(word);
    if (strncmp(c->at, word, length) != 0)
        return false;
    c->at += length;
    return true;
}

static inline bool pass_value(struct cursor *c, int depth);

static inline bool pass_nested(struct cursor *c, int depth)
{
    char close = *c->at++ == '{' ? '}' : ']';
    struct text_span key;
    if (depth == DEPTH_MAX)
        return false;
    if (pass(c, close))
        return true;
    do {
        if (close == '}' && !take_key(c, &key))
            return false;
        pass_blank(c);
        if (!pass_value(c, depth + 1))
            return false;
    } while (pass(c, ','));
    return pass(c, close);
}

static inline bool pass_value(struct cursor *c, int depth)
{
    struct text_span text;
    switch (*c->at) {
    case '"': return take_text(c, &text);
    case '{':
    case '[': return pass_nested(c, depth);
    case 't': return pass_word(c, "true");
    case 'f': return pass_word(c, "false");
    case 'n': return pass_word(c, "null");
    default: return pass_number(c);
    }
}

/* --- values that are wanted, as parse.c takes them --- */

static bool take_number(struct cursor *c, int64_t *number)
{
    struct text_span text;
    switch (*c->at) {
    case '"':
        if (!take_text(c, &text))
            return false;
        *number = event_number_of_text(text.start, text.length, *number);
        return true;
    case 't': *number = 1; return pass_word(c, "true");
    case 'f': *number = 0; return pass_word(c, "false");
    case '{':
    case '[':
    case 'n': return pass_value(c, 0);
    default: return take_integer(c, number);
    }
}

static bool take_triple(struct cursor *c, int64_t triple[3])
{
    if (*c->at != '[')
        return pass_value(c, 0);
    c->at++;
    for (int i = 0; i < 3; i++) {
        pass_blank(c);
        if (!take_integer(c, &triple[i]) || !pass(c, i < 2 ? ',' : ']'))
            return false;
    }
    return true;
}

static bool put_text(struct cursor *c, const struct text_span *text, uint32_t *number)
{
    *number = intern(c->strings, text->start, text->length);
    return *number != INTERN_NO_MEMORY;
}

static bool take_shapes(struct cursor *c, uint32_t *number)
{
    struct shapes shapes;
    if (*c->at != '[')
        return pass_value(c, 0);
    size_t length = shapes_read(c->at, SIZE_MAX, &shapes);
    c->at += length;
    return length > 0 && put_text(c, &(struct text_span){shapes.text, shapes.length}, number);
}

static bool take_field(struct cursor *c, const struct arg_field *field)
{
    void *place = (char *)c->event + field->offset;
    struct text_span text;
    if (field->type == FIELD_NUMBER)
        return take_number(c, place);
    if (field->type == FIELD_TRIPLE)
        return take_triple(c, place);
    if (field->type == FIELD_SHAPES)
        return take_shapes(c, place);
    if (*c->at == '"')
        return take_text(c, &text) && put_text(c, &text, place);
    return !is_digit(*c->at) && *c->at != '-' && pass_value(c, 0);
}

static bool is_word(const struct text_span *text, const char *word)
{
    return text->length == strlen(word) && memcmp(text->start, word, text->length) == 0;
}

/* Of two arguments "from" the first counts. */
static bool take_from(struct cursor *c)
{
    struct text_span text;
    if (*c->at != '"' || c->from_seen) {
        c->from_seen = true;
        return pass_value(c, 0);
    }
    c->from_seen = true;
    if (!take_text(c, &text))
        return false;
    c->is_device_range = is_word(&text, DEVICE_RANGE_WORD);
    return true;
}

static bool take_args(struct cursor *c)
{
    struct text_span key;
    if (*c->at != '{')
        return pass_value(c, 0);
    c->at++;
    if (pass(c, '}'))
        return true;
    do {
        if (!take_key(c, &key))
            return false;
        const struct arg_field *field = arg_field_find(key.start, key.length, c->event->category);
        bool taken = field ? take_field(c, field) : is_word(&key, "from") ? take_from(c) : pass_value(c, 1);
        if (!taken)
            return false;
    } while (pass(c, ','));
    return pass(c, '}');
}

static bool take_id(struct cursor *c, event_id *id)
{
    struct text_span text;
    int64_t number = 0;
    uint32_t word = 0;
    if (*c->at == '"') {
        if (!take_text(c, &text) || !put_text(c, &text, &word))
            return false;
        *id = event_id_text(word);
        return true;
    }
    if (!take_integer(c, &number))
        return false;
    *id = event_id_number(number);
    return true;
}

static bool take_row_id(struct cursor *c, event_id *id)
{
    const char *start = c->at;
    struct text_span text;
    if (*start == '"' && take_text(c, &text) && event_id_of_digits(text.start, text.length, id))
        return true;
    c->at = start;
    return take_id(c, id);
}

static bool take_category(struct cursor *c)
{
    struct text_span text;
    if (*c->at != '"')
        return pass_value(c, 0);
    if (!take_text(c, &text))
        return false;
    c->category = text;
    c->event->category = (uint8_t)category_find(text.start, text.length);
    return true;
}

static bool take_phase(struct cursor *c)
{
    struct text_span text;
    if (!take_text(c, &text) || text.length != 1)
        return false;
    c->event->phase = *text.start;
    return true;
}

/* --- an event's own keys --- */

enum member { OTHER, PHASE, CATEGORY, NAME, PROCESS, THREAD, START, DURATION, ID, ARGS };

static enum member member_of(const struct text_span *key)
{
    const char *word = key->start;
#define IS(literal) (memcmp(word, literal, sizeof(literal) - 1) == 0)
    switch (key->length) {
    case 2: return IS("ph") ? PHASE : IS("ts") ? START : IS("id") ? ID : OTHER;
    case 3: return IS("cat") ? CATEGORY : IS("pid") ? PROCESS : IS("tid") ? THREAD : IS("dur") ? DURATION : OTHER;
    case 4: return IS("name") ? NAME : IS("args") ? ARGS : OTHER;
    default: return OTHER;
    }
#undef IS
}

static bool take_member(struct cursor *c)
{
    struct text_span key;
    if (!take_key(c, &key))
        return false;
    enum member member = member_of(&key);
    if (member != OTHER && (c->seen >> member & 1)) /* the last counts: cJSON's task */
        return false;
    if (member == CATEGORY && (c->seen >> ARGS & 1)) /* it says what the arguments mean */
        return false;
    c->seen |= 1u << member;
    switch (member) {
    case PHASE: return take_phase(c);
    case CATEGORY: return take_category(c);
    case NAME: return take_text(c, &c->name);
    case PROCESS: return take_row_id(c, &c->event->process);
    case THREAD: return take_row_id(c, &c->event->thread);
    case START: return take_ns(c, &c->event->start);
    case DURATION: return take_ns(c, &c->duration);
    case ID: return take_id(c, &c->event->id);
    case ARGS: return take_args(c);
    case OTHER: break;
    }
    return pass_value(c, 0);
}

static bool has(const struct cursor *c, enum member member)
{
    return c->seen >> member & 1;
}

/* Whether what was read is an event; completes it. */
static bool complete(struct cursor *c)
{
    struct event_fields *event = c->event;
    if (!has(c, START) && event->phase != 'M')
        return false;
    if (has(c, NAME) &&
        category_by_name(event->category, event->phase, c->name.start, c->name.length) != event->category)
        return false;
    if (event->phase == 'X') {
        event->duration = c->duration;
        if (!has(c, NAME) || !has(c, DURATION) || event->duration < 0 ||
            event->start + event->duration > EVENT_TIME_LIMIT)
            return false;
        if ((event->start | event->duration) == 0) /* parse.c knows of which that is an error */
            return false;
    }
    bool slice = event->phase == 'X' || event->phase == 'B';
    if (slice && event->category == CATEGORY_OTHER && c->category.length > 0 &&
        !put_text(c, &c->category, &event->label))
        return false;
    if (event->category == CATEGORY_GPU_USER_ANNOTATION && c->is_device_range)
        event->category = CATEGORY_DEVICE_RANGE;
    return !has(c, NAME) || put_text(c, &c->name, &event->name);
}

enum fast_path_result fast_path_event(const char *text, struct interner *strings, struct event_fields *event,
                                      size_t *length)
{
    struct cursor c = {.at = text + 1, .strings = strings, .event = event};
    *event = event_nothing;
    event->start = EVENT_NONE;
    if (*text != '{')
        return FAST_PATH_NOT;
    do {
        if (!take_member(&c))
            return FAST_PATH_NOT;
    } while (pass(&c, ','));
    if (!pass(&c, '}') || !has(&c, PHASE))
        return FAST_PATH_NOT;
    *length = (size_t)(c.at - text);
    if ((event->phase == 's' || event->phase == 't' || event->phase == 'f') && event->category != CATEGORY_FWDBWD)
        return FAST_PATH_FLOW;
    return complete(&c) ? FAST_PATH_EVENT : FAST_PATH_NOT;
}
