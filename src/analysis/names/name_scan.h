/*
 * A demangled C++ name as engine/names.c and pretty_name.c walk over it: its brackets are paired once; template
 * arguments and the components of a::b<c> are found between them.
 */
#ifndef GPUTRACE_ANALYSIS_NAMES_NAME_SCAN_H
#define GPUTRACE_ANALYSIS_NAMES_NAME_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define COMPONENTS_MAX 24 /* of a::b::c; more are left as they are */

struct span {
    size_t at, end;
};

struct name_scan {
    const char *name;
    size_t length;
    uint32_t *partner; /* of an opening bracket: the place of the closing one; 0 elsewhere */
};

/* a::b<c>(d): one of them. Empty spans are at 0. */
struct component {
    struct span word, angle, round; /* brackets with what is between them */
    bool brace;                     /* the word is "{lambda()#1}" */
    bool unnamed;                   /* an unnamed namespace */
};

/* A character of an identifier. */
bool scan_is_word(char c);
/* Bytes. */
size_t scan_span_length(struct span span);
/* Whether TEXT stands at AT, before END. */
bool scan_starts(const struct name_scan *scan, size_t at, size_t end, const char *text);
bool scan_span_is(const struct name_scan *scan, struct span span, const char *text);
bool scan_span_equal(const struct name_scan *scan, struct span a, struct span b);
/* Bytes of "operator", and of its symbol, which may be brackets, at AT; 0: none is there. */
size_t scan_operator_size(const struct name_scan *scan, size_t at);
/* The place behind the qualifiers of a function, " const", at AT. */
size_t scan_skip_qualifiers(const struct name_scan *scan, size_t at, size_t end);
/* Pairs the brackets. A '<' or '>' without its partner is a comparison. False: the name is not understood. */
bool scan_pair_brackets(struct name_scan *scan);
/* The place after the character, or the brackets, at AT. */
size_t scan_step(const struct name_scan *scan, size_t at);
struct span scan_trim(const struct name_scan *scan, struct span span);
struct span scan_inside(struct span brackets);
/* Takes the next argument from the front of LIST, which is between commas. False: there is none. */
bool scan_next_argument(const struct name_scan *scan, struct span *list, struct span *argument);
size_t scan_unnamed_size(const struct name_scan *scan, size_t at, size_t end);
/* A run of components that begins at SPAN.at. Returns their number, and where they end; 0: there is none. */
size_t scan_read_chain(const struct name_scan *scan, struct span span, struct component *chain, size_t *end);
/* Whether the chain's names are a library's, and its namespaces say nothing. */
bool scan_is_of_library(const struct name_scan *scan, const struct component *chain, size_t count);

#endif
