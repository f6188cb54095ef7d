/*
 * What names of kernels are known to contain: the words of CUDA's libraries and of PyTorch.
 */
#ifndef GPUTRACE_ANALYSIS_NAMES_PRETTY_WORDS_H
#define GPUTRACE_ANALYSIS_NAMES_PRETTY_WORDS_H

#include <stdbool.h>
#include <stddef.h>

/* What to do with the template arguments of a class or a function. */
enum pretty_rule {
    PRETTY_ARGUMENTS,   /* write the word and its arguments */
    PRETTY_UNWRAP,      /* write one argument alone, in place of all */
    PRETTY_SPLICE,      /* write the arguments alone, as arguments of the enclosing word */
    PRETTY_SHAPE,       /* numbers: 128x64x32 */
    PRETTY_LEAVE_OUT,   /* write nothing */
    PRETTY_NO_NUMBERS,  /* the word, and arguments that are not numbers */
    PRETTY_OF_FUNCTORS, /* the word and the arguments that have arguments; the first functor without its own */
};

struct pretty_word {
    const char *word;
    enum pretty_rule rule;
    size_t argument; /* of PRETTY_UNWRAP */
    bool anywhere;   /* the word is also known without the namespace of a library */
};

/* These functions read LENGTH bytes at WORD, an identifier without its namespaces. */

/* Whether WORD is the outermost namespace of a library. */
bool pretty_is_library(const char *word, size_t length);
/* What to do with the template arguments of WORD, or NULL for nothing special. */
const struct pretty_word *pretty_find(const char *word, size_t length);
/* The word to write instead of WORD, such as "half" for "Half", or NULL. */
const char *pretty_other_word(const char *word, size_t length);
/* Strips usual prefixes and suffixes of functors and their functions: "CUDAFunctor_add" becomes "add". */
void pretty_strip(const char **word, size_t *length);
/* The bytes of a suffix of kernels of cuBLAS and cuDNN that can be left out, or 0. */
size_t pretty_tail(const char *word, size_t length);

#endif
