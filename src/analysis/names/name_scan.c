/*
 * Pairs brackets with a stack of open ones, then reads identifiers, template arguments and qualifiers between them.
 */
#include "analysis/names/name_scan.h"

#include <string.h>

#include "analysis/names/pretty_words.h"

#define BRACKETS_MAX 256 /* nested brackets */

bool scan_is_word(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_' || c == '$' || c < 0;
}

size_t scan_span_length(struct span span)
{
    return span.end - span.at;
}

bool scan_starts(const struct name_scan *scan, size_t at, size_t end, const char *text)
{
    size_t size = strlen(text);
    return end - at >= size && memcmp(scan->name + at, text, size) == 0;
}

bool scan_span_is(const struct name_scan *scan, struct span span, const char *text)
{
    return scan_span_length(span) == strlen(text) && scan_starts(scan, span.at, span.end, text);
}

bool scan_span_equal(const struct name_scan *scan, struct span a, struct span b)
{
    return scan_span_length(a) == scan_span_length(b) &&
           memcmp(scan->name + a.at, scan->name + b.at, scan_span_length(a)) == 0;
}

/* --- brackets --- */

size_t scan_operator_size(const struct name_scan *scan, size_t at)
{
    static const char *const symbols[] = {"()", "[]", "<=>", "<<=", ">>=", "->*", "<<",
                                          ">>", "<=", ">=",  "->",  "<",   ">"};
    size_t size = strlen("operator");
    if (!scan_starts(scan, at, scan->length, "operator") || (at > 0 && scan_is_word(scan->name[at - 1])))
        return 0;
    for (size_t i = 0; i < sizeof(symbols) / sizeof(*symbols); i++)
        if (scan_starts(scan, at + size, scan->length, symbols[i]))
            return size + strlen(symbols[i]);
    return at + size < scan->length && scan_is_word(scan->name[at + size]) ? 0 : size;
}

/* Returns the bracket that closes OPEN, or '\0' if OPEN is not an opening bracket. */
static char closer_of(char open)
{
    switch (open) {
    case '(': return ')';
    case '[': return ']';
    case '{': return '}';
    case '<': return '>';
    default: return '\0';
    }
}

bool scan_pair_brackets(struct name_scan *scan)
{
    uint32_t open[BRACKETS_MAX];
    size_t depth = 0;
    for (size_t at = 0; at < scan->length; at++) {
        char c = scan->name[at];
        size_t operator= c == 'o' ? scan_operator_size(scan, at) : 0;
        if (operator) {
            at += operator- 1;
        } else if (closer_of(c)) {
            if (depth == BRACKETS_MAX)
                return false;
            open[depth++] = (uint32_t)at;
        } else if (c == '>') {
            if (depth > 0 && scan->name[open[depth - 1]] == '<' && scan->name[at - 1] != '-')
                scan->partner[open[--depth]] = (uint32_t)at;
        } else if (c == ')' || c == ']' || c == '}') {
            while (depth > 0 && scan->name[open[depth - 1]] == '<')
                depth--;
            if (depth == 0 || closer_of(scan->name[open[depth - 1]]) != c)
                return false;
            scan->partner[open[--depth]] = (uint32_t)at;
        }
    }
    return depth == 0;
}

size_t scan_step(const struct name_scan *scan, size_t at)
{
    return (scan->partner[at] ? scan->partner[at] : at) + 1;
}

struct span scan_trim(const struct name_scan *scan, struct span span)
{
    while (span.at < span.end && scan->name[span.at] == ' ')
        span.at++;
    while (span.end > span.at && scan->name[span.end - 1] == ' ')
        span.end--;
    return span;
}

struct span scan_inside(struct span brackets)
{
    return (struct span){brackets.at + 1, brackets.end - 1};
}

bool scan_next_argument(const struct name_scan *scan, struct span *list, struct span *argument)
{
    if (list->at >= list->end)
        return false;
    size_t at = list->at;
    while (at < list->end && scan->name[at] != ',')
        at = scan_step(scan, at);
    at = at < list->end ? at : list->end;
    *argument = scan_trim(scan, (struct span){list->at, at});
    list->at = at + 1;
    return true;
}

/* --- components --- */

size_t scan_skip_qualifiers(const struct name_scan *scan, size_t at, size_t end)
{
    static const char *const qualifiers[] = {" const", " volatile", " &&", " &", " noexcept"};
    for (size_t i = 0; i < sizeof(qualifiers) / sizeof(*qualifiers); i++)
        if (scan_starts(scan, at, end, qualifiers[i]))
            return scan_skip_qualifiers(scan, at + strlen(qualifiers[i]), end);
    return at;
}

size_t scan_unnamed_size(const struct name_scan *scan, size_t at, size_t end)
{
    static const char *const words[] = {"(anonymous namespace)", "<unnamed>", "{anonymous}"};
    for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
        if (scan_starts(scan, at, end, words[i]))
            return strlen(words[i]);
    return 0;
}

static size_t read_component(const struct name_scan *scan, size_t at, size_t end, struct component *component)
{
    size_t unnamed = scan_unnamed_size(scan, at, end);
    *component = (struct component){.word = {at, at}, .unnamed = unnamed > 0};
    if (unnamed > 0)
        return at + unnamed;
    if (scan->name[at] == '{' && scan->partner[at]) {
        component->brace = true;
        at = component->word.end = scan_step(scan, at);
    }
    size_t operator= scan_operator_size(scan, at);
    if (operator)
        at += operator;
    while (at < end && (scan_is_word(scan->name[at]) || scan->name[at] == '~'))
        at++;
    component->word.end = at;
    component->unnamed = scan_starts(scan, component->word.at, at, "_GLOBAL__N_") ||
                         scan_starts(scan, component->word.at, at, "_INTERNAL_");
    while (at < end && scan->partner[at]) {
        struct span brackets = {at, scan_step(scan, at)};
        if (scan->name[at] == '<')
            component->angle = brackets;
        else if (scan->name[at] == '(')
            component->round = brackets;
        at = brackets.end;
    }
    /* Qualifiers within a chain, as in "operator()() const::{lambda()#1}". */
    size_t behind = scan_skip_qualifiers(scan, at, end);
    return scan_starts(scan, behind, end, "::") ? behind : at;
}

size_t scan_read_chain(const struct name_scan *scan, struct span span, struct component *chain, size_t *end)
{
    size_t count = 0, at = span.at;
    for (;;) {
        if (count == COMPONENTS_MAX)
            return 0;
        size_t next = at < span.end ? read_component(scan, at, span.end, &chain[count++]) : at;
        if (next == at)
            return 0;
        at = next;
        if (!scan_starts(scan, at, span.end, "::"))
            break;
        at += strlen("::");
    }
    *end = at;
    return count;
}

bool scan_is_of_library(const struct name_scan *scan, const struct component *chain, size_t count)
{
    size_t first = 0;
    while (first < count && chain[first].unnamed)
        first++;
    return first < count && count > 1 &&
           pretty_is_library(scan->name + chain[first].word.at, scan_span_length(chain[first].word));
}
