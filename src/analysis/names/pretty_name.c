/*
 * A name is not parsed into a tree: its brackets are paired once, then template arguments and the components of a::b<c>
 * are found by walking over the text between them. A pretty name never ends with a parameter list, so it does not
 * change if it is made pretty again.
 */
#include "analysis/names/pretty_name.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/names/name_scan.h"
#include "common/buffer.h"
#include "common/text.h"

#define NAME_MAX_BYTES 65536 /* bytes; longer names are not changed */
#define DEPTH_MAX 4          /* limit of nested template arguments that are written */

struct writer {
    struct name_scan scan;
    struct buffer *out;
    uint64_t reveal;
    struct pretty_omissions *omissions;
    unsigned depth;
    bool plain;       /* omit nothing */
    bool of_functors; /* write the next functor without its arguments */
};

/* --- omissions --- */

static void write_argument(struct writer *w, struct span argument);

/* Lists the omission OMITTED and returns whether to leave it out. Otherwise, the caller writes it in full. */
static bool leave_out(struct writer *w, struct span omitted)
{
    if (w->plain)
        return false;
    size_t number = w->omissions->count;
    if (number == PRETTY_OMISSIONS)
        return true;
    w->omissions->items[w->omissions->count++] = (struct pretty_omission){omitted.at, scan_span_length(omitted)};
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
    buffer_bytes(w->out, w->scan.name + span.at, scan_span_length(span));
}

/* --- writing --- */

static bool is_number(const struct writer *w, struct span span)
{
    size_t at = span.at + (span.at < span.end && w->scan.name[span.at] == '-'), first = at;
    while (at < span.end && w->scan.name[at] >= '0' && w->scan.name[at] <= '9')
        at++;
    while (at > first && at < span.end && strchr("ulUL", w->scan.name[at]))
        at++;
    return at > first && at == span.end;
}

/* Writes a word without its arguments, in its usual form. */
static void write_word(struct writer *w, struct span span, bool library)
{
    const char *word = w->scan.name + span.at;
    size_t length = scan_span_length(span);
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
    struct span last; /* the previous argument: an equal one is left out */
};

static const struct pretty_word *rule_of(const struct writer *w, struct span argument);

/* Returns whether an argument of a word with RULE should be left out. Arguments from END on are trailing ones. */
static bool is_redundant(const struct writer *w, struct span argument, const struct pretty_word *rule,
                         const struct argument_list *state, size_t end)
{
    const struct pretty_word *own = rule_of(w, argument);
    if ((own && own->rule == PRETTY_LEAVE_OUT) || argument.at >= end || scan_span_length(argument) == 0)
        return true;
    if (rule && rule->rule == PRETTY_NO_NUMBERS && is_number(w, argument))
        return true;
    if (rule && rule->rule == PRETTY_OF_FUNCTORS && w->scan.name[argument.end - 1] != '>')
        return true;
    size_t length = scan_span_length(argument);
    bool repeated = length > 0 && scan_span_length(state->last) == length &&
                    memcmp(w->scan.name + argument.at, w->scan.name + state->last.at, length) == 0;
    return repeated && !is_number(w, argument) && !scan_span_is(&w->scan, argument, "true") &&
           !scan_span_is(&w->scan, argument, "false");
}

static void write_list(struct writer *w, struct span list, const struct pretty_word *rule, struct argument_list *state)
{
    struct span argument, all = list;
    /* Trailing "false" arguments only mean that a feature is not used. */
    size_t end = list.at;
    while (scan_next_argument(&w->scan, &all, &argument)) {
        const struct pretty_word *own = rule_of(w, argument);
        if (!scan_span_is(&w->scan, argument, "false") && (!own || own->rule != PRETTY_LEAVE_OUT))
            end = argument.end;
    }
    while (scan_next_argument(&w->scan, &list, &argument)) {
        const struct pretty_word *own = w->plain ? NULL : rule_of(w, argument);
        struct component chain[COMPONENTS_MAX];
        if (own && own->rule == PRETTY_SPLICE) {
            size_t after, count = scan_read_chain(&w->scan, argument, chain, &after);
            write_list(w, scan_inside(chain[count - 1].angle), NULL, state);
            continue;
        }
        bool little = !w->plain && is_redundant(w, argument, rule, state, end);
        if (little && leave_out(w, argument))
            continue;
        buffer_text(w->out, state->any ? ", " : "<");
        state->any = true;
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
    while (scan_next_argument(&w->scan, &list, &argument)) {
        bool constant =
            scan_starts(&w->scan, argument.at, argument.end, "cute::C<") && w->scan.name[argument.end - 1] == '>';
        struct span number = constant ? (struct span){argument.at + strlen("cute::C<"), argument.end - 1} : argument;
        if (!is_number(w, scan_trim(&w->scan, number)))
            return false;
    }
    return true;
}

/* Writes template arguments. LITTLE: all arguments together are one omission. */
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
    write_list(w, scan_inside(angle), rule, &state);
    w->depth--;
    w->plain = plain;
    w->of_functors = of_functors;
    if (state.any)
        buffer_char(w->out, '>');
}

/* Writes the argument with index WANTED in place of a word and all its arguments. Returns false if there is no such
 * argument. */
static bool write_unwrapped(struct writer *w, struct span angle, size_t wanted)
{
    struct span list = scan_inside(angle), argument, found = {0};
    for (size_t i = 0; scan_next_argument(&w->scan, &list, &argument); i++)
        if (i == wanted)
            found = argument;
    if (scan_span_length(found) == 0)
        return false;
    for (struct span before = {angle.at + 1, found.at}; scan_next_argument(&w->scan, &before, &argument);)
        if (scan_span_length(argument) > 0 && !leave_out(w, argument)) {
            write_plain(w, argument);
            buffer_text(w->out, ", ");
        }
    write_argument(w, found);
    for (list = (struct span){found.end + 1, angle.end - 1}; scan_next_argument(&w->scan, &list, &argument);)
        if (!leave_out(w, argument)) {
            buffer_text(w->out, ", ");
            write_plain(w, argument);
        }
    return true;
}

static void write_component(struct writer *w, const struct component *component, bool library)
{
    const char *word = w->scan.name + component->word.at;
    size_t length = scan_span_length(component->word);
    const struct pretty_word *rule = w->plain ? NULL : pretty_find(word, length);
    if (rule && !library && !rule->anywhere)
        rule = NULL;
    bool has_arguments = scan_span_length(component->angle) > 0;
    if (rule && has_arguments && rule->rule == PRETTY_UNWRAP && write_unwrapped(w, component->angle, rule->argument))
        return;
    if (rule && has_arguments && rule->rule == PRETTY_SHAPE && is_shape(w, scan_inside(component->angle))) {
        struct span list = scan_inside(component->angle), argument;
        for (bool any = false; scan_next_argument(&w->scan, &list, &argument); any = true) { /* 128x64x32 */
            if (any)
                buffer_char(w->out, 'x');
            write_argument(w, argument);
        }
        return;
    }
    bool functor = w->of_functors && length > 7 && memcmp(word + length - 7, "Functor", 7) == 0;
    write_word(w, component->word, library || (rule && rule->anywhere) || functor);
    if (has_arguments)
        write_arguments(w, component->angle, rule, functor);
    w->of_functors &= !functor;
}

/* Writes a lambda in a function of a library: the function, and the lambda as an omission. */
static void write_lambda(struct writer *w, const struct component *chain, size_t subject, size_t count)
{
    const struct component *function = &chain[subject], *lambda = &chain[count - 1];
    struct span tail = {chain[subject + 1].word.at, lambda->word.end};
    write_component(w, function, true);
    if (scan_span_length(function->angle) == 0 && lambda->brace) {
        /* The parameter types of the last lambda are the types that the function was dispatched by. */
        size_t at = lambda->word.at + 1;
        while (at < lambda->word.end && w->scan.name[at] != '(')
            at++;
        if (at < lambda->word.end && w->scan.partner[at] && w->scan.partner[at] > at + 1)
            write_arguments(w, (struct span){at, scan_step(&w->scan, at)}, NULL, false);
    }
    if (!leave_out(w, tail)) {
        buffer_text(w->out, "::");
        copy(w, tail);
    }
}

static void write_chain(struct writer *w, const struct component *chain, size_t count)
{
    bool library = scan_is_of_library(&w->scan, chain, count);
    size_t subject = count - 1, first = 0;
    while (subject > 0 && (chain[subject].brace || chain[subject].unnamed ||
                           scan_span_is(&w->scan, chain[subject].word, "operator()")))
        subject--;
    if (library && !w->plain && subject + 1 < count && chain[count - 1].brace) {
        write_lambda(w, chain, subject, count);
        return;
    }
    if (library)
        for (first = count - 1; first > 0 && (scan_span_length(chain[first - 1].angle) > 0 || first > subject);)
            first--;
    for (bool any = false; first < count; first++) {
        if (chain[first].unnamed)
            continue;
        if (any)
            buffer_text(w->out, "::");
        if (chain[first].brace) {
            /* Write "{lambda(float)#2}" as "{lambda#2}". */
            for (size_t at = chain[first].word.at; at < chain[first].word.end;) {
                bool skipped = at > chain[first].word.at && w->scan.partner[at];
                if (!skipped)
                    buffer_char(w->out, w->scan.name[at]);
                at = skipped ? scan_step(&w->scan, at) : at + 1;
            }
        } else
            write_component(w, &chain[first], library);
        any = true;
    }
}

static const struct pretty_word *rule_of(const struct writer *w, struct span argument)
{
    struct component chain[COMPONENTS_MAX];
    size_t end, count = argument.at < argument.end ? scan_read_chain(&w->scan, argument, chain, &end) : 0;
    if (count == 0 || end != argument.end || chain[count - 1].brace)
        return NULL;
    const struct pretty_word *rule = NULL;
    bool library = scan_is_of_library(&w->scan, chain, count);
    struct span word = chain[count - 1].word;
    rule = pretty_find(w->scan.name + word.at, scan_span_length(word));
    if (!rule || (!library && !rule->anywhere) ||
        (rule->rule == PRETTY_SPLICE && !scan_span_length(chain[count - 1].angle)))
        return NULL;
    static const struct pretty_word odd_shape = {"", PRETTY_LEAVE_OUT, 0, true};
    struct span angle = chain[count - 1].angle;
    bool odd = rule->rule == PRETTY_SHAPE && scan_span_length(angle) > 0 && !is_shape(w, scan_inside(angle));
    return odd ? &odd_shape : rule;
}

/* Writes "(E)2" as 2, and "(bool)1" as true. Returns false if ARGUMENT is not a cast of a number. */
static bool write_cast(struct writer *w, struct span argument)
{
    struct span type = {argument.at, scan_step(&w->scan, argument.at)}, value = {type.end, argument.end};
    if (w->scan.name[argument.at] != '(' || !is_number(w, value) || w->plain)
        return false;
    if (scan_span_is(&w->scan, type, "(bool)"))
        buffer_text(w->out, scan_span_is(&w->scan, value, "0") ? "false" : "true");
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
        if (scan_is_word(w->scan.name[at]) || w->scan.name[at] == '{' || scan_unnamed_size(&w->scan, at, argument.end))
            count = scan_read_chain(&w->scan, (struct span){at, argument.end}, chain, &end);
        if (count > 0) {
            write_chain(w, chain, count);
            at = end;
        } else {
            size_t next = scan_step(&w->scan, at);
            copy(w, (struct span){at, next < argument.end ? next : argument.end});
            at = next;
        }
    }
}

/* --- whole names --- */

/* Finds the function of the name: the last chain that ends with round brackets. Returns the number of its components,
 * or 0. */
static size_t find_function(const struct writer *w, struct component *function)
{
    struct component chain[COMPONENTS_MAX];
    size_t found = 0, end;
    for (size_t at = 0; at < w->scan.length;) {
        size_t count = scan_read_chain(&w->scan, (struct span){at, w->scan.length}, chain, &end);
        if (count == 0) {
            at = scan_step(&w->scan, at);
            continue;
        }
        at = end;
        const struct component *last = &chain[count - 1];
        if (scan_span_length(last->round) == 0 || scan_span_length(last->word) == 0 ||
            scan_span_is(&w->scan, last->word, "decltype"))
            continue;
        memcpy(function, chain, count * sizeof(*chain));
        found = count;
    }
    return found;
}

/* Appends the pretty form of the name. Returns false if the name has none. */
static bool write_pretty(struct writer *w)
{
    struct component function[COMPONENTS_MAX];
    size_t count = find_function(w, function), length = w->out->length;
    if (count > 0) {
        function[count - 1].round = (struct span){0};
        write_chain(w, function, count);
        return w->out->length > length;
    }
    size_t tail = pretty_tail(w->scan.name, w->scan.length);
    struct span omitted = {w->scan.length - tail, w->scan.length};
    if (tail == 0 || !leave_out(w, omitted))
        return false;
    copy(w, (struct span){0, omitted.at});
    return true;
}

/* Writes the pretty form of NAME to RESULT. Returns false if it has none, or without memory. */
static bool make_pretty(struct buffer *result, const char *name, size_t length, uint64_t reveal,
                        struct pretty_omissions *omissions)
{
    struct writer w = {
        .scan = {.name = name, .length = length}, .out = result, .reveal = reveal, .omissions = omissions};
    omissions->count = 0;
    w.plain = reveal == PRETTY_PLAIN;
    w.scan.partner = length < NAME_MAX_BYTES ? calloc(length + 1, sizeof(*w.scan.partner)) : NULL;
    bool changed = w.scan.partner && scan_pair_brackets(&w.scan) && write_pretty(&w);
    free(w.scan.partner);
    return changed && !result->failure;
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
                       struct pretty_omissions *omissions)
{
    struct pretty_omissions own, of_again;
    struct buffer result, again;
    buffer_init_memory(&result);
    buffer_init_memory(&again);
    bool changed = make_pretty(&result, name, length, reveal, omissions ? omissions : &own);
    /* A pretty name is used only if it does not change when it is made pretty again. */
    bool differs = changed && make_pretty(&again, result.data, result.length, 0, &of_again) &&
                   (again.length != result.length || memcmp(again.data, result.data, result.length) != 0);
    if (changed && !differs)
        pretty_name_whole(out, result.data, result.length);
    else
        pretty_name_whole(out, name, length);
    buffer_release(&again);
    buffer_release(&result);
}
