/*
 * A name is not parsed into a tree: brackets are paired once, and template arguments, and the components of a::b<c>,
 * are then found by walking over what is between them. What is written never has a parameter list at its end, which is
 * why it is left as it is when it comes again.
 */
#include "analysis/pretty_name.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/pretty_words.h"
#include "common/buffer.h"
#include "common/text.h"

#define NAME_MAX_BYTES 65536 /* longer ones are left as they are */
#define BRACKETS_MAX 256     /* within one another */
#define COMPONENTS_MAX 24    /* of a::b::c; more are left as they are */
#define DEPTH_MAX 4          /* template arguments within one another that are written */

struct span {
    size_t at, end;
};

struct writer {
    const char *name;
    size_t length;
    uint32_t *partner; /* of an opening bracket: the place of the closing one; 0 elsewhere */
    struct buffer *out;
    uint64_t reveal;
    struct pretty_pieces *pieces;
    unsigned depth;
    bool plain;       /* everything is written */
    bool of_functors; /* the next functor is without its arguments */
};

/* a::b<c>(d): one of them. Empty spans are at 0. */
struct component {
    struct span word, angle, round; /* brackets with what is between them */
    bool brace;                     /* the word is "{lambda()#1}" */
    bool unnamed;                   /* an unnamed namespace */
};

static bool is_word(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_' || c == '$' || c < 0;
}

static size_t span_length(struct span span)
{
    return span.end - span.at;
}

static bool starts(const struct writer *w, size_t at, size_t end, const char *text)
{
    size_t size = strlen(text);
    return end - at >= size && memcmp(w->name + at, text, size) == 0;
}

static bool span_is(const struct writer *w, struct span span, const char *text)
{
    return span_length(span) == strlen(text) && starts(w, span.at, span.end, text);
}

static bool span_equal(const struct writer *w, struct span a, struct span b)
{
    return span_length(a) == span_length(b) && memcmp(w->name + a.at, w->name + b.at, span_length(a)) == 0;
}

/* --- brackets --- */

/* Bytes of "operator" and its symbol, which may be brackets, at AT; 0: none is there. */
static size_t operator_size(const struct writer *w, size_t at)
{
    static const char *const symbols[] = {"()", "[]", "<=>", "<<=", ">>=", "->*", "<<",
                                          ">>", "<=", ">=",  "->",  "<",   ">"};
    size_t size = strlen("operator");
    if (!starts(w, at, w->length, "operator") || (at > 0 && is_word(w->name[at - 1])))
        return 0;
    for (size_t i = 0; i < sizeof(symbols) / sizeof(*symbols); i++)
        if (starts(w, at + size, w->length, symbols[i]))
            return size + strlen(symbols[i]);
    return 0;
}

static char closer(char open)
{
    switch (open) {
    case '(': return ')';
    case '[': return ']';
    case '{': return '}';
    case '<': return '>';
    default: return '\0';
    }
}

/* Pairs the brackets. A '<' or '>' without its partner is a comparison. False: the name is not understood. */
static bool pair_brackets(struct writer *w)
{
    uint32_t open[BRACKETS_MAX];
    size_t depth = 0;
    for (size_t at = 0; at < w->length; at++) {
        char c = w->name[at];
        size_t operator= c == 'o' ? operator_size(w, at) : 0;
        if (operator) {
            at += operator- 1;
        } else if (closer(c)) {
            if (depth == BRACKETS_MAX)
                return false;
            open[depth++] = (uint32_t)at;
        } else if (c == '>') {
            if (depth > 0 && w->name[open[depth - 1]] == '<' && w->name[at - 1] != '-')
                w->partner[open[--depth]] = (uint32_t)at;
        } else if (c == ')' || c == ']' || c == '}') {
            while (depth > 0 && w->name[open[depth - 1]] == '<')
                depth--;
            if (depth == 0 || closer(w->name[open[depth - 1]]) != c)
                return false;
            w->partner[open[--depth]] = (uint32_t)at;
        }
    }
    return depth == 0;
}

/* The place after the character, or the brackets, at AT. */
static size_t step(const struct writer *w, size_t at)
{
    return (w->partner[at] ? w->partner[at] : at) + 1;
}

static struct span trim(const struct writer *w, struct span span)
{
    while (span.at < span.end && w->name[span.at] == ' ')
        span.at++;
    while (span.end > span.at && w->name[span.end - 1] == ' ')
        span.end--;
    return span;
}

static struct span inside(struct span brackets)
{
    return (struct span){brackets.at + 1, brackets.end - 1};
}

/* Takes the next argument from the front of LIST, which is between commas. False: there is none. */
static bool next_argument(const struct writer *w, struct span *list, struct span *argument)
{
    if (list->at >= list->end)
        return false;
    size_t at = list->at;
    while (at < list->end && w->name[at] != ',')
        at = step(w, at);
    at = at < list->end ? at : list->end;
    *argument = trim(w, (struct span){list->at, at});
    list->at = at + 1;
    return true;
}

/* --- pieces --- */

static void write_argument(struct writer *w, struct span argument);

/* Whether to leave PIECE out; if not, it is to be written plainly. */
static bool leave_out(struct writer *w, struct span piece)
{
    if (w->plain)
        return false;
    size_t number = w->pieces->count;
    if (number == PRETTY_PIECES)
        return true;
    w->pieces->piece[w->pieces->count++] = (struct pretty_piece){piece.at, span_length(piece)};
    return !(w->reveal >> number & 1);
}

static void write_plain(struct writer *w, struct span argument)
{
    bool plain = w->plain;
    w->plain = true;
    write_argument(w, argument);
    w->plain = plain;
}

static void copy(struct writer *w, struct span span)
{
    buffer_bytes(w->out, w->name + span.at, span_length(span));
}

/* --- components --- */

static size_t unnamed_size(const struct writer *w, size_t at, size_t end)
{
    static const char *const words[] = {"(anonymous namespace)", "<unnamed>", "{anonymous}"};
    for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
        if (starts(w, at, end, words[i]))
            return strlen(words[i]);
    return 0;
}

/* "operator()() const::{lambda()#1}": qualifiers within a chain. */
static size_t skip_qualifiers(const struct writer *w, size_t at, size_t end)
{
    static const char *const qualifiers[] = {" const", " volatile", " &&", " &", " noexcept"};
    size_t behind = at;
    for (size_t i = 0; i < sizeof(qualifiers) / sizeof(*qualifiers); i++)
        if (starts(w, behind, end, qualifiers[i]))
            behind += strlen(qualifiers[i]);
    return starts(w, behind, end, "::") ? behind : at;
}

static size_t read_component(const struct writer *w, size_t at, size_t end, struct component *component)
{
    size_t unnamed = unnamed_size(w, at, end);
    *component = (struct component){.word = {at, at}, .unnamed = unnamed > 0};
    if (unnamed > 0)
        return at + unnamed;
    if (w->name[at] == '{' && w->partner[at]) {
        component->brace = true;
        at = component->word.end = step(w, at);
    }
    size_t operator= operator_size(w, at);
    if (operator)
        at += operator;
    while (at < end && (is_word(w->name[at]) || w->name[at] == '~'))
        at++;
    component->word.end = at;
    component->unnamed =
        starts(w, component->word.at, at, "_GLOBAL__N_") || starts(w, component->word.at, at, "_INTERNAL_");
    while (at < end && w->partner[at]) {
        struct span brackets = {at, step(w, at)};
        if (w->name[at] == '<')
            component->angle = brackets;
        else if (w->name[at] == '(')
            component->round = brackets;
        at = brackets.end;
    }
    return skip_qualifiers(w, at, end);
}

/* A run of components that begins at SPAN.at. Returns their number, and where they end; 0: there is none. */
static size_t read_chain(const struct writer *w, struct span span, struct component *chain, size_t *end)
{
    size_t count = 0, at = span.at;
    for (;;) {
        if (count == COMPONENTS_MAX)
            return 0;
        size_t next = at < span.end ? read_component(w, at, span.end, &chain[count++]) : at;
        if (next == at)
            return 0;
        at = next;
        if (!starts(w, at, span.end, "::"))
            break;
        at += strlen("::");
    }
    *end = at;
    return count;
}

/* Whether the chain's names are a library's, and its namespaces say nothing. */
static bool is_of_library(const struct writer *w, const struct component *chain, size_t count)
{
    size_t first = 0;
    while (first < count && chain[first].unnamed)
        first++;
    return first < count && count > 1 &&
           pretty_is_library(w->name + chain[first].word.at, span_length(chain[first].word));
}

/* --- writing --- */

static bool is_number(const struct writer *w, struct span span)
{
    size_t at = span.at + (span.at < span.end && w->name[span.at] == '-'), first = at;
    while (at < span.end && w->name[at] >= '0' && w->name[at] <= '9')
        at++;
    while (at > first && at < span.end && strchr("ulUL", w->name[at]))
        at++;
    return at > first && at == span.end;
}

static bool is_truth(const struct writer *w, struct span span)
{
    return span_is(w, span, "true") || span_is(w, span, "false");
}

/* The word alone, as it is usually read. */
static void write_word(struct writer *w, struct span span, bool library)
{
    const char *word = w->name + span.at;
    size_t length = span_length(span);
    const char *other = w->plain ? NULL : pretty_other_word(word, length);
    if (is_number(w, span))
        while (length > 0 && strchr("ulUL", word[length - 1]))
            length--;
    else if (library && !w->plain)
        pretty_strip(&word, &length);
    if (other)
        buffer_text(w->out, other);
    else
        buffer_bytes(w->out, word, length);
}

struct argument_list {
    bool any;
    struct span last; /* a type; the next one that is equal is left out */
};

static const struct pretty_word *rule_of(const struct writer *w, struct span argument);

/* Trailing arguments "false" say that something is not used. */
static size_t end_without_false(const struct writer *w, struct span list)
{
    struct span argument;
    size_t end = list.at;
    while (next_argument(w, &list, &argument)) {
        const struct pretty_word *own = rule_of(w, argument);
        if (!span_is(w, argument, "false") && (!own || own->rule != PRETTY_LEAVE_OUT))
            end = argument.end;
    }
    return end;
}

/* What speaks for leaving an argument out of those of a word with RULE. */
static bool says_little(const struct writer *w, struct span argument, const struct pretty_word *rule,
                        const struct argument_list *state, size_t end)
{
    const struct pretty_word *own = rule_of(w, argument);
    if ((own && own->rule == PRETTY_LEAVE_OUT) || argument.at >= end || span_length(argument) == 0)
        return true;
    if (rule && rule->rule == PRETTY_NO_NUMBERS && is_number(w, argument))
        return true;
    if (rule && rule->rule == PRETTY_OF_FUNCTORS && w->name[argument.end - 1] != '>')
        return true;
    bool repeated = span_length(state->last) > 0 && span_equal(w, argument, state->last);
    return repeated && !is_number(w, argument) && !is_truth(w, argument);
}

static void separate(struct writer *w, struct argument_list *state)
{
    buffer_text(w->out, state->any ? ", " : "<");
    state->any = true;
}

static void write_list(struct writer *w, struct span list, const struct pretty_word *rule, struct argument_list *state)
{
    struct span argument;
    size_t end = end_without_false(w, list);
    while (next_argument(w, &list, &argument)) {
        const struct pretty_word *own = w->plain ? NULL : rule_of(w, argument);
        struct component chain[COMPONENTS_MAX];
        if (own && own->rule == PRETTY_SPLICE) {
            size_t after, count = read_chain(w, argument, chain, &after);
            write_list(w, inside(chain[count - 1].angle), NULL, state);
            continue;
        }
        bool little = !w->plain && says_little(w, argument, rule, state, end);
        if (little && leave_out(w, argument))
            continue;
        separate(w, state);
        if (little)
            write_plain(w, argument);
        else
            write_argument(w, argument);
        state->last = argument;
    }
}

static bool is_shape(const struct writer *w, struct span list)
{
    struct span argument;
    while (next_argument(w, &list, &argument)) {
        bool constant = starts(w, argument.at, argument.end, "cute::C<") && w->name[argument.end - 1] == '>';
        struct span number = constant ? (struct span){argument.at + strlen("cute::C<"), argument.end - 1} : argument;
        if (!is_number(w, trim(w, number)))
            return false;
    }
    return true;
}

/* 128x64x32 */
static void write_shape(struct writer *w, struct span list)
{
    struct span argument;
    for (bool any = false; next_argument(w, &list, &argument); any = true) {
        if (any)
            buffer_char(w->out, 'x');
        write_argument(w, argument);
    }
}

/* With LITTLE they are one piece. */
static void write_arguments(struct writer *w, struct span angle, const struct pretty_word *rule, bool little)
{
    struct argument_list state = {0};
    bool plain = w->plain, of_functors = w->of_functors;
    little |= w->depth == DEPTH_MAX;
    if (little && leave_out(w, angle))
        return;
    w->plain |= little;
    w->of_functors = rule && rule->rule == PRETTY_OF_FUNCTORS;
    w->depth++;
    write_list(w, inside(angle), rule, &state);
    w->depth--;
    w->plain = plain;
    w->of_functors = of_functors;
    if (state.any)
        buffer_char(w->out, '>');
}

/* One argument in place of the word and all of them. */
static bool write_unwrapped(struct writer *w, struct span angle, size_t wanted)
{
    struct span list = inside(angle), argument, found = {0};
    for (size_t i = 0; next_argument(w, &list, &argument); i++)
        if (i == wanted)
            found = argument;
    if (span_length(found) == 0)
        return false;
    for (struct span before = {angle.at + 1, found.at}; next_argument(w, &before, &argument);)
        if (span_length(argument) > 0 && !leave_out(w, argument)) {
            write_plain(w, argument);
            buffer_text(w->out, ", ");
        }
    write_argument(w, found);
    for (list = (struct span){found.end + 1, angle.end - 1}; next_argument(w, &list, &argument);)
        if (!leave_out(w, argument)) {
            buffer_text(w->out, ", ");
            write_plain(w, argument);
        }
    return true;
}

static void write_component(struct writer *w, const struct component *component, bool library)
{
    const char *word = w->name + component->word.at;
    size_t length = span_length(component->word);
    const struct pretty_word *rule = w->plain ? NULL : pretty_find(word, length);
    if (rule && !library && !rule->anywhere)
        rule = NULL;
    bool has_arguments = span_length(component->angle) > 0;
    if (rule && has_arguments && rule->rule == PRETTY_UNWRAP && write_unwrapped(w, component->angle, rule->argument))
        return;
    if (rule && has_arguments && rule->rule == PRETTY_SHAPE && is_shape(w, inside(component->angle))) {
        write_shape(w, inside(component->angle));
        return;
    }
    bool functor = w->of_functors && length > 7 && memcmp(word + length - 7, "Functor", 7) == 0;
    write_word(w, component->word, library || (rule && rule->anywhere) || functor);
    if (has_arguments)
        write_arguments(w, component->angle, rule, functor);
    w->of_functors &= !functor;
}

/* "{lambda(float)#2}" is "{lambda#2}". */
static void write_brace(struct writer *w, struct span brace)
{
    for (size_t at = brace.at; at < brace.end;) {
        bool skipped = at > brace.at && w->partner[at];
        if (!skipped)
            buffer_char(w->out, w->name[at]);
        at = skipped ? step(w, at) : at + 1;
    }
}

static bool is_call(const struct writer *w, const struct component *component)
{
    return component->brace || span_is(w, component->word, "operator()");
}

/* The types that the last lambda of a dispatching function takes: they are what it was dispatched by. */
static void write_lambda_types(struct writer *w, struct span brace)
{
    size_t at = brace.at + 1;
    while (at < brace.end && w->name[at] != '(')
        at++;
    if (at < brace.end && w->partner[at] && w->partner[at] > at + 1)
        write_arguments(w, (struct span){at, step(w, at)}, NULL, false);
}

/* A functor that is a lambda in a function of a library: the function, and what tells its lambdas apart. */
static void write_lambda(struct writer *w, const struct component *chain, size_t subject, size_t count)
{
    const struct component *function = &chain[subject], *lambda = &chain[count - 1];
    struct span tail = {chain[subject + 1].word.at, lambda->word.end};
    write_component(w, function, true);
    if (span_length(function->angle) == 0 && lambda->brace)
        write_lambda_types(w, lambda->word);
    if (!leave_out(w, tail)) {
        buffer_text(w->out, "::");
        copy(w, tail);
    }
}

static void write_chain(struct writer *w, const struct component *chain, size_t count)
{
    bool library = is_of_library(w, chain, count);
    size_t subject = count - 1, first = 0;
    while (subject > 0 && (is_call(w, &chain[subject]) || chain[subject].unnamed))
        subject--;
    if (library && !w->plain && subject + 1 < count && chain[count - 1].brace) {
        write_lambda(w, chain, subject, count);
        return;
    }
    if (library)
        for (first = count - 1; first > 0 && (span_length(chain[first - 1].angle) > 0 || first > subject);)
            first--;
    for (bool any = false; first < count; first++) {
        if (chain[first].unnamed)
            continue;
        if (any)
            buffer_text(w->out, "::");
        if (chain[first].brace)
            write_brace(w, chain[first].word);
        else
            write_component(w, &chain[first], library);
        any = true;
    }
}

static const struct pretty_word *rule_of(const struct writer *w, struct span argument)
{
    struct component chain[COMPONENTS_MAX];
    size_t end, count = argument.at < argument.end ? read_chain(w, argument, chain, &end) : 0;
    if (count == 0 || end != argument.end || chain[count - 1].brace)
        return NULL;
    const struct pretty_word *rule = NULL;
    bool library = is_of_library(w, chain, count);
    struct span word = chain[count - 1].word;
    rule = pretty_find(w->name + word.at, span_length(word));
    if (!rule || (!library && !rule->anywhere) || (rule->rule == PRETTY_SPLICE && !span_length(chain[count - 1].angle)))
        return NULL;
    static const struct pretty_word odd_shape = {"", PRETTY_LEAVE_OUT, 0, true};
    struct span angle = chain[count - 1].angle;
    bool odd = rule->rule == PRETTY_SHAPE && span_length(angle) > 0 && !is_shape(w, inside(angle));
    return odd ? &odd_shape : rule;
}

/* "(E)2" is 2; of a truth value, the value. */
static bool write_cast(struct writer *w, struct span argument)
{
    struct span type = {argument.at, step(w, argument.at)}, value = {type.end, argument.end};
    if (w->name[argument.at] != '(' || !is_number(w, value) || w->plain)
        return false;
    if (span_is(w, type, "(bool)"))
        buffer_text(w->out, span_is(w, value, "0") ? "false" : "true");
    else
        write_word(w, value, false);
    return true;
}

static void write_argument(struct writer *w, struct span argument)
{
    struct component chain[COMPONENTS_MAX];
    if (argument.at < argument.end && write_cast(w, argument))
        return;
    for (size_t at = argument.at; at < argument.end;) {
        size_t end, count = 0;
        if (is_word(w->name[at]) || w->name[at] == '{' || unnamed_size(w, at, argument.end))
            count = read_chain(w, (struct span){at, argument.end}, chain, &end);
        if (count > 0) {
            write_chain(w, chain, count);
            at = end;
        } else {
            size_t next = step(w, at);
            copy(w, (struct span){at, next < argument.end ? next : argument.end});
            at = next;
        }
    }
}

/* --- whole names --- */

/* The function of the name, without its parameters: the last chain that ends with round brackets. Returns its
 * components; 0: the name is not one of a function. */
static size_t find_function(const struct writer *w, struct component *function)
{
    struct component chain[COMPONENTS_MAX];
    size_t found = 0, end;
    for (size_t at = 0; at < w->length;) {
        size_t count = read_chain(w, (struct span){at, w->length}, chain, &end);
        if (count == 0) {
            at = step(w, at);
            continue;
        }
        at = end;
        const struct component *last = &chain[count - 1];
        if (span_length(last->round) == 0 || span_length(last->word) == 0 || span_is(w, last->word, "decltype"))
            continue;
        memcpy(function, chain, count * sizeof(*chain));
        found = count;
    }
    return found;
}

/* Appends the pretty form of the name, if it has one. */
static bool write_pretty(struct writer *w)
{
    struct component function[COMPONENTS_MAX];
    size_t count = find_function(w, function), length = w->out->length;
    if (count > 0) {
        function[count - 1].round = (struct span){0};
        write_chain(w, function, count);
        return w->out->length > length;
    }
    size_t tail = pretty_tail(w->name, w->length);
    struct span piece = {w->length - tail, w->length};
    if (tail == 0 || !leave_out(w, piece))
        return false;
    copy(w, (struct span){0, piece.at});
    return true;
}

/* What write_pretty() makes of NAME into RESULT. False: nothing, or there is no memory. */
static bool make_pretty(struct buffer *result, const char *name, size_t length, uint64_t reveal,
                        struct pretty_pieces *pieces)
{
    struct writer w = {.name = name, .length = length, .out = result, .reveal = reveal, .pieces = pieces};
    pieces->count = 0;
    w.plain = reveal == PRETTY_PLAIN;
    w.partner = length < NAME_MAX_BYTES ? calloc(length + 1, sizeof(*w.partner)) : NULL;
    bool changed = w.partner && pair_brackets(&w) && write_pretty(&w);
    free(w.partner);
    return changed && !result->failure;
}

/* The name again, if it is a different one when it is made pretty once more. */
static bool is_final(const char *name, size_t length)
{
    struct pretty_pieces pieces;
    struct buffer again;
    buffer_init_memory(&again);
    bool changed = make_pretty(&again, name, length, 0, &pieces);
    bool same = !changed || (again.length == length && memcmp(again.data, name, length) == 0);
    buffer_release(&again);
    return same;
}

void pretty_name_whole(struct buffer *out, const char *name, size_t length)
{
    for (size_t size; length > 0; name += size, length -= size) {
        size = utf8_size(name, length);
        if (size > 0)
            buffer_bytes(out, name, size);
        else
            buffer_text(out, UTF8_REPLACEMENT);
        size = size ? size : 1;
    }
}

void pretty_name_write(struct buffer *out, const char *name, size_t length, uint64_t reveal,
                       struct pretty_pieces *pieces)
{
    struct pretty_pieces own;
    struct buffer result;
    pieces = pieces ? pieces : &own;
    buffer_init_memory(&result);
    bool changed = make_pretty(&result, name, length, reveal, pieces);
    if (changed && is_final(result.data, result.length))
        pretty_name_whole(out, result.data, result.length);
    else
        pretty_name_whole(out, name, length);
    buffer_release(&result);
}
