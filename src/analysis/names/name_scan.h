/*
 * Reads a demangled C++ name for pretty_names.c and pretty_name.c. Its brackets are paired once; template arguments and
 * the components of a::b<c> are found between them. Knows the words in names of kernels of CUDA's libraries and of
 * PyTorch.
 */
#ifndef GPUTRACE_ANALYSIS_NAMES_NAME_SCAN_H
#define GPUTRACE_ANALYSIS_NAMES_NAME_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define COMPONENTS_MAX 24 /* of a::b::c; names with more components are not changed */

struct span {
    size_t at, end;
};

struct name_scan {
    const char *name;
    size_t length;
    uint32_t *partner; /* by place in the name: for an opening bracket, the place of the closing one; otherwise 0 */
};

/* A component of a::b<c>(d). Absent brackets are empty spans. */
struct component {
    struct span word, angle, round; /* brackets with what is between them */
    bool brace;                     /* the word is "{lambda()#1}" */
    bool unnamed;                   /* an unnamed namespace */
};

/* Returns whether C may be part of an identifier. */
bool scan_is_word(char c);
size_t scan_span_length(struct span span);
/* Returns whether the name has TEXT at AT and TEXT ends at END or before. */
bool scan_starts(const struct name_scan *scan, size_t at, size_t end, const char *text);
bool scan_span_is(const struct name_scan *scan, struct span span, const char *text);
/* Returns the bytes of "operator" and its symbol, which may be brackets, at AT; 0 if there is none. */
size_t scan_operator_size(const struct name_scan *scan, size_t at);
/* Returns the place behind the qualifiers of a function at AT, such as " const". */
size_t scan_skip_qualifiers(const struct name_scan *scan, size_t at, size_t end);
/* Pairs the brackets. A '<' or '>' without a partner is a comparison. Returns false if they do not match. */
bool scan_pair_brackets(struct name_scan *scan);
/* Returns the place behind the character, or the pair of brackets, at AT. */
size_t scan_step(const struct name_scan *scan, size_t at);
struct span scan_trim(const struct name_scan *scan, struct span span);
struct span scan_inside(struct span brackets);
/* Takes the first argument off LIST, whose arguments are separated by commas. Returns false if LIST is empty. */
bool scan_next_argument(const struct name_scan *scan, struct span *list, struct span *argument);
/* Returns the bytes of "(anonymous namespace)" or the like at AT; 0 if there is none. */
size_t scan_unnamed_size(const struct name_scan *scan, size_t at, size_t end);
/* Reads the components a::b::c from SPAN.at on into CHAIN, and sets *END behind them. Returns their number, or 0 if
 * there are none or more than COMPONENTS_MAX. */
size_t scan_read_chain(const struct name_scan *scan, struct span span, struct component *chain, size_t *end);
/* Returns whether the chain begins with a library's namespace, which need not be written. */
bool scan_is_of_library(const struct name_scan *scan, const struct component *chain, size_t count);

/* How a word, the name of a class or function, is written with its template arguments. */
enum pretty_rule {
    PRETTY_ARGUMENTS,   /* write the word and its arguments */
    PRETTY_UNWRAP,      /* write one argument in place of the word and all arguments */
    PRETTY_SPLICE,      /* write the arguments alone, as arguments of the enclosing word */
    PRETTY_SHAPE,       /* write the arguments, which are numbers, as 128x64x32 */
    PRETTY_LEAVE_OUT,   /* write nothing */
    PRETTY_NO_NUMBERS,  /* write the word, and arguments that are not numbers */
    PRETTY_OF_FUNCTORS, /* write the word and arguments with arguments of their own; the first functor without its */
};

struct pretty_word {
    const char *words; /* separated by blanks */
    enum pretty_rule rule;
    size_t argument; /* PRETTY_UNWRAP: index of the argument */
    bool anywhere;   /* the rule also applies outside the namespaces of libraries */
};

/* These functions read LENGTH bytes at WORD, an identifier without its namespaces. */

/* Returns whether WORD is the outermost namespace of a library. */
bool pretty_is_library(const char *word, size_t length);
/* Returns the rule for the template arguments of WORD, or NULL if there is none. */
const struct pretty_word *pretty_find(const char *word, size_t length);
/* Returns the word to write instead of WORD, such as "half" for "Half", or NULL. */
const char *pretty_other_word(const char *word, size_t length);
/* Strips usual prefixes and suffixes of functors and their functions: "CUDAFunctor_add" becomes "add". */
void pretty_strip(const char **word, size_t *length);
/* Returns the bytes of a suffix of kernels of cuBLAS and cuDNN that can be left out, or 0. */
size_t pretty_tail(const char *word, size_t length);

#endif
