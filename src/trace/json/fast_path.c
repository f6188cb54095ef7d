/*
 * Reads the fields of an event from its text. fast_path_event() reads most events in one pass. It gives up texts with
 * escapes, duplicate keys and a category behind the arguments; event_read_members() reads such events member by member,
 * once json_check() has found that the text is JSON.
 *
 * A zero byte ends every loop here: it is neither a digit nor white space, and in a text it is a control character. So
 * no loop checks how much text is left. FAST_PATH_PADDING exists because texts are read eight bytes at a time.
 */
#include "trace/json/parse.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/map.h"
#include "trace/event_fields.h"
#include "trace/json/text.h"

#define REST_BYTES 64 /* the most bytes of keys and padding that read_rest() adds */
#define DIGITS_MAX 15 /* a double holds any integer of up to 15 digits */

struct cursor {
    const char *at, *end;
    struct interner *strings;
    struct event_fields *event;
    struct json_text name, category;
    int64_t duration;
    unsigned seen;       /* 1 << member for each enum member that was read */
    unsigned surrogates; /* halves of surrogate pairs in skipped values */
    bool is_device_range, from_seen;
    struct buffer *plain; /* stores texts without their escapes; NULL: give up texts with escapes */
};

static inline void pass_some_blank(struct cursor *c)
{
    while (*c->at == ' ' || *c->at == '\n' || *c->at == '\r' || *c->at == '\t')
        c->at++;
}

/* Skips white space. Most files have none, so only the test for it is inlined. */
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

/* Marks bytes of WORD below LIMIT by their highest bit. The lowest marked byte is below LIMIT; higher ones may
 * not be. */
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

/* Reads a text with escapes or control characters, which starts at AT, up to its first NUL. Returns a text at NULL if
 * `plain` is NULL, which gives it up. */
static struct json_text take_unusual_text(struct cursor *c, const char *at)
{
    const char *after = c->plain ? json_value_end(at - 1, c->end) : NULL;
    if (!after)
        return (struct json_text){0};
    size_t start = c->plain->length;
    json_unescape(c->plain, (struct json_text){at, (size_t)(after - 1 - at)});
    const char *plain = c->plain->data + start;
    c->at = after;
    return (struct json_text){plain, strnlen(plain, c->plain->length - start)};
}

/* Reads a text whose opening quote was already read. */
static inline bool take_text_rest(struct cursor *c, struct json_text *text)
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
    *text = (struct json_text){c->at, (size_t)(at - c->at)};
    c->at = at + 1;
    if (*at != '"')
        *text = take_unusual_text(c, text->at);
    return text->at != NULL;
}

static inline bool take_text(struct cursor *c, struct json_text *text)
{
    return *c->at++ == '"' && take_text_rest(c, text);
}

static inline bool take_key(struct cursor *c, struct json_text *key)
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

/* Reads at most 19 digits, as *VALUE can hold them. Returns their number. */
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

/* Whether C may follow a number. */
static inline bool ends_number(char c)
{
    return c == ',' || c == '}' || c == ']' || c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

static inline bool take_integer(struct cursor *c, int64_t *number)
{
    bool negative = *c->at == '-';
    uint64_t value = 0;
    c->at += negative;
    const char *start = c->at;
    size_t digits = take_digits(c, &value);
    bool leading_zero = *start == '0' && digits > 1; /* 01 is not JSON */
    if (digits == 0 || digits > DIGITS_MAX || leading_zero || !ends_number(*c->at))
        return false;
    *number = negative ? -(int64_t)value : (int64_t)value;
    return true;
}

/* Reads microseconds as ns. */
static bool take_ns(struct cursor *c, int64_t *ns)
{
    const char *digits = c->at + (*c->at == '-');
    bool leading_zero = *digits == '0' && is_digit(digits[1]);
    return !leading_zero && scan_ns(c->at, &c->at, ns) && ends_number(*c->at) && *ns <= EVENT_TIME_LIMIT &&
           *ns >= -EVENT_TIME_LIMIT;
}

/* Skips a value of any kind. Texts and plain decimals are the most frequent. */
static inline bool pass_value(struct cursor *c)
{
    struct json_text text;
    if (*c->at == '"')
        return take_text(c, &text);
    const char *at = c->at;
    if (*at != '0' || !is_digit(at[1]))
        while (is_digit(*at))
            at++;
    if (at > c->at && *at == '.' && is_digit(at[1]))
        for (at++; is_digit(*at);)
            at++;
    if (at > c->at && ends_number(*at)) {
        c->at = at;
        return true;
    }
    c->at = json_pass(c->at, c->end, &c->surrogates);
    return c->at != NULL;
}

/* --- values of fields --- */

/* Reads a number of any form. Sets *REAL to NAN if the value is not a number. */
static bool take_real(struct cursor *c, double *real)
{
    *real = is_digit(*c->at) || (*c->at == '-' && c->at[1] != 'I') ? strtod(c->at, NULL) : NAN;
    return pass_value(c);
}

/* Reads the value at START as a number if take_integer() could not: true is 1, false is 0, and a text may hold a
 * number. */
static bool take_unusual_number(struct cursor *c, const char *start, int64_t *number)
{
    struct json_text text;
    double real;
    c->at = start;
    if (*start == '"') {
        if (!take_text(c, &text))
            return false;
        *number = event_number_of_text(text.at, text.length, *number);
        return true;
    }
    if (!take_real(c, &real))
        return false;
    *number = *start == 't' ? 1 : *start == 'f' ? 0 : event_real(real, *number);
    return true;
}

static inline bool take_number(struct cursor *c, int64_t *number)
{
    const char *start = c->at;
    return take_integer(c, number) || take_unusual_number(c, start, number);
}

/* Reads the first three numbers of an array. */
static bool take_triple(struct cursor *c, int64_t triple[3])
{
    if (*c->at != '[')
        return pass_value(c);
    c->at++;
    if (pass(c, ']'))
        return true;
    int i = 0;
    do {
        pass_blank(c);
        if (i < 3 ? !take_number(c, &triple[i++]) : !pass_value(c))
            return false;
    } while (pass(c, ','));
    return pass(c, ']');
}

static bool put_text(struct cursor *c, const struct json_text *text, uint32_t *number)
{
    *number = intern(c->strings, text->at, text->length);
    return *number != INTERN_NO_MEMORY;
}

static bool take_shapes(struct cursor *c, uint32_t *number)
{
    struct shapes_text shapes;
    size_t length = shapes_read(c->at, (size_t)(c->end - c->at), &shapes);
    if (length == 0)
        return pass_value(c);
    c->at += length;
    return put_text(c, &(struct json_text){shapes.text, shapes.length}, number);
}

static inline bool take_field(struct cursor *c, const struct arg_field *field)
{
    void *place = (char *)c->event + field->offset;
    struct json_text text;
    char digits[32];
    double real;
    if (field->type == FIELD_NUMBER)
        return take_number(c, place);
    if (field->type == FIELD_TRIPLE)
        return take_triple(c, place);
    if (field->type == FIELD_SHAPES)
        return take_shapes(c, place);
    if (*c->at == '"')
        return take_text(c, &text) && put_text(c, &text, place);
    if (!take_real(c, &real))
        return false;
    text = (struct json_text){digits, (size_t)snprintf(digits, sizeof(digits), "%.15g", real)};
    return isnan(real) || put_text(c, &text, place);
}

/* Reads the argument "from". Of duplicates the first counts. */
static bool take_from(struct cursor *c)
{
    struct json_text text;
    if (*c->at != '"' || c->from_seen) {
        c->from_seen = true;
        return pass_value(c);
    }
    c->from_seen = true;
    if (!take_text(c, &text))
        return false;
    c->is_device_range = json_is(text, DEVICE_RANGE_WORD);
    return true;
}

static inline bool take_args(struct cursor *c)
{
    struct json_text key;
    if (*c->at != '{')
        return pass_value(c);
    c->at++;
    if (pass(c, '}'))
        return true;
    do {
        if (!take_key(c, &key))
            return false;
        const struct arg_field *field = arg_field_find(key.at, key.length, c->event->category);
        bool taken = field ? take_field(c, field) : json_is(key, "from") ? take_from(c) : pass_value(c);
        if (!taken)
            return false;
    } while (pass(c, ','));
    return pass(c, '}');
}

static bool to_integer(double value, int64_t *integer)
{
    if (!(value > -9.2e18 && value < 9.2e18)) /* also true for NaN */
        return false;
    *integer = llround(value);
    return true;
}

static const char row_starts[] = "\"-0123456789nNI"; /* the first characters of valid ids: a number, a text, null */

/* Reads an id. ROW: the id is a "pid" or "tid", whose number some programs write as a text. */
static bool take_id(struct cursor *c, bool row, event_id *id)
{
    const char *start = c->at;
    struct json_text text;
    int64_t number = 0;
    uint32_t word = 0;
    double real;
    if (*start == '"') {
        if (!take_text(c, &text))
            return false;
        if (row && event_id_of_digits(text.at, text.length, id))
            return true;
        if (!put_text(c, &text, &word))
            return false;
        *id = event_id_text(word);
        return true;
    }
    bool is_number = take_integer(c, &number);
    if (!is_number) {
        c->at = start;
        if (!strchr(row_starts, *start) || !take_real(c, &real))
            return false;
        is_number = to_integer(real, &number);
    }
    if (is_number)
        *id = event_id_number(number);
    return true;
}

static bool take_category(struct cursor *c)
{
    struct json_text text;
    if (*c->at != '"')
        return pass_value(c);
    if (!take_text(c, &text))
        return false;
    c->category = text;
    event_set_category(c->event, category_find(text.at, text.length));
    return true;
}

/* --- an event's own keys --- */

enum member { OTHER, PHASE, CATEGORY, NAME, PROCESS, THREAD, START, DURATION, ID, ARGS, ID2, SCOPE };

static inline enum member member_of(const struct json_text *key)
{
    const char *word = key->at;
#define IS(literal) (memcmp(word, literal, sizeof(literal) - 1) == 0)
    switch (key->length) {
    case 2: return IS("ph") ? PHASE : IS("ts") ? START : IS("id") ? ID : OTHER;
    case 3: return IS("cat") ? CATEGORY : IS("pid") ? PROCESS : IS("tid") ? THREAD : IS("dur") ? DURATION : OTHER;
    case 4: return IS("name") ? NAME : IS("args") ? ARGS : OTHER;
    default: return OTHER;
    }
#undef IS
}

/* member_of() that also knows the keys that few events have. */
static enum member rare_member_of(const struct json_text *key)
{
    enum member member = member_of(key);
    return member != OTHER ? member : json_is(*key, "id2") ? ID2 : json_is(*key, "scope") ? SCOPE : OTHER;
}

static bool take_member(struct cursor *c)
{
    struct json_text key;
    if (!take_key(c, &key))
        return false;
    enum member member = member_of(&key);
    if (member != OTHER && (c->seen >> member & 1)) /* duplicate keys: the last counts, so give up */
        return false;
    if (member == CATEGORY && (c->seen >> ARGS & 1)) /* the category is needed before the arguments */
        return false;
    c->seen |= 1u << member;
    switch (member) {
    case PHASE:
        if (!take_text(c, &key) || key.length != 1)
            return false;
        c->event->phase = json_phase(*key.at);
        return true;
    case CATEGORY: return take_category(c);
    case NAME: return take_text(c, &c->name);
    case PROCESS: return take_id(c, true, &c->event->process);
    case THREAD: return take_id(c, true, &c->event->thread);
    case START: return take_ns(c, &c->event->start);
    case DURATION: return take_ns(c, &c->duration);
    case ID: return take_id(c, false, &c->event->id);
    case ARGS: return take_args(c);
    default: return rare_member_of(&key) == OTHER && pass_value(c);
    }
}

/* Reads all members and the '}'. */
static bool take_members(struct cursor *c)
{
    do {
        if (!take_member(c))
            return false;
    } while (pass(c, ','));
    return pass(c, '}');
}

static bool has(const struct cursor *c, enum member member)
{
    return c->seen >> member & 1;
}

static bool is_flow(const struct event_fields *event)
{
    return (event->phase == 's' || event->phase == 't' || event->phase == 'f') && event->category != CATEGORY_FWDBWD;
}

/* Interns the event's texts and completes its category and device. All members were read before. */
static inline bool put_texts(struct cursor *c)
{
    struct event_fields *event = c->event;
    bool slice = event->phase == 'X' || event->phase == 'B' || event->phase == PHASE_OPEN;
    bool range = event->phase == 'b' || event->phase == 'e';
    if ((slice || range) && event->category == CATEGORY_OTHER && c->category.length > 0 &&
        !put_text(c, &c->category, &event->label))
        return false;
    /* Files have ranges that the program put into its streams in the category of NVTX's ranges. */
    if (event->category == CATEGORY_GPU_USER_ANNOTATION && c->is_device_range)
        event->category = CATEGORY_DEVICE_RANGE;
    /* Some programs write the pid of a GPU as its name: "GPU 1". */
    if (event->device == FIELD_ABSENT && event_id_is_text(event->process) &&
        category_in(event->category, CATEGORIES_GPU_OPS)) {
        const char *row = interned(c->strings, (uint32_t)(event->process >> 1));
        event->device = event_number_of_text(row, strlen(row), FIELD_ABSENT);
    }
    return !c->name.at || put_text(c, &c->name, &event->name);
}

/* Completes the event. Returns false if it is not valid, or if its category depends on its name. */
static bool complete(struct cursor *c)
{
    struct event_fields *event = c->event;
    if (!has(c, START) && event->phase != 'M')
        return false;
    if (has(c, NAME) && category_by_name(event->category, event->phase, c->name.at, c->name.length) != event->category)
        return false;
    if (event->phase == 'X') {
        event->duration = c->duration;
        if (!has(c, NAME) || !has(c, DURATION) || event->duration < 0 ||
            event->start + event->duration > EVENT_TIME_LIMIT)
            return false;
        if ((event->start | event->duration) == 0) /* an error in some categories, which read_times() decides */
            return false;
    }
    return put_texts(c);
}

enum parse_result fast_path_event(const char *text, const char *end, struct interner *strings,
                                  struct event_fields *event, size_t *length)
{
    struct cursor c = {.at = text + 1, .end = end, .strings = strings, .event = event};
    event_begin(event, CATEGORY_OTHER);
    event->start = FIELD_ABSENT;
    if (*text != '{' || !take_members(&c) || !has(&c, PHASE) || c.surrogates > 0)
        return PARSE_CUT;
    *length = (size_t)(c.at - text);
    if (is_flow(event))
        return PARSE_FLOW;
    return complete(&c) ? PARSE_DONE : PARSE_CUT;
}

/* --- member by member, of a text that is JSON --- */

/* Returns the text in VALUE without escapes; empty if VALUE is not a string. */
static struct json_text text_of(struct cursor *c, struct json_text value)
{
    struct json_text text = {"", 0};
    c->at = value.at;
    if (json_is_string(value))
        take_text(c, &text);
    return text;
}

static enum parse_result lacks(struct event_fault *fault, enum json_problem problem, const char *key,
                               const char *expected)
{
    *fault = (struct event_fault){problem, key, expected};
    return PARSE_NOT_AN_EVENT;
}

/* Reads microseconds, a number or a text with a number, as ns. Returns false if VALUE is neither or out of range. */
static bool read_time(struct json_text value, int64_t *ns)
{
    static const char characters[] = "0123456789+-.eE \t"; /* excludes "inf" and "0x1", which strtod() accepts */
    if (value.length == 0)
        return false;
    bool is_text = json_is_string(value);
    const char *at = value.at + is_text;
    size_t length = value.length - 2 * is_text;
    char *end;
    if (strspn(at, characters) < length)
        return false;
    double us = strtod(at, &end);
    if (end == at || end + strspn(end, " \t") < at + length)
        return false;
    if (!json_exact_ns((struct json_text){at, length}, ns) && !to_integer(us * 1e3, ns))
        return false;
    return *ns >= -EVENT_TIME_LIMIT && *ns <= EVENT_TIME_LIMIT;
}

/* Returns what was expected instead of VALUE, which is not a time. */
static const char *expected_time(struct json_text value)
{
    double us = value.length > 0 ? strtod(value.at + json_is_string(value), NULL) : 0;
    return isfinite(us) && us * 1e3 > (double)EVENT_TIME_LIMIT ? "microseconds of this age (are these nanoseconds?)"
                                                               : "a number of microseconds";
}

static enum parse_result read_times(struct event_fields *event, const struct json_text *members,
                                    struct event_fault *fault)
{
    event->start = FIELD_ABSENT;
    if (!read_time(members[START], &event->start) && event->phase != 'M')
        return lacks(fault, JSON_NO_TIME, "ts", expected_time(members[START]));
    if (event->phase != 'X')
        return PARSE_DONE;
    if (members[DURATION].length == 0 && !category_in(event->category, CATEGORIES_GPU_OPS)) {
        event->phase = PHASE_OPEN;
        return PARSE_DONE;
    }
    if (!read_time(members[DURATION], &event->duration))
        return lacks(fault, JSON_NO_DURATION, "dur", expected_time(members[DURATION]));
    if (event->duration < 0 || event->start + event->duration > EVENT_TIME_LIMIT)
        return lacks(fault, JSON_BAD_DURATION, "dur", "one that is not negative and ends in this age");
    /* Some programs write "ts" and "dur" as 0 if they do not know an operation's times. */
    if ((event->start | event->duration) == 0 && category_in(event->category, CATEGORIES_GPU_OPS | CATEGORIES_API))
        return lacks(fault, JSON_NO_TIMES, "ts", "times: \"dur\" is 0 too, so they are lost");
    return PARSE_DONE;
}

static bool is_row(struct json_text value)
{
    return value.length == 0 || strchr(row_starts, *value.at);
}

/* Reads phase, category and name, and checks all members but the times. */
static enum parse_result read_kind(struct cursor *c, const struct json_text *members, struct event_fault *fault)
{
    static const char row[] = "a number or a text";
    struct event_fields *event = c->event;
    struct json_text phase = text_of(c, members[PHASE]), name = text_of(c, members[NAME]);
    if (phase.length != 1)
        return lacks(fault, JSON_NO_PHASE, "ph", "one letter");
    event->phase = json_phase(*phase.at);
    c->category = text_of(c, members[CATEGORY]);
    enum category category = category_find(c->category.at, c->category.length);
    event_set_category(event, category);
    if (is_flow(event))
        return PARSE_FLOW;
    if (event->phase == 'X' && !json_is_string(members[NAME]))
        return lacks(fault, JSON_NO_NAME, "name", "a text");
    if (!is_row(members[PROCESS]))
        return lacks(fault, JSON_BAD_ROW, "pid", row);
    if (!is_row(members[THREAD]))
        return lacks(fault, JSON_BAD_ROW, "tid", row);
    if (!is_row(members[ID]))
        return lacks(fault, JSON_BAD_ROW, "id", row);
    event_set_category(event, category_by_name(category, event->phase, name.at, name.length));
    if (json_is_string(members[NAME]))
        c->name = name;
    return PARSE_DONE;
}

/* Sets the id of a range to a text that also has its scope and, for a local id, its process. */
static bool put_whole_id(struct cursor *c, const struct json_text *members)
{
    bool local = memmem(members[ID2].at ?: "", members[ID2].length, "\"local\"", strlen("\"local\""));
    struct json_text parts[] = {members[ID], members[ID2], members[SCOPE],
                                local ? members[PROCESS] : (struct json_text){0}};
    size_t start = c->plain->length;
    uint32_t word;
    for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
        buffer_bytes(c->plain, parts[i].at ?: "", parts[i].length);
    if (!put_text(c, &(struct json_text){c->plain->data + start, c->plain->length - start}, &word))
        return false;
    c->event->id = event_id_text(word);
    return true;
}

/* Writes the remaining members as an event into `plain`, and reads that event. */
static bool read_rest(struct cursor *c, const struct json_text *members)
{
    static const struct {
        enum member member;
        const char *key;
    } rest[] = {{PROCESS, "\"pid\":"}, {THREAD, ",\"tid\":"}, {ID, ",\"id\":"}, {ARGS, ",\"args\":"}};
    size_t start = c->plain->length;
    for (size_t i = 0; i < sizeof(rest) / sizeof(*rest); i++) {
        struct json_text value = members[rest[i].member];
        buffer_text(c->plain, rest[i].key);
        buffer_bytes(c->plain, value.length > 0 ? value.at : "null", value.length > 0 ? value.length : strlen("null"));
    }
    buffer_char(c->plain, '}');
    c->at = c->plain->data + start;
    c->end = c->plain->data + c->plain->length;
    bool whole_id = members[ID2].length + members[SCOPE].length > 0;
    return take_members(c) && put_texts(c) && (!whole_id || put_whole_id(c, members));
}

enum parse_result event_read_members(const char *text, const char *end, struct interner *strings, struct buffer *plain,
                                     struct event_fields *event, struct event_fault *fault)
{
    struct cursor c = {.end = end, .strings = strings, .event = event, .plain = plain};
    struct json_text members[SCOPE + 1] = {{0}}, key, value; /* of duplicates the last counts */
    event_begin(event, CATEGORY_OTHER);
    plain->length = 0;
    /* `plain` must not move: it holds texts without escapes, and the event that read_rest() writes. */
    if (!buffer_reserve(plain, 4 * (size_t)(end - text) + REST_BYTES))
        return PARSE_NO_MEMORY;
    for (const char *at = text + 1; json_member(&at, end, &key, &value);) {
        c.at = key.at;
        take_text_rest(&c, &key);
        members[rare_member_of(&key)] = value;
    }
    enum parse_result result = read_kind(&c, members, fault);
    if (result == PARSE_DONE)
        result = read_times(event, members, fault);
    if (result != PARSE_DONE)
        return result;
    return read_rest(&c, members) ? PARSE_DONE : PARSE_NO_MEMORY;
}

bool event_read_field(struct json_text value, const struct arg_field *field, struct interner *strings,
                      struct buffer *plain, struct event_fields *event)
{
    struct cursor c = {
        .at = value.at, .end = value.at + value.length, .strings = strings, .event = event, .plain = plain};
    return take_field(&c, field);
}
