/*
 * A zero byte ends every loop here: it is no digit, no white space, and in a text it is a control character. So nothing
 * looks at how much is left; QUICK_PADDING is for texts, which are looked at eight bytes at a time.
 *
 * What cJSON and the scan accept beyond this, escapes, twice the same key, numbers whose digits a double cannot hold,
 * other white space, is not misread but given up.
 */
#include "analysis/quick.h"

#include <stdlib.h>
#include <string.h>

#include "common/map.h"
#include "analysis/event_fields.h"
#include "analysis/quick_json.h"

/* --- values that are wanted, as parse.c takes them --- */

static bool take_number(struct quick_cursor *c, int64_t *number)
{
    char digits[32];
    struct quick_text text;
    switch (*c->at) {
    case '"':
        if (!take_text(c, &text) || text.length >= sizeof(digits))
            return false;
        memcpy(digits, text.start, text.length);
        digits[text.length] = '\0';
        if (text.length > 0)
            *number = strtoll(digits, NULL, 0);
        return true;
    case 't': *number = 1; return pass_word(c, "true");
    case 'f': *number = 0; return pass_word(c, "false");
    case '{':
    case '[':
    case 'n': return pass_value(c, 0);
    default: return take_integer(c, number);
    }
}

static bool take_triple(struct quick_cursor *c, int64_t triple[3])
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

static bool put_text(struct quick_cursor *c, const struct quick_text *text, uint32_t *number)
{
    *number = intern(c->strings, text->start, text->length);
    return *number != INTERN_NO_MEMORY;
}

static bool take_field(struct quick_cursor *c, const struct event_field *field)
{
    void *place = (char *)c->event + field->offset;
    struct quick_text text;
    if (field->type == FIELD_NUMBER)
        return take_number(c, place);
    if (field->type == FIELD_TRIPLE)
        return take_triple(c, place);
    if (*c->at == '"')
        return take_text(c, &text) && put_text(c, &text, place);
    return !is_digit(*c->at) && *c->at != '-' && pass_value(c, 0);
}

static bool is_word(const struct quick_text *text, const char *word)
{
    return text->length == strlen(word) && memcmp(text->start, word, text->length) == 0;
}

/* Of two arguments "from" the first counts. */
static bool take_from(struct quick_cursor *c)
{
    struct quick_text text;
    if (*c->at != '"' || c->from_seen) {
        c->from_seen = true;
        return pass_value(c, 0);
    }
    c->from_seen = true;
    if (!take_text(c, &text))
        return false;
    c->is_device_range = is_word(&text, EVENT_DEVICE_RANGE_WORD);
    return true;
}

static bool take_args(struct quick_cursor *c)
{
    struct quick_text key;
    if (*c->at != '{')
        return pass_value(c, 0);
    c->at++;
    if (pass(c, '}'))
        return true;
    do {
        if (!take_key(c, &key))
            return false;
        const struct event_field *field = event_field_find(key.start, key.length);
        bool taken = field ? take_field(c, field) : is_word(&key, "from") ? take_from(c) : pass_value(c, 1);
        if (!taken)
            return false;
    } while (pass(c, ','));
    return pass(c, '}');
}

static bool take_id(struct quick_cursor *c, event_id *id)
{
    struct quick_text text;
    int64_t number = 0;
    uint32_t word = 0;
    if (*c->at == '"') {
        if (!take_text(c, &text) || !put_text(c, &text, &word))
            return false;
        *id = event_id_text(word);
        return true;
    }
    if (!is_digit(*c->at) && *c->at != '-')
        return pass_value(c, 0);
    if (!take_integer(c, &number))
        return false;
    *id = event_id_number(number);
    return true;
}

static bool take_category(struct quick_cursor *c)
{
    struct quick_text text;
    if (*c->at != '"')
        return pass_value(c, 0);
    if (!take_text(c, &text))
        return false;
    c->event->category = (uint8_t)event_category_find(text.start, text.length);
    return true;
}

static bool take_phase(struct quick_cursor *c)
{
    struct quick_text text;
    if (!take_text(c, &text) || text.length != 1)
        return false;
    c->event->phase = *text.start;
    return true;
}

/* --- an event's own keys --- */

enum member { OTHER, PHASE, CATEGORY, NAME, PROCESS, THREAD, START, DURATION, ID, ARGS };

static enum member member_of(const struct quick_text *key)
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

static bool take_member(struct quick_cursor *c)
{
    struct quick_text key;
    if (!take_key(c, &key))
        return false;
    enum member member = member_of(&key);
    if (member != OTHER && (c->seen >> member & 1)) /* the last counts: cJSON's task */
        return false;
    c->seen |= 1u << member;
    switch (member) {
    case PHASE: return take_phase(c);
    case CATEGORY: return take_category(c);
    case NAME: return take_text(c, &c->name);
    case PROCESS: return take_id(c, &c->event->process);
    case THREAD: return take_id(c, &c->event->thread);
    case START: return take_ns(c, &c->event->start);
    case DURATION: return take_ns(c, &c->duration);
    case ID: return take_id(c, &c->event->id);
    case ARGS: return take_args(c);
    case OTHER: break;
    }
    return pass_value(c, 0);
}

static bool has(const struct quick_cursor *c, enum member member)
{
    return c->seen >> member & 1;
}

/* Whether what was read is an event; completes it. */
static bool complete(struct quick_cursor *c)
{
    struct trace_event *event = c->event;
    if (!has(c, START) && event->phase != 'M')
        return false;
    if (event->phase == 'X') {
        event->duration = c->duration;
        if (!has(c, NAME) || !has(c, DURATION) || event->duration < 0 ||
            event->start + event->duration > EVENT_TIME_LIMIT)
            return false;
    }
    if (event->category == EVENT_GPU_RANGE && c->is_device_range)
        event->category = EVENT_DEVICE_RANGE;
    return !has(c, NAME) || put_text(c, &c->name, &event->name);
}

enum quick_result quick_event(const char *text, struct interner *strings, struct trace_event *event, size_t *length)
{
    struct quick_cursor c = {.at = text + 1, .strings = strings, .event = event};
    *event = event_nothing;
    event->start = EVENT_NONE;
    if (*text != '{')
        return QUICK_NOT;
    do {
        if (!take_member(&c))
            return QUICK_NOT;
    } while (pass(&c, ','));
    if (!pass(&c, '}') || !has(&c, PHASE))
        return QUICK_NOT;
    *length = (size_t)(c.at - text);
    if ((event->phase == 's' || event->phase == 't' || event->phase == 'f') && event->category != EVENT_FWDBWD)
        return QUICK_ARROW;
    return complete(&c) ? QUICK_EVENT : QUICK_NOT;
}
