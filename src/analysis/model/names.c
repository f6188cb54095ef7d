#include "analysis/model/names.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/model/trace.h"
#include "analysis/names/name_scan.h"

/* Brackets may nest so deep; a name with deeper ones is left as it is. */
#define DEPTH_MAX 128

struct shortener {
    const char *name;
    size_t length, at;
    char *out;
    size_t out_length;
    bool converting; /* within "operator TYPE": blanks do not end a return type */
};

static bool starts_with(const struct shortener *s, size_t at, const char *text)
{
    size_t size = strlen(text);
    return s->length - at >= size && memcmp(s->name + at, text, size) == 0;
}

/* Bytes of "operator" and its symbol, which may be brackets, at AT; 0: none is there. */
static size_t operator_size(const struct shortener *s, size_t at)
{
    static const char *const symbols[] = {"()", "[]", "<=>", "<<=", ">>=", "->*", "<<",
                                          ">>", "<=", ">=",  "->",  "<",   ">"};
    size_t size = strlen("operator");
    if (!starts_with(s, at, "operator") || (at > 0 && scan_is_word(s->name[at - 1])))
        return 0;
    if (at + size < s->length && scan_is_word(s->name[at + size]))
        return 0;
    for (size_t i = 0; i < sizeof(symbols) / sizeof(*symbols); i++)
        if (starts_with(s, at + size, symbols[i]))
            return size + strlen(symbols[i]);
    return size;
}

/* The place behind the bracket that closes the one at AT; 0: there is none. Within round brackets a '<' or '>' without
 * its partner is a comparison. */
static size_t skip_brackets(const struct shortener *s, size_t at)
{
    char open[DEPTH_MAX];
    size_t depth = 0;
    for (; at < s->length; at++) {
        char c = s->name[at];
        size_t operator= c == 'o' ? operator_size(s, at) : 0;
        if (operator) {
            at += operator- 1;
        } else if (scan_closer(c)) {
            if (depth == DEPTH_MAX)
                return 0;
            open[depth++] = c;
        } else if (c == '>') {
            if (open[depth - 1] == '<' && s->name[at - 1] != '-')
                depth--;
        } else if (c == ')' || c == ']' || c == '}') {
            while (depth > 0 && open[depth - 1] == '<')
                depth--;
            if (depth == 0 || scan_closer(open[depth - 1]) != c)
                return 0;
            depth--;
        }
        if (depth == 0)
            return at + 1;
    }
    return 0;
}

static void copy(struct shortener *s, size_t count)
{
    memcpy(s->out + s->out_length, s->name + s->at, count);
    s->out_length += count;
    s->at += count;
}

/* "{lambda(int)#1}" without its parameters: "{lambda#1}". */
static bool copy_braces(struct shortener *s)
{
    size_t end = skip_brackets(s, s->at);
    if (end == 0)
        return false;
    while (s->at < end) {
        char c = s->name[s->at];
        size_t skipped = (c == '(' || c == '<') ? skip_brackets(s, s->at) : 0;
        if (skipped)
            s->at = skipped;
        else
            copy(s, 1);
    }
    return true;
}

static size_t skip_qualifiers(const struct shortener *s, size_t at)
{
    static const char *const qualifiers[] = {" const", " volatile", " &&", " &", " noexcept"};
    for (size_t i = 0; i < sizeof(qualifiers) / sizeof(*qualifiers); i++)
        if (starts_with(s, at, qualifiers[i]))
            return skip_qualifiers(s, at + strlen(qualifiers[i]));
    return at;
}

enum step { STEP_ON, STEP_END, STEP_FAILED };

static enum step step(struct shortener *s)
{
    static const char unnamed[] = "(anonymous namespace)";
    char c = s->name[s->at];
    size_t operator= c == 'o' ? operator_size(s, s->at) : 0;
    if (operator) {
        copy(s, operator);
        s->converting = s->at < s->length && s->name[s->at] == ' ';
        return STEP_ON;
    }
    if (c == '(' && starts_with(s, s->at, unnamed)) {
        copy(s, strlen(unnamed));
        return STEP_ON;
    }
    if (c == '(') {
        /* Parameters: those of the function end the name, those of a function around it are left out. */
        size_t end = skip_brackets(s, s->at);
        if (end == 0)
            return STEP_FAILED;
        size_t next = skip_qualifiers(s, end);
        if (!starts_with(s, next, "::"))
            return STEP_END;
        s->at = next;
        return STEP_ON;
    }
    if (c == '<' || c == '[') {
        size_t end = skip_brackets(s, s->at);
        s->at = end;
        return end ? STEP_ON : STEP_FAILED;
    }
    if (c == '{')
        return copy_braces(s) ? STEP_ON : STEP_FAILED;
    if (c == ' ' && !s->converting) { /* what came before was the return type */
        s->out_length = 0;
        s->at++;
        return STEP_ON;
    }
    if (c == ':')
        s->converting = false;
    copy(s, 1);
    return STEP_ON;
}

size_t name_shorten(const char *name, size_t length, char *short_name)
{
    struct shortener s = {.name = name, .length = length, .out = short_name};
    enum step result = STEP_ON;
    while (s.at < length && result == STEP_ON)
        result = step(&s);
    while (s.out_length > 0 && short_name[s.out_length - 1] == ' ')
        s.out_length--;
    if (result != STEP_END || s.out_length == 0) {
        memcpy(short_name, name, length);
        s.out_length = length;
    }
    short_name[s.out_length] = '\0';
    return s.out_length;
}

/* --- names of kernels as the user wants to see them --- */

static uint32_t shorten(struct trace *trace, uint32_t name)
{
    const char *whole = interned(&trace->strings, name);
    size_t length = strlen(whole);
    char *short_name = malloc(length + 1);
    if (!short_name)
        return INTERN_NO_MEMORY;
    uint32_t number = intern(&trace->strings, short_name, name_shorten(whole, length, short_name));
    free(short_name);
    return number;
}

bool names_are_changed(const struct report_options *options)
{
    return options->names == REPORT_NAMES_SHORT || options->names == REPORT_NAMES_MANGLED;
}

int name_change(struct trace *trace, struct event_fields *event)
{
    enum report_names names = trace->options->names;
    if (names == REPORT_NAMES_MANGLED && event->mangled_name != EVENT_NO_TEXT)
        event->name = event->mangled_name;
    else if (names == REPORT_NAMES_MANGLED && event->name < trace->shown_names.count &&
             trace->shown_names.items[event->name] != 0)
        event->name = trace->shown_names.items[event->name] - 1;
    if (names != REPORT_NAMES_SHORT || event->name == EVENT_NO_TEXT)
        return 0;
    uint32_t *shown = array_at(&trace->shown_names, event->name);
    if (!shown)
        return -1;
    if (*shown == 0) {
        uint32_t number = shorten(trace, event->name);
        if (number == INTERN_NO_MEMORY)
            return -1;
        *shown = number + 1;
    }
    event->name = *shown - 1;
    return 0;
}

bool name_is_data_loader(const char *name)
{
    return strstr(name, "DataLoader") && strstr(name, "__next__");
}
